"""What an argument that is no tensor must be, by PyTorch's rules: what stands for a number without a doubt is taken, nothing else.

Attributes of primitives that are annotated `int`, `float`, `complex`, `bool` or `str` are looked at here when a call finds no plan
(`Primitive.checked`); functions composed of others call these themselves. Sizes and dimensions are read by `numtorch/layout.py`.
"""
from __future__ import annotations

import functools
from numbers import Complex, Real

import numpy as np

from ...exchange.scalars import python_number
from ...layout import as_int
from ...tensor import Tensor


def numpy_keywords(function):
    """A function that takes NumPy's names as well, as all of PyTorch's do: `axis` for `dim` and `keepdims` for `keepdim`. Where one
    call more counts, they are in the signature instead."""
    @functools.wraps(function)
    def named(*args, **options):
        if not options:
            return function(*args)
        for numpys, ours in (("axis", "dim"), ("keepdims", "keepdim")):
            if numpys in options and ours not in options:
                options[ours] = options.pop(numpys)
        return function(*args, **options)
    return named


def refusal(name, argument, expected, value) -> TypeError:
    """What to raise where an argument is of another type."""
    return TypeError(f"{name}(): argument '{argument}' must be {expected}, not {type(value).__name__}")


def expect_layout(name, argument, layout, shape=None, dtype=None) -> None:
    """Raise RuntimeError where a tensor does not go along with the others of a call: a kernel reads and writes what it is told of.

    Args:
        name: of what is called.
        argument: the tensor's name.
        layout: its.
        shape, dtype: what they must be; None for any.
    """
    if shape is not None and layout.shape != tuple(shape):
        raise RuntimeError(f"{name}: expected {argument} of shape {list(shape)}, got {list(layout.shape)}")
    if dtype is not None and layout.dtype is not dtype:
        raise RuntimeError(f"{name}: expected {argument} of dtype {dtype}, got {layout.dtype}")


KINDS = ("bool", "integer", "float", "complex")          # of dtypes, by their category
_PLURALS = {"bool": "bools", "integer": "integers", "float": "floats", "complex": "complex numbers"}


def expect_dtypes(name, dtype, *taken) -> None:
    """Raise NotImplementedError for a dtype that an op has no meaning or no kernel for.

    Args:
        name: of what is called.
        dtype: the tensor's.
        taken: kinds of dtypes, of `KINDS`, and names of dtypes.
    """
    if KINDS[dtype.category] not in taken and dtype.name not in taken:
        expected = " or ".join([_PLURALS.get(each, each) for each in taken])
        raise NotImplementedError(f'"{name}" not implemented for \'{dtype.title}\': expected {expected}')


def _plain(value, most):
    """As Python's: numbers of NumPy, whose bools are bools here, and tensors without dimensions and gradient whose category is at
    most `most`."""
    if isinstance(value, np.generic):
        return value.item() if isinstance(value, np.bool_) else python_number(value)
    if isinstance(value, Tensor):
        layout = value.layout
        return value.item() if layout.ndim == 0 and layout.dtype.category <= most and not value.requires_grad else None
    return value


def integer(name, argument, value) -> int:
    """An argument as an int. Raises TypeError for what is none: a truth value, a float, a tensor of several elements."""
    if type(value) is int:
        return value
    try:
        return as_int(value)
    except TypeError:
        raise refusal(name, argument, "int", value) from None


def real(name, argument, value) -> float:
    """An argument as the real number that it is. Raises TypeError for what is none: a text, a complex number."""
    number = _plain(value, 2)
    if not isinstance(number, Real):
        raise refusal(name, argument, "float", value)
    return number  # type: ignore[return-value]


def scalar(name, argument, value) -> complex:
    """An argument as the number that it is. Raises TypeError for what is none."""
    number = _plain(value, 3)
    if not isinstance(number, Complex):
        raise refusal(name, argument, "Number", value)
    return number  # type: ignore[return-value]


def truth(name, argument, value) -> bool:
    """A truth value. Raises TypeError for anything else: what Python takes for true, a text say, is rarely meant so."""
    if value is not True and value is not False:
        raise refusal(name, argument, "bool", value)
    return value


def text(name, argument, value) -> str:
    """A name of a choice. Raises TypeError for anything else; bytes are no text."""
    if not isinstance(value, str):
        raise refusal(name, argument, "str", value)
    return value


def check_several(name, argument, value) -> None:
    """Raise TypeError where several ints are wanted and something else is given: one that stands alone, too."""
    if not isinstance(value, (tuple, list)):
        raise refusal(name, argument, "tuple of ints", value)


def required_dim(name, axis):
    """The dimension that must be given, under NumPy's name. Raises TypeError where it is not."""
    if axis is None:
        raise TypeError(f"{name}() missing 1 required positional argument: 'dim'")
    return axis


def check_truths(name, **given) -> None:
    """Raise TypeError for the first of several arguments that is no truth value."""
    for argument, value in given.items():
        if value is not True and value is not False:
            raise refusal(name, argument, "bool", value)


CHECKS = {"int": integer, "float": real, "complex": scalar, "bool": truth, "str": text}
