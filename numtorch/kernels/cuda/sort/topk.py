"""The largest k, the k-th and the median on a GPU: lines are sorted (sort.py), and what is wanted is written."""
from __future__ import annotations

from .sort import MEDIAN, MEDIAN_OF_NUMBERS, plan_chosen


def plan_topk(dtype: str, outer: int, R: int, inner: int, k: int, descending: bool = True, device: int = 0):
    """The k largest in order (the smallest, if not `descending`) and where they were; 0 < k <= R.

    Addresses: x (outer, R, inner), values (outer, k, inner), indices (outer, k, inner) int64, workspace.
    """
    return plan_chosen(dtype, outer, R, inner, descending, 0, k, device)


def plan_kth(dtype: str, outer: int, R: int, inner: int, k: int, device: int = 0):
    """The element with k before it in order, NaN greatest, and where it was; 0 <= k < R.

    Addresses: x (outer, R, inner), values (outer, inner), indices (outer, inner) int64, workspace.
    """
    return plan_chosen(dtype, outer, R, inner, False, k, 1, device)


def plan_median(dtype: str, outer: int, R: int, inner: int, skip_nan: bool, device: int = 0):
    """The lower median: of the numbers, or the first NaN where there is one and `skip_nan` is false. Addresses as for plan_kth."""
    return plan_chosen(dtype, outer, R, inner, False, MEDIAN_OF_NUMBERS if skip_nan else MEDIAN, 1, device)
