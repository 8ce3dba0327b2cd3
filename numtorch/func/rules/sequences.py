"""Batching rules of recurrent layers, of attention with its projections, and of losses over sequences: samples are further
sequences."""
from __future__ import annotations

from ...ops.creation.ranges import arange
from ...ops.nn.multihead import MULTI_HEAD_ATTENTION
from ...ops.nn.rnn_layer import LAYERS, formula
from ..batching import batched, drawn, rule
from .sizes import all_batched, call, check_indices, joined, parted


@rule(*LAYERS)
def recurrent(level, primitive, values, has, attributes):
    """In each step the samples of one sequence stand side by side. With weights of each sample the time loop is written in ops,
    each of which is a product of all samples."""
    size, (sizes, *options) = level.size, attributes
    if any(has[3:]):
        x, *others = [batched(v, level) if h else v for v, h in zip(values, has)]
        result = formula(primitive.name, x, sizes, options[0], *others)
        return tuple([None if t is None else level.all_samples(t) for t in result])
    states = [None if t is None else t.transpose(0, 1).flatten(0, 1).contiguous() for t in all_batched(level, values[:3], has[:3])]
    result = call(primitive, (*states, *values[3:]), (tuple([n * size for n in sizes]), *options))
    return tuple([None if t is None else t.unflatten(-2, (-1, size)).movedim(-2, 0) for t in result])


@rule("steps_of_sequences")
def steps(level, primitive, values, has, attributes):
    value, (batch_first,) = values[0], attributes
    return (value.transpose(1, 2) if batch_first else value).flatten(1, 2)


@rule(MULTI_HEAD_ATTENTION.name)
def heads(level, primitive, values, has, attributes):
    *packs, mask = values
    count, batch_dim, dropout, *_ = attributes
    if dropout:
        return drawn(level, primitive, values, has, attributes)
    size, whole = level.size, all_batched(level, packs, has[:-1])
    packs = [joined(p) if batch_dim == 0 else p.transpose(0, 1).flatten(1, 2) for p in whole]
    if mask is not None and (has[-1] or mask.layout.ndim == 4):
        batch = whole[0].layout.shape[1 + batch_dim]
        mask = mask if has[-1] else level.all_samples(mask)
        mask = mask.reshape(size, *(1,) * (5 - mask.layout.ndim), *mask.layout.shape[1:])
        mask = joined(mask.expand(size, batch, *mask.layout.shape[2:]))
    out = call(primitive, (*packs, mask), attributes)
    return parted(out, size) if batch_dim == 0 else out.unflatten(1, (size, -1)).transpose(0, 1)


@rule("ctc_loss")
def ctc_losses(level, primitive, values, has, attributes):
    """The samples of sequences are sequences; labels of each sample's own stand in one row behind each other's."""
    scores, labels, places = values
    size = level.size
    scores = scores if has[0] else level.all_samples(scores)
    sequences = scores.layout.shape[2]
    scores = scores.transpose(0, 1).flatten(1, 2)        # (T, samples * N, C)
    places = (places if has[2] else level.all_samples(places)).clone()
    if has[1]:
        labels = labels.reshape(size, -1)
        check_indices(labels, scores.layout.shape[2])
        places[:, 0] += arange(size, device=places.layout.device).mul(labels.layout.shape[1]).unsqueeze(1)
    places = places.transpose(0, 1).flatten(1).contiguous()
    return call(primitive, (scores, labels.contiguous(), places), attributes).reshape(size, sequences)
