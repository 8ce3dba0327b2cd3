# Written by `python -m numtorch stubs` (numtorch/commands/stubs.py) from the functions: change those, not this.
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Callable as _Callable, Iterator as _Iterator, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal, NamedTuple as _NamedTuple, overload as _overload

from numpy import ndarray as _ndarray
from numtorch.dtypes import dtype as _dtype
from numtorch.tensor import Tensor as Tensor
from numtorch.types import Dims as _Dims
from numtorch.types import Operand as _Operand
from numtorch.types import Scalar as _Scalar

def airy_ai(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Airy's function Ai, elementwise: the solution of f'' = input f that falls to 0 on the right; NaN at infinity, 0 from 103.892 on."""
def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 0, elementwise: the solution of input f'' + f' = -input f with f(0) = 1; within 4 ulp,"""
def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 1, elementwise: less the derivative of `bessel_j0`; as accurate."""
def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind of order 0, elementwise: -inf at 0, NaN below; as accurate as `bessel_j0`."""
def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind of order 1, elementwise: -inf at 0, NaN below; as accurate as `bessel_j0`."""
def chebyshev_polynomial_t(input: Tensor, n: _Any, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the first kind of degree n, elementwise: cos(n acos(input)) for |input| <= 1."""
def chebyshev_polynomial_u(input: Tensor, n: _Any, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the second kind of degree n, elementwise: sin((n + 1) acos(x)) / sin(acos(x)) for |x| < 1."""
def chebyshev_polynomial_v(input: Tensor, n: _Any, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the third kind of degree n, elementwise: U of n less U of n - 1."""
def chebyshev_polynomial_w(input: Tensor, n: _Any, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev's polynomial of the fourth kind of degree n, elementwise: U of n and U of n - 1."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Derivative of lgamma, gamma'(input) / gamma(input), elementwise; within 5 ulp above 0."""
def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-input log(input), elementwise; 0 for 0, minus infinity below."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to input, elementwise."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(input), elementwise, without the cancellation for large input; within 5 ulp, 2 with AVX-512."""
def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input**2) erfc(input), elementwise, which does not vanish for large input; within 5 ulp."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse of the error function, elementwise: infinite at -1 and 1, NaN outside."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power input, elementwise; exact for integers."""
def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logistic function 1 / (1 + exp(-input)), elementwise; within 3 ulp."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input) - 1, elementwise, without the cancellation near 0."""
def gammainc(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularised lower incomplete gamma function P(input, other), elementwise."""
def gammaincc(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularised upper incomplete gamma function Q(input, other), elementwise."""
def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of |gamma(input)|, elementwise: infinite at 0 and the integers below; within 3 ulp above 0."""
def hermite_polynomial_h(input: Tensor, n: _Any, *, out: Tensor | None = None) -> Tensor:
    """The physicist's Hermite polynomial of degree n, elementwise: 1, 2 input, 4 input**2 - 2, ..."""
def hermite_polynomial_he(input: Tensor, n: _Any, *, out: Tensor | None = None) -> Tensor:
    """The probabilist's Hermite polynomial of degree n, elementwise: 1, input, input**2 - 1, ..."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 0, elementwise: the solution of input f'' + f' = input f with f(0) = 1; within 6 ulp."""
def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(-|input|) times the modified Bessel function of order 0, elementwise, which does not overflow; within 5 ulp."""
def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 1, elementwise: the derivative of `i0`; within 6 ulp."""
def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(-|input|) times the modified Bessel function of order 1, elementwise, which does not overflow; within 5 ulp."""
def laguerre_polynomial_l(input: Tensor, n: _Any, *, out: Tensor | None = None) -> Tensor:
    """Laguerre's polynomial of degree n, elementwise: 1, 1 - x, (x**2 - 4 x + 2) / 2, ...; 0 for negative degrees."""
def legendre_polynomial_p(input: Tensor, n: _Any, *, out: Tensor | None = None) -> Tensor:
    """Legendre's polynomial of degree n, elementwise: 1, x, (3 x**2 - 1) / 2, ...; 0 for negative degrees."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + input), elementwise, without the loss of digits near 0."""
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(ndtr(input)), elementwise, exact where ndtr(input) is 0."""
def log_softmax(input: Tensor, dim: _Dims | None = None, dtype: _dtype | None = None, *, axis: _Dims | None = None, out: Tensor | None = None) -> Tensor:
    """log(softmax(x)) along a dimension, exact where softmax underflows."""
def logit(input: Tensor, eps: _Scalar | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(input / (1 - input)), elementwise: the inverse of `sigmoid`."""
def logsumexp(input: Tensor, dim: _Dims | None = None, keepdim: _bool = False, *, axis: _Dims | None = None, keepdims: _bool | None = None, out: Tensor | None = None) -> Tensor:
    """log(sum(exp(x))) along dimensions, shifted by the largest element so that nothing overflows."""
def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 0, elementwise: the solution of input f'' + f' = input f with f(0) = 1; within 6 ulp."""
def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 1, elementwise: the derivative of `i0`; within 6 ulp."""
def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 0, elementwise: inf at 0, NaN below; within 8 ulp."""
def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 1, elementwise: inf at 0, NaN below; within 8 ulp."""
def multigammaln(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p, elementwise."""
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The share of the standard normal distribution below input, elementwise."""
def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number below which a share input of the standard normal distribution lies, elementwise: the inverse of `ndtr`."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of digamma, elementwise."""
def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Derivative of lgamma, gamma'(input) / gamma(input), elementwise; within 5 ulp above 0."""
def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest integer, ties to even, elementwise; or the nearest number of so many decimals."""
def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input) times `modified_bessel_k0`, elementwise, which does not vanish for large input."""
def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input) times `modified_bessel_k1`, elementwise, which does not vanish for large input."""
def shifted_chebyshev_polynomial_t(input: Tensor, n: _Any, *, out: Tensor | None = None) -> Tensor:
    """`chebyshev_polynomial_t` of 2 * input - 1, orthogonal on [0, 1]."""
def shifted_chebyshev_polynomial_u(input: Tensor, n: _Any, *, out: Tensor | None = None) -> Tensor:
    """`chebyshev_polynomial_u` of 2 * input - 1, orthogonal on [0, 1]."""
def shifted_chebyshev_polynomial_v(input: Tensor, n: _Any, *, out: Tensor | None = None) -> Tensor:
    """`chebyshev_polynomial_v` of 2 * input - 1, orthogonal on [0, 1]."""
def shifted_chebyshev_polynomial_w(input: Tensor, n: _Any, *, out: Tensor | None = None) -> Tensor:
    """`chebyshev_polynomial_w` of 2 * input - 1, orthogonal on [0, 1]."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(pi input) / (pi input), and 1 for 0, elementwise."""
def softmax(input: Tensor, dim: _Dims | None = None, dtype: _dtype | None = None, *, axis: _Dims | None = None, out: Tensor | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along a dimension, computed from x - max(x)."""
def spherical_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The spherical Bessel function of order 0, elementwise: sin(input) / input, 1 at 0."""
def xlog1py(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input * log1p(other), elementwise, and 0 where input is 0 and other is a number."""
def xlogy(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input * log(other), elementwise, and 0 where input is 0 and other is a number."""
def zeta(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The Hurwitz zeta function, the sum of (other + k)**-input over k >= 0, elementwise: infinite for input = 1, NaN below."""
