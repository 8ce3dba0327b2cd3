"""Batch norm, and instance norm with running statistics: norms of channels, which training moves statistics over time by."""
from __future__ import annotations

import math

from ...autograd.graph import GraphNode, recording
from ...autograd.modes import no_grad
from ...autograd.writes import mark_written
from ...layout import Layout, format_of, formatted
from ...tensor import Tensor, empty
from ..core.arguments import check_truths, real
from ..core.backends import kernels
from ..core.operands import layout_of
from ..core.primitive import Primitive
from ..memory.copies import to_dtype
from ..reduce.normformula import Form, composed, composed_gradients
from ..reduce.reductions import mean, var
from ..shape.views import reshape
from . import norm
from .norm import NormPlan, address_or_0, dense_of, float32

INSTANCE_NORM = Primitive("instance_norm", samples="T[2, 2, 4], T[2], T[2]; 2, 1e-5")
BATCH_NORM = Primitive("batch_norm",
                       samples=("T[4, 2], T[2], T[2], None, None; True, 0.1, 1e-5",
                                "T[4, 2], None, None, T[2], T[2]; False, 0.1, 1e-5"))
BATCH_NORM_GRAD = Primitive("batch_norm_grad", "The gradients of a norm of channels.", samples=(
    "T[4, 2], T[4, 2], None, T.compute[2, 2]; norm.kept_of(BATCH_NORM, T[4, 2], None, None, True, 0.1, 1e-5), (True, True, True)"))


# ---------------------------------------------------------------- running statistics
def _check_statistics(running_mean, running_var):
    """Raise RuntimeError for running statistics whose gradients are wanted."""
    for name, statistics in (("running_mean", running_mean), ("running_var", running_var)):
        if recording(statistics):
            raise RuntimeError(f"The function 'native_batch_norm' is not differentiable with respect to argument '{name}'. This "
                               "input cannot have requires_grad True.")


def _blend(running, value, share):
    running.copy_(running * (1 - share) + value.reshape(running.layout.shape) * share)


