"""What every elementwise op should compute: a row for each record, shared by the tests.

A row names a reference function of NumPy arrays and where its arguments are sampled. Tests derive everything else from
the rows: dtypes, layouts, in-place and `out=` forms, gradients. `test_pointwise.py` fails for a record without a row.
"""
from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.special as special


# ---------------------------------------------------------------- where: samples of an argument
def between(low, high):
    """Numbers spread over an interval; the integers are those inside it."""
    def draw(rng, shape, dtype):
        dtype = np.dtype(dtype)
        if dtype.kind == "b":
            return rng.random(shape) < 0.5
        if dtype.kind in "iu":
            first = max(int(np.ceil(low)), 0) if dtype.kind == "u" else int(np.ceil(low))
            return rng.integers(first, max(int(np.floor(high)), first) + 1, shape).astype(dtype)
        values = rng.uniform(low, high, shape)
        if dtype.kind == "c":
            values = values + 1j * rng.uniform(-1.5, 1.5, shape)
        return np.asarray(values).astype(dtype)
    return draw


def away_from(points, low, high, gap=0.05):
    """Like `between`, but at least `gap` from the given points, where a function jumps or has a kink."""
    inner = between(low, high)

    def draw(rng, shape, dtype):
        values = inner(rng, shape, dtype)
        if np.dtype(dtype).kind != "f":
            return values
        for point in points:
            near = np.abs(values - point) < gap
            values = np.where(near, point + np.where(values < point, -gap, gap), values)
        return values.astype(dtype)
    return draw


def truth(rng, shape, dtype):
    """Conditions, whatever the dtype of the other operands."""
    return rng.random(shape) < 0.5


def nonzero(low, high):
    """Divisors: neither zero nor near it, of either sign."""
    inner = away_from([0], low, high, gap=0.3)

    def draw(rng, shape, dtype):
        values = inner(rng, shape, dtype)
        return np.where(values == 0, np.ones((), values.dtype), values)
    return draw


def degree(rng, shape, dtype):
    """Degrees of polynomials."""
    return rng.integers(0, 4, shape).astype(dtype)


REAL, POSITIVE, UNIT = between(-3, 3), between(0.2, 5), between(-0.9, 0.9)
SIGNED, DIVISOR, SHIFT = away_from([0], -3, 3), nonzero(-4, 4), between(0, 4)
ROUNDED = away_from(np.arange(-4.0, 4.5, 0.5), -3.4, 3.4, gap=0.1)


# ---------------------------------------------------------------- what: a row
@dataclass(frozen=True)
class Row:
    """One op's reference and samples.

    Attributes:
        reference: the function of NumPy arrays, correct for every kind in `kinds`.
        domain: for each operand, `(rng, shape, dtype) -> array`.
        kinds: the dtypes it takes, as NumPy's letters: bool, integers (i, u), floating point, complex.
        numbers: the keyword-only numbers to call it with.
        tolerance: relative error in units of the result dtype's eps.
        constants: positions of operands that have no gradient.
        untried: kinds that are neither compared nor expected to be refused.
        gradient: whether first and second derivatives are compared with finite differences.
    """

    reference: object
    domain: tuple
    kinds: str = "iuf"
    numbers: dict = field(default_factory=dict)
    tolerance: float = 8
    gradient: bool = True
    constants: tuple = ()
    untried: str = ""


def unary(reference, domain=REAL, kinds="biuf", **options):
    return Row(reference, (domain,), kinds, **options)


def binary(reference, first=REAL, second=None, kinds="biuf", **options):
    return Row(reference, (first, second or first), kinds, **options)


def step(reference, kinds="iuf"):
    """A function whose derivative is zero wherever it has one."""
    return Row(reference, (ROUNDED,), kinds)


def truncated_quotient(x, y):
    return np.trunc(x / y).astype(np.result_type(x, y))


def softplus(x, beta=1.0, threshold=20.0):
    return np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def error(reference, **numbers):
    """A loss's term of the distance between two numbers, which never comes near the number where it changes."""
    return Row(lambda x, y, **n: reference(np.abs(x - y), **n), (between(-0.5, 0.5), away_from([0], -3, 3, gap=2.6)), "f", numbers,
               tolerance=32, untried="biu")


def gamma_front(a, x):
    return x ** a * np.exp(-x) / special.gamma(a)


def gamma_share(a, x, front, upper):
    """The function that is smaller by half or so times what `front` is of the right one; none where that is not positive."""
    below = x < a + 1
    part = np.where(below, special.gammainc(a, x), special.gammaincc(a, x)) * np.maximum(front, 0) / gamma_front(a, x)
    return np.where((upper > 0) == below, 1 - part, part)


