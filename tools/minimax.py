"""Derive the polynomials of `numtorch/kernels/vectormath/coefficients.py` and the tables of `entries.py` and `piecewise.py` there.

Each row of FITS names a function f, an interval, the number of coefficients for float32 and float64, and the weight
that turns the error of the fit into the relative error of the final result. `remez` exchanges extrema in mpmath (Remez
1934, as in Muller, "Elementary Functions", ch. 3). In float32 the coefficients are rounded from the constant term
up, and after each rounding the remaining ones are fitted again, so that they make up for it.

    python tools/minimax.py            # rewrites the files and prints each fit's error in units of 2**-24, 2**-53
    python tools/minimax.py expm1      # only prints
"""
import os
import re
import sys
import textwrap

import mpmath as mp
import numpy as np

mp.mp.prec = 240
OUTPUT = os.path.join(os.path.dirname(__file__), "..", "numtorch", "kernels", "vectormath")


def solve(nodes, values, weights, powers):
    """Coefficients and level of the polynomial whose weighted error alternates in sign over the nodes."""
    n = len(nodes)
    matrix = mp.matrix(n, n)
    for i, x in enumerate(nodes):
        for j, p in enumerate(powers):
            matrix[i, j] = x ** p
        matrix[i, n - 1] = (-1) ** i / weights[i]
    solution = mp.lu_solve(matrix, mp.matrix(values))
    return list(solution)[:-1]


def remez(powers, points, rounds=8):
    """Minimax coefficients for the given powers of x over points (x, value, weight), and the largest weighted error."""
    n = len(powers) + 1
    last = len(points) - 1                               # the points are Chebyshev's, so even steps among them will do
    nodes = [points[round(i * last / (n - 1))] for i in range(n)]
    for _ in range(rounds):
        coefficients = solve([p[0] for p in nodes], [p[1] for p in nodes], [p[2] for p in nodes], powers)
        errors = [w * (value_at(coefficients, powers, x) - y) for x, y, w in points]
        nodes = extrema(points, errors, n)
        if len(nodes) < n:
            break
    return coefficients, max(abs(e) for e in errors)


def sample(f, weight, low, high, count):
    xs = [low + (high - low) * (1 - mp.cos(mp.pi * (i + mp.mpf(1) / 2) / count)) / 2 for i in range(count)]
    return [(x, f(x), weight(x)) for x in xs]


def value_at(coefficients, powers, x):
    return mp.fsum(c * x ** p for c, p in zip(coefficients, powers))


def extrema(points, errors, n):
    """One point of largest error in each run of equal sign; the n best that follow each other."""
    best = []
    for point, error in zip(points, errors):
        if best and (error > 0) == (best[-1][1] > 0):
            if abs(error) > abs(best[-1][1]):
                best[-1] = (point, error)
        else:
            best.append((point, error))
    while len(best) > n:
        best.pop(0 if abs(best[0][1]) < abs(best[-1][1]) else -1)
    return [point for point, _ in best]


def fit(f, weight, low, high, count, dtype):
    """Coefficients representable in dtype, constant term first, and the largest weighted error in half ulps of one."""
    points = sample(f, weight, mp.mpf(low), mp.mpf(high), 24 * (count + 1))
    rest, _ = remez(list(range(count)), points)
    attempts = [[float(dtype(float(c))) for c in rest]]
    if dtype is np.float32:
        attempts.append(rounded_upwards(rest, points))
    errors = [max(abs(w * (value_at([mp.mpf(c) for c in a], range(count), x) - y)) for x, y, w in points)
              for a in attempts]
    best = errors.index(min(errors))
    return attempts[best], errors[best] * 2 ** (24 if dtype is np.float32 else 53)


def rounded_upwards(coefficients, points):
    """Coefficients in float32, the lowest rounded first and the others fitted again to what is left."""
    count, fixed = len(coefficients), []
    for done in range(1, count + 1):
        with np.errstate(over="ignore"):                 # a fit that went astray loses to the plain rounding
            fixed.append(float(np.float32(float(coefficients[0]))))
        if done < 4 and done < count:                    # higher terms weigh too little for their rounding to matter
            left = [(x, y - value_at([mp.mpf(c) for c in fixed], range(done), x), w) for x, y, w in points]
            coefficients, _ = remez(list(range(done, count)), left, rounds=3)
        else:
            coefficients = coefficients[1:]
    return fixed


def one(x):
    return mp.mpf(1)