# ---------------------------------------------------------------- batch norm
@BATCH_NORM.planned
def _batch_plan(layout, weight, bias, running_mean, running_var, training, momentum, eps):
    vectors = weight, bias, running_mean, running_var
    real("batch_norm", "eps", eps)
    shape = layout.shape
    if len(shape) < 2 and shape != (0,):                 # nothing at all is also nothing of no channels
        raise RuntimeError(f"batch_norm: expected at least 2 dimensions, got {list(shape)}")
    channels = shape[1] if len(shape) > 1 else 0
    for name, vector in zip(("weight", "bias", "running_mean", "running_var"), vectors):
        if vector is not None and vector.numel != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {vector.numel}")
    running = running_mean is not None and running_var is not None
    if training and (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if eps < 0 or (training and eps == 0):
        raise ValueError(f"batch_norm eps must be {'positive during training' if training else 'non-negative'}, but got {eps}")
    if not training and not running:
        raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
    count = layout.numel // max(channels, 1)
    if training and count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size torch.Size({list(shape)})")
    batch, size = shape[0], math.prod(shape[2:])
    form = Form((batch, channels, size), (1, channels, 1), (0, 2), (0, 2), eps)
    plan = NormPlan("batch_norm", form, layout, vectors, channels, (channels,), format_of(layout) or "contiguous_format")
    if plan.order != "contiguous_format":
        batch, size = batch * size, 1                    # every place is an example
    plan.batch = training
    if plan.fused:
        module, sizes = kernels(layout.device, "norm.channel_norm"), (layout.dtype.kernel, batch, channels, size)
        plan.forward = module.plan_batch_norm(*sizes, eps, momentum, training, plan.weighted, bias is not None, running)
        plan.planner = "norm.channel_norm", "plan_batch_norm_grad", *sizes, training, plan.weighted
    return plan


def _note_moved(dense, running):
    """A kernel has moved running statistics, or a dense copy of them."""
    if dense is running or dense.memory is running.memory:
        mark_written(running.memory, "batch_norm")
    else:
        running.copy_(dense)


@BATCH_NORM.run
def _batch_norm(plan, input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
                running_var: Tensor | None, training: bool, momentum: float, eps: float):
    if (running_mean is not None and running_mean.node) or (running_var is not None and running_var.node):
        _check_statistics(running_mean, running_var)
    if plan.forward is None:
        if plan.widened:
            wide = batch_norm(to_dtype(input, float32), running_mean, running_var, weight, bias, training, momentum, eps)
            return to_dtype(wide, input.layout.dtype)
        return _batch_norm_of_ops(plan, input, running_mean, running_var, weight, bias, training, momentum)
    if plan.plain:
        x, w, b, m, v = input, weight, bias, running_mean, running_var
    else:
        x, w, b, m, v = dense_of(input, plan.order), *[dense_of(t) for t in (weight, bias, running_mean, running_var)]
    out, stats = empty(plan.out), empty(plan.stats)
    plan.forward.call(x.address, address_or_0(w), address_or_0(b), address_or_0(m), address_or_0(v), out.address, stats.address,
                      plan.forward.descriptor)
    if training and running_mean is not None and running_var is not None:
        _note_moved(m, running_mean)
        _note_moved(v, running_var)
    if recording(input, weight, bias):
        edges = (input.node, None if weight is None else weight.node, None if bias is None else bias.node)
        running = (running_mean, running_var) if not training else (None, None)
        out.node = GraphNode(BATCH_NORM, edges, (input, weight, stats, *running), plan.kept or plan.keep())
    return out


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training: bool = False, momentum: float = 0.1,
               eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel, over all else (Ioffe and Szegedy 2015).

    Args:
        input: (N, C, *), of floating point.
        running_mean, running_var: statistics over time, (C) or None; used when not `training`, updated in place when it is (the
            variance by the unbiased one).
        weight, bias: (C) or None.
        training: take the statistics of this batch.
        momentum: the share of this batch in the running statistics.
        eps: added to the variance.

    Returns:
        The input's shape and dtype.

    Raises:
        ValueError: a channel of a single value in training; one of the two statistics without the other; an `eps` below 0, or of 0
            in training.
        RuntimeError: vectors of another length than C, no statistics when not training, or statistics that require grad.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[0., 1.], [2., 5.]])
        >>> torch.nn.functional.batch_norm(x, None, None, training=True)
        tensor([[-1.0000, -1.0000],
                [ 1.0000,  1.0000]])
        >>> torch.nn.functional.batch_norm(x, torch.zeros(2), torch.ones(2), eps=0.0)
        tensor([[0., 1.],
                [2., 5.]])
    """
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def _batch_norm_of_ops(plan, input, running_mean, running_var, weight, bias, training, share):
    if not training:
        return composed(plan.form, input, weight, bias, (running_mean, running_var))
    if running_mean is not None and running_var is not None and input.layout.numel:     # of nothing there are no statistics
        count = input.layout.numel // max(plan.form.view[1], 1)
        with no_grad():
            data = reshape(input, plan.form.view)
            _blend(running_mean, mean(data, (0, 2)), share)
            _blend(running_var, var(data, (0, 2), correction=1 if count > 1 else 0), share)
    return composed(plan.form, input, weight, bias)


@BATCH_NORM.derivative
def _batch_vjp(node, grad, input, weight, stats, running_mean, running_var):
    kept = node.attributes
    if recording(input, weight, grad):
        running = None if kept.batch else (running_mean, running_var)
        return composed_gradients(node, kept.form, grad, input, weight, kept.vector, running)
    return _batch_gradients(grad, input, weight, stats, kept, (node.needs(0), node.needs(1), node.needs(2)))


@BATCH_NORM_GRAD.planned
def _plan_batch_gradients(grad, input, weight, stats, kept, wanted):
    family, name, *arguments = kept.planner
    vector = Layout.of(input.dtype, kept.vector, None, input.device)
    layouts = [layout if want else None for layout, want in zip((formatted(input, kept.order), vector, vector), wanted)]
    return getattr(kernels(input.device, family), name)(*arguments, *wanted), layouts


@BATCH_NORM_GRAD.run
def _batch_gradients(plan, grad: Tensor, input: Tensor, weight: Tensor | None, stats: Tensor, kept, wanted):
    prepared, layouts = plan
    x, w, g = dense_of(input, kept.order), dense_of(weight), dense_of(grad, kept.order)
    grads = [None if layout is None else empty(layout) for layout in layouts]
    prepared.call(g.address, x.address, stats.address, address_or_0(w), *[address_or_0(t) for t in grads], prepared.descriptor)
    return grads


# ---------------------------------------------------------------- instance norm
_instance_norm = norm.norm_of(INSTANCE_NORM, norm.group_plan)
INSTANCE_NORM.derivative(norm.norm_vjp)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel of each example (Ulyanov et al. 2016).

    Args:
        input: (N, C, *), of floating point.
        running_mean, running_var: statistics over time, (C) or None; moved by `momentum` towards the batch's, or used when not
            `use_input_stats`.
        weight, bias: (C) or None.
        use_input_stats: take the statistics of the input.
        momentum: the share of this batch in the running statistics.
        eps: added to the variance.

    Returns:
        The input's shape and dtype.

    Raises:
        ValueError: a single element for each channel.
        RuntimeError: neither statistics of the input nor others.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.instance_norm(torch.tensor([[[0., 2.], [3., 1.]]]))
        tensor([[[-1.0000,  1.0000],
                 [ 1.0000, -1.0000]]])
    """
    check_truths("instance_norm", use_input_stats=use_input_stats)
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    shape = layout_of("instance_norm", input).shape
    if math.prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    if running_mean is not None:
        layout_of("instance_norm", running_mean, "running_mean", 2), layout_of("instance_norm", running_var, "running_var", 3)
        _check_statistics(running_mean, running_var)
        dims = tuple(range(2, len(shape)))
        with no_grad():
            _blend(running_mean, mean(mean(input.detach(), dims), 0), momentum)
            _blend(running_var, mean(var(input.detach(), dims), 0), momentum)
    return _instance_norm(input, weight, bias, shape[1] if len(shape) > 1 else 1, eps)
