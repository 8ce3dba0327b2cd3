"""Layer norm and RMS norm: each row of contiguous (rows, n) data standardised, then scaled and shifted element by element.

Forward reads a row three times while it is in L1: for its mean, for the deviations from it (reduce/moments.py says why) and for the
result. RMS norm is the same with a mean of 0.

Backward is one pass over blocks of 32 rows. With w the weight, h the standardised row and r = 1 / deviation (Ba et al. 2016):

    grad_x = r * (w * grad - mean(w * grad) - h * mean(w * grad * h))

and the block, still in L2, is then summed down its columns for the weight's and the bias's gradients: in the compute type within
a block and in float64 across blocks. Each part of a threaded call has sums of its own; `merge_sums` adds them up.
"""
from __future__ import annotations

from numpy import float32, float64

from ...elementtypes import itemsize, same
from ...intrinsics import float_of, local_array, offset, sqrt
from ..reduce.moments import contiguous_moments
from ..shared.elements import bits, part_offsets, prepare_parts, shares, typed, wide

T = float32
W = float64
load = store = same
CENTRED = True
BLOCK_ROWS, BLOCK_COLUMNS = 32, 512      # 128 KiB of float32 at a width of 512, twice
GRAIN = 30_000                   # elements that make a thread worth waking

# descriptors: of norms, of their gradients, and of the sums' merging
ROWS, LENGTH, EPS, WEIGHTED, BIASED = range(5)
GRAD_WEIGHTED, WANTS_X, WANTS_SUMS = range(LENGTH + 1, LENGTH + 4)
PARTS, WANTS_WEIGHT, WANTS_BIAS = ROWS, LENGTH + 1, LENGTH + 2


def squares_of(x, n):
    """The sum of squares of n contiguous numbers, in blocks."""
    total = W(0)
    for i in range(0, n, 2048):
        block = offset(x, i)
        part = T(0)
        for j in range(min(n - i, 2048)):
            value = load(block[j])
            part += value * value
        total += W(part)
    return total


def normalize_row(x, out, weight, bias, n, mean, scale, weighted, biased):
    """(x - mean) * scale * weight + bias, elementwise."""
    if weighted != 0 and biased != 0:
        for i in range(n):
            out[i] = store((load(x[i]) - mean) * scale * load(weight[i]) + load(bias[i]))
    elif weighted != 0:
        for i in range(n):
            out[i] = store((load(x[i]) - mean) * scale * load(weight[i]))
    elif biased != 0:
        for i in range(n):
            out[i] = store((load(x[i]) - mean) * scale + load(bias[i]))
    else:
        for i in range(n):
            out[i] = store((load(x[i]) - mean) * scale)


def norm_rows(x, weight, bias, out, stats, descriptor):
    """stats gets (mean, 1 / deviation) of each row."""
    rows, n = descriptor[ROWS], descriptor[LENGTH]
    eps = float_of(descriptor[EPS])
    share = W(1) / W(max(n, 1))
    for row in range(rows):
        a = offset(x, row * n)
        mean = W(0)
        if CENTRED:
            mean, squares = contiguous_moments(a, n)
        else:
            squares = squares_of(a, n)
        scale = W(1) / sqrt(squares * share + eps)
        stats[2 * row] = T(mean)
        stats[2 * row + 1] = T(scale)
        normalize_row(a, offset(out, row * n), weight, bias, n, T(mean), T(scale), descriptor[WEIGHTED], descriptor[BIASED])


# ---------------------------------------------------------------- backward
def projections(grad, x, weight, n, mean, weighted):
    """The sums of w * grad and of w * grad * (x - mean)."""
    plain = W(0)
    along = W(0)
    for i in range(0, n, 2048):
        g = offset(grad, i)
        a = offset(x, i)
        w = offset(weight, i)
        part = T(0)
        part_along = T(0)
        if weighted != 0:
            for j in range(min(n - i, 2048)):
                value = load(g[j]) * load(w[j])
                part += value
                part_along += value * (load(a[j]) - mean)
        else:
            for j in range(min(n - i, 2048)):
                value = load(g[j])
                part += value
                part_along += value * (load(a[j]) - mean)
        plain += W(part)
        along += W(part_along)
    return plain, along


def grad_row(grad, x, weight, grad_x, n, mean, scale, weighted):
    plain, along = projections(grad, x, weight, n, mean, weighted)
    slope = T(along * W(scale) * W(scale) * W(scale) / W(n))
    constant = T(0)
    if CENTRED:
        constant = T(plain * W(scale) / W(n))
    if weighted != 0:
        for i in range(n):
            grad_x[i] = store(load(grad[i]) * load(weight[i]) * scale - (load(x[i]) - mean) * slope - constant)
    else:
        for i in range(n):
            grad_x[i] = store(load(grad[i]) * scale - (load(x[i]) - mean) * slope - constant)


