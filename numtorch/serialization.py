"""Files of tensors: `torch.save` and `torch.load`, in the format of PyTorch's, so that each library reads the other's files.

A file is a zip archive without compression: `data.pkl` holds the pickled object, where a tensor is a storage's number, its place in
it, sizes and strides; `data/<number>` holds a storage's bytes, once for all tensors that share it. Tensors are pickled under the
names of the functions that PyTorch builds them with, which `_MEANINGS` gives back. A list says what may be called while loading,
unless `weights_only=False` trusts the file.
"""
from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import pickle
import struct
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import oldfiles
from .arrays import raw_array
from .devices import cpu, device
from .dtypes import dtype
from .files import naming, replacing
from .layout import Layout, Size, memory_layout
from .mapped import MappedFile, entry_offset
from .nn.modules.state import StateDict
from .nn.parameter import Buffer, Parameter
from .ops.memory.typed import TypedStorage
from .ops.memory.untyped import StorageBase, UntypedStorage
from .sparse.files import described, get_layout, rebuild_sparse
from .sparse.layouts import is_sparse
from .tensor import Tensor, alias, lasting, wrap
from .unpickler import Unpickler, WeightsOnlyUnpickler, allowed

if TYPE_CHECKING:
    from .types import FileLike

DEFAULT_PROTOCOL = 2
_UINT8 = dtype.by_name["uint8"]


class _Named:
    """Something of PyTorch's, pickled by its name."""

    __slots__ = ("module", "name")

    def __init__(self, module, name) -> None:
        self.module, self.name = module, name

    def __call__(self):
        """Pickle asks for functions; this one is only named."""


_V2, _V3 = _Named("torch._utils", "_rebuild_tensor_v2"), _Named("torch._utils", "_rebuild_tensor_v3")
_PARAMETER = _Named("torch._utils", "_rebuild_parameter")
_PARAMETER_WITH_STATE = _Named("torch._utils", "_rebuild_parameter_with_state")
_OF_A_KIND = _Named("torch._tensor", "_rebuild_from_type_v2")
_SPARSE, _LAYOUT = _Named("torch._utils", "_rebuild_sparse_tensor"), _Named("torch.serialization", "_get_layout")
_UNTYPED = _Named("torch.storage", "UntypedStorage")
_SIZE, _DEVICE, _TENSOR = _Named("torch", "Size"), _Named("torch", "device"), _Named("torch", "Tensor")
_DTYPES = {kind: _Named("torch", name) for name, kind in dtype.by_name.items()}
_STORAGES = {kind: _Named("torch", f"{kind.title}Storage") for name, kind in dtype.by_name.items()
             if name not in ("uint16", "uint32", "uint64")}


# ---------------------------------------------------------------- saving
def _numel(stored):
    """How many elements a storage has in a file; bytes where PyTorch has no storage of the kind."""
    return stored.memory.nbytes // (stored.dtype.itemsize if stored.dtype in _STORAGES else 1)


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
        return "storage", _STORAGES.get(kind, _UNTYPED), str(number), location, _numel(before)

    def reducer_override(self, obj):
        if isinstance(obj, Tensor):
            return _reduced_tensor(obj)
        if isinstance(obj, Size):
            return _SIZE, (tuple(obj),)
        if isinstance(obj, memory_layout):
            return _LAYOUT, (str(obj),)
        if isinstance(obj, device):
            return _DEVICE, (obj.type,) if obj.index is None else (obj.type, obj.index)
        if type(obj) is StateDict:
            return OrderedDict, (), dict(vars(obj)), None, iter(obj.items())
        return NotImplemented

    def save_named(self, obj):
        self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    def save_dtype(self, obj):
        self.save(_DTYPES[obj])

    dispatch[_Named], dispatch[dtype] = save_named, save_dtype


