"""Multi-head attention between projections: queries, keys and values as linear layers give them, heads side by side in a row.

One op takes the projections, packed in one tensor, two or three, and gives its result in the same order of dimensions. So
nothing is split, transposed or joined on the way, and the gradient of a packed projection is written in one piece.
"""
from __future__ import annotations

import math
import warnings

from ...autograd.graph import GraphNode, recording
from ...autograd.modes import modes
from ...dtypes import bool_
from ...layout import Layout
from ...tensor import Tensor, empty, wrap
from ..core.operands import layout_of
from ..core.primitive import Primitive, miss
from ..creation.fill import zeros
from ..index.mask import masked_fill
from ..linalg.matmul import bmm
from ..memory.copies import contiguous
from ..pointwise.arithmetic import add, mul
from ..reduce.reductions import mean
from ..shape.join import cat
from ..shape.split import chunk, split
from ..shape.views import expand, permute, reshape, squeeze, transpose, unsqueeze
from .attention import gradient_formula, make_plan, run_backward, run_forward, scaled_dot_product_attention
from .dropout import dropout
from .linear import linear
from .softmax import softmax

MULTI_HEAD_ATTENTION = Primitive("multi_head_attention", "Attention of all heads, whose projections lie side by side.",
                                 samples="T[3, 1, 12], None; 2, 1, 0.0, False")


@MULTI_HEAD_ATTENTION.planned
class _Plan:
    """Where queries, keys and values lie in their packs, as (batch, heads, rows, depth), and the attention among them."""

    __slots__ = ("key", "places", "attention", "out", "heads", "packs")

    def __init__(self, *arguments):
        *packs, mask, heads, batch_dim, dropout_p, is_causal = self.key = arguments
        width = sum(p.shape[2] for p in packs) // 3
        self.heads, self.packs, self.places = heads, packs, _places(packs, heads, width, batch_dim)
        self.attention = make_plan(*[layout for _, _, layout in self.places], mask, dropout_p, is_causal)
        if self.attention.forward is None:               # the formula takes views of its own
            return
        batch, heads, rows, depth = self.attention.out.shape
        steps = self.attention.out.strides
        shape, strides = (batch, rows, width), (steps[0], steps[2], 1)
        if batch_dim:
            shape, strides = (rows, batch, width), (steps[2], steps[0], 1)
        self.out = Layout.of(packs[0].dtype, shape, strides, packs[0].device)

    def views(self, packs):
        return [wrap(packs[i].memory, packs[i].address + shift, layout) for i, shift, layout in self.places]

    def gradient_packs(self, batch_dim):
        """Memory for the packs' gradients, and the gradients of queries, keys and values in it."""
        packs = [empty(p.dense()) for p in self.packs]
        places = _places([p.layout for p in packs], self.heads, self.out.shape[2], batch_dim)
        return packs, [wrap(packs[i].memory, packs[i].address + shift, layout) for i, shift, layout in places]