def add_columns(grad, x, stats, sums, rows, n):
    """sums[:n] += sum over rows of grad * h; sums[n:] += sum over rows of grad."""
    by_weight = local_array(T, BLOCK_COLUMNS)
    by_bias = local_array(T, BLOCK_COLUMNS)
    for c in range(0, n, BLOCK_COLUMNS):
        width = min(n - c, BLOCK_COLUMNS)
        for j in range(width):
            by_weight[j] = T(0)
            by_bias[j] = T(0)
        for row in range(0, rows - 1, 2):                # two rows at once: half the traffic of the accumulators
            g = offset(grad, row * n + c)
            a = offset(x, row * n + c)
            next_g, next_a = offset(g, n), offset(a, n)
            mean, scale = stats[2 * row], stats[2 * row + 1]
            next_mean, next_scale = stats[2 * row + 2], stats[2 * row + 3]
            for j in range(width):
                value = load(g[j])
                next_value = load(next_g[j])
                by_weight[j] += value * ((load(a[j]) - mean) * scale) + next_value * ((load(next_a[j]) - next_mean) * next_scale)
                by_bias[j] += value + next_value
        if rows % 2 != 0:
            g = offset(grad, (rows - 1) * n + c)
            a = offset(x, (rows - 1) * n + c)
            mean, scale = stats[2 * rows - 2], stats[2 * rows - 1]
            for j in range(width):
                value = load(g[j])
                by_weight[j] += value * ((load(a[j]) - mean) * scale)
                by_bias[j] += value
        weight_sums = offset(sums, c)
        bias_sums = offset(sums, n + c)
        for j in range(width):
            weight_sums[j] += W(by_weight[j])
        for j in range(width):
            bias_sums[j] += W(by_bias[j])


def norm_grad_rows(grad, x, stats, weight, grad_x, sums, descriptor):
    """sums: (2, n)."""
    rows, n = descriptor[ROWS], descriptor[LENGTH]
    if descriptor[WANTS_SUMS] != 0:
        for i in range(2 * n):
            sums[i] = W(0)
    for first in range(0, rows, BLOCK_ROWS):
        count = min(rows - first, BLOCK_ROWS)
        g = offset(grad, first * n)
        a = offset(x, first * n)
        s = offset(stats, 2 * first)
        if descriptor[WANTS_X] != 0:
            for row in range(count):
                grad_row(offset(g, row * n), offset(a, row * n), weight, offset(grad_x, (first + row) * n), n, s[2 * row],
                         s[2 * row + 1], descriptor[GRAD_WEIGHTED])
        if descriptor[WANTS_SUMS] != 0:
            add_columns(g, a, s, sums, count, n)


def merge_sums(sums, grad_weight, grad_bias, descriptor):
    parts, n = descriptor[PARTS], descriptor[LENGTH]
    for part in range(1, parts):
        more = offset(sums, 2 * n * part)
        for i in range(2 * n):
            sums[i] += more[i]
    if descriptor[WANTS_WEIGHT] != 0:
        for i in range(n):
            grad_weight[i] = store(T(sums[i]))
    if descriptor[WANTS_BIAS] != 0:
        bias_sums = offset(sums, n)
        for i in range(n):
            grad_bias[i] = store(T(bias_sums[i]))


# ---------------------------------------------------------------- planners
def plan_row_norm(dtype: str, rows: int, n: int, eps: float, weighted: bool, biased: bool, centred: bool):
    """Layer norm of each row of contiguous (rows, n): (x - mean) / sqrt(variance + eps) * weight + bias, the variance being the
    mean square of the deviations. Where not `centred`, RMS norm, which takes 0 for the mean.

    Addresses: x, weight (n) if `weighted`, bias (n) if `biased`, out, stats: (rows, 2) of the compute type, each row's mean and 1 /
    sqrt(variance + eps).
    """
    kernel = typed(norm_rows, dtype, ("element*",) * 4 + ("compute*", "int64*"), CENTRED=centred)
    parts, size = shares(rows, rows * n, GRAIN), itemsize(dtype)
    descriptors = [(stop - start, n, bits(eps), int(weighted), int(biased)) for start, stop in parts]
    offsets = part_offsets(parts, n * size, 0, 0, n * size, 2 * wide(dtype))
    return prepare_parts(kernel, descriptors, rows * n, offsets)


def plan_row_norm_grad(dtype: str, rows: int, n: int, weighted: bool, centred: bool, wants_x: bool, wants_sums: bool):
    """Gradients of the row norms (the module's formula). Returns (prepared, parts); arguments as for `plan_row_norm`.

    Addresses: grad, x, stats of the forward call, weight if `weighted`, grad_x if `wants_x`, sums if `wants_sums`: float64 (parts,
    2, n), of which `plan_merge_sums` makes the gradients of weight and bias.

    Args:
        rows, n, centred: as the forward call's.
    """
    signature = ("element*", "element*", "compute*", "element*", "element*", "float64*", "int64*")
    kernel = typed(norm_grad_rows, dtype, signature, CENTRED=centred)
    parts, size = shares(rows, 2 * rows * n, GRAIN, multiple=min(BLOCK_ROWS, max(1, rows // 8))), itemsize(dtype)
    descriptors = [(stop - start, n, int(weighted), int(wants_x), int(wants_sums)) for start, stop in parts]
    offsets = [(start * n * size, start * n * size, 2 * start * wide(dtype), 0, start * n * size * wants_x, part * 16 * n)
               for part, (start, _) in enumerate(parts)]
    return prepare_parts(kernel, descriptors, rows * n, offsets), len(parts)


def plan_merge_sums(dtype: str, parts: int, n: int, wants_weight: bool, wants_bias: bool):
    """The gradients of weight and bias, of `n` each, from the sums of each of so many parts.

    Addresses: sums (parts, 2, n), grad_weight if `wants_weight`, grad_bias if `wants_bias`.
    """
    kernel = typed(merge_sums, dtype, ("float64*", "element*", "element*", "int64*"))
    return prepare_parts(kernel, [(parts, n, int(wants_weight), int(wants_bias))], n)
