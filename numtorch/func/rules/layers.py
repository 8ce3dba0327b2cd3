"""Batching rules of the losses and layers that are primitives: normalisation, embedding, dropout, cross entropy."""
from __future__ import annotations

from ...layout import broadcast_shapes
from ...ops.core.primitive import miss
from ...ops.creation.ranges import arange
from ...ops.nn.embedding import one_hot as one_hot_of
from ...ops.pointwise import comparison
from ...ops.pointwise.arithmetic import where
from ...ops.random.draws import rand
from ..batching import aligned, drawn, rule
from ..randomness import allowed
from ..variables import without_graph
from .sizes import all_batched, call, check_indices, joined, parted


# ---------------------------------------------------------------- losses
@rule("cross_entropy", "nll_loss")
def class_loss(level, primitive, values, has, attributes):
    """The losses of all positions of all samples, of which each sample's are summed or averaged."""
    scores, target = all_batched(level, values[:2], has[:2])
    weight, (ignored, reduction, smoothing) = values[2], attributes
    one = scores.layout.ndim == 2                        # a sample is the scores of one position
    rows, wanted = (scores, target) if one else (joined(scores), joined(target))
    own = weight is not None and has[2]
    if own:
        weight = _of_classes(weight, scores, one)
        losses = _own_losses(primitive, rows, wanted, weight, ignored, smoothing)
    else:
        losses = call(primitive, (rows, wanted, weight), (ignored, "none", smoothing))
    size = level.size
    if reduction == "none":
        return losses if one else parted(losses, size)
    sums = (losses if one else losses.reshape(size, -1)).reshape(size, -1).sum(1)
    if reduction == "sum":
        return sums
    if target.layout.dtype.category >= 2:
        positions = rows.layout.numel // max(rows.layout.shape[1] * size, 1)
        return sums / positions
    kept = comparison.ne(wanted, ignored)
    if weight is None:
        shares = kept.to(scores.layout.dtype)
    elif own:
        shares = kept * _of_targets(weight, wanted)
    else:
        shares = kept * weight[wanted.clamp(0, weight.layout.shape[0] - 1)]
    return sums / shares.reshape(size, -1).sum(1)


def _of_classes(weight, scores, one):
    """The weights of each sample's classes, as those of the scores of all positions."""
    if one:
        return weight
    shape = scores.layout.shape
    return joined(weight.unsqueeze(1).expand(shape[0], shape[1], weight.layout.shape[1]))


def _of_targets(weight, wanted):
    """The weight of the class that each position wants. weight: (rows, C)."""
    places = wanted.clamp(0, weight.layout.shape[1] - 1).reshape(weight.layout.shape[0], -1)
    return weight.gather(1, places).reshape(wanted.layout.shape)


def _own_losses(primitive, rows, wanted, weight, ignored, smoothing):
    """The losses where classes weigh differently in each sample: linear in the probabilities that are wanted."""
    if wanted.layout.dtype.category < 2 and not smoothing:
        return call(primitive, (rows, wanted, None), (ignored, "none", smoothing)) * _of_targets(weight, wanted)
    kept = None
    if wanted.layout.dtype.category < 2:
        kept, classes = comparison.ne(wanted, ignored), rows.layout.shape[1]
        wanted = one_hot_of(wanted.clamp(0, classes - 1), classes).movedim(-1, 1).to(rows.layout.dtype)
    shares = wanted * (1 - smoothing) + smoothing / rows.layout.shape[1]
    shares = shares * weight.reshape(*weight.layout.shape, *(1,) * (rows.layout.ndim - 2))
    losses = call(primitive, (rows, shares, None), (ignored, "none", 0.0))
    return losses if kept is None else losses * kept


