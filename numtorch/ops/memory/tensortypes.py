"""What PyTorch keeps from before dtypes and devices: tensor types such as `FloatTensor`, and methods that go through Python."""
from __future__ import annotations

from ...devices import cpu
from ...dtypes import dtype as dtype_class
from ...dtypes import set_default_dtype
from ...exchange.construction import make
from ...tensor import Tensor
from ..core.operands import layout_of, method
from .assign import copy_
from .untyped import StorageBase


class LegacyType(type):
    """The type of `FloatTensor` and its like: a call makes a tensor, and `isinstance` asks for a dtype on the CPU."""

    dtype: dtype_class

    def __call__(cls, *args, device=None) -> Tensor:
        return Tensor._construct(*args, dtype=cls.dtype, device=device)

    def __instancecheck__(cls, value):
        return isinstance(value, Tensor) and value.layout.dtype is cls.dtype and value.layout.device is cpu

    def __repr__(cls):
        return f"<class 'torch.{cls.__name__}'>"


def _legacy(kind):
    name = f"{kind.title}Tensor"
    doc = f"""Tensors of {kind} on the CPU: a call with data or with extents makes one, `isinstance` asks for one.

    Args:
        args: what `tensor` takes, or ints.
        device: taken for PyTorch's sake.

    Example:
        >>> import numtorch as torch
        >>> torch.{name}([1, 0]).dtype, torch.{name}(2, 3).shape
        ({kind}, torch.Size([2, 3]))
    """
    return LegacyType(name, (), {"dtype": kind, "__module__": "torch", "__doc__": doc})


LEGACY = {kind.name: _legacy(kind) for kind in map(dtype_class.by_name.get, (
    "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"))}
FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, LongTensor, IntTensor, ShortTensor, CharTensor, ByteTensor, BoolTensor = \
    LEGACY.values()


def set_default_tensor_type(t) -> None:
    """Make the dtype of a tensor type the default dtype.

    Args:
        t: the type, such as `torch.DoubleTensor`, or its name, "torch.DoubleTensor".

    Raises:
        TypeError: not a tensor type.

    Example:
        >>> import numtorch as torch
        >>> torch.set_default_tensor_type(torch.FloatTensor)
        >>> torch.get_default_dtype()
        torch.float32
    """
    named = {f"torch.{kind.__name__}": kind for kind in LEGACY.values()}
    kind = named.get(t, t)
    if not isinstance(kind, LegacyType):
        raise TypeError(f"invalid type object: only floating-point types are supported as the default type, got {t!r}")
    set_default_dtype(kind.dtype)


def typename(obj) -> str:
    """A tensor's type as its name, or the name of another object's class with its module.

    Args:
        obj: anything.

    Example:
        >>> import numtorch as torch
        >>> torch.typename(torch.zeros(1)), torch.typename(1)
        ('torch.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if isinstance(obj, type) else type(obj)
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
        args: a list of data, or a shape as several ints.
        size: the shape as one tuple.
        device: where; that of this tensor when None.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1.5]).new([1, 2])
        tensor([1., 2.])
    """
    return Tensor._construct(*(args if size is None else size), dtype=self.layout.dtype, device=device or self.layout.device)


@method
def apply_(self, callable) -> Tensor:
    """Put `callable(element)` in the place of every element, one by one in Python, and return this tensor.

    Args:
        callable: takes a Python number and returns one.

    Raises:
        TypeError: a tensor that is not on the CPU.
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
    made = [callable(element) for element in self.reshape(-1).tolist()]
    return copy_(self, make(made, self.layout.dtype).reshape(self.layout.shape))


@method
def map_(self, tensor, callable) -> Tensor:
    """Put `callable(element, element of tensor)` in the place of every element, one by one in Python, and return this tensor.

    Args:
        tensor: broadcast to this one.
        callable: takes two Python numbers and returns one.

    Raises:
        TypeError: a tensor that is not on the CPU.
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
    return _mapped(self, callable, tensor)


@method
def map2_(self, x, y, callable) -> Tensor:
    """Put `callable(element, element of x, element of y)` in the place of every element, as `map_` does.

    Args:
        x, y: broadcast to this one.
        callable: takes three Python numbers and returns one.

    Raises:
        TypeError: a tensor that is not on the CPU.
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
    return _mapped(self, callable, x, y)


def _mapped(target, function, *others):
    columns = [t.expand(target.layout.shape).reshape(-1).tolist() for t in (target, *others)]
    return copy_(target, make([function(*row) for row in zip(*columns)], target.layout.dtype).reshape(target.layout.shape))
