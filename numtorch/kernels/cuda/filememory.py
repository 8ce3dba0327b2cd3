"""Memory that other processes of this machine can open by a name of 64 bytes, as a driver's: anonymous files. For the simulator,
and for the driver made for tests."""
from __future__ import annotations

import mmap
import os
import struct

import numpy as np

HANDLE = 64                                              # bytes, as of CUipcMemHandle
_NAME = struct.Struct("<qqq")                            # process, descriptor, bytes


class FileMemory:
    """Bytes of an anonymous file, as long as this lives.

    Args:
        nbytes: how many.
        file: a descriptor of the file, which becomes this object's; a new file when None.

    Attributes:
        array: the bytes.
    """

    __slots__ = ("array", "file")

    def __init__(self, nbytes, file=None):
        self.file = file
        if file is None and hasattr(os, "memfd_create"):
            self.file = os.memfd_create("numtorch-device", os.MFD_CLOEXEC)
            os.ftruncate(self.file, nbytes)
        self.array = np.empty(nbytes, np.uint8) if self.file is None else np.frombuffer(mmap.mmap(self.file, nbytes), np.uint8)

    def __del__(self, close=os.close):                   # the module may be gone before its last memory
        if self.file is not None:
            close(self.file)

    @property
    def handle(self) -> bytes:
        """What `opened` finds it by, as long as this lives. Raises OSError where the system has no files in memory."""
        if self.file is None:
            raise OSError("memory that other processes can open needs memfd_create, which this system lacks")
        return _NAME.pack(os.getpid(), self.file, len(self.array)).ljust(HANDLE, b"\0")


def opened(handle: bytes) -> FileMemory:
    """The memory of another process. Raises OSError where it is gone."""
    process, file, nbytes = _NAME.unpack_from(handle)
    return FileMemory(nbytes, os.open(f"/proc/{process}/fd/{file}", os.O_RDWR | os.O_CLOEXEC))
