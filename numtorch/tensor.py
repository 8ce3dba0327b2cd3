"""The Tensor: a storage, an address in it, a layout, and where it stands in the graph.

What lives here is what a tensor *is*: shape, dtype, device, memory, and how it meets NumPy, DLPack, pickle and Python
numbers. What can be computed with one is attached by the floors above (`ops/`, `autograd/`), each from one place.
"""
from __future__ import annotations

import ctypes
from copy import deepcopy
from math import copysign, inf
from operator import attrgetter
from struct import Struct
from sys import getrefcount

import numpy as np

from .arrays import host_array, raw_array, readable_array
from .devices import cpu
from .dtypes import bool_, dtype, float64, int64
from .layout import Layout, formatted, wrap_dim
from .layout import Size as Size
from .storage import FREE, Storage, host, inferring, made_in_mode, new_storage, ring_for, take

new = object.__new__


class _MemoryLayoutType(type):
    def __instancecheck__(cls, value):
        return type(value) is cls or isinstance(value, Layout)


class memory_layout(metaclass=_MemoryLayoutType):
    """PyTorch's `torch.layout`: a name for kinds of tensors. Every tensor here is `strided`, and its own layout equals that."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"

    def __eq__(self, other):
        return self is other or isinstance(other, Layout)

    def __hash__(self):
        return hash(self.name)


class memory_format(str):
    """PyTorch's `torch.memory_format`: an order of the dimensions in memory."""

    __slots__ = ()

    def __repr__(self):
        return f"torch.{self}"


strided = memory_layout("strided")
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")


class TensorType(type):
    """The type of Tensor. `Tensor(data)` is read here, so that ops can make theirs by `bare`: 83 ns, object.__new__ takes 115."""

    def __call__(cls, *args, **kwargs):
        if cls.__new__ is not object.__new__ or cls.__init__ is not object.__init__:
            return type.__call__(cls, *args, **kwargs)
        made = cls._construct(*args, **kwargs)
        return made if cls is Tensor else alias(made, cls)


