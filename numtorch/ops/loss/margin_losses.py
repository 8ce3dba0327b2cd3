"""Losses that want the target's score above others' by a margin."""
from __future__ import annotations

from ...tensor import Tensor
from ..core.operands import layout_of
from ..creation.ranges import arange
from ..index.gather_scatter import gather
from ..index.mask import replace_where
from ..pointwise.activation import logsigmoid, relu
from ..pointwise.comparison import eq
from .elementwise_losses import check_reduction, legacy_reduction, reduced


def _classes(name, input, target):
    layout_of(name, target, "target", 2)
    shape = layout_of(name, input).shape
    if len(shape) > 2 or (not shape[-1] if shape else False):
        raise RuntimeError(f"{name}: Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
                           f"{list(input.layout.shape)}")
    single = input.layout.ndim < 2
    return (input.reshape(1, -1), target.reshape(1, -1), True) if single else (input, target, False)


def multi_margin_loss(input, target, p: int = 1, margin: float = 1.0, weight=None, size_average=None, reduce=None,
                      reduction: str = "mean") -> Tensor:
    """The sum over the other classes of weight[target] max(0, margin - input[target] + input[class])^p, divided by the number of
    classes.

    Args:
        input: scores, (N, C) or (C).
        target: int64 classes, (N) or ().
        p: 1 or 2.
        margin: by how much the target's score is wanted above the others.
        weight: a factor for each target's class, (C); 1 when None.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" over the batch, or "none".

    Returns:
        A 0-dim tensor; with "none" one of the target's shape.

    Raises:
        ValueError: another p, an unknown reduction, or a weight that is no vector.
        RuntimeError: shapes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.multi_margin_loss(torch.tensor([[0., 0.5, 2.]]), torch.tensor([2]))
        tensor(0.)
        >>> torch.nn.functional.multi_margin_loss(torch.tensor([[0., 0.5, 2.]]), torch.tensor([0]))
        tensor(1.5000)
    """
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.layout.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    rows, classes, _ = _classes("multi_margin_loss", input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    if target.layout.ndim > 1 or classes.layout.numel != rows.layout.shape[0]:
        raise RuntimeError(f"inconsistent target size, expected {rows.layout.shape[0]} but got {list(target.layout.shape)}")
    if weight is not None and weight.layout.numel != rows.layout.shape[1]:
        raise RuntimeError(f"inconsistent weight size, expected {rows.layout.shape[1]} but got {list(weight.layout.shape)}")
    classes = classes.reshape(-1, 1)
    terms = relu(rows - gather(rows, 1, classes) + margin)         # without a gradient where the margin is just kept
    terms = terms if p == 1 else terms * terms
    if weight is not None:
        terms = terms * weight[classes.reshape(-1)].unsqueeze(1)
    others = replace_where(terms, eq(arange(rows.layout.shape[1], device=rows.layout.device), classes), 0)
    result = others.sum(1) / rows.layout.shape[1]
    return reduced(result if target.layout.ndim else result.squeeze(0), reduction)


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction: str = "mean") -> Tensor:
    """The sum over targets and other classes of max(0, 1 - input[target] + input[class]), divided by the number of classes.

    Args:
        input: scores, (N, C) or (C).
        target: int64 of the same shape: each row's classes, up to its first -1.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" over the batch, or "none".

    Returns:
        A 0-dim tensor; with "none" (N) or ().

    Raises:
        RuntimeError: shapes that do not fit.
        ValueError: an unknown reduction.

    Example:
        >>> import numtorch as torch
        >>> scores, classes = torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, 0, -1, 1]])
        >>> torch.nn.functional.multilabel_margin_loss(scores, classes)
        tensor(0.8500)
    """
    rows, classes, single = _classes("multilabel_margin_loss", input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    if classes.layout.shape != rows.layout.shape or (single and target.layout.ndim > 1):
        raise RuntimeError(f"inconsistent target size: {list(target.layout.shape)} for input of size: {list(input.layout.shape)}")
    given = (classes < 0).cumsum(1) == 0
    count = rows.layout.shape[1]
    places = replace_where(classes, eq(classes, -1), 0)              # other negative ones are refused where they are looked up
    is_target = ((eq(arange(count, device=rows.layout.device), places.unsqueeze(2)) & given.unsqueeze(2)).sum(1)) > 0
    terms = relu(1 - gather(rows, 1, places).unsqueeze(2) + rows.unsqueeze(1))
    terms = replace_where(terms, ~given.unsqueeze(2) | is_target.unsqueeze(1), 0)
    result = terms.sum((1, 2)) / count
    return reduced(result.squeeze(0) if single else result, reduction)


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction: str = "mean") -> Tensor:
    """-(y log sigmoid(x) + (1 - y) log sigmoid(-x)), the mean over classes: binary cross entropy for each class on its own.

    Args:
        input: x, scores (*, C).
        target: y, 0 and 1, of the same shape.
        weight: a factor for each class, (C); 1 when None.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" over the batch, or "none".

    Returns:
        A 0-dim tensor; with "none" (*).

    Raises:
        ValueError: an unknown reduction.
        IndexError: an input without dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.multilabel_soft_margin_loss(torch.tensor([[0., 200.]]), torch.tensor([[1., 1.]]))
        tensor(0.3466)
    """
    terms = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    count = input.size(-1)                               # the input's dimension, also where the others have more of them
    losses = (terms if weight is None else terms * weight).sum(input.layout.ndim - 1) / count
    return reduced(losses, legacy_reduction(size_average, reduce, reduction))
