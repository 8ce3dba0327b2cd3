"""What the system offers: anonymous files, mappings at a place in them, holes, and words to wait for."""
from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform
import resource
import sys
import tempfile
import time

from ..finalisers import Finaliser

LINUX = sys.platform == "linux"
_library = ctypes.CDLL(None, use_errno=True)
_map = _library.mmap
_map.restype, _map.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_int64]
_unmap = _library.munmap
_unmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED = ctypes.c_void_p(-1).value
PAGE = mmap.PAGESIZE
SIZES = (1 << 62, 1 << 53, 1 << 43)                      # bytes of the file, the most that a file system allows
PUNCHED_AT_ONCE = 1 << 22
FIXED = 0x10                                             # MAP_FIXED, the same on Linux and macOS
KEEP_SIZE, PUNCH_HOLE, MACOS_PUNCH_HOLE = 1, 2, 99


class SharedMemoryLimit(RuntimeError):
    """A limit of the system was reached: the message says which, and how to raise it."""


def anonymous_file() -> int:
    """A file without a name: it lives in memory on Linux, and elsewhere in the temporary folder, whose entry is removed at once.

    That is a plain file rather than `shm_open`'s: those of macOS get a size once and cannot be given back in parts.
    """
    try:
        if hasattr(os, "memfd_create"):
            fd = os.memfd_create("numtorch", os.MFD_CLOEXEC)
        else:
            fd, name = tempfile.mkstemp(prefix="numtorch-")
            os.unlink(name)
    except OSError as error:
        raise limit(error, 0) from None
    for size in SIZES:
        try:
            os.ftruncate(fd, size)
            break
        except OSError as error:
            if error.errno not in (errno.EFBIG, errno.EINVAL) or size == SIZES[-1]:
                os.close(fd)
                raise limit(error, size) from None
    return fd


class Mapping:
    """A piece of a file in this process's memory, until nothing refers to it. Weak references lead to mappings."""

    __slots__ = ("address", "size", "end", "__weakref__")

    def __init__(self, fd, offset, size):
        address = _map(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, fd, offset)
        if address == _FAILED:
            raise limit(OSError(ctypes.get_errno(), "mmap"), size)
        self.address, self.size, self.end = address, size, Finaliser(_put_nothing, address, size)


class MappingOver(Mapping):
    """A piece of a file in the place of memory, which must be whole pages. When nothing refers to it there is memory of the
    owner's again, all of whose bytes are zeros."""

    __slots__ = ()

    def __init__(self, fd, offset, size, address, owner):
        if _map(address, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | FIXED, fd, offset) == _FAILED:
            raise limit(OSError(ctypes.get_errno(), "mmap"), size)
        self.address, self.size, self.end = address, size, Finaliser(_put_memory, address, size, owner)


def _put_nothing(address, size):
    """Give mapped memory back."""
    if _unmap is not None:                               # the module may be gone before the last mapping
        _unmap(address, size)


def _put_memory(address, size, owner):
    """Make memory that was mapped over its owner's again."""
    if _map is None:
        return
    kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | FIXED
    if _map(address, size, mmap.PROT_READ | mmap.PROT_WRITE, kind, -1, 0) == _FAILED:
        _unreturned.append(owner)


_unreturned: list = []                                   # owners of memory that could not be put back, and is never used again


def punch(fd: int, offset: int, size: int) -> None:
    """Give the memory of a piece of the file back; it reads as zeros from then on. That is done bit by bit: whoever writes to the
    file waits meanwhile, so at most for a millisecond."""
    for start in range(offset, offset + size, PUNCHED_AT_ONCE):
        piece = min(PUNCHED_AT_ONCE, offset + size - start)
        if LINUX:
            _library.fallocate(fd, KEEP_SIZE | PUNCH_HOLE, ctypes.c_int64(start), ctypes.c_int64(piece))
        elif sys.platform == "darwin":
            _library.fcntl(fd, MACOS_PUNCH_HOLE, (ctypes.c_int64 * 3)(0, start, piece))


def back(fd: int, offset: int, nbytes: int) -> None:
    """Have memory for a piece of the file, which keeps what it holds: a write through a mapping where there is none would end the
    process by SIGBUS."""
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(fd, offset, nbytes)
        else:
            for place in range(offset // PAGE * PAGE, offset + nbytes, PAGE):
                place = max(place, offset)
                os.pwrite(fd, os.pread(fd, 1, place), place)
    except OSError as error:
        raise limit(error, nbytes) from None


def write(fd: int, offset: int, address: int, nbytes: int) -> None:
    """Copy memory into the file. Unlike a first write through a mapping this clears no page beforehand, and an error comes back."""
    done = 0
    while done < nbytes:
        piece = min(nbytes - done, 1 << 30)
        try:
            done += os.pwrite(fd, (ctypes.c_char * piece).from_address(address + done), offset + done)
        except OSError as error:
            raise limit(error, nbytes) from None


def limit(error: OSError, nbytes: int) -> SharedMemoryLimit:
    """The error that says which limit was reached, and what raises it."""
    number = error.errno
    if number in (errno.EMFILE, errno.ENFILE):
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        text = f"no descriptor is left: this process may have {soft}; `ulimit -n` raises that, /proc/sys/fs/file-max the system's"
    elif number == errno.EFBIG:
        soft = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        text = f"files may have {soft} bytes (`ulimit -f`), and shared memory lies in a file that must be able to grow"
    elif number == errno.ENOSPC:
        if hasattr(os, "memfd_create"):
            text = ("the system has no more memory for files in memory; a container's limit or /proc/sys/vm/overcommit_memory may "
                    "be what is reached")
        else:
            text = f"{tempfile.gettempdir()} is full, where shared memory lies on this system; $TMPDIR says where else it may"
    elif number == errno.ENOMEM:
        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        if soft != resource.RLIM_INFINITY:
            text = f"this process may have {soft} bytes of addresses; `ulimit -v` raises that"
        else:
            text = "no memory, or more mappings than /proc/sys/vm/max_map_count allows"
    else:
        text = os.strerror(number or 0)
    return SharedMemoryLimit(f"shared memory: cannot have {nbytes} bytes more: {text} (error {number}: {os.strerror(number or 0)})")


def copy(to: int, source: int, nbytes: int) -> None:
    """Copy memory."""
    ctypes.memmove(to, source, nbytes)


# ---------------------------------------------------------------- waiting for a word
_FUTEX = {"x86_64": 202, "aarch64": 98}.get(platform.machine()) if LINUX else None
_syscall = _library.syscall
_syscall.restype = ctypes.c_long


class _Duration(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_int64)]


def wait_for_change(address: int, seen: int, seconds: float) -> None:
    """Wait until a 32-bit word is no longer `seen` and somebody says so (`wake`), for so many seconds at most; or for nothing."""
    if _FUTEX is None:
        if ctypes.c_uint32.from_address(address).value == seen:
            time.sleep(min(seconds, 0.001))
        return
    whole = int(seconds)
    duration = _Duration(whole, int((seconds - whole) * 1e9))
    _syscall(_FUTEX, ctypes.c_void_p(address), 0, ctypes.c_uint32(seen), ctypes.byref(duration), None, 0)


def wake(address: int, count: int) -> None:
    """Wake up to `count` of those who wait for a word."""
    if _FUTEX is not None:
        _syscall(_FUTEX, ctypes.c_void_p(address), 1, count, None, None, 0)
