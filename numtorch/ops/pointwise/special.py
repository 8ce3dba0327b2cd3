"""Records of `torch.special`: incomplete gamma functions, the normal distribution's functions, Airy's function.

Sums and continued fractions: Abramowitz and Stegun, "Handbook of mathematical functions", 6.5 and 7.1.
"""
from __future__ import annotations

import math

from ...autograd.graph import GraphNode, Recorded, recording
from ...kernels import vectormath
from ...kernels.vectormath.elementary import constant, polynomial
from ...tensor import Tensor
from ..core.arguments import integer
from ..core.operands import layout_of, method, result_type
from ..core.subfunction import Subfunction
from ..memory.detach import detach
from ..memory.resize import into
from .arithmetic import FLOATS, UNORDERED, where
from .elementary import PI, cos, erfc, exp, lgamma, log, log1p, sin, sqrt
from .pointwise import pointwise

SQRT2, SQRT_PI, SQRT_2PI = math.sqrt(2), math.sqrt(PI), math.sqrt(2 * PI)


# ---------------------------------------------------------------- incomplete gamma functions
ENOUGH = constant(1e-8, 1e-17)                           # a part that no longer counts
LARGE = constant(1e9, 1e75)                              # products of four such numbers are finite
FURTHEST = 2000                                          # terms; x = a = 10**4 takes 800


# Temme's uniform expansion (1979; DLMF 8.12): the powers of eta that a**0, a**-1, a**-2 and a**-3 are multiplied by
ratio_0, ratio_1, ratio_2, ratio_3 = [polynomial(f"gamma_ratio_{k}", (row, row)) for k, row in enumerate((
    (-0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073, 0.0003527336860670194,
     -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06, -1.85406221071516e-06, 8.296711340953087e-07,
     -1.7665952736826078e-07, 6.707853543401498e-09, 1.0261809784240309e-08, -4.382036018453353e-09),
    (-0.001851851851851852, -0.003472222222222222, 0.0026455026455026454, -0.0009902263374485596, 0.00020576131687242798,
     -4.018775720164609e-07, -1.8098550334489977e-05, 7.64916091608111e-06),
    (0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049, 2.0093878600823047e-06),
    (0.0006494341563786008, 0.00022947209362139917)))]


@pointwise(kind="float", cost=40, refuses=FLOATS, methods=False, differentiable=False)
def gamma_front(a, x):
    """x**a exp(-x) / gamma(a), elementwise: for large a by Stirling's series, without the cancellation of lgamma(a)."""
    large = a > 20
    b = where(large, a, 20)
    rest, u = (x - b) / b, 1 / (b * b)
    stirling = (1 - (1 - (2 - (3 - 140 * u / 33) * u / 2) * u / 7) * u / 30) / (12 * b)
    small = b * (log1p(rest) - rest) - stirling
    power = where(x > 0, a * log(where(x > 0, x, 1)), 0) - x - lgamma(a)
    return where(large, sqrt(b / (2 * PI)), 1) * exp(where(large, small, power))


@Subfunction
def gamma_series(a, x):
    """The sum of x^n / ((a + 1) ... (a + n)), for x below a + 1."""
    term = a * 0 + 1
    total = term
    divisor = a + 1
    k = 0
    while k < FURTHEST:
        term = term * (x / divisor)
        total = total + term
        divisor = divisor + 1
        k += 1
        if not term > total * ENOUGH:
            break
    return total


@Subfunction
def gamma_fraction(a, x):
    """The continued fraction of the upper function, for x from a + 1 on: numerators and denominators by their recurrences, which
    have no divisions (Lentz's method has two that wait for each other, and takes 3 times as long)."""
    if x > LARGE:
        return 1 / (x + 1 - a)
    y, z = 1 - a, x + 2 - a
    p_before, p = x * 0 + 1, x + 1
    q_before, q = x, z * x
    k = 0
    while k < FURTHEST:
        k += 1
        y, z = y + 1, z + 2
        step = y * k
        p_next, q_next = p * z - p_before * step, q * z - q_before * step
        change, size = abs(p * q_next - p_next * q), abs(p_next * q)
        p_before, p, q_before, q = p, p_next, q, q_next
        if abs(p) > LARGE or abs(q) > LARGE:
            p_before, p, q_before, q = p_before / LARGE, p / LARGE, q_before / LARGE, q / LARGE
        if not change > size * ENOUGH:
            break
    return p / q


