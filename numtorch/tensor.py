"""The Tensor: a storage, an address in it, a layout, and where it stands in the graph.

What lives here is what a tensor *is*: shape, dtype, device, memory, and how it meets NumPy, DLPack and pickle; Python numbers
are in `scalars.py`. What can be computed with one is attached by the floors above (`ops/`, `autograd/`), each from one place.
"""
from __future__ import annotations

import ctypes
from copy import deepcopy
from operator import attrgetter
from struct import Struct
from sys import getrefcount

from .arrays import host_array, raw_array, readable_array
from .devices import cpu
from .dtypes import dtype
from .layout import Layout, contiguous_format, lies_in, wrap_dim
from .storage import FREE, Storage, host, inferring, made_in_mode, new_storage, ring_for, take

new = object.__new__


class TensorType(type):
    """The type of Tensor. `Tensor(data)` is read here, so that ops can make theirs by `bare`: 83 ns, object.__new__ takes 115."""

    def __call__(cls, *args, **kwargs):
        if cls.__new__ is not object.__new__ or cls.__init__ is not object.__init__:
            return type.__call__(cls, *args, **kwargs)
        made = cls._construct(*args, **kwargs)
        return made if cls is Tensor else alias(made, cls)


class Tensor(metaclass=TensorType):
    """An n-dimensional array that can record how it was computed.

    Made by `tensor`, `zeros`, `from_numpy` and the like; `Tensor(data)` and `Tensor(2, 3)` are PyTorch's old ways. In the slots:
    `storage` (memory), `address` (of the first element), `layout`, and `node` (None, or its place in the graph: a Leaf for one
    whose gradient is wanted, a Node for a result). Python attributes may be set on it freely.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2.], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """

    __slots__ = ("storage", "address", "layout", "node", "__weakref__", "__dict__")

    _base = None                                         # what this is a view of, when that matters to the tape
    _views = None                                        # weak references to the views of this, when that matters to the tape
    _stored_grad = None                                  # the gradient of a tensor whose node does not keep it
    _is_parameter = False
    _construct = None                                    # `exchange.make`, put here by that file
    __array_priority__ = 1000                            # numpy_array * tensor is ours

    # ------------------------------------------------------------ what it is
    shape = property(attrgetter("layout.size"), doc="""The extents, as a `Size`.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 3).shape
        torch.Size([2, 3])
    """)                                                 # half the time of a function

    def size(self, dim=None):
        """The shape, or one extent of it.

        Args:
            dim: which extent; None for the shape.

        Raises:
            IndexError: there is no such dimension.

        Example:
            >>> import numtorch as torch
            >>> x = torch.zeros(2, 3)
            >>> x.size(), x.size(-1)
            (torch.Size([2, 3]), 3)
        """
        if dim is None:
            return self.layout.size
        shape = self.layout.shape
        if not shape:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        return shape[wrap_dim(dim, len(shape))]

    def stride(self, dim=None):
        """How far apart neighbours along each dimension lie in memory, in elements, or along one of them.

        Args:
            dim: which dimension; None for all.

        Raises:
            IndexError: there is no such dimension.

        Example:
            >>> import numtorch as torch
            >>> x = torch.zeros(2, 3)
            >>> x.stride(), x.t().stride(0)
            ((3, 1), 1)
        """
        if dim is None:
            return self.layout.strides
        return self.layout.strides[wrap_dim(dim, self.layout.ndim)]

    @property
    def dtype(self) -> dtype:
        """The elements' type.

        Example:
            >>> import numtorch as torch
            >>> torch.tensor([1, 2]).dtype
            torch.int64
        """
        return self.layout.dtype

    @property
    def device(self):
        """Where the memory is.

        Example:
            >>> import numtorch as torch
            >>> torch.tensor([1, 2]).device
            device(type='cpu')
        """
        return self.layout.device

    @property
    def ndim(self) -> int:
        """The number of dimensions.

        Example:
            >>> import numtorch as torch
            >>> torch.zeros(2, 3).ndim
            2
        """
        return self.layout.ndim

    def dim(self) -> int:
        """The number of dimensions.

        Example:
            >>> import numtorch as torch
            >>> torch.zeros(2, 3).dim()
            2
        """
        return self.layout.ndim

    ndimension = dim

    def numel(self) -> int:
        """The number of elements.

        Example:
            >>> import numtorch as torch
            >>> torch.zeros(2, 3).numel()
            6
        """
        return self.layout.numel

    nelement = numel

    def element_size(self) -> int:
        """Bytes an element takes.

        Example:
            >>> import numtorch as torch
            >>> torch.tensor([1, 2]).element_size()
            8
        """
        return self.layout.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes an element takes.

        Example:
            >>> import numtorch as torch
            >>> torch.tensor([1, 2]).itemsize
            8
        """
        return self.layout.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes the elements take, whatever memory the tensor spans.

        Example:
            >>> import numtorch as torch
            >>> torch.zeros(2, 3).nbytes
            24
        """
        return self.layout.nbytes

    def data_ptr(self) -> int:
        """The address of the first element; 0 where there is none.

        Example:
            >>> import numtorch as torch
            >>> x = torch.zeros(2, 3)
            >>> x[1].data_ptr() - x.data_ptr()
            12
        """
        return self.address if self.layout.numel else 0

    def storage_offset(self) -> int:
        """Elements between the start of the storage and the first element.

        Example:
            >>> import numtorch as torch
            >>> torch.zeros(2, 3)[1].storage_offset()
            3
        """
        return (self.address - self.storage.address) // self.layout.dtype.itemsize

    def untyped_storage(self) -> Storage:
        """The memory this tensor lies in, shared with its views.

        Example:
            >>> import numtorch as torch
            >>> x = torch.zeros(2, 3)
            >>> x[1].untyped_storage() is x.untyped_storage()
            True
        """
        return self.storage

    def is_contiguous(self, memory_format=contiguous_format) -> bool:
        """Whether the elements are row-major without gaps, or in the order of another memory format.

        Args:
            memory_format: such as `torch.channels_last`.

        Example:
            >>> import numtorch as torch
            >>> x = torch.zeros(2, 3)
            >>> x.is_contiguous(), x.t().is_contiguous()
            (True, False)
        """
        layout = self.layout
        return layout.contiguous if memory_format == "contiguous_format" else lies_in(layout, memory_format)

    def is_floating_point(self) -> bool:
        """Whether the elements are real floating-point numbers.

        Example:
            >>> import numtorch as torch
            >>> torch.tensor([1.0]).is_floating_point()
            True
        """
        return self.layout.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the elements are complex.

        Example:
            >>> import numtorch as torch
            >>> torch.tensor([1.j]).is_complex()
            True
        """
        return self.layout.dtype.is_complex

    def is_signed(self) -> bool:
        """Whether the elements may be negative.

        Example:
            >>> import numtorch as torch
            >>> torch.tensor([True]).is_signed()
            False
        """
        return self.layout.dtype.is_signed

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is a GPU's.

        Example:
            >>> import numtorch as torch
            >>> torch.tensor([1.0]).is_cuda
            False
        """
        return self.layout.device.type == "cuda"

    def get_device(self) -> int:
        """The CUDA device's index; -1 on the CPU.

        Example:
            >>> import numtorch as torch
            >>> torch.tensor([1.0]).get_device()
            -1
        """
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
        """Whether the memory was made in `inference_mode`: no backward can save it, and it is written to inside the mode only.

        Example:
            >>> import numtorch as torch
            >>> with torch.inference_mode():
            ...     x = torch.ones(2)
            >>> x.is_inference()
            True
        """
        return self.storage.inference

    # ------------------------------------------------------------ NumPy
    def numpy(self, *, force: bool = False):
        """A NumPy array over the same memory.

        Args:
            force: detach and copy to the CPU first where that is needed, instead of raising.

        Raises:
            TypeError: the tensor is on another device, or its dtype is bfloat16, which NumPy lacks.
            RuntimeError: the tensor requires grad.

        Example:
            >>> import numtorch as torch
            >>> x = torch.tensor([1., 2.])
            >>> x.numpy()[0] = 7
            >>> x
            tensor([7., 2.])
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
        """Nested lists of Python numbers (a number for a 0-dim tensor).

        Example:
            >>> import numtorch as torch
            >>> torch.tensor([[1, 2], [3, 4]]).tolist()
            [[1, 2], [3, 4]]
        """
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
        """The one element as a Python number.

        Raises:
            RuntimeError: there is not exactly one.

        Example:
            >>> import numtorch as torch
            >>> torch.tensor([[1.5]]).item()
            1.5
        """
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


READERS = {"float32": ctypes.c_float, "float64": ctypes.c_double, "int64": ctypes.c_int64, "int32": ctypes.c_int32,
            "int16": ctypes.c_int16, "int8": ctypes.c_int8, "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16,
            "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64, "bool": ctypes.c_bool}


_LETTERS = {"float16": "e", "float32": "f", "float64": "d", "int64": "q", "int32": "i", "int16": "h", "int8": "b", "uint8": "B",
            "uint16": "H", "uint32": "I", "uint64": "Q", "bool": "?"}


_READ = {dtype.by_name[name]: reader.from_address for name, reader in READERS.items()}


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
