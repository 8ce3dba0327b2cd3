"""Scaled dot-product attention: one kernel forward, one backward, and a formula of other ops where those do not serve.

The kernels never hold the (queries, keys) matrix. The formula does; it runs for gradients of gradients, for the gradient of the
mask, and for inputs of more than four dimensions.
"""
from __future__ import annotations

import math

from ...autograd.graph import GraphNode, recording
from ...autograd.modes import modes
from ...dtypes import bool_, float32, uint8
from ...layout import Layout, broadcast_shapes
from ...tensor import Tensor, empty
from ...viewalgebra import expand as expand_layout
from ..core.arguments import expect_dtypes, real
from ..core.backends import has_kernels, kernels
from ..core.primitive import Primitive
from ..creation.fill import ones
from ..index.mask import masked_fill
from ..index.rearrange import repeat_interleave
from ..index.triangles import tril
from ..linalg.matmul import matmul
from ..memory.copies import contiguous
from ..pointwise.arithmetic import add, mul, sub
from ..random.draws import claimed_state
from ..reduce.reductions import sum as total
from ..shape.views import expand, reshape, transpose
from .dropout import dropout
from .softmax import softmax

SCALED_DOT_PRODUCT_ATTENTION = Primitive("scaled_dot_product_attention",
                                         samples=("T[1, 3, 2], T[1, 4, 2], T[1, 4, 2], None; 0.0, False, None, False",
                                                  "T[1, 3, 2], T[1, 4, 2], T[1, 4, 2], T[3, 4]; 0.0, False, 0.5, False"))
_KEPT = Primitive("attention_kept", "The factors that dropout applies to the weights of attention, drawn again.",
                  samples="int64[2]; (2, 3), T, device, 0.5")


def _check(q, k, v, mask, dropout_p):
    if q.dtype is not k.dtype or q.dtype is not v.dtype:
        raise RuntimeError(f"Expected query, key, and value to have the same dtype, but got query.dtype: {q.dtype} key.dtype: "
                           f"{k.dtype} and value.dtype: {v.dtype} instead.")
    if min(x.ndim for x in (q, k, v)) < 2:
        raise RuntimeError(f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {q.ndim} "
                           f"key.dim: {k.ndim} and value.dim: {v.ndim} instead.")
    if not q.dtype.is_floating_point:
        raise RuntimeError(f"scaled_dot_product_attention: expected a floating-point dtype, got {q.dtype}")
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise RuntimeError(f"scaled_dot_product_attention: expected query (..., L, E), key (..., S, E) and value (..., S, Ev), "
                           f"but got {list(q.shape)}, {list(k.shape)} and {list(v.shape)}")
    if mask is not None and mask.dtype not in (bool_, q.dtype):
        raise RuntimeError(f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
                           f"{mask.dtype} and  query.dtype: {q.dtype} instead.")
    if not 0.0 <= dropout_p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p: float = 0.0, is_causal: bool = False, scale=None,
                                 enable_gqa: bool = False) -> Tensor:
    """softmax(scale * query @ key^T + mask) @ value, in memory that grows with the lengths and not with their product.

    Args:
        query: (..., H, L, E).
        key: (..., H, S, E).
        value: (..., H, S, Ev).
        attn_mask: broadcasts to (..., H, L, S). A bool mask is True where a query may look; any other is added to the scores.
        dropout_p: the probability with which each weight is set to 0, whatever mode a module is in.
        is_causal: query i sees keys up to i.
        scale: 1 / sqrt(E) when None.
        enable_gqa: let groups of heads of the query share a head of key and value (Ainslie et al. 2023).

    Returns:
        (..., H, L, Ev); 0 for a query that sees nothing.

    Raises:
        RuntimeError: dtypes, devices or shapes that do not go together.

    Example:
        >>> import numtorch as torch
        >>> x = torch.ones(1, 3, 4)
        >>> torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True).shape
        torch.Size([1, 3, 4])
    """
    return _attend(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)


