"""take and put: elements at places in the flattened tensor."""
from __future__ import annotations

from ...tensor import Tensor
from ..core.arguments import truth
from ..core.operands import layout_of, method
from ..memory.assign import copy_
from ..memory.copies import clone
from ..memory.resize import into_exactly
from ..memory.writing import into_fresh
from ..shape.views import reshape, view
from .index_op import check_index, same_dtype
from .index_select import index_values, put_flat


@method
def take(input, index, *, out=None) -> Tensor:
    """The elements of the flattened tensor at `index`, in the shape of `index`.

    Args:
        input: of any dtype and shape.
        index: (*) int64 or int32, in row-major order; negative ones count from the end.
        out: a tensor to write the result to.

    Raises:
        IndexError: an index out of bounds.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1, 2, 3], [4, 5, 6]]).take(torch.tensor([0, -1]))
        tensor([1, 6])
    """
    check_index("take", index)
    flat = input if layout_of("take", input).ndim == 1 else reshape(input, -1)
    return into_exactly("take", out, index_values(flat, (0,), (index,), "flattened"), input, index)


@method
def put_(self, index, source, accumulate: bool = False) -> Tensor:
    """Write the elements of `source` to places in this tensor seen as flattened, or add them there, and return this tensor.

    Args:
        index: (*) int64 or int32, in row-major order; negative ones count from the end.
        source: as many elements as `index`, of this tensor's dtype.
        accumulate: whether to add; else of equal indices the last wins.

    Raises:
        RuntimeError: another dtype.
        IndexError: an index out of bounds, or not as many elements as indices.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1., 2.], [3., 4.]]).put_(torch.tensor([0, 3]), torch.tensor([7., 8.]))
        tensor([[7., 2.],
                [3., 8.]])
    """
    reduce = "add" if truth("put_", "accumulate", accumulate) else None
    check_index("put_", index)
    same_dtype("put_", self, source)
    if index.layout.numel != source.layout.numel:
        raise IndexError(f"put_(): Expected source and index to have the same number of elements, but got source.numel() = "
                         f"{source.layout.numel}, index.numel() = {index.layout.numel}")
    if not self.layout.contiguous and (whole := clone(self, memory_format="contiguous_format")).layout.contiguous:
        return copy_(self, into_fresh(put_, whole, index, source, accumulate))
    if self.layout.contiguous and not self.layout.ndim == index.layout.ndim == source.layout.ndim == 1:
        put_flat(view(self, -1), reshape(index, -1), reshape(source, -1), reduce)
        return self
    return put_flat(self, index, source, reduce)         # sparse tensors are refused there


@method
def put(input, index, source, accumulate: bool = False) -> Tensor:
    """A copy of the tensor after `put_`.

    Args:
        input: of any shape.
        index, source, accumulate: as for `put_`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1., 2.], [3., 4.]]).put(torch.tensor([0, 3]), torch.tensor([7., 8.]), accumulate=True)
        tensor([[ 8.,  2.],
                [ 3., 12.]])
    """
    return into_fresh(put_, clone(input, memory_format="contiguous_format"), index, source, accumulate)
