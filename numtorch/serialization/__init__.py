"""Files of tensors: `torch.save` and `torch.load`, in the format of PyTorch's, so that each library reads the other's files.

A file is a zip archive without compression: `data.pkl` holds the pickled object, where a tensor is a storage's number, its place in
it, sizes and strides; `data/<number>` holds a storage's bytes, once for all tensors that share it. In import order:

names       PyTorch's names for what stands in a file
saving      `save`
permitted   what users let a file use (`add_safe_globals`)
unpickler   what the pickle in a file may do
mapped      tensors over the bytes of a file (safetensors.py has them too)
archive     the zip archive, of which nothing is believed
locations   where storages go: `map_location`
rebuilding  the tensors that a file describes
formats     what a file is that is not read, and what reads it
oldfiles    files from before PyTorch 1.6
loading     `load`
"""
import os
from collections.abc import Callable
from typing import IO

from ..devices import device
from .loading import load
from .permitted import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .saving import DEFAULT_PROTOCOL, save

# What `f` and `map_location` may be, for annotations: PyTorch's names.
FileLike = str | os.PathLike[str] | IO[bytes]
MAP_LOCATION = Callable | device | str | dict[str, str] | None

__all__ = ["DEFAULT_PROTOCOL", "add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    from ..alias import attribute
    return attribute(__name__, name)