# ---------------------------------------------------------------- plans
class _Plan:
    """An attention for given layouts: its options, its kernels, and what must be done to the inputs first.

    Attributes:
        key: what it is looked up by.
        batch: the batch dimensions (without heads, where groups of them share a head) that the inputs are expanded to.
        prepare: makes batches equal and rows dense, or None where they are.
        forward: the kernel, or None where only the formula serves.
    """

    __slots__ = ("key", "scale", "causal", "dropout", "group", "batch", "prepare", "forward", "out", "lse", "workspace", "counters",
                 "sizes", "arguments", "backward")

    def same_batch(self, *inputs):
        cut = -2 if self.group == 1 else -3
        return [x if x.layout.shape[:cut] == self.batch else expand(x, *self.batch, *x.layout.shape[cut:]) for x in inputs]

    def dense_rows(self, *inputs):
        return [_rows(x) for x in self.same_batch(*inputs)]

    def plan_forward(self, q, k, v, mask):
        shape = (1,) * (4 - q.ndim) + q.shape
        keys, width = k.shape[-2], v.shape[-1]
        self.out = _result_layout(q, width)
        self.lse = Layout.of(q.dtype if q.dtype.itemsize >= 4 else float32, q.shape[:-1], None, q.device)
        self.sizes = (q.dtype.kernel, *shape[:2], self.group, shape[2], keys, shape[3], width, self.scale, self.causal)
        self.arguments = dict(dropout=self.dropout)
        if mask is not None:
            full = expand_layout(mask, (*shape[:3], keys))[0]
            self.arguments.update(mask="bool" if mask.dtype is bool_ else mask.dtype.kernel, mask_strides=full.strides)
        module = kernels(q.device, "attention.attention")
        self.forward = module.plan_attention(*self.sizes, _steps(q, k, v, self.out), **self.arguments)
        self.workspace = _bytes(self.forward.workspace, q.device)
        self.counters = module.counters_used(q.dtype.kernel, shape[0] * shape[1], shape[2], keys) if self.dropout else 0
        self.backward = {}

    def plan_backward(self, q, k, v, grad, *grads):
        """The backward kernel and its workspace, for one layout of the incoming gradient."""
        planned = self.backward.get(grad)
        if planned is None:
            prepared = kernels(q.device, "attention.attention").plan_attention_grad(
                *self.sizes, _steps(q, k, v, self.out, grad, *grads), **self.arguments)
            if len(self.backward) >= 8:
                self.backward.clear()
            planned = self.backward[grad] = prepared, _bytes(prepared.workspace, q.device)
        return planned


@SCALED_DOT_PRODUCT_ATTENTION.planned
def _plan(q, k, v, mask, dropout_p: float, is_causal: bool,
            scale: float | None, enable_gqa: bool):
    if mask is not None and is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    plan = make_plan(q, k, v, mask, dropout_p, is_causal, scale, enable_gqa)
    plan.key = q, k, v, mask, dropout_p, is_causal, scale, enable_gqa
    return plan


def make_plan(q, k, v, mask, dropout_p, is_causal, scale=None, enable_gqa=False):
    """Check the inputs' layouts and plan their attention. A mask and `is_causal` hold both."""
    _check(q, k, v, mask, dropout_p)
    plan = _Plan()
    scale = 1.0 / math.sqrt(max(q.shape[-1], 1)) if scale is None else real("scaled_dot_product_attention", "scale", scale)
    plan.scale = float(scale)
    plan.causal, plan.dropout, plan.group, plan.prepare, plan.forward = is_causal, float(dropout_p), 1, None, None
    if enable_gqa and min(q.ndim, k.ndim, v.ndim) >= 3:
        heads, shared = q.shape[-3], k.shape[-3]
        if shared != v.shape[-3] or not shared or heads % shared:
            raise RuntimeError(f"Number of heads in key and value must divide the number of heads in query (got {shared}, "
                               f"{v.shape[-3]} and {heads})")
        plan.group = heads // shared
    cut = -2 if plan.group == 1 else -3
    plan.batch = broadcast_shapes(broadcast_shapes(q.shape[:cut], k.shape[:cut]), v.shape[:cut])
    heads = () if plan.group == 1 else (q.shape[-3],)
    shape = (*plan.batch, *heads, q.shape[-2], k.shape[-2])
    if mask is not None:
        expand_layout(mask, shape)                # raises where the mask does not fit
    elements = math.prod(shape) * q.shape[-1] * v.shape[-1]
    if len(shape) <= 4 and elements and has_kernels(q.device, "attention.attention"):
        if any(x.shape[:cut] != plan.batch or not _has_rows(x) for x in (q, k, v)):
            plan.prepare = plan.forward = plan.dense_rows
        else:
            plan.plan_forward(q, k, v, mask)
    return plan


def _bytes(count, device):
    return Layout.of(uint8, (count,), None, device)


def _steps(*layouts):
    """Strides of batch, heads and rows; 0 for what is not there."""
    return [((0, 0) + x.strides)[-4:-1] for x in layouts]


def _result_layout(like, width):
    """Dense, in the order of dimensions that `like` has: what was split into heads is joined again without a copy."""
    shape = (*like.shape[:-1], width)
    order = sorted(range(like.ndim - 1), key=lambda d: -like.strides[d])
    strides, step = [1] * like.ndim, width
    for d in reversed(order):
        strides[d] = step
        step *= shape[d]
    return Layout.of(like.dtype, shape, tuple(strides), like.device)


def _has_rows(layout):
    return layout.strides[-1] == 1 or layout.shape[-1] == 1


def _rows(x):
    """x with a unit stride along its last dimension."""
    return x if _has_rows(x.layout) else contiguous(x)


# ---------------------------------------------------------------- the kernels
@SCALED_DOT_PRODUCT_ATTENTION.run
def _attend(plan, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, is_causal: bool,
            scale: float | None, enable_gqa: bool):
    if plan.forward is None or (attn_mask is not None and recording(attn_mask)):
        query, key, value = plan.same_batch(query, key, value)
        return _formula(plan, query, key, value, attn_mask)
    if plan.prepare is not None:
        query, key, value = plan.prepare(query, key, value)
        return scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    out, lse, state = run_forward(plan, query, key, value, attn_mask)
    if recording(query, key, value):
        out.node = node = GraphNode(SCALED_DOT_PRODUCT_ATTENTION, (query.node, key.node, value.node),
                                    (query, key, value, attn_mask, lse, state), plan.key)
        node.save_results((out,))
    return out


