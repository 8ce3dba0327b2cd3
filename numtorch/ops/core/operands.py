"""What ops ask of their operands: the dtype they promote to, numbers as tensors, one device, names on Tensor."""
from __future__ import annotations

import inspect

import numpy as np

from ...devices import cpu
from ...dtypes import dtype, get_default_dtype, int64, promote_types, uint64
from ...exchange.construction import make
from ...exchange.scalars import number
from ...tensor import Tensor
from .expression import Apply, Expression
from .primitive import class_of, not_a_tensor


# ---------------------------------------------------------------- promotion
def result_dtype(layouts) -> dtype:
    """The dtype of an arithmetic result, by PyTorch's rules.

    Tensors with dimensions decide; 0-dim tensors and, after them, Python numbers only matter when they are of a higher
    kind (bool < integer < floating point < complex) than everything before them.
    """
    dims = zero_dim = weak = None
    for layout in layouts:
        kind = layout.dtype
        if layout.weak:
            if kind.category >= 2:
                kind = get_default_dtype() if kind.category == 2 else get_default_dtype().to_complex()
            elif kind is uint64:                         # an int that int64 cannot hold is an int64's bits
                kind = int64
            weak = kind if weak is None else promote_types(weak, kind)
        elif layout.ndim:
            dims = kind if dims is None else promote_types(dims, kind)
        else:
            zero_dim = kind if zero_dim is None else promote_types(zero_dim, kind)
    dtypes = [kind for kind in (dims, zero_dim, weak) if kind is not None]
    result = dtypes[0]
    for kind in dtypes[1:]:
        if kind.category > result.category:
            result = result.to_complex() if kind.category == 3 and result.category == 2 and kind is not dims else kind
    return result


def result_type(*tensors) -> dtype:
    """The dtype that arithmetic on these tensors and numbers has.

    Example:
        >>> import numtorch as torch
        >>> torch.result_type(torch.tensor([1, 2], dtype=torch.int32), 1.0)
        torch.float32
    """
    return result_dtype([as_operand("result_type", t).layout for t in tensors])


# ---------------------------------------------------------------- operands
def as_operand(name, value) -> Tensor:
    """An argument of an op as a tensor: tensors, numbers, and copies of NumPy's arrays. Raises TypeError for anything else."""
    if isinstance(value, Tensor):
        return value
    result = number(value)
    if result is None:
        if isinstance(value, np.ndarray):
            return make(value)
        raise TypeError(f"{name}(): expected a Tensor or a number, not {class_of(value)}")
    return result


def no_tensor_among(name, **arguments) -> TypeError:
    """What to raise where one of several arguments, named in order, is no tensor: for the first that is not None either."""
    wrong = [(key, place) for place, key in enumerate(arguments, 1) if not isinstance(arguments[key], Tensor)]
    argument, position = next(((k, p) for k, p in wrong if arguments[k] is not None), wrong[0])
    return not_a_tensor(name, arguments[argument], argument, position)


def layout_of(name, value, argument="input", position=1):
    """The layout of an argument that has to be a tensor. Raises TypeError where it is none."""
    if not isinstance(value, Tensor):
        raise not_a_tensor(name, value, argument, position)
    return value.layout


def is_formula(args) -> bool:
    """Whether an op is being called on a formula's symbols rather than on tensors."""
    return any(isinstance(a, Expression) for a in args)


def apply_formula(op, args):
    return Apply(op, args)


def common_device(name, layouts):
    """The device of a call; 0-dim CPU tensors may go along with any. Raises RuntimeError for two."""
    result = None
    for layout in layouts:
        if layout.device is cpu and layout.ndim == 0:
            continue
        if result is None:
            result = layout.device
        elif layout.device is not result:
            raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {result} and "
                               f"{layout.device}! (when checking arguments for {name})")
    return result or cpu


# ---------------------------------------------------------------- names on Tensor
def method(function, name=None):
    """Attach a function to Tensor as a method of its own name. Never replaces what is there: one name, one meaning."""
    name = name or function.__name__
    if name in Tensor.__dict__:
        raise ValueError(f"Tensor already has '{name}'")
    setattr(Tensor, name, function)
    return function


def signature_of(function):
    """Names of a formula's operands and its keyword-only numbers with their defaults."""
    operands, numbers = [], {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            if parameter.default is parameter.empty and any(d is not parameter.empty for d in numbers.values()):
                raise TypeError(f"{function.__name__}: numbers without a default come first, unlike {parameter.name}")
            numbers[parameter.name] = parameter.default
        elif parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.POSITIONAL_ONLY):
            operands.append(parameter.name)
        else:
            raise TypeError(f"{function.__name__}: a formula takes named arguments only, not *{parameter.name}")
    return operands, numbers
