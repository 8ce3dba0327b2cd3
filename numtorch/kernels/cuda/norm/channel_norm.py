"""Batch and group norm on a GPU: a block for each channel, or for each group.

Batch norm's channel is its planes, through whose elements a block's threads go in steps of the block. Of data without planes (N, C)
a block has `WIDE` channels, so that neighbouring threads read neighbours. A group of group norm is a line (norm.py).

Formulas and descriptors are the host's (kernels/cpu/norm/channel_norm.py).
"""
from __future__ import annotations

from numpy import float32, int32, int64

from ...cpu.norm import channel_norm as host
from ...elementtypes import same
from ...intrinsics import offset, sqrt
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..shared.elements import in_turn, launch, typed
from ..shared.lines import WIDE, column_total, joined, lanes_for, scalar
from .norm import factor_of, line_moments

T, INT = float32, int32
load = store = same
LANES = COLUMNS = 1


# ---------------------------------------------------------------- group norm
def group_norm_lines(x, weight, bias, out, stats, descriptor):
    cells = cuda.shared.array(THREADS, T)
    count, channels, size, eps, groups = descriptor[0], descriptor[1], descriptor[2], scalar(descriptor, 3), descriptor[4]
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
                value = (load(a[i]) - mean) * (scale * factor_of(weight, channel, descriptor[6]))
                if descriptor[7] != 0:
                    value += load(bias[channel])
                b[i] = store(value)
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


def group_norm_grad_lines(grad, x, stats, weight, grad_x, descriptor):
    """descriptor: groups of all examples, channels of one, S, groups of an example, whether there is a weight."""
    cells = cuda.shared.array(THREADS, T)
    count, channels, size, groups, weighted = descriptor[0], descriptor[1], descriptor[2], descriptor[3], descriptor[4]
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
    """sums[0] of grad * h and sums[1] of grad, by channel: a block each. descriptor: batch, channels, S, channels of a group."""
    cells = cuda.shared.array(THREADS, T)
    batch, channels, size, of_group = descriptor[0], descriptor[1], descriptor[2], descriptor[3]
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


def batch_norm_blocks(x, weight, bias, running_mean, running_var, out, stats, descriptor):
    cells = cuda.shared.array(THREADS, T)
    batch, channels, size, eps, share = descriptor[0], descriptor[1], descriptor[2], scalar(descriptor, 5), scalar(descriptor, 6)
    me = int64(cuda.threadIdx.x)
    lane = me // COLUMNS
    count = T(batch * size)
    first = int64(cuda.blockIdx.x) * COLUMNS
    while first < channels:
        c = first + me % COLUMNS
        begin = lane // size if c < channels else batch
        mean, variance = T(0), T(0)
        if descriptor[4] != 0:
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
            if lane == 0 and c < channels and descriptor[9] != 0:
                blend(running_mean, c, mean, share)
                blend(running_var, c, variance * (count / (count - T(1))), share)
        elif c < channels:
            mean, variance = load(running_mean[c]), load(running_var[c])
        scale = T(1) / sqrt(variance + eps)
        if c < channels:
            if lane == 0:
                stats[2 * c] = mean
                stats[2 * c + 1] = scale
            factor, shift = scale * factor_of(weight, c, descriptor[7]), T(0)
            if descriptor[8] != 0:
                shift = load(bias[c])
            image, s = begin, lane % size
            while image < batch:
                at = (image * channels + c) * size + s
                out[at] = store((load(x[at]) - mean) * factor + shift)
                image, s = further(image, s, size)
        first += int64(cuda.gridDim.x) * COLUMNS


def batch_norm_elements(x, weight, bias, running_mean, running_var, out, stats, descriptor):
    """Evaluation: a thread an element."""
    channels, size, eps = descriptor[1], descriptor[2], scalar(descriptor, 5)
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < descriptor[3] * size:
        plane = e // size
        c = plane % channels
        mean, scale, shift = load(running_mean[c]), T(1) / sqrt(load(running_var[c]) + eps), T(0)
        if plane < channels and e == plane * size:
            stats[2 * c] = mean
            stats[2 * c + 1] = scale
        if descriptor[8] != 0:
            shift = load(bias[c])
        out[e] = store((load(x[e]) - mean) * (scale * factor_of(weight, c, descriptor[7])) + shift)
        e += int64(cuda.gridDim.x) * THREADS


def batch_norm_grad_blocks(grad, x, stats, weight, grad_x, grad_weight, grad_bias, descriptor):
    cells = cuda.shared.array(THREADS, T)
    batch, channels, size = descriptor[0], descriptor[1], descriptor[2]
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
            if descriptor[11] != 0:
                grad_weight[c] = store(along)
            if descriptor[12] != 0:
                grad_bias[c] = store(plain)
        if c < channels and descriptor[10] != 0:
            factor = scale * factor_of(weight, c, descriptor[7])
            plain, along = plain / T(batch * size), along / T(batch * size)
            if descriptor[4] == 0:                       # running statistics do not depend on x
                plain, along = T(0), T(0)
            image, s = begin, lane % size
            while image < batch:
                at = (image * channels + c) * size + s
                grad_x[at] = store(factor * (load(grad[at]) - plain - (load(x[at]) - mean) * scale * along))
                image, s = further(image, s, size)
        first += int64(cuda.gridDim.x) * COLUMNS


# ---------------------------------------------------------------- planners
def _group_lanes(row):
    return lanes_for(row[1] * row[2], 1)


plan_group_norm = in_parallel(host.plan_group_norm, {host.group_norm_groups: Form(
    group_norm_lines, lambda row: row[0] * _group_lanes(row), lambda row, bound: dict(LANES=_group_lanes(row)), (3,))})


def plan_group_norm_grad(dtype: str, batch: int, groups: int, channels: int, size: int, weighted: bool, wants_x: bool,
                         wants_sums: bool, device: int = 0):
    """Gradients of group norm. Returns (prepared, 1).

    Addresses: grad, x, stats of the forward call, weight, grad_x, sums: room for float64 (1, 2, C), for `norm.plan_merge_sums`.
    """
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
    return -(-row[1] // _columns(row)["COLUMNS"]) * THREADS


def _columns(row, bound=()):
    return dict(COLUMNS=1 if row[2] > 1 else WIDE)


_forward = Form(batch_norm_blocks, _channel_threads, _columns, (5, 6))
_backward = Form(batch_norm_grad_blocks, _channel_threads, _columns)

plan_batch_norm = in_parallel(host.plan_batch_norm, {
    host.batch_norm_channels: _forward, host.batch_norm_columns: _forward,
    host.batch_norm_planes: Form(batch_norm_elements, lambda row: row[3] * row[2], scalars=(5, 6))})
plan_batch_norm_grad = in_parallel(host.plan_batch_norm_grad, {host.batch_norm_grad_channels: _backward,
                                                               host.batch_norm_grad_columns: _backward})
