"""Norms whose scale and shift go by channel: group norm (and with a group for each channel instance norm) and batch norm.

Data are contiguous (N, C, S), S being the extent of all that follows the channel. With M the numbers that share a mean, w the
weight, h the standardised value and r = 1 / deviation, all of them have one gradient (Ioffe and Szegedy 2015):

    grad_x = r * (w * grad - sum(w * grad) / M - h * sum(w * grad * h) / M)

Group norm goes group by group, since a group lies together. Batch norm in training goes channel by channel, so that a channel's
planes (400 KB in a ResNet's first layer) are still in L2 when they are read again; planes shorter than 512 are gathered into a
block first, because a loop over 49 elements spends its time on its ends. Without S, 512 channels at a time keep their sums on
the stack. In evaluation nothing is summed, and planes are taken as they lie.
"""
from __future__ import annotations

from numpy import float32, float64, int64

from ...elementtypes import itemsize, same
from ...families.reductions import merge_moments
from ...intrinsics import float_of, local_array, local_like, offset, select, sqrt
from ..reduce.moments import block_columns, block_moments, contiguous_moments, merge_wide_columns, overflown
from ..shared.elements import bits, part_offsets, prepare_parts, shares, typed, wide
from .norm import GRAIN

T = float32
W = float64
load = store = same
BLOCK = 2048                     # elements summed in the compute type
SHORT = 512                      # planes below this are gathered
COLUMNS = 512
BLOCK_ROWS = 32

# the descriptor of group norm: groups to do (of all examples), channels of one, S, groups of an example, whether there is a weight,
# number of the first group; then forward's own, and the gradient's
G_COUNT, G_CHANNELS, G_EXTENT, G_GROUPS, G_WEIGHTED, G_FIRST, G_BIASED, G_EPS = range(8)
G_WANTS_X, G_WANTS_SUMS = range(G_FIRST + 1, G_FIRST + 3)

# of batch norm: N, C, S, channels to do (in evaluation planes); then forward's own, of which FIRST is a plane, and the gradient's
BATCH, CHANNELS, EXTENT, COUNT, TRAINING, WEIGHTED, BIASED, RUNNING, EPS, SHARE, FIRST = range(11)
WANTS_X, WANTS_WEIGHT, WANTS_BIAS = range(WEIGHTED + 1, WEIGHTED + 4)


def scaled_plane(x, out, n, mean, scale, shift):
    for i in range(n):
        out[i] = store((load(x[i]) - mean) * scale + shift)


def sloped_plane(grad, x, grad_x, n, mean, scale, slope, constant):
    for i in range(n):
        grad_x[i] = store(load(grad[i]) * scale - (load(x[i]) - mean) * slope - constant)


def plane_sums(grad, x, n, mean):
    """The sums of grad and of grad * (x - mean)."""
    plain = W(0)
    along = W(0)
    for i in range(0, n, BLOCK):
        g = offset(grad, i)
        a = offset(x, i)
        part = T(0)
        part_along = T(0)
        for j in range(min(n - i, BLOCK)):
            value = load(g[j])
            part += value
            part_along += value * (load(a[j]) - mean)
        plain += W(part)
        along += W(part_along)
    return plain, along


# ---------------------------------------------------------------- group norm
def group_norm_groups(x, weight, bias, out, stats, descriptor):
    """stats gets (mean, 1 / deviation) of each group."""
    count, channels, size = descriptor[G_COUNT], descriptor[G_CHANNELS], descriptor[G_EXTENT]
    eps, groups = float_of(descriptor[G_EPS]), descriptor[G_GROUPS]
    n = channels * size
    for group in range(count):
        a = offset(x, group * n)
        b = offset(out, group * n)
        mean, squares = contiguous_moments(a, n)
        deviation = W(1) / sqrt(squares / W(n) + eps)
        center, scale = T(mean), T(deviation)
        stats[2 * group] = center
        stats[2 * group + 1] = scale
        first = (descriptor[G_FIRST] + group) % groups * channels
        for c in range(channels):
            factor = scale
            shift = T(0)
            if descriptor[G_WEIGHTED] != 0:
                factor = scale * load(weight[first + c])
            if descriptor[G_BIASED] != 0:
                shift = load(bias[first + c])
            scaled_plane(offset(a, c * size), offset(b, c * size), size, center, factor, shift)


