"""How far to go along a direction: a search for Wolfe's conditions by cubic interpolation (Nocedal and Wright, chapter 3)."""
from __future__ import annotations

import math
from typing import NamedTuple

from ..tensor import Tensor


class Point(NamedTuple):
    """A place along the direction: how far, the loss, the gradient, and its slope along the direction."""

    t: float
    loss: float
    gradient: Tensor
    slope: float


def cubic_minimum(a, b, low=None, high=None) -> float:
    """Where the cubic through two points with these slopes is least, within bounds (the points, unless given)."""
    if low is None:
        low, high = min(a.t, b.t), max(a.t, b.t)
    if a.t > b.t:
        a, b = b, a
    middle = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = middle ** 2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    root = math.sqrt(square)
    return min(max(b.t - (b.t - a.t) * ((b.slope + root - middle) / (b.slope - a.slope + 2 * root)), low), high)


def strong_wolfe(probe, t, loss, gradient, slope, direction, *, most=25, c1=1e-4, c2=0.9, least_change=1e-9):
    """A step that lowers the loss enough, at whose end the slope is flat enough.

    Args:
        probe: `probe(t)` gives loss and gradient so far along the direction.
        t: the first length to try.
        loss, gradient, slope: at the start.
        direction: where to, as a vector.
        most: most steps of the search.
        c1, c2: Wolfe's constants.
        least_change: end when the parameters would move by less.

    Returns:
        Loss and gradient at the end, its length, and how often `probe` was called.
    """
    def at(length):
        value, grad = probe(length)
        return Point(length, value, grad, grad.dot(direction).item())

    start, reach = Point(0.0, loss, gradient.clone(), slope), direction.abs().max().item()
    before, point, calls, steps = start, at(t), 1, 0
    while True:                                          # away from the start, until a minimum lies between two points
        if steps >= most:
            bracket = [start, point]
            break
        if point.loss > start.loss + c1 * point.t * slope or (steps > 1 and point.loss >= before.loss):
            bracket = [before, point]
            break
        if abs(point.slope) <= -c2 * slope:
            return point.loss, point.gradient, point.t, calls
        if point.slope >= 0:
            bracket = [before, point]
            break
        following = cubic_minimum(before, point, point.t + 0.01 * (point.t - before.t), point.t * 10)
        before, point = point, at(following)
        calls, steps = calls + 1, steps + 1
    low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
    slow = False                                         # the last point came close to an end
    while steps < most and abs(bracket[1].t - bracket[0].t) * reach >= least_change:
        t = cubic_minimum(*bracket)
        first, last = sorted(point.t for point in bracket)
        margin = 0.1 * (last - first)
        near = min(last - t, t - first) < margin
        if near and (slow or t >= last or t <= first):
            t, near = last - margin if abs(t - last) < abs(t - first) else first + margin, False
        slow = near
        point = at(t)
        calls, steps = calls + 1, steps + 1
        if point.loss > start.loss + c1 * t * slope or point.loss >= bracket[low].loss:
            bracket[high] = point
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
            continue
        done = abs(point.slope) <= -c2 * slope
        if not done and point.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = point
        if done:
            break
    end = bracket[low]
    return end.loss, end.gradient, end.t, calls
