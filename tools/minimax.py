"""Derive the polynomial coefficients of `numtorch/kernels/vectormath/coefficients.py`.

Each row of FITS names a function f, an interval, the number of coefficients for float32 and float64, and the weight
that turns the error of the fit into the relative error of the final result. `remez` exchanges extrema in mpmath (Remez
1934, as in Muller, "Elementary Functions", ch. 3); the coefficients are then rounded from the constant term up, and after
each rounding the remaining ones are fitted again, so that they make up for it.

    python tools/minimax.py            # rewrites coefficients.py and prints the error of each fit in units of 2**-24 or 2**-53
    python tools/minimax.py expm1      # only prints
"""
import os
import sys

import mpmath as mp
import numpy as np

mp.mp.prec = 240
OUTPUT = os.path.join(os.path.dirname(__file__), "..", "numtorch", "kernels", "vectormath", "coefficients.py")


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


def remez(f, weight, low, high, powers, rounds=8, grid=None):
    """Minimax coefficients for the given powers of x, and the largest weighted error."""
    low, high = mp.mpf(low), mp.mpf(high)
    n = len(powers) + 1
    points = grid or sample(f, weight, low, high, 24 * n)
    nodes = [points[min(len(points) - 1, int(round((1 - mp.cos(mp.pi * i / (n - 1))) / 2 * (len(points) - 1))))] for i in range(n)]
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
    count_points = 24 * (count + 1)
    points = sample(f, weight, mp.mpf(low), mp.mpf(high), count_points)
    fixed, powers = [], list(range(count))
    rest, _ = remez(None, None, low, high, powers, grid=points)
    while powers:
        fixed.append(dtype(float(rest[0])) if dtype is np.float32 else float(rest[0]))
        if len(fixed) > 4 or dtype is np.float64:          # higher terms weigh too little for their rounding to matter
            fixed += [dtype(float(c)) for c in rest[1:]]
            break
        powers = powers[1:]
        if powers:
            left = [(x, y - value_at([mp.mpf(float(c)) for c in fixed], range(len(fixed)), x), w) for x, y, w in points]
            rest, _ = remez(None, None, low, high, powers, rounds=3, grid=left)
    exact = [mp.mpf(float(c)) for c in fixed]
    worst = max(abs(w * (value_at(exact, range(count), x) - y)) for x, y, w in points)
    return fixed, worst * 2 ** (24 if dtype is np.float32 else 53)


def one(x):
    return mp.mpf(1)


LN2 = mp.log(2)
TAN_PI_8 = mp.tan(mp.pi / 8)
SQRT2 = mp.sqrt(2)
S_MAX = (SQRT2 - 1) / (SQRT2 + 1)                            # |f / (2 + f)| over 1 + f in [sqrt(1/2), sqrt(2)]


def series(f, value_at_zero):
    """f, with its limit at a removable singularity at 0."""
    return lambda x: mp.mpf(value_at_zero) if x == 0 else f(x)


def cubic_atanh(z):
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) - 2 * s) / s ** 3 if z else mp.mpf(2) / 3


# name: (f, weight, low, high, float32 count, float64 count)
FITS = {
    # exp(r) = 1 + r + r**2 * EXPM1(r), |r| <= ln(2)/2
    "EXPM1": (series(lambda r: (mp.expm1(r) - r) / r ** 2, 0.5), lambda r: abs(r) + 1e-30, -LN2 / 2, LN2 / 2, 5, 11),
    # 2**r = 1 + ln(2) r + r**2 * EXP2M1(r), |r| <= 1/2
    "EXP2M1": (series(lambda r: (mp.expm1(r * LN2) - r * LN2) / r ** 2, LN2 ** 2 / 2), lambda r: r ** 2, -0.5, 0.5, 5, 11),
    # log(1 + f) = f - f**2/2 + f**3 * LOG(f), float32
    "LOG": (series(lambda f: (mp.log1p(f) - f + f * f / 2) / f ** 3, mp.mpf(1) / 3), lambda f: f * f + 1e-30,
            1 / SQRT2 - 1, SQRT2 - 1, 9, 0),
    # log(1 + f) = 2 atanh(s) = 2 s + s**3 * ATANH(s**2), s = f / (2 + f)
    "ATANH": (cubic_atanh, lambda z: z + 1e-30, 0, S_MAX ** 2, 4, 8),
    # 2 atanh(s) = 2 s + s**3 * (2/3 + s**2 * ATANH5(s**2)), for pow
    "ATANH5": (series(lambda z: (cubic_atanh(z) - mp.mpf(2) / 3) / z, mp.mpf(2) / 5), lambda z: z * z * 2 ** 8 + 1e-30,
               0, S_MAX ** 2, 4, 9),
    # sin(r) = r + r**3 * SIN(r**2), cos(r) = 1 - r**2/2 + r**4 * COS(r**2), |r| <= pi/4
    "SIN": (series(lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -mp.mpf(1) / 6), lambda z: z + 1e-30, 0, (mp.pi / 4 * 1.001) ** 2, 4, 7),
    "COS": (series(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z ** 2, mp.mpf(1) / 24), lambda z: z * z + 1e-30, 0, (mp.pi / 4 * 1.001) ** 2, 3, 6),
    # tanh(x) = x + x**3 * TANH(x**2), |x| <= 0.5625
    "TANH": (series(lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -mp.mpf(1) / 3), lambda z: z + 1e-30, 0, 0.5625 ** 2, 5, 11),
    # atan(t) = t + t**3 * ATAN(t**2), |t| <= tan(pi/8)
    "ATAN": (series(lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -mp.mpf(1) / 3), lambda z: z + 1e-30, 0, (TAN_PI_8 * 1.001) ** 2, 5, 12),
    # asin(t) = t + t**3 * ASIN(t**2), |t| <= 1/2
    "ASIN": (series(lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, mp.mpf(1) / 6), lambda z: z + 1e-30, 0, 0.25, 5, 13),
}


def row(name, coefficients, dtype):
    text = [repr(float(c)) for c in coefficients]
    lines, line = [], "   "
    for t in text:
        if len(line) + len(t) + 2 > 118:
            lines.append(line)
            line = "   "
        line += f" {t},"
    return f"{name}{32 if dtype is np.float32 else 64} = (\n" + "\n".join([*lines, line]) + "\n)\n"


def main(names):
    out = ['"""Polynomial coefficients, constant term first. Made by tools/minimax.py, which says what each one approximates."""\n']
    for name, (f, weight, low, high, count32, count64) in FITS.items():
        if names and name.lower() not in names:
            continue
        for count, dtype in ((count32, np.float32), (count64, np.float64)):
            if count:
                coefficients, error = fit(f, weight, low, high, count, dtype)
                print(f"{name:10} {dtype.__name__} {count:3} error {float(error):.3g}")
                out.append(row(name, coefficients, dtype))
    if not names:
        with open(OUTPUT, "w") as file:
            file.write("\n".join(out))


if __name__ == "__main__":
    main([n.lower() for n in sys.argv[1:]])
