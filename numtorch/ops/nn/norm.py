"""Layer, group and root-mean-square norm: a kernel forward and a kernel backward, as batch_norm.py has them for channels.

Forward keeps the mean and 1 / deviation of whatever shares them; backward is one pass for all gradients. Gradients of gradients,
and devices without these kernels, take the formula over other ops in reduce/normformula.py.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

from ...autograd.graph import GraphNode, recording
from ...dtypes import dtype as named
from ...dtypes import float64
from ...layout import Layout, as_shape, format_of, formatted
from ...tensor import Tensor, empty
from ..core.arguments import check_several, integer, real
from ..core.backends import has_kernels, kernels
from ..core.operands import layout_of
from ..core.primitive import Primitive, derivative_of
from ..memory.copies import contiguous, in_format, to_dtype
from ..reduce.normformula import Form, composed, composed_gradients

LAYER_NORM = Primitive("layer_norm", samples="T[2, 3], T[3], T[3]; (3,), 1e-5")
RMS_NORM = Primitive("rms_norm", samples="T[2, 3], T[3], None; (3,), 1e-5")
GROUP_NORM = Primitive("group_norm", samples="T[2, 4, 3], T[4], T[4]; 2, 1e-5")
NORM_GRAD = Primitive("norm_grad", "The gradients of a norm of rows or groups.", samples=(
    "T[2, 3], T[2, 3], None, T.compute[2, 2]; kept_of(LAYER_NORM, T[2, 3], (3,), 1e-5), True, False, False"))

float32 = named.by_name["float32"]


# ---------------------------------------------------------------- plans
@dataclass(frozen=True, eq=False, slots=True)
class Kept:
    """What a norm's node knows: how it sees its data, the shape of weight and bias, the memory format of the kernels and that of
    results (None where it is the same), whether statistics are the batch's, and the backward kernel's planner and arguments.

    Backward looks its plans up by this object's identity, which costs less than by its fields, so each plan has an object of its
    own.
    """

    form: Form
    vector: tuple
    order: str
    format: str | None
    batch: bool
    planner: tuple


class NormPlan:
    """A norm's kernels for one combination of layouts.

    Attributes:
        forward: the kernel, or None where the formula serves.
        stats: the layout of what forward keeps.
        planner: the family, name and arguments of the backward kernel's planner, less which gradients are wanted.
        vector: the shape of weight and bias.
        order: the memory format in which the kernels want the data, and keep it.
        format: the memory format of results, where that is another; or None.
        widened: whether an input of 16-bit floats is normed in its weights' float32.
    """

    __slots__ = ("form", "out", "stats", "forward", "planner", "vector", "weighted", "batch", "plain", "order", "format", "widened",
                 "kept")

    def __init__(self, name, form, layout, vectors, groups, vector_shape, order="contiguous_format"):
        self.form, self.out, self.order, self.format = form, formatted(layout, order), order, None
        self.weighted = vectors[0] is not None
        self.stats = Layout.of(named.by_name[layout.dtype.compute], (groups, 2), None, layout.device)
        self.vector, self.planner, self.kept = vector_shape, (), None
        self.forward = None
        self.plain = (layout.contiguous if order == "contiguous_format" else layout is self.out) and all(
            v is None or v.contiguous for v in vectors)
        self.batch, self.widened = False, _check_dtypes(name, layout, vectors)

    def keep(self):
        """What nodes know of the plan."""
        self.kept = Kept(self.form, self.vector, self.order, self.format, self.batch, self.planner)
        return self.kept

    @property
    def fused(self):
        plain = not self.widened and not self.out.dtype.is_complex
        return plain and self.out.numel > 0 and has_kernels(self.out.device, "norm.norm")


def dense_of(tensor, order="contiguous_format"):
    if tensor is None or (order == "contiguous_format" and tensor.layout.contiguous):
        return tensor
    return contiguous(tensor.detach(), order)


def address_or_0(tensor):
    return 0 if tensor is None else tensor.address


def norm_of(primitive, plan):
    """The call of a norm without running statistics, of what shares a mean: an extent for each dimension, or a number of groups."""
    primitive.planned(partial(plan, primitive))

    @primitive.run
    def norm(plan, input: Tensor, weight: Tensor | None, bias: Tensor | None, shared, eps: float):
        forward = plan.forward
        if forward is None:
            if plan.widened:
                wide = primitive.function(to_dtype(input, float32), weight, bias, shared, eps)
                return to_dtype(wide, input.layout.dtype)
            return composed(plan.form, input, weight, bias)
        x, w, b = (input, weight, bias) if plan.plain else (dense_of(input), dense_of(weight), dense_of(bias))
        out, stats = empty(plan.out), empty(plan.stats)
        forward.call(x.address, 0 if w is None else w.address, 0 if b is None else b.address, out.address, stats.address,
                     forward.descriptor)
        out = in_format(out, plan.format)
        if recording(input, weight, bias):
            edges = (input.node, None if weight is None else weight.node, None if bias is None else bias.node)
            out.node = GraphNode(primitive, edges, (input, weight, stats), plan.kept or plan.keep())
        return out
    return norm


def kept_of(primitive, input, *others):
    """What nodes know of a call without weight and bias: for samples of its gradient."""
    return primitive.plan(input.layout, None, None, *others).keep()


@derivative_of(LAYER_NORM, RMS_NORM, GROUP_NORM)
def norm_vjp(node, grad, input, weight, stats):
    kept = node.attributes
    if recording(input, weight, grad):
        return composed_gradients(node, kept.form, grad, input, weight, kept.vector)
    return _gradients(grad, input, weight, stats, kept, node.needs(0), node.needs(1), node.needs(2))


@NORM_GRAD.planned
def _plan_gradients(grad, input, weight, stats, kept, by_input, by_weight, by_bias):
    """The kernel of the wanted gradients, and the one that adds up what its parts leave of the weight's and the bias'."""
    family, name, *arguments = kept.planner
    prepared, parts = getattr(kernels(input.device, family), name)(*arguments, by_input, by_weight or by_bias)
    layouts = formatted(input, kept.order), Layout.of(input.dtype, kept.vector, None, input.device)
    if not (by_weight or by_bias):
        return prepared, None, None, *layouts
    n = math.prod(kept.vector)
    merge = kernels(input.device, "norm.norm").plan_merge_sums(input.dtype.kernel, parts, n, by_weight, by_bias)
    return prepared, merge, Layout.of(float64, (parts, 2, n), None, input.device), *layouts


@NORM_GRAD.run
def _gradients(plan, grad: Tensor, input: Tensor, weight: Tensor | None, stats: Tensor, kept, wants_input, wants_weight,
               wants_bias):
    prepared, merge, workspace, like_input, like_vector = plan
    x, w, g = dense_of(input), dense_of(weight), dense_of(grad)
    by_input = empty(like_input) if wants_input else None
    sums = None if workspace is None else empty(workspace)
    optional = [address_or_0(t) for t in (w, by_input, sums)]
    prepared.call(g.address, x.address, stats.address, *optional, prepared.descriptor)
    if wants_input:
        by_input = in_format(by_input, kept.format)
    if merge is None:
        return by_input, None, None
    by_weight = empty(like_vector) if wants_weight else None
    by_bias = empty(like_vector) if wants_bias else None
    merge.call(sums.address, address_or_0(by_weight), address_or_0(by_bias), merge.descriptor)
    return by_input, by_weight, by_bias


def _check_dtypes(name, layout, vectors):
    """Whether the input must be widened to its weights' dtype. Raises for dtypes that do not go together."""
    if not layout.dtype.is_floating_point and not (layout.dtype.is_complex and name == "rms_norm"):
        raise NotImplementedError(f"\"{name}\" not implemented for '{layout.dtype.title}': expected a floating-point dtype")
    dtypes = {v.dtype for v in vectors if v is not None}
    if not dtypes or dtypes == {layout.dtype}:
        return False
    if dtypes == {float32} and layout.dtype.itemsize == 2:
        return True
    other = next(d for d in dtypes if d is not layout.dtype)
    raise RuntimeError(f"{name}: expected scalar type {layout.dtype.title} but found {other.title}")


