"""Cross entropy and negative log likelihood: a kernel for the losses, one for their total, one backward.

Forward keeps two numbers a position instead of log-probabilities (kernels/cpu/softmax/cross_entropy.py says why). Gradients of
gradients take grad * (m * softmax(x) - q) out of ops, q being the weighted target distribution and m its sum over classes.
"""
from __future__ import annotations

import math

from ...autograd.graph import GraphNode, recording
from ...dtypes import int64, promote_types, uint8
from ...layout import Layout
from ...tensor import Tensor, empty
from ..core.backends import kernels
from ..core.operands import layout_of
from ..core.primitive import Primitive, derivative_of
from ..core.status import clear_status, expect_status
from ..creation import ranges
from ..memory.copies import contiguous, to_dtype
from ..nn.softmax import log_softmax, softmax
from ..pointwise import comparison
from ..pointwise.arithmetic import add, div, mul, sub, where
from ..reduce.reduce_op import SUM
from ..shape.views import movedim, reshape
from .elementwise_losses import check_reduction

CROSS_ENTROPY = Primitive("cross_entropy", samples="T[2, 3], int64([2, 0]), T[3]; -100, 'mean', 0.1")
NLL_LOSS = Primitive("nll_loss", samples="T[2, 3], int64([2, 0]), None; -100, 'sum', 0.0")


# ---------------------------------------------------------------- what goes together
def _check_scores(name, shape, kind, weight):
    if not shape:
        raise ValueError(f"{name}: Expected 1 or more dimensions (got 0)")
    if not kind.is_floating_point:
        raise NotImplementedError(f"{name}: expected floating point scores, got {kind}")
    classes = shape[0] if len(shape) == 1 else shape[1]
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor "
                           f"of shape: {list(weight.shape)}")
    if weight is not None and weight.dtype is not kind:
        raise RuntimeError(f"expected scalar type {kind.title} but found {weight.dtype.title} ({name}: weight)")


def _check_classes(name, layout, target, weight):
    """Raise, as PyTorch words it, for scores and class indices that do not go together."""
    shape, wanted = layout.shape, target.shape
    _check_batch(shape, wanted)
    _check_scores(name, shape, layout.dtype, weight)
    if target.dtype is not int64 and target.dtype is not uint8:
        words = "expected scalar type Long but found" if target.dtype.category >= 2 else \
            "expected target dtype to be Long or Byte, but got"
        raise RuntimeError(f"{words} {target.dtype.title} ({name}: class indices). Convert it with target.long()")
    if len(shape) == 1 and wanted not in ((), (1,)):
        if len(wanted) == 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {wanted[0]}")
        raise RuntimeError(f"size mismatch (got input: {list(shape)}, target: {list(wanted)})")
    if len(shape) > 1 and shape[2:] != wanted[1:]:
        raise RuntimeError(f"Expected target size {[shape[0], *shape[2:]]}, got {list(wanted)}")


def _check_batch(shape, wanted):
    """Raise ValueError where scores and targets are of different numbers of examples."""
    if len(shape) > 1 and shape[0] != (wanted[0] if wanted else None):
        raise ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size ({wanted[0] if wanted else 0}).")