@Subfunction
def gamma_uniform(a, x):
    """The lower function below a + 1, the upper one from there on, for large a."""
    rest = (x - a) / a
    half = rest - log1p(rest)                            # eta**2 / 2
    eta = where(rest < 0, -1, 1) * sqrt(2 * half)
    series = ratio_0(eta) + (ratio_1(eta) + (ratio_2(eta) + ratio_3(eta) / a) / a) / a
    side = where(x < a + 1, -1, 1)
    return erfc(side * eta * sqrt(a / 2)) / 2 + side * series * exp(-a * half) / sqrt(2 * PI * a)


@Subfunction
def gamma_part(a, x, front):
    """The lower function below a + 1, the upper one from there on: where either is the smaller one."""
    if not (a > 0 and x > 0 and front > 0):
        return x * 0
    if a > 10000:
        return gamma_uniform(a, x)
    return front * gamma_series(a, x) / a if x < a + 1 else front * gamma_fraction(a, x)


@pointwise(kind="float", cost=200, refuses=FLOATS, methods=False, differentiable=False)
def gamma_share(a, x, front, upper):
    """The lower or upper regularised incomplete gamma function, elementwise; front is `gamma_front(a, x)`."""
    part = gamma_part(a, x, front)
    share = where((upper > 0) == (x < a + 1), 1 - part, part)
    edge = where(upper > 0, where(x == 0, 1, 0), where(x == 0, 0, 1))
    inside = where((a == 0) | (x == 0) | (x - x != x - x), edge, share)
    meant = (((a > 0) & (x >= 0)) | ((a == 0) & (x > 0))) & ((a - a == a - a) | (x - x == x - x))
    return where(meant, inside, (x - x) / (x - x))


@pointwise(kind="float", cost=200, refuses=FLOATS, methods=False)
def gamma_share_of(x, a, front, upper):
    """`gamma_share` as a function of x, which has a derivative."""
    return gamma_share(a, x, front, upper)


@gamma_share_of.derivative
def _(grad, x, a, upper):
    return grad * where(upper > 0, -1, 1) * exp((a - 1) * log(x) - x - lgamma(a)), 0, 0, 0


def _no_derivative(node, grad):
    raise NotImplementedError(f"the derivative for '{node.primitive.name}' is not implemented.")


def _incomplete(name, upper, doc, example):
    refusing = Recorded(f"{name}: input")
    refusing.derivative(_no_derivative)

    def function(input, other, *, out=None) -> Tensor:
        layout_of(name, input), layout_of(name, other, "other", 2)
        if recording(input):
            if input.layout.handler is not None:
                raise NotImplementedError(f"the derivative for '{name}: input' is not implemented.")
            exponent = input
            input = detach(exponent)                     # its gradient is refused when it is asked for
            input.node = GraphNode(refusing, (exponent.node,), ())
        if result_type(input, other).category < 2:
            raise NotImplementedError(f'"{name}" not implemented for \'{result_type(input, other).title}\'')
        return gamma_share_of(other, input, gamma_front(input, other), upper, out=out)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc}, elementwise.

    A series where `other` is below `input` + 1, a continued fraction elsewhere.

    Args:
        input: the exponent, not negative; backward through it raises.
        other: the bound of the integral, not negative, broadcast with `input`; NaN comes out below 0 of either.
        out: a tensor to write the result into.

    Raises:
        TypeError: a number in place of a tensor.
        NotImplementedError: integers, bools or complex numbers; the gradient of `input`, where it is asked for.
        RuntimeError: shapes that do not broadcast.

    Example:
        >>> import numtorch as torch
        >>> torch.{name}(torch.tensor([1., 2.]), torch.tensor([1., 1.]))
        {example}
    """
    return method(function)


igamma = _incomplete("igamma", 0.0, "The regularised lower incomplete gamma function P(input, other)",
                     "tensor([0.6321, 0.2642])")
igammac = _incomplete("igammac", 1.0, "The regularised upper incomplete gamma function Q(input, other)",
                      "tensor([0.3679, 0.7358])")


@method
def mvlgamma(input, p: int, *, out=None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p, elementwise.

    p (p - 1) / 4 log(pi) + the sum of lgamma(input - j / 2) over j = 0 ... p - 1.

    Args:
        input: (*), real, above (p - 1) / 2.
        p: the dimension.
        out: a tensor to write the result into.

    Raises:
        RuntimeError: p below 1.

    Example:
        >>> import numtorch as torch
        >>> torch.mvlgamma(torch.tensor([2., 3.]), 2)
        tensor([0.4516, 1.5502])
    """
    p = integer("mvlgamma", "p", p)
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    total = lgamma(input)
    for j in range(1, p):
        total = total + lgamma(input - j / 2)
    return into(out, total + p * (p - 1) / 4 * math.log(PI))