# ---------------------------------------------------------------- rows: layer norm, RMS norm
def _row_plan(primitive, layout, weight, bias, shape, eps):
    name, vectors, centred = primitive.name, (weight, bias), primitive is LAYER_NORM
    real(name, "eps", eps)
    if not shape:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
                           "normalized_shape = []")
    for label, vector in zip(("weight", "bias"), vectors):
        if vector is not None and vector.shape != shape:
            raise RuntimeError(f"Expected {label} to be of same shape as normalized_shape, but got {label} of shape "
                               f"{list(vector.shape)} and normalized_shape = {list(shape)}")
    if layout.shape[-len(shape):] != shape:
        raise RuntimeError(f"Given normalized_shape={list(shape)}, expected input with shape [*, {', '.join(map(str, shape))}], "
                           f"but got input of size{list(layout.shape)}")
    n = math.prod(shape)
    rows = math.prod(layout.shape[:layout.ndim - len(shape)])
    plan = NormPlan(name, Form((rows, n), (1, n), (1,), (0,), eps, centred), layout, vectors, rows, shape)
    if plan.fused:
        module, dtype = kernels(layout.device, "norm.norm"), layout.dtype.kernel
        plan.forward = module.plan_row_norm(dtype, rows, n, eps, plan.weighted, bias is not None, centred)
        plan.planner = "norm.norm", "plan_row_norm_grad", dtype, rows, n, plan.weighted, centred
    return plan


