"""Sums into memory of which several elements may lie in one place, as windows that overlap do."""
from __future__ import annotations

from ...binding import ScalarBody
from ...elementtypes import compute_type
from ..pointwise.pointwise import plan_pointwise


def _sum_of(x, y):
    return x + y


def plan_add_overlapping(dtype: str, shape: tuple, strides: tuple, source_strides: tuple):
    """target += source, an element after another. Addresses: target, source.

    Args:
        dtype: of both.
        shape, strides, source_strides: their extents, and their strides in elements.
    """
    compute = compute_type(dtype)
    return plan_pointwise(ScalarBody(_sum_of, compute), (dtype, dtype), (dtype,), shape, [strides, source_strides],
                          compute=(compute,) * 2, written=0, cost=0)