# ---------------------------------------------------------------- norms
@rule("layer_norm", "rms_norm")
def over_last(level, primitive, values, has, attributes):
    """Their shape is the last dimensions': samples are further rows. Weights of each sample multiply afterwards."""
    x, weight, bias = values
    own = any(has[1:])
    out = miss(primitive, (x if has[0] else level.all_samples(x), None if own else weight, None if own else bias), attributes)
    if not own:
        return out
    for vector, each, combine in ((weight, has[1], lambda a, b: a * b), (bias, has[2], lambda a, b: a + b)):
        if vector is not None:
            out = combine(out, aligned(vector, out.layout.ndim - 1) if each else vector)
    return out


@rule("group_norm", "instance_norm")
def over_groups(level, primitive, values, has, attributes):
    x, weight, bias = values
    own = any(has[1:])
    x = x if has[0] else level.all_samples(x)
    out = parted(miss(primitive, (joined(x), None if own else weight, None if own else bias), attributes), level.size)
    return _scaled(out, weight, bias, has, 1) if own else out


def _scaled(out, weight, bias, has, lead):
    """out (samples, N, C, ...) times weight and plus bias, which are (C) or (samples, C)."""
    for vector, each, combine in ((weight, has[1], lambda a, b: a * b), (bias, has[2], lambda a, b: a + b)):
        if vector is not None:
            behind = (1,) * (out.layout.ndim - 2 - lead)
            shape = (vector.layout.shape[0], *(1,) * lead, -1, *behind) if each else (-1, *behind)
            out = combine(out, vector.reshape(shape))
    return out


@rule("batch_norm")
def batch_norm(level, primitive, values, has, attributes):
    """Channels of all samples are channels."""
    x, weight, bias, mean, var = values
    training, momentum, eps = attributes
    if training and mean is not None and has[0] and not (has[3] and has[4]):
        raise RuntimeError("Batch norm got a batched tensor as input while the running_mean or running_var, which will be "
                           "updated in "
                           "place, were not batched.\nIf you are using modules, you may patch them with torch.func or use "
                           "track_running_stats=False instead.")
    if not training and not any(has[1:]):
        return parted(miss(primitive, (joined(x), weight, bias, mean, var), attributes), level.size)
    if not (has[0] or has[3] or has[4]):                 # statistics of what is the same for all move once
        out = miss(primitive, (x, None, None, mean, var), attributes)
        return _scaled(out.unsqueeze(0), weight, bias, has, 1)
    x = x if has[0] else level.all_samples(x)
    size, images, channels = x.layout.shape[:3]
    side_by_side = x.transpose(0, 1).flatten(1, 2)       # (N, samples * C, ...)
    stats = [None if s is None else (s if h else level.all_samples(s).contiguous()).reshape(size * channels)
             for s, h in zip((mean, var), has[3:])]
    out = miss(primitive, (side_by_side, None, None, *stats), attributes)
    for stat, moved, each in zip((mean, var), stats, has[3:]):
        if training and stat is not None and not each:   # it is of samples that are the same
            stat.copy_(moved[:channels])
    out = out.reshape(images, size, channels, *out.layout.shape[2:]).transpose(0, 1)
    return _scaled(out, weight, bias, has, 1)


# ---------------------------------------------------------------- embedding
@rule("embedding")
def embedding(level, primitive, values, has, attributes):
    weight, indices = values
    if not has[0]:
        return call(primitive, (weight, indices), attributes)
    padding_idx, *options = attributes
    size, rows = weight.layout.shape[:2]
    indices = indices if has[1] else level.all_samples(indices)
    check_indices(indices, rows)
    first = arange(size, device=weight.layout.device).mul(rows).reshape(size, *(1,) * (indices.layout.ndim - 1))
    result = call(primitive, (joined(weight), indices + first), (-1, *options))
    if padding_idx < 0:
        return result
    return where(comparison.eq(indices, padding_idx).unsqueeze(-1), without_graph(result), result)       # a row without a gradient


