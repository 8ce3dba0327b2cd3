"""Records of rounding: down, up, towards zero, to the nearest, and what is cut off."""
from __future__ import annotations

from ..kernels import vectormath
from .arithmetic import FLOATS, REAL_NUMBERS
from .op import method
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
        return grad * 0
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
