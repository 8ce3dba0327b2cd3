"""Losses with PyTorch's arguments. Terms and their reduction are in ops/loss/elementwise_losses.py, losses of pairs and triplets in
ranking.py."""
from __future__ import annotations

import warnings

from ..ops.core.arguments import check_truths, real, truth
from ..ops.core.operands import layout_of
from ..ops.core.status import has_values
from ..ops.creation.fill import full_like
from ..ops.loss import cross_entropy as crossentropy
from ..ops.loss import elementwise_losses
from ..ops.loss.elementwise_losses import expect_within, legacy_reduction, paired_loss, reduced, reduced_terms
from ..ops.pointwise.arithmetic import div, mul, square, sub
from ..ops.pointwise.bounds import clamp_low
from ..ops.reduce import reductions
from ..tensor import Tensor


def _weighted(name, terms, input, target, reduction, weight):
    """`paired_loss` whose mean is over the weights."""
    _check_weight(input, weight)
    if reduction != "mean":
        return paired_loss(name, terms, input, target, reduction, weight)
    return div(paired_loss(name, terms, input, target, "sum", weight), reductions.sum(weight))


def _check_weight(input, weight):
    if layout_of("weighted loss", weight, "weight", 3).shape != layout_of("weighted loss", input).shape:
        raise ValueError("Weights and input must have the same size.")


