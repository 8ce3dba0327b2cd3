"""Losses that want some pairs nearer to each other, or some scores higher, by a margin."""
from __future__ import annotations

from .. import functional as F
from .distance import PairwiseDistance
from .loss import _Loss, _WeightedLoss


class HingeEmbeddingLoss(_Loss):
    """input where the target is 1, max(0, margin - input) where it is -1: for distances of pairs that are alike or not.

    Args:
        margin: how far apart unlike pairs are wanted.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" of all terms, or "none".

    Shape:
        Distances of any shape and targets of that shape, 1 and -1 -> a 0-dim tensor, or with "none" one of that shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.HingeEmbeddingLoss(reduction="none")(torch.tensor([0.5, 0.25]), torch.tensor([1., -1.]))
        tensor([0.5000, 0.7500])
    """

    def __init__(self, margin: float = 1.0, size_average=None, reduce=None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input, target):
        return F.hinge_embedding_loss(input, target, self.margin, reduction=self.reduction)


class _WithMargin(_Loss):
    def __init__(self, margin: float = 0.0, size_average=None, reduce=None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class MarginRankingLoss(_WithMargin):
    """max(0, -target * (input1 - input2) + margin): 1 in the target wants input1 above input2, -1 below.

    Args:
        margin: by how much.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" of all terms, or "none".

    Shape:
        Three tensors (N) or () -> a 0-dim tensor, or with "none" one of that shape.

    Raises:
        RuntimeError: in the call, numbers of dimensions that differ.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.MarginRankingLoss(reduction="none")(torch.tensor([1., 2.]), torch.tensor([3., 0.]), torch.ones(2))
        tensor([2., 0.])
    """

    def forward(self, input1, input2, target):
        return F.margin_ranking_loss(input1, input2, target, self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_WithMargin):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1, with the cosine of the two inputs.

    Args:
        margin: the cosine that unlike pairs may have, from -1 to 1.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" of all terms, or "none".

    Shape:
        Two tensors (N, D) or (D) and targets (N) or (), 1 and -1 -> a 0-dim tensor, or (N) with "none".

    Raises:
        RuntimeError: in the call, dimensions that do not fit.

    Example:
        >>> import numtorch as torch
        >>> x, y = torch.tensor([[3., 4.], [1., 0.]]), torch.tensor([[4., 3.], [0., 1.]])
        >>> torch.nn.CosineEmbeddingLoss(reduction="none")(x, y, torch.tensor([-1, 1]))
        tensor([0.9600, 1.0000])
    """

    def forward(self, input1, input2, target):
        return F.cosine_embedding_loss(input1, input2, target, self.margin, reduction=self.reduction)


def _check_margin(module, margin):
    if margin <= 0:
        raise ValueError(f"{type(module).__name__}: expected margin to be greater than 0, got {margin} instead")


class TripletMarginLoss(_Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), with the p-norm as distance d (Balntas et al. 2016).

    Args:
        margin: how much farther the negative is wanted than the positive.
        p: the norm's order.
        eps: added to every difference.
        swap: take d(positive, negative) where that is less than d(anchor, negative).
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" of all terms, or "none".

    Shape:
        Anchor, positive and negative, (N, D) or (D) -> a 0-dim tensor, or (N) with "none".

    Raises:
        ValueError: a margin that is not positive.
        RuntimeError: in the call, numbers of dimensions that differ.

    Example:
        >>> import numtorch as torch
        >>> anchor, near, far = torch.zeros(1, 2), torch.tensor([[3., 4.]]), torch.tensor([[0., 5.]])
        >>> torch.nn.TripletMarginLoss()(anchor, near, far)
        tensor(1.0000)
    """

    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, size_average=None, reduce=None,
                 reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        _check_margin(self, margin)
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_loss(anchor, positive, negative, self.margin, self.p, self.eps, self.swap, reduction=self.reduction)


class TripletMarginWithDistanceLoss(_Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), with any distance d.

    Args:
        distance_function: `d(x, y)`, one number for each pair; `PairwiseDistance()` when None.
        margin: how much farther the negative is wanted than the positive.
        swap: take d(positive, negative) where that is less than d(anchor, negative).
        reduction: "mean" or "sum" of all terms, or "none".

    Shape:
        Anchor, positive and negative, (N, *) as the distance takes them -> a 0-dim tensor, or the distances' shape with "none".

    Raises:
        ValueError: a margin that is not positive.
        RuntimeError: in the call, numbers of dimensions that differ.

    Example:
        >>> import numtorch as torch
        >>> loss = torch.nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs().amax(-1))
        >>> loss(torch.zeros(1, 2), torch.tensor([[3., 4.]]), torch.tensor([[0., 5.]]))
        tensor(0.)
    """

    def __init__(self, *, distance_function=None, margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        _check_margin(self, margin)
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap = margin, swap

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=self.distance_function,
                                                   margin=self.margin, swap=self.swap, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """The sum over the other classes of weight[target] max(0, margin - input[target] + input[class])^p, divided by the number of
    classes.

    Args:
        p: 1 or 2.
        margin: by how much the target's score is wanted above the others.
        weight: a factor for each target's class, (C); 1 when None.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" over the batch, or "none".

    Shape:
        Scores (N, C) or (C) and int64 classes (N) or () -> a 0-dim tensor, or with "none" one of the classes' shape.

    Raises:
        ValueError: another p, or weights that are no vector.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.MultiMarginLoss()(torch.tensor([[0., 0.5, 2.]]), torch.tensor([0]))
        tensor(1.5000)
    """

    def __init__(self, p: int = 1, margin: float = 1.0, weight=None, size_average=None, reduce=None,
                 reduction: str = "mean") -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.layout.ndim != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.layout.ndim}D instead")
        self.p, self.margin = p, margin

    def forward(self, input, target):
        return F.multi_margin_loss(input, target, self.p, self.margin, self.weight, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """The sum over targets and other classes of max(0, 1 - input[target] + input[class]), divided by the number of classes.

    Args:
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" over the batch, or "none".

    Shape:
        Scores (N, C) or (C) and int64 targets of that shape: each row's classes, up to its first -1 -> a 0-dim tensor, or (N) with
            "none".

    Example:
        >>> import numtorch as torch
        >>> scores, classes = torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, 0, -1, 1]])
        >>> torch.nn.MultiLabelMarginLoss()(scores, classes)
        tensor(0.8500)
    """

    function = staticmethod(F.multilabel_margin_loss)
