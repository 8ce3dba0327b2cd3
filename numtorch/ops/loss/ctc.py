"""Connectionist temporal classification (Graves et al. 2006): a kernel for the losses of all sequences, one for their gradient.

Backward gives what PyTorch's does: exp(log_probs) less the share of the alignments that are in a class at a time. For
log-probabilities that come of `log_softmax`, whose gradient sums to 0, that is the same as the partial derivative, which lacks the
first term. Gradients of gradients take the recursion out of ops.
"""
from __future__ import annotations

import math
from builtins import sum as sum_of
from itertools import accumulate

from ...autograd.api import grad as gradients_of
from ...autograd.graph import recording
from ...dtypes import int64
from ...layout import Layout, ints
from ...tensor import Tensor, empty
from ..core.arguments import expect_dtypes, expect_layout
from ..core.backends import kernels
from ..core.operands import layout_of
from ..core.primitive import Primitive
from ..core.status import has_values
from ..creation.fill import full, tensor, zeros
from ..creation.ranges import arange
from ..index.gather_scatter import gather
from ..memory.copies import contiguous, to_device, to_dtype
from ..nn.softmax import logsumexp
from ..pointwise import comparison
from ..pointwise.arithmetic import add, div, mul, where
from ..pointwise.bounds import clamp_low
from ..pointwise.elementary import exp
from ..reduce.reductions import mean, sum
from ..shape.join import cat, stack
from ..shape.views import expand, reshape, unsqueeze
from .elementwise_losses import check_reduction

CTC_LOSS = Primitive("ctc_loss", samples="T[4, 2, 3], int64([1, 1, 2]), int64([[0, 2], [2, 1], [4, 3]]); 2, 0, False")

_CHECKING = "(while checking arguments for ctc_loss)"
_TARGETS = f"argument #2 'targets' {_CHECKING}"
NOTHING = -1e30                                          # the logarithm of 0 where it is added up and differentiated


# ---------------------------------------------------------------- arguments
def _lengths(name, given, batch, highest=None):
    """One number a sequence, as a list. Raises RuntimeError as PyTorch words it."""
    if isinstance(given, Tensor):
        if given.layout.dtype.category != 1:
            raise RuntimeError(f"{name} must be integral")
        given = given.tolist()
    result = list(ints(given if isinstance(given, (list, tuple)) else (given,), f"ctc_loss: {name}"))
    if len(result) != batch:
        raise RuntimeError(f"{name} must be of size batch_size")
    for n in result:
        if n < 0:
            raise RuntimeError(f"Expected {name} to have value at least 0, but got value {n} {_CHECKING}")
        if highest is not None and n > highest:
            raise RuntimeError(f"Expected {name} to have value at most {highest}, but got value {n} {_CHECKING}")
    return result


def _labels(targets, lengths, classes):
    """Labels in one row, and where those of each sequence start in it."""
    shape, total, longest = layout_of("ctc_loss", targets, "targets", 2).shape, sum_of(lengths), max(lengths, default=0)
    if len(shape) not in (1, 2):
        raise RuntimeError(f"Expected 1 to 2 dimensions, but got {len(shape)}-dimensional tensor for {_TARGETS}")
    extent = total if len(shape) == 1 else len(lengths)
    if shape[0] != extent:
        raise RuntimeError(f"Expected tensor to have size {extent} at dimension 0, but got size {shape[0]} for {_TARGETS}")
    if len(shape) == 2 and shape[1] < longest:
        raise RuntimeError(f"Expected tensor to have size at least {longest} at dimension 1, but got size {shape[1]} for "
                           f"{_TARGETS}")
    starts = [n * shape[1] for n in range(len(lengths))] if len(shape) == 2 else [0, *accumulate(lengths)][:len(lengths)]
    labels = contiguous(to_dtype(targets if targets.node is None else targets.detach(), int64))
    flat = reshape(labels, -1)
    for start, n in zip(starts, lengths) if has_values(labels) else ():
        part = flat[start:start + n].tolist()
        if part and not 0 <= min(part) <= max(part) < classes:
            wrong = next(label for label in part if not 0 <= label < classes)
            raise IndexError(f"ctc_loss: Target {wrong} is out of bounds for {classes} classes.")
    return labels, starts


