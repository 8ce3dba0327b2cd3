"""Gamma numbers, and how they and beta numbers move with their parameters.

A gamma number of a shape from 1 on is drawn as by Marsaglia and Tsang ("A simple method for generating gamma variables", 2000);
below 1 it is one of the next shape, times the power 1 / shape of a uniform number. Each element has a stream of its own, as in
rejection.py.

The slope of a number with respect to its parameter, at a fixed share u = F(x; a) of its distribution, is -(dF / da) / (dF / dx)
(Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", 2018). Where F is a short sum of terms of one sign (Abramowitz
and Stegun, "Handbook of mathematical functions", 6.5.29 and 26.5.4), the sum is differentiated. Elsewhere dF / da is an integral
of the density times log(t) less its mean, from x towards the side on which that factor does not change its sign: so nothing
cancels. It is taken by Gauss's rule with 24 points up to where the density is exp(-36) of what it is at x.
"""
from __future__ import annotations

import numpy as np
from numpy import float64

from ...elementtypes import itemsize
from ...intrinsics import local_array
from ...vectormath import cos, digamma, exp, expm1, log, log1p, sqrt
from ..shared.elements import part_offsets, prepare_parts, shares, typed
from .philox import ELEMENTS, FIRST
from .rejection import pair_of_fractions

Element = float64
SMALLEST = 0.0                                           # what a number is at least: gammas of tiny shapes round to 0 otherwise
GRAIN = 2_000
TWO_PI = 6.283185307179586
ENOUGH = 1e-17                                           # the share of a sum that a term no longer counts
FAR = 36.0                                               # minus the logarithm of what no longer counts
NODES = (                                                # of Gauss's rule on [-1, 1], and their weights; those below 0 are the same
    (0.06405689286260563, 0.12793819534675216),
    (0.1911188674736163, 0.12583745634682828),
    (0.3150426796961634, 0.12167047292780338),
    (0.4337935076260451, 0.1155056680537256),
    (0.5454214713888396, 0.10744427011596563),
    (0.6480936519369755, 0.09761865210411388),
    (0.7401241915785544, 0.08619016153195327),
    (0.8200019859739029, 0.0733464814110803),
    (0.8864155270044011, 0.05929858491543678),
    (0.9382745520027328, 0.04427743881741981),
    (0.9747285559713095, 0.028531388628933663),
    (0.9951872199970213, 0.0123412297999872),
)


# ---------------------------------------------------------------- draws
def gamma_from_one(shape, key, counter):
    """A gamma number of a shape from 1 on."""
    d = shape - 1.0 / 3
    c = 1.0 / sqrt(9.0 * d)
    for attempt in range(1, 400, 2):
        u, angle = pair_of_fractions(key, counter, attempt)
        normal = sqrt(-2.0 * log(1.0 - u)) * cos(TWO_PI * angle)
        v = 1.0 + c * normal
        if v <= 0.0:
            continue
        v = v * v * v
        u, _ = pair_of_fractions(key, counter, attempt + 1)
        u = 1.0 - u
        square = normal * normal
        if u < 1.0 - 0.0331 * square * square or log(u) < 0.5 * square + d * (1.0 - v + log(v)):
            return d * v
    return d


def gamma_of(shape, key, counter):
    """A gamma number of a finite shape that is not negative."""
    if shape >= 1.0:
        return gamma_from_one(shape, key, counter)
    u, _ = pair_of_fractions(key, counter, 0)
    return gamma_from_one(shape + 1.0, key, counter) * exp(log(1.0 - u) / shape) if shape > 0.0 else 0.0


def log_gamma_of(shape, key, counter):
    """The logarithm of one, which small shapes do not round to that of 0."""
    if shape >= 1.0:
        return log(gamma_from_one(shape, key, counter))
    u, _ = pair_of_fractions(key, counter, 0)
    return log(gamma_from_one(shape + 1.0, key, counter)) + log(1.0 - u) / shape if shape > 0.0 else -np.inf


draw = gamma_of


def draw_each(shapes, out, state, descriptor):
    for i in range(descriptor[ELEMENTS]):
        shape = float64(shapes[i])
        drawn = shape + np.nan
        if shape >= 0.0:
            drawn = shape
        if shape >= 0.0 and shape < np.inf:
            drawn = draw(shape, state[0], state[1] + descriptor[FIRST] + i)
        out[i] = Element(SMALLEST if drawn < SMALLEST else drawn)


