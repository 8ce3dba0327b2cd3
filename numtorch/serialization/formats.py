"""What a file is that `load` does not read, by how it begins or by what is in it, and what reads it."""
from __future__ import annotations

import pickle
from collections.abc import Iterable

_PICKLE = b"\x80"
_BEGINNINGS = (
    (b"\x93NUMPY", "an array of NumPy; torch.from_numpy(numpy.load(file)) reads it"),
    (b"version https://git-lfs", "a pointer of Git LFS, not the file itself; `git lfs pull` brings that"),
    (b"<", "a web page or XML, not what was to be downloaded"),
    (b"\x1f\x8b", "compressed by gzip; unpack it first, or give gzip.open(file)"),
    (b"\x89HDF", "an HDF5 file; h5py reads it"),
    (_PICKLE, "a pickle that torch.save did not write; pickle.load reads it"),
)


def of_bytes(head: bytes) -> str | None:
    """What a file is that begins with these bytes, 24 of them or all that there are; None where that is not known."""
    if head[8:9] == b"{" and head[5:8] == bytes(3):      # the size of a header, and the header
        return "of safetensors; numtorch.safetensors.load_file reads it"
    return next((what for beginning, what in _BEGINNINGS if head.startswith(beginning)), None)


def check_beginning(file) -> None:
    """Refuse what does not begin as an archive of `save`. The file stays where it is.

    Raises:
        EOFError: it is empty.
        RuntimeError: it begins as a pickle.
        pickle.UnpicklingError: it begins otherwise.
    """
    start = file.tell()
    head = file.read(24)
    file.seek(start)
    if not head:
        raise EOFError("load: the file is empty")
    if not head.startswith(b"PK\x03\x04"):
        kind = RuntimeError if head.startswith(_PICKLE) else pickle.UnpicklingError
        raise kind(f"load: the file is {of_bytes(head) or 'not of the formats that save and PyTorch write'}")


def of_entries(names: Iterable[str]) -> str | None:
    """What an archive is that has entries of these names; None for one of `save`, or where it is not known."""
    names = list(names)
    if any(name.partition("/")[2].startswith("code/") for name in names):
        return "a TorchScript program that PyTorch compiled; load it there with torch.jit.load, and save its state_dict()"
    if names and all(name.endswith(".npy") for name in names):
        return "of arrays of NumPy; numpy.load reads it"
    return None