_layer_norm, _rms_norm = norm_of(LAYER_NORM, _row_plan), norm_of(RMS_NORM, _row_plan)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions (Ba et al. 2016).

    Args:
        input: (*, *normalized_shape), of floating point.
        normalized_shape: the extents of the dimensions that share a mean.
        weight, bias: of that shape, or None.
        eps: added to the variance.

    Returns:
        The input's shape and dtype.

    Raises:
        RuntimeError: the input's last extents are others, or a weight's shape or dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.layer_norm(torch.tensor([[1., 3.]]), (2,), eps=0.0)
        tensor([[-1.,  1.]])
    """
    if normalized_shape.__class__ is int:
        check_several("layer_norm", "normalized_shape", normalized_shape)
    shape = as_shape((normalized_shape,), "layer_norm: normalized_shape")
    return _layer_norm(input, weight, bias, shape, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimensions (Zhang and Sennrich 2019).

    Args:
        input: (*, *normalized_shape), of floating point or complex.
        normalized_shape: the extents of the dimensions that share a mean.
        weight: of that shape, or None.
        eps: added to the mean; None for the distance of 1 and the next number (of float32 for 16-bit floats).

    Returns:
        The input's shape and dtype.

    Raises:
        RuntimeError: the input's last extents are others, or the weight's shape or dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.rms_norm(torch.tensor([[1., 7.]]), (2,))
        tensor([[0.2000, 1.4000]])
    """
    if eps is None:
        eps = 2.0 ** -52 if layout_of("rms_norm", input).dtype.to_real() is float64 else 2.0 ** -23
    if normalized_shape.__class__ is int:
        check_several("rms_norm", "normalized_shape", normalized_shape)
    shape = as_shape((normalized_shape,), "rms_norm: normalized_shape")
    return _rms_norm(input, weight, None, shape, eps)


# ---------------------------------------------------------------- groups of channels
def group_plan(primitive, layout, weight, bias, groups, eps):
    name, vectors, shape = primitive.name, (weight, bias), layout.shape
    if primitive is GROUP_NORM and len(shape) > 1 and groups > 0 and shape[0] * shape[1] // groups * math.prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size "
                         f"{[shape[0] * shape[1] // groups, groups, *shape[2:]]}")
    real(name, "eps", eps)
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    batch, channels = shape[:2]
    if groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {groups}")
    if channels % groups:
        raise RuntimeError(f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
                           f"{list(shape)} and num_groups={groups}")
    for label, vector in zip(("weight", "bias"), vectors):
        if vector is not None and vector.shape != (channels,):
            raise RuntimeError(f"Expected {label} to be a vector of size equal to the number of channels in input, but got {label} "
                               f"of shape {list(vector.shape)} and input of shape {list(shape)}")
    size, own = math.prod(shape[2:]), channels // groups
    form = Form((batch, groups, own, size), (1, groups, own, 1), (2, 3), (0, 3), eps)
    plan = NormPlan(name, form, layout, vectors, batch * groups, (channels,))
    if primitive is GROUP_NORM:
        plan.format = format_of(layout)
    if plan.fused:
        module, sizes = kernels(layout.device, "norm.channel_norm"), (layout.dtype.kernel, batch, groups, own, size)
        plan.forward = module.plan_group_norm(*sizes, eps, plan.weighted, bias is not None)
        plan.planner = "norm.channel_norm", "plan_group_norm_grad", *sizes, plan.weighted
    return plan


_group_norm = norm_of(GROUP_NORM, group_plan)


def group_norm(input, num_groups: int, weight=None, bias=None, eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias over each group of channels of each example (Wu and He 2018).

    Args:
        input: (N, C, *), of floating point.
        num_groups: how many, of neighbouring channels.
        weight, bias: (C) or None.
        eps: added to the variance.

    Returns:
        The input's shape and dtype.

    Raises:
        RuntimeError: the groups do not divide the channels, or a weight is no vector over channels.
        ValueError: a group of a single value.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.group_norm(torch.tensor([[0., 2., 3., 1.]]), 2)
        tensor([[-1.0000,  1.0000,  1.0000, -1.0000]])
    """
    if type(num_groups) is not int:
        num_groups = integer("group_norm", "num_groups", num_groups)
    return _group_norm(input, weight, bias, num_groups, eps)
