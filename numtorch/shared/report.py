"""`python -m numtorch shared`: the families of this user that run, their memory, and who holds it."""
from __future__ import annotations

import contextlib
import glob
import os
import time

import numpy as np

from .filelocks import lives
from .system import Mapping
from .tables import (
    BLOCK,
    BLOCKS,
    CAPACITY,
    CHANNEL,
    FIRST,
    HOLDS,
    IN_USE,
    KIND,
    MEMBER_TABLE,
    MEMBERS,
    NEXT,
    NEXT_ID,
    PROCESS,
    RECORDS,
    SEGMENTS,
    SINCE,
    TABLES,
)


def families() -> list[str]:
    """A path to the file of each family that this user may look at, by its number. One that is being made has no tables yet."""
    result = {}
    for path in glob.glob("/proc/[0-9]*/fd/*"):
        with contextlib.suppress(OSError):               # another user's, or gone meanwhile
            if os.readlink(path).removesuffix(" (deleted)") == "/memfd:numtorch" and (status := os.stat(path)).st_size >= TABLES:
                result.setdefault((status.st_dev, status.st_ino), path)
    return list(result.values())


def describe(path: str) -> str:
    """What a family's tables say, read without its lock: a process may be writing."""
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        mapping = Mapping(fd, 0, TABLES)
        memory = memoryview((np.ctypeslib.ctypes.c_char * TABLES).from_address(mapping.address)).cast("B")
        count = max(1, memory[:MEMBER_TABLE].cast("q")[NEXT_ID])
        table = np.frombuffer(memory[RECORDS:RECORDS + 64 * count], np.int64).reshape(-1, 8).copy()
        members = np.frombuffer(memory[MEMBER_TABLE:MEMBER_TABLE + 64 * MEMBERS], np.int64).reshape(-1, 8).copy()
        blocks, channels = table[:, KIND] == BLOCK, np.flatnonzero(table[:, KIND] == CHANNEL).tolist()
        lines = [f"family of process {min(members[members[:, IN_USE] == 1, PROCESS], default='?')}: "
                 f"{_bytes(os.fstat(fd).st_blocks * 512)} of memory, {int(blocks.sum())} blocks of "
                 f"{_bytes(sum(table[blocks, CAPACITY].tolist()))}, {int((table[:, KIND] == SEGMENTS).sum())} arenas, "
                 f"{len(channels)} channels with {sum(_waiting(table, c) for c in channels)} letters"]
        for member in np.flatnonzero(members[:, IN_USE] == 1).tolist():
            holds = np.frombuffer(memory[HOLDS + member * BLOCKS:HOLDS + member * BLOCKS + count], np.uint8).astype(bool) & blocks
            pid = int(members[member, PROCESS])
            state = "" if lives(fd, member) else ", which is dead: the next sweep frees what it held"
            since = time.strftime("%H:%M:%S", time.localtime(members[member, SINCE]))
            lines.append(f"  process {pid} ({_command(pid)}) since {since}: holds {int(holds.sum())} blocks of "
                         f"{_bytes(sum(table[holds, CAPACITY].tolist()))}{state}")
        del memory
        return "\n".join(lines)
    finally:
        os.close(fd)


def _waiting(table, channel):
    count, letter = 0, int(table[channel, FIRST])
    while letter and count < len(table):                 # a bound, since it may be changing
        count, letter = count + 1, int(table[letter, NEXT]) if letter < len(table) else 0
    return count


def _command(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode(errors="replace").strip()[:60]
    except OSError:
        return "gone"


def _bytes(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.4g} {unit}"
        count /= 1024
    return None


def show() -> int:
    """Print all families. Returns the exit status."""
    paths = families()
    for path in paths:
        with contextlib.suppress(OSError):
            print(describe(path))
    if not paths and not os.path.isdir("/proc/self/fd"):
        print("programs that share memory are found in /proc, which is closed or not there on this system")
        return 1
    if not paths:
        print("no running program of yours shares memory by numtorch")
    return 0
