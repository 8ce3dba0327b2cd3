"""Python numbers among tensors.

A number is a 0-dim tensor whose layout is `weak`: promotion gives way to tensors of its kind, and plans and kernels need no case of
their own. Recent ones are kept: `x * 2` in a loop makes its 2 once.
"""
from __future__ import annotations

from math import copysign, inf

import numpy as np

from ..dtypes import ALL, bool_, dtype, finfo, float64, int64
from ..layout import Layout
from ..tensor import Tensor, kept
from .values import READERS

_WEAK = {bool: Layout.of(bool_, (), (), weak=True), int: Layout.of(int64, (), (), weak=True),
         float: Layout.of(float64, (), (), weak=True), complex: Layout.of(dtype.by_name["complex128"], (), (), weak=True)}
NUMBERS = frozenset(_WEAK)
_BEYOND_INT64 = Layout.of(dtype.by_name["uint64"], (), (), weak=True)
recent_numbers: dict[tuple, Tensor] = {}                 # by (type, value)


def python_number(value):
    """A scalar of NumPy's as a Python number: its bools are floats, as PyTorch reads them, and its extended floats, which `item`
    leaves as they are, are rounded."""
    if isinstance(value, (np.bool_, np.longdouble)):
        return float(value)
    return complex(value) if isinstance(value, np.clongdouble) else value.item()


def check_fits(value, dtype: dtype) -> None:
    """Raise RuntimeError for a Python number that a dtype cannot hold, as PyTorch does: fills would wrap it around."""
    if isinstance(value, np.generic):
        value = python_number(value)
    if type(value) is complex and 0 < dtype.category < 3:
        fits = not value.imag
        value = value.real
    else:
        fits = True
    if dtype.category == 1:
        high = 1 << 8 * dtype.itemsize - dtype.is_signed
        if type(value) is float:                         # before its fraction is cut off
            fits = fits and -high * dtype.is_signed <= value <= high - 1
        else:                                            # a negative int may wrap around in an unsigned dtype, as in PyTorch
            fits = fits and -high - dtype.is_signed < value < high
    elif dtype.category == 2 and fits and -inf < value < inf:
        fits = -_LARGEST[dtype.name] <= value <= _LARGEST[dtype.name]
    if not fits:
        raise RuntimeError(f"value cannot be converted to type {_C_NAMES.get(dtype.name, dtype.name + '_t')} without overflow")


_LARGEST = {kind.name: finfo(kind).max for kind in ALL if kind.is_floating_point}
_C_NAMES = {"float16": "at::Half", "bfloat16": "at::BFloat16", "float32": "float", "float64": "double"}


def number(value) -> Tensor | None:
    """A Python number as a weak 0-dim tensor, or None for what is not a number.

    Raises:
        OverflowError: an int that does not fit 64 bits.
    """
    kind = type(value)
    layout = _WEAK.get(kind)
    if layout is None:
        if isinstance(value, np.generic):
            return number(python_number(value))
        for base in (bool, int, float, complex):
            if isinstance(value, base):
                return number(base(value))  # type: ignore[arg-type]
        return None
    key = (kind, value)
    if not value and kind is not int:                    # 0.0 equals -0.0, and neither may stand for the other
        key = (kind, repr(value)) if kind is complex else (kind, copysign(1, value), 0)
    recent = recent_numbers.get(key)
    if recent is not None:
        return recent
    if kind is int and not -1 << 63 <= value < 1 << 63:
        if not 0 <= value < 1 << 64:
            words = "int too big to convert" if value > 0 else "can't convert negative int to unsigned"
            raise OverflowError(f"{words}: {value}")
        layout = _BEYOND_INT64
    out = kept(layout)
    parts = (value.real, value.imag) if kind is complex else (value,)
    for position, part in enumerate(parts):
        READERS["float64" if kind is complex else layout.dtype.name].from_address(out.address + 8 * position).value = part
    if len(recent_numbers) >= 1024:
        recent_numbers.clear()
    recent_numbers[key] = out
    return out
