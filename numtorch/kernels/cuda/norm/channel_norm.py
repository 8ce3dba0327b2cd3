"""Batch and group norm on a GPU.

Batch norm's channel is its planes, which several blocks share where channels are few: one launch leaves each block's sums, and the
next adds up a channel's before it goes through its elements. Of data without planes (N, C) a block has `WIDE` channels, so that
neighbouring threads read neighbours. A group of group norm is a line (norm.py).

Formulas and descriptors are the host's (kernels/cpu/norm/channel_norm.py).
"""
from __future__ import annotations

import numpy as np
from numpy import float32, int32, int64

from ...cpu.norm import channel_norm as host
from ...cpu.norm.channel_norm import (
    BATCH,
    BIASED,
    CHANNELS,
    EPS,
    EXTENT,
    G_BIASED,
    G_CHANNELS,
    G_COUNT,
    G_EPS,
    G_EXTENT,
    G_GROUPS,
    G_WEIGHTED,
    RUNNING,
    SHARE,
    TRAINING,
    WANTS_BIAS,
    WANTS_WEIGHT,
    WANTS_X,
    WEIGHTED,
)
from ...elementtypes import compute_type, itemsize, same
from ...intrinsics import local_array, local_like, offset, select, sqrt
from ...threads import Prepared
from ..compiler import cuda, prepare
from ..environment import MOST_BLOCKS, SMALL, THREADS
from ..parallel import Form, in_parallel
from ..runtime import runtime
from ..shared.elements import in_turn, launch, scalar_bits, typed
from ..shared.lines import PACKED, WIDE, WIDTH, aligned, column_total, fetch, joined, lanes_for, put, scalar, width_of
from .norm import factor_of, line_moments

T, INT = float32, int32
load = store = same
LANES = COLUMNS = 1
LOADS, WORDS = 4, 16                                     # vectors of a plane that a thread loads at once; elements
OF_GROUP = EXTENT + 1                                    # channels of a group, behind N, C and S
FILLED = 4 if SMALL else 1056                            # blocks that fill a large GPU


