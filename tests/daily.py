"""What a run takes of a table that would take too long as a whole: a part each day, so that after some days all of it has had its
turn. `NUMTORCH_TEST_ALL=1` takes all of it, and `NUMTORCH_TEST_DAY` says which day it is (a number), to run again what failed then."""
from __future__ import annotations

import datetime
import os
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

ALL = os.environ.get("NUMTORCH_TEST_ALL") == "1"
# The processes that a run starts are given its day: each may begin after midnight.
DAY = int(os.environ.setdefault("NUMTORCH_TEST_DAY", str(datetime.date.today().toordinal())))


def todays(rows: Iterable[Any], parts: int) -> list:
    """Those of the rows whose turn it is, one in so many."""
    return [row for place, row in enumerate(rows) if ALL or place % parts == DAY % parts]


def is_todays(name: str, parts: int) -> bool:
    """The same where rows are not listed: whether it is the turn of one, by its name."""
    return ALL or zlib.crc32(name.encode()) % parts == DAY % parts


def in_turn(choices: Sequence[Any], name: str) -> Sequence[Any]:
    """One of the choices of a row, drawn anew each day, so that rows which have their turn with others meet all choices too; or all."""
    return choices if ALL else [choices[zlib.crc32(f"{DAY} {name}".encode()) % len(choices)]]