class _Plan:
    """The kernels of a loss for one combination of layouts.

    One block of memory, `scratch`, holds the status (64 bytes), the divisor (64 bytes), the targets' weights, the numbers that
    forward keeps and, where they are totalled, the losses; the attributes of these names are offsets into it.
    """

    __slots__ = ("key", "kind", "layout", "out", "scratch", "weights", "saved", "losses", "forward", "total", "backward",
                 "reduction", "ignored", "smoothing", "divisor", "classes")

    def __init__(self, kind, *key):
        layout, _, weight, ignored, reduction, smoothing = self.key = key
        layout = layout.dense()
        device, dtype, shape = layout.device, layout.dtype, layout.shape
        batch, self.classes, size = (1, shape[0], 1) if len(shape) == 1 else (shape[0], shape[1], math.prod(shape[2:]))
        positions, wide = batch * size, max(4, dtype.itemsize)
        self.kind, self.layout, self.reduction, self.ignored, self.smoothing = kind, layout, reduction, ignored, smoothing
        self.weights = 128
        self.saved = self.weights + -(-positions * wide // 64) * 64
        self.losses = self.saved + -(-3 * positions * wide // 64) * 64
        self.scratch = Layout.of(uint8, (self.losses + positions * dtype.itemsize,), None, device)
        each, mean, weighted = reduction == "none", reduction == "mean", weight is not None
        outer = () if len(shape) == 1 else (shape[0], *shape[2:])
        self.out = Layout.of(dtype, outer if each else (), None, device)
        self.divisor = None if mean and kind != "probabilities" else float(positions if mean else 1)
        module, name = kernels(device, "softmax.cross_entropy"), dtype.kernel
        divided = self.divisor is None
        if kind == "classes":
            self.forward = module.plan_class_loss(name, batch, self.classes, size, ignored, weighted, smoothing)
            self.backward = module.plan_class_loss_grad(name, batch, self.classes, size, ignored, weighted, smoothing, each,
                                                        divided)
        elif kind == "likelihood":
            self.forward = module.plan_likelihood_loss(name, batch, self.classes, size, ignored, weighted)
            self.backward = module.plan_likelihood_grad(name, batch, self.classes, size, ignored, weighted, each, divided)
        else:
            self.forward = module.plan_probability_loss(name, batch, self.classes, weighted, smoothing)
            self.backward = module.plan_probability_loss_grad(name, batch, self.classes, weighted, smoothing, each, self.divisor)
        self.total = None if each else module.plan_loss_total(name, positions, divided, 1.0 if divided else self.divisor)


@CROSS_ENTROPY.planned
def _plan_cross_entropy(layout, target, weight, ignored, reduction, smoothing):
    check_reduction(reduction)
    if not 0.0 <= smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {smoothing}")
    if target.dtype.category < 2:
        if target.shape == layout.shape and layout.ndim:
            raise RuntimeError(f"Expected floating point type for target with class probabilities, got {target.dtype.title}")
        _check_classes("cross_entropy", layout, target, weight)
        return _Plan("classes", layout, target, weight, ignored, reduction, smoothing)
    if target.shape != layout.shape:
        _check_batch(layout.shape, target.shape)
    _check_scores("cross_entropy", layout.shape, layout.dtype, weight)
    if target.shape != layout.shape:
        if target.ndim == layout.ndim - 1:
            raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target.dtype.title} (cross_entropy: class "
                               f"indices)")
        raise RuntimeError(f"cross_entropy: expected probabilities of the input's shape {list(layout.shape)}, got "
                           f"{list(target.shape)}")
    if ignored >= 0:
        raise RuntimeError(f"ignore_index is not supported for floating point target, got {ignored} (cross_entropy: probabilities)")
    if target.dtype is not layout.dtype:
        raise RuntimeError(f"expected scalar type {layout.dtype.title} but found {target.dtype.title} (cross_entropy: "
                           f"probabilities)")
    return _Plan("probabilities", layout, target, weight, ignored, reduction, smoothing)


@NLL_LOSS.planned
def _plan_nll_loss(layout, target, weight, ignored, reduction, smoothing):
    check_reduction(reduction)
    _check_classes("nll_loss", layout, target, weight)
    return _Plan("likelihood", layout, target, weight, ignored, reduction, smoothing)


def _dense(tensor):
    return tensor if tensor is None or tensor.layout.contiguous else contiguous(tensor.detach())


def _loss(primitive):
    """The call of a loss."""
    @primitive.run
    def loss(plan, input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction, label_smoothing: float):
        scores = input if input.layout.contiguous else contiguous(input.detach())
        if plan.kind == "probabilities":
            given = target if target.layout.contiguous else contiguous(target.detach())
        else:
            if target.layout.dtype is not int64 or not target.layout.contiguous:
                target = contiguous(to_dtype(target, int64))
            given = target
        if weight is not None:
            if recording(weight):
                return _folded(primitive, plan, input, target, weight)
            weight = _dense(weight.detach())
        scratch, out = empty(plan.scratch), empty(plan.out)
        address, forward, total = scratch.address, plan.forward, plan.total
        losses = out.address if total is None else address + plan.losses
        weights = 0 if weight is None else weight.address
        if plan.kind == "probabilities":
            forward.call(scores.address, given.address, weights, losses, address + plan.saved, forward.descriptor)
        else:
            clear_status(scratch)
            if plan.kind == "classes":
                forward.call(scores.address, given.address, weights, losses, address + plan.weights, address + plan.saved, address,
                             forward.descriptor)
            else:
                forward.call(scores.address, given.address, weights, losses, address + plan.weights, address, forward.descriptor)
            expect_status(scratch, lambda status: IndexError(
                f"Target {reshape(given, -1)[status - 1].item()} is out of bounds."))
        if total is not None:
            total.call(losses, address + plan.weights, out.address, address + 64, total.descriptor)
        if recording(input, target):
            out.node = GraphNode(primitive, (input.node, target.node), (input, target, scratch, weight), plan.key)
        return out
    return loss


_cross_entropy, _nll_loss = _loss(CROSS_ENTROPY), _loss(NLL_LOSS)


def _folded(primitive, plan, input, target, weight):
    """The loss with weights whose gradients are wanted: they go into the probabilities. Raises RuntimeError beside indices."""
    if plan.kind != "probabilities":
        raise RuntimeError(f"The function '{primitive.name}' is not differentiable with respect to argument 'weight'. This input "
                           f"cannot have requires_grad True.")
    if plan.smoothing:
        target = add(mul(target, 1 - plan.smoothing), plan.smoothing / plan.classes)
    column = (-1,) + (1,) * (input.layout.ndim - 2)      # a shape that broadcasts along the classes
    return _cross_entropy(input, mul(target, reshape(weight, column)), None, -100, plan.reduction, 0.0)


@derivative_of(CROSS_ENTROPY, NLL_LOSS)
def _vjp(node, grad, input, target, scratch, weight):
    plan = node.primitive.plan_at(node.attributes)
    if recording(input, target, grad) or node.needs(1):
        return _composed_gradients(node, plan, grad, input, target, weight)
    if not grad.layout.contiguous:
        grad = contiguous(grad)
    out = empty(plan.layout)
    backward, address = plan.backward, scratch.address
    weights = 0 if weight is None else weight.address
    if plan.kind == "likelihood":
        backward.call(target.address, weights, grad.address, address + 64, out.address, backward.descriptor)
        return out, None
    scores, given = _dense(input), _dense(target)
    if plan.kind == "classes":
        backward.call(scores.address, address + plan.saved, given.address, weights, grad.address, address + 64, out.address,
                      backward.descriptor)
    else:
        backward.call(scores.address, address + plan.saved, given.address, weights, grad.address, out.address, backward.descriptor)
    return out, None


def _composed_gradients(node, plan, grad, input, target, weight):
    """The gradients out of ops, for gradients of gradients and of target probabilities."""
    ndim, dtype = input.layout.ndim, input.layout.dtype
    dim = 0 if ndim == 1 else 1
    column = (-1,) + (1,) * (ndim - 1 - dim)             # a shape that broadcasts along the classes
    spread = plan.layout.shape[:dim] + (1,) + plan.layout.shape[dim + 1:]
    factors = None if weight is None else reshape(weight, column)
    if plan.kind == "probabilities":
        q = target
    else:
        target = reshape(target, spread)
        q = to_dtype(comparison.eq(target, reshape(ranges.arange(plan.classes, device=input.layout.device), column)), dtype)
    own = q if factors is None else mul(q, factors)
    if plan.smoothing:
        q = add(mul(q, 1 - plan.smoothing), plan.smoothing / plan.classes)
        q = q if factors is None else mul(q, factors)
    else:
        q = own
    if plan.kind != "probabilities":
        kept = comparison.ne(target, plan.ignored)
        q = where(kept, q, 0)
        own = where(kept, own, 0)
    grad = reshape(grad, spread) if plan.reduction == "none" else grad
    grad = div(grad, SUM.run(own) if plan.divisor is None else plan.divisor)
    if plan.kind == "likelihood":
        return mul(mul(grad, q), -1), None
    by_input = mul(grad, sub(mul(softmax(input, dim), SUM.run(q, dim, True)), q)) if node.needs(0) else None
    if not node.needs(1):
        return by_input, None
    by_target = mul(mul(grad, log_softmax(input, dim)), plan.smoothing - 1)
    return by_input, by_target if factors is None else mul(by_target, factors)


# ---------------------------------------------------------------- the functions
def cross_entropy(input, target, weight=None, ignore_index: int = -100, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """-log softmax(input)[target].

    Args:
        input: scores of shape (C), (N, C) or (N, C, ...).
        target: class indices of shape (), (N) or (N, ...), or probabilities of the input's shape.
        weight: a weight for each class, shape (C); it has a gradient beside probabilities alone.
        ignore_index: targets with this index count for nothing.
        reduction: "mean" (over the targets' weights), "sum" or "none".
        label_smoothing: how much of each target is spread evenly over all classes, from 0 to 1.

    Raises:
        IndexError: a class out of range.
        RuntimeError, ValueError: shapes, dtypes or options that do not fit; a weight that requires grad beside indices.
    """
    layout, other = layout_of("cross_entropy", input), layout_of("cross_entropy", target, "target", 2)
    if other.dtype.category >= 2:                        # probabilities
        if other.dtype is not layout.dtype and other.dtype.is_floating_point and layout.dtype.is_floating_point:
            common = promote_types(layout.dtype, other.dtype)
            weight = weight if weight is None else to_dtype(weight, common)
            input, target = to_dtype(input, common), to_dtype(target, common)
        if layout.ndim > 2 and other.shape == layout.shape:
            return _along_rows(input, target, weight, reduction, label_smoothing)
    return _cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)


def _along_rows(input, target, weight, reduction, smoothing):
    """Cross entropy of (N, C, ...) with probabilities, as that of (positions, C)."""
    shape = input.layout.shape
    rows = [reshape(movedim(t, 1, -1), -1, shape[1]) for t in (input, target)]
    out = cross_entropy(*rows, weight, -100, reduction, smoothing)
    return reshape(out, (shape[0], *shape[2:])) if reduction == "none" else out


def nll_loss(input, target, weight=None, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    """-weight[target] * input[target], for log-probabilities of shape (C), (N, C) or (N, C, ...) and class indices.

    The mean is over the targets' weights.

    Raises:
        IndexError: a class out of range.
        RuntimeError, ValueError: shapes, dtypes or options that do not fit.
    """
    return _nll_loss(input, target, weight, ignore_index, reduction, 0.0)
