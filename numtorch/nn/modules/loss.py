"""Losses as modules: the functions of `functional`, with their options kept. Those by a margin are in marginloss.py."""
from __future__ import annotations

from ...ops.loss.cross_entropy import cross_entropy
from ...ops.loss.elementwise_losses import legacy_reduction
from .. import functional as F
from .module import Module


class _Loss(Module):
    """A loss with a reduction: "mean", "sum" or "none"."""

    function = None

    def __init__(self, size_average=None, reduce=None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = legacy_reduction(size_average, reduce, reduction)

    def forward(self, input, target):
        return type(self).function(input, target, reduction=self.reduction)


class _WeightedLoss(_Loss):
    """A loss with a weight for each class or element."""

    def __init__(self, weight=None, size_average=None, reduce=None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class CrossEntropyLoss(_WeightedLoss):
    """-log softmax(input)[target] (multi-class cross entropy).

    Args:
        weight: a weight for each class, (C); 1 when None.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        ignore_index: targets with this index count for nothing.
        reduction: "mean" (over the targets' weights), "sum" or "none".
        label_smoothing: how much of each target is spread evenly over all classes, from 0 to 1 (Szegedy et al. 2016).

    Shape:
        Scores (C), (N, C) or (N, C, ...) and either int64 class indices (), (N) or (N, ...), or probabilities of the scores' shape
            -> a 0-dim tensor, or with "none" one of the indices' shape.

    Raises:
        IndexError: in the call, a class out of range.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.CrossEntropyLoss()(torch.zeros(1, 4), torch.tensor([2]))
        tensor(1.3863)
    """

    def __init__(self, weight=None, size_average=None, ignore_index: int = -100, reduce=None, reduction: str = "mean",
                 label_smoothing: float = 0.0) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input, target):
        return cross_entropy(input, target, self._buffers["weight"], self.ignore_index, self.reduction, self.label_smoothing)


class CTCLoss(Module):
    """Connectionist temporal classification (Graves et al. 2006).

    Args:
        blank: the class that stands for no label.
        reduction: "mean" (of the losses over their numbers of labels), "sum" or "none".
        zero_infinity: count as 0 the losses of sequences that are too short for their labels.

    Shape:
        Log-probabilities (T, N, C), targets (N, S), and input_lengths and target_lengths (N) -> a 0-dim tensor, or (N)
            with "none". `functional.ctc_loss` says more.

    Example:
        >>> import numtorch as torch
        >>> log_probs = torch.zeros(3, 1, 2).log_softmax(-1)
        >>> torch.nn.CTCLoss()(log_probs, torch.tensor([[1]]), [3], [1])
        tensor(0.2877)
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__()
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def forward(self, log_probs, targets, input_lengths, target_lengths):
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity)


class NLLLoss(_WeightedLoss):
    """-weight[target] * input[target]: the negative log-likelihood of classes.

    Args:
        weight: a weight for each class, (C); 1 when None.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        ignore_index: targets with this index count for nothing.
        reduction: "mean" (over the targets' weights), "sum" or "none".

    Shape:
        Log-probabilities (C), (N, C) or (N, C, ...) and int64 class indices (), (N) or (N, ...) -> a 0-dim tensor, or with "none"
            one of the indices' shape.

    Raises:
        IndexError: in the call, a class out of range.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.NLLLoss()(torch.tensor([[-1., -2.], [-3., -4.]]), torch.tensor([0, 1]))
        tensor(2.5000)
    """

    def __init__(self, weight=None, size_average=None, ignore_index: int = -100, reduce=None, reduction: str = "mean") -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input, target):
        return F.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class MSELoss(_Loss):
    """(input - target)^2.

    Args:
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" of all terms, or "none".

    Shape:
        Two tensors of one shape -> a 0-dim tensor, or with "none" one of that shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.MSELoss()(torch.tensor([1., 2.]), torch.tensor([1., 4.]))
        tensor(2.)
    """

    function = staticmethod(F.mse_loss)


class L1Loss(_Loss):
    """|input - target|.

    Args:
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" of all terms, or "none".

    Shape:
        Two tensors of one shape -> a 0-dim tensor, or with "none" one of that shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.L1Loss()(torch.tensor([1., 2.]), torch.tensor([1., 4.]))
        tensor(1.)
    """

    function = staticmethod(F.l1_loss)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)), exact for large |input|.

    Args:
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" of all terms, or "none".

    Shape:
        Scores of any shape and targets of that shape, 1 and -1 -> a 0-dim tensor, or with "none" one of that shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.SoftMarginLoss(reduction="none")(torch.tensor([0., 100.]), torch.tensor([1., -1.]))
        tensor([  0.6931, 100.0000])
    """

    function = staticmethod(F.soft_margin_loss)


class SmoothL1Loss(_Loss):
    """(x - y)^2 / (2 beta) where |x - y| < beta, |x - y| - beta / 2 elsewhere (Girshick 2015).

    Args:
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" of all terms, or "none".
        beta: where the square ends; 0 for `L1Loss`.

    Shape:
        Two tensors of one shape -> a 0-dim tensor, or with "none" one of that shape.

    Raises:
        RuntimeError: in the call, a negative beta.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.SmoothL1Loss(reduction="none")(torch.tensor([0.5, 3.]), torch.zeros(2))
        tensor([0.1250, 2.5000])
    """

    def __init__(self, size_average=None, reduce=None, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input, target):
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """(x - y)^2 / 2 where |x - y| < delta, delta * (|x - y| - delta / 2) elsewhere (Huber 1964).

    Args:
        reduction: "mean" or "sum" of all terms, or "none".
        delta: where the square ends.

    Shape:
        Two tensors of one shape -> a 0-dim tensor, or with "none" one of that shape.

    Raises:
        RuntimeError: in the call, a delta that is not positive.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.HuberLoss("none", delta=2.0)(torch.tensor([0.5, 3.]), torch.zeros(2))
        tensor([0.1250, 4.0000])
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        self.delta = delta

    def forward(self, input, target):
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class BCELoss(_WeightedLoss):
    """-(y log p + (1 - y) log(1 - p)), with logarithms held above -100.

    Args:
        weight: a factor for each term, which broadcasts to the input's shape; 1 when None.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" of all terms, or "none".

    Shape:
        Probabilities p and targets y of one shape, all between 0 and 1 -> a 0-dim tensor, or with "none" one of that shape.

    Raises:
        ValueError: in the call, shapes that differ.
        RuntimeError: in the call, a number outside [0, 1].

    Example:
        >>> import numtorch as torch
        >>> torch.nn.BCELoss(reduction="none")(torch.tensor([0.5, 0.25]), torch.tensor([1., 0.]))
        tensor([0.6931, 0.2877])
    """

    def forward(self, input, target):
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """-(p y log s + (1 - y) log(1 - s)) with s = sigmoid(input), exact for large |input|.

    Args:
        weight: a factor for each term, which broadcasts to the input's shape; 1 when None.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" of all terms, or "none".
        pos_weight: p, the weight of positive targets, which broadcasts to the input's shape; 1 when None.

    Shape:
        Log-odds and targets y of one shape -> a 0-dim tensor, or with "none" one of that shape.

    Raises:
        ValueError: in the call, shapes that differ.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.BCEWithLogitsLoss(reduction="none")(torch.tensor([0., 200.]), torch.tensor([1., 0.]))
        tensor([  0.6931, 200.0000])
    """

    def __init__(self, weight=None, size_average=None, reduce=None, reduction: str = "mean", pos_weight=None) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input, target):
        return F.binary_cross_entropy_with_logits(input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight)


class KLDivLoss(_Loss):
    """target * (log target - input): the divergence of `input` from `target` (Kullback and Leibler 1951).

    Args:
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "batchmean" (the sum over the first extent, which is the divergence), "mean" (over all terms, with a warning),
            "sum" or "none".
        log_target: whether the target is logarithms too.

    Shape:
        Log-probabilities and probabilities of one shape -> a 0-dim tensor, or with "none" one of that shape.

    Example:
        >>> import numtorch as torch
        >>> p, q = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.25, 0.75]])
        >>> torch.nn.KLDivLoss(reduction="batchmean")(q.log(), p)
        tensor(0.1438)
    """

    def __init__(self, size_average=None, reduce=None, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input, target):
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(_Loss):
    """exp(input) - target * input: -log of the probability of counts, but for log(target!).

    Args:
        log_input: whether inputs are logarithms of rates; else the loss is input - target * log(input + eps).
        full: add Stirling's approximation of log(target!) for targets above 1.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        eps: added to rates below the logarithm.
        reduction: "mean" or "sum" of all terms, or "none".

    Shape:
        Two tensors of one shape -> a 0-dim tensor, or with "none" one of that shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.PoissonNLLLoss(reduction="none")(torch.tensor([0., 1.]), torch.tensor([1., 3.]))
        tensor([ 1.0000, -0.2817])
    """

    def __init__(self, log_input: bool = True, full: bool = False, size_average=None, eps: float = 1e-8, reduce=None,
                 reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, input, target):
        return F.poisson_nll_loss(input, target, self.log_input, self.full, eps=self.eps, reduction=self.reduction)


class GaussianNLLLoss(_Loss):
    """(log(var) + (input - target)^2 / var) / 2: -log of a normal density, but for its constant (Nix and Weigend 1994).

    Args:
        full: add the constant log(2 pi) / 2.
        eps: the least variance.
        reduction: "mean" or "sum" of all terms, or "none".

    Shape:
        Means and samples of one shape (*, D), and variances (*, D), (*, 1), (*) or a number -> a 0-dim tensor, or with "none" one
            of the means' shape.

    Raises:
        ValueError: in the call, a negative variance or one of another shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.GaussianNLLLoss(reduction="none")(torch.tensor([1., 2.]), torch.zeros(2), torch.ones(2))
        tensor([0.5000, 2.0000])
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full, self.eps = full, eps

    def forward(self, input, target, var):
        return F.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """-(y log sigmoid(x) + (1 - y) log sigmoid(-x)), the mean over classes: binary cross entropy for each class on its own.

    Args:
        weight: a factor for each class, (C); 1 when None.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" over the batch, or "none".

    Shape:
        Scores x (N, C) or (C) and targets y of that shape, 0 and 1 -> a 0-dim tensor, or (N) with "none".

    Example:
        >>> import numtorch as torch
        >>> torch.nn.MultiLabelSoftMarginLoss()(torch.tensor([[0., 200.]]), torch.tensor([[1., 1.]]))
        tensor(0.3466)
    """

    def forward(self, input, target):
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)