class Tensor(metaclass=TensorType):
    """An n-dimensional array that can record how it was computed.

    Made by `tensor`, `zeros`, `from_numpy` and the like. In the slots: `storage` (memory), `address` (of the first
    element), `layout`, and `node` (None, or its place in the graph: a Leaf for one whose gradient is wanted, a Node for
    a result). Python attributes may be set on it freely.
    """

    __slots__ = ("storage", "address", "layout", "node", "__weakref__", "__dict__")

    _base = None                                         # what this is a view of, when that matters to the tape
    _views = None                                        # weak references to the views of this, when that matters to the tape
    _stored_grad = None                                  # the gradient of a tensor whose node does not keep it
    _is_parameter = False
    _construct = None                                    # `exchange.make`, put here by that file
    __array_priority__ = 1000                            # numpy_array * tensor is ours

    # ------------------------------------------------------------ what it is
    shape = property(attrgetter("layout.size"))          # half the time of a function

    def size(self, dim=None):
        """The shape, or one extent of it."""
        if dim is None:
            return self.layout.size
        shape = self.layout.shape
        if not shape:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        return shape[wrap_dim(dim, len(shape))]

    def stride(self, dim=None):
        """The strides in elements, or one of them."""
        if dim is None:
            return self.layout.strides
        return self.layout.strides[wrap_dim(dim, self.layout.ndim)]

    @property
    def dtype(self) -> dtype:
        return self.layout.dtype

    @property
    def device(self):
        return self.layout.device

    @property
    def ndim(self) -> int:
        return self.layout.ndim

    def dim(self) -> int:
        """The number of dimensions."""
        return self.layout.ndim

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return self.layout.numel

    nelement = numel

    def element_size(self) -> int:
        """Bytes an element takes."""
        return self.layout.dtype.itemsize

    @property
    def itemsize(self) -> int:
        return self.layout.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.layout.nbytes

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self.address if self.layout.numel else 0

    def storage_offset(self) -> int:
        """Elements between the start of the storage and the first element."""
        return (self.address - self.storage.address) // self.layout.dtype.itemsize

    def untyped_storage(self) -> Storage:
        """The memory this tensor lies in, shared with its views."""
        return self.storage

    def is_contiguous(self, memory_format=contiguous_format) -> bool:
        """Whether the elements are row-major without gaps, or in the order of another memory format."""
        layout = self.layout
        return layout.contiguous if memory_format == "contiguous_format" else layout is formatted(layout, memory_format)

    def is_floating_point(self) -> bool:
        return self.layout.dtype.is_floating_point

    def is_complex(self) -> bool:
        return self.layout.dtype.is_complex

    def is_signed(self) -> bool:
        return self.layout.dtype.is_signed

    @property
    def is_cuda(self) -> bool:
        return self.layout.device.type == "cuda"

    def get_device(self) -> int:
        """The CUDA device's index; -1 on the CPU."""
        return -1 if self.layout.device is cpu else self.layout.device.index or 0

    def __len__(self):
        if not self.layout.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.layout.shape[0]

    __hash__ = object.__hash__

    @property
    def _version(self) -> int:
        if self.storage.inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self.storage.version

    def is_inference(self) -> bool:
        """Whether the memory was made in `inference_mode`: no backward can save it, and it is written to inside the mode only."""
        return self.storage.inference

    # ------------------------------------------------------------ NumPy
    def numpy(self, *, force: bool = False):
        """A NumPy array over the same memory.

        Args:
            force: detach and copy to the CPU first where that is needed, instead of raising.

        Raises:
            TypeError: the tensor is on another device, or its dtype is bfloat16, which NumPy lacks.
            RuntimeError: the tensor requires grad.
        """
        if self.layout.device is not cpu:
            if not force:
                raise TypeError(f"can't convert {self.layout.device} device type tensor to numpy. Use Tensor.cpu() to copy the "
                                f"tensor to host memory first.")
            return self.cpu().numpy(force=True)
        if self.node is not None and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return host_array(self)

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __buffer__(self, flags):
        """The buffer protocol (Python 3.12 and later): a memoryview of the elements."""
        return memoryview(self.numpy())

    def tolist(self):
        """Nested lists of Python numbers (a number for a 0-dim tensor)."""
        if self.layout.device is not cpu:
            return self.cpu().tolist()
        layout = self.layout
        found = layout.views.get("tolist")
        if found is None:
            few = layout.ndim == 1 and layout.contiguous and 0 < layout.numel < 256 and layout.dtype.name in _LETTERS
            words = f"{layout.numel}{_LETTERS[layout.dtype.name]}" if few else ""
            found = layout.views["tolist"] = (Struct(words).unpack, ctypes.c_char * layout.nbytes) if few else ()
        if not found:
            return readable_array(self).tolist()
        unpack, block = found                            # a vector of few needs no array
        return list(unpack(block.from_address(self.address)))

    def item(self):
        """The one element as a Python number. Raises RuntimeError when there is not exactly one."""
        layout = self.layout
        if layout.numel != 1:
            raise RuntimeError(f"a Tensor with {layout.numel} elements cannot be converted to Scalar")
        if layout.device is not cpu:
            return self.cpu().item()
        read = _READ.get(layout.dtype)
        return readable_array(self).item() if read is None else read(self.address).value

    def __bool__(self):
        if self.layout.numel == 1:
            return bool(self.item())
        if self.layout.numel == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")

    def _only(self):
        if self.layout.numel != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __float__(self):
        return float(self._only())

    def __int__(self):
        return int(self._only())

    def __complex__(self):
        return complex(self._only())

    def __index__(self):
        if self.layout.numel != 1 or self.layout.dtype.category > 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __format__(self, spec):
        if self.layout.ndim == 0:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    # ------------------------------------------------------------ exchange
    def __dlpack_device__(self):
        return (1, 0) if self.layout.device is cpu else (2, self.layout.device.index or 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A DLPack capsule over the same memory. Raises BufferError when the tensor requires grad or is not on the CPU."""
        if self.node is not None:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.layout.device is not cpu:
            raise BufferError(f"DLPack export is for CPU tensors; this one is on {self.layout.device}")
        if self.layout.dtype.numpy is None:
            raise BufferError("bfloat16 has no NumPy dtype to travel as; use .view(torch.uint16)")
        return self.numpy().__dlpack__()

    def __reduce_ex__(self, protocol):
        if self.layout.device is not cpu:
            return _rebuild_on, (self.cpu(), str(self.layout.device), self.requires_grad)
        words = raw_array(self).copy()              # row-major; ascontiguousarray would make 0-dim ones 1-dim
        return _rebuild, (type(self), self.layout.dtype, words, self.requires_grad, dict(self._plain_state()))

    def _plain_state(self):
        return {k: v for k, v in self.__dict__.items() if not k.startswith("_")}

    def __copy__(self):
        return alias(self, type(self))

    def __deepcopy__(self, memo):
        """A copy with memory of its own; tensors copied together share memory where the originals do.

        Raises:
            RuntimeError: a result that is part of a graph.
        """
        found = memo.get(id(self))
        if found is not None:
            return found
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                               "moment; use detach() before copying a result.")
        out = memo[id(self)] = new(type(self))
        out.storage = copied_storage(self.storage, memo)
        out.address = out.storage.address + (self.address - self.storage.address)
        out.layout, out.node = self.layout, None
        out.__dict__.update(deepcopy(self._plain_state(), memo))
        if self.requires_grad:
            out.requires_grad_()
            if self.grad is not None:
                out.grad = deepcopy(self.grad, memo)
        return out


bare = type.__call__.__get__(Tensor, TensorType)         # a tensor without its parts


_READERS = {"float32": ctypes.c_float, "float64": ctypes.c_double, "int64": ctypes.c_int64, "int32": ctypes.c_int32,
            "int16": ctypes.c_int16, "int8": ctypes.c_int8, "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16,
            "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64, "bool": ctypes.c_bool}


_LETTERS = {"float16": "e", "float32": "f", "float64": "d", "int64": "q", "int32": "i", "int16": "h", "int8": "b", "uint8": "B",
            "uint16": "H", "uint32": "I", "uint64": "Q", "bool": "?"}


_READ = {dtype.by_name[name]: reader.from_address for name, reader in _READERS.items()}


# ---------------------------------------------------------------- making tensors
def wrap(storage, address, layout, node=None) -> Tensor:
    """A tensor from its parts."""
    out = bare()
    out.storage, out.address, out.layout, out.node = storage, address, layout, node
    return out


def empty(layout: Layout) -> Tensor:
    """Uninitialised memory from the rings, for results."""
    ring = layout.ring or ring_of(layout)
    storage = ring[0]
    if getrefcount(storage) > FREE:
        ring.rotate(-1)                                  # in a chain of calls the next one is nearly always free
        storage = ring[0]
        if getrefcount(storage) > FREE:
            storage = take(ring)
    if inferring:
        storage = made_in_mode(storage, ring)
    out = bare()
    out.storage, out.address, out.layout, out.node = storage, storage.address, layout, None
    return out


def fresh(layout: Layout) -> Tensor:
    """`empty` with a version counter at 0, for tensors that users make."""
    out = empty(layout)
    out.storage.version, out.storage.writer = 0, None
    return out


def ring_of(layout: Layout):
    """The ring that hands out memory for tensors of a layout."""
    ring = layout.ring = ring_for(_span(layout), layout.device)
    return ring


def lasting(layout: Layout) -> Tensor:
    """Uninitialised memory outside the rings, for data that lives long."""
    storage = new_storage(_span(layout), layout.device)
    return wrap(storage, storage.address, layout)


def kept(layout: Layout) -> Tensor:
    """Uninitialised memory for what outlives the call that makes it, such as a plan's number: never one of inference mode's."""
    storage = host.allocate(layout.nbytes)
    return wrap(storage, storage.address, layout)


def _span(layout):
    return layout.nbytes if layout.contiguous else layout.extent()[1] * layout.dtype.itemsize


def copied_storage(storage, memo):
    """The copy of a storage for tensors that are copied together."""
    found = memo.get(id(storage))
    if found is None:
        found = memo[id(storage)] = new_storage(storage.nbytes, storage.device)
        if storage.device is cpu:
            ctypes.memmove(found.address, storage.address, storage.nbytes)
        else:
            whole = Layout.of(dtype.by_name["uint8"], (storage.nbytes,), None, storage.device)
            wrap(found, found.address, whole).copy_(wrap(storage, storage.address, whole))
    return found


def alias(source, kind=Tensor):
    out = new(kind)
    out.storage, out.address, out.layout, out.node = source.storage, source.address, source.layout, source.node
    return out


def view_of(source: Tensor, layout: Layout, offset: int, node=None) -> Tensor:
    """Another layout over a tensor's memory, `offset` elements on. The tape is the caller's business."""
    return wrap(source.storage, source.address + offset * source.layout.dtype.itemsize, layout, node)


# ---------------------------------------------------------------- Python numbers
# A number among tensors is a 0-dim tensor whose layout is `weak`: promotion gives way to tensors of its kind, and plans
# and kernels need no case of their own. Recent ones are kept: `x * 2` in a loop makes its 2 once.
_WEAK = {bool: Layout.of(bool_, (), (), weak=True), int: Layout.of(int64, (), (), weak=True),
         float: Layout.of(float64, (), (), weak=True), complex: Layout.of(dtype.by_name["complex128"], (), (), weak=True)}
NUMBERS = frozenset(_WEAK)
recent_numbers: dict[tuple, Tensor] = {}                 # by (type, value)


def check_fits(value, dtype: dtype) -> None:
    """Raise RuntimeError for a Python number that a dtype cannot hold, as PyTorch does: fills would wrap it around."""
    if type(value) is complex and dtype.category < 3:
        fits = not value.imag
        value = value.real
    else:
        fits = True
    if dtype.category == 1:
        bits = 8 * dtype.itemsize                        # a negative number may wrap around in an unsigned dtype, as in PyTorch
        high = 1 << bits if not dtype.is_signed else 1 << bits - 1
        fits = fits and (-high - dtype.is_signed < value < high)
    elif dtype.category == 2 and fits and -inf < value < inf:
        fits = -_LARGEST[dtype.name] <= value <= _LARGEST[dtype.name]
    if not fits:
        raise RuntimeError(f"value cannot be converted to type {_C_NAMES.get(dtype.name, dtype.name + '_t')} without overflow")


_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38, "float64": inf}
_C_NAMES = {"float16": "at::Half", "bfloat16": "at::BFloat16", "float32": "float", "float64": "double"}


def number(value) -> Tensor | None:
    """A Python number as a weak 0-dim tensor, or None for what is not a number.

    Raises:
        RuntimeError: an int that does not fit 64 bits.
    """
    kind = type(value)
    layout = _WEAK.get(kind)
    if layout is None:
        if isinstance(value, np.generic):
            return number(value.item())
        for base in (bool, int, float, complex):
            if isinstance(value, base):
                return number(base(value))  # type: ignore[arg-type]
        return None
    key = (kind, value)
    if not value and kind is not int:                    # 0.0 equals -0.0, and neither may stand for the other
        key = (kind, repr(value)) if kind is complex else (kind, copysign(1, value), 0)
    found = recent_numbers.get(key)
    if found is not None:
        return found
    if kind is int and not -1 << 63 <= value < 1 << 63:
        raise RuntimeError(f"value cannot be converted to type int64_t without overflow: {value}")
    out = kept(layout)
    parts = (value.real, value.imag) if kind is complex else (value,)
    for position, part in enumerate(parts):
        _READERS["float64" if kind is complex else layout.dtype.name].from_address(out.address + 8 * position).value = part
    if len(recent_numbers) >= 1024:
        recent_numbers.clear()
    recent_numbers[key] = out
    return out


# ---------------------------------------------------------------- pickle
def _rebuild(kind, dtype, words, requires_grad, state):
    out = new(kind)
    made = lasting(Layout.of(dtype, words.shape))
    raw_array(made)[...] = words
    out.storage, out.address, out.layout, out.node = made.storage, made.address, made.layout, None
    out.__dict__.update(state)
    return out.requires_grad_() if requires_grad else out


def _rebuild_on(tensor, device, requires_grad):
    out = tensor.to(device)
    return out.requires_grad_() if requires_grad else out
