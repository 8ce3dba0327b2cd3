"""Files of the safetensors library, as `safetensors.torch` writes and reads them: names and tensors, and nothing that runs.

The library writes, and checks what is read; the tensors lie over the mapped file, so that loading reads nothing but the header
(serialization/mapped.py). Needs the extra `safetensors`.
"""
from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .devices import device as as_device
from .dtypes import dtype
from .exchange.arrays import raw_array
from .exchange.construction import from_numpy
from .extras import required
from .layout import Layout
from .ops.memory.copies import clone
from .serialization.mapped import MappedFile
from .tensor import Tensor

if TYPE_CHECKING:
    from .nn.modules.module import Module

__all__ = ["load", "load_file", "load_model", "safe_open", "save", "save_file", "save_model"]

# the names of dtypes in a file
_NAMES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32", "I16": "int16",
          "I8": "int8", "U8": "uint8", "BOOL": "bool", "U64": "uint64", "U32": "uint32", "U16": "uint16", "C64": "complex64"}


def _library():
    return required("safetensors", "numtorch.safetensors", "safetensors")


def _specification(tensors, metadata):
    """What the library writes, and what must live until it has."""
    library, specification, kept = _library(), {}, []
    if not isinstance(tensors, Mapping):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors).__name__}")
    names: dict = {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor).__name__}")
        if tensor.layout.dtype.name not in _NAMES.values():
            raise ValueError(f"Key `{name}`: safetensors has no {tensor.layout.dtype}")
        if not tensor.layout.contiguous:
            raise ValueError(f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It either means you "
                             f"are trying to save tensors which are reference of each other in which case it's recommended to save "
                             f"only the full tensors, and reslice at load time, or simply call `.contiguous()` on your tensor to "
                             f"pack it before saving.")
        if tensor.layout.numel:
            names.setdefault((tensor.memory.address, tensor.layout.device), []).append(name)
        host = raw_array(tensor.detach().cpu())
        kept.append(host)
        specification[name] = library.TensorSpec(dtype=tensor.layout.dtype.name, shape=list(tensor.layout.shape),
                                                 data_ptr=host.__array_interface__["data"][0], data_len=host.nbytes)
    shared = [group for group in names.values() if len(group) > 1]
    if shared:
        raise RuntimeError(f"Some tensors share memory, this will lead to duplicate memory on disk and potential differences when "
                           f"loading them again: {shared}. A potential way to correctly save your model is to use `save_model`.")
    if metadata is not None and not all(isinstance(k, str) and isinstance(v, str) for k, v in metadata.items()):
        raise ValueError("metadata: expected a dict of strings")
    return library, specification, kept


def save_file(tensors: Mapping[str, Tensor], filename: str | os.PathLike, metadata: dict[str, str] | None = None) -> None:
    """Write tensors by name.

    Args:
        tensors: contiguous ones that share no memory.
        filename: the file.
        metadata: text that the file says beside.

    Raises:
        ImportError: the library is not installed.
        ValueError: something that is no tensor, not contiguous, or of a dtype that such files have not.
        RuntimeError: tensors share memory.

    Example:
        >>> import os, tempfile
        >>> import numtorch as torch
        >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
        >>> torch.safetensors.save_file({"weight": torch.ones(2)}, path)
        >>> torch.safetensors.load_file(path)
        {'weight': tensor([1., 1.])}
    """
    library, specification, _kept = _specification(tensors, metadata)
    library.serialize_file(specification, os.fspath(filename), metadata=metadata)