def group_norm_grad_groups(grad, x, stats, weight, grad_x, sums, descriptor):
    """sums: (2, C)."""
    count, channels, size = descriptor[G_COUNT], descriptor[G_CHANNELS], descriptor[G_EXTENT]
    groups = descriptor[G_GROUPS]
    n = channels * size
    total = groups * channels
    if descriptor[G_WANTS_SUMS] != 0:
        for i in range(2 * total):
            sums[i] = W(0)
    for group in range(count):
        g = offset(grad, group * n)
        a = offset(x, group * n)
        center, scale = stats[2 * group], stats[2 * group + 1]
        first = (descriptor[G_FIRST] + group) % groups * channels
        plain = W(0)
        along = W(0)
        for c in range(channels):
            p, q = plane_sums(offset(g, c * size), offset(a, c * size), size, center)
            factor = W(1)
            if descriptor[G_WEIGHTED] != 0:
                factor = W(load(weight[first + c]))
            plain += p * factor
            along += q * factor
            if descriptor[G_WANTS_SUMS] != 0:
                sums[first + c] += q * W(scale)
                sums[total + first + c] += p
        if descriptor[G_WANTS_X] != 0:
            slope = T(along * W(scale) * W(scale) * W(scale) / W(n))
            constant = T(plain * W(scale) / W(n))
            for c in range(channels):
                factor = scale
                if descriptor[G_WEIGHTED] != 0:
                    factor = scale * load(weight[first + c])
                place = c * size
                sloped_plane(offset(g, place), offset(a, place), offset(grad_x, group * n + place), size, center, factor, slope,
                             constant)


# ---------------------------------------------------------------- batch norm, channel by channel
def gathered_moments(x, count, size, step):
    """Mean and squared deviations of `count` short planes, gathered into blocks."""
    block = local_like(x, BLOCK)
    planes = int64(BLOCK) // size
    done = W(0)
    mean = W(0)
    squares = W(0)
    for first in range(0, count, planes):
        some = min(count - first, planes)
        for p in range(some):
            plane = offset(x, (first + p) * step)
            target = offset(block, p * size)
            for i in range(size):
                target[i] = plane[i]
        more = W(some * size)
        block_mean, block_squares = block_moments(block, some * size, 1)
        done, mean, squares = merge_moments(done, mean, squares, more, block_mean, block_squares)
    return mean, squares


def plane_moments(x, count, size, step):
    """Mean and squared deviations of `count` planes, `step` apart."""
    if size < SHORT:
        return gathered_moments(x, count, size, step)
    mean, squares = contiguous_moments(x, size)
    for p in range(1, count):
        more_mean, more_squares = contiguous_moments(offset(x, p * step), size)
        _, mean, squares = merge_moments(W(p * size), mean, squares, W(size), more_mean, more_squares)
    return mean, squares


def blend(running, index, value, share):
    running[index] = store(T(W(load(running[index])) * (W(1) - share) + value * share))


def batch_norm_channels(x, weight, bias, running_mean, running_var, out, stats, descriptor):
    """Training. stats gets (mean, 1 / deviation) of each channel."""
    batch, size = descriptor[BATCH], descriptor[EXTENT]
    eps, share = float_of(descriptor[EPS]), float_of(descriptor[SHARE])
    step = descriptor[CHANNELS] * size
    count = W(batch * size)
    for c in range(descriptor[COUNT]):
        a = offset(x, c * size)
        b = offset(out, c * size)
        mean, squares = plane_moments(a, batch, size, step)
        if descriptor[RUNNING] != 0:
            blend(running_mean, c, mean, share)
            blend(running_var, c, squares / (count - W(1)), share)
        deviation = W(1) / sqrt(squares / count + eps)
        center, scale = T(mean), T(deviation)
        stats[2 * c] = center
        stats[2 * c + 1] = scale
        shift = T(0)
        if descriptor[WEIGHTED] != 0:
            scale = scale * load(weight[c])
        if descriptor[BIASED] != 0:
            shift = load(bias[c])
        for p in range(batch):
            scaled_plane(offset(a, p * step), offset(b, p * step), size, center, scale, shift)


def batch_norm_planes(x, weight, bias, running_mean, running_var, out, stats, descriptor):
    """Evaluation: planes as they lie. stats gets (mean, 1 / deviation) of each channel from the first C planes."""
    channels, size, eps = descriptor[CHANNELS], descriptor[EXTENT], float_of(descriptor[EPS])
    c = descriptor[FIRST] % channels
    for p in range(descriptor[COUNT]):
        center = load(running_mean[c])
        deviation = W(1) / sqrt(W(load(running_var[c])) + eps)
        scale = T(deviation)
        if descriptor[FIRST] + p < channels:
            stats[2 * c] = center
            stats[2 * c + 1] = scale
        shift = T(0)
        if descriptor[WEIGHTED] != 0:
            scale = scale * load(weight[c])
        if descriptor[BIASED] != 0:
            shift = load(bias[c])
        scaled_plane(offset(x, p * size), offset(out, p * size), size, center, scale, shift)
        c += 1
        if c == channels:
            c = int64(0)