def run_forward(plan, query, key, value, mask):
    """The result, the logarithms of the sums of exponentials, and the stream's state (3) where weights were dropped."""
    state = claimed_state(plan.counters) if plan.counters else None
    out, lse, workspace = empty(plan.out), empty(plan.lse), empty(plan.workspace)
    plan.forward.call(query.address, key.address, value.address, 0 if mask is None else mask.address,
                      0 if state is None else state.address, out.address, lse.address, workspace.address,
                      plan.forward.descriptor)
    return out, lse, state


@SCALED_DOT_PRODUCT_ATTENTION.derivative
def _attend_vjp(node, grad, query, key, value, mask, lse, state, out):
    plan = SCALED_DOT_PRODUCT_ATTENTION.plan_at(node.attributes)
    if modes.grad:
        return gradient_formula(plan, state, [node.needs(i) for i in range(3)], query, key, value, mask, grad)
    grads = [empty(_result_layout(x.layout, x.layout.shape[-1])) for x in (query, key, value)]
    run_backward(plan, state, query, key, value, mask, out, lse, _rows(grad), grads)
    return tuple([g if node.needs(i) else None for i, g in enumerate(grads)])


def run_backward(plan, state, query, key, value, mask, out, lse, grad, grads):
    """Write the gradients of query, key and value."""
    prepared, room = plan.plan_backward(query.layout, key.layout, value.layout, grad.layout, *[g.layout for g in grads])
    workspace = empty(room)
    prepared.call(query.address, key.address, value.address, 0 if mask is None else mask.address,
                  0 if state is None else state.address, out.address, lse.address, grad.address, *[g.address for g in grads],
                  workspace.address, prepared.descriptor)


# ---------------------------------------------------------------- the formula
def _weights(plan, query, key, mask):
    """softmax(scale * query @ key^T + mask), 0 in rows where everything is hidden."""
    scores = mul(matmul(query, transpose(key, -2, -1)), plan.scale)
    if plan.causal:
        seen = tril(ones(*scores.layout.shape[-2:], dtype=bool_, device=scores.layout.device))
        scores = masked_fill(scores, seen.logical_not(), -math.inf)
    if mask is None:
        return softmax(scores, -1)
    scores = masked_fill(scores, mask.logical_not(), -math.inf) if mask.layout.dtype is bool_ else add(scores, mask)
    blind = scores.detach().eq(-math.inf).all(-1, keepdim=True)
    return masked_fill(softmax(masked_fill(scores, blind, 0.0), -1), blind, 0.0)


def _shared_heads(plan, x):
    return x if plan.group == 1 else repeat_interleave(x, plan.group, -3)


def _formula(plan, query, key, value, mask):
    """Attention of other ops, which hold the matrix of weights."""
    weights = _weights(plan, query, _shared_heads(plan, key), mask)
    return matmul(dropout(weights, plan.dropout) if plan.dropout else weights, _shared_heads(plan, value))


def gradient_formula(plan, state, wanted, query, key, value, mask, grad):
    """The gradients of other ops, which record themselves."""
    keys, values = _shared_heads(plan, key), _shared_heads(plan, value)
    weights = _weights(plan, query, keys, mask)
    dropped, slopes = weights, matmul(grad, transpose(values, -2, -1))
    if state is not None:
        shape, dtype, device = weights.layout.shape, weights.layout.dtype, weights.layout.device
        kept = _kept(state, shape, dtype, device, plan.dropout)
        dropped, slopes = mul(weights, kept), mul(slopes, kept)
    slopes = mul(mul(weights, sub(slopes, total(mul(slopes, weights), -1, keepdim=True))), plan.scale)
    by_query = matmul(slopes, keys) if wanted[0] else None
    by_key = _summed_heads(plan, matmul(transpose(slopes, -2, -1), query)) if wanted[1] else None
    return by_query, by_key, _summed_heads(plan, matmul(transpose(dropped, -2, -1), grad)) if wanted[2] else None


def _summed_heads(plan, grad):
    if plan.group == 1:
        return grad
    *batch, heads, rows, width = grad.layout.shape
    return total(reshape(grad, *batch, heads // plan.group, plan.group, rows, width), -3)


@_KEPT.planned
def _plan_kept(state, shape, dtype, device, dropout):
    expect_dtypes("attention_kept", dtype, "float")
    batch, heads, queries, keys = (1,) * (4 - len(shape)) + shape
    prepared = kernels(device, "attention.attention").plan_attention_kept(dtype.kernel, batch, heads, queries, keys, dropout)
    return Layout.of(dtype, shape, None, device), _bytes(prepared.workspace, device), prepared


@_KEPT.run
def _kept(plan, state: Tensor, shape, dtype, device, dropout):
    """The factors that dropout applied to weights of that shape: the same draw again."""
    layout, room, prepared = plan
    out, workspace = empty(layout), empty(room)
    prepared.call(state.address, out.address, workspace.address, prepared.descriptor)
    return out
