"""Orthogonal polynomials by their three-term recurrences: Chebyshev's, Legendre's, Hermite's and Laguerre's.

Derivatives stay in families that are closed under them (Abramowitz and Stegun, "Handbook of mathematical functions", 22.8): the
derivative of a Gegenbauer polynomial is one of the next parameter, and so is that of a generalised Laguerre polynomial.
Chebyshev's of the second kind and Legendre's are Gegenbauer's of the parameters 1 and 1/2. A recurrence takes as many steps as the
degree says, and nothing ends it from outside: from degree 2**20 on results are NaN.
"""
from __future__ import annotations

from ...tensor import Tensor
from ..core.subfunction import Subfunction
from .arithmetic import UNORDERED
from .pointwise import pointwise


@Subfunction
def chebyshev_sum(x, n, before):
    if n <= -1:
        return x * 0
    if not n < 1048576:
        return (n - n) / (n - n)
    result = x * 0 + 1
    k = 1
    while k <= n and result == result:
        after = 2 * x * result - before
        before = result
        result = after
        k += 1
    return result


@Subfunction
def gegenbauer_sum(x, n, parameter):
    if parameter == 1:                                   # Chebyshev's of the second kind: exact at the ends
        return chebyshev_sum(x, n, x * 0)
    if n <= -1:
        return x * 0
    if not n < 1048576:
        return (n - n) / (n - n)
    before = x * 0
    result = before + 1
    k = 1
    while k <= n and result == result:
        after = (2 * x * (k + parameter - 1) * result - (k + 2 * parameter - 2) * before) / k
        before = result
        result = after
        k += 1
    return result


@Subfunction
def laguerre_sum(x, n, parameter):
    if n <= -1:
        return x * 0
    if not n < 1048576:
        return (n - n) / (n - n)
    before = x * 0
    result = before + 1
    k = 1
    while k <= n and result == result:
        after = ((2 * k - 1 + parameter - x) * result - (k - 1 + parameter) * before) / k
        before = result
        result = after
        k += 1
    return result


@Subfunction
def hermite_sum(x, n, scale):
    if n <= -1:
        return x * 0
    if not n < 1048576:
        return (n - n) / (n - n)
    before = x * 0
    result = before + 1
    k = 1
    while k <= n and result == result:
        after = scale * (x * result - (k - 1) * before)
        before = result
        result = after
        k += 1
    return result


@pointwise(kind="float", cost=40, refuses=UNORDERED, methods=False)
def gegenbauer(x, n, parameter):
    """Gegenbauer's polynomial of degree n, elementwise; 0 for negative degrees."""
    return gegenbauer_sum(x, n, parameter)


@gegenbauer.derivative
def _(grad, x, n, parameter):
    return grad * 2 * parameter * gegenbauer(x, n - 1, parameter + 1), 0, 0


@pointwise(kind="float", cost=40, refuses=UNORDERED, methods=False)
def laguerre(x, n, parameter):
    """The generalised Laguerre polynomial of degree n, elementwise; 0 for negative degrees."""
    return laguerre_sum(x, n, parameter)


@laguerre.derivative
def _(grad, x, n, parameter):
    return -grad * laguerre(x, n - 1, parameter + 1), 0, 0


@pointwise(kind="float", cost=40, refuses=UNORDERED, methods=False)
def chebyshev_polynomial_t(x, n):
    """Chebyshev's polynomial of the first kind of degree n, elementwise: cos(n acos(x)) for |x| <= 1.

    The degree has no gradient; below 0 it gives 0, from 2**20 on NaN.

    Example:
        >>> import numtorch as torch
        >>> torch.special.chebyshev_polynomial_t(torch.tensor([0.5, 2.]), 2)
        tensor([-0.5000,  7.0000])
    """
    return chebyshev_sum(x, n, x * 1)                    # T of -1 is that of 1


@chebyshev_polynomial_t.derivative
def _(grad, x, n):
    return grad * n * gegenbauer(x, n - 1, 1), 0


@pointwise(kind="float", cost=40, refuses=UNORDERED, methods=False)
def hermite_polynomial_h(x, n):
    """The physicist's Hermite polynomial of degree n, elementwise: 1, 2 x, 4 x**2 - 2, ...

    The degree has no gradient; below 0 it gives 0, from 2**20 on NaN.

    Example:
        >>> import numtorch as torch
        >>> torch.special.hermite_polynomial_h(torch.tensor([0.5, 2.]), 2)
        tensor([-1., 14.])
    """
    return hermite_sum(x, n, 2)


@hermite_polynomial_h.derivative
def _(grad, x, n):
    return grad * 2 * n * hermite_polynomial_h(x, n - 1), 0


@pointwise(kind="float", cost=40, refuses=UNORDERED, methods=False)
def hermite_polynomial_he(x, n):
    """The probabilist's Hermite polynomial of degree n, elementwise: 1, x, x**2 - 1, ...

    The degree has no gradient; below 0 it gives 0, from 2**20 on NaN.

    Example:
        >>> import numtorch as torch
        >>> torch.special.hermite_polynomial_he(torch.tensor([0.5, 2.]), 2)
        tensor([-0.7500,  3.0000])
    """
    return hermite_sum(x, n, 1)


