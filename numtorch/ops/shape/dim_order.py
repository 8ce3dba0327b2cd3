"""In which order a tensor's dimensions lie in memory."""
from __future__ import annotations

from itertools import pairwise

from ...layout import channels_last, memory_format
from ...tensor import Tensor
from ..core.operands import method


def _behind(layout, first, second) -> int:
    """1 where the first of two dimensions lies inside the second, -1 where it is outside of it, 0 where nothing tells."""
    a, b = layout.strides[first], layout.strides[second]
    if not a or not b:
        return 0
    return (a > b) - (a < b) or int(layout.shape[first] > layout.shape[second])


@method
def dim_order(self: Tensor, *, ambiguity_check=False) -> tuple[int, ...]:
    """The dimensions by how they lie in memory, the outermost first.

    Args:
        ambiguity_check: refuse an order that is not the only one there is, since a dimension has one element or two have the same
            stride: True, or memory formats of which one and only one may be the tensor's.

    Raises:
        RuntimeError: there are several orders.
        TypeError: `ambiguity_check` is something else.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last).dim_order()
        (0, 2, 3, 1)
    """
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, bool | list) or not all(isinstance(each, memory_format) for each in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    layout = self.layout
    several = 1 in layout.shape or any(a == b for a, b in pairwise(layout.strides))
    refusal = RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory formats.")
    if ambiguity_check is not False and several and sum(self.is_contiguous(memory_format=each) for each in formats) != 1:
        raise refusal
    contiguous, last = layout.contiguous, self.is_contiguous(memory_format=channels_last)
    if contiguous != last:                               # of which each leaves dimensions of one element open
        return tuple(range(layout.ndim)) if contiguous else (0, 2, 3, 1)
    order = list(range(layout.ndim))[::-1]               # sorted by insertion, as PyTorch does: what nothing tells apart stays
    for place in range(1, len(order)):
        for before in reversed(range(place)):
            comparison = _behind(layout, order[before], order[place])
            if comparison > 0:
                order[before], order[place] = order[place], order[before]
                place = before
            elif comparison < 0:
                break
    if ambiguity_check and any(_behind(layout, *pair) >= 0 for pair in pairwise(order)):
        raise refusal
    return tuple(reversed(order))