def _reduced_tensor(tensor):
    state = {k: v for k, v in vars(tensor).items() if not k.startswith("_")}
    if isinstance(tensor, Parameter):
        args = tensor.detach(), tensor.requires_grad, OrderedDict()
        return (_PARAMETER_WITH_STATE, (*args, state)) if state else (_PARAMETER, args)
    kind = type(tensor)
    if kind is Buffer:
        kind, state = Tensor, {k: v for k, v in state.items() if k != "persistent"}
    held = tensor.detach()
    if is_sparse(held):
        layout, data = described(held)
        return _SPARSE, (layout, data)
    if any(step < 0 for step in held.layout.strides):    # PyTorch has none
        held = held.contiguous()
    layout, storage = held.layout, held.memory
    offset = (held.address - storage.address) // layout.dtype.itemsize if layout.numel else 0
    args = held.storage(), offset, tuple(layout.shape), tuple(layout.strides), tensor.requires_grad, OrderedDict()
    build = _V2 if layout.dtype in _STORAGES else _V3
    if build is _V3:
        args = *args, layout.dtype
    if kind is Tensor and not state:
        return build, args
    return _OF_A_KIND, (build, _TENSOR if kind is Tensor else kind, args, state)


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


# ---------------------------------------------------------------- loading
def _rebuild_parameter(data, requires_grad, hooks, state=None):
    out = Parameter(data, requires_grad)
    vars(out).update({k: v for k, v in (state or {}).items() if not k.startswith("_")})
    return out


_MEANINGS: dict[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_sparse_tensor"): rebuild_sparse, ("torch.serialization", "_get_layout"): get_layout,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): _rebuild_parameter,
    ("torch", "Tensor"): Tensor,
    ("torch.nn.parameter", "Parameter"): Parameter, ("torch", "Size"): Size, ("torch", "device"): device,
    **{("torch", name): kind for name, kind in dtype.by_name.items()},
    **{(each.module, each.name): kind for kind, each in _STORAGES.items()},
    ("torch.storage", "UntypedStorage"): _UINT8, ("torch", "UntypedStorage"): _UINT8,
}
def add_safe_globals(safe_globals: Sequence) -> None:
    """Let files that `load` reads with `weights_only=True` use these classes and functions too.

    Args:
        safe_globals: classes or functions; or pairs of one and the full name that the file gives it.

    Example:
        >>> import numtorch as torch
        >>> torch.serialization.add_safe_globals([torch.Generator])
        >>> torch.Generator in torch.serialization.get_safe_globals()
        True
        >>> torch.serialization.clear_safe_globals()
    """
    allowed.extend(safe_globals)


def get_safe_globals() -> list:
    """What `add_safe_globals` has added.

    Example:
        >>> import numtorch as torch
        >>> torch.serialization.get_safe_globals()
        []
    """
    return list(allowed)


def clear_safe_globals() -> None:
    """Take back what `add_safe_globals` has added.

    Example:
        >>> import numtorch as torch
        >>> torch.serialization.clear_safe_globals()
        >>> torch.serialization.get_safe_globals()
        []
    """
    allowed.clear()


class safe_globals:
    """Inside, files may use these too, as after `add_safe_globals`.

    Args:
        safe_globals: classes or functions; or pairs of one and the full name that the file gives it.

    Example:
        >>> import numtorch as torch
        >>> with torch.serialization.safe_globals([torch.Generator]):
        ...     len(torch.serialization.get_safe_globals())
        1
    """

    def __init__(self, safe_globals: Sequence) -> None:
        self.added = list(safe_globals)

    def __enter__(self):
        self.before = list(allowed)
        add_safe_globals(self.added)

    def __exit__(self, *exception):
        allowed[:] = self.before