def save(tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of such a file.

    Args:
        tensors, metadata: as for `save_file`.
    """
    library, specification, _kept = _specification(tensors, metadata)
    return library.serialize(specification, metadata=metadata)


class safe_open:
    """A file whose tensors are looked up by name: `with safe_open(path) as file: file.get_tensor("weight")`.

    Args:
        filename: the file.
        framework: `"pt"`, taken for the library's sake.
        device: where tensors go. On the CPU they lie over the file.

    Raises:
        ImportError: the library is not installed.
        OSError: the file is not there.
        safetensors.SafetensorError: it is damaged.

    Example:
        >>> import os, tempfile
        >>> import numtorch as torch
        >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
        >>> torch.safetensors.save_file({"a": torch.ones(2), "b": torch.zeros(3, 2)}, path, {"made": "here"})
        >>> with torch.safetensors.safe_open(path) as file:
        ...     file.keys(), file.metadata(), file.get_slice("b")[1:].shape
        (['a', 'b'], {'made': 'here'}, torch.Size([2, 2]))
    """

    def __init__(self, filename: str | os.PathLike, framework: str = "pt", device: Any = "cpu") -> None:
        library = _library()
        self.filename = os.fspath(filename)
        self.device = as_device(device) if not isinstance(device, int) else as_device(f"cuda:{device}")
        try:
            with library.safe_open(self.filename, framework="numpy"):              # it checks the header
                self.file = MappedFile(filename)
        except library.SafetensorError as error:
            raise library.SafetensorError(f"{self.filename}: {error}") from None
        length = int.from_bytes(self.file.bytes_at(0, 8), "little")
        try:
            header = json.loads(self.file.bytes_at(8, length))
        except ValueError as error:
            raise library.SafetensorError(f"{self.filename}: Error while deserializing header: {error}") from None
        self._metadata, self.start = header.pop("__metadata__", None), 8 + length
        self.entries = dict(sorted(header.items(), key=lambda item: item[1]["data_offsets"]))

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *exception) -> None:
        """The mapping goes with the last tensor over it."""

    def keys(self) -> list[str]:
        """The names, in alphabetical order."""
        return sorted(self.entries)

    def offset_keys(self) -> list[str]:
        """The names, in the order in which they lie in the file."""
        return list(self.entries)

    def metadata(self) -> dict[str, str] | None:
        """The text that the file says beside."""
        return self._metadata

    def get_tensor(self, name: str) -> Tensor:
        """A tensor over the file.

        Args:
            name: one of `keys()`.

        Raises:
            safetensors.SafetensorError: there is none of that name, or of a dtype that is not here.
        """
        entry = self.entries.get(name)
        if entry is None:
            raise _library().SafetensorError(f"{self.filename}: File does not contain tensor {name}")
        if entry["dtype"] not in _NAMES:
            raise _library().SafetensorError(f"{self.filename}: tensor {name}: numtorch has no dtype {entry['dtype']}")
        layout = Layout.of(dtype.by_name[_NAMES[entry["dtype"]]], tuple(entry["shape"]))
        return self.file.tensor(self.start + entry["data_offsets"][0], layout).to(self.device)

    def get_slice(self, name: str) -> _Slice:
        """A tensor to be indexed, of which only what is taken is read.

        Args:
            name: one of `keys()`.
        """
        return _Slice(self.get_tensor(name), self.entries[name]["dtype"])


class _Slice:
    """What `get_slice` gives."""

    def __init__(self, tensor, name):
        self.tensor, self.name = tensor, name

    def __getitem__(self, index) -> Tensor:
        return self.tensor[index]

    def get_shape(self) -> list[int]:
        """The sizes of all of it."""
        return list(self.tensor.layout.shape)

    def get_dtype(self) -> str:
        """The file's name for its dtype."""
        return self.name


def load_file(filename: str | os.PathLike, device: Any = "cpu") -> dict[str, Tensor]:
    """All tensors of a file, by name. On the CPU they lie over the mapped file: nothing is read until it is used, and writing to
    one does not change the file.

    Args:
        filename, device: as for `safe_open`.

    Raises:
        ImportError, OSError, safetensors.SafetensorError: as for `safe_open`.
    """
    with safe_open(filename, device=device) as file:
        return {name: file.get_tensor(name) for name in file.offset_keys()}


def load(data: bytes) -> dict[str, Tensor]:
    """All tensors of a file's bytes, by name.

    Args:
        data: what `save` gave.

    Raises:
        safetensors.SafetensorError: they are damaged.
    """
    library, tensors = _library(), {}
    for name, entry in library.deserialize(data):
        if entry["dtype"] not in _NAMES:
            raise library.SafetensorError(f"tensor {name}: numtorch has no dtype {entry['dtype']}")
        kind = dtype.by_name[_NAMES[entry["dtype"]]]
        tensors[name] = _of_bytes(bytearray(entry["data"]), Layout.of(kind, tuple(entry["shape"])))
    return tensors


def _of_bytes(data, layout):
    import numpy as np
    if not layout.numel:
        return from_numpy(np.zeros(0, np.uint8)).view(layout.dtype).reshape(tuple(layout.shape))
    return from_numpy(np.frombuffer(data, np.uint8)).view(layout.dtype).view(tuple(layout.shape))


def save_model(model: Module, filename: str | os.PathLike, metadata: dict[str, str] | None = None,
               force_contiguous: bool = True) -> None:
    """Write a module's state. Of names that share a tensor one is written, and the file says which the others are.

    Args:
        model: the module.
        filename, metadata: as for `save_file`.
        force_contiguous: copy what is not contiguous; False to refuse it.
    """
    written, said, first = {}, dict(metadata or {}), {}
    for name, tensor in model.state_dict().items():
        place = (tensor.memory.address, tensor.address, tensor.layout)
        if tensor.layout.numel and place in first:
            said[name] = first[place]
            continue
        first[place] = name
        written[name] = clone(tensor).contiguous() if force_contiguous and not tensor.layout.contiguous else tensor
    save_file(written, filename, {"format": "pt", **said})


def load_model(model: Module, filename: str | os.PathLike, strict: bool = True, device: Any = "cpu") -> tuple[list[str], list[str]]:
    """Fill a module's state from a file.

    Args:
        model: the module.
        filename, device: as for `safe_open`.
        strict: raise where names are missing or too many.

    Returns:
        The names that were missing, and those that were too many.

    Raises:
        RuntimeError: with `strict`, names do not agree.
    """
    with safe_open(filename, device=device) as file:
        tensors, said = {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}
    state = model.state_dict()
    for name, first in said.items():                     # what shares a tensor with another name
        if name in state and name not in tensors and first in tensors:
            tensors[name] = tensors[first]
    missing, unexpected = sorted(set(state) - set(tensors)), sorted(set(tensors) - set(state))
    if strict and (missing or unexpected):
        raise RuntimeError(f"Error(s) in loading state_dict for {type(model).__name__} from {os.fspath(filename)}:\n"
                           f"    Missing key(s) in state_dict: {missing}\n    Unexpected key(s) in state_dict: {unexpected}")
    model.load_state_dict(tensors, strict=False)
    return missing, unexpected
