"""Attention: softmax(scale * Q @ K^T + mask) @ V without the matrix of scores, forward and backward.

FlashAttention (Dao et al. 2022; Dao 2023): scores are made block by block and used at once. Forward keeps a running maximum
and sum a query (online softmax; Milakov, Gimelshein 2018) and saves the logarithm of the sum of exponentials, from which
backward makes the same probabilities again. Scratch memory grows with a block, in backward also with the number of keys, never
with the product of the lengths. How a block is laid out stands in `block.py`.
"""
from __future__ import annotations

import bisect
import itertools

import numpy as np
from numpy import float32, inf, int64

from ... import compiler, threads
from ...elementtypes import CONVERSIONS, CONVERTED, compute_type, same
from ...intrinsics import fmax, local_array, offset, select
from ...vectormath import exp, log
from ..gemm.product import float_scalar, round_up, space
from ..micro.tile import ACCUMULATE, host_tile
from ..shared.elements import bits
from .block import (
    BOOL_MASK,
    CAUSAL,
    DEPTH,
    END,
    FIRST,
    FLOAT_MASK,
    GRAD,
    GRAD_K,
    GRAD_Q,
    GRAD_V,
    GROUP,
    HEADS,
    KEY_BLOCK,
    KEYS,
    OUT,
    QUERIES,
    ROW,
    SCALE,
    SPACES,
    WIDTH,
    K,
    Q,
    V,
    add_mask,
    at,
    draw,
    hide_future,
    in_place,
    multiply_by,
    own_row,
    packed_row,
    panel_reach,
    product,
    transpose_in,
    transpose_out,
    whole_panels,
    widened,
)

T = float32                                              # the compute type; bound by compile_kernel, like the names below
NR, ACROSS = 32, 64
LOWEST = -87.0                                           # exp of less is denormal
HAS_MASK, DROPS = 1, 1                                   # whether there is a mask, and dropout
load = store = same
rows_of, row_of = in_place, own_row                      # how K and V become operands, and the stride of their rows then

# Where in the workspace what is kept of a block begins, of which the transposed queries are first; in forward, and in backward.
SCORES, SUMS, ROOM, TILE = range(SPACES + 1, SPACES + 5)
TRANSPOSED_GRAD, QUERY_ROWS, GRAD_ROWS, GRAD_SCORES, SLOPES, GRAD_SUMS = range(SPACES + 1, SPACES + 7)
KEY_SUMS, VALUE_SUMS, SHIFT, GRAD_ROOM, KEPT, GRAD_TILE = range(SPACES + 7, SPACES + 13)


# ---------------------------------------------------------------- forward
def raise_maxima(scores, rows, lanes, best):
    i = int64(0)
    while i + 4 <= rows:
        a, b = offset(scores, i * ACROSS), offset(scores, (i + 1) * ACROSS)
        c, d = offset(scores, (i + 2) * ACROSS), offset(scores, (i + 3) * ACROSS)
        for j in range(lanes):
            best[j] = fmax(best[j], fmax(fmax(a[j], b[j]), fmax(c[j], d[j])))
        i += 4
    while i < rows:
        a = offset(scores, i * ACROSS)
        for j in range(lanes):
            best[j] = fmax(best[j], a[j])
        i += 1


def weight(x):
    """exp(x) for x <= 0, and 0 where it would be denormal: a masked score is -inf, and every denormal that the processor makes on
    the way to 0 costs it some 150 cycles (causal attention would take 3 times as long)."""
    return select(x < T(LOWEST), T(0), exp(select(x < T(LOWEST), T(0), x)))


def exponentiate(scores, rows, lanes, shift, total):
    for i in range(rows):
        line = offset(scores, i * ACROSS)
        for j in range(lanes):
            e = weight(line[j] - shift[j])
            line[j] = e
            total[j] += e


def scale_lanes(block, rows, lanes, factor):
    for i in range(rows):
        line = offset(block, i * ACROSS)
        for j in range(lanes):
            line[j] *= factor[j]