class _Reader:
    """Gives the tensors of a file over the storages in its archive, each of which is read once."""

    def __init__(self, read_storage) -> None:
        self.read_storage = read_storage
        self.bases: dict = {}                            # by key: a storage, and what it was said to be
        self.base_of: dict = {}                          # by the identity of a storage: its tensor of one dimension
        self.seen_as: dict = {}                          # by the identity of such a tensor, dtype and bits: what they make of it
        self.build, self.build_of = self.rebuild_tensor, self.rebuild_tensor_of
        self.meanings = {**_MEANINGS, ("torch._utils", "_rebuild_tensor_v2"): self.build,
                         ("torch._utils", "_rebuild_tensor_v3"): self.build_of,
                         ("torch._tensor", "_rebuild_from_type_v2"): self.rebuild_of_a_kind}

    def storage_of(self, pid):
        if pid[0] == "module":                           # and its source, in files from before 1.6
            return pid[1]
        kind, key, location, numel = pid[1:5]
        if not (isinstance(kind, dtype) and type(key) is str and type(location) is str and type(numel) is int):
            raise pickle.UnpicklingError("load: the file names a storage of an unknown type")
        if key not in self.bases:
            base = self.read_storage(key, kind, location, numel)
            self.bases[key] = typed, *_ = TypedStorage(wrap_storage=UntypedStorage._over(base), dtype=kind), kind, numel
            self.base_of[id(typed)] = self.seen_as[id(base), kind, False, False] = base
        typed, *said = self.bases[key]
        if said != [kind, numel]:
            raise pickle.UnpicklingError(f"load: the file says two things of its storage {key!r}")
        return typed

    def whole(self, base, kind, conj, neg):
        """A storage's tensor under a dtype, with the values that PyTorch's conj and neg bits stand for, which tensors here have
        not: the storage is copied, once, and what shares it goes on sharing."""
        place = id(base), kind, conj, neg
        found = self.seen_as.get(place)
        if found is None:
            if conj or neg:
                found = self.whole(base, kind, False, False)
                found = found.conj().clone() if conj else found
                found = -found if neg else found
            else:
                found = base.view(kind)
            self.seen_as[place] = found
        return found

    def rebuild_tensor(self, storage, offset, size, stride, requires_grad, hooks, metadata=None):
        kind = getattr(storage, "dtype", None)
        return self.rebuild_tensor_of(storage, offset, size, stride, requires_grad, hooks, kind, metadata)

    def rebuild_tensor_of(self, storage, offset, size, stride, requires_grad, hooks, kind, metadata=None):
        base = self.base_of.get(id(storage))
        if base is None or not isinstance(kind, dtype):
            raise pickle.UnpicklingError("load: the file describes a tensor that lies in no storage")
        if len(size) > 64:
            raise pickle.UnpicklingError(f"load: the file describes a tensor of {len(size)} dimensions")
        bits = metadata or {}
        out = self.whole(base, kind, bool(bits.get("conj")), bool(bits.get("neg"))).as_strided(size, stride, offset)
        return out.requires_grad_() if requires_grad else out

    def rebuild_of_a_kind(self, build, kind, args, state):
        known = build is self.build or build is self.build_of
        if not (known and isinstance(kind, type) and issubclass(kind, Tensor)):
            raise pickle.UnpicklingError("load: the file describes a tensor of an unknown kind")
        out = build(*args) if kind is Tensor else alias(build(*args), kind)
        state = state if isinstance(state, dict) else state[0] if state else None      # or a pair, the second of slots
        vars(out).update({k: v for k, v in (state or {}).items() if not k.startswith("_")})
        return out


def _target(location, map_location):
    """The device that a storage saved on one goes to."""
    if isinstance(map_location, dict):
        location = map_location.get(location, location)
    elif callable(map_location) and not isinstance(map_location, device):
        location = "cpu"
    elif map_location is not None:
        location = str(map_location)
    return location


