"""Writing: `torch.save`. Tensors are pickled under the names of the functions that PyTorch builds them with (names.py)."""
from __future__ import annotations

import contextlib
import io
import os
import pickle
import struct
import zipfile
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from ..devices import cpu, device
from ..dtypes import dtype
from ..exchange.arrays import raw_array
from ..files import replacing
from ..layout import Layout, Size, memory_layout
from ..nn.base.state import StateDict
from ..nn.modules.lazy import is_lazy
from ..nn.parameter import Buffer, Parameter
from ..ops.memory.untyped import StorageBase
from ..optim.states import State
from ..sparse.files import described
from ..sparse.layouts import is_sparse
from ..tensor import Tensor, wrap
from .names import (
    DEVICE,
    DTYPES,
    LAYOUT,
    META,
    OF_A_KIND,
    PARAMETER,
    PARAMETER_WITH_STATE,
    SIZE,
    SPARSE,
    STORAGES,
    TENSOR,
    UNTYPED,
    V2,
    V3,
    Named,
)

if TYPE_CHECKING:
    from ..types import FileLike

DEFAULT_PROTOCOL = 2


def _numel(stored):
    """How many elements a storage has in a file; bytes where PyTorch has no storage of the kind."""
    return stored.memory.nbytes // (stored.dtype.itemsize if stored.dtype in STORAGES else 1)


def _content(stored):
    """The bytes of all of a storage's memory, which tensors may lie in that is larger than what the storage shows."""
    memory, kind = stored.memory, stored.dtype
    whole = Layout.of(kind, (memory.nbytes // kind.itemsize,), None, memory.device)
    return memoryview(raw_array(wrap(memory, memory.address, whole).cpu())).cast("B")


class _Saver(pickle._Pickler):                           # the one in Python, whose globals can be named otherwise
    dispatch = dict(pickle._Pickler.dispatch)

    def __init__(self, file, protocol) -> None:
        super().__init__(file, protocol=protocol)
        self.stored = {}                                 # what is stored under each number, by its memory

    def persistent_id(self, obj):
        if not isinstance(obj, StorageBase):
            return None
        storage, kind = obj.memory, obj.dtype
        place = (storage.address, storage.device) if storage.nbytes else kind
        number, before = self.stored.setdefault(place, (len(self.stored), obj))
        if before.dtype is not kind:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        location = "cpu" if storage.device is cpu else f"{storage.device.type}:{storage.device.index or 0}"
        return "storage", STORAGES.get(kind, UNTYPED), str(number), location, _numel(before)

    def reducer_override(self, obj):
        if isinstance(obj, Tensor):
            return _reduced_tensor(obj)
        if isinstance(obj, Size):
            return SIZE, (tuple(obj),)
        if isinstance(obj, memory_layout):
            return LAYOUT, (str(obj),)
        if isinstance(obj, device):
            return DEVICE, (obj.type,) if obj.index is None else (obj.type, obj.index)
        if type(obj) is StateDict:
            return OrderedDict, (), dict(vars(obj)), None, iter(obj.items())
        return NotImplemented

    def save_named(self, obj):
        self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    def save_dtype(self, obj):
        self.save(DTYPES[obj])

    dispatch[Named], dispatch[dtype] = save_named, save_dtype
    dispatch[State] = dispatch[dict]                     # PyTorch reads no others, where it reads weights only


def _reduced_tensor(tensor):
    state = {k: v for k, v in vars(tensor).items() if not k.startswith("_")}
    if is_lazy(tensor):
        return Named("torch.nn.parameter", type(tensor).__name__), (tensor.requires_grad,)
    if isinstance(tensor, Parameter):
        args = tensor.detach(), tensor.requires_grad, OrderedDict()
        return (PARAMETER_WITH_STATE, (*args, state)) if state else (PARAMETER, args)
    kind = type(tensor)
    if kind is Buffer:
        kind, state = Tensor, {k: v for k, v in state.items() if k != "persistent"}
    held = tensor.detach()
    if is_sparse(held):
        layout, data = described(held)
        return SPARSE, (layout, data)
    if any(step < 0 for step in held.layout.strides):    # PyTorch has none
        held = held.contiguous()
    layout, storage = held.layout, held.memory
    shape, strides = tuple(layout.shape), tuple(layout.strides)
    if layout.device.type == "meta":                     # has no storage in a file: what shares one does not when loaded
        build, args = META, (layout.dtype, shape, strides, tensor.requires_grad)
    else:
        offset = (held.address - storage.address) // layout.dtype.itemsize if layout.numel else 0
        build, args = V2, (held.storage(), offset, shape, strides, tensor.requires_grad, OrderedDict())
        if layout.dtype not in STORAGES:
            build, args = V3, (*args, layout.dtype)
    if kind is Tensor and not state:
        return build, args
    return OF_A_KIND, (build, TENSOR if kind is Tensor else kind, args, state)


def save(obj: Any, f: FileLike, pickle_module: Any = None, pickle_protocol: int = DEFAULT_PROTOCOL,
         _use_new_zipfile_serialization: bool = True) -> None:
    """Write an object with tensors in it to a file, which PyTorch reads too.

    Tensors that share memory share it when loaded, and all of a tensor's memory is written, also what a view of it does not show:
    `clone()` what is part of something large.

    Args:
        obj: what to write, such as a `state_dict()` or a dict of several; modules are pickled, by their class's name.
        f: a path, whose file is replaced when all is written, or a file open for writing bytes.
        pickle_module: taken for PyTorch's sake: None or `pickle`.
        pickle_protocol: of the part that is pickled.
        _use_new_zipfile_serialization: taken for PyTorch's sake: True.

    Raises:
        TypeError: `f` is no path and cannot be written to.
        RuntimeError: tensors of several dtypes share memory, or the format of before PyTorch 1.6 is asked for.

    Example:
        >>> import io
        >>> import numtorch as torch
        >>> layer, file = torch.nn.Linear(2, 1), io.BytesIO()
        >>> torch.save({"model": layer.state_dict(), "epoch": 3}, file)
        >>> checkpoint = torch.load(io.BytesIO(file.getvalue()))
        >>> checkpoint["epoch"], layer.load_state_dict(checkpoint["model"])
        (3, <All keys matched successfully>)
    """
    if pickle_module not in (None, pickle):
        raise RuntimeError("save: expected pickle_module to be None or pickle")
    if not _use_new_zipfile_serialization:
        raise RuntimeError("save: only the zip format is written, which PyTorch reads from 1.6 on")
    if isinstance(f, (str, os.PathLike)):
        name = os.path.splitext(os.path.basename(os.fsdecode(f)))[0]
    elif hasattr(f, "write"):
        name = "archive"
    else:
        raise TypeError(f"expected 'f' to be string, path, or a file-like object with a 'write' attribute, got {type(f).__name__}")
    pickled = io.BytesIO()
    saver = _Saver(pickled, pickle_protocol)
    saver.dump(obj)
    with (contextlib.nullcontext(f) if hasattr(f, "write") else replacing(f)) as file, zipfile.ZipFile(file, "w") as archive:
        def add(entry, content):
            info = zipfile.ZipInfo(f"{name}/{entry}")
            start = archive.fp.tell() + 30 + len(info.filename.encode()) + 4      # type: ignore[union-attr]
            info.extra = b"FB" + struct.pack("<H", -start % 64) + bytes(-start % 64)   # bytes begin at multiples of 64
            archive.writestr(info, content)

        add("data.pkl", pickled.getbuffer())
        add("byteorder", b"little")
        for number, stored in saver.stored.values():
            add(f"data/{number}", _content(stored))
        add("version", b"3\n")