LN2 = mp.log(2)
DIGAMMA_ZERO = mp.findroot(mp.digamma, 1.46)
TAN_PI_8 = mp.tan(mp.pi / 8)
SQRT2 = mp.sqrt(2)
S_MAX = (SQRT2 - 1) / (SQRT2 + 1)                            # |f / (2 + f)| over 1 + f in [sqrt(1/2), sqrt(2)]


LOG_LOW, LOG_HIGH = (-0.0163, -0.0314), (0.0164, 0.0334)    # m / c - 1 over all entries of the log tables


def series(f, value_at_zero):
    """f, with its limit at a removable singularity at 0."""
    return lambda x: mp.mpf(value_at_zero) if x == 0 else f(x)


def short_log(unit):
    return series(lambda r: (mp.log1p(r / unit) * unit - r) / r ** 2, -0.5 / unit)


def scaled_log_range(unit):
    return tuple(b * unit for b in LOG_LOW), tuple(b * unit for b in LOG_HIGH)


def cubic_atanh(z):
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) - 2 * s) / s ** 3 if z else mp.mpf(2) / 3


def scaled_erfc(t):
    x = 4 * (1 + t) / (1 - t) if t < 1 else mp.inf
    if x < 60:
        return (x + 4) * mp.exp(x * x) * mp.erfc(x)
    return mp.nsum(lambda k: mp.fac2(2 * k - 1) / (-2 * x * x) ** k, [0, 30]) * (1 + 4 / x) / mp.sqrt(mp.pi)


def bessel(order):
    """The modified Bessel function over x**order, of x**2."""
    return series(lambda z: mp.besseli(order, mp.sqrt(z)) / mp.sqrt(z) ** order, mp.mpf(1) / (1 + order))


def bessel_far(order):
    """exp(8 - x) sqrt(x) times the function, of 1 / x."""
    return series(lambda u: mp.exp(8 - 1 / u) * mp.besseli(order, 1 / u) / mp.sqrt(u), mp.exp(8) / mp.sqrt(2 * mp.pi))


def relative(f):
    return lambda x: 1 / f(x)


def erfinv_ratio(w):
    if w == 0:
        return mp.sqrt(mp.pi) / 2
    x = mp.sqrt(-mp.expm1(-w))
    y = mp.sqrt(w) * mp.mpf("0.9")
    for _ in range(60):                                  # Newton on log(erfc), which is nearly quadratic in y
        tail = mp.erfc(y)
        step = (mp.log(tail) - mp.log(mp.exp(-w) / (1 + x))) * tail / (2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
        y += step
        if abs(step) < mp.mpf(10) ** -40 * y:
            break
    return y / x


def erfinv_below(u):
    return erfinv_ratio(-mp.log(u)) if u else mp.inf


def stirling_rest(z):
    x = 1 / mp.sqrt(z)
    return (mp.loggamma(x) - (x - 0.5) * (mp.log(x) - 1) - (mp.log(2 * mp.pi) - 1) / 2) * x


def digamma_rest(z):
    x = 1 / mp.sqrt(z)
    return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) / z


