"""Distances, and losses that want some pairs nearer to each other or higher than others."""
from __future__ import annotations

from ..layout import wrap_dim
from ..ops.core.arguments import numpy_keywords, truth
from ..ops.core.operands import layout_of, result_type
from ..ops.loss import elementwise_losses
from ..ops.loss.elementwise_losses import legacy_reduction, reduced
from ..ops.memory.copies import to_dtype
from ..ops.pointwise.arithmetic import div, mul
from ..ops.pointwise.bounds import clamp_low
from ..ops.pointwise.comparison import eq
from ..ops.pointwise.elementary import sqrt
from ..ops.reduce import reductions
from ..ops.reduce.query import broadcast_tensors
from ..tensor import Tensor


@numpy_keywords
def cosine_similarity(x1, x2, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along a dimension.

    Args:
        x1, x2: broadcast against each other, and promoted to one dtype.
        dim: along which vectors lie, in the broadcast shape; 1 by default.
        eps: the least length that is divided by.

    Returns:
        The broadcast shape without `dim`.

    Raises:
        RuntimeError: neither is of floating point.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.cosine_similarity(torch.tensor([[3., 4.]]), torch.tensor([[4., 3.]]))
        tensor([0.9600])
    """
    if layout_of("cosine_similarity", x1, "x1").dtype is not layout_of("cosine_similarity", x2, "x2", 2).dtype:
        kind = result_type(x1, x2)
        x1, x2 = to_dtype(x1, kind), to_dtype(x2, kind)
    if not x1.layout.dtype.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {x1.layout.dtype.title}")
    if x1.layout.ndim != x2.layout.ndim:
        x1, x2 = broadcast_tensors(x1, x2)
    elif x1.layout.ndim:
        along = wrap_dim(dim, x1.layout.ndim)
        if x1.layout.shape[along] != x2.layout.shape[along]:         # one number that stands for a vector has that vector's length
            x1, x2 = broadcast_tensors(x1, x2)
    lengths = [clamp_low(reductions.norm(x, 2, dim, keepdim=True), eps) for x in (x1, x2)]
    return reductions.sum(mul(div(x1, lengths[0]), div(x2, lengths[1])), dim)


@numpy_keywords
def pairwise_distance(x1, x2, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension.

    Args:
        x1, x2: (*, D), broadcast against each other.
        p: the norm's order.
        eps: added to every difference, against a slope that is not defined at 0.
        keepdim: leave the last dimension with extent 1.

    Returns:
        (*), or (*, 1) with `keepdim`.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.pairwise_distance(torch.tensor([[3., 4.]]), torch.tensor([0., 0.]))
        tensor([5.0000])
    """
    return reductions.norm(x1 - x2 + eps, p, -1, keepdim)


def _check_triplet(anchor, positive, negative, margin):
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    named = enumerate(dict(anchor=anchor, positive=positive, negative=negative).items(), 1)
    dims = [layout_of("triplet_margin_loss", x, name, place).ndim for place, (name, x) in named]
    if len(set(dims)) > 1:
        raise RuntimeError(f"The anchor, positive, and negative tensors are expected to have the same number of dimensions, but "
                           f"got: anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs")


def hinge_embedding_loss(input, target, margin: float = 1.0, size_average=None, reduce=None, reduction: str = "mean") -> Tensor:
    """input where the target is 1, max(0, margin - input) where it is -1: for distances of pairs that are alike or not.

    Args:
        input: of any shape.
        target: of that shape, 1 and -1.
        margin: how far apart unlike pairs are wanted.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" of all terms, or "none".

    Returns:
        A 0-dim tensor; with "none" one of the input's shape.

    Raises:
        ValueError: an unknown reduction.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.hinge_embedding_loss(torch.tensor([0.5, 0.25]), torch.tensor([1., -1.]), reduction="none")
        tensor([0.5000, 0.7500])
    """
    return reduced(elementwise_losses.hinge_terms(input, target, margin), legacy_reduction(size_average, reduce, reduction))


def margin_ranking_loss(input1, input2, target, margin: float = 0, size_average=None, reduce=None,
                        reduction: str = "mean") -> Tensor:
    """max(0, -target * (input1 - input2) + margin): 1 in the target wants input1 above input2, -1 below.

    Args:
        input1, input2, target: (N) or (), which broadcast among themselves.
        margin: by how much.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" of all terms, or "none".

    Returns:
        A 0-dim tensor; with "none" one of the input's shape.

    Raises:
        RuntimeError: numbers of dimensions differ.
        ValueError: an unknown reduction.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.margin_ranking_loss(torch.tensor([1., 2.]), torch.tensor([3., 0.]), torch.ones(2), reduction="none")
        tensor([2., 0.])
    """
    named = enumerate(dict(input1=input1, input2=input2, target=target).items(), 1)
    if len({layout_of("margin_ranking_loss", x, name, place).ndim for place, (name, x) in named}) > 1:
        raise RuntimeError(f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
                           f"{input1.layout.size}, input2: {input2.layout.size}, target: {target.layout.size} ")
    return reduced(clamp_low(mul(target, input2 - input1) + margin, 0), legacy_reduction(size_average, reduce, reduction))


def _cosine(x1, x2):
    """The cosine as the loss has it: 1e-12 is added to the squares of both lengths, so that a zero vector has a finite slope."""
    lengths = mul(reductions.sum(mul(x1, x1), -1) + 1e-12, reductions.sum(mul(x2, x2), -1) + 1e-12)
    return div(reductions.sum(mul(x1, x2), -1), sqrt(lengths))


def cosine_embedding_loss(input1, input2, target, margin: float = 0, size_average=None, reduce=None,
                          reduction: str = "mean") -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1, with the cosine of input1 and input2.

    Args:
        input1, input2: (N, D) or (D).
        target: (N) or (), 1 and -1.
        margin: the cosine that unlike pairs may have, from -1 to 1.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" of all terms, or "none".

    Returns:
        A 0-dim tensor; with "none" one of the target's shape.

    Raises:
        RuntimeError: dimensions that do not fit.
        ValueError: an unknown reduction.

    Example:
        >>> import numtorch as torch
        >>> x, y = torch.tensor([[3., 4.], [1., 0.]]), torch.tensor([[4., 3.], [0., 1.]])
        >>> torch.nn.functional.cosine_embedding_loss(x, y, torch.tensor([-1, 1]), reduction="none")
        tensor([0.9600, 1.0000])
    """
    if layout_of("cosine_embedding_loss", target, "target", 3).ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    first = layout_of("cosine_embedding_loss", input1, "input1")
    second = layout_of("cosine_embedding_loss", input2, "input2", 2)
    if not first.ndim == second.ndim == target.layout.ndim + 1:
        raise RuntimeError(f"{target.layout.ndim}D target tensor expects {target.layout.ndim + 1}D input tensors, but found inputs "
                           f"with sizes {list(input1.layout.shape)} and {list(input2.layout.shape)}.")
    similarity = _cosine(input1, input2)
    terms = mul(to_dtype(eq(target, 1), input1.layout.dtype), 1 - similarity)
    terms = terms + mul(to_dtype(eq(target, -1), input1.layout.dtype), clamp_low(similarity - margin, 0))
    return reduced(terms, legacy_reduction(size_average, reduce, reduction))


def triplet_margin_loss(anchor, positive, negative, margin: float = 1.0, p: float = 2, eps: float = 1e-6, swap: bool = False,
                        size_average=None, reduce=None, reduction: str = "mean") -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), with `pairwise_distance` as d (Balntas et al. 2016).

    Args:
        anchor, positive, negative: (N, D) or (D).
        margin: how much farther the negative is wanted than the positive.
        p, eps: of the distance.
        swap: take d(positive, negative) where that is less than d(anchor, negative).
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" of all terms, or "none".

    Returns:
        A 0-dim tensor; with "none" (N) or ().

    Raises:
        RuntimeError: numbers of dimensions differ.
        ValueError: a margin that is not positive, or an unknown reduction.

    Example:
        >>> import numtorch as torch
        >>> anchor, near, far = torch.zeros(1, 2), torch.tensor([[3., 4.]]), torch.tensor([[0., 5.]])
        >>> torch.nn.functional.triplet_margin_loss(anchor, near, far)
        tensor(1.0000)
    """
    _check_triplet(anchor, positive, negative, margin)
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if truth("triplet_margin_loss", "swap", swap):
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return reduced(clamp_low(near - far + margin, 0), legacy_reduction(size_average, reduce, reduction))


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin: float = 1.0,
                                      swap: bool = False, reduction: str = "mean") -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), with any distance d.

    Args:
        anchor, positive, negative: (N, *) or (*), as the distance takes them.
        distance_function: `d(x, y)`, one number for each pair; `pairwise_distance` when None.
        margin: how much farther the negative is wanted than the positive.
        swap: take d(positive, negative) where that is less than d(anchor, negative).
        reduction: "mean" or "sum" of all terms, or "none".

    Returns:
        A 0-dim tensor; with "none" of the distances' shape.

    Raises:
        RuntimeError: numbers of dimensions differ.
        ValueError: a margin that is not positive, or an unknown reduction.

    Example:
        >>> import numtorch as torch
        >>> def most(x, y):
        ...     return (x - y).abs().amax(-1)
        >>> anchor, near, far = torch.zeros(1, 2), torch.tensor([[3., 4.]]), torch.tensor([[0., 5.]])
        >>> torch.nn.functional.triplet_margin_with_distance_loss(anchor, near, far, distance_function=most)
        tensor(0.)
    """
    _check_triplet(anchor, positive, negative, margin)
    distance = pairwise_distance if distance_function is None else distance_function
    far = distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced(clamp_low(distance(anchor, positive) - far + margin, 0), reduction)