# ---------------------------------------------------------------- group norm
def group_norm_lines(x, weight, bias, out, stats, descriptor):
    cells = cuda.shared.array(THREADS, T)
    count, channels, size = descriptor[G_COUNT], descriptor[G_CHANNELS], descriptor[G_EXTENT]
    eps, groups = scalar(descriptor, G_EPS), descriptor[G_GROUPS]
    n = channels * size
    me = int64(cuda.threadIdx.x)
    lane = me % LANES
    first = int64(cuda.blockIdx.x) * (THREADS // LANES)
    while first < count:
        group = first + me // LANES
        start = min(group, count - 1) * n
        a, b = offset(x, start), offset(out, start)
        mean, squares = line_moments(a, cells, group < count, n, me, lane)
        scale = T(1) / sqrt(squares / T(n) + eps)
        if group < count:
            if lane == 0:
                stats[2 * group] = mean
                stats[2 * group + 1] = scale
            for i in range(lane, n, LANES):
                channel = group % groups * channels + i // size
                value = (load(a[i]) - mean) * (scale * factor_of(weight, channel, descriptor[G_WEIGHTED]))
                if descriptor[G_BIASED] != 0:
                    value += load(bias[channel])
                b[i] = store(value)
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


def group_norm_grad_lines(grad, x, stats, weight, grad_x, descriptor):
    cells = cuda.shared.array(THREADS, T)
    count, channels, size = descriptor[G_COUNT], descriptor[G_CHANNELS], descriptor[G_EXTENT]
    groups, weighted = descriptor[G_GROUPS], descriptor[G_WEIGHTED]
    n = channels * size
    me = int64(cuda.threadIdx.x)
    lane = me % LANES
    first = int64(cuda.blockIdx.x) * (THREADS // LANES)
    while first < count:
        group = first + me // LANES
        known = min(group, count - 1)
        g, a, out = offset(grad, known * n), offset(x, known * n), offset(grad_x, known * n)
        mean, scale, channel = stats[2 * known], stats[2 * known + 1], known % groups * channels
        plain, along = T(0), T(0)
        if group < count:
            for i in range(lane, n, LANES):
                value = load(g[i]) * factor_of(weight, channel + i // size, weighted)
                plain += value
                along += value * ((load(a[i]) - mean) * scale)
        plain = joined(cells, plain, me, lane) / T(n)
        along = joined(cells, along, me, lane) / T(n)
        if group < count:
            for i in range(lane, n, LANES):
                value = load(g[i]) * factor_of(weight, channel + i // size, weighted)
                out[i] = store(scale * (value - plain - (load(a[i]) - mean) * scale * along))
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


def group_channel_sums(grad, x, stats, sums, descriptor):
    """sums[0] of grad * h and sums[1] of grad, by channel: a block each."""
    cells = cuda.shared.array(THREADS, T)
    batch, channels, size, of_group = descriptor[BATCH], descriptor[CHANNELS], descriptor[EXTENT], descriptor[OF_GROUP]
    me = int64(cuda.threadIdx.x)
    c = int64(cuda.blockIdx.x)
    while c < channels:
        plain, along = T(0), T(0)
        image, s = me // size, me % size
        while image < batch:
            at, group = (image * channels + c) * size + s, image * (channels // of_group) + c // of_group
            value = load(grad[at])
            plain += value
            along += value * ((load(x[at]) - stats[2 * group]) * stats[2 * group + 1])
            image, s = further(image, s, size)
        along = column_total(cells, along, me)
        plain = column_total(cells, plain, me)
        if me == 0:
            sums[c] = along
            sums[channels + c] = plain
        c += cuda.gridDim.x


# ---------------------------------------------------------------- batch norm
def further(image, s, size):
    """The element after (image, s) of a channel that a thread has."""
    step = int64(THREADS // COLUMNS)
    image, s = image + step // size, s + step % size
    if s >= size:
        image, s = image + 1, s - size
    return image, s


def blend(running, index, value, share):
    running[index] = store(load(running[index]) * (T(1) - share) + value * share)


# ---------------------------------------------------------------- batch norm of planes: several blocks a channel
# behind N, C and S: blocks of a channel, threads that go along a plane together, blocks that do; then forward's, and the gradient's
PARTS, SPAN, ALONG, P_TRAINING, P_WEIGHTED, P_BIASED, P_RUNNING, P_EPS, P_SHARE = range(EXTENT + 1, EXTENT + 10)
P_WANTS_X, P_WANTS_WEIGHT, P_WANTS_BIAS = range(P_WEIGHTED + 1, P_WEIGHTED + 4)


def center_of(x, cells, size, me):
    """The mean of a channel's first numbers, from which deviations are taken."""
    count, value = min(size, int64(THREADS)), T(0)
    if me < count:
        value = load(x[me])
    return joined(cells, value, me, me) / T(count)


def fetch_four(words, x, v, apart, vectors, whole):
    """Vectors number v, v + apart and so on of a plane; the last one in the place of those behind the end."""
    for k in range(LOADS):
        fetch(words, k * WIDTH, offset(x, min(v + k * apart, vectors - 1) * WIDTH), whole)


def plane_share(descriptor, block, me):
    """Of a block's number and a thread's: the channel, the block's number among the channel's, the first image and how far apart
    they are, the first vector and how far apart they are."""
    parts, span, along = descriptor[PARTS], descriptor[SPAN], descriptor[ALONG]
    c = block // parts
    part = block - c * parts
    band, run = part // along, me // span
    abreast = THREADS // span
    return c, part, band * abreast + run, parts // along * abreast, (part - band * along) * span + me - run * span, along * span


def batch_norm_sums(x, sums, descriptor):
    """Of each block the sums of deviations and of their squares, and what they are from."""
    cells = cuda.shared.array(THREADS, T)
    batch, channels, size = descriptor[BATCH], descriptor[CHANNELS], descriptor[EXTENT]
    me = int64(cuda.threadIdx.x)
    c, _, image, images, start, apart = plane_share(descriptor, int64(cuda.blockIdx.x), me)
    center = center_of(offset(x, c * size), cells, size, me)
    words, plain, squares = local_like(x, WORDS), local_array(T, WIDTH), local_array(T, WIDTH)
    whole, vectors = aligned(x), size // WIDTH
    for j in range(WIDTH):
        plain[j], squares[j] = T(0), T(0)
    while image < batch:
        a, v = offset(x, (image * channels + c) * size), start
        while v < vectors:
            fetch_four(words, a, v, apart, vectors, whole)
            for k in range(LOADS):
                for j in range(WIDTH):
                    deviation = select(v < vectors, load(words[k * WIDTH + j]) - center, T(0))
                    plain[j] += deviation
                    squares[j] += deviation * deviation
                v += apart
        image += images
    for j in range(1, WIDTH):
        plain[0] += plain[j]
        squares[0] += squares[j]
    plain[0], squares[0] = joined(cells, plain[0], me, me), joined(cells, squares[0], me, me)
    if me == 0:
        mine = offset(sums, 3 * int64(cuda.blockIdx.x))
        mine[0], mine[1], mine[2] = plain[0], squares[0], center


def channel_total(sums, cells, parts, me, which):
    """A channel's sum of what its blocks have."""
    total = T(0)
    for part in range(me, parts, THREADS):
        total += sums[3 * part + which]
    return joined(cells, total, me, me)


def batch_norm_planes(x, weight, bias, running_mean, running_var, out, stats, sums, descriptor):
    cells = cuda.shared.array(THREADS, T)
    batch, channels, size = descriptor[BATCH], descriptor[CHANNELS], descriptor[EXTENT]
    eps, share = scalar(descriptor, P_EPS), scalar(descriptor, P_SHARE)
    me = int64(cuda.threadIdx.x)
    c, part, image, images, start, apart = plane_share(descriptor, int64(cuda.blockIdx.x), me)
    mean, variance, count = T(0), T(0), T(batch * size)
    if descriptor[P_TRAINING] != 0:
        mine = offset(sums, 3 * (int64(cuda.blockIdx.x) - part))
        rest = channel_total(mine, cells, descriptor[PARTS], me, 0) / count
        variance = channel_total(mine, cells, descriptor[PARTS], me, 1) / count - rest * rest
        variance = T(0) if variance < T(0) else variance
        mean = mine[2] + rest
    else:
        mean, variance = load(running_mean[c]), load(running_var[c])
    scale = T(1) / sqrt(variance + eps)
    factor, shift = scale * factor_of(weight, c, descriptor[P_WEIGHTED]), T(0)
    if descriptor[P_BIASED] != 0:
        shift = load(bias[c])
    if part == 0 and me == 0:
        stats[2 * c], stats[2 * c + 1] = mean, scale
        if descriptor[P_TRAINING] != 0 and descriptor[P_RUNNING] != 0:
            blend(running_mean, c, mean, share)
            blend(running_var, c, variance * (count / (count - T(1))), share)
    words, results = local_like(x, WORDS), local_like(out, WIDTH)
    whole, whole_out, vectors = aligned(x), aligned(out), size // WIDTH
    while image < batch:
        plane, v = (image * channels + c) * size, start
        while v < vectors:
            fetch_four(words, offset(x, plane), v, apart, vectors, whole)
            for k in range(LOADS):
                if v < vectors:
                    for j in range(WIDTH):
                        results[j] = store((load(words[k * WIDTH + j]) - mean) * factor + shift)
                    put(results, offset(out, plane + v * WIDTH), whole_out)
                v += apart
        image += images


def batch_norm_grad_sums(grad, x, stats, sums, descriptor):
    """Of each block the sums of grad and of grad * h."""
    cells = cuda.shared.array(THREADS, T)
    batch, channels, size = descriptor[BATCH], descriptor[CHANNELS], descriptor[EXTENT]
    me = int64(cuda.threadIdx.x)
    c, _, image, images, start, apart = plane_share(descriptor, int64(cuda.blockIdx.x), me)
    mean, scale = stats[2 * c], stats[2 * c + 1]
    words, others, plain, along = local_like(grad, WORDS), local_like(x, WORDS), local_array(T, WIDTH), local_array(T, WIDTH)
    whole, whole_x, vectors = aligned(grad), aligned(x), size // WIDTH
    for j in range(WIDTH):
        plain[j], along[j] = T(0), T(0)
    while image < batch:
        plane, v = (image * channels + c) * size, start
        while v < vectors:
            fetch_four(words, offset(grad, plane), v, apart, vectors, whole)
            fetch_four(others, offset(x, plane), v, apart, vectors, whole_x)
            for k in range(LOADS):
                for j in range(WIDTH):
                    value = select(v < vectors, load(words[k * WIDTH + j]), T(0))
                    plain[j] += value
                    along[j] += value * select(v < vectors, (load(others[k * WIDTH + j]) - mean) * scale, T(0))
                v += apart
        image += images
    for j in range(1, WIDTH):
        plain[0] += plain[j]
        along[0] += along[j]
    plain[0], along[0] = joined(cells, plain[0], me, me), joined(cells, along[0], me, me)
    if me == 0:
        mine = offset(sums, 3 * int64(cuda.blockIdx.x))
        mine[0], mine[1] = plain[0], along[0]


def batch_norm_grad_planes(grad, x, stats, weight, grad_x, grad_weight, grad_bias, sums, descriptor):
    cells = cuda.shared.array(THREADS, T)
    batch, channels, size = descriptor[BATCH], descriptor[CHANNELS], descriptor[EXTENT]
    me = int64(cuda.threadIdx.x)
    c, part, image, images, start, apart = plane_share(descriptor, int64(cuda.blockIdx.x), me)
    mean, scale, mine = stats[2 * c], stats[2 * c + 1], offset(sums, 3 * (int64(cuda.blockIdx.x) - part))
    plain = channel_total(mine, cells, descriptor[PARTS], me, 0)
    along = channel_total(mine, cells, descriptor[PARTS], me, 1)
    if part == 0 and me == 0:
        if descriptor[P_WANTS_WEIGHT] != 0:
            grad_weight[c] = store(along)
        if descriptor[P_WANTS_BIAS] != 0:
            grad_bias[c] = store(plain)
    if descriptor[P_WANTS_X] == 0:
        image = batch
    factor = scale * factor_of(weight, c, descriptor[P_WEIGHTED])
    plain, along = plain / T(batch * size), along / T(batch * size)
    if descriptor[P_TRAINING] == 0:                      # running statistics do not depend on x
        plain, along = T(0), T(0)
    words, others, results = local_like(grad, WORDS), local_like(x, WORDS), local_like(grad_x, WIDTH)
    whole, whole_x, whole_out, vectors = aligned(grad), aligned(x), aligned(grad_x), size // WIDTH
    while image < batch:
        plane, v = (image * channels + c) * size, start
        while v < vectors:
            fetch_four(words, offset(grad, plane), v, apart, vectors, whole)
            fetch_four(others, offset(x, plane), v, apart, vectors, whole_x)
            for k in range(LOADS):
                if v < vectors:
                    for j in range(WIDTH):
                        h = (load(others[k * WIDTH + j]) - mean) * scale
                        results[j] = store(factor * (load(words[k * WIDTH + j]) - plain - h * along))
                    put(results, offset(grad_x, plane + v * WIDTH), whole_out)
                v += apart
        image += images


# ---------------------------------------------------------------- batch norm of (N, C)
def batch_norm_blocks(x, weight, bias, running_mean, running_var, out, stats, descriptor):
    cells = cuda.shared.array(THREADS, T)
    batch, channels, size = descriptor[BATCH], descriptor[CHANNELS], descriptor[EXTENT]
    eps, share = scalar(descriptor, EPS), scalar(descriptor, SHARE)
    me = int64(cuda.threadIdx.x)
    lane = me // COLUMNS
    count = T(batch * size)
    first = int64(cuda.blockIdx.x) * COLUMNS
    while first < channels:
        c = first + me % COLUMNS
        begin = lane // size if c < channels else batch
        mean, variance = T(0), T(0)
        if descriptor[TRAINING] != 0:
            image, s = begin, lane % size
            while image < batch:
                mean += load(x[(image * channels + c) * size + s])
                image, s = further(image, s, size)
            mean = column_total(cells, mean, me) / count
            rest = T(0)
            image, s = begin, lane % size
            while image < batch:
                deviation = load(x[(image * channels + c) * size + s]) - mean
                rest += deviation
                variance += deviation * deviation
                image, s = further(image, s, size)
            rest = column_total(cells, rest, me) / count
            variance = column_total(cells, variance, me) / count - rest * rest
            mean += rest
            if lane == 0 and c < channels and descriptor[RUNNING] != 0:
                blend(running_mean, c, mean, share)
                blend(running_var, c, variance * (count / (count - T(1))), share)
        elif c < channels:
            mean, variance = load(running_mean[c]), load(running_var[c])
        scale = T(1) / sqrt(variance + eps)
        if c < channels:
            if lane == 0:
                stats[2 * c] = mean
                stats[2 * c + 1] = scale
            factor, shift = scale * factor_of(weight, c, descriptor[WEIGHTED]), T(0)
            if descriptor[BIASED] != 0:
                shift = load(bias[c])
            image, s = begin, lane % size
            while image < batch:
                at = (image * channels + c) * size + s
                out[at] = store((load(x[at]) - mean) * factor + shift)
                image, s = further(image, s, size)
        first += int64(cuda.gridDim.x) * COLUMNS


def batch_norm_grad_blocks(grad, x, stats, weight, grad_x, grad_weight, grad_bias, descriptor):
    cells = cuda.shared.array(THREADS, T)
    batch, channels, size = descriptor[BATCH], descriptor[CHANNELS], descriptor[EXTENT]
    me = int64(cuda.threadIdx.x)
    lane = me // COLUMNS
    first = int64(cuda.blockIdx.x) * COLUMNS
    while first < channels:
        c = first + me % COLUMNS
        begin, known = lane // size if c < channels else batch, min(c, channels - 1)
        mean, scale = stats[2 * known], stats[2 * known + 1]
        plain, along = T(0), T(0)
        image, s = begin, lane % size
        while image < batch:
            at = (image * channels + c) * size + s
            value = load(grad[at])
            plain += value
            along += value * ((load(x[at]) - mean) * scale)
            image, s = further(image, s, size)
        plain = column_total(cells, plain, me)
        along = column_total(cells, along, me)
        if c < channels and lane == 0:
            if descriptor[WANTS_WEIGHT] != 0:
                grad_weight[c] = store(along)
            if descriptor[WANTS_BIAS] != 0:
                grad_bias[c] = store(plain)
        if c < channels and descriptor[WANTS_X] != 0:
            factor = scale * factor_of(weight, c, descriptor[WEIGHTED])
            plain, along = plain / T(batch * size), along / T(batch * size)
            if descriptor[TRAINING] == 0:                # running statistics do not depend on x
                plain, along = T(0), T(0)
            image, s = begin, lane % size
            while image < batch:
                at = (image * channels + c) * size + s
                grad_x[at] = store(factor * (load(grad[at]) - plain - (load(x[at]) - mean) * scale * along))
                image, s = further(image, s, size)
        first += int64(cuda.gridDim.x) * COLUMNS


# ---------------------------------------------------------------- planners
def _group_lanes(row):
    return lanes_for(row[G_CHANNELS] * row[G_EXTENT], 1)


plan_group_norm = in_parallel(host.plan_group_norm, {host.group_norm_groups: Form(
    group_norm_lines, lambda row: row[G_COUNT] * _group_lanes(row), lambda row, bound: dict(LANES=_group_lanes(row)), (G_EPS,))})


def plan_group_norm_grad(dtype: str, batch: int, groups: int, channels: int, size: int, weighted: bool, wants_x: bool,
                         wants_sums: bool, device: int = 0):
    """The sums are of the compute type, for `plan_merge_sums` of this device."""
    launches: list = []
    lanes, count = lanes_for(channels * size, 1), batch * groups
    if wants_x and count * channels * size:
        signature = ("element*", "element*", "compute*", "element*", "element*", "int64*")
        kernel = typed(group_norm_grad_lines, dtype, signature, LANES=lanes)
        launches.append((launch(kernel, [count, channels, size, groups, int(weighted)], count * lanes, device), (0, 1, 2, 3, 4)))
    if wants_sums and groups * channels:
        kernel = typed(group_channel_sums, dtype, ("element*", "element*", "compute*", "compute*", "int64*"))
        row = [batch if size else 0, groups * channels, max(size, 1), channels]
        launches.append((launch(kernel, row, groups * channels * THREADS, device), (0, 1, 2, 5)))
    return in_turn(*launches), 1


def _channel_threads(row):
    return -(-row[CHANNELS] // _columns(row)["COLUMNS"]) * THREADS


def _columns(row, bound=()):
    return dict(COLUMNS=1 if row[EXTENT] > 1 else WIDE)


_columns_alone = in_parallel(host.plan_batch_norm, {host.batch_norm_columns: Form(
    batch_norm_blocks, _channel_threads, _columns, (EPS, SHARE))})
_columns_grad = in_parallel(host.plan_batch_norm_grad, {host.batch_norm_grad_columns: Form(
    batch_norm_grad_blocks, _channel_threads, _columns)})


class _Planes:
    """The sums of a channel's blocks, if any, and what is made of them, with memory for the sums of this call's own."""

    __slots__ = ("device", "first", "last", "nbytes", "reads")

    def __init__(self, first, last, nbytes, reads, device):
        self.first, self.last, self.nbytes, self.reads, self.device = first, last, nbytes, reads, device

    def __call__(self, *words):
        owner, scratch = runtime().allocate(self.nbytes, self.device)
        if self.first is not None:
            self.first.call(*words[:self.reads], scratch, self.first.descriptor)
        self.last.call(*words[:-1], scratch, self.last.descriptor)     # the owner gives the memory back after this in stream order


def _plan_planes(dtype, sizes, first, last, signature, reads, tail, summed, device):
    """Launches for planes (batch, channels, size): a block has a channel's, or every so many of them, or of their elements."""
    batch, channels, size = sizes
    width = width_of(dtype, size)
    vectors = size // width
    span = min(THREADS, 1 << (-(-vectors // LOADS) - 1).bit_length())
    abreast = THREADS // span
    bands = max(1, min(-(-FILLED // channels), -(-batch // abreast)))
    along = max(1, min(-(-FILLED // (channels * bands)), vectors // (span * LOADS)))
    parts = bands * along
    names = dict(WIDTH=width, SIZE=itemsize(dtype), WORDS=LOADS * width, LANES=THREADS, packed=PACKED[width])
    row = [batch, channels, size, parts, span, along]
    launched = lambda function, signature, row: prepare(typed(function, dtype, signature, **names), row, channels * parts, device,
                                                        most=MOST_BLOCKS)
    sums = launched(first, (*signature[:reads], "compute*", "int64*"), row) if summed else None
    made = launched(last, (*signature, "compute*", "int64*"), row + tail)
    nbytes = 3 * channels * parts * np.dtype(compute_type(dtype)).itemsize
    return Prepared(_Planes(sums, made, nbytes, reads, device), made.descriptor, 0, (sums, made))


def plan_batch_norm(dtype: str, batch: int, channels: int, size: int, eps: float, share: float, training: bool, weighted: bool,
                    biased: bool, running: bool, device: int = 0):
    if size < 2 or not batch * channels:
        return _columns_alone(dtype, batch, channels, size, eps, share, training, weighted, biased, running, device=device)
    kind = compute_type(dtype)
    tail = [int(training), int(weighted), int(biased), int(running), scalar_bits(eps, kind), scalar_bits(share, kind)]
    signature = ("element*",) * 6 + ("compute*",)
    return _plan_planes(dtype, (batch, channels, size), batch_norm_sums, batch_norm_planes, signature, 1, tail, training, device)


def plan_batch_norm_grad(dtype: str, batch: int, channels: int, size: int, training: bool, weighted: bool, wants_x: bool,
                         wants_weight: bool, wants_bias: bool, device: int = 0):
    if size < 2 or not batch * channels:
        return _columns_grad(dtype, batch, channels, size, training, weighted, wants_x, wants_weight, wants_bias, device=device)
    signature = ("element*", "element*", "compute*", "element*", "element*", "element*", "element*")
    tail = [int(training), int(weighted), int(wants_x), int(wants_weight), int(wants_bias)]
    return _plan_planes(dtype, (batch, channels, size), batch_norm_grad_sums, batch_norm_grad_planes, signature, 3, tail, True,
                        device)
