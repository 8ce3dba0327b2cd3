"""Tables of vectors looked up by index: embeddings, bags of them, and one-hot vectors."""
from __future__ import annotations

import warnings

from ...autograd.graph import GraphNode, recording
from ...autograd.modes import modes, no_grad
from ...autograd.writes import mark_written
from ...dtypes import float32, float64, int32, int64
from ...kernels.threads import NOTHING
from ...layout import Layout, ints
from ...tensor import Tensor, empty
from ..core.arguments import integer
from ..core.backends import has_kernels, kernels
from ..core.late import later
from ..core.operands import layout_of
from ..core.primitive import Primitive
from ..core.status import has_values, run_marking
from ..creation.ranges import arange
from ..index import widened
from ..index.index_op import RULES, run_indexed, run_through
from ..index.index_select import index_add, index_values, plan_indices, put_values, spread
from ..index.mask import nonzero
from ..index.scatter_reduce import scatter_reduce
from ..memory.assign import filled
from ..memory.copies import contiguous, to_dtype
from ..pointwise import arithmetic, bounds, comparison
from ..reduce import reductions
from ..shape.views import expand, reshape, unsqueeze
from ..sort.scan import diff
from ..sort.search import searchsorted
from ..sort.unique import unique

EMBEDDING = Primitive("embedding", samples="T[3, 4], int64([[0, 2], [2, 1]]); -1, False, 'embedding', False")
EMBEDDING_BAG = Primitive("embedding_bag", samples="T[3, 4], int64([2, 0, 1]), int64([0, 2]); True")
ONE_HOT = Primitive("one_hot", samples="T([0, 2, 1]); 3")

# ---------------------------------------------------------------- one vector an index