def gathered_sums(grad, x, count, size, step, mean):
    """`plane_sums` of many short planes, gathered into blocks."""
    grads = local_like(grad, BLOCK)
    values = local_like(x, BLOCK)
    planes = int64(BLOCK) // size
    plain = W(0)
    along = W(0)
    for first in range(0, count, planes):
        some = min(count - first, planes)
        for p in range(some):
            g = offset(grad, (first + p) * step)
            target = offset(grads, p * size)
            for i in range(size):
                target[i] = g[i]
            a = offset(x, (first + p) * step)
            target = offset(values, p * size)
            for i in range(size):
                target[i] = a[i]
        more, more_along = plane_sums(grads, values, some * size, mean)
        plain += more
        along += more_along
    return plain, along


def batch_norm_grad_channels(grad, x, stats, weight, grad_x, grad_weight, grad_bias, descriptor):
    batch, size = descriptor[BATCH], descriptor[EXTENT]
    step = descriptor[CHANNELS] * size
    for c in range(descriptor[COUNT]):
        g = offset(grad, c * size)
        a = offset(x, c * size)
        center, scale = stats[2 * c], stats[2 * c + 1]
        plain = W(0)
        along = W(0)
        if size < SHORT:
            plain, along = gathered_sums(g, a, batch, size, step, center)
        else:
            for p in range(batch):
                more, more_along = plane_sums(offset(g, p * step), offset(a, p * step), size, center)
                plain += more
                along += more_along
        if descriptor[WANTS_WEIGHT] != 0:
            grad_weight[c] = store(T(along * W(scale)))
        if descriptor[WANTS_BIAS] != 0:
            grad_bias[c] = store(T(plain))
        if descriptor[WANTS_X] != 0:
            slope, constant, factor = channel_slopes(plain, along, weight, c, scale, descriptor)
            for p in range(batch):
                place = p * step
                sloped_plane(offset(g, place), offset(a, place), offset(grad_x, c * size + place), size, center, factor, slope,
                             constant)


def channel_slopes(plain, along, weight, c, scale, descriptor):
    """What grad_x subtracts: a multiple of x - mean, and a constant; and what grad is multiplied by."""
    factor = scale
    if descriptor[WEIGHTED] != 0:
        factor = scale * load(weight[c])
    if descriptor[TRAINING] == 0:                        # running statistics do not depend on x
        return T(0), T(0), factor
    share = W(factor) / W(descriptor[BATCH] * descriptor[EXTENT])
    return T(along * W(scale) * W(scale) * share), T(plain * share), factor


# ---------------------------------------------------------------- batch norm of (N, C): S is 1
def _column_statistics(a, mean, squares, center, spread, residual, batch, step, width):
    """Means, and sums of squared deviations from them, of `width` columns, block by block (Chan, Golub and LeVeque 1979); the
    block's own are left in `center`, `spread` and `residual`."""
    for j in range(width):
        mean[j] = W(0)
        squares[j] = W(0)
    for i in range(0, batch, BLOCK_ROWS):
        rows = min(batch - i, int64(BLOCK_ROWS))
        block_columns(offset(a, i * step), center, spread, residual, rows, step, width, 1)
        if overflown(spread, width):
            merge_wide_columns(offset(a, i * step), mean, squares, W(i), rows, step, width, 1)
            continue
        part = W(rows) / W(i + rows)
        inverse = W(1) / W(rows)
        for j in range(width):
            shift = W(residual[j]) * inverse
            delta = W(center[j]) + shift - mean[j]
            mean[j] += delta * part
            apart = select(i == 0, W(0), delta)
            squares[j] += W(spread[j]) - shift * W(residual[j]) + apart * delta * (W(i) * part)