# ---------------------------------------------------------------- slopes
def excess(z):
    """log(z) - digamma(z)."""
    if z < 20.0:
        return log(z) - digamma(z)
    u = 1.0 / (z * z)
    return (0.5 + (1.0 / 12 - (1.0 / 120 - (1.0 / 252 - u / 240) * u) * u) / z) / z


def place_nodes(nodes):
    """Gauss's points on [0, 1], then their weights."""
    for k in range(12):
        node, weight = NODES[k]
        nodes[k] = 0.5 - 0.5 * node
        nodes[23 - k] = 0.5 + 0.5 * node
        nodes[24 + k] = 0.5 * weight
        nodes[47 - k] = 0.5 * weight


def total_of(terms):
    """The sum of 24 numbers, in four that do not wait for each other."""
    for k in range(20):
        terms[k + 4] += terms[k]
    return (terms[20] + terms[21]) + (terms[22] + terms[23])


def gamma_integral(shape, x, nodes, terms):
    """The slope of a gamma number by the integral over v = log(t / x). The loop is one of vectors: terms are summed after it."""
    gap = log(x / shape) + excess(shape)                 # log(x) - digamma(shape)
    if gap > 0.0:
        side = 1.0
        d = x - shape
        reach = 2.0 * FAR / (d + sqrt(d * d + 2.0 * FAR * x))
        reach = min(reach, log1p((FAR + shape * reach) / x))
    else:
        side = -1.0
        p = FAR - 2.0 * (shape - x)
        root = sqrt(p * p + 8.0 * FAR * shape)
        reach = (p + root) / (2.0 * shape) if p > 0.0 else 4.0 * FAR / (root - p)
    for k in range(24):
        v = side * reach * nodes[k]
        terms[k] = nodes[24 + k] * (gap + v) * exp(shape * v - x * expm1(v))
    return x * reach * side * total_of(terms)


def gamma_slope(shape, x, nodes, terms):
    """d x / d shape of a gamma number x. nodes: from `place_nodes`. terms: 24 numbers of scratch memory."""
    if not (shape > 0.0 and x > 0.0):
        return 0.0
    if shape > 1e16:                                     # the next term is below rounding
        return 0.5 + 0.5 * x / shape
    if shape >= 20.0 or x > shape + 1.0:
        return gamma_integral(shape, x, nodes, terms)
    term, total = 1.0, 1.0
    falls, slope = 0.0, 0.0                              # -d log(term) / d shape, and the sum of the terms' slopes
    divisor = shape
    for _ in range(500):
        divisor += 1.0
        share = 1.0 / divisor
        term *= x * share
        falls += share
        total += term
        slope -= term * falls
        if term * (1.0 + falls) < ENOUGH * total:
            break
    return -x / shape * (total * (log(x) - digamma(shape + 1.0)) + slope)


def beta_below(x, a, b):
    """The slope of a beta number by the series of the distribution function."""
    term, total = 1.0, 1.0
    grows, slope = 0.0, 0.0
    above, divisor = a + b, a
    for _ in range(2000):
        divisor += 1.0
        share = 1.0 / divisor
        term *= x * above * share
        grows += 1.0 / above - share
        above += 1.0
        total += term
        slope += term * grows
        if term * (1.0 + abs(grows)) < ENOUGH * total:
            break
    return -x / a * (total * (log(x) - digamma(a + 1.0) + digamma(a + b)) + slope)


def beta_above(x, a, b):
    """The same by the series of what is above x."""
    y = 1.0 - x
    term, total = 1.0, 1.0
    grows, slope = 0.0, 0.0
    above, divisor = a + b, b
    for _ in range(2000):
        divisor += 1.0
        term *= y * above / divisor
        grows += 1.0 / above
        above += 1.0
        total += term
        slope += term * grows
        if term * (1.0 + grows) < ENOUGH * total:
            break
    return x / b * (total * (log(x) - digamma(a) + digamma(a + b)) + slope)


def beta_reach(x, a, b, side):
    """How far from x the logarithm of the density of logit(t), a concave function, is by 36 below that at x: Newton's steps from
    where its parabola is."""
    whole = a + b
    d = side * (whole * x - a)
    reach = 2.0 * FAR / (d + sqrt(d * d + 2.0 * FAR * whole * x * (1.0 - x)) + 1e-3)
    for _ in range(4):
        m = expm1(side * reach)
        q = 1.0 + x * m
        fall = whole * log(q) - a * side * reach
        rises = side * (whole * x * (1.0 + m) / q - a)
        reach = reach - (fall - FAR) / rises if rises > 0.0 else 2.0 * reach
    return reach