def cross_entropy(input, target, weight=None, size_average=None, ignore_index: int = -100, reduce=None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """-log softmax(input)[target] (multi-class cross entropy).

    Args:
        input: scores of shape (C), (N, C) or (N, C, ...).
        target: int64 class indices of shape (), (N) or (N, ...), or probabilities of the input's shape and dtype.
        weight: a weight for each class, (C); 1 when None.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        ignore_index: targets with this index count for nothing.
        reduction: "mean" (over the targets' weights), "sum" or "none".
        label_smoothing: how much of each target is spread evenly over all classes, from 0 to 1 (Szegedy et al. 2016).

    Returns:
        A 0-dim tensor; with "none" the shape of class indices.

    Raises:
        IndexError: a class out of range.
        RuntimeError, ValueError: shapes, dtypes or options that do not fit.

    Example:
        >>> import numtorch as torch
        >>> scores, classes = torch.zeros(3, 4), torch.tensor([0, 3, 1])
        >>> torch.nn.functional.cross_entropy(scores, classes)
        tensor(1.3863)
        >>> torch.nn.functional.cross_entropy(scores, classes, reduction="sum")
        tensor(4.1589)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    return crossentropy.cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)


def nll_loss(input, target, weight=None, size_average=None, ignore_index: int = -100, reduce=None,
             reduction: str = "mean") -> Tensor:
    """-weight[target] * input[target]: the negative log-likelihood of classes.

    Args:
        input: log-probabilities of shape (C), (N, C) or (N, C, ...).
        target: int64 class indices of shape (), (N) or (N, ...).
        weight: a weight for each class, (C); 1 when None.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        ignore_index: targets with this index count for nothing.
        reduction: "mean" (over the targets' weights), "sum" or "none".

    Returns:
        A 0-dim tensor; with "none" the targets' shape.

    Raises:
        IndexError: a class out of range.
        RuntimeError, ValueError: shapes, dtypes or options that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.nll_loss(torch.tensor([[-1., -2.], [-3., -4.]]), torch.tensor([0, 1]))
        tensor(2.5000)
    """
    return crossentropy.nll_loss(input, target, weight, ignore_index, legacy_reduction(size_average, reduce, reduction))


def mse_loss(input, target, size_average=None, reduce=None, reduction: str = "mean", weight=None) -> Tensor:
    """(input - target)^2.

    Args:
        input, target: of one shape; others are broadcast, with a warning.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" (with `weight` over the weights), "sum" or "none".
        weight: a factor for each term, of the input's shape; 1 when None.

    Returns:
        A 0-dim tensor; with "none" one of the input's shape.

    Raises:
        ValueError: an unknown reduction, or weights of another shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.mse_loss(torch.tensor([1., 2.]), torch.tensor([1., 4.]))
        tensor(2.)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    if weight is None:
        return paired_loss("mse_loss", elementwise_losses.squared_error, input, target, reduction)
    return _weighted("mse_loss", elementwise_losses.squared_error, input, target, reduction, weight)


def l1_loss(input, target, size_average=None, reduce=None, reduction: str = "mean", weight=None) -> Tensor:
    """|input - target|.

    Args:
        input, target: of one shape; others are broadcast, with a warning.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" (with `weight` over the weights), "sum" or "none".
        weight: a factor for each term, of the input's shape; 1 when None.

    Returns:
        A 0-dim tensor; with "none" one of the input's shape.

    Raises:
        ValueError: an unknown reduction, or weights of another shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.l1_loss(torch.tensor([1., 2.]), torch.tensor([1., 4.]))
        tensor(1.)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce, reduction)
    if weight is None:
        return paired_loss("l1_loss", elementwise_losses.absolute_error, input, target, reduction)
    return _weighted("l1_loss", elementwise_losses.absolute_error, input, target, reduction, weight)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """(x - y)^2 / (2 beta) where |x - y| < beta, |x - y| - beta / 2 elsewhere (Girshick 2015).

    Args:
        input, target: x and y, of one shape; others are broadcast, with a warning.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" of all terms, or "none".
        beta: where the square ends; 0 for `l1_loss`.

    Returns:
        A 0-dim tensor; with "none" one of the input's shape.

    Raises:
        RuntimeError: a negative beta.
        ValueError: an unknown reduction.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.smooth_l1_loss(torch.tensor([0.5, 3.]), torch.zeros(2), reduction="none")
        tensor([0.1250, 2.5000])
    """
    if type(beta) is not float:
        beta = real("smooth_l1_loss", "beta", beta)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, size_average, reduce, reduction)
    reduction = legacy_reduction(size_average, reduce, reduction)
    return paired_loss("smooth_l1_loss", elementwise_losses.smooth_absolute_error, input, target, reduction, None, beta)


def huber_loss(input, target, reduction: str = "mean", delta: float = 1.0, weight=None) -> Tensor:
    """(x - y)^2 / 2 where |x - y| < delta, delta * (|x - y| - delta / 2) elsewhere (Huber 1964).

    Args:
        input, target: x and y, of one shape; others are broadcast, with a warning.
        reduction: "mean" or "sum" of all terms, or "none".
        delta: where the square ends.
        weight: a factor for each term, of the input's shape; 1 when None. The mean is over the terms all the same.

    Returns:
        A 0-dim tensor; with "none" one of the input's shape.

    Raises:
        RuntimeError: a delta that is not positive.
        ValueError: an unknown reduction, or weights of another shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.huber_loss(torch.tensor([0.5, 3.]), torch.zeros(2), reduction="none", delta=2.0)
        tensor([0.1250, 4.0000])
    """
    if type(delta) is not float:
        delta = real("huber_loss", "delta", delta)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if weight is not None:
        _check_weight(input, weight)
    return paired_loss("huber_loss", elementwise_losses.huber_error, input, target, reduction, weight, delta)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction: str = "mean") -> Tensor:
    """-(y log p + (1 - y) log(1 - p)), with logarithms held above -100.

    Args:
        input, target: probabilities p and y of one shape, between 0 and 1.
        weight: a factor for each term, which broadcasts to that shape; 1 when None.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" of all terms, or "none".

    Returns:
        A 0-dim tensor; with "none" one of the input's shape.

    Raises:
        ValueError: shapes differ, or an unknown reduction.
        RuntimeError: a number outside [0, 1].

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5, 0.25]), torch.tensor([1., 0.]), reduction="none")
        tensor([0.6931, 0.2877])
    """
    return elementwise_losses.binary_cross_entropy(input, target, weight, legacy_reduction(size_average, reduce, reduction))


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction: str = "mean",
                                     pos_weight=None) -> Tensor:
    """-(p y log s + (1 - y) log(1 - s)) with s = sigmoid(input), exact for large |input|.

    Args:
        input: log-odds, of any shape.
        target: probabilities y of that shape.
        weight: a factor for each term, which broadcasts to that shape; 1 when None.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" of all terms, or "none".
        pos_weight: p, the weight of positive targets, which broadcasts to that shape; 1 when None.

    Returns:
        A 0-dim tensor; with "none" one of the input's shape.

    Raises:
        ValueError: shapes differ, or an unknown reduction.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.binary_cross_entropy_with_logits(torch.tensor([0., 200.]), torch.tensor([1., 0.]), reduction="none")
        tensor([  0.6931, 200.0000])
    """
    return elementwise_losses.binary_cross_entropy_with_logits(input, target, weight,
                                                 legacy_reduction(size_average, reduce, reduction),
                                                 pos_weight)


def kl_div(input, target, size_average=None, reduce=None, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target * (log target - input): the divergence of `input` from `target` (Kullback and Leibler 1951), where target is 0
    nothing.

    Args:
        input: log-probabilities, of any shape.
        target: probabilities of that shape, or their logarithms with `log_target`.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "batchmean" (the sum over the first extent, which is the divergence), "mean" (over all terms, with a warning),
            "sum" or "none".
        log_target: whether the target is logarithms.

    Returns:
        A 0-dim tensor; with "none" one of the input's shape.

    Raises:
        ValueError: an unknown reduction.

    Example:
        >>> import numtorch as torch
        >>> p, q = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.25, 0.75]])
        >>> torch.nn.functional.kl_div(q.log(), p, reduction="batchmean")
        tensor(0.1438)
    """
    truth("kl_div", "log_target", log_target)
    terms = elementwise_losses.log_divergence_terms if log_target else elementwise_losses.divergence_terms
    reduction = legacy_reduction(size_average, reduce, reduction)
    layout, _ = layout_of("kl_div", input), layout_of("kl_div", target, "target", 2)
    if reduction == "batchmean":
        return div(reduced_terms(terms, input, target, "sum"), layout.shape[0] if layout.ndim else 1)
    if reduction == "mean":
        warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
                      "only by "
                      "the batch size, and aligns with the KL div math definition.", stacklevel=2)
    return reduced_terms(terms, input, target, reduction)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input)), exact for large |input|.

    Args:
        input: of any shape.
        target: 1 and -1, of that shape or one that broadcasts to it.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        reduction: "mean" or "sum" of all terms, or "none".

    Returns:
        A 0-dim tensor; with "none" one of the input's shape.

    Raises:
        ValueError: an unknown reduction.
        RuntimeError: a target that does not broadcast to the input's shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.soft_margin_loss(torch.tensor([0., 100.]), torch.tensor([1., -1.]), reduction="none")
        tensor([  0.6931, 100.0000])
    """
    layout_of("soft_margin_loss", input)
    expect_within(input, target)
    return reduced_terms(elementwise_losses.soft_margin_terms, input, target, legacy_reduction(size_average, reduce, reduction))


def poisson_nll_loss(input, target, log_input: bool = True, full: bool = False, size_average=None, eps: float = 1e-8, reduce=None,
                     reduction: str = "mean") -> Tensor:
    """exp(input) - target * input: -log of the probability of counts, but for log(target!).

    Args:
        input: logarithms of rates, of any shape; or the rates, without `log_input`.
        target: counts, which broadcast with it.
        log_input: else the loss is input - target * log(input + eps).
        full: add Stirling's approximation of log(target!) for targets above 1: target log(target) - target + log(2 pi target) / 2.
        size_average, reduce: older forms of `reduction`: reduce=False is "none", size_average=False "sum"; None for neither.
        eps: added to rates below the logarithm.
        reduction: "mean" or "sum" of all terms, or "none".

    Returns:
        A 0-dim tensor; with "none" one of the input's shape.

    Raises:
        ValueError: an unknown reduction.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.poisson_nll_loss(torch.tensor([0., 1.]), torch.tensor([1., 3.]), reduction="none")
        tensor([ 1.0000, -0.2817])
    """
    layout_of("poisson_nll_loss", input)
    check_truths("poisson_nll_loss", log_input=log_input, full=full)
    eps = real("poisson_nll_loss", "eps", eps)
    terms = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (target * 6.283185307179586).log()
        terms = terms + stirling.masked_fill(target <= 1, 0)
    return reduced(terms, legacy_reduction(size_average, reduce, reduction))


def _variances(input, var):
    """The variances as a tensor that goes with the input: of its shape, or with one extent of 1."""
    layout_of("gaussian_nll_loss", input)
    var = full_like(input.detach(), var) if not isinstance(var, Tensor) else var
    if has_values(var) and (var < 0).any().item():
        raise ValueError("var has negative entry/entries")
    shape, wanted = var.layout.shape, input.layout.shape
    if shape == wanted or (len(shape) == len(wanted) and [n for n, w in zip(shape, wanted) if n != w] == [1]):
        return var
    if shape != wanted[:-1]:
        raise ValueError("var is of incorrect size")
    return var.unsqueeze(-1)


def gaussian_nll_loss(input, target, var, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    """(log(var) + (input - target)^2 / var) / 2: -log of a normal density, but for its constant (Nix and Weigend 1994).

    Args:
        input, target: means and samples, (*, D), which broadcast.
        var: variances, of the input's shape or that with one extent of 1, (*) or a number. The gradient is that of the variance
            before `eps`.
        full: add the constant log(2 pi) / 2.
        eps: the least variance.
        reduction: "mean" or "sum" of all terms, or "none".

    Returns:
        A 0-dim tensor; with "none" one of the input's shape.

    Raises:
        ValueError: a negative variance or one of another shape, or an unknown reduction.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.gaussian_nll_loss(torch.tensor([1., 2.]), torch.zeros(2), torch.ones(2), reduction="none")
        tensor([0.5000, 2.0000])
    """
    var = _variances(input, var)
    held = clamp_low(var.detach(), eps) - var.detach() + var
    terms = mul(held.log() + div(square(sub(input, target)), held), 0.5)
    return reduced(terms + 0.9189385332046727 if full else terms, reduction)
