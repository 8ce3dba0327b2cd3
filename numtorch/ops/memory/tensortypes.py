"""What PyTorch keeps from before dtypes and devices: tensor types such as `FloatTensor`, and methods that go through Python."""
from __future__ import annotations

import importlib
import math
import warnings

from ...devices import cpu, set_default_device
from ...dtypes import dtype as dtype_class
from ...dtypes import set_default_dtype
from ...exchange.construction import make
from ...exchange.scalars import number
from ...layout import is_sequence, strided
from ...tensor import Tensor
from ..core.backends import placed
from ..core.operands import layout_of, method
from .assign import copy_
from .untyped import StorageBase


class LegacyType(type):
    """The type of `FloatTensor` and its like: a call makes a tensor, and `isinstance` asks for a dtype, a device and a layout.

    Attributes:
        dtype: of the elements.
        is_cuda, is_sparse: where they are, and how.
        layout: `torch.strided`, or `torch.sparse_coo`.
    """

    dtype: dtype_class
    is_cuda: bool
    is_sparse = False
    layout = strided

    def __call__(cls, *args, size=None, device=None) -> Tensor:
        return Tensor._construct(*args, size=size, dtype=cls.dtype, device="cuda" if device is None and cls.is_cuda else device)

    def __instancecheck__(cls, value):
        return (isinstance(value, Tensor) and value.layout.dtype is cls.dtype and value.layout.kind == cls.layout.name
                and value.layout.device.type == ("cuda" if cls.is_cuda else "cpu"))

    def __repr__(cls):
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def legacy(kind, place: str, make=LegacyType):
    """The type of a dtype's tensors.

    Args:
        kind: the dtype.
        place: the module that it is in, "torch" and "torch.cuda".
        make: the type's type.
    """
    name, is_cuda = f"{kind.title}Tensor", ".cuda" in place
    doc = f"""Tensors of {kind} on {"a CUDA device" if is_cuda else "the CPU"}: a call with data or with extents makes one,
    `isinstance` asks for one.

    Args:
        args: a sequence of numbers, an array, which it shares where the dtype is its own, a tensor of that dtype, or ints.
        size: the shape as one tuple.
        device: where; {"the current one" if is_cuda else "the CPU"} when None.

    Example:
        >>> import numtorch as torch
        >>> isinstance(torch.ones(2, dtype={kind}), {place}.{name})
        {not is_cuda}
    """
    return make(name, (), {"dtype": kind, "is_cuda": is_cuda, "__module__": place, "__doc__": doc})


_KINDS = [*map(dtype_class.by_name.__getitem__, (
    "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"))]
LEGACY = {kind.name: legacy(kind, "torch") for kind in _KINDS}
CUDA = {kind.name: legacy(kind, "torch.cuda") for kind in _KINDS}
FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, LongTensor, IntTensor, ShortTensor, CharTensor, ByteTensor, BoolTensor = \
    LEGACY.values()


def set_default_tensor_type(t) -> None:
    """Make the dtype of a tensor type the default dtype, and its kind of device the default device.

    Args:
        t: the type, such as `torch.DoubleTensor`, or its name, "torch.DoubleTensor".

    Raises:
        TypeError: not a tensor type.
        RuntimeError: one on CUDA, where there is no such device.

    Example:
        >>> import numtorch as torch
        >>> torch.set_default_tensor_type(torch.FloatTensor)
        >>> torch.get_default_dtype()
        torch.float32
    """
    named = {f"{kind.__module__}.{kind.__name__}": kind for kind in (*LEGACY.values(), *CUDA.values())}
    kind = named.get(t, t)
    if not isinstance(kind, LegacyType) or kind.is_sparse:
        raise TypeError(f"invalid type object: only floating-point types are supported as the default type, got {t!r}")
    where = placed("cuda") if kind.is_cuda else cpu
    set_default_dtype(kind.dtype)
    set_default_device(where)


def typename(obj) -> str:
    """A tensor's type as its name; the name of a function or class, or of another object's class, with its module.

    Args:
        obj: anything.

    Example:
        >>> import numtorch as torch
        >>> torch.typename(torch.zeros(1)), torch.typename(1), torch.typename(torch.nn.ReLU)
        ('torch.FloatTensor', 'int', 'numtorch.nn.modules.activation.ReLU')
    """
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", None)
    return kind.__qualname__ if module in (None, "builtins", "__builtin__") else f"{module}.{kind.__qualname__}"


def is_storage(obj) -> bool:
    """Whether an object is the memory of tensors.

    Args:
        obj: anything.

    Example:
        >>> import numtorch as torch
        >>> torch.is_storage(torch.zeros(1)), torch.is_storage(torch.zeros(1).untyped_storage())
        (False, True)
    """
    return isinstance(obj, StorageBase)


@method
def new(self, *args, size=None, device=None) -> Tensor:
    """A tensor of this one's dtype: of data, or uninitialised of a shape.

    Args:
        args: a list of data, a tensor of the same dtype, or a shape as several ints.
        size: the shape as one tuple.
        device: where; that of this tensor when None.

    Raises:
        TypeError: a tensor of another dtype, or one number that is no int.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1.5]).new([1, 2])
        tensor([1., 2.])
    """
    return Tensor._construct(*args, size=size, dtype=self.layout.dtype, device=self.layout.device if device is None else device)


