"""NVIDIA's compute-sanitizer around the processes of `python -m tests.ongpu`: how it is called, and what its reports say."""
from __future__ import annotations

import re
import shutil
from collections import Counter

PROGRAM = "compute-sanitizer"
TOOLS = "memcheck", "racecheck"                          # accesses outside of memory, or not aligned; of shared memory, in no order
OVER = re.compile(r"COMPUTE-SANITIZER|(ERROR|RACECHECK) SUMMARY|Target application|Host Frame|Saved host backtrace")
THREAD = re.compile(r"\((\d+),\s?\d+,\s?\d+\)")


def absent() -> str | None:
    """Why nothing can be checked here; None where it can."""
    return None if shutil.which(PROGRAM) else f"{PROGRAM} is not on the PATH (it comes with CUDA's toolkit): nothing was checked"


def command(tool, log, program) -> list[str]:
    """The command that runs a program under a tool, which writes what it finds into a file."""
    return [PROGRAM, "--tool", tool, "--log-file", str(log), "--print-limit", "1000", "--show-backtrace", "no", *program]


def findings(text, names) -> Counter:
    """What a report has found, how often: where and what, without the threads, addresses and blocks that it names.

    Args:
        text: the report.
        names: of kernels by their symbols in machine code.
    """
    found, lines = Counter(), []
    for line in [*text.splitlines(), "========= "]:
        content = line.removeprefix("=========").removeprefix(" ")
        if not line.startswith("=========") or OVER.search(content):
            continue
        if lines and not content.startswith(" "):        # what belongs to a finding is indented below it
            found[_summary(lines, names)] += 1
            lines = []
        if content.strip():
            lines.append(content)
    return found


def _summary(lines, names):
    """The headline of a finding and the first line that names a kernel."""
    place = next((line for line in lines if re.search(r"\bk[0-9a-f]{40}\b", line)), "")
    symbol = re.search(r"\bk[0-9a-f]{40}\b", place)
    headline = THREAD.sub("(..)", lines[0])
    headline = re.sub(r"0x[0-9a-f]+", "0x..", headline).strip(" :")
    return f"{names.get(symbol[0], symbol[0])}: {headline}" if symbol else headline


def complete(text) -> bool:
    """Whether a report came to its end, which has a summary."""
    return re.search(r"(ERROR|RACECHECK) SUMMARY", text) is not None