def embedding(weight, indices, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """Rows of `weight` at `indices`: what `functional.embedding` is, with the table first.

    Args:
        weight: (V, D).
        indices: int64 or int32 (*).
        padding_idx: a row that gets no gradient; -1 for none.
        scale_grad_by_freq: divide a row's gradient by how often it was named.
        sparse: whether the weight's gradient is a COO tensor of the rows that were named.

    Returns:
        (*, D).

    Raises:
        IndexError: an index that is negative or not below V.
        RuntimeError: in backward, `sparse` with `scale_grad_by_freq`.

    Example:
        >>> import numtorch as torch
        >>> torch.embedding(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1, 0, 1]))
        tensor([[3., 4.],
                [1., 2.],
                [3., 4.]])
    """
    if type(padding_idx) is not int:
        padding_idx, = ints((padding_idx,), "embedding: padding_idx")
    return _rows_of(weight, indices, padding_idx, scale_grad_by_freq, "embedding", sparse)


@EMBEDDING.planned
def _plan_rows(weight, indices, padding_idx, scale_grad_by_freq, name, sparse):
    if indices.dtype not in (int64, int32):
        raise RuntimeError(f"embedding(): Expected dtype int64 or int32 for index, got {indices.dtype.name}")
    if weight.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {weight.ndim}-D")
    return plan_indices(weight, (0,), [indices], name)


@EMBEDDING.run
def _rows_of(plan, weight: Tensor, indices: Tensor, padding_idx, scale_grad_by_freq, name, sparse):
    """The rows; `name` is of the function, and so of the rule for its indices."""
    out = empty(plan.out)
    run_indexed(plan.prepared, weight, (indices,), out, plan.bounds, plan.complaint)
    if weight.node is not None and recording(weight):
        out.node = GraphNode(EMBEDDING, (weight.node,), (indices,), (weight.layout, padding_idx, scale_grad_by_freq, sparse))
    return out


def _added_rows(grad, layout, indices):
    """The rows of a gradient at their indices, added up, those of 16-bit floats in float32, as PyTorch's are on a GPU."""
    if widened.is_needed(grad.layout, "add"):
        return to_dtype(spread(to_dtype(grad, float32), layout, (0,), (indices,)), grad.layout.dtype)
    return spread(grad, layout, (0,), (indices,))


@EMBEDDING.derivative
def _embedding_vjp(node, grad, indices):
    layout, padding, by_frequency, sparse = node.attributes
    if sparse:
        if by_frequency:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        return (later["sparse_rows"](grad, indices, layout, padding),)
    if by_frequency:
        counts = to_dtype(_counts(reshape(indices, -1), layout.shape[0]), grad.layout.dtype)
        grad = grad / unsqueeze(index_values(counts, (0,), (indices,)), -1)
    if padding >= 0 and modes.recording:                 # the write below would not be differentiable
        grad = arithmetic.where(unsqueeze(comparison.eq(indices, padding), -1), 0, grad)
    out = _added_rows(grad, layout, indices)
    if padding >= 0 and not modes.recording:
        put_values(out, (0,), (filled(Layout.of(int64, (1,), None, layout.device), padding),),
                   filled(Layout.of(layout.dtype, (), None, layout.device), 0), False)
    return (out,)


@no_grad()
def embedding_renorm_(weight, indices, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Scale the rows of `weight` that `indices` name and whose norm is above `max_norm` down to it, in place.

    Args:
        weight: (V, D).
        indices: integers (*).
        max_norm, norm_type: the largest norm that is left, and its order.

    Returns:
        `weight`.

    Example:
        >>> import numtorch as torch
        >>> torch.embedding_renorm_(torch.tensor([[3., 4.], [0., 9.]]), torch.tensor([0]), 1.0)
        tensor([[0.6000, 0.8000],
                [0.0000, 9.0000]])
    """
    layout_of("embedding_renorm_", weight, "weight")
    rows = unique(reshape(indices, -1))
    vectors = index_values(weight, (0,), (rows,))
    size = reductions.norm(vectors, norm_type, 1, True)
    scale = arithmetic.where(comparison.gt(size, max_norm), max_norm / (size + 1e-7), 1)
    put_values(weight.detach(), (0,), (rows,), vectors * scale, False)
    mark_written(weight.memory, "embedding_renorm_")
    return weight


def _padding(rows, padding_idx):
    """A padding index made positive; -1 for none."""
    if padding_idx is None:
        return -1
    if type(padding_idx) is not int:
        padding_idx, = ints((padding_idx,), "padding_idx")
    if not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % rows


def lookup(input, weight, padding_idx=None, max_norm=None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
           sparse: bool = False) -> Tensor:
    """Rows of `weight` at the indices `input`.

    Args:
        input: int64 or int32 indices (*).
        weight: (V, D).
        padding_idx: a row that receives no gradient; negative from the end, None for none.
        max_norm: rows of a larger norm are scaled down to it first, in place.
        norm_type: the order of that norm.
        scale_grad_by_freq: divide a row's gradient by how often it is named.
        sparse: whether the weight's gradient is a COO tensor of the rows that were named.

    Returns:
        (*, D).

    Raises:
        IndexError: an index out of range.
        RuntimeError: in backward, `sparse` with `scale_grad_by_freq`.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.embedding(torch.tensor([2, 0]), torch.tensor([[1., 2.], [3., 4.], [5., 6.]]))
        tensor([[5., 6.],
                [1., 2.]])
    """
    if layout_of("embedding", weight, "weight", 2).ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {weight.layout.ndim}-D")
    padding = _padding(weight.layout.shape[0], padding_idx)
    if max_norm is not None:
        embedding_renorm_(weight, input, max_norm, norm_type)
    return embedding(weight, input, padding, scale_grad_by_freq, sparse)


# ---------------------------------------------------------------- one vector a bag of indices
def _check_bags(input, offsets):
    if layout_of("embedding_bag", input).ndim == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                             "sequences. However, found offsets of type <class 'numtorch.Tensor'>")
        return
    if input.layout.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.layout.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if layout_of("embedding_bag", offsets, "offsets", 3).ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")


def _check_starts(input, offsets):
    """Raise RuntimeError where bags begin before the first index, behind the last, or before the bag before them."""
    if offsets is None or not offsets.layout.numel or not has_values(offsets):
        return
    first, last = offsets[0].item(), offsets[-1].item()
    if first != 0:
        raise RuntimeError(f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
                           f"However, got {first}")
    if last > input.layout.numel:
        raise RuntimeError(f"offsets[-1] can not be greater than input's length({input.layout.numel}) but got offsets[-1] of "
                           f"{last}")
    places = nonzero(comparison.lt(diff(offsets), 0))
    if places.layout.numel:                              # which elements are in such bags cannot be told
        place = int(places[0, 0].item())
        raise RuntimeError(f"embedding_bag: expected offsets that do not decrease, but offsets[{place + 1}] is "
                           f"{offsets[place + 1].item()} after {offsets[place].item()}")


def _bags(input, offsets, include_last_offset):
    """A vector of indices, the bag of each, and how many bags there are."""
    if input.layout.ndim == 2:
        count, length = input.layout.shape
        bags = reshape(expand(unsqueeze(arange(count, device=input.layout.device), 1), count, length), -1)
        return reshape(input, -1), bags, count
    offsets = to_dtype(offsets, int64)
    count = offsets.layout.numel - (1 if include_last_offset else 0)
    places = arange(input.layout.numel, device=input.layout.device)
    return input, searchsorted(offsets[:count], places, right=True) - 1, count


# ---------------------------------------------------------------- sums and means in one kernel
@EMBEDDING_BAG.planned
def _plan_bags(weight, input, offsets, mean):
    """The result's layout, the kernel and the bounds of indices, none of them where it does not take the layouts as they lie."""
    fits = (weight.ndim == 2 and weight.contiguous and weight.dtype in (float32, float64)
            and input.dtype in (int64, int32) and input.contiguous
            and offsets.ndim == 1 and offsets.dtype is int64 and offsets.contiguous)
    if not fits or not has_kernels(weight.device, "index.bags"):
        return None, None, None
    rows, width = weight.shape
    out = Layout.of(weight.dtype, (offsets.numel, width), None, weight.device)
    prepared = kernels(weight.device, "index.bags").plan_sum_bags(
        weight.dtype.kernel, input.dtype.kernel, out.shape[0], input.numel, rows, width, mean)
    return out, prepared, ((0, rows, 0),)


def _refuse_starts(weight, input, offsets, out):
    _check_starts(input, offsets)


@EMBEDDING_BAG.run
def _bag_sums(plan, weight: Tensor, input: Tensor, offsets: Tensor, mean):
    """The bags' sums or means, (B, D), without a copy of the rows."""
    layout, prepared, bounds = plan
    if prepared is None:
        return _bags_of_ops(input, weight, offsets, "mean" if mean else "sum")
    out = empty(layout)
    run_through(prepared, (weight, input, offsets, out), input, bounds, RULES["embedding_bag"][1], _refuse_starts)
    if weight.node is not None and recording(weight):
        out.node = GraphNode(EMBEDDING_BAG, (weight.node,), (input, offsets), (weight.layout, mean))
    return out


@EMBEDDING_BAG.derivative
def _bag_sums_vjp(node, grad, input, offsets):
    layout, mean = node.attributes
    input = reshape(input, -1)
    bags = searchsorted(offsets, arange(input.layout.numel, device=layout.device), right=True) - 1
    if mean:
        grad = grad / _sizes(bags, offsets.layout.numel, layout.dtype)
    return (_added_rows(index_values(grad, (0,), (bags,)), layout, input),)


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type: float = 2, scale_grad_by_freq: bool = False,
                  mode: str = "mean", sparse: bool = False, per_sample_weights=None, include_last_offset: bool = False,
                  padding_idx=None) -> Tensor:
    """Sums, means or maxima of the rows of `weight` that bags of indices name.

    Args:
        input: integers (B, N) for bags of one size, or (N) with `offsets`.
        weight: (V, D). Before `input`, as it stood once, it is taken with a warning.
        offsets: (B), where each bag starts; with `include_last_offset` (B + 1), the last being where the last bag ends.
        max_norm: rows of a larger norm are scaled down to it first, in place.
        norm_type: the order of that norm.
        scale_grad_by_freq: divide a row's gradient by how often it is named.
        mode: "sum", "mean" or "max"; of an empty bag 0.
        sparse: whether the weight's gradient is a COO tensor of the rows that were named.
        per_sample_weights: factors of the rows, of input's shape; only for sums.
        include_last_offset: whether `offsets` has one more.
        padding_idx: an index that does not count.

    Returns:
        (B, D).

    Raises:
        ValueError: the shapes or the mode do not fit.
        IndexError: an index out of range.
        NotImplementedError: weights with another mode than "sum", or `sparse` with "max".

    Example:
        >>> import numtorch as torch
        >>> weight = torch.tensor([[1., 2.], [3., 4.], [5., 6.]])
        >>> torch.nn.functional.embedding_bag(torch.tensor([0, 1, 2]), weight, torch.tensor([0, 1]), mode="sum")
        tensor([[ 1.,  2.],
                [ 8., 10.]])
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for "
                                  f"mode='sum' (got mode='{mode}').")
    rows = layout_of("embedding_bag", weight, "weight", 2)
    if rows.dtype is int64 and layout_of("embedding_bag", input).dtype.category == 2:
        warnings.warn("Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
                      "deprecated, and should now be `embedding_bag(input, weight, ...)`.", stacklevel=2)
        return embedding_bag(weight, input, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse, per_sample_weights,
                             include_last_offset, padding_idx)
    given = None if per_sample_weights is None else layout_of("embedding_bag", per_sample_weights, "per_sample_weights", 8)
    if given is not None and given.shape != input.layout.shape:
        raise ValueError(f"embedding_bag: If per_sample_weights ({list(per_sample_weights.layout.shape)}) is not None, then it "
                         f"must have the same shape as the input ({list(input.layout.shape)})")
    if rows.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {rows.ndim}")
    padding = _padding(rows.shape[0], padding_idx)
    if sparse and mode == "max":
        raise ValueError("max mode does not support sparse weights")
    _check_bags(input, offsets)
    plain = mode != "max" and per_sample_weights is None and padding < 0 and max_norm is None and not scale_grad_by_freq
    if plain and not sparse and not include_last_offset and input.layout.numel:
        if offsets is None:
            count, length = input.layout.shape
            offsets = arange(0, count * length, length, device=input.layout.device)
        return _bag_sums(weight, input, offsets, mode == "mean")
    return _bags_of_ops(input, weight, offsets, mode, max_norm, norm_type, scale_grad_by_freq, per_sample_weights,
                        include_last_offset, padding, sparse)


def _bags_of_ops(input, weight, offsets, mode, max_norm=None, norm_type=2, scale_grad_by_freq=False, per_sample_weights=None,
                 include_last_offset=False, padding=-1, sparse=False):
    """Bags of rows that are copied first, with all options."""
    _check_starts(input, offsets)
    indices, bags, count = _bags(input, offsets, include_last_offset)
    if max_norm is not None:
        embedding_renorm_(weight, indices, max_norm, norm_type)
    factors = None if per_sample_weights is None else reshape(per_sample_weights, -1)
    if padding >= 0:
        kept, = comparison.ne(indices, padding).nonzero(as_tuple=True)
        indices, bags = index_values(indices, (0,), (kept,)), index_values(bags, (0,), (kept,))
        factors = None if factors is None else index_values(factors, (0,), (kept,))
    vectors = _rows_of(weight, indices, -1, scale_grad_by_freq, "embedding_bag", sparse)
    if factors is not None:
        vectors = vectors * unsqueeze(factors, 1)
    start = filled(Layout.of(weight.layout.dtype, (count, weight.layout.shape[1]), None, weight.layout.device), 0)
    if mode == "max":
        return scatter_reduce(start, 0, expand(unsqueeze(bags, 1), *vectors.layout.shape), vectors, "amax", include_self=False)
    total = index_add(start, 0, bags, vectors)
    if mode == "sum":
        return total
    return total / _sizes(bags, count, weight.layout.dtype)


def _sizes(bags, count, dtype):
    """How many rows each bag has, (count, 1), at least 1."""
    return unsqueeze(to_dtype(bounds.clamp_low(_counts(bags, count), 1), dtype), 1)


def _counts(numbers, count):
    """How often each number occurs. They are below `count`: bincount would look for the largest."""
    zeros = filled(Layout.of(int64, (count,), None, numbers.layout.device), 0)
    return index_add(zeros, 0, numbers, filled(Layout.of(int64, numbers.layout.shape, None, numbers.layout.device), 1))


# ---------------------------------------------------------------- one-hot
def one_hot(tensor, num_classes: int = -1) -> Tensor:
    """int64 zeros with a 1 at each index, along a new last dimension.

    Args:
        tensor: int64 indices (*).
        num_classes: the extent C of the new dimension; the largest index + 1 when -1.

    Returns:
        (*, C).

    Raises:
        RuntimeError: not an integer tensor, or an index that is negative or not below `num_classes`.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.one_hot(torch.tensor([2, 0]), 3)
        tensor([[0, 0, 1],
                [1, 0, 0]])
    """
    if num_classes == -1:
        integer("one_hot", "num_classes", num_classes)
        layout = layout_of("one_hot", tensor, "tensor")
        _check_classes(layout)
        if not layout.numel:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        num_classes = max(int(reductions.amax(tensor).item()), 0) + 1
    return _one_hot(tensor, num_classes)


def _check_classes(layout):
    if layout.dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")


@ONE_HOT.planned
def _plan_one_hot(tensor, num_classes):
    _check_classes(tensor)
    ints((num_classes,), "one_hot: num_classes")
    if num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    layout = Layout.of(int64, (*tensor.shape, num_classes), None, tensor.device)
    return layout, kernels(layout.device, "move.rearrange").plan_one_hot(tensor.numel, num_classes) if layout.numel else NOTHING


@ONE_HOT.run
def _one_hot(plan, tensor: Tensor, num_classes: int):
    layout, prepared = plan
    out, classes = empty(layout), contiguous(tensor)
    if run_marking(prepared, classes, out):
        negative = reductions.amin(classes).item() < 0
        raise RuntimeError(f"Class values must be {'non-negative' if negative else 'smaller than num_classes'}.")
    return out