ROWS = {
    # arithmetic
    "where": Row(np.where, (truth, REAL, REAL), "biufc"),
    "replace_where": Row(lambda x, mask, value: np.where(mask, value, x), (REAL, truth, REAL), "biufc"),
    "masked_scale": binary(lambda x, mask, scale: x * mask * scale, numbers={"scale": 2}, kinds="iuf", untried="bc"),
    "conj_physical": unary(np.conj, kinds="biufc"),
    "real_part": unary(np.real, kinds="biufc"),
    "angle_of_real": unary(np.angle, SIGNED, kinds="biuf"),
    "add": binary(np.add, kinds="biufc"),
    "sub": binary(np.subtract, kinds="iufc"),
    "mul": binary(np.multiply, kinds="biufc"),
    "div": binary(np.true_divide, REAL, DIVISOR, kinds="biufc"),
    "neg": unary(np.negative, kinds="iufc"),
    "positive": unary(np.positive, kinds="iufc"),
    "reciprocal": unary(lambda x: 1 / x, DIVISOR, kinds="biufc"),
    "square": unary(lambda x: x * x, kinds="biufc"), "cube": unary(lambda x: x * x * x, kinds="iufc"),
    "floor_divide": binary(np.floor_divide, ROUNDED, nonzero(1, 1.01), kinds="iuf"),
    "trunc_divide": binary(truncated_quotient, ROUNDED, nonzero(1, 1.01), kinds="iuf"),
    "remainder": binary(np.remainder, away_from([0], 0.1, 0.9), nonzero(1, 3), kinds="iuf"),
    "fmod": binary(np.fmod, away_from([0], -0.9, 0.9), nonzero(1, 3), kinds="iuf"),
    "abs": unary(np.abs, SIGNED, kinds="iufc"),
    "sign": unary(lambda x: x if x.dtype == bool else np.sign(x), SIGNED, kinds="biuf"),
    "sgn": unary(lambda x: x if x.dtype == bool else np.where(x == 0, 0, x / np.where(x == 0, 1, np.abs(x))).astype(x.dtype),
                 SIGNED, kinds="biufc"),
    "maximum": binary(np.maximum), "minimum": binary(np.minimum),
    "fmax": binary(np.fmax), "fmin": binary(np.fmin),
    "clamp_both": Row(lambda x, low, high: np.minimum(np.maximum(x, low), high), (REAL, between(-2, -1), between(1, 2))),
    "clamp_low": binary(np.maximum),
    "add_scaled": Row(lambda x, y, alpha: x + alpha * y, (REAL, REAL), "iufc", numbers={"alpha": 3}, tolerance=32),
    "clamp_high": binary(np.minimum),
    "lerp": Row(lambda a, b, w: a + w * (b - a), (REAL, REAL, away_from([0.5], -1, 2)), "fc", tolerance=32),
    "scaled_distance": Row(lambda x, y, factor: (x - y) * factor, (REAL, REAL, REAL), "iufc"),
    "addcmul": Row(lambda x, y, z, value: x + value * y * z, (REAL, REAL, REAL), "iufc", numbers={"value": 2}, tolerance=32),
    "addcdiv": Row(lambda x, y, z, value: x + value * y / z, (REAL, REAL, DIVISOR), "fc", numbers={"value": 2}, tolerance=64),
    "pow": binary(lambda x, y: np.power(x, y), POSITIVE, between(0, 2.5), kinds="iufc", tolerance=32),
    "pow_half": unary(np.sqrt, POSITIVE, kinds="biufc"), "pow_minus_half": unary(lambda x: 1 / np.sqrt(x), POSITIVE, kinds="biufc"),
    "pow_minus_one": unary(lambda x: 1 / x, DIVISOR, kinds="biufc"),
    # exponentials, logarithms, roots
    "exp": unary(np.exp, kinds="biufc"), "exp2": unary(np.exp2, kinds="biufc"),
    "expm1": unary(np.expm1, kinds="biufc"),
    "log": unary(np.log, POSITIVE, kinds="biufc"), "log2": unary(np.log2, POSITIVE, kinds="biufc"),
    "log10": unary(np.log10, POSITIVE, kinds="biufc"), "log1p": unary(np.log1p, between(-0.8, 4), kinds="biufc"),
    "sqrt": unary(np.sqrt, POSITIVE, kinds="biufc"), "rsqrt": unary(lambda x: 1 / np.sqrt(x), POSITIVE, kinds="biufc"),
    # trigonometric and hyperbolic
    "sin": unary(np.sin, kinds="biufc"), "cos": unary(np.cos, kinds="biufc"),
    "tan": unary(np.tan, between(-1.2, 1.2), kinds="biufc", tolerance=32),
    "asin": unary(np.arcsin, UNIT, kinds="biufc"), "acos": unary(np.arccos, UNIT, kinds="biufc"),
    "atan": unary(np.arctan, kinds="biufc"),
    "sinh": unary(np.sinh, kinds="biufc"), "cosh": unary(np.cosh, kinds="biufc"), "tanh": unary(np.tanh, kinds="biufc"),
    "asinh": unary(np.arcsinh, kinds="biufc"), "acosh": unary(np.arccosh, between(1.2, 5), kinds="biufc"),
    "atanh": unary(np.arctanh, UNIT, kinds="biufc"),
    "atan2": binary(np.arctan2, SIGNED, SIGNED),
    "copysign": binary(np.copysign, SIGNED, SIGNED),
    # rounding
    "floor": step(np.floor), "ceil": step(np.ceil), "trunc": step(np.trunc), "round": step(np.rint),
    "frac": Row(lambda x: x - np.trunc(x), (ROUNDED,), "f"),
    # special
    "erf": unary(special.erf), "erfc": unary(special.erfc, tolerance=32), "erfinv": unary(special.erfinv, UNIT, tolerance=32),
    "lgamma": unary(special.gammaln, away_from([1, 2], 0.3, 6, gap=0.2), tolerance=64),
    "digamma": unary(special.digamma, between(1.6, 6), tolerance=64),
    "trigamma": unary(lambda x: special.polygamma(1, x), away_from([-1, 0], -1.6, 6, gap=0.2), kinds="f", tolerance=16,
                      untried="biu"),
    "polygamma_of": binary(lambda x, n: special.polygamma(n, x), POSITIVE, lambda rng, shape, dtype: np.full(shape, 2, dtype),
                           kinds="f", tolerance=2000, constants=(1,), untried="biu"),
    **{name: binary(special.zeta, between(1.6, 4), POSITIVE, kinds="f", tolerance=2000, constants=(0,), untried="biuc")
       for name in ("zeta", "zeta_right")},
    "i0": unary(special.i0, tolerance=64), "i0e": unary(special.i0e, tolerance=64), "i1": unary(special.i1, tolerance=64),
    **{f"bessel_{n}": unary(getattr(special, n), between(0.4, 20), kinds="f", tolerance=512, untried="biu") for n in ("j0", "j1", "y0", "y1")},
    **{f"modified_bessel_{n}": unary(getattr(special, n), between(0.4, 6), kinds="f", tolerance=64, untried="biu") for n in ("k0", "k1")},
    **{f"scaled_modified_bessel_{n}": unary(getattr(special, n + "e"), between(0.4, 6), kinds="f", tolerance=64, untried="biu") for n in ("k0", "k1")},
    "airy_ai": unary(lambda x: special.airy(x)[0], kinds="f", tolerance=1024, untried="biu"),
    "spherical_bessel_j0": unary(lambda x: special.spherical_jn(0, x), kinds="f", tolerance=64, untried="biu"),
    "i1e": unary(special.i1e, tolerance=64), "erfcx": unary(special.erfcx, tolerance=64), "ndtr": unary(special.ndtr, tolerance=64),
    "inverse_mills": unary(lambda x: np.exp(-x * x / 2) / np.sqrt(2 * np.pi) / special.ndtr(x), kinds="biuf", tolerance=64),
    "log_ndtr": unary(special.log_ndtr, tolerance=64), "ndtri": unary(special.ndtri, between(0.005, 0.995), kinds="f", tolerance=256,
                                                                      untried="biu"),
    "entr": unary(special.entr, POSITIVE, kinds="biuf", tolerance=64), "xlog1py": binary(special.xlog1py, SIGNED, POSITIVE, tolerance=16),
    "gamma_front": binary(gamma_front, POSITIVE, between(0.2, 8), kinds="f", tolerance=256, gradient=False, untried="biu"),
    "gamma_share": Row(gamma_share, (POSITIVE, between(0.2, 8), UNIT, REAL), "f", tolerance=2000, gradient=False, untried="biu"),
    "gamma_share_of": Row(lambda x, a, front, upper: gamma_share(a, x, front, upper), (between(0.2, 8), POSITIVE, UNIT, REAL), "f",
                          tolerance=2000, gradient=False, untried="biu"),
    "gegenbauer": Row(lambda x, n, a: special.eval_gegenbauer(n, a, x), (UNIT, degree, between(0.4, 2)), "f", tolerance=256, constants=(1, 2), untried="biu"),
    "laguerre": Row(lambda x, n, a: special.eval_genlaguerre(n, a, x), (REAL, degree, between(0.4, 2)), "f", tolerance=256, constants=(1, 2), untried="biu"),
    "chebyshev_polynomial_t": Row(lambda x, n: special.eval_chebyt(n, x), (UNIT, degree), "f", tolerance=256, constants=(1,), untried="biu"),
    "hermite_polynomial_h": Row(lambda x, n: special.eval_hermite(np.asarray(n, int), x), (REAL, degree), "f", tolerance=256, constants=(1,), untried="biu"),
    "hermite_polynomial_he": Row(lambda x, n: special.eval_hermitenorm(np.asarray(n, int), x), (REAL, degree), "f", tolerance=256, constants=(1,), untried="biu"),
    # activations
    "relu": unary(lambda x: np.maximum(x, 0).astype(x.dtype), SIGNED, kinds="iuf"),
    "sigmoid": unary(sigmoid, kinds="biufc", tolerance=32),
    "leaky_relu": unary(lambda x, negative_slope: np.where(x > 0, x, x * negative_slope), SIGNED, kinds="f",
                        numbers={"negative_slope": 0.2}),
    "elu": unary(lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(x)), SIGNED, kinds="f", numbers={"alpha": 1.5}),
    "celu": unary(lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(x / alpha)), SIGNED, kinds="f", numbers={"alpha": 1.5}),
    "prelu": binary(lambda x, weight: np.where(x > 0, x, weight * x), SIGNED, kinds="f", untried="biu"),
    "gated": binary(lambda x, gate: x * sigmoid(gate), kinds="f", tolerance=32, untried="biu"),
    "softshrink": unary(lambda x, lambd: np.sign(x) * np.maximum(np.abs(x) - lambd, 0), away_from([-0.75, 0.75], -3, 3), kinds="f",
                        numbers={"lambd": 0.75}, untried="iu"),
    "tanhshrink": unary(lambda x: x - np.tanh(x), kinds="biufc", tolerance=64),
    "hardshrink": unary(lambda x, lambd: np.where(np.abs(x) <= lambd, 0, x), away_from([-0.75, 0.75], -3, 3), kinds="f",
                        numbers={"lambd": 0.75}, untried="iu"),
    "selu": unary(lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)), SIGNED, kinds="f"),
    "gelu": unary(lambda x: x * special.ndtr(x), kinds="f", tolerance=64),
    "gelu_tanh": unary(lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3))), kinds="f", tolerance=64),
    "silu": unary(lambda x: x * sigmoid(x), kinds="fc"),
    "mish": unary(lambda x: x * np.tanh(softplus(x)), kinds="f", tolerance=32),
    "softplus": unary(softplus, away_from([2], -3, 3), kinds="f", numbers={"beta": 2.0, "threshold": 4.0}, tolerance=16),
    "logsigmoid": unary(lambda x: -softplus(-x), SIGNED, kinds="f", tolerance=16),
    "hardtanh": unary(lambda x, min_val, max_val: np.clip(x, min_val, max_val), away_from([-1, 1.5], -3, 3), kinds="f",
                      numbers={"min_val": -1.0, "max_val": 1.5}, untried="iu"),
    "hardsigmoid": unary(lambda x: np.clip(x / 6 + 0.5, 0, 1), away_from([-3, 3], -5, 5), kinds="f"),
    "hardswish": unary(lambda x: x * np.clip(x / 6 + 0.5, 0, 1), away_from([-3, 3], -5, 5), kinds="f"),
    "softsign": unary(lambda x: x / (1 + np.abs(x)), SIGNED),
    "threshold": unary(lambda x, threshold, value: np.where(x > threshold, x, value), away_from([0.5], -3, 3), kinds="f",
                       numbers={"threshold": 0.5, "value": 7.0}, untried="iu"),
    # terms of losses
    "squared_error": binary(lambda x, y: (x - y) ** 2, kinds="f"),
    "absolute_error": binary(lambda x, y: np.abs(x - y), REAL, between(4, 6), kinds="if", untried="buc"),
    "smooth_absolute_error": error(lambda d, beta: np.where(d < beta, d * d / 2 / beta, d - beta / 2), beta=1.5),
    "huber_error": error(lambda d, delta: np.where(d < delta, d * d / 2, delta * (d - delta / 2)), delta=1.5),
    "binary_cross_entropy_terms": binary(lambda p, y: -(y * np.log(p) + (1 - y) * np.log1p(-p)), between(0.1, 0.9), between(0, 1),
                                         kinds="f", tolerance=64, untried="biu"),
    "binary_cross_entropy_slope": binary(lambda p, y: (p - y) / (p * (1 - p)), between(0.1, 0.9), between(0, 1), kinds="f", tolerance=64,
                                         untried="biu"),
    "logistic_terms": binary(lambda x, y: softplus(x) - x * y, SIGNED, between(0, 1), kinds="f", tolerance=32, untried="biu"),
    "divergence_terms": binary(lambda log_q, p: special.xlogy(p, p) - p * log_q, REAL, POSITIVE, kinds="f", tolerance=32,
                               untried="biu"),
    "log_divergence_terms": binary(lambda log_q, log_p: np.exp(log_p) * (log_p - log_q), kinds="f", tolerance=64, untried="biuc"),
    "soft_margin_terms": binary(lambda x, y: np.log1p(np.exp(-x * y)), SIGNED, DIVISOR, kinds="f", tolerance=64, untried="biu"),
    # more of real numbers
    "logaddexp": binary(lambda x, y: np.log(np.exp(x) + np.exp(y)), kinds="fc", tolerance=32), "logaddexp2": binary(np.logaddexp2, kinds="f", tolerance=32),
    "xlogy": binary(special.xlogy, SIGNED, POSITIVE, tolerance=16), "logit_of": unary(special.logit, between(0.1, 0.9), kinds="f", tolerance=32,
                                                                                      untried="biu"),
    "hypot": binary(np.hypot, SIGNED, SIGNED, kinds="f"), "deg2rad": unary(np.deg2rad), "rad2deg": unary(np.rad2deg),
    "sinc": unary(np.sinc, away_from([0], -1.8, 1.8, gap=0.2), kinds="biufc", tolerance=64),
    "heaviside": binary(np.heaviside, SIGNED, REAL, kinds="iuf", untried="b"),
    "replace_nonfinite": unary(lambda x, nan, posinf, neginf: np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf), kinds="f",
                               numbers={"nan": 1.0, "posinf": 2.0, "neginf": 3.0}),
    "round_to_decimals": unary(lambda x, scale: np.round(x * scale) / scale, away_from(np.arange(-4, 4, 0.25), -3, 3), kinds="f", numbers={"scale": 2.0}),
    "round_to_tens": unary(lambda x, scale: np.round(x / scale) * scale, away_from(np.arange(-60, 60, 5), -50, 50), kinds="f", numbers={"scale": 10.0}),
    "isposinf": unary(np.isposinf, kinds="iuf", untried="b"), "isneginf": unary(np.isneginf, kinds="iuf", untried="b"),
    "isreal": unary(np.isreal, kinds="biufc"), "ldexp": binary(lambda x, y: x * np.exp2(y), REAL, between(0, 3), kinds="biufc", tolerance=16),
    "gcd": binary(np.gcd, between(-30, 30), kinds="iu"), "lcm": binary(np.lcm, between(-11, 11), kinds="iu"),
    # comparisons, logic, bits
    "linked": binary(lambda x, y: x, kinds="iuf", untried="bc"),
    "coincides": binary(lambda x, y: (x == y) | ((x != x) & (y != y)), kinds="biufc"),
    "eq": binary(np.equal, kinds="biufc"), "ne": binary(np.not_equal, kinds="biufc"),
    "lt": binary(np.less), "le": binary(np.less_equal), "gt": binary(np.greater), "ge": binary(np.greater_equal),
    "logical_and": binary(np.logical_and, kinds="biufc"), "logical_or": binary(np.logical_or, kinds="biufc"),
    "logical_xor": binary(np.logical_xor, kinds="biufc"), "logical_not": unary(np.logical_not, kinds="biufc"),
    "bitwise_and": binary(np.bitwise_and, kinds="biu"), "bitwise_or": binary(np.bitwise_or, kinds="biu"),
    "bitwise_xor": binary(np.bitwise_xor, kinds="biu"), "bitwise_not": unary(np.invert, kinds="biu"),
    "bitwise_left_shift": binary(np.left_shift, REAL, SHIFT, kinds="iu"),
    "bitwise_right_shift": binary(np.right_shift, REAL, SHIFT, kinds="iu"),
    "isnan": unary(np.isnan, kinds="biufc"), "isinf": unary(np.isinf, kinds="biufc"), "isfinite": unary(np.isfinite, kinds="biufc"),
    "signbit": unary(lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0, SIGNED, kinds="biuf"),
}


def samples(row, dtype, shape=(7,), seed=0):
    """Arrays for each operand of a row, in `dtype` (conditions are bool)."""
    rng = np.random.default_rng(seed)
    return [draw(rng, shape, dtype) for draw in row.domain]