@rule("embedding_bag")
def embedding_bag(level, primitive, values, has, attributes):
    """The bags of all samples are bags of one vector, whose indices name rows of each sample's own table."""
    weight, indices, offsets = values
    size = level.size
    indices, offsets = [t if h else level.all_samples(t) for t, h in zip((indices, offsets), has[1:])]
    indices = indices.reshape(size, -1)
    first, bags = arange(size, device=weight.layout.device).unsqueeze(1), offsets.layout.shape[1]
    if has[0]:
        rows = weight.layout.shape[1]
        check_indices(indices, rows)
        weight, indices = joined(weight), indices + first * rows
    result = call(primitive, (weight, indices.reshape(-1), (offsets + first * indices.layout.shape[1]).reshape(-1)), attributes)
    return result.reshape(size, bags, result.layout.shape[1])


@rule("one_hot")
def one_hot(level, primitive, values, has, attributes):
    if attributes[0] == -1:
        raise ValueError("vmap: one_hot needs num_classes, which would depend on the samples")
    return call(primitive, values, attributes)


# ---------------------------------------------------------------- dropout
@rule("dropout", "alpha_dropout")
def dropout(level, primitive, values, has, attributes):
    value = values[0]
    if attributes[0] == 1.0:                             # nothing is left to chance
        return value * 0.0
    if level.randomness == "different":
        with allowed():
            return call(primitive, (value,), attributes)
    if primitive.name != "dropout":
        return drawn(level, primitive, values, has, attributes)
    return value * call(primitive, (value.new_ones(value.layout.shape[1:]),), attributes)        # refused, or one draw for all


@rule("uniform_", "normal_", "bernoulli_", "exponential_")
def redrawn(level, primitive, values, has, attributes):
    """In place: numbers for all samples, or those of one copied to all."""
    value = values[0]
    if level.randomness == "different":
        with allowed():
            call(primitive, (value,), attributes)
    else:
        value.copy_(call(primitive, (value.new_empty(value.layout.shape[1:]),), attributes))
    return value


@rule("poisson", "binomial", "von_mises", "_standard_gamma", "_sample_dirichlet", "multinomial")
def drawn_at_once(level, primitive, values, has, attributes):
    """A draw for each element or row: those of all samples at once. The same numbers for all are drawn sample by sample."""
    if level.randomness != "different":
        return drawn(level, primitive, values, has, attributes)
    ndim = max([v.layout.ndim - h for v, h in zip(values, has)])
    with allowed():
        return call(primitive, [aligned(v, ndim).contiguous() if h else v for v, h in zip(values, has)], attributes)


@rule("bernoulli")
def bernoulli(level, primitive, values, has, attributes):
    p, = values
    if level.randomness == "different":
        with allowed():
            return call(primitive, (p.contiguous(),), attributes)
    return (rand(p.layout.shape[1:], dtype=p.layout.dtype, generator=attributes[-1]) < p).to(attributes[0])


@rule("scaled_dot_product_attention")
def attention(level, primitive, values, has, attributes):
    """Samples are further batches; where weights are dropped at random, one sample is computed after another."""
    if attributes[0]:
        return drawn(level, primitive, values, has, attributes)
    mask, ndim = values[3], max([v.layout.ndim - h for v, h in zip(values[:3], has)])
    q, k, v = [aligned(t, ndim) for t in all_batched(level, values[:3], has[:3])]
    if mask is not None and (has[3] or ndim > 3):
        mask = aligned(mask if has[3] else level.all_samples(mask), ndim)
    if ndim < 4:
        return call(primitive, (q, k, v, mask), attributes)
    if not q.layout.shape[:2] == k.layout.shape[:2] == v.layout.shape[:2]:
        lead = broadcast_shapes(*[t.layout.shape[:-2] for t in (q, k, v)])
        q, k, v = [t.expand(*lead, *t.layout.shape[-2:]) for t in (q, k, v)]
    if mask is not None:
        mask = joined(mask.expand(*q.layout.shape[:2], *mask.layout.shape[2:]))
    return parted(call(primitive, (joined(q), joined(k), joined(v), mask), attributes), level.size)