# ---------------------------------------------------------------- the normal distribution, and entropies
@pointwise(kind="float", cost=12, refuses=UNORDERED, methods=False, scalars=vectormath.erfcx)
def erfcx(x):
    """exp(x**2) erfc(x), elementwise, which does not vanish for large x; within 5 ulp.

    Example:
        >>> import numtorch as torch
        >>> torch.special.erfcx(torch.tensor([0., 1., 100.]))
        tensor([1.0000, 0.4276, 0.0056])
    """


@erfcx.derivative
def _(grad, x, out):
    return grad * (2 * x * out - 2 / SQRT_PI)


@pointwise(kind="float", cost=12, refuses=UNORDERED, methods=False)
def ndtr(x):
    """The share of the standard normal distribution below x, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.special.ndtr(torch.tensor([-1., 0., 1.96]))
        tensor([0.1587, 0.5000, 0.9750])
    """
    return erfc(x * (-1 / SQRT2)) * 0.5


@ndtr.derivative
def _(grad, x):
    return grad * exp(x * x * -0.5) / SQRT_2PI


@pointwise(kind="float", cost=60, refuses=UNORDERED, methods=False)
def log_ndtr(x):
    """log(ndtr(x)), elementwise, exact where ndtr(x) is 0.

    Example:
        >>> import numtorch as torch
        >>> torch.special.log_ndtr(torch.tensor([-50., 0., 2.]))
        tensor([-1.2548e+03, -6.9315e-01, -2.3013e-02])
    """
    return where(x < -1, log(erfcx(-x / SQRT2) * 0.5) - x * x * 0.5, log1p(erfc(x / SQRT2) * -0.5))


@log_ndtr.derivative
def _(grad, x):
    return grad * inverse_mills(x)


@pointwise(kind="float", cost=40, refuses=UNORDERED, methods=False)
def inverse_mills(x):
    """The normal density over the normal distribution function: how much faster than linearly log(ndtr(x)) rises."""
    return (2 / SQRT_2PI) / erfcx(-x / SQRT2)


@inverse_mills.derivative
def _(grad, x, out):
    return -grad * out * where(out == 0, 0, x + out)


def ratio_near(r):
    """Of the quotients of polynomials by Wichura (1988, "Algorithm AS 241"), that for shares from 0.075 to 0.925."""
    above = ((((((2509.0809287301226727 * r + 33430.575583588128105) * r + 67265.770927008700853) * r + 45921.953931549871457) * r
               + 13731.693765509461125) * r + 1971.5909503065514427) * r + 133.14166789178437745) * r + 3.387132872796366608
    below = ((((((5226.495278852545925 * r + 28729.085735721942674) * r + 39307.89580009271061) * r + 21213.794301586595867) * r
               + 5394.1960214247511077) * r + 687.1870074920579083) * r + 42.313330701600911252) * r + 1
    return above / below


def ratio_middle(r):
    """That for shares down to exp(-25)."""
    above = ((((((7.7454501427834140764e-4 * r + 0.0227238449892691845833) * r + 0.24178072517745061177) * r
                + 1.27045825245236838258) * r + 3.64784832476320460504) * r + 5.7694972214606914055) * r
             + 4.6303378461565452959) * r + 1.42343711074968357734
    below = ((((((1.05075007164441684324e-9 * r + 5.475938084995344946e-4) * r + 0.0151986665636164571966) * r
                + 0.14810397642748007459) * r + 0.68976733498510000455) * r + 1.6763848301838038494) * r
             + 2.05319162663775882187) * r + 1
    return above / below