# ---------------------------------------------------------------- the loss
@CTC_LOSS.planned
class _Plan:
    """The kernels of one combination of sizes, and what they keep."""

    __slots__ = ("key", "losses", "alpha", "states", "skips", "beta", "forward", "backward", "blank", "zero_infinity", "width")

    def __init__(self, *key):
        layout, labels, places, longest, blank, zero_infinity = self.key = key
        steps, batch, classes = layout.shape
        expect_layout("ctc_loss", "targets", labels, None, int64)
        expect_layout("ctc_loss", "lengths", places, (3, batch), int64)
        expect_dtypes("ctc_loss", layout.dtype, "float32", "float64")
        if not 0 <= blank < classes:
            raise RuntimeError(f"ctc_loss: expected a label from 0 to {classes - 1} for blank, got {blank}")
        width = self.width = 2 * longest + 3
        module, dtype, device = kernels(layout.device, "softmax.ctc"), layout.dtype, layout.device
        self.losses, self.blank, self.zero_infinity = Layout.of(dtype, (batch,), None, device), blank, zero_infinity
        self.alpha = Layout.of(dtype, (batch, steps, width), None, device)
        self.states = Layout.of(int64, (batch, width), None, device)
        self.skips, self.beta = Layout.of(dtype, (batch, width), None, device), Layout.of(dtype, (batch, 2, width), None, device)
        self.forward = module.plan_ctc_loss(dtype.kernel, batch, steps, classes, width, blank)
        self.backward = module.plan_ctc_loss_grad(dtype.kernel, batch, steps, classes, width, blank, zero_infinity)


@CTC_LOSS.run
def ctc_losses(plan, log_probs: Tensor, labels: Tensor, places: Tensor, longest, blank: int, zero_infinity: bool):
    """The loss of each sequence. `places` are rows of starts, numbers of labels and numbers of steps."""
    scores = contiguous(log_probs.detach())
    losses, alpha = empty(plan.losses), empty(plan.alpha)
    states, skips, batch = empty(plan.states), empty(plan.skips), plan.losses.shape[0]
    at = places.address
    plan.forward.call(scores.address, labels.address, at, at + 8 * batch, at + 16 * batch, losses.address, alpha.address,
                      states.address, skips.address, plan.forward.descriptor)
    out = losses
    if plan.zero_infinity:
        out = where(comparison.eq(losses, math.inf), 0, losses)
    return CTC_LOSS.recorded(out, (log_probs,), (log_probs, labels, places, losses, alpha), plan.key)


@CTC_LOSS.derivative
def _vjp(node, grad, log_probs, labels, places, losses, alpha):
    plan = CTC_LOSS.plan_at(node.attributes)
    if recording(log_probs, grad):
        return (_composed(plan, grad, log_probs, labels, places, losses),)
    scores, grad = contiguous(log_probs.detach()), contiguous(grad)
    out, states, skips, beta = empty(scores.layout), empty(plan.states), empty(plan.skips), empty(plan.beta)
    at, batch = places.address, plan.losses.shape[0]
    plan.backward.call(scores.address, labels.address, at, at + 8 * batch, at + 16 * batch, losses.address, alpha.address,
                       states.address, skips.address, beta.address, grad.address, out.address, plan.backward.descriptor)
    return (out,)


