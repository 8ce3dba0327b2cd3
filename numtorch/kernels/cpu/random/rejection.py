"""Poisson, binomial and von Mises numbers, which take as many random bits as they happen to need.

Small means go through the distribution's terms with one number ("inversion"); larger ones are drawn under a hat and accepted nearly
always (Hörmann, "The transformed rejection method for generating Poisson random variables", 1993, and "The generation of binomial
random variates", 1993). Angles of von Mises are drawn under a wrapped Cauchy distribution (Best and Fisher, "Efficient simulation
of the von Mises distribution", 1979). Each element has a stream of its own, the Philox words of its counter and of the number of
the attempt, so it depends on seed, offset and place alone, not on threads. A draw of n elements moves the offset by n.
"""
from __future__ import annotations

import numpy as np
from numpy import float64, uint64

from ...elementtypes import itemsize
from ...vectormath import acos, cos, exp, floor, lgamma, log, log1p, sqrt
from ..shared.elements import part_offsets, prepare_parts, shares, typed
from .philox import ELEMENTS, FIRST, block

Element = float64
GRAIN = 2_000
INVERTED = 10.0                                          # means below which the terms are added up
PI = 3.141592653589793


def pair_of_fractions(key, counter, attempt):
    """Two multiples of 2^-53 in [0, 1), from one block of random words."""
    c0, c1, c2, c3 = block(key, counter, attempt)
    first = (c0 << uint64(21)) ^ (c1 >> uint64(11))
    second = (c2 << uint64(21)) ^ (c3 >> uint64(11))
    return float64(first) * 1.1102230246251565e-16, float64(second) * 1.1102230246251565e-16


def poisson_of(rate, key, counter):
    """A Poisson number of a finite rate that is not negative."""
    if rate < INVERTED:
        u, _ = pair_of_fractions(key, counter, 0)
        term = exp(-rate)
        k = 0.0
        while u >= term and k < 200.0:                   # what rounding leaves of u is never reached
            u -= term
            k += 1.0
            term *= rate / k
        return k
    root, logarithm = sqrt(rate), log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    sure = 0.9277 - 3.6224 / (b - 2.0)
    for attempt in range(1000):
        u, v = pair_of_fractions(key, counter, attempt)
        u -= 0.5
        margin = 0.5 - abs(u)
        k = floor((2.0 * a / margin + b) * u + rate + 0.43)
        if margin >= 0.07 and v <= sure:
            return k
        if k >= 0.0 and (margin >= 0.013 or v <= margin):
            if log(v * inverse_alpha / (a / (margin * margin) + b)) <= k * logarithm - rate - lgamma(k + 1.0):
                return k
    return floor(rate)


def stirling_rest(k):
    """log(k!) less Stirling's formula for it."""
    n = k + 1.0
    if n > 10.0:
        square = n * n
        return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / n
    return lgamma(n) - ((k + 0.5) * log(n) - n + 0.9189385332046727)


def binomial_of(trials, chance, key, counter):
    """A binomial number for a whole number of trials and a chance up to a half."""
    odds = chance / (1.0 - chance)
    if trials * chance < INVERTED:
        u, _ = pair_of_fractions(key, counter, 0)
        term = exp(trials * log1p(-chance))
        k = 0.0
        while u >= term and k < trials and k < 200.0:
            u -= term
            k += 1.0
            term *= odds * (trials - k + 1.0) / k
        return k
    deviation = sqrt(trials * chance * (1.0 - chance))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    sure = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * deviation
    mode = floor((trials + 1.0) * chance)
    for attempt in range(1000):
        u, v = pair_of_fractions(key, counter, attempt)
        u -= 0.5
        margin = 0.5 - abs(u)
        k = floor((2.0 * a / margin + b) * u + trials * chance + 0.5)
        if k < 0.0 or k > trials:
            continue
        if margin >= 0.07 and v <= sure:
            return k
        left = trials - k + 1.0
        height = (mode + 0.5) * log((mode + 1.0) / (odds * (trials - mode + 1.0)))
        height += stirling_rest(mode) + stirling_rest(trials - mode)
        ratio = height + (trials + 1.0) * log((trials - mode + 1.0) / left) + (k + 0.5) * log(odds * left / (k + 1.0))
        if log(v * alpha / (a / (margin * margin) + b)) <= ratio - stirling_rest(k) - stirling_rest(trials - k):
            return k
    return mode


