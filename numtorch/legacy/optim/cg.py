"""Conjugate gradients with a line search by quadratic and cubic interpolation: Rasmussen's `minimize.m`."""
from __future__ import annotations

import math
from typing import NamedTuple

from ...tensor import Tensor
from .firstorder import begun


class _Place(NamedTuple):
    """Function, gradient and slope at a place of the line."""

    f: float
    gradient: Tensor
    slope: float


def _over(numerator, denominator):
    return numerator / denominator if denominator else math.nan


def _cubic(a, b, z):
    """The factors of a cubic that has the values and slopes of two places, `z` apart."""
    return 6 * _over(b.f - a.f, z) + 3 * (b.slope + a.slope), 3 * (a.f - b.f) - z * (a.slope + 2 * b.slope)


def _root(A, B, b, z):
    square = B * B - A * b.slope * z * z
    return math.sqrt(square) if square >= 0 else math.nan


def _between(start, a, b, z, inside):
    """How far to go back from b, where the function is too high: to the least of a parabola or of a cubic, but inside."""
    if b.f > start.f:
        step = z - _over(0.5 * a.slope * z * z, a.slope * z + b.f - a.f)
    else:
        A, B = _cubic(a, b, z)
        step = _over(_root(A, B, b, z) - B, A)
    if not math.isfinite(step):
        step = z / 2
    return max(min(step, inside * z), (1 - inside) * z)


def _beyond(a, b, z, length, limit, inside, ext):
    """How far to go on from b, where the function still falls: to the least of a cubic, but not too far, nor too near a limit."""
    A, B = _cubic(a, b, z)
    step, most = _over(-b.slope * z * z, B + _root(A, B, b, z)), length * (ext - 1)
    if not math.isfinite(step) or step < 0:
        return most if limit is None else (limit - length) / 2
    if limit is not None and step + length > limit:
        return (limit - length) / 2
    if limit is None and step > most:
        return most
    if step < -z * inside:
        return -z * inside
    if limit is not None and step < (limit - length) * (1 - inside):
        return (limit - length) * (1 - inside)
    return step


def cg(opfunc, x, config, state=None):
    """Conjugate gradients (Polak and Ribiere 1969), from which a search goes along each direction.

    Args:
        opfunc: gives the function and its gradient at x.
        x: the point, a vector, changed in place.
        config: a dict of `maxIter` (20), the most calls a search; `maxEval` (1.25 times that), the most calls; `rho` (0.01) and
            `sig` (0.5), how much a search must lower the function and its slope; `int` (0.1) and `ext` (3.0), how near to an end it
            may come and how far it may go beyond; `ratio` (100), how much longer a step may be than the last.
        state: a dict that is changed: `evalCounter`; in `config` when None.

    Returns:
        x, a list of the function at the beginning and after each search, and how often `opfunc` was called.

    Raises:
        ValueError: no dict.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([3.0, -2.0])
        >>> x, history, calls = torch.legacy.optim.cg(lambda x: ((x * x).sum().item(), 2 * x), x, {})
        >>> history[0], x.abs().max().item() < 1e-4
        (13.0, True)
    """
    config, state = begun("cg", config, state)
    defaults = dict(rho=0.01, sig=0.5, int=0.1, ext=3.0)
    rho, sig, inside, ext = (config.get(name, default) for name, default in defaults.items())
    limit, ratio, point, calls = config.get("maxIter", 20), config.get("ratio", 100), x.detach(), 0
    most = abs(config.get("maxEval", limit * 1.25))

    def at(direction):
        nonlocal calls
        calls += 1
        f, gradient = opfunc(x)
        gradient = gradient.detach().clone()
        return _Place(float(f), gradient, math.nan if direction is None else gradient.dot(direction).item())

    def search(start, direction, length):
        """A place that is low and flat enough, or None, and how far away it is."""
        point.add_(direction, alpha=length)
        here, other, apart, bound, left = at(direction), start, -length, None, min(limit, most - calls)
        while True:
            while (here.f > start.f + length * rho * start.slope or here.slope > -sig * start.slope) and left > 0:
                bound, step = length, _between(start, other, here, apart, inside)
                length, left = length + step, left - 1
                point.add_(direction, alpha=step)
                here, apart = at(direction), apart - step
            if here.f > start.f + length * rho * start.slope or here.slope > -sig * start.slope:
                return None, length
            if here.slope > sig * start.slope:
                return here, length
            if left <= 0:
                return None, length
            step = _beyond(other, here, apart, length, bound, inside, ext)
            other, apart, length, left = here, -step, length + step, left - 1
            point.add_(direction, alpha=step)
            here = at(direction)

    here = at(None)
    history, direction, failed = [here.f], here.gradient.neg(), False
    here = here._replace(slope=-direction.dot(direction).item())
    length = 1 / (1 - here.slope)
    while calls < most:
        before = point.clone()
        lowest, length = search(here, direction, length)
        if lowest is not None:
            history.append(lowest.f)
            change = lowest.gradient.dot(lowest.gradient).item() - lowest.gradient.dot(here.gradient).item()
            direction = direction * (change / here.gradient.dot(here.gradient).item()) - lowest.gradient
            slope, failed = lowest.gradient.dot(direction).item(), False
            if slope > 0:                                # not downwards: begin again
                direction = lowest.gradient.neg()
                slope = -direction.dot(direction).item()
            length *= min(ratio, _over(here.slope, slope) if slope else ratio)
            here = lowest._replace(slope=slope)
        else:
            point.copy_(before)
            if failed or calls > most:
                break
            direction, failed = here.gradient.neg(), True
            here = here._replace(slope=-direction.dot(direction).item())
            length = 1 / (1 - here.slope)
    state["evalCounter"] = state.get("evalCounter", 0) + calls
    return x, history, calls