@hermite_polynomial_he.derivative
def _(grad, x, n):
    return grad * n * hermite_polynomial_he(x, n - 1), 0


def chebyshev_polynomial_u(input, n, *, out=None) -> Tensor:
    """Chebyshev's polynomial of the second kind of degree n, elementwise: sin((n + 1) acos(x)) / sin(acos(x)) for |x| < 1.

    Args:
        input: tensor or number, broadcast with `n`; real.
        n: the degree, a number or tensor, below 2**20 (NaN from there on), without a gradient.
        out: a tensor to write the result into.

    Example:
        >>> import numtorch as torch
        >>> torch.special.chebyshev_polynomial_u(torch.tensor([0.5, 2.]), 2)
        tensor([ 0., 15.])
    """
    return gegenbauer(input, n, 1.0, out=out)


def chebyshev_polynomial_v(input, n, *, out=None) -> Tensor:
    """Chebyshev's polynomial of the third kind of degree n, elementwise: U of n less U of n - 1.

    Args:
        input: tensor or number, broadcast with `n`; real.
        n: the degree, a number or tensor, below 2**20 (NaN from there on), without a gradient.
        out: a tensor to write the result into.

    Example:
        >>> import numtorch as torch
        >>> torch.special.chebyshev_polynomial_v(torch.tensor([0.5, 2.]), 2)
        tensor([-1., 11.])
    """
    return chebyshev_polynomial_u(input, n).sub(chebyshev_polynomial_u(input, n // 1 - 1), out=out)


def chebyshev_polynomial_w(input, n, *, out=None) -> Tensor:
    """Chebyshev's polynomial of the fourth kind of degree n, elementwise: U of n and U of n - 1.

    Args:
        input: tensor or number, broadcast with `n`; real.
        n: the degree, a number or tensor, below 2**20 (NaN from there on), without a gradient.
        out: a tensor to write the result into.

    Example:
        >>> import numtorch as torch
        >>> torch.special.chebyshev_polynomial_w(torch.tensor([0.5, 2.]), 2)
        tensor([ 1., 19.])
    """
    return chebyshev_polynomial_u(input, n).add(chebyshev_polynomial_u(input, n // 1 - 1), out=out)


def legendre_polynomial_p(input, n, *, out=None) -> Tensor:
    """Legendre's polynomial of degree n, elementwise: 1, x, (3 x**2 - 1) / 2, ...; 0 for negative degrees.

    Args:
        input: tensor or number, broadcast with `n`; real.
        n: the degree, a number or tensor, below 2**20 (NaN from there on), without a gradient.
        out: a tensor to write the result into.

    Example:
        >>> import numtorch as torch
        >>> torch.special.legendre_polynomial_p(torch.tensor([0.5, 2.]), 2)
        tensor([-0.1250,  5.5000])
    """
    return gegenbauer(input, n, 0.5, out=out)


def laguerre_polynomial_l(input, n, *, out=None) -> Tensor:
    """Laguerre's polynomial of degree n, elementwise: 1, 1 - x, (x**2 - 4 x + 2) / 2, ...; 0 for negative degrees.

    Args:
        input: tensor or number, broadcast with `n`; real.
        n: the degree, a number or tensor, below 2**20 (NaN from there on), without a gradient.
        out: a tensor to write the result into.

    Example:
        >>> import numtorch as torch
        >>> torch.special.laguerre_polynomial_l(torch.tensor([0.5, 2.]), 2)
        tensor([ 0.1250, -1.0000])
    """
    return laguerre(input, n, 0.0, out=out)


def _shifted(function, example):
    def shifted(input, n, *, out=None) -> Tensor:
        return function(input * 2 - 1, n, out=out)
    shifted.__name__ = shifted.__qualname__ = "shifted_" + function.__name__
    shifted.__doc__ = f"""`{function.__name__}` of 2 * input - 1, orthogonal on [0, 1].

    Args:
        input: tensor, broadcast with `n`; real.
        n: the degree, a number or tensor, below 2**20 (NaN from there on), without a gradient.
        out: a tensor to write the result into.

    Example:
        >>> import numtorch as torch
        >>> torch.special.shifted_{function.__name__}(torch.tensor([0., 1.]), 1)
        {example}
    """
    return shifted


shifted_chebyshev_polynomial_t = _shifted(chebyshev_polynomial_t, "tensor([-1.,  1.])")
shifted_chebyshev_polynomial_u = _shifted(chebyshev_polynomial_u, "tensor([-2.,  2.])")
shifted_chebyshev_polynomial_v = _shifted(chebyshev_polynomial_v, "tensor([-3.,  1.])")
shifted_chebyshev_polynomial_w = _shifted(chebyshev_polynomial_w, "tensor([-1.,  3.])")