def _composed(plan, grad, log_probs, labels, places, losses):
    """The gradient out of ops, for gradients of gradients."""
    steps, batch, _ = log_probs.layout.shape
    starts, lengths, times = places.tolist()
    dtype, device, states = log_probs.layout.dtype, log_probs.layout.device, plan.width - 2
    flat = reshape(labels, -1).tolist()
    rows, skips = [], []
    for start, n in zip(starts, lengths):
        own = flat[start:start + n]
        rows.append([c for label in own for c in (plan.blank, label)] + [plan.blank] * (states - 2 * n))
        reached = [s % 2 == 1 and 1 < s < 2 * n and own[s // 2] != own[s // 2 - 1] for s in range(states)]
        skips.append([0.0 if r else NOTHING for r in reached])
    emitted = gather(log_probs, 2, expand(tensor([rows], device=device), (steps, batch, states)))
    skips, count = tensor(skips, dtype=dtype, device=device), unsqueeze(tensor(times, device=device), 1)
    place, last = unsqueeze(arange(states, device=device), 0), unsqueeze(tensor([2 * n for n in lengths], device=device), 1)
    nothing = full((batch, 2), NOTHING, dtype=dtype, device=device)
    row = where((place == 0) | ((place == 1) & (last > 0)), emitted[0], NOTHING)
    for t in range(1, steps):
        reaching = stack([row, cat([nothing[:, :1], row[:, :-1]], 1), cat([nothing, row[:, :-2]], 1)[:, :states] + skips])
        row = where(count > t, add(logsumexp(reaching, 0), emitted[t]), row)
    ends = (place == last) | ((place == last - 1) & (last > 0))
    recomputed = -logsumexp(where(ends, row, NOTHING), 1)
    dead = (losses == math.inf) if plan.zero_infinity else (losses != losses)
    counted = where(dead | (count[:, 0] == 0), 0, grad)
    slopes, = gradients_of(recomputed, log_probs, counted, create_graph=True)
    alive = unsqueeze(unsqueeze(arange(steps, device=device), 1) < tensor([times], device=device), 2)
    return add(slopes, where(alive, mul(exp(log_probs), reshape(counted, (1, batch, 1))), 0))


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank: int = 0, reduction: str = "mean",
             zero_infinity: bool = False) -> Tensor:
    """The connectionist temporal classification loss: -log of the probability of all alignments of labels with time (Graves et al.
    2006).

    Args:
        log_probs: (T, N, C) logarithms of probabilities, as `log_softmax` gives them, or (T, C) for a single sequence.
        targets: labels, (N, S), or those of all sequences in one row of sum(target_lengths).
        input_lengths, target_lengths: for each sequence the steps and the labels that count, as a tensor, list or tuple.
        blank: the class that stands for no label.
        reduction: "mean" (of the losses over their numbers of labels), "sum" or "none".
        zero_infinity: count as 0, without a gradient, the losses of sequences that are too short for their labels.

    Returns:
        A 0-dim tensor; with "none" (N) or ().

    Raises:
        RuntimeError: shapes or lengths that do not go together, or a blank that is no class.
        IndexError: a label that is no class.
        NotImplementedError: a dtype other than float32 and float64.

    Example:
        >>> import numtorch as torch
        >>> log_probs = torch.zeros(3, 1, 2).log_softmax(-1)
        >>> torch.nn.functional.ctc_loss(log_probs, torch.tensor([[1]]), [3], [1])
        tensor(0.2877)
    """
    check_reduction(reduction)
    single = layout_of("ctc_loss", log_probs, "log_probs").ndim == 2
    x = unsqueeze(log_probs, 1) if single else log_probs
    if x.layout.ndim != 3:
        raise RuntimeError(f"Expected 3-dimensional tensor, but got {log_probs.layout.ndim}-dimensional tensor for argument #1 "
                           f"'log_probs' {_CHECKING}")
    if x.layout.dtype.name not in ("float32", "float64"):
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{x.layout.dtype.title}'")
    steps, batch, classes = x.layout.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    times = _lengths("input_lengths", input_lengths, batch, steps)
    lengths = _lengths("target_lengths", target_lengths, batch)
    labels, starts = _labels(unsqueeze(targets, 0) if single and targets.layout.ndim == 1 else targets, lengths, classes)
    dtype, device = x.layout.dtype, x.layout.device
    if not batch:
        losses = zeros(0, dtype=dtype, device=device)
    else:
        losses = ctc_losses(x, to_device(labels, device), tensor([starts, lengths, times], device=device), max(lengths), blank,
                            zero_infinity)
    if reduction == "mean":
        return mean(div(losses, clamp_low(tensor(lengths, dtype=dtype, device=device), 1)))
    return sum(losses) if reduction == "sum" else losses[0] if single else losses
