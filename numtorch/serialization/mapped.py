"""Tensors over the bytes of a file: what is never looked at is never read, and several processes share what is.

A file is mapped privately: writing to such a tensor changes this process's copy of a page and not the file. Whoever shortens the
file meanwhile takes the memory away.
"""
from __future__ import annotations

import mmap
import os
import struct
import zipfile

import numpy as np

from ..layout import Layout
from ..storage import address_of, foreign_storage
from ..tensor import Tensor, wrap


class MappedFile:
    """A file's bytes as memory. The mapping lives as long as this or a tensor over it.

    Args:
        path: the file.

    Raises:
        OSError: it is not there, or cannot be mapped.
        ValueError: it is empty.
    """

    def __init__(self, path) -> None:
        with open(path, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise ValueError(f"{os.fsdecode(path)} is empty")
            self.memory = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8)
        self.address, self.nbytes = address_of(self.memory), self.memory.size

    def bytes_at(self, offset: int, count: int) -> bytes:
        """A copy of some bytes. Raises ValueError where the file has not that many."""
        self._check(offset, count)
        return self.memory[offset:offset + count].tobytes()

    def tensor(self, offset: int, layout: Layout) -> Tensor:
        """A tensor over the bytes from `offset` on, in memory of its own where they do not lie at a multiple of the element's size.

        Args:
            offset: in bytes.
            layout: contiguous.

        Raises:
            ValueError: the file ends before it.
        """
        self._check(offset, layout.nbytes)
        memory, address = self.memory, self.address + offset
        if offset % layout.dtype.itemsize:
            memory = memory[offset:offset + layout.nbytes].copy()
            address = address_of(memory) if layout.nbytes else 0
        return wrap(foreign_storage(address, layout.nbytes, memory), address, layout)

    def _check(self, offset, count):
        if offset < 0 or count < 0 or offset + count > self.nbytes:
            raise ValueError(f"bytes {offset} to {offset + count} are outside of the file, which has {self.nbytes}")


def entry_offset(mapped: MappedFile, info: zipfile.ZipInfo) -> int:
    """Where the bytes of an archive's entry begin in its file.

    Raises:
        zipfile.BadZipFile: it is compressed, or does not begin where the directory says.
    """
    header = mapped.bytes_at(info.header_offset, 30)
    signature, method, name, extra = struct.unpack("<4s4xH16xHH", header)
    if signature != b"PK\x03\x04" or method != zipfile.ZIP_STORED or info.compress_type != zipfile.ZIP_STORED:
        raise zipfile.BadZipFile(f"{info.filename} cannot be mapped: it is compressed, or not where the directory says")
    return info.header_offset + 30 + name + extra