def load(f: FileLike, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
         mmap: bool | None = None, **pickle_load_args) -> Any:
    """Read what `save` wrote, here or in PyTorch.

    Args:
        f: a path, or a file open for reading bytes.
        map_location: where tensors go: a device or its name, a dict from names saved to such, or a function of a storage and its
            name (whose storage stays where it is read, on the CPU). Where they were saved from when None.
        pickle_module: taken for PyTorch's sake: None or `pickle`.
        weights_only: whether only tensors, numbers, strings, containers and what `serialization.add_safe_globals` allows may come.
            False runs whatever the file says: for files from a source you trust. True when None.
        mmap: have tensors lie over the mapped file (a path) instead of reading them: nothing is read until it is used, checksums
            are not compared, and writing to a tensor does not change the file.
        pickle_load_args: for the unpickler, such as `encoding`.

    Raises:
        ValueError: `mmap` of what is no path.
        pickle.UnpicklingError: the pickle in the file is damaged, or asks for what `weights_only` does not allow. With
            `weights_only=False`, what the file says runs, and raises what it raises.
        RuntimeError: not a file of this format, a damaged archive, tensors that reach out of their memory, or on a device that
            is not there. Both name the file, where it has a name.
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
        raise AttributeError(f"load: expected 'f' to be a path or a file that can be read and searched, got {type(f).__name__}")
    if mmap and not isinstance(f, (str, os.PathLike)):
        raise ValueError("f must be a file path in order to use the mmap argument")
    with contextlib.ExitStack() as opened:
        file = opened.enter_context(open(f, "rb")) if isinstance(f, (str, os.PathLike)) else f
        opened.enter_context(naming(f))
        unpickler = functools.partial(Unpickler if weights_only is False else WeightsOnlyUnpickler,
                                      **{"encoding": "utf-8", **pickle_load_args})
        if oldfiles.begins(file):
            return oldfiles.load(file.read(), unpickler, _Reader, functools.partial(_target, map_location=map_location))
        with _damaged("damaged, or not of the formats that save and PyTorch write"):
            archive = opened.enter_context(zipfile.ZipFile(file))
            _check_sizes(archive, file)
        prefix = next((e.removesuffix("data.pkl") for e in archive.namelist() if e.endswith("/data.pkl")), None)
        if prefix is None:
            raise RuntimeError("load: the archive has no data.pkl, so it was not written by save")
        if f"{prefix}byteorder" in archive.namelist() and _entry(archive, f"{prefix}byteorder") != b"little":
            raise RuntimeError("load: the file's numbers are big-endian")
        mapped = MappedFile(f) if mmap else None
        reader = _Reader(lambda key, kind, location, numel: _read_storage(
            archive, f"{prefix}data/{key}", kind, location, numel, map_location, mapped))
        return unpickler(_entry(archive, f"{prefix}data.pkl"), reader.meanings, reader.storage_of).load()


@contextlib.contextmanager
def _damaged(how="damaged"):
    """Inside, all that zipfile raises for a damaged archive becomes one error."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, struct.error, LookupError, EOFError, ValueError, OverflowError, MemoryError, OSError,
            RuntimeError) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:         # but for a place that no file has
            raise
        raise RuntimeError(f"load: the file is {how}: {str(error) or 'it ends early'}") from None


_MOST_DEFLATED = 1032                                    # bytes that deflate makes of one at most


def _check_sizes(archive, file):
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


def _entry(archive, entry):
    with _damaged():
        return archive.read(entry)


def _read_storage(archive, entry, kind, location, numel, map_location, mapped):
    """A storage of the archive as a tensor of one dimension, over the mapped file where there is one."""
    target = _target(location, map_location)
    if not target.startswith(("cpu", "cuda")):
        raise RuntimeError(f"don't know how to restore data location of a storage (tagged with {target}): name a device with "
                           f"map_location")
    with _damaged():
        info = archive.getinfo(entry)
        size = info.file_size
    if size != numel * kind.itemsize:
        raise RuntimeError(f"load: {entry} has {size} bytes, and its {numel} elements of {kind} take {numel * kind.itemsize}")
    if mapped is not None:
        with _damaged():
            base = mapped.tensor(entry_offset(mapped, info), Layout.of(kind, (numel,)))
    else:
        base = lasting(Layout.of(kind, (numel,)))
        left = memoryview(raw_array(base)).cast("B") if numel else memoryview(bytearray())
        with _damaged(), archive.open(entry) as content:     # compares the checksum at the end
            while count := content.readinto(left[:1 << 20]):
                left = left[count:]
            if left or content.read(1):
                raise zipfile.BadZipFile(f"{entry} has another size than the {size} bytes that it is said to have")
    if target.startswith("cpu"):
        return base
    try:
        return base.to(target)
    except (RuntimeError, AssertionError) as error:
        raise RuntimeError(f"Attempting to deserialize object on a CUDA device, which is not there. On a machine without one, use "
                           f"torch.load with map_location=torch.device('cpu'). {error}") from error