def batch_norm_columns(x, weight, bias, running_mean, running_var, out, stats, descriptor):
    """Training and evaluation, 512 channels at a time."""
    batch, step, training = descriptor[BATCH], descriptor[CHANNELS], descriptor[TRAINING]
    eps, share = float_of(descriptor[EPS]), float_of(descriptor[SHARE])
    center = local_array(T, COLUMNS)
    spread = local_array(T, COLUMNS)
    residual = local_array(T, COLUMNS)
    mean = local_array(W, COLUMNS)
    squares = local_array(W, COLUMNS)
    for c in range(0, descriptor[COUNT], COLUMNS):
        width = min(descriptor[COUNT] - c, int64(COLUMNS))
        a = offset(x, c)
        b = offset(out, c)
        if training != 0:
            _column_statistics(a, mean, squares, center, spread, residual, batch, step, width)
            if descriptor[RUNNING] != 0:
                for j in range(width):
                    blend(running_mean, c + j, mean[j], share)
                for j in range(width):
                    blend(running_var, c + j, squares[j] / (W(batch) - W(1)), share)
            inverse = W(1) / W(batch)
            for j in range(width):
                squares[j] = squares[j] * inverse
        else:
            for j in range(width):
                mean[j] = W(load(running_mean[c + j]))
            for j in range(width):
                squares[j] = W(load(running_var[c + j]))
        for j in range(width):
            deviation = W(1) / sqrt(squares[j] + eps)
            center[j] = T(mean[j])
            spread[j] = T(deviation)
            residual[j] = T(0)
        for j in range(width):
            stats[2 * (c + j)] = center[j]
            stats[2 * (c + j) + 1] = spread[j]
        if descriptor[WEIGHTED] != 0:
            for j in range(width):
                spread[j] *= load(weight[c + j])
        if descriptor[BIASED] != 0:
            for j in range(width):
                residual[j] = load(bias[c + j])
        for i in range(batch):
            row = offset(a, i * step)
            result = offset(b, i * step)
            for j in range(width):
                result[j] = store((load(row[j]) - center[j]) * spread[j] + residual[j])


def batch_norm_grad_columns(grad, x, stats, weight, grad_x, grad_weight, grad_bias, descriptor):
    batch, step = descriptor[BATCH], descriptor[CHANNELS]
    center = local_array(T, COLUMNS)
    plain = local_array(T, COLUMNS)
    along = local_array(T, COLUMNS)
    factor = local_array(T, COLUMNS)
    all_plain = local_array(W, COLUMNS)
    all_along = local_array(W, COLUMNS)
    for c in range(0, descriptor[COUNT], COLUMNS):
        width = min(descriptor[COUNT] - c, int64(COLUMNS))
        for j in range(width):
            center[j] = stats[2 * (c + j)]
            all_plain[j] = W(0)
            all_along[j] = W(0)
        for i in range(0, batch, BLOCK_ROWS):
            for j in range(width):
                plain[j] = T(0)
                along[j] = T(0)
            for r in range(i, min(i + BLOCK_ROWS, batch)):
                g = offset(grad, r * step + c)
                a = offset(x, r * step + c)
                for j in range(width):
                    value = load(g[j])
                    plain[j] += value
                    along[j] += value * (load(a[j]) - center[j])
            for j in range(width):
                all_plain[j] += W(plain[j])
                all_along[j] += W(along[j])
        if descriptor[WANTS_WEIGHT] != 0:
            for j in range(width):
                grad_weight[c + j] = store(T(all_along[j] * W(stats[2 * (c + j) + 1])))
        if descriptor[WANTS_BIAS] != 0:
            for j in range(width):
                grad_bias[c + j] = store(T(all_plain[j]))
        if descriptor[WANTS_X] != 0:
            for j in range(width):
                slope, constant, scale = channel_slopes(all_plain[j], all_along[j], weight, c + j, stats[2 * (c + j) + 1],
                                                        descriptor)
                along[j] = slope
                plain[j] = constant
                factor[j] = scale
            for r in range(batch):
                g = offset(grad, r * step + c)
                a = offset(x, r * step + c)
                gx = offset(grad_x, r * step + c)
                for j in range(width):
                    gx[j] = store(load(g[j]) * factor[j] - (load(a[j]) - center[j]) * along[j] - plain[j])


# ---------------------------------------------------------------- planners
def plan_group_norm(dtype: str, batch: int, groups: int, channels: int, size: int, eps: float, weighted: bool, biased: bool):
    """Group norm of contiguous (batch, groups * channels, size): as layer norm, with one mean and variance for each group of an
    example, and a weight and a bias for each channel.

    Addresses: x, weight (C) if `weighted`, bias (C) if `biased`, out, stats: (batch * groups, 2) of the compute type, each group's
    mean and 1 / sqrt(variance + eps).

    Args:
        channels: those of one group, so that C is groups * channels.
    """
    kernel = typed(group_norm_groups, dtype, ("element*",) * 4 + ("compute*", "int64*"))
    n, itself = channels * size, itemsize(dtype)
    parts = shares(batch * groups, batch * groups * n, GRAIN)
    rows = [(stop - start, channels, size, groups, int(weighted), start, int(biased), bits(eps)) for start, stop in parts]
    offsets = part_offsets(parts, n * itself, 0, 0, n * itself, 2 * wide(dtype))
    return prepare_parts(kernel, rows, batch * groups * n, offsets)