def beta_integral(x, a, b, gap, side, nodes, terms):
    """The same by the integral over s = logit(t) - logit(x); `gap` is log(x) less what log(t) is on average."""
    reach, whole = beta_reach(x, a, b, side), a + b
    for k in range(24):
        s = side * reach * nodes[k]
        q = log1p(x * expm1(s))
        terms[k] = nodes[24 + k] * (gap + s - q) * exp(a * s - whole * q)
    return x * reach * side * total_of(terms)


def beta_slope(x, a, b, nodes, terms):
    """d x / d a of a beta number x, over 1 - x. nodes, terms: as for `gamma_slope`."""
    if not (a > 0.0 and b > 0.0 and x > 0.0 and x <= 1.0):
        return 0.0
    whole = a + b
    gap = log(x * (whole / a)) + excess(a) - excess(whole)
    if b >= 6.0 and ((a >= 6.0 and gap > 0.0) or x * whole > a):
        return beta_integral(x, a, b, gap, 1.0, nodes, terms)
    if a >= 6.0 and gap <= 0.0:
        return beta_integral(x, a, b, gap, -1.0, nodes, terms)
    return beta_below(x, a, b) if x <= 0.5 else beta_above(x, a, b)


def gamma_slope_each(shapes, numbers, out, descriptor):
    nodes, terms = local_array(float64, 48), local_array(float64, 24)
    place_nodes(nodes)
    for i in range(descriptor[ELEMENTS]):
        out[i] = Element(gamma_slope(float64(shapes[i]), float64(numbers[i]), nodes, terms))


def beta_slope_each(numbers, shapes, totals, out, descriptor):
    """totals: the sums of both shapes."""
    nodes, terms = local_array(float64, 48), local_array(float64, 24)
    place_nodes(nodes)
    for i in range(descriptor[ELEMENTS]):
        shape = float64(shapes[i])
        out[i] = Element(beta_slope(float64(numbers[i]), shape, float64(totals[i]) - shape, nodes, terms))


# ---------------------------------------------------------------- planners
def _plan_draw(dtype, n, form, smallest):
    compiled = typed(draw_each, "float64", (dtype + "*", dtype + "*", "int64*", "int64*"), Element=np.dtype(dtype).type, draw=form,
                     SMALLEST=smallest)
    parts, size = shares(n, n, GRAIN), itemsize(dtype)
    return prepare_parts(compiled, [(stop - start, start) for start, stop in parts], n, part_offsets(parts, size, size, 0),
                         worth_releasing=GRAIN)


def plan_gamma(dtype: str, n: int):
    """A gamma number of each shape and rate 1; NaN for a shape below 0. What rounds to less is the least normal number.

    Addresses: shapes (n) and out (n) of float32 or float64, state.
    """
    return _plan_draw(dtype, n, gamma_of, float(np.finfo(dtype).tiny))


def plan_log_gamma(dtype: str, n: int):
    """The logarithm of such a number, also where that rounds to 0.

    Addresses: shapes (n) and out (n) of float32 or float64, state.
    """
    return _plan_draw(dtype, n, log_gamma_of, -np.inf)


def _plan_slope(kernel, dtype, n, operands):
    compiled = typed(kernel, "float64", (*[dtype + "*"] * operands, "int64*"), Element=np.dtype(dtype).type,
                     ENOUGH=1e-17 if dtype == "float64" else 1e-9)
    parts, size = shares(n, n, GRAIN // 4), itemsize(dtype)
    return prepare_parts(compiled, [(stop - start,) for start, stop in parts], n, part_offsets(parts, *[size] * operands),
                         worth_releasing=GRAIN // 4)


def plan_gamma_slope(dtype: str, n: int):
    """How a gamma number moves with its shape at a fixed share of the distribution below it (the module's formula).

    Addresses: shapes (n), numbers (n) and out (n) of float32 or float64.
    """
    return _plan_slope(gamma_slope_each, dtype, n, 3)


def plan_beta_slope(dtype: str, n: int):
    """How a beta number moves with its first shape, likewise, where the sum of both shapes stays.

    Addresses: numbers (n), shapes (n), sums of both shapes (n) and out (n) of float32 or float64.
    """
    return _plan_slope(beta_slope_each, dtype, n, 4)