def poisson_each(rates, out, state, descriptor):
    """Status 1 where a rate is negative or NaN."""
    for i in range(descriptor[ELEMENTS]):
        rate = float64(rates[i])
        if not rate >= 0.0:
            state[2] = 1
            return
        drawn = rate
        if rate < np.inf:
            drawn = poisson_of(rate, state[0], state[1] + descriptor[FIRST] + i)
        out[i] = Element(drawn)


def binomial_each(trials, chances, out, state, descriptor):
    """What is beyond 0 or 1 counts as 0 or 1, and a part of a trial as none."""
    for i in range(descriptor[ELEMENTS]):
        count = floor(float64(trials[i]))
        chance = float64(chances[i])
        drawn = float64(0)
        if not (count == count and chance == chance):
            drawn = count + chance
        elif count > 0.0 and chance >= 1.0:
            drawn = count
        elif count > 0.0 and chance > 0.0:
            if chance <= 0.5:
                drawn = binomial_of(count, chance, state[0], state[1] + descriptor[FIRST] + i)
            else:
                drawn = count - binomial_of(count, 1.0 - chance, state[0], state[1] + descriptor[FIRST] + i)
        out[i] = Element(drawn)


def von_mises_of(concentration, key, counter):
    """An angle in [-pi, pi] around 0."""
    if concentration > 1e6:                              # normal but for a part in a million
        u, v = pair_of_fractions(key, counter, 0)
        return sqrt(-2.0 * log(1.0 - u) / concentration) * cos(2.0 * PI * v)
    tau = 1.0 + sqrt(1.0 + 4.0 * concentration * concentration)
    rho = (tau - sqrt(2.0 * tau)) / (2.0 * concentration)
    r = 1.0 / concentration + concentration if concentration < 1e-5 else (1.0 + rho * rho) / (2.0 * rho)
    for attempt in range(0, 2000, 2):
        u, v = pair_of_fractions(key, counter, attempt)
        z = cos(PI * u)
        f = (1.0 + r * z) / (r + z)
        c = concentration * (r - f)
        v = 1.0 - v
        if c * (2.0 - c) > v or log(c / v) + 1.0 >= c:
            side, _ = pair_of_fractions(key, counter, attempt + 1)
            angle = acos(min(max(f, -1.0), 1.0))
            return angle if side < 0.5 else -angle
    return 0.0


def von_mises_each(places, concentrations, out, state, descriptor):
    """Angles are in [-pi, pi)."""
    for i in range(descriptor[ELEMENTS]):
        concentration = float64(concentrations[i])
        angle = concentration + np.nan
        if concentration > 0.0 and concentration < np.inf:
            angle = von_mises_of(concentration, state[0], state[1] + descriptor[FIRST] + i)
        angle += float64(places[i])
        out[i] = Element(angle - 2.0 * PI * floor((angle + PI) / (2.0 * PI)))


# ---------------------------------------------------------------- planners
def _plan(kernel, dtype, n, operands):
    compiled = typed(kernel, "float64", (*[dtype + "*"] * operands, "int64*", "int64*"), Element=np.dtype(dtype).type)
    parts, size = shares(n, n, GRAIN), itemsize(dtype)
    return prepare_parts(compiled, [(stop - start, start) for start, stop in parts], n, part_offsets(parts, *[size] * operands, 0),
                         worth_releasing=GRAIN)


def plan_poisson(dtype: str, n: int):
    """A Poisson number for each rate.

    Addresses: rates (n) and out (n) of float32 or float64, state, whose third word is set to 1 for a rate that is negative or NaN.
    """
    return _plan(poisson_each, dtype, n, 2)


def plan_binomial(dtype: str, n: int):
    """How many of so many trials succeed, each by chance. Chances beyond 0 or 1 count as these, and a part of a trial as none.

    Addresses: trials (n), chances (n) and out (n) of float32 or float64, state.
    """
    return _plan(binomial_each, dtype, n, 3)


def plan_von_mises(dtype: str, n: int):
    """Von Mises angles, in [-pi, pi); NaN where the concentration is not positive and finite.

    Addresses: where angles gather (n), how closely (n) and out (n) of float32 or float64, state.
    """
    return _plan(von_mises_each, dtype, n, 3)
