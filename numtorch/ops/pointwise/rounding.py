"""Rounding: down, up, towards zero, to the nearest, and what is cut off."""
from __future__ import annotations

from ...kernels import vectormath
from ...tensor import Tensor
from ..core.arguments import integer
from ..core.operands import layout_of, method
from ..memory.assign import copy_
from .arithmetic import FLOATS, REAL_NUMBERS
from .pointwise import pointwise


def _rounding(name, doc):
    """A step function: integers stay as they are, and the gradient is zero."""
    def body(x):
        return x
    body.__name__, body.__doc__, body.__module__ = name, doc, __name__
    function = pointwise(refuses=REAL_NUMBERS)(body)
    rounded = getattr(vectormath, name)

    @function.overload("float")
    def _(x):
        return rounded(x)

    @function.derivative
    def _(grad):
        return 0
    return function


floor = _rounding("floor", """The largest integer not above x, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.floor(torch.tensor([-1.5, 0.7, 2.]))
        tensor([-2.,  0.,  2.])
    """)
ceil = _rounding("ceil", """The smallest integer not below x, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.ceil(torch.tensor([-1.5, 0.7, 2.]))
        tensor([-1.,  1.,  2.])
    """)
trunc = _rounding("trunc", """x without its fraction, elementwise: rounded towards 0.

    Example:
        >>> import numtorch as torch
        >>> torch.trunc(torch.tensor([-1.5, 0.7, 2.]))
        tensor([-1.,  0.,  2.])
    """)
round_to_even = _rounding("round", "The nearest integer, ties to even, elementwise.")


@pointwise(refuses=FLOATS)
def frac(x):
    """x - trunc(x): the fraction, with the sign of x, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.frac(torch.tensor([-1.5, 0.75, 2.]))
        tensor([-0.5000,  0.7500,  0.0000])
    """
    return x - trunc(x)


@frac.derivative
def _(grad):
    return grad


method(trunc, "fix")
method(trunc.op.inplace, "fix_")


# One record each, so that 16-bit floats are scaled in the wider type they are computed in: 123 * 1000 is infinite in float16.
@pointwise(methods=False, refuses={"bool": "", "integer": "", "complex": ""})
def round_to_decimals(x, *, scale):
    """The nearest multiple of 1 / scale, elementwise."""
    return round_to_even(x * scale) / scale


@pointwise(methods=False, refuses={"bool": "", "integer": "", "complex": ""})
def round_to_tens(x, *, scale):
    """The nearest multiple of scale, elementwise."""
    return round_to_even(x / scale) * scale


for _record in (round_to_decimals, round_to_tens):
    @_record.derivative
    def _(grad):
        return 0


def round(input, *, decimals: int = 0, out=None) -> Tensor:
    """The nearest integer, ties to even, elementwise; or the nearest number of so many decimals.

    Args:
        input: (*); integers or floats.
        decimals: how many digits after the point are kept; negative: rounded to tens, hundreds, ...
        out: a tensor to write the result into.

    Raises:
        NotImplementedError: bools or complex numbers; integers with `decimals`.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([2.5, 1.255, 127.])
        >>> torch.round(x), torch.round(x, decimals=1), torch.round(x, decimals=-1)
        (tensor([  2.,   1., 127.]), tensor([  2.5000,   1.3000, 127.0000]), tensor([  0.,   0., 130.]))
    """
    if decimals.__class__ is not int:
        decimals = integer("round", "decimals", decimals)
    if not decimals:
        return round_to_even(input, out=out)
    if not layout_of("round", input).dtype.is_floating_point:
        raise NotImplementedError(f'"round_vml_cpu" not implemented for \'{input.layout.dtype.title}\' with decimals')
    rounded = round_to_decimals if decimals > 0 else round_to_tens
    return rounded(input, scale=10.0 ** abs(decimals), out=out)


round.op, round.scalar = round_to_even.op, round_to_even.scalar          # in a formula it means the record
Tensor.round = round


def _round_(self, *, decimals: int = 0) -> Tensor:
    """In-place form of `round`: writes the result into this tensor and returns it.

    Args:
        decimals: how many digits after the point are kept; negative: rounded to tens, hundreds, ...

    Raises:
        NotImplementedError: as of `round`.
        RuntimeError: the tensor is a leaf that requires a gradient.
    """
    return copy_(self, round(self, decimals=decimals)) if decimals else round_to_even.op.inplace(self)


Tensor.round_ = _round_
