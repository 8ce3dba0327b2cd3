"""Search in what is sorted: searchsorted and bucketize."""
from __future__ import annotations

from math import prod

from ...dtypes import int32, int64
from ...kernels.threads import NOTHING
from ...layout import Layout
from ...tensor import Tensor, empty
from ..core.arguments import expect_layout
from ..core.backends import kernels
from ..core.operands import as_operand, layout_of, result_dtype
from ..core.primitive import Primitive
from ..index.gather_scatter import gather
from ..memory.copies import contiguous, to_device, to_dtype
from ..memory.resize import into_exactly

SEARCHSORTED = Primitive("searchsorted", samples="T([1, 2, 3]), T([2, 4]); True, False")


@SEARCHSORTED.planned
def _plan_search(edges, x, right, out_int32):
    """The result's layout and the kernel."""
    if edges.dtype.is_complex:
        raise NotImplementedError(f'"searchsorted" not implemented for \'{edges.dtype.title}\': complex numbers have no order')
    expect_layout("searchsorted", "input", x, None, edges.dtype)
    if not edges.ndim or (edges.ndim > 1 and edges.shape[:-1] != x.shape[:-1]):
        raise RuntimeError(f"torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
                           f"boundaries tensor and input value tensor must match, but we got boundaries tensor {list(edges.shape)} "
                           f"and input value tensor {list(x.shape)}")
    out, rows = Layout.of(int32 if out_int32 else int64, x.shape, None, x.device), prod(edges.shape[:-1])
    if not x.numel:
        return out, NOTHING
    return out, kernels(x.device, "sort.runs").plan_places(x.dtype.kernel, rows, x.numel // rows, edges.shape[-1], edges.ndim == 1,
                                                           right, out_int32)


@SEARCHSORTED.run
def _places(plan, edges: Tensor, x: Tensor, right: bool, out_int32: bool):
    layout, prepared = plan
    out, edges, x = empty(layout), contiguous(edges.detach()), contiguous(x.detach())
    prepared.call(edges.address, x.address, out.address, prepared.descriptor)
    return out


def _search(edges, x, out_int32, right):
    if x.layout.weak:
        x = to_device(x, edges.layout.device)
    if edges.layout.dtype is not x.layout.dtype:
        common = result_dtype([edges.layout, x.layout])
        edges, x = to_dtype(edges, common), to_dtype(x, common)
    return _places(edges, x, right, out_int32)


def searchsorted(sorted_sequence, input, *, out_int32: bool = False, right: bool = False, side=None, sorter=None,
                 out=None) -> Tensor:
    """Where elements would be inserted into sorted ones to keep these sorted: before equal ones, or behind them.

    Args:
        sorted_sequence: sorted along the last dimension: a vector, or with the leading dimensions of `input`.
        input: a tensor or a number.
        out_int32: whether the result is int32 rather than int64.
        right, side: behind equal elements, with `right=True` or `side="right"`.
        sorter: indices that sort an unsorted `sorted_sequence`.
        out: a tensor to write the result to.

    Returns:
        Of the shape of `input`.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or `side` and `right` disagree.

    Example:
        >>> import numtorch as torch
        >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6]))
        tensor([1, 3])
    """
    if side is not None:
        if side not in ("left", "right"):
            raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
        if right and side == "left":
            raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got side of left while right was "
                               "True")
        right = side == "right"
    x = as_operand("searchsorted", input)
    if not layout_of("searchsorted", sorted_sequence, "sorted_sequence").ndim:
        raise RuntimeError("torch.searchsorted(): sorted_sequence should have at least 1 dimension, but got a 0-dim tensor")
    if sorter is not None:
        if layout_of("searchsorted", sorter, "sorter").shape != sorted_sequence.layout.shape:
            raise RuntimeError("torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                               f"{list(sorted_sequence.layout.shape)} and got sorter tensor {list(sorter.layout.shape)}")
        sorted_sequence = gather(sorted_sequence.detach(), -1, sorter)
    result = _search(sorted_sequence, x, out_int32, right)
    return into_exactly("searchsorted", out, result)


def bucketize(input, boundaries, *, out_int32: bool = False, right: bool = False, out=None) -> Tensor:
    """The number of the bucket that each element belongs to, between a vector of sorted boundaries.

    Args:
        input: a tensor or a number.
        boundaries: (n,), sorted, of the input's dtype. Bucket 0 lies below the first, bucket n above the last.
        out_int32: whether the result is int32 rather than int64.
        right: whether a bucket contains its lower boundary rather than its upper one.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: boundaries of more than one dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.bucketize(torch.tensor([0, 3, 6]), torch.tensor([1, 3, 5]))
        tensor([0, 1, 3])
    """
    if layout_of("bucketize", boundaries, "boundaries", 2).ndim != 1:
        raise RuntimeError(f"torch.bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.layout.ndim})")
    x = as_operand("bucketize", input)
    result = _search(boundaries, x, out_int32, right)
    return into_exactly("bucketize", out, result)
