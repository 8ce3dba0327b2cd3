"""The larger and the smaller of two numbers, and numbers held between bounds, elementwise."""
from __future__ import annotations

from ...tensor import Tensor
from ..core.derived import formula_of
from ..core.operands import method
from .arithmetic import REAL_NUMBERS, UNORDERED, where
from .pointwise import pointwise


@pointwise(refuses={"complex": "maximum not implemented for complex tensors."})
def maximum(x, y):
    """The larger of x and y, elementwise; NaN where either is NaN. Where they are equal, each has half of the gradient.

    Example:
        >>> import numtorch as torch
        >>> torch.maximum(torch.tensor([1., 5., torch.nan]), torch.tensor([3., 2., 0.]))
        tensor([3., 5., nan])
    """
    return where((x > y) | (x != x), x, y)


@maximum.derivative
def _(grad, x, y):
    half = where(x == y, grad * 0.5, 0)
    return where(x > y, grad, half), where(x < y, grad, half)


@pointwise(refuses={"complex": "minimum not implemented for complex tensors."})
def minimum(x, y):
    """The smaller of x and y, elementwise; NaN where either is NaN. Where they are equal, each has half of the gradient.

    Example:
        >>> import numtorch as torch
        >>> torch.minimum(torch.tensor([1., 5., torch.nan]), torch.tensor([3., 2., 0.]))
        tensor([1., 2., nan])
    """
    return where((x < y) | (x != x), x, y)


@minimum.derivative
def _(grad, x, y):
    half = where(x == y, grad * 0.5, 0)
    return where(x < y, grad, half), where(x > y, grad, half)


@pointwise(refuses={"complex": "fmax not implemented for complex tensors."})
def fmax(x, y):
    """The larger of x and y, elementwise; the number where the other is NaN.

    Example:
        >>> import numtorch as torch
        >>> torch.fmax(torch.tensor([1., 5., torch.nan]), torch.tensor([3., 2., 0.]))
        tensor([3., 5., 0.])
    """
    return where((x > y) | (y != y), x, y)


@fmax.derivative
def _(grad, x, y):
    first = (x >= y) | (y != y)
    return where(first, grad, 0), where(first, 0, grad)


@pointwise(refuses={"complex": "fmin not implemented for complex tensors."})
def fmin(x, y):
    """The smaller of x and y, elementwise; the number where the other is NaN.

    Example:
        >>> import numtorch as torch
        >>> torch.fmin(torch.tensor([1., 5., torch.nan]), torch.tensor([3., 2., 0.]))
        tensor([1., 2., 0.])
    """
    return where((x < y) | (y != y), x, y)


@fmin.derivative
def _(grad, x, y):
    first = (x <= y) | (y != y)
    return where(first, grad, 0), where(first, 0, grad)


@pointwise(methods=False, refuses=REAL_NUMBERS)
def clamp_both(x, low, high):
    """x held between low and high; NaN stays."""
    raised = where(x < low, low, x)                      # NaN stays; `maximum` and `minimum` would look for it in every element
    return where((low != low) | (high != high), low + high, where(raised > high, high, raised))


@clamp_both.derivative
def _(grad, x, low, high):
    by_low, by_high = where((x < low) & (low < high), grad, 0), where((x > high) | (low > high), grad, 0)
    return where((x >= low) & (x <= high), grad, 0), by_low, by_high


@pointwise(methods=False, refuses=UNORDERED)
def clamp_low(x, min):
    """x, but at least min."""
    return maximum(x, min)


@clamp_low.derivative
def _(grad, x, min):
    return where(x >= min, grad, 0), where(x < min, grad, 0)


@pointwise(methods=False, refuses=UNORDERED)
def clamp_high(x, max):
    """x, but at most max."""
    return minimum(x, max)


@clamp_high.derivative
def _(grad, x, max):
    return where(x <= max, grad, 0), where(x > max, grad, 0)


@method
def clamp_min(input, min, *, out=None) -> Tensor:
    """Elements, but at least `min`; NaN stays.

    Args:
        input: (*), real.
        min: number or tensor, broadcast with `input`.
        out: a tensor to write the result into.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([-2., 0.5]).clamp_min(0)
        tensor([0.0000, 0.5000])
    """
    return clamp_low(input, min, out=out)


@formula_of(clamp_min)
def _clamp_min_in_formulas(input, min):
    return clamp_low(input, min)


@method
def clamp_max(input, max, *, out=None) -> Tensor:
    """Elements, but at most `max`; NaN stays.

    Args:
        input: (*), real.
        max: number or tensor, broadcast with `input`.
        out: a tensor to write the result into.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([-2., 0.5]).clamp_max(0)
        tensor([-2.,  0.])
    """
    return clamp_high(input, max, out=out)


@formula_of(clamp_max)
def _clamp_max_in_formulas(input, max):
    return clamp_high(input, max)


for _record in (clamp_both, clamp_low, clamp_high, where):
    _record.op.numbers_must_fit = True
method(clamp_low.op.inplace, "clamp_min_")
method(clamp_high.op.inplace, "clamp_max_")
