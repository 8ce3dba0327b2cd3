"""What a file is that `load` does not read, by how it begins or by what is in it, and what reads it."""
from __future__ import annotations

from collections.abc import Iterable

_BEGINNINGS = (
    (b"\x93NUMPY", "an array of NumPy; torch.from_numpy(numpy.load(file)) reads it"),
    (b"version https://git-lfs", "a pointer of Git LFS, not the file itself; `git lfs pull` brings that"),
    (b"<", "a web page or XML, not what was to be downloaded"),
    (b"\x1f\x8b", "compressed by gzip; unpack it first, or give gzip.open(file)"),
    (b"\x89HDF", "an HDF5 file; h5py reads it"),
    (b"\x80", "a pickle that torch.save did not write; pickle.load reads it"),
)


def of_bytes(head: bytes) -> str | None:
    """What a file is that begins with these bytes, 24 of them or all that there are; None where that is not known."""
    if not head:
        return "empty"
    if head[8:9] == b"{" and head[5:8] == bytes(3):      # the size of a header, and the header
        return "of safetensors; numtorch.safetensors.load_file reads it"
    return next((what for beginning, what in _BEGINNINGS if head.startswith(beginning)), None)


def of_entries(names: Iterable[str]) -> str | None:
    """What an archive is that has entries of these names; None for one of `save`, or where it is not known."""
    names = list(names)
    if any(name.partition("/")[2].startswith("code/") for name in names):
        return "a TorchScript program that PyTorch compiled; load it there with torch.jit.load, and save its state_dict()"
    if names and all(name.endswith(".npy") for name in names):
        return "of arrays of NumPy; numpy.load reads it"
    return None