def ratio_far(r):
    """That for smaller ones."""
    above = ((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 0.0012426609473880784386) * r
                + 0.026532189526576123093) * r + 0.29656057182850489123) * r + 1.7848265399172913358) * r
             + 5.4637849111641143699) * r + 6.6579046435011037772
    below = ((((((2.04426310338993978564e-15 * r + 1.4215117583164458887e-7) * r + 1.8463183175100546818e-5) * r
                + 7.868691311456132591e-4) * r + 0.0148753612908506148525) * r + 0.13692988092273580531) * r
             + 0.59983220655588793769) * r + 1
    return above / below


@pointwise(kind="float", cost=30, refuses=UNORDERED, methods=False)
def ndtri(x):
    """The number below which a share x of the standard normal distribution lies, elementwise: the inverse of `ndtr`.

    Wichura (1988), "Algorithm AS 241". Infinite at 0 and 1, NaN outside.

    Example:
        >>> import numtorch as torch
        >>> torch.special.ndtri(torch.tensor([0., 0.5, 0.975]))
        tensor([  -inf, 0.0000, 1.9600])
    """
    q = x - 0.5
    share = where(q < 0, x, 1 - x)
    r = sqrt(-log(where(share > 0, share, 0.5)))
    tail = where(r <= 5, ratio_middle(r - 1.6), ratio_far(r - 5))
    result = where(abs(q) <= 0.425, q * ratio_near(0.180625 - q * q), where(q < 0, -tail, tail))
    return where(share > 0, result, where(share == 0, q / abs(share), (share - share) / (share - share)))


@ndtri.derivative
def _(grad, out):
    return grad * SQRT_2PI * exp(out * out * 0.5)


@pointwise(kind="float", cost=8, refuses=UNORDERED, methods=False)
def entr(x):
    """-x log(x), elementwise; 0 for 0, minus infinity below.

    Example:
        >>> import numtorch as torch
        >>> torch.special.entr(torch.tensor([0., 0.5, -1.]))
        tensor([0.0000, 0.3466,   -inf])
    """
    return where(x > 0, -x * log(x), where(x == 0, 0, where(x < 0, -1 / where(x < 0, 0, 1), x)))


@entr.derivative
def _(grad, x):
    return grad * (-1 - log(x))


@pointwise(kind="float", cost=8, refuses=UNORDERED, methods=False)
def xlog1py(x, y):
    """x * log1p(y), elementwise, and 0 where x is 0 and y is a number.

    Example:
        >>> import numtorch as torch
        >>> torch.special.xlog1py(torch.tensor([0., 2.]), torch.tensor([-1., 1e-8]))
        tensor([0.0000e+00, 2.0000e-08])
    """
    return where(y != y, y, where(x == 0, 0, x * log1p(y)))


@xlog1py.derivative
def _(grad, x, y):
    return xlog1py(grad, where((x == 0) & (y <= -1), 0, y)), grad * x / (y + 1)


# ---------------------------------------------------------------- Airy's function
# Moshier's rational functions (Cephes, airy.c) of 1 / zeta, zeta = 2/3 |x|^(3/2), where |x| is above 2.09, and the two series
# between (Abramowitz and Stegun, 10.4.2).
@Subfunction
def falling_above(t):
    """The numerator of how Ai falls, of 1 / zeta."""
    return (((((((0.346538101525629 * t + 12.007595273964581) * t + 76.27960536152345) * t + 168.08922493463058)
            * t + 159.75639135016442) * t + 70.53609068404442) * t + 14.026469116338967) * t + 1.0)


@Subfunction
def falling_below(t):
    """Its denominator."""
    return (((((((0.5675945326387702 * t + 14.75625625848472) * t + 84.51389701414746) * t + 177.31808814540045)
            * t + 164.2346928715297) * t + 71.47784008255756) * t + 14.095913560783403) * t + 1.0)


@Subfunction
def sine_above(t):
    """The numerator of the sine's amplitude without 1, of 1 / zeta^2."""
    return ((((((((-0.1316963234183318 * t - 0.6264565444319123) * t - 0.6931580360369335) * t - 0.2797799815451191)
            * t - 0.04919001326095003) * t - 0.004062659235948854) * t - 0.0001592764962392621) * t - 2.776491081552329e-06)
            * t - 1.6778769848911465e-08)


