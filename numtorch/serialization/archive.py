"""Reading: the zip archive of a file. Nothing that its directory says is believed before it is compared with what is there."""
from __future__ import annotations

import contextlib
import errno
import os
import struct
import zipfile
import zlib

from ..exchange.arrays import raw_array
from ..layout import Layout
from ..tensor import lasting
from .mapped import entry_offset


@contextlib.contextmanager
def damaged(how="damaged"):
    """Inside, all that zipfile raises for a damaged archive becomes one error."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, struct.error, LookupError, EOFError, ValueError, OverflowError, MemoryError, OSError,
            RuntimeError) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:         # but for a place that no file has
            raise
        raise RuntimeError(f"load: failed reading zip archive: the file is {how}: {str(error) or 'it ends early'}") from None


class SearchedFile:
    """A file of the user's that is read and searched and does not say that it can be, which zipfile asks."""

    def __init__(self, file) -> None:
        self.read, self.seek, self.tell = file.read, file.seek, file.tell

    def seekable(self) -> bool:
        return True


_MOST_DEFLATED = 1032                                    # bytes that deflate makes of one at most


def check_sizes(archive, file):
    """Believe no size in an archive's directory that its file has no room for.

    Raises:
        zipfile.BadZipFile: entries that lie in each other, or are packed more tightly than can be.
    """
    taken = 0
    for info in archive.infolist():
        taken += info.compress_size
        if info.compress_type == zipfile.ZIP_STORED:
            possible = info.file_size == info.compress_size
        else:
            possible = info.compress_type == zipfile.ZIP_DEFLATED and info.file_size <= _MOST_DEFLATED * info.compress_size
        if not possible:
            raise zipfile.BadZipFile(f"{info.filename} has {info.compress_size} bytes, which cannot be {info.file_size}")
    file.seek(0, os.SEEK_END)
    if taken > file.tell():
        raise zipfile.BadZipFile(f"its entries have {taken} bytes, which is more than all of it")


def read_entry(archive, entry):
    """The bytes of one entry, whose checksum is right."""
    with damaged():
        return archive.read(entry)


def read_storage(archive, entry, kind, numel, mapped):
    """A storage of the archive as a tensor of one dimension, over the mapped file where there is one."""
    with damaged():
        info = archive.getinfo(entry)
        size = info.file_size
    if size != numel * kind.itemsize:
        raise RuntimeError(f"load: {entry} has {size} bytes, and its {numel} elements of {kind} take {numel * kind.itemsize}")
    if mapped is not None:
        with damaged():
            return mapped.tensor(entry_offset(mapped, info), Layout.of(kind, (numel,)))
    base = lasting(Layout.of(kind, (numel,)))
    left = memoryview(raw_array(base)).cast("B") if numel else memoryview(bytearray())
    with damaged(), archive.open(entry) as content:      # compares the checksum at the end
        while count := content.readinto(left[:1 << 20]):
            left = left[count:]
        if left or content.read(1):
            raise zipfile.BadZipFile(f"{entry} has another size than the {size} bytes that it is said to have")
    return base
