"""The Tensor: a storage, an address in it, a layout, and where it stands in the graph.

What lives here is what a tensor *is*: shape, dtype, device, memory, and how one is made of these. How it meets Python numbers,
NumPy and DLPack is in `exchange/`, and pickle in `pickling.py`. What can be computed with one is attached by the floors
above (`ops/`, `autograd/`), each from one place.
"""
from __future__ import annotations

import importlib
import weakref
from operator import attrgetter
from sys import getrefcount
from typing import TYPE_CHECKING, Any, overload

from .devices import cpu, device
from .dtypes import dtype
from .layout import Layout, Size, contiguous_format, lies_in, wrap_dim
from .storage import FREE, Storage, host, inferring, made_in_mode, new_storage, ring_for, take

if TYPE_CHECKING:
    from .attached import Attached  # what the floors above attach, as stubs.py wrote it down
else:
    Attached = object

new = object.__new__
subclass_listeners: list = []                            # called with every subclass of Tensor that a user defines


class NoMemory(RuntimeError, AttributeError):
    """The address of a tensor was asked for that has no memory of its own."""


class TensorType(type):
    """The type of Tensor. `Tensor(data)` is read here, so that ops can make theirs by `bare`: object.__new__ takes 1.4 times as
    long."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls.__new__ is not object.__new__ or cls.__init__ is not object.__init__:
            return type.__call__(cls, *args, **kwargs)
        made = cls._construct(*args, **kwargs)
        return made if cls is Tensor else alias(made, cls)


class Tensor(Attached, metaclass=TensorType):
    """An n-dimensional array that can record how it was computed.

    Made by `tensor`, `zeros`, `from_numpy` and the like; `Tensor(data)` and `Tensor(2, 3)` are PyTorch's old ways. In the slots:
    `memory` (a Storage), `address` (of the first element), `layout`, and `node` (None, or its place in the graph: a Leaf for one
    whose gradient is wanted, a Node for a result). Python attributes may be set on it freely.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2.], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """

    __slots__ = ("memory", "address", "layout", "node", "__weakref__", "__dict__")

    memory: Storage
    address: int
    layout: Layout
    node: Any

    _base = None                                         # what this is a view of, when that matters to the tape
    _views = None                                        # weak references to the views of this, when that matters to the tape
    _stored_grad = None                                  # the gradient of a tensor whose node does not keep it
    _is_parameter = False
    _plain_results = False                               # results of a subclass are Tensors, as those of parameters are
    _construct = None                                    # `exchange.make`, put here by that file
    __array_priority__ = 1000                            # numpy_array * tensor asks us

    if not TYPE_CHECKING:
        def __getattr__(self, name):
            if name == "address":                        # of a special layout, which is of tensors
                raise NoMemory(f"Cannot access data pointer of Tensor that doesn't have storage: it is {self.layout!r}; "
                               f"{self.layout.instead_of_memory}")
            why = None if name.startswith("_") else importlib.import_module("numtorch.alias").instead(f"Tensor.{name}")
            raise AttributeError(f"numtorch has no torch.Tensor.{name}: {why}" if why else
                                 f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if not cls._plain_results:
            for listener in subclass_listeners:
                listener(cls)

    # ------------------------------------------------------------ what it is
    if TYPE_CHECKING:
        @property
        def shape(self) -> Size: ...
    else:
        shape = property(attrgetter("layout.size"), doc="""The extents, as a `Size`.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 3).shape
        torch.Size([2, 3])
    """)                                                 # half the time of a function

    @overload
    def size(self, dim: None = None) -> Size: ...

    @overload
    def size(self, dim: int) -> int: ...

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

    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]: ...

    @overload
    def stride(self, dim: int) -> int: ...

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
    def device(self) -> device:
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
        try:
            return (self.address - self.memory.address) // self.layout.dtype.itemsize
        except NoMemory:                                 # that of the tensor that a special layout holds
            if not hasattr(self.layout, "value"):
                raise
            return self.layout.value.storage_offset()

    def as_subclass(self, cls):
        """The same tensor, its place in the graph included, as one of a subclass.

        Args:
            cls: a subclass of Tensor.

        Raises:
            TypeError: another class.

        Example:
            >>> import numtorch as torch
            >>> class Image(torch.Tensor):
            ...     pass
            >>> type(torch.zeros(2).as_subclass(Image) + 1).__name__
            'Image'
        """
        if not (isinstance(cls, type) and issubclass(cls, Tensor)):
            raise TypeError(f"as_subclass(): argument 'cls' (position 1) must be a subclass of Tensor, not {cls!r}")
        return alias(self, cls)

    @staticmethod
    def _make_subclass(kind, data, require_grad: bool = False):
        """A tensor of a subclass over another's memory, apart from the graph (PyTorch's name, for classes with a `__new__`)."""
        return alias(data.detach(), kind).requires_grad_(require_grad)

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

    def __len__(self) -> int:
        if not self.layout.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.layout.shape[0]

    __hash__ = object.__hash__

    @property
    def _version(self) -> int:
        if self.memory.inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self.memory.version

    def is_inference(self) -> bool:
        """Whether the memory was made in `inference_mode`: no backward can save it, and it is written to inside the mode only.

        Example:
            >>> import numtorch as torch
            >>> with torch.inference_mode():
            ...     x = torch.ones(2)
            >>> x.is_inference()
            True
        """
        return self.memory.inference

bare = type.__call__.__get__(Tensor, TensorType)         # a tensor without its parts


# ---------------------------------------------------------------- making tensors
def wrap(storage, address, layout, node=None) -> Tensor:
    """A tensor from its parts."""
    out = bare()
    out.memory, out.address, out.layout, out.node = storage, address, layout, node
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
    out.memory, out.address, out.layout, out.node = storage, storage.address, layout, None
    return out


def fresh(layout: Layout) -> Tensor:
    """`empty` with a version counter at 0, for tensors that users make."""
    out = empty(layout)
    out.memory.version, out.memory.writer = 0, None
    return out


def ring_of(layout: Layout):
    """The ring that hands out memory for tensors of a layout.

    Raises:
        RuntimeError: its strides are negative: what rings hand out begins with the first element.
    """
    if layout.extent()[0]:
        raise RuntimeError(f"empty: expected strides that are not negative, got {list(layout.strides)}")
    ring = layout.ring = ring_for(_span(layout), layout.device)
    return ring


def lasting(layout: Layout) -> Tensor:
    """Uninitialised memory outside the rings, for data that lives long and for layouts of any strides."""
    storage = new_storage(_span(layout), layout.device)
    return wrap(storage, storage.address - layout.extent()[0] * layout.dtype.itemsize, layout)


def kept(layout: Layout) -> Tensor:
    """Uninitialised memory for what outlives the call that makes it, such as a plan's number: never one of inference mode's."""
    storage = host.allocate(layout.nbytes)
    return wrap(storage, storage.address, layout)


constants: weakref.WeakSet[Storage] = weakref.WeakSet()  # of tensors that plans keep: what captures a program looks for them here


def _span(layout):
    if layout.contiguous:
        return layout.nbytes
    low, high = layout.extent()
    return (high - low) * layout.dtype.itemsize


def alias(source, kind=Tensor):
    out = new(kind)
    out.node = source.node
    lie_as(out, source)
    return out


def lie_as(x: Tensor, other: Tensor) -> None:
    """Have a tensor lie where another does."""
    x.memory, x.layout = other.memory, other.layout
    try:
        x.address = other.address
    except AttributeError:                               # a special layout that is of tensors
        pass


def view_of(source: Tensor, layout: Layout, offset: int, node=None) -> Tensor:
    """Another layout over a tensor's memory, `offset` elements on. The tape is the caller's business."""
    return wrap(source.memory, source.address + offset * source.layout.dtype.itemsize, layout, node)