@Subfunction
def sine_below(t):
    """Its denominator."""
    return (((((((((t + 13.356042070655324) * t + 32.682503279522464) * t + 26.736704094149957) * t + 9.187074029072596)
            * t + 1.4752914677166642) * t + 0.11568717379518804) * t + 0.004402916416152112) * t + 7.547203482874142e-05)
            * t + 4.5185009297058035e-07)


@Subfunction
def cosine_above(t):
    """The numerator of the cosine's amplitude times zeta."""
    return ((((((((((0.01973399320916857 * t + 0.39110302961568827) * t + 1.0657989759959559) * t + 0.9391692298166502)
            * t + 0.35146565610554764) * t + 0.06338889196289255) * t + 0.005858041130483885) * t + 0.000282851600836737)
            * t + 6.98793669997261e-06) * t + 8.117892395543892e-08) * t + 3.415517847659236e-10)


@Subfunction
def cosine_below(t):
    """Its denominator."""
    return ((((((((((t + 9.30892908077442) * t + 19.835292871831214) * t + 15.564662893286462) * t + 5.476860694229755)
            * t + 0.9542936116189619) * t + 0.08645808263523921) * t + 0.004126565238242226) * t + 0.00010125908511650914)
            * t + 1.1716673321441352e-06) * t + 4.9183457006293e-09)


@Subfunction
def even_series(t):
    """1 + t / (2 3) + t^2 / (2 3 5 6) + ..., of x^3."""
    return ((((((((((((((1.8919941929217632e-35 * t + 3.2580140002112767e-32) * t + 4.8283767483131115e-29)
            * t + 6.083754702874521e-26) * t + 6.424444966235494e-23) * t + 5.589267120624879e-20)
            * t + 3.9236655186786654e-17) * t + 2.1658633663106234e-14) * t + 9.096626138504618e-12)
            * t + 2.7835675983824134e-09) * t + 5.845491956603068e-07) * t + 7.716049382716049e-05)
            * t + 0.005555555555555556) * t + 0.16666666666666666) * t + 1.0)


@Subfunction
def odd_series(t):
    """1 + t / (3 4) + t^2 / (3 4 6 7) + ..."""
    return ((((((((((((((2.098106899447759e-36 * t + 3.789181060402653e-33) * t + 5.911122454228139e-30)
            * t + 7.87361510903188e-27) * t + 8.83419615233377e-24) * t + 8.215802421670406e-21) * t + 6.211146630782827e-18)
            * t + 3.726687978469696e-15) * t + 1.7217298460529996e-12) * t + 5.888316073501258e-10)
            * t + 1.413195857640302e-07) * t + 2.2045855379188714e-05) * t + 0.001984126984126984) * t + 0.08333333333333333)
            * t + 1.0)


@pointwise(kind="float", cost=60, refuses=UNORDERED, methods=False, differentiable=False)
def airy_ai(x):
    """Airy's function Ai, elementwise: the solution of f'' = x f that falls to 0 on the right; NaN at infinity, 0 from 103.892 on.

    Example:
        >>> import numtorch as torch
        >>> torch.special.airy_ai(torch.tensor([0., 2., -5.]))
        tensor([0.3550, 0.0349, 0.3508])
    """
    size = where(abs(x) < 2.09, 2.09, abs(x))
    zeta = 2 * size * sqrt(size) / 3
    z = 1 / zeta
    front = 0.5641895835477563 / sqrt(sqrt(size))
    right = where(x > 103.892, 0, front * falling_above(z) / (2 * exp(where(x > 103.892, 1, zeta)) * falling_below(z)))
    t = z * z
    phase = zeta + PI / 4
    left = front * (sin(phase) * (1 + t * sine_above(t) / sine_below(t)) - cos(phase) * (z * cosine_above(t) / cosine_below(t)))
    cube = where(abs(x) < 2.09, x * x * x, 0)
    near = 0.3550280538878172 * even_series(cube) - 0.2588194037928068 * where(abs(x) < 2.09, x, 0) * odd_series(cube)
    return where(x * 0 != 0, x * 0, where(x >= 2.09, right, where(x > -2.09, near, left)))
