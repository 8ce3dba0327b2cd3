"""Files that PyTorch wrote before 1.6: pickles one after the other, then the bytes of each storage.

What stands there: a magic number, a version, what machine wrote it, the object, the keys of its storages, and for each of them
the number of elements and the elements. The object comes before the elements, so that its tensors are made over memory that is
filled at last.
"""
from __future__ import annotations

import pickle

from ..devices import cpu
from ..exchange.arrays import raw_array
from ..layout import Layout
from ..tensor import lasting

BEGINNING = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # 0x1950A86A20F9469CFC6C, pickled


def begins(file) -> bool:
    """Whether such a file is open, which stays where it is."""
    start = file.tell()
    beginning = file.read(len(BEGINNING))
    file.seek(start)
    return beginning == BEGINNING


def load(content: bytes, unpickler, reader_of, locate):
    """The object in such a file.

    Args:
        content: the file's bytes.
        unpickler: reads a pickle: `unpickler(bytes, meanings, storage_of)`.
        reader_of: gives what builds tensors over storages, from a function `(key, kind, location, numel) -> Tensor`.
        locate: has a storage's tensor go where it belongs: `locate(tensor, location)`.

    Raises:
        RuntimeError: the file ends early, or says two things of a storage.
    """
    bases: dict = {}

    def storage(key, kind, location, numel):
        if not 0 <= numel * kind.itemsize <= len(content):
            raise RuntimeError(f"load: the file has {len(content)} bytes, and a storage of {numel} elements of {kind}")
        base = bases[key] = locate(lasting(Layout.of(kind, (numel,))), location)
        return base

    reader = reader_of(storage)
    at = len(BEGINNING)
    loaded = []
    for _ in range(4):                                   # version, machine, object, keys
        step = unpickler(content[at:], reader.meanings, reader.storage_of)
        loaded.append(step.load())
        at += step.pickled.tell()
    version, machine, made, keys = loaded
    if version != 1001 or not isinstance(machine, dict) or not machine.get("little_endian", True):
        raise RuntimeError("load: the file is of an unknown version, or its numbers are big-endian")
    if type(keys) is not list or set(keys) != set(bases):
        raise pickle.UnpicklingError("load: the file's storages are not those of its tensors")
    for key in keys:
        base = bases[key]
        nbytes = base.numel() * base.dtype.itemsize
        if int.from_bytes(content[at:at + 8], "little") != base.numel() or at + 8 + nbytes > len(content):
            raise RuntimeError(f"load: the file is damaged: its storage {key!r} has not {base.numel()} elements")
        if nbytes:
            read = base if base.layout.device is cpu else lasting(Layout.of(base.dtype, base.shape))
            memoryview(raw_array(read)).cast("B")[:] = content[at + 8:at + 8 + nbytes]
            if read is not base:
                base.copy_(read)
        at += 8 + nbytes
    return made
