"""Line searches: how far to go along a direction, and where a polynomial through some points is least."""
from __future__ import annotations

import math

from ...dtypes import float64
from ...linalg import eigvals, solve
from ...ops.creation.fill import tensor
from ...optim.linesearch import Point, cubic_minimum, strong_wolfe


def lswolfe(opfunc, x, t, d, f, g, gtd, options=None):
    """Go along a direction until Wolfe's conditions hold, for the `lineSearch` of `lbfgs`.

    Args:
        opfunc: gives the function and its gradient at x.
        x: the point, a vector, moved in place.
        t: the first length to try.
        d: the direction, a vector.
        f, g: the function and its gradient at x.
        gtd: the slope along the direction, g . d.
        options: a dict of `c1` (1e-4) and `c2` (0.9), Wolfe's constants, `tolX` (1e-9), the least movement, and `maxIter` (20).

    Returns:
        The function and its gradient at the end, x, the length, and how often `opfunc` was called.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([3.0])
        >>> f, g, x, t, calls = torch.legacy.optim.lswolfe(lambda x: (x.square().sum().item(), 2 * x), x, 1.0, torch.tensor([-6.0]),
        ...                                                9.0, torch.tensor([6.0]), -36.0)
        >>> f, x, t
        (0.0, tensor([0.]), 0.5)
    """
    options = options or {}
    point = x.detach()
    start = point.clone()

    def probe(length):
        point.copy_(start).add_(d, alpha=length)
        fx, gradient = opfunc(x)
        return float(fx), gradient.detach().clone()

    fx, gradient, length, calls = strong_wolfe(probe, t, float(f), g.detach(), float(gtd), d, most=options.get("maxIter", 20),
                                               c1=options.get("c1", 1e-4), c2=options.get("c2", 0.9),
                                               least_change=options.get("tolX", 1e-9))
    point.copy_(start).add_(d, alpha=length)
    return fx, gradient, x, length, calls


def polyinterp(points, xminBound=None, xmaxBound=None):
    """Where the polynomial through some points is least.

    Args:
        points: (K, 3), places, values and slopes; NaN for a value or slope that is not known.
        xminBound, xmaxBound: where to look; between the outermost places when None.

    Returns:
        The place, a Python number.

    Raises:
        ValueError: nothing is known.

    Example:
        >>> import numtorch as torch
        >>> torch.legacy.optim.polyinterp(torch.tensor([[0., 1., -2.], [2., 1., 2.]]))
        1.0
    """
    rows = [tuple(map(float, row)) for row in points]
    places = [x for x, _, _ in rows]
    low, high = min(places) if xminBound is None else xminBound, max(places) if xmaxBound is None else xmaxBound
    if len(rows) == 2 and not any(map(math.isnan, rows[0] + rows[1])):
        return cubic_minimum(*[Point(x, f, None, g) for x, f, g in rows], low, high)
    known = [(x, value, slope) for x, f, g in rows for slope, value in enumerate((f, g)) if not math.isnan(value)]
    if not known:
        raise ValueError("polyinterp: expected values or slopes, got none")
    powers = range(len(known))
    system = [[n * x ** (n - 1) if slope and n else 0.0 if slope else x ** n for n in powers] for x, _, slope in known]
    factors = solve(tensor(system, dtype=float64), tensor([value for _, value, _ in known], dtype=float64)).tolist()
    critical = _roots([n * factor for n, factor in enumerate(factors)][1:])
    return min([low, high, *[x for x in (*places, *critical) if low <= x <= high]],
               key=lambda x: sum(factor * x ** n for n, factor in enumerate(factors)))


def _roots(factors):
    """The real roots of a polynomial, whose factors begin with that of 1: eigenvalues of its companion matrix."""
    largest = max(map(abs, factors), default=0.0)
    while factors and abs(factors[-1]) <= 1e-12 * largest:
        factors = factors[:-1]
    if len(factors) < 2:
        return []
    count = len(factors) - 1
    companion = [[float(i == j + 1) for j in range(count - 1)] + [-factors[i] / factors[-1]] for i in range(count)]
    return [root.real for root in eigvals(tensor(companion, dtype=float64)).tolist() if abs(root.imag) < 1e-9 * (1 + abs(root))]
