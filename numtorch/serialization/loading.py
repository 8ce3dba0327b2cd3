"""Reading: `torch.load`, of files of both formats."""
from __future__ import annotations

import contextlib
import functools
import os
import pickle
import zipfile
from typing import TYPE_CHECKING, Any

from ..files import naming
from . import formats, oldfiles
from .archive import SearchedFile, check_sizes, damaged, read_entry, read_storage
from .locations import located
from .mapped import MappedFile
from .rebuilding import Reader
from .unpickler import Unpickler, WeightsOnlyUnpickler

if TYPE_CHECKING:
    from ..types import FileLike


def load(f: FileLike, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
         mmap: bool | None = None, **pickle_load_args) -> Any:
    """Read what `save` wrote, here or in PyTorch.

    Args:
        f: a path, or a file open for reading bytes.
        map_location: where tensors go: a device or its name, a dict from names saved to such, or a function of a storage and its
            name that returns the storage to use: the one it is given, which is on the CPU, one made of it, or None for where it
            was saved from. Where they were saved from when None.
        pickle_module: taken for PyTorch's sake: None or `pickle`.
        weights_only: whether only tensors, numbers, strings, containers and what `serialization.add_safe_globals` allows may come.
            False runs whatever the file says: for files from a source you trust. True when None.
        mmap: have tensors lie over the mapped file (a path) instead of reading them: nothing is read until it is used, checksums
            are not compared, and writing to a tensor does not change the file.
        pickle_load_args: for the unpickler, such as `encoding`.

    Raises:
        TypeError: `map_location` is, or gives, something else. What such a function raises is raised.
        ValueError: `mmap` of what is no path.
        EOFError: the file is empty, or the pickle in it ends early.
        pickle.UnpicklingError: not a file of this format (and of which, where that is known), or the pickle in it is damaged, or
            asks for what `weights_only` does not allow. With `weights_only=False`, what the file says runs, and raises what it
            raises.
        RuntimeError: a damaged archive, one that was not written by `save`, a pickle alone, tensors that reach out of their
            memory, or on a device that is not there. All three name the file, where it has a name.
        OSError: the file is not there, or cannot be read.

    Example:
        >>> import io
        >>> import numtorch as torch
        >>> file = io.BytesIO()
        >>> torch.save([torch.arange(3), "abc"], file)
        >>> torch.load(io.BytesIO(file.getvalue()), map_location="cpu")
        [tensor([0, 1, 2]), 'abc']
    """
    if pickle_module not in (None, pickle):
        raise RuntimeError("load: expected pickle_module to be None or pickle")
    if not isinstance(f, (str, os.PathLike)) and not (hasattr(f, "read") and hasattr(f, "seek")):
        raise AttributeError(f"load: expected 'f' to be a path or a file that can be read and searched, got {type(f).__name__}; "
                             f"read what cannot be searched into an io.BytesIO first")
    if mmap and not isinstance(f, (str, os.PathLike)):
        raise ValueError("f must be a file path in order to use the mmap argument")
    with contextlib.ExitStack() as opened:
        file = opened.enter_context(open(f, "rb")) if isinstance(f, (str, os.PathLike)) else f
        opened.enter_context(naming(f))
        unpickler = functools.partial(Unpickler if weights_only is False else WeightsOnlyUnpickler,
                                      **{"encoding": "utf-8", **pickle_load_args})
        if oldfiles.begins(file):
            if mmap:
                raise RuntimeError("load: mmap can only be used with files of the zip format, which PyTorch writes since 1.6")
            return oldfiles.load(file.read(), unpickler, Reader, functools.partial(located, map_location=map_location))
        formats.check_beginning(file)
        with damaged("damaged, or ends early"):
            archive = opened.enter_context(zipfile.ZipFile(file if hasattr(file, "seekable") else SearchedFile(file)))
            check_sizes(archive, file)
        what = formats.of_entries(archive.namelist())
        if what is not None:
            raise RuntimeError(f"load: the file is {what}")
        prefix = next((e.removesuffix("data.pkl") for e in archive.namelist() if e.endswith("/data.pkl")), None)
        if prefix is None:
            raise RuntimeError("load: the archive has no data.pkl, so it was not written by save")
        if f"{prefix}byteorder" in archive.namelist() and read_entry(archive, f"{prefix}byteorder") != b"little":
            raise RuntimeError("load: the file's numbers are big-endian")
        mapped = MappedFile(f) if mmap else None
        reader = Reader(lambda key, kind, location, numel: located(
            read_storage(archive, f"{prefix}data/{key}", kind, numel, mapped), location, map_location))
        return unpickler(read_entry(archive, f"{prefix}data.pkl"), reader.meanings, reader.storage_of).load()