def plan_group_norm_grad(dtype: str, batch: int, groups: int, channels: int, size: int, weighted: bool, wants_x: bool,
                         wants_sums: bool):
    """Gradients of group norm (the module's formula). Returns (prepared, parts); arguments as for `plan_group_norm`.

    Addresses: grad, x, stats of the forward call, weight if `weighted`, grad_x if `wants_x`, sums if `wants_sums`: float64 (parts,
    2, C) for `norm.plan_merge_sums`.

    Args:
        batch, groups, channels, size: as the forward call's.
    """
    signature = ("element*", "element*", "compute*", "element*", "element*", "float64*", "int64*")
    kernel = typed(group_norm_grad_groups, dtype, signature)
    n, itself = channels * size, itemsize(dtype)
    parts = shares(batch * groups, 2 * batch * groups * n, GRAIN)
    rows = [(stop - start, channels, size, groups, int(weighted), start, int(wants_x), int(wants_sums)) for start, stop in parts]
    offsets = [(start * n * itself, start * n * itself, 2 * start * wide(dtype), 0, start * n * itself * wants_x,
                part * 16 * groups * channels) for part, (start, _) in enumerate(parts)]
    return prepare_parts(kernel, rows, batch * groups * n, offsets), len(parts)


def _channel_parts(channels, work, size):
    return shares(channels, work, GRAIN, multiple=16 if size == 1 else 1)


def plan_batch_norm(dtype: str, batch: int, channels: int, size: int, eps: float, share: float, training: bool, weighted: bool,
                    biased: bool, running: bool):
    """Batch norm of contiguous (batch, channels, size): in `training` with each channel's own mean and variance, else with the
    running ones. If there are `running` statistics, training moves them towards the batch's by `share`, the variance taken over one
    element less.

    Addresses: x, weight if `weighted`, bias if `biased`, running_mean, running_var (all C), out, stats: (C, 2) of the compute type,
    each channel's mean and 1 / sqrt(variance + eps).
    """
    planes = size > 1 and not training
    kernel = typed(batch_norm_planes if planes else batch_norm_channels if size > 1 else batch_norm_columns, dtype,
                   ("element*",) * 6 + ("compute*", "int64*"))
    work, itself = batch * channels * size, itemsize(dtype)
    parts = shares(batch * channels, work, GRAIN) if planes else _channel_parts(channels, work, size)
    rows = [(batch, channels, size, stop - start, int(training), int(weighted), int(biased), int(running), bits(eps), bits(share),
             start) for start, stop in parts]
    if planes:
        offsets = part_offsets(parts, size * itself, 0, 0, 0, 0, size * itself, 0)
    else:
        offsets = part_offsets(parts, size * itself, itself * weighted, itself * biased, itself * running, itself * running,
                               size * itself, 2 * wide(dtype))
    return prepare_parts(kernel, rows, work, offsets)


def plan_batch_norm_grad(dtype: str, batch: int, channels: int, size: int, training: bool, weighted: bool, wants_x: bool,
                         wants_weight: bool, wants_bias: bool):
    """Gradients of batch norm (the module's formula); where not in `training`, mean and deviation are constants.

    Addresses: grad, x, stats of the forward call, weight if `weighted`, grad_x if `wants_x`, grad_weight if `wants_weight`,
    grad_bias if `wants_bias`.

    Args:
        batch, channels, size: as the forward call's.
    """
    signature = ("element*", "element*", "compute*", "element*", "element*", "element*", "element*", "int64*")
    kernel = typed(batch_norm_grad_channels if size > 1 else batch_norm_grad_columns, dtype, signature)
    work, itself = batch * channels * size, itemsize(dtype)
    parts = _channel_parts(channels, 2 * work, size)
    rows = [(batch, channels, size, stop - start, int(training), int(weighted), int(wants_x), int(wants_weight), int(wants_bias))
            for start, stop in parts]
    offsets = part_offsets(parts, size * itself, size * itself, 2 * wide(dtype), itself * weighted, size * itself * wants_x,
                           itself * wants_weight, itself * wants_bias)
    return prepare_parts(kernel, rows, work, offsets)