def online_softmax(scores, rows, lanes, best, total, shrink):
    """Scores become exponentials below the new maxima; `shrink` is what sums of earlier blocks must be multiplied by."""
    shift = local_array(T, ACROSS)
    for j in range(lanes):
        shrink[j] = best[j]
    raise_maxima(scores, rows, lanes, best)
    for j in range(lanes):
        shift[j] = select(best[j] == T(-inf), T(0), best[j])         # -inf - -inf would be NaN
        shrink[j] = exp(shrink[j] - shift[j])
        total[j] *= shrink[j]
    exponentiate(scores, rows, lanes, shift, total)


def attention(q, k, v, mask, state, out, lse, workspace, descriptor):
    """Items are blocks of queries; lse (batch, head, query) is +inf where no key is seen, and the output 0."""
    heads, queries, depth, width = descriptor[HEADS], descriptor[QUERIES], descriptor[DEPTH], descriptor[WIDTH]
    blocks = (queries + ACROSS - 1) // ACROSS
    scale = float_scalar(descriptor, SCALE)
    transposed = workspace
    scores = offset(workspace, descriptor[SCORES])
    sums = offset(workspace, descriptor[SUMS])
    room = offset(workspace, descriptor[ROOM])
    tile = offset(workspace, descriptor[TILE])
    best = local_array(T, ACROSS)
    total = local_array(T, ACROSS)
    shrink = local_array(T, ACROSS)
    k_row, v_row = descriptor[K + ROW], descriptor[V + ROW]
    for item in range(descriptor[FIRST], descriptor[END]):
        first = item % blocks * ACROSS
        batch, head = item // blocks // heads, item // blocks % heads
        source = head // descriptor[GROUP]
        present = min(int64(ACROSS), queries - first)
        lanes = whole_panels(present)
        seen = min(descriptor[KEYS], first + present) if descriptor[CAUSAL] else descriptor[KEYS]
        transpose_in(at(q, descriptor, Q, batch, head, first), descriptor[Q + ROW], present, depth, scale, room, transposed)
        for j in range(lanes):
            best[j] = T(-inf)
            total[j] = T(0)
        for start in range(0, seen, descriptor[KEY_BLOCK]):
            keys = min(seen - start, descriptor[KEY_BLOCK])
            left = rows_of(at(k, descriptor, K, batch, source, start), k_row, keys, depth, room)
            for p in range(0, lanes, NR):
                reach = panel_reach(descriptor, first + p, int64(NR), start, keys)
                product(reach, depth, left, row_of(k_row, depth), int64(1), offset(transposed, p), int64(ACROSS), offset(scores, p),
                        int64(ACROSS), int64(0))
            if HAS_MASK:
                add_mask(scores, keys, mask, q, descriptor, batch, head, first, present, start, room, tile)
            if descriptor[CAUSAL]:
                hide_future(scores, keys, lanes, first, start)
            online_softmax(scores, keys, lanes, best, total, shrink)
            if DROPS:
                draw(room, keys, descriptor, state, item, start)
                multiply_by(scores, room, keys * ACROSS)
            flags = int64(0)
            if start > 0:
                scale_lanes(sums, width, lanes, shrink)
                flags = int64(ACCUMULATE)
            left = rows_of(at(v, descriptor, V, batch, source, start), v_row, keys, width, room)
            for p in range(0, lanes, NR):
                reach = panel_reach(descriptor, first + p, int64(NR), start, keys)
                product(width, reach, left, int64(1), row_of(v_row, width), offset(scores, p), int64(ACROSS), offset(sums, p),
                        int64(ACROSS), flags)
        for j in range(lanes):
            shrink[j] = select(total[j] == T(0), T(0), T(1) / total[j])
        scale_lanes(sums, width, lanes, shrink)
        transpose_out(sums, width, present, T(1), tile, at(out, descriptor, OUT, batch, head, first), descriptor[OUT + ROW])
        for j in range(present):
            lse[item // blocks * queries + first + j] = select(total[j] == T(0), T(inf), best[j] + log(total[j]))


# ---------------------------------------------------------------- backward
def copy_rows(source, row, rows, columns, out, pitch):
    """Rows at a pitch of whole panels, the excess 0."""
    for i in range(rows):
        line = offset(source, i * row)
        to = offset(out, i * pitch)
        for j in range(columns):
            to[j] = load(line[j])
        for j in range(columns, pitch):
            to[j] = T(0)


def row_products(x, x_row, y, y_row, rows, columns, out):
    """out[i] = the sum of x[i, j] * y[i, j]."""
    for i in range(rows):
        a = offset(x, i * x_row)
        b = offset(y, i * y_row)
        total = T(0)
        for j in range(columns):
            total += load(a[j]) * load(b[j])
        out[i] = total


def load_queries(q, grad, out, lse, descriptor, batch, head, first, present, workspace):
    """A block of queries and of the gradient that came, transposed and as rows; lse and delta = sum(grad * out) a query."""
    depth, width = descriptor[DEPTH], descriptor[WIDTH]
    room = offset(workspace, descriptor[GRAD_ROOM])
    q_rows = at(q, descriptor, Q, batch, head, first)
    grad_rows = at(grad, descriptor, GRAD, batch, head, first)
    transpose_in(q_rows, descriptor[Q + ROW], present, depth, float_scalar(descriptor, SCALE), room, workspace)
    transpose_in(grad_rows, descriptor[GRAD + ROW], present, width, T(1), room, offset(workspace, descriptor[TRANSPOSED_GRAD]))
    copy_rows(q_rows, descriptor[Q + ROW], present, depth, offset(workspace, descriptor[QUERY_ROWS]), whole_panels(depth))
    copy_rows(grad_rows, descriptor[GRAD + ROW], present, width, offset(workspace, descriptor[GRAD_ROWS]), whole_panels(width))
    shift = offset(workspace, descriptor[SHIFT])
    row_products(grad_rows, descriptor[GRAD + ROW], at(out, descriptor, OUT, batch, head, first), descriptor[OUT + ROW], present,
                 width, offset(shift, ACROSS))
    saved = offset(lse, (batch * descriptor[HEADS] + head) * descriptor[QUERIES] + first)
    for j in range(present):
        shift[j] = saved[j]


def probabilities(scores, slopes, rows, lanes, shift, delta):
    """scores become exp(score - lse), slopes become probability * (slope - delta)."""
    for i in range(rows):
        line = offset(scores, i * ACROSS)
        slope = offset(slopes, i * ACROSS)
        for j in range(lanes):
            p = weight(line[j] - shift[j])
            line[j] = p
            slope[j] = p * (slope[j] - delta[j])


def block_gradients(q, k, v, mask, state, descriptor, batch, source, head, first, present, start, workspace):
    """One block of queries against one block of keys: adds to the gradients of all three in the workspace."""
    depth, width = descriptor[DEPTH], descriptor[WIDTH]
    seen = min(descriptor[KEYS], first + present) if descriptor[CAUSAL] else descriptor[KEYS]
    keys = min(seen - start, descriptor[KEY_BLOCK])
    lanes = whole_panels(present)
    transposed = workspace
    transposed_grad = offset(workspace, descriptor[TRANSPOSED_GRAD])
    scores = offset(workspace, descriptor[GRAD_SCORES])
    slopes = offset(workspace, descriptor[SLOPES])
    sums = offset(workspace, descriptor[GRAD_SUMS])
    shift = offset(workspace, descriptor[SHIFT])
    room = offset(workspace, descriptor[GRAD_ROOM])
    k_row, v_row = row_of(descriptor[K + ROW], depth), row_of(descriptor[V + ROW], width)
    k_rows = rows_of(at(k, descriptor, K, batch, source, start), descriptor[K + ROW], keys, depth, room)
    v_rows = rows_of(at(v, descriptor, V, batch, source, start), descriptor[V + ROW], keys, width,
                     offset(room, descriptor[KEY_BLOCK] * depth))
    for p in range(0, lanes, NR):
        reach = panel_reach(descriptor, first + p, int64(NR), start, keys)
        product(reach, depth, k_rows, k_row, int64(1), offset(transposed, p), int64(ACROSS), offset(scores, p), int64(ACROSS),
                int64(0))
        product(reach, width, v_rows, v_row, int64(1), offset(transposed_grad, p), int64(ACROSS), offset(slopes, p), int64(ACROSS),
                int64(0))
        for i in range(reach, keys):                     # what no query of the panel sees has a probability of 0
            for j in range(p, min(lanes, p + NR)):
                slopes[i * ACROSS + j] = T(0)
    if HAS_MASK:
        add_mask(scores, keys, mask, q, descriptor, batch, head, first, present, start, offset(workspace, descriptor[KEPT]),
                 offset(workspace, descriptor[GRAD_TILE]))
    if descriptor[CAUSAL]:
        hide_future(scores, keys, lanes, first, start)
    kept = offset(workspace, descriptor[KEPT])
    if DROPS:
        blocks = (descriptor[QUERIES] + ACROSS - 1) // ACROSS
        draw(kept, keys, descriptor, state, (batch * descriptor[HEADS] + head) * blocks + first // ACROSS, start)
        multiply_by(slopes, kept, keys * ACROSS)
    probabilities(scores, slopes, keys, lanes, shift, offset(shift, ACROSS))
    if DROPS:
        multiply_by(scores, kept, keys * ACROSS)
    for p in range(0, lanes, NR):
        reach = panel_reach(descriptor, first + p, int64(NR), start, keys)
        product(depth, reach, k_rows, int64(1), k_row, offset(slopes, p), int64(ACROSS), offset(sums, p), int64(ACROSS),
                int64(ACCUMULATE if start > 0 else 0))
    add_outer(keys, present, scores, offset(workspace, descriptor[GRAD_ROWS]), width, start,
              offset(workspace, descriptor[VALUE_SUMS]))
    add_outer(keys, present, slopes, offset(workspace, descriptor[QUERY_ROWS]), depth, start,
              offset(workspace, descriptor[KEY_SUMS]))


def add_outer(keys, queries, weights, rows, columns, start, out):
    """out[start + c] += the sum of weights[c * ACROSS + j] times row j."""
    pitch = whole_panels(columns)
    for first in range(0, columns, NR):
        product(keys, queries, weights, int64(ACROSS), int64(1), offset(rows, first), pitch, offset(out, start * pitch + first),
                pitch, int64(ACCUMULATE))


def store_rows(sums, rows, columns, scale, out, row):
    pitch = whole_panels(columns)
    for i in range(rows):
        line = offset(sums, i * pitch)
        to = offset(out, i * row)
        for j in range(columns):
            to[j] = store(line[j] * scale)


def attention_grad(q, k, v, mask, state, out, lse, grad, grad_q, grad_k, grad_v, workspace, descriptor):
    """Items are (batch, head of K and V), whose sums over all queries one part keeps in its workspace."""
    keys, queries, depth = descriptor[KEYS], descriptor[QUERIES], descriptor[DEPTH]
    width, group = descriptor[WIDTH], descriptor[GROUP]
    sources = descriptor[HEADS] // group
    scale = float_scalar(descriptor, SCALE)
    k_sums = offset(workspace, descriptor[KEY_SUMS])
    v_sums = offset(workspace, descriptor[VALUE_SUMS])
    shift = offset(workspace, descriptor[SHIFT])
    for item in range(descriptor[FIRST], descriptor[END]):
        batch, source = item // sources, item % sources
        for i in range(keys * whole_panels(depth)):
            k_sums[i] = T(0)
        for i in range(keys * whole_panels(width)):
            v_sums[i] = T(0)
        for i in range(2 * ACROSS):
            shift[i] = T(0)
        for head in range(source * group, (source + 1) * group):
            for first in range(0, queries, ACROSS):
                present = min(queries - first, int64(ACROSS))
                load_queries(q, grad, out, lse, descriptor, batch, head, first, present, workspace)
                for start in range(0, min(keys, first + present) if descriptor[CAUSAL] else keys, descriptor[KEY_BLOCK]):
                    block_gradients(q, k, v, mask, state, descriptor, batch, source, head, first, present, start, workspace)
                transpose_out(offset(workspace, descriptor[GRAD_SUMS]), depth, present, scale,
                              offset(workspace, descriptor[GRAD_TILE]),
                              at(grad_q, descriptor, GRAD_Q, batch, head, first), descriptor[GRAD_Q + ROW])
        store_rows(k_sums, keys, depth, scale, at(grad_k, descriptor, GRAD_K, batch, source, int64(0)), descriptor[GRAD_K + ROW])
        store_rows(v_sums, keys, width, T(1), at(grad_v, descriptor, GRAD_V, batch, source, int64(0)), descriptor[GRAD_V + ROW])


# ---------------------------------------------------------------- dropout by itself
def attention_kept(state, out, workspace, descriptor):
    """out (batch, head, query, key) = the factors that dropout applies to probabilities; items as in forward."""
    queries, keys = descriptor[QUERIES], descriptor[KEYS]
    blocks = (queries + ACROSS - 1) // ACROSS
    for item in range(descriptor[FIRST], descriptor[END]):
        first = item % blocks * ACROSS
        for start in range(0, keys, descriptor[KEY_BLOCK]):
            count = min(keys - start, descriptor[KEY_BLOCK])
            draw(workspace, count, descriptor, state, item, start)
            for j in range(min(queries - first, int64(ACROSS))):
                line = offset(out, (item // blocks * queries + first + j) * keys + start)
                for c in range(count):
                    line[c] = store(workspace[c * ACROSS + j])


# ---------------------------------------------------------------- planning
_KEY_BLOCK = 128                                         # keys whose scores are made at once: 32 KB of them
_SERIAL_WORK = 100 ** 3                                  # multiply-adds below which one thread is as fast


class _Problem:
    """An attention being planned: its sizes, its tile, and its descriptor."""

    def __init__(self, dtype, batch, heads, group, queries, keys, depth, width, scale=1.0, causal=False, mask=None, dropout=0.0):
        self.dtype, self.compute = dtype, compute_type(dtype)
        self.item = np.dtype(self.compute).itemsize
        self.tile = host_tile(self.item)
        self.lanes = 2 * self.tile.columns
        self.batch, self.heads, self.group, self.queries, self.keys = batch, heads, group, queries, keys
        self.depth, self.width, self.causal = depth, width, causal
        self.parts = dict(HAS_MASK=int(mask is not None), DROPS=int(dropout > 0))
        self.sizes = [heads, group, queries, keys, depth, width, bits(scale), BOOL_MASK if mask == "bool" else FLOAT_MASK,
                      int(causal), _KEY_BLOCK, int((1.0 - dropout) * 2 ** 32), bits(1.0 / (1.0 - dropout) if dropout < 1 else 0.0)]

    def blocks(self):
        """Multiply-adds of each block of queries, of all heads."""
        blocks = -(-self.queries // self.lanes)
        each = self.lanes * (self.depth + self.width) * (self.item // 4)
        seen = [min(self.keys, self.lanes * (b + 1)) if self.causal else self.keys for b in range(blocks)]
        return [keys * each for keys in seen] * (self.batch * self.heads)

    def prepare(self, function, words, costs, strides, spaces):
        """`words` says what each address points to: x the dtype, c the compute type, b bytes, i int64."""
        tile = self.tile
        names = dict(T=np.dtype(self.compute).type, MR=tile.rows, NV=tile.vectors, W=tile.width, NR=tile.columns,
                     ACROSS=self.lanes, LOWEST=-87.0 if self.item == 4 else -708.0, **self.parts)
        if self.dtype in CONVERTED:
            load, store = CONVERSIONS[self.dtype]
            names.update(load=load, store=store, rows_of=widened, row_of=packed_row)
        kinds = {"x": self.dtype, "c": self.compute, "b": "uint8", "i": "int64"}
        kernel = compiler.compile_kernel(function, (*(kinds[w] + "*" for w in words), "int64*"), names, self.compute)
        parts = _shares(costs)
        rows = [(*part, *self.sizes, *(s for each in strides for s in each), *spaces) for part in parts]
        return threads.prepare(kernel, rows, [(0,) * (len(words) - 1)] * len(parts), workspace=spaces[-1] * self.item,
                               release_lock=sum(costs) > 1 << 20)


def _shares(costs):
    """Ranges of items of about equal cost, one a thread."""
    ends = [0, *itertools.accumulate(costs)]
    count = min(threads.get_num_threads(), len(costs)) if ends[-1] >= _SERIAL_WORK else 1
    cuts = [bisect.bisect_left(ends, ends[-1] * p / count) for p in range(count + 1)]
    return [(a, b) for a, b in itertools.pairwise(cuts) if b > a]


def plan_attention(dtype, batch, heads, group, queries, keys, depth, width, scale, causal, strides, mask=None,
                   mask_strides=(0, 0, 0, 0), dropout=0.0) -> threads.Prepared:
    """Plan softmax(scale * Q @ K^T + mask) @ V.

    Addresses: q, k, v, mask or 0, state or 0, out, lse (batch, heads, queries): the logarithms of the sums of exponentials,
    workspace, which starts at a multiple of 64.

    Args:
        dtype: of all but lse: `"float32"`, `"float64"`, `"float16"` or `"bfloat16"`; lse has the compute type.
        batch, heads, group: of Q, and how many of its heads share a head of K and V.
        queries, keys, depth, width: Q is (batch, heads, queries, depth), K (batch, heads / group, keys, depth), V (batch, heads /
            group, keys, width); all at least 1, the last dimension's stride 1.
        scale: what products of queries and keys are multiplied by.
        causal: query i sees keys up to i.
        strides: (batch, head, row) in elements of q, k, v and out.
        mask: None, `"bool"` or the dtype of the mask; `mask_strides` are those of (batch, head, query, key).
        dropout: the probability that a weight becomes 0; `state` is then the generator's (see `random/philox.py`).
    """
    problem = _Problem(dtype, batch, heads, group, queries, keys, depth, width, scale, causal, mask, dropout)
    lanes, slack = problem.lanes, problem.tile.width
    spaces = space(depth * lanes + slack, _KEY_BLOCK * lanes, width * lanes + slack,
                   max(_KEY_BLOCK * max(depth, width), lanes * max(_KEY_BLOCK, depth)), (slack + 1) * lanes)
    return problem.prepare(attention, "xxxbixcc", problem.blocks(), [*strides, mask_strides, *[(0, 0, 0)] * 4], spaces)


def plan_attention_grad(dtype, batch, heads, group, queries, keys, depth, width, scale, causal, strides, mask=None,
                        mask_strides=(0, 0, 0, 0), dropout=0.0) -> threads.Prepared:
    """Plan the gradients.

    Addresses: q, k, v, mask or 0, state or 0 and out of the forward call, lse, grad, grad_q, grad_k, grad_v, workspace.

    Args:
        batch, heads, group, queries, keys, depth, width, scale, causal, mask, mask_strides, dropout: as for `plan_attention`.
        strides: those of q, k, v, out, grad, grad_q, grad_k and grad_v.
    """
    problem = _Problem(dtype, batch, heads, group, queries, keys, depth, width, scale, causal, mask, dropout)
    lanes, slack = problem.lanes, problem.tile.width
    wide_depth, wide_width = round_up(depth, problem.tile.columns), round_up(width, problem.tile.columns)
    spaces = space(lanes * depth + slack, lanes * width + slack, lanes * wide_depth, lanes * wide_width,
                   _KEY_BLOCK * lanes, _KEY_BLOCK * lanes, lanes * depth + slack, keys * wide_depth, keys * wide_width,
                   2 * lanes, max(_KEY_BLOCK, lanes) * (depth + width), lanes * _KEY_BLOCK, (slack + 1) * lanes)
    q, k, v, out, grad, *grads = strides
    costs = [sum(problem.blocks()) * 5 // 2 // problem.batch // (heads // group)] * (batch * heads // group)
    return problem.prepare(attention_grad, "xxxbixcxxxxc", costs, [q, k, v, out, mask_strides, grad, *grads], spaces)


def counters_used(dtype, heads, queries, keys) -> int:
    """How far a draw for the dropout of so many heads moves the generator on."""
    lanes = _Problem(dtype, 1, heads, 1, queries, keys, 1, 1).lanes
    return heads * -(-queries // lanes) * -(-keys * lanes // 128) * 32


def plan_attention_kept(dtype, batch, heads, queries, keys, dropout) -> threads.Prepared:
    """Plan the factors that dropout multiplies weights by, 0 with a probability of `dropout` and else 1 / (1 - dropout), as (batch,
    heads, queries, keys).

    Addresses: state, out, workspace.
    """
    problem = _Problem(dtype, batch, heads, 1, queries, keys, 1, 1, dropout=dropout)
    return problem.prepare(attention_kept, "ixc", problem.blocks(), [(0,) * 28], space(_KEY_BLOCK * problem.lanes))