def _places(packs, heads, width, batch_dim):
    """(pack, offset in bytes, layout) of queries, keys and values."""
    places = []
    for i, p in enumerate(packs):
        for start in range(0, p.shape[2], width):
            layout = _split_heads(p, heads, width // heads, batch_dim)
            places.append((i, start * p.dtype.itemsize, layout))
    return places


def _split_heads(layout, heads, depth, batch_dim):
    rows_dim = 1 - batch_dim
    return Layout.of(layout.dtype, (layout.shape[batch_dim], heads, layout.shape[rows_dim], depth),
                     (layout.strides[batch_dim], depth, layout.strides[rows_dim], 1), layout.device)


def attend_projections(packs, heads, batch_dim, mask=None, dropout_p=0.0, is_causal=False) -> Tensor:
    """Attention between heads of projections.

    Args:
        packs: queries (., ., E), keys and values, side by side along the last dimension of one, two or three tensors.
        heads: E is split into so many.
        batch_dim: 0 for (N, L, E), 1 for (L, N, E).
        mask: broadcasts to (N, heads, L, S), as for `scaled_dot_product_attention`; holds together with `is_causal`.

    Returns:
        (N, L, E) or (L, N, E), whose memory is in the order of the queries'.
    """
    packs = [p if p.layout.strides[2] == 1 else contiguous(p) for p in packs]
    attributes = heads, batch_dim, dropout_p, is_causal
    plan = MULTI_HEAD_ATTENTION.plans.get((*[p.layout for p in packs], None if mask is None else mask.layout, *attributes))
    if plan is None:
        return miss(MULTI_HEAD_ATTENTION, (*packs, mask), attributes)
    return _attend(plan, *packs, mask, *attributes)


def _attend(plan, *arguments):
    *packs, mask, heads, batch_dim, dropout_p, is_causal = arguments
    if plan.attention.forward is None or (mask is not None and recording(mask)):
        query, key, value = _differentiable_views(packs, heads, batch_dim)
        return _joined(scaled_dot_product_attention(query, key, value, mask, dropout_p, is_causal), batch_dim)
    query, key, value = plan.views(packs)
    out, lse, state = run_forward(plan.attention, query, key, value, mask)
    result = wrap(out.memory, out.address, plan.out)
    if recording(*packs):
        result.node = node = GraphNode(MULTI_HEAD_ATTENTION, tuple([p.node for p in packs]), (*packs, mask, lse, state),
                                       plan.key)
        node.save_results((result,))
    return result


MULTI_HEAD_ATTENTION.execute = _attend


@MULTI_HEAD_ATTENTION.derivative
def _projections_vjp(node, grad, *kept):
    *packs, mask, lse, state, out = kept
    key = node.attributes
    plan, batch_dim = MULTI_HEAD_ATTENTION.plan_at(key), key[-3]
    if modes.grad:
        query, key, value = _differentiable_views(packs, plan.heads, batch_dim)
        grad = _heads_of(grad, plan.heads, batch_dim)
        grads = [_joined(g, batch_dim) for g in gradient_formula(plan.attention, state, (True,) * 3, query, key, value, mask, grad)]
        return tuple([grads[0], grads[1], grads[2]] if len(packs) == 3 else
                     [cat(grads, -1)] if len(packs) == 1 else [grads[0], cat(grads[1:], -1)])
    grad = grad if grad.layout.strides[2] == 1 else contiguous(grad)
    grads_of_packs, grads = plan.gradient_packs(batch_dim)
    attention = plan.attention
    layout = _split_heads(grad.layout, plan.heads, attention.out.shape[3], batch_dim)
    run_backward(attention, state, *plan.views(packs), mask, out, lse, wrap(grad.memory, grad.address, layout), grads)
    return tuple([g if node.needs(i) else None for i, g in enumerate(grads_of_packs)])


def _heads_of(x, heads, batch_dim):
    """(N, L, E) or (L, N, E) as (N, heads, L, depth)."""
    split_up = reshape(x, *x.layout.shape[:2], heads, x.layout.shape[2] // heads)
    return permute(split_up, [0, 2, 1, 3] if batch_dim == 0 else [1, 2, 0, 3])


def _joined(x, batch_dim):
    """(N, heads, L, depth) as (N, L, E) or (L, N, E)."""
    batch, heads, rows, depth = x.layout.shape
    if batch_dim == 0:
        return reshape(permute(x, [0, 2, 1, 3]), batch, rows, heads * depth)
    return reshape(permute(x, [2, 0, 1, 3]), rows, batch, heads * depth)


def _differentiable_views(packs, heads, batch_dim):
    width = sum(p.layout.shape[2] for p in packs) // 3
    return [_heads_of(part, heads, batch_dim) for p in packs for part in split(p, width, -1)]


# ---------------------------------------------------------------- with its projections
def _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether the inputs are batched. Raises AssertionError as PyTorch does."""
    given = dict(query=query, key=key, value=value, key_padding_mask=key_padding_mask, attn_mask=attn_mask)
    for position, (name, tensor) in enumerate(given.items(), 1):
        if tensor is not None or position <= 3:
            layout_of("multi_head_attention_forward", tensor, name, position)
    ndim = query.layout.ndim
    if ndim not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {ndim}-D query tensor")
    kind = "batched (3-D)" if ndim == 3 else "unbatched (2-D)"
    if key.layout.ndim != ndim or value.layout.ndim != ndim:
        raise AssertionError(f"For {kind} `query`, expected `key` and `value` to be {ndim}-D but found {key.layout.ndim}-D and "
                             f"{value.layout.ndim}-D tensors respectively")
    if key_padding_mask is not None and key_padding_mask.layout.ndim != ndim - 1:
        raise AssertionError(f"For {kind} `query`, expected `key_padding_mask` to be `None` or {ndim - 1}-D but found "
                             f"{key_padding_mask.layout.ndim}-D tensor instead")
    if attn_mask is not None:
        if attn_mask.layout.ndim not in (2, 3):
            raise AssertionError(f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
                                 f"{attn_mask.layout.ndim}-D tensor instead")
        if ndim == 2 and attn_mask.layout.ndim == 3:
            expected = (num_heads, query.layout.shape[0], key.layout.shape[0])
            if attn_mask.layout.shape != expected:
                raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.layout.shape}")
    return ndim == 3


def _check_sizes(query, key, value, key_padding_mask, attn_mask, heads, embed_dim, batch_dim, separate):
    """Raises where the sizes of batched inputs and masks do not go together. Returns the batch's."""
    rows_dim = 1 - batch_dim
    batch, targets, width = query.layout.shape[batch_dim], query.layout.shape[rows_dim], query.layout.shape[2]
    sources = key.layout.shape[rows_dim]
    if width != embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {width}")
    if width % heads:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {heads}")
    if key.layout.shape[:2] != value.layout.shape[:2] or (not separate and key.layout.shape != value.layout.shape):
        raise AssertionError(f"key shape {tuple(key.layout.shape)} does not match value shape {tuple(value.layout.shape)}")
    if key_padding_mask is not None and key_padding_mask.layout.shape != (batch, sources):
        raise AssertionError(f"key_padding_mask: expected shape {(batch, sources)}, got {tuple(key_padding_mask.layout.shape)}")
    if attn_mask is not None:
        correct = (targets, sources) if attn_mask.layout.ndim == 2 else (batch * heads, targets, sources)
        if attn_mask.layout.shape != correct:
            raise RuntimeError(f"The shape of the {attn_mask.layout.ndim}D attn_mask is {tuple(attn_mask.layout.shape)}, but "
                               f"should be {correct}.")
    return batch


def _check_kind(mask, name):
    if mask is not None and mask.layout.dtype is not bool_ and not mask.layout.dtype.is_floating_point:
        raise AssertionError(f"only bool and floating types of {name} are supported")


def _additive(mask, dtype):
    """A mask as what is added to scores: of a bool one, True hides."""
    if mask.layout.dtype is not bool_:
        return mask
    return masked_fill(zeros(*mask.layout.shape, dtype=dtype, device=mask.layout.device), mask, -math.inf)


def _merged(attn_mask, key_padding_mask, dtype, batch, heads):
    """One mask for `scaled_dot_product_attention` that broadcasts to (N, heads, L, S); there, True shows."""
    if attn_mask is not None and attn_mask.layout.ndim == 3:
        attn_mask = reshape(attn_mask, batch, heads, *attn_mask.layout.shape[1:])
    if key_padding_mask is not None:
        key_padding_mask = reshape(key_padding_mask, batch, 1, 1, key_padding_mask.layout.shape[1])
    if attn_mask is None or key_padding_mask is None:
        mask = attn_mask if key_padding_mask is None else key_padding_mask
        return mask.logical_not() if mask is not None and mask.layout.dtype is bool_ else mask
    if attn_mask.layout.dtype is bool_ and key_padding_mask.layout.dtype is bool_:
        return attn_mask.logical_or(key_padding_mask).logical_not()
    return add(_additive(attn_mask, dtype), _additive(key_padding_mask, dtype))


def _pad_right(mask):
    """The mask for one more key, which is not hidden."""
    if mask is None:
        return None
    edge = zeros(*mask.layout.shape[:-1], 1, dtype=mask.layout.dtype, device=mask.layout.device)
    return cat([mask, edge], -1)


def _apart(packs, width):
    return [part for p in packs for part in split(p, width, -1)]


def _with_extra_key(packs, extra, batch_dim, width):
    """Queries, keys and values apart, with one more key and one more value."""
    query, key, value = _apart(packs, width)
    shape = list(key.layout.shape)
    shape[1 - batch_dim] = 1
    key, value = [cat([x, expand(e, *shape)], 1 - batch_dim) for x, e in zip((key, value), extra)]
    return [query, key, value]


def _projected(query, key, value, weight, bias, separate, width):
    """The projections, packed as far as inputs are the same tensor."""
    if separate is not None:
        biases = (None,) * 3 if bias is None else chunk(bias, 3)
        return [linear(x, w, b) for x, w, b in zip((query, key, value), separate, biases)]
    if query is key and key is value:
        return [linear(query, weight, bias)]
    sizes = [width, 2 * width] if key is value else [width] * 3
    inputs = [query, key] if key is value else [query, key, value]
    biases = (None,) * 3 if bias is None else split(bias, sizes)
    return [linear(x, w, b) for x, w, b in zip(inputs, split(weight, sizes), biases)]


def _in_projection_packed(q, k, v, w, b=None) -> list[Tensor]:
    """Queries, keys and values by one weight, for attention layers of one's own that are written over PyTorch's."""
    width = q.layout.shape[-1]
    return _apart(_projected(q, k, v, w, b, None, width), width)


def _in_projection(q, k, v, w_q, w_k, w_v, b_q=None, b_k=None, b_v=None) -> tuple[Tensor, ...]:
    """The same by three weights."""
    return tuple([linear(x, w, b) for x, w, b in ((q, w_q, b_q), (k, w_k, b_k), (v, w_v, b_v))])


def multi_head_attention_forward(query, key, value, embed_dim_to_check: int, num_heads: int, in_proj_weight, in_proj_bias, bias_k,
                                 bias_v, add_zero_attn: bool, dropout_p: float, out_proj_weight, out_proj_bias,
                                 training: bool = True, key_padding_mask=None, need_weights: bool = True, attn_mask=None,
                                 use_separate_proj_weight: bool = False, q_proj_weight=None, k_proj_weight=None,
                                 v_proj_weight=None, static_k=None, static_v=None, average_attn_weights: bool = True,
                                 is_causal: bool = False, *, batch_dim: int = 1) -> tuple:
    """Multi-head attention (Vaswani et al. 2017) with its projections: what `nn.MultiheadAttention` calls.

    Args:
        query: (L, N, E) or (L, E).
        key, value: (S, N, *) or (S, *). With `batch_dim` 0, (N, S, *), and (N, L, E) for the query.
        embed_dim_to_check: E.
        num_heads: E is split into so many.
        in_proj_weight, in_proj_bias: (3 E, E) and (3 E), or None; the weight not with `use_separate_proj_weight`.
        bias_k, bias_v: (1, 1, E), one more key and value for all, or None; `add_zero_attn` adds one of zeros.
        dropout_p: the probability with which weights are set to 0 while `training`.
        out_proj_weight, out_proj_bias: (E, E) and (E), or None.
        key_padding_mask: (N, S) or (S); a bool one is True at keys that are hidden, any other is added to scores.
        need_weights: also return the weights.
        attn_mask: (L, S) or (N * num_heads, L, S), likewise.
        use_separate_proj_weight: use q_proj_weight, k_proj_weight, v_proj_weight: (E, E), (E, kdim) and (E, vdim).
        static_k, static_v: not supported; None.
        average_attn_weights: give the heads' mean.
        is_causal: a promise that `attn_mask` hides the future and nothing else, which then need not be read.

    Returns:
        The output as the query, and the weights (N, L, S), or (N, num_heads, L, S) without `average_attn_weights`, or None.

    Raises:
        AssertionError, RuntimeError: shapes that do not go together, as in PyTorch.
        NotImplementedError: `static_k` or `static_v`.

    Example:
        >>> import numtorch as torch
        >>> x, eye = torch.eye(2).view(2, 1, 2), torch.eye(2)
        >>> out, weights = torch.nn.functional.multi_head_attention_forward(
        ...     x, x, x, 2, 1, torch.cat([eye, eye, eye]), None, None, None, False, 0.0, eye, None)
        >>> weights
        tensor([[[0.6698, 0.3302],
                 [0.3302, 0.6698]]])
    """
    if static_k is not None or static_v is not None:
        raise NotImplementedError("multi_head_attention_forward: static_k and static_v are not supported")
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same, batch_dim = query is key and key is value, 1
        query = unsqueeze(query, 1)
        key, value = (query, query) if same else (unsqueeze(key, 1), unsqueeze(value, 1))
        key_padding_mask = None if key_padding_mask is None else unsqueeze(key_padding_mask, 0)
    _check_kind(key_padding_mask, "key_padding_mask")
    _check_kind(attn_mask, "attn_mask")
    if key_padding_mask is not None and attn_mask is not None and key_padding_mask.layout.dtype is not attn_mask.layout.dtype:
        warnings.warn("Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both instead.",
                      stacklevel=2)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                           "`generate_square_subsequent_mask` to create this mask.")
    batch = _check_sizes(query, key, value, key_padding_mask, attn_mask, num_heads, embed_dim_to_check, batch_dim,
                         use_separate_proj_weight)
    if is_causal and not need_weights:
        attn_mask = None
    else:
        is_causal = False
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    width = query.layout.shape[2]                        # what was to be checked may be 2.0
    packs = _projected(query, key, value, in_proj_weight, in_proj_bias, separate, width)
    zero = zeros(1, 1, width, dtype=query.layout.dtype, device=query.layout.device) if add_zero_attn else None
    for extra in ((bias_k, bias_v), (zero, zero)):
        if extra[0] is not None:
            packs = _with_extra_key(packs, extra, batch_dim, width)
            attn_mask, key_padding_mask = _pad_right(attn_mask), _pad_right(key_padding_mask)
    mask = _merged(attn_mask, key_padding_mask, query.layout.dtype, batch, num_heads)
    dropout_p = dropout_p if training else 0.0
    weights = None
    if need_weights:
        out, weights = _with_weights(packs, num_heads, batch_dim, mask, dropout_p)
        weights = mean(weights, 1) if average_attn_weights else weights
    else:
        out = attend_projections(packs, num_heads, batch_dim, mask, dropout_p, is_causal)
    out = linear(out, out_proj_weight, out_proj_bias)
    if batched:
        return out, weights
    return squeeze(out, 1), None if weights is None else squeeze(weights, 0)


def _with_weights(packs, heads, batch_dim, mask, dropout_p):
    """The same with the matrix of weights (N, heads, L, S), which the caller wants to see. A query that sees nothing has
    weights of NaN, as in PyTorch."""
    query, key, value = _differentiable_views(packs, heads, batch_dim)
    batch, _, targets, depth = query.layout.shape
    sources = key.layout.shape[2]
    flat = [reshape(x, batch * heads, -1, depth) for x in (mul(query, 1.0 / math.sqrt(depth)), key, value)]
    scores = reshape(bmm(flat[0], transpose(flat[1], 1, 2)), batch, heads, targets, sources)
    if mask is not None:
        scores = masked_fill(scores, mask.logical_not(), -math.inf) if mask.layout.dtype is bool_ else add(scores, mask)
    weights = softmax(scores, -1)
    if dropout_p:
        weights = dropout(weights, dropout_p)
    out = bmm(reshape(weights, batch * heads, targets, sources), flat[2])
    return _joined(reshape(out, batch, heads, targets, depth), batch_dim), weights