@method
def apply_(self, callable) -> Tensor:
    """Put `callable(element)` in the place of every element, one by one in Python, and return this tensor.

    Args:
        callable: takes a Python number and returns one.

    Raises:
        TypeError: a tensor that is not on the CPU, or what is returned is no number.
        RuntimeError: one that requires grad.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., 2.]).apply_(lambda x: x * 10)
        tensor([10., 20.])
    """
    if self.layout.device is not cpu:
        raise TypeError("apply_ is only implemented on CPU tensors")
    if self.node is not None:
        raise RuntimeError("Can't call apply_() on Variable that requires grad. Use var.detach().apply_()")
    return _mapped(self, callable)


@method
def map_(self, tensor, callable) -> Tensor:
    """Put `callable(element, element of tensor)` in the place of every element, one by one in Python, and return this tensor.

    Args:
        tensor: broadcast to this one.
        callable: takes two Python numbers and returns one.

    Raises:
        TypeError: a tensor that is not on the CPU or of another dtype, or what is returned is no number.
        RuntimeError: one that requires grad.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., 2.]).map_(torch.tensor([3., 4.]), lambda x, y: x * y)
        tensor([3., 8.])
    """
    if self.layout.device is not cpu:
        raise TypeError("map_ is only implemented on CPU tensors")
    layout_of("map_", tensor, "tensor")
    if self.node is not None or tensor.node is not None:
        raise RuntimeError("Can't call map_() on Variable that requires grad. Use var.detach().map_()")
    return _mapped(self, callable, tensor=tensor)


@method
def map2_(self, x, y, callable) -> Tensor:
    """Put `callable(element, element of x, element of y)` in the place of every element, as `map_` does.

    Args:
        x, y: broadcast to this one.
        callable: takes three Python numbers and returns one.

    Raises:
        TypeError: a tensor that is not on the CPU or of another dtype, or what is returned is no number.
        RuntimeError: one that requires grad.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., 2.]).map2_(torch.tensor([3., 4.]), torch.tensor(10.), lambda a, b, c: a * b + c)
        tensor([13., 18.])
    """
    if self.layout.device is not cpu:
        raise TypeError("map2_ is only implemented on CPU tensors")
    layout_of("map2_", x, "x"), layout_of("map2_", y, "y")
    if self.node is not None or x.node is not None or y.node is not None:
        raise RuntimeError("Can't call map2_() on Variable that requires grad. Use var.detach().map2_()")
    return _mapped(self, callable, x=x, y=y)


def _mapped(target, function, **others):
    layout = target.layout
    for name, other in others.items():
        if other.layout.dtype is not layout.dtype:
            raise TypeError(f"expected {layout.dtype} for argument '{name}', as of what is written, got {other.layout.dtype}")
    columns = [t.expand(layout.shape).reshape(-1).tolist() for t in (target, *others.values())]
    made = [function(*row) for row in zip(*columns)]
    for element in made:
        if number(element.item() if isinstance(element, Tensor) else element) is None:
            raise TypeError(f"the function must return a number, not {type(element).__name__}")
    return copy_(target, make(made, layout.dtype).reshape(layout.shape))


# ---------------------------------------------------------------- methods of years ago
@method
def resize(self, *sizes) -> Tensor:
    """The same elements in another shape: `reshape`, which is what to call.

    Args:
        sizes: ints, or one sequence of them.

    Raises:
        RuntimeError: a shape of another number of elements.

    Example:
        >>> import numtorch as torch
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.ones(2, 3).resize(3, 2).shape
        torch.Size([3, 2])
    """
    warnings.warn("non-inplace resize is deprecated", stacklevel=2)
    return _resized(self, tuple(sizes[0]) if len(sizes) == 1 and is_sequence(sizes[0]) else sizes)


@method
def resize_as(self, tensor) -> Tensor:
    """The same elements in another tensor's shape: `reshape_as`, which is what to call.

    Args:
        tensor: of the shape.

    Raises:
        RuntimeError: one of another number of elements.

    Example:
        >>> import numtorch as torch
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.ones(2, 3).resize_as(torch.ones(6)).shape
        torch.Size([6])
    """
    warnings.warn("non-inplace resize_as is deprecated", stacklevel=2)
    return _resized(self, layout_of("resize_as", tensor, "tensor").shape)


def _resized(x, sizes):
    if math.prod(sizes) != x.layout.numel:
        raise RuntimeError(f"requested resize to {'x'.join(map(str, sizes))} ({math.prod(sizes)} elements in total), but the given "
                           f"tensor has a size of {'x'.join(map(str, x.layout.shape))} ({x.layout.numel} elements). autograd's "
                           f"resize can only change the shape of a given tensor, while preserving the number of elements.")
    return x.reshape(sizes)


@method
def const_data_ptr(self) -> int:
    """The address of the first element, for reading.

    Example:
        >>> import numtorch as torch
        >>> x = torch.ones(2)
        >>> x.const_data_ptr() == x.data_ptr()
        True
    """
    return self.data_ptr()


@method
def is_distributed(self) -> bool:
    """Whether the elements are on several machines: no.

    Example:
        >>> import numtorch as torch
        >>> torch.ones(2).is_distributed()
        False
    """
    return False


@method
def prelu(self, weight) -> Tensor:
    """x where positive, weight * x elsewhere; see `nn.functional.prelu`.

    Args:
        weight: one slope, () or (1), or one for each channel, (C).

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([-1., 2.]).prelu(torch.tensor(0.5))
        tensor([-0.5000,  2.0000])
    """
    return importlib.import_module("numtorch.nn.activations").prelu(self, weight)


def _volatile(self) -> bool:
    """What said, until 2018, that nothing is recorded: False. `torch.no_grad()` says it now.

    Example:
        >>> import numtorch as torch
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.ones(2).volatile
        False
    """
    warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=2)
    return False


Tensor.volatile = property(_volatile)
