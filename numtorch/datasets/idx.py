"""IDX, the format of MNIST's files: four bytes that say dtype and dimensions, the extents, then big-endian numbers."""
from __future__ import annotations

import gzip
import math
import os
import struct
import zlib

import numpy as np

from ..exchange.construction import from_numpy
from ..tensor import Tensor

DTYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path) -> Tensor:
    """The array of an IDX file, which may be compressed by gzip.

    Args:
        path: the file.

    Returns:
        A tensor of the file's extents and dtype.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no such file, or a damaged one.

    Example:
        >>> import os, tempfile
        >>> from numtorch.datasets import read_idx
        >>> path = os.path.join(tempfile.mkdtemp(), "labels")
        >>> with open(path, "wb") as file:
        ...     _ = file.write(bytes([0, 0, 8, 1, 0, 0, 0, 3, 5, 0, 4]))
        >>> read_idx(path)
        tensor([5, 0, 4], dtype=torch.uint8)
    """
    path = os.fspath(path)
    with open(path, "rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        with gzip.open(raw) if packed else raw as file:
            try:
                head = file.read(4)
                if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in DTYPES:
                    raise ValueError(f"read_idx: {path} is no IDX file: it begins with {head!r}")
                extents = struct.unpack(f">{head[3]}I", _exactly(file, 4 * head[3]))
                dtype = np.dtype(DTYPES[head[2]])
                content = _exactly(file, math.prod(extents) * dtype.itemsize)
                if file.read(1):
                    raise ValueError("it goes on behind its end")
                array = np.frombuffer(content, dtype).astype(dtype.newbyteorder("=")).reshape(extents)
            except (EOFError, zlib.error, gzip.BadGzipFile, ValueError) as error:
                if str(error).startswith("read_idx"):
                    raise
                raise ValueError(f"read_idx: {path} is damaged: {error}") from None
    return from_numpy(array)


def _exactly(file, size):
    """So many bytes, asked for in pieces, so that a size without anything behind it takes no memory."""
    content = bytearray()
    while len(content) < size:
        block = file.read(min(size - len(content), 1 << 24))
        if not block:
            raise ValueError(f"it ends after {len(content)} of {size} bytes")
        content += block
    return content