# name: (f, weight, low, high (either may be one for each type), float32 count, float64 count)
FITS = {
    # exp(r) = 1 + r + r**2 * EXP_SHORT(r), |r| <= ln(2)/32
    "EXP_SHORT": (series(lambda r: (mp.expm1(r) - r) / r ** 2, 0.5), lambda r: r ** 2, -LN2 / 32 * 1.001, LN2 / 32 * 1.001, 2, 5),
    # exp(r) = 1 + r + r**2 * EXPM1_SHORT(r), |r| <= ln(2)/32, for expm1 and tanh
    "EXPM1_SHORT": (series(lambda r: (mp.expm1(r) - r) / r ** 2, 0.5), abs, -LN2 / 32 * 1.001, LN2 / 32 * 1.001, 3, 6),
    # 2**r = 1 + r * EXP2_SHORT(r), |r| <= 1/32
    "EXP2_SHORT": (series(lambda r: mp.expm1(r * LN2) / r, LN2), abs, -mp.mpf(1) / 31.9, mp.mpf(1) / 31.9, 3, 6),
    # log(1 + r) = r + r**2 * LOG_SHORT(r), within an entry of the log tables, and log2(1 + r / log2(e)) and log10(1 + r / log10(e))
    # so of theirs
    "LOG_SHORT": (short_log(mp.mpf(1)), abs, LOG_LOW, LOG_HIGH, 3, 8),
    "LOG2_SHORT": (short_log(1 / LN2), abs, *scaled_log_range(1 / LN2), 3, 8),
    "LOG10_SHORT": (short_log(1 / mp.log(10)), abs, *scaled_log_range(1 / mp.log(10)), 3, 8),
    # log(1 + r) = r - r**2 / 2 - r**3 / 2 * LOG_THIRD(r) within an entry of pow's tables, to 2**-33 and 2**-65
    "LOG_THIRD": (series(lambda r: -2 * (mp.log1p(r) - r + r * r / 2) / r ** 3, -mp.mpf(2) / 3), lambda r: r * r / 2,
                -1 / mp.mpf(32), 1 / mp.mpf(32), 4, 9),
    # exp(r) = 1 + r + r**2 * EXPM1(r), |r| <= ln(2)/2
    "EXPM1": (series(lambda r: (mp.expm1(r) - r) / r ** 2, 0.5), lambda r: abs(r) + 1e-30, -LN2 / 2, LN2 / 2, 5, 10),
    # 2**r = 1 + ln(2) r + r**2 * EXP2M1(r), |r| <= 1/2
    "EXP2M1": (series(lambda r: (mp.expm1(r * LN2) - r * LN2) / r ** 2, LN2 ** 2 / 2),
                lambda r: r ** 2, -0.5, 0.5, 5, 11),
    # log(1 + f) = f - f**2/2 + f**3 * LOG(f), float32
    "LOG": (series(lambda f: (mp.log1p(f) - f + f * f / 2) / f ** 3, mp.mpf(1) / 3), lambda f: f * f + 1e-30,
            1 / SQRT2 - 1, SQRT2 - 1, 9, 0),
    # log(1 + f) = 2 atanh(s) = 2 s + s**3 * ATANH(s**2), s = f / (2 + f)
    "ATANH": (cubic_atanh, lambda z: z + 1e-30, 0, S_MAX ** 2, 3, 7),
    # 2 atanh(s) = 2 s + s**3 * (2/3 + s**2 * ATANH5(s**2)), for pow
    "ATANH5": (series(lambda z: (cubic_atanh(z) - mp.mpf(2) / 3) / z, mp.mpf(2) / 5),
                lambda z: z * z * 2 ** 8 + 1e-30,
               0, S_MAX ** 2, 3, 9),
    # sin(r) = r + r**3 * SIN(r**2), cos(r) = 1 - r**2/2 + r**4 * COS(r**2), |r| <= pi/4
    "SIN": (series(lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -mp.mpf(1) / 6),
                lambda z: z + 1e-30, 0, (mp.pi / 4 * 1.001) ** 2, 4, 7),
    "COS": (series(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z ** 2, mp.mpf(1) / 24),
                lambda z: z * z + 1e-30, 0, (mp.pi / 4 * 1.001) ** 2, 3, 6),
    # sin(r) = r + r**3 * SIN_HALF_TURN(r**2), |r| <= pi/2
    "SIN_HALF_TURN": (series(lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -mp.mpf(1) / 6),
                lambda z: z + 1e-30, 0, (mp.pi / 2 * 1.001) ** 2, 4, 8),
    # tanh(x) = x + x**3 * TANH(x**2), |x| <= 0.5625
    "TANH": (series(lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -mp.mpf(1) / 3),
                lambda z: z + 1e-30, 0, 0.5625 ** 2, 5, 11),
    # atan(t) = t + t**3 * ATAN(t**2), |t| <= tan(pi/8)
    "ATAN": (series(lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -mp.mpf(1) / 3),
                lambda z: z + 1e-30, 0, (TAN_PI_8 * 1.001) ** 2, 5, 12),
    # tan(b) = b + b**3 * TAN_SHORT(b**2), |b| <= pi / 32
    "TAN_SHORT": (series(lambda z: (mp.tan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, mp.mpf(1) / 3),
                lambda z: z + 1e-30, 0, (mp.pi / 32 * 1.001) ** 2, 2, 5),
    # atan(t) = t + t**3 * ATAN_SHORT(t**2) within an interval of atan's tables
    "ATAN_SHORT": (series(lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -mp.mpf(1) / 3),
                lambda z: z + 1e-30, 0, mp.mpf("0.1") ** 2, 2, 5),
    # asin(t) = t + t**3 * ASIN_SHORT(t**2) within an interval of asin's tables
    "ASIN_SHORT": (series(lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, mp.mpf(1) / 6),
                lambda z: z + 1e-30, 0, (mp.mpf("0.0325") ** 2, mp.mpf("0.067") ** 2), 2, 5),
    # asin(t) = t + t**3 * ASIN(t**2), |t| <= 1/2
    "ASIN": (series(lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, mp.mpf(1) / 6),
                lambda z: z + 1e-30, 0, 0.25, 5, 13),
    # erf(x) = x + x * ERF(x**2), |x| <= 0.92
    "ERF": (series(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, 2 / mp.sqrt(mp.pi) - 1), one, 0,
                mp.mpf("0.92") ** 2, 6, 12),
    # erfc(x) = exp(-x ERF_TAIL(x)), 0.9 <= x <= 4 or 6: beyond, erf rounds to 1
    "ERF_TAIL": (lambda x: -mp.log(mp.erfc(x)) / x, lambda x: x * mp.erfc(x), mp.mpf("0.9"), (4, 6), 9, 21),
    # (x + 4) exp(x**2) erfc(x) = ERFC(t), t = (x - 4) / (x + 4), 0 <= x (Shepherd and Laframboise, Math.
    # Comp. 36, 1981); to where erfc is 0, and for erfcx without end
    "ERFC": (scaled_erfc, relative(scaled_erfc), -1, (0.45, 0.75), 11, 23),
    "ERFCX": (scaled_erfc, relative(scaled_erfc), -1, 1, 12, 24),
    # x exp(x**2) erfc(x) = 1 / sqrt(pi) + ERFC_FAR(z) z, z = 1 / x**2, from where ERFC_PIECES end to where erfc is 0
    "ERFC_FAR": (lambda z: (mp.exp(1 / z) * mp.erfc(1 / mp.sqrt(z)) / mp.sqrt(z) - 1 / mp.sqrt(mp.pi)) / z, lambda z: z * 2,
                (1 / mp.mpf("10.5") ** 2, 1 / mp.mpf("27.5") ** 2), (1 / mp.mpf("3.93") ** 2, 1 / mp.mpf("3.39") ** 2), 5, 16),
    # erfinv(x) = x * P(w), w = -log(1 - x**2); in the tail of sqrt(w) (Giles, "Approximating the erfinv
    # function", 2010)
    "ERFINV": (lambda w: erfinv_ratio(w + 3), one, -3, 3, 12, 25),
    "ERFINV_MIDDLE": (lambda s: erfinv_ratio((s + mp.mpf("3.25")) ** 2),
                lambda s: 1 / (s + 3), mp.mpf("2.44") - mp.mpf("3.25"), (0.85, 0.80), 9, 21),
    "ERFINV_TAIL": (lambda s: erfinv_ratio((s + 5) ** 2), lambda s: 1 / (s + 5), -1.01, 1.1, 0, 19),
    # lgamma(1 + y) = y * LGAMMA_ONE(y) to y = 1/4, lgamma(2 + y) = y * LGAMMA(y), |y| <= 1/2; between them the function has its
    # minimum, and lgamma(3/2 + y) = lgamma(3/2) + y * LGAMMA_MIDDLE(y), |y| <= 1/4
    "LGAMMA_ONE": (series(lambda y: mp.loggamma(1 + y) / y, -mp.euler), one, -0.5, 0.25, 11, 25),
    "LGAMMA_MIDDLE": (series(lambda y: (mp.loggamma(1.5 + y) - mp.loggamma(1.5)) / y, mp.digamma(1.5)), one, -0.25, 0.25, 8, 16),
    "LGAMMA": (series(lambda y: mp.loggamma(2 + y) / y, 1 - mp.euler), one, -0.5, 0.5, 9, 19),
    # lgamma(x) = (x - 1/2) (log(x) - 1) + (log(2 pi) - 1) / 2 + STIRLING(1 / x**2) / x, x >= 8
    "STIRLING": (series(stirling_rest, mp.mpf(1) / 12), lambda z: z, 0, mp.mpf(1) / 64, 2, 6),
    # I_n(x) = x**n I<n>(x**2) to x = 8, I_n(x) = exp(x - 8) I<n>_FAR(1 / x) / sqrt(x) from there
    "I0": (bessel(0), relative(bessel(0)), 0, 64, 10, 16),
    "I0_FAR": (bessel_far(0), relative(bessel_far(0)), 0, 1 / mp.mpf(8), 6, 22),
    "I1": (bessel(1), relative(bessel(1)), 0, 64, 10, 16),
    "I1_FAR": (bessel_far(1), relative(bessel_far(1)), 0, 1 / mp.mpf(8), 6, 22),
    # digamma(3/2 + y) = (3/2 + y - its zero) * DIGAMMA_NEAR(y), |y| <= 1/2
    "DIGAMMA_NEAR": (lambda y: mp.digamma(y + 1.5) / (y + 1.5 - DIGAMMA_ZERO), one, -0.5, 0.5, 10, 21),
    # digamma(x) = log(x) - 1 / (2 x) - DIGAMMA(1 / x**2) / x**2, x >= 7
    "DIGAMMA": (series(digamma_rest, mp.mpf(1) / 12), lambda z: z, 0, mp.mpf(1) / 49, 2, 7),
}


# ---------------------------------------------------------------- tables for processors that look values up in registers
def exp_table(dtype):
    """2**(j / 16)."""
    return [float(dtype(float(mp.mpf(2) ** (mp.mpf(j) / 16)))) for j in range(16)]


def exp_tail(dtype):
    """What those lack, as a part of them."""
    return [float(mp.mpf(2) ** (mp.mpf(j) / 16) / mp.mpf(entry) - 1) for j, entry in enumerate(exp_table(dtype))]


def log_tables(dtype, base):
    """(unit / c, log(c)) for c = 1 ... 2 in 15 or 31 even steps; log is to a base, and unit the logarithm of e. 1 and 2 are entries
    too, so that near 1 nothing is looked up. They stand where the steps' number from 0 up will look.

    Each 1/c is the one of many neighbours whose logarithm is closest to a float (Gal, "Computing elementary functions", 1986).
    The upper half is used with exponent -1 near 1, so there it is log(c) - log(2) + float(log(2)) that is close.
    """
    steps = 31 if dtype is np.float32 else 15
    two, unit = dtype(float(mp.log(2, base))), mp.mpf(float(dtype(float(mp.log(mp.e, base)))))
    inverses, values = [float(unit)], [0.0]
    step = 2.0 ** (-21 if dtype is np.float32 else -32)
    for j in range(1, steps):
        middle = float(unit / (1 + mp.mpf(j) / steps))
        best = None
        for trial in range(-1000, 1000):
            inverse = float(dtype(middle + trial * step))
            exact = mp.log(unit / mp.mpf(inverse), base) + (mp.mpf(float(two)) - mp.log(2, base) if j > steps // 2 else 0)
            value = float(dtype(float(exact)))
            error = abs(exact - mp.mpf(value))
            if best is None or error < best[0]:
                best = (error, inverse, value)
        inverses.append(best[1])
        values.append(best[2])
    inverses, values = [*inverses, float(unit) / 2], [*values, float(two)]
    return [[*row[1:], row[0]] for row in (inverses, values)]


def split_log_tables(dtype, base):
    """(unit / c, the high and the low part of log(c)) as above. The high parts have so few bits that adding them to e * log(2)'s is
    exact; log(2)'s is below, so that the low part has its sign and infinities stay."""
    grid = mp.mpf(2) ** (-16 if dtype is np.float32 else -42)
    steps, unit = 31 if dtype is np.float32 else 15, mp.mpf(float(dtype(float(mp.log(mp.e, base)))))
    two = mp.floor(mp.log(2, base) / grid) * grid
    inverses, highs, lows = [float(unit)], [0.0], [0.0]
    for j in range(1, steps):
        inverses.append(float(dtype(float(unit / (1 + mp.mpf(j) / steps)))))
        exact = mp.log(unit / mp.mpf(inverses[-1]), base)
        high = mp.nint(exact / grid) * grid
        highs.append(float(high))
        lows.append(float(dtype(float(exact - high))))
    rows = [*inverses, float(unit) / 2], [*highs, float(two)], [*lows, float(dtype(float(mp.log(2, base) - two)))]
    return [[*row[1:], row[0]] for row in rows]


def pow_tables(dtype):
    """(1/c, the high and the low part of log(c)) for 32 intervals of mantissas.

    1/c has six bits, so that m / c - 1 is exact; the high part is short, so that adding it to e * LN2_HIGH is exact too.
    """
    grid = mp.mpf(2) ** (-16 if dtype is np.float32 else -42)
    two = mp.mpf("0.693145751953125") if dtype is np.float32 else mp.mpf(float.fromhex("0x1.62e42feep-1"))
    inverses, highs, lows = [1.0], [0.0], [0.0]
    for j in range(1, 31):
        inverse = float(mp.nint(64 / (1 + (mp.mpf(j) + mp.mpf(1) / 2) / 32)) / 64)
        exact = -mp.log(mp.mpf(inverse))
        high = mp.nint(exact / grid) * grid
        inverses.append(inverse)
        highs.append(float(high))
        lows.append(float(dtype(float(exact - high))))
    return [*inverses, 0.5], [*highs, float(two)], [*lows, float(dtype(float(mp.log(2) - two)))]


def tan_tables(dtype):
    """(sin a, cos a) of 16 directions over half a turn, -0.0 for the sine of 0, times what brings both close to floats and
    tan(a + b) = (sin a + cos a tan b) / (cos a - sin a tan b) the least error from rounding its numerator and denominator."""
    tangents = np.tan(np.linspace(-np.pi / 32, np.pi / 32, 201))

    def roundings(sine, cosine):
        above, below = sine + cosine * tangents, cosine - sine * tangents
        error, unit = [np.abs(np.spacing(np.abs(v)) / v) for v in (above, below)], np.abs(above / below)
        return np.max(sum(error) * unit / np.spacing(unit)) / 2

    sines, cosines = [-0.0], [1.0]
    for j in range(1, 16):
        best = None
        for trial in range(1, 4000):
            sine = mp.mpf(float(dtype(float(mp.sin(mp.pi * j / 16) * (1 + mp.mpf(trial) / 4000)))))
            cosine = sine * mp.cot(mp.pi * j / 16) if j != 8 else mp.mpf(0)
            rounded = mp.mpf(float(dtype(float(cosine))))
            error = abs(rounded - cosine) / (abs(cosine) or 1) / float(np.finfo(dtype).eps)
            error += 0.2 * roundings(float(sine), float(cosine))
            if best is None or error < best[0]:
                best = (error, float(sine), float(rounded))
        sines.append(best[1])
        cosines.append(best[2])
    return sines, cosines


def atan_tables(dtype):
    """(c, atan(c)) for half-octaves from 1/16 to 16; 0 for the first and what is as good as infinite for the last.

    Tangents have 13 bits, so that their distance to what is near is exact, and are those whose angle is closest to a float.
    """
    tangents, angles = [0.0], [0.0]
    for j in range(1, 15):
        low, high = [mp.mpf(2) ** (k // 2 - 4) * (1 + mp.mpf(k % 2) / 2) for k in (j, j + 1)]
        middle = mp.tan((mp.atan(low) + mp.atan(high)) / 2)
        step = mp.mpf(2) ** (int(mp.floor(mp.log(middle, 2))) - 12)
        trials = [mp.nint(middle / step) * step + k * step for k in range(-12, 13)]
        best = min(trials, key=lambda t: abs(mp.atan(t) - mp.mpf(float(dtype(float(mp.atan(t)))))))
        tangents.append(float(best))
        angles.append(float(mp.atan(best)))
    rows = [*tangents, 2.0 ** (60 if dtype is np.float32 else 500)], [*angles, float(mp.pi / 2)]
    return [row[-6:] + row[:-6] for row in rows]             # where the exponent's last bits and the mantissa's first will look


def asin_tables(dtype):
    """(sin c, cos c, c, pi/2 - c) of angles from 0 to pi/2, sin c - cos c in even steps. Sines are floats whose angles and cosines
    are close to floats."""
    steps = 31 if dtype is np.float32 else 15
    rows = [(0.0, 1.0, 0.0, mp.pi / 2)]
    for j in range(1, steps):
        middle = mp.pi / 4 + mp.asin((mp.mpf(2 * j) / steps - 1) / mp.sqrt(2))
        best = None
        for trial in range(-1000, 1000):
            sine = mp.mpf(float(dtype(float(mp.sin(middle)) * (1 + trial * 2.0 ** (-22 if dtype is np.float32 else -32)))))
            values = mp.sqrt(1 - sine * sine), mp.asin(sine), mp.acos(sine)
            error = max(abs(mp.mpf(float(dtype(float(v)))) - v) / v for v in values)
            if best is None or error < best[0]:
                best = error, (sine, *values)
        rows.append(best[1])
    return zip(*[*rows, (1.0, 0.0, mp.pi / 2, 0.0)])


# name: (f, weight, distance between centres, coefficients, slope) for each type: polynomials in r, x less the nearest centre, of
# f less slope * r, whose coefficient of r then rounds to less
PIECES = {
    "ERF_PIECES": {np.float32: (mp.erf, lambda x: 1 / mp.erf(x), mp.mpf(1) / 8, 6, 1),
                   np.float64: (mp.erf, lambda x: 1 / mp.erf(x), mp.mpf(51) / 128, 13, 1)},
    # up to x = 3.9 and 3.4
    "ERFC_PIECES": {np.float32: (mp.erfc, lambda x: 1 / mp.erfc(x), mp.mpf(1) / 8, 7, 0),
                    np.float64: (mp.erfc, lambda x: 1 / mp.erfc(x), mp.mpf(7) / 32, 13, 0)},
    "TANH_PIECES": {np.float32: (mp.tanh, lambda x: 1 / mp.tanh(x), mp.mpf(19) / 64, 7, 0)},
    # gelu(2 h) = h + |h| GELU_PIECES(|h|), up to where it rounds to 2 h or 0; 1 is added, so that errors near 0 weigh like others
    "GELU_PIECES": {np.float32: (lambda h: mp.erf(mp.sqrt(2) * h), one, mp.mpf(23) / 256, 5, 0)},
}


# name: (f, a, b, coefficients): polynomials in r, z less a centre, of f(z) on intervals that begin where a z - b z**2 is whole, so
# that they grow with z; the first centre is 0, the others are near the middles, where f is close to a float
GROWING = {
    # erf(x) = x ERF_NEAR(x**2), up to x = 3.42; an even function's pieces are wide near 0, and wide where it is flat
    "ERF_NEAR": (series(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z), 2 / mp.sqrt(mp.pi)), mp.mpf("1.92"), mp.mpf("0.0475"), 10),
}


# name: (f, intervals an octave, the lowest octave, coefficients) for each type: polynomials in the mantissa of u less the
# interval's centre, of f(u) for u in (0, 1]
OCTAVES = {
    # erfinv(x) / x = ERFINV_OCTAVES(u), u = 1 - x**2; in float64 from u = 0.00586 up
    "ERFINV_OCTAVES": {np.float32: (erfinv_below, 1, -24, 9), np.float64: (erfinv_below, 2, -8, 15)},
}


def pieces(f, weight, step, count, slope, dtype):
    """For each power of r, its coefficients over the centres k * step; where the function is 0 at 0, the constant there is too."""
    columns = []
    for k in range(32 if dtype is np.float32 else 16):
        centre = k * step
        low = step / 1000 if k == 0 else -step / 2         # nothing is below 0
        if k == 0 and f(mp.mpf(0)) == 0:
            powers = list(range(1, count))
            points = sample(f, weight, low, step / 2, 24 * count)
            coefficients = [mp.mpf(0), *remez(powers, points)[0]]
        else:
            points = [(x - centre, y, w) for x, y, w in sample(f, weight, centre + low, centre + step / 2, 24 * count)]
            coefficients = remez(list(range(count)), points)[0]
        coefficients[1] -= slope
        columns.append([float(dtype(float(c))) for c in coefficients])
        if 0 < 1 - f(centre) < np.finfo(dtype).eps / 2:      # the last piece ends at exactly 1
            columns[-1][0] = 1.0
    return [list(row) for row in zip(*columns)]


def growing_pieces(f, a, b, count):
    """The centres, and for each power of r its coefficients over the 16 intervals."""
    edges = [(a - mp.sqrt(a * a - 4 * b * place)) / (2 * b) for place in range(17)]
    columns = []
    for low, high in zip(edges, edges[1:]):
        trials = [mp.nint((low + high) * 2 ** 19 + trial) / 2 ** 20 for trial in range(-400, 401)] if low else [low]
        centre = min(trials, key=lambda z: abs(f(z) - mp.mpf(float(f(z)))))
        points = [(z - centre, y, w) for z, y, w in sample(f, lambda z: 1 / f(z), low, high, 24 * count)]
        columns.append([centre, *remez(list(range(count)), points)[0]])
    return [[float(v) for v in row] for row in zip(*columns)]


def octaves(f, split, lowest, count, dtype):
    """For each power of the mantissa less the centre, its coefficients at the places where the exponent's last bits will look (and
    the mantissa's first, for two intervals an octave). u = 1 and, where its place is free, u = 0 are intervals of their own."""
    size, bias = (32, 127) if dtype is np.float32 else (16, 1023)
    columns = [None] * size
    end = bias * split % size
    columns[end] = [f(mp.mpf(1))] + [0.0] * (count - 1)
    for exponent in range(-1, lowest - 1, -1):
        for part in reversed(range(split)):
            low, high = 1 + mp.mpf(part) / split, 1 + mp.mpf(part + 1) / split
            place = ((bias + exponent) * split + part) % size
            if place != end:
                mantissas = [m for m, _, _ in sample(one, one, low, high, 24 * count)]
                values = [f(m * mp.mpf(2) ** exponent) for m in mantissas]
                points = [(m - (low + high) / 2, y, 1 / y) for m, y in zip(mantissas, values)]
                columns[place] = remez(list(range(count)), points)[0]
                if dtype is np.float32:
                    columns[place] = rounded_upwards(columns[place], points)
    columns[0] = columns[0] or [f(mp.mpf(0))] + [0.0] * (count - 1)
    return [[float(dtype(float(c))) for c in row] for row in zip(*[c or [0.0] * count for c in columns])]


def polynomials_by_pieces():
    """Name, float32's coefficients and float64's: of each power, a row of them."""
    for name, arguments in GROWING.items():
        centres, *coefficients = growing_pieces(*arguments)
        yield name + "_CENTRE", None, centres
        yield name, None, coefficients
    for rows_of, fits in ((octaves, OCTAVES), (pieces, PIECES)):
        for name, by_type in fits.items():
            yield name, *[by_type.get(dtype) and rows_of(*by_type[dtype], dtype) for dtype in (np.float32, np.float64)]


def tables():
    """Name, float32's values and float64's of each other table."""
    made = {}
    for dtype in (np.float32, np.float64):
        groups = [(("EXP_TABLE",), [exp_table(dtype)]), (("EXP_TAIL",), [exp_tail(dtype)]),
                  (("TAN_SINE", "TAN_COSINE"), tan_tables(dtype)), (("ATAN_TANGENT", "ATAN_ANGLE"), atan_tables(dtype)),
                  (("ASIN_SINE", "ASIN_COSINE", "ASIN_ANGLE", "ACOS_ANGLE"), asin_tables(dtype)),
                  (("POW_INVERSE", "POW_HIGH", "POW_LOW"), pow_tables(dtype)),
                  (("LOG10_INVERSE", "LOG10_HIGH", "LOG10_LOW"), split_log_tables(dtype, 10)),
                  (("LOG_INVERSE", "LOG_TABLE"), log_tables(dtype, mp.e)), (("LOG2_INVERSE", "LOG2_TABLE"), log_tables(dtype, 2))]
        for names, values in groups:
            for name, row in zip(names, values):
                made.setdefault(name, []).append([dtype(float(v)) for v in row])
    return [(name, *rows) for name, rows in made.items()]


def written(values, indent="    "):
    """A row of numbers, or rows of them, as a tuple in Python."""
    if values is None:
        return "None"
    if isinstance(values[0], (list, tuple)):
        return "(" + f",\n{indent} ".join([written(row, indent + " ") for row in values]) + ")"
    text = ", ".join([repr(float(v)) for v in values])
    return "(" + f"\n{indent} ".join(textwrap.wrap(text, 128 - len(indent), break_on_hyphens=False)) + ")"


def assignment(name, float32, float64):
    """The definition of a pair, of what float32 takes and what float64 does."""
    return f"{name} = (\n    {written(float32)},\n    {written(float64)},\n)\n"


def write(name, title, rows):
    head = [f'"""{title}\n\nEach is a pair, of float32 and of float64. tools/minimax.py makes them and says what each is for.\n"""']
    if any(re.search(r"\binf\b", r) for r in rows):
        head.append("from math import inf")
    with open(os.path.join(OUTPUT, name), "w") as file:
        file.write("\n".join(["\n".join(head) + "\n", *rows]))


def main(names):
    rows = []
    for name, (f, weight, low, high, *counts) in FITS.items():
        if names and name.lower() not in names:
            continue
        pair = [None, None]
        for i, (count, dtype) in enumerate(zip(counts, (np.float32, np.float64))):
            if count:
                ends = [end[i] if isinstance(end, tuple) else end for end in (low, high)]
                pair[i], error = fit(f, weight, *ends, count, dtype)
                pair[i] = [dtype(float(c)) for c in pair[i]]
                print(f"{name:10} {dtype.__name__} {count:3} error {float(error):.3g}")
        rows.append(assignment(name, *pair))
    if not names:
        write("coefficients.py", "Polynomial coefficients, constant term first.", rows)
        write("entries.py", "Tables looked up in registers, an entry an interval.", [assignment(*table) for table in tables()])
        write("piecewise.py", "Polynomials by pieces: for each power an entry an interval.",
              [assignment(*table) for table in polynomials_by_pieces()])


if __name__ == "__main__":
    main([n.lower() for n in sys.argv[1:]])
