"""Local response norm over the channels of contiguous (N, C, S) data (Krizhevsky et al. 2012): x / d^beta, where d is k plus
alpha times the mean square over a window of channels.

Window sums are added up afresh for each channel: a running sum would keep what rounding left of channels long past. Backward
scatters each channel's share over its window, 256 positions at a time, so that the written columns stay in the cache.
"""
from __future__ import annotations

from numpy import float32, int64

from ...elementtypes import itemsize
from ...intrinsics import float_of, local_array, offset
from ...vectormath import exp, log
from ..shared.elements import bits, image_shares, prepare_parts, typed

T = float32
BLOCK_COLUMNS = 256
GRAIN = 4_000

# the descriptor: N, C, S (columns here), S in memory, channels of a window before and after its own, alpha / size, beta, k
IMAGES, CHANNELS, COLUMNS, STEP, BEFORE, AFTER, SHARE, BETA, K = range(9)


def response_columns(x, out, divisor, descriptor):
    channels, step, before, after = descriptor[CHANNELS], descriptor[STEP], descriptor[BEFORE], descriptor[AFTER]
    share, beta, k = T(float_of(descriptor[SHARE])), T(float_of(descriptor[BETA])), T(float_of(descriptor[K]))
    total = local_array(T, BLOCK_COLUMNS)
    for image in range(descriptor[IMAGES]):
        for first in range(0, descriptor[COLUMNS], BLOCK_COLUMNS):
            width = min(int64(BLOCK_COLUMNS), descriptor[COLUMNS] - first)
            base = image * channels * step + first
            for c in range(channels):
                for j in range(width):
                    total[j] = T(0)
                for near in range(max(c - before, int64(0)), min(c + after + 1, channels)):
                    a = offset(x, base + near * step)
                    for j in range(width):
                        total[j] += a[j] * a[j]
                d = offset(divisor, base + c * step)
                for j in range(width):
                    total[j] = k + share * total[j]
                    d[j] = total[j]
                a = offset(x, base + c * step)
                result = offset(out, base + c * step)
                for j in range(width):
                    result[j] = a[j] * exp(-beta * log(total[j]))


def response_grad_columns(grad, x, divisor, grad_x, descriptor):
    """grad_x = grad / d^beta - 2 alpha / size beta x sum(grad x / d^(beta + 1)), over the windows that a channel is in."""
    channels, step, before, after = descriptor[CHANNELS], descriptor[STEP], descriptor[BEFORE], descriptor[AFTER]
    share, beta = T(float_of(descriptor[SHARE])), T(float_of(descriptor[BETA]))
    slope = local_array(T, BLOCK_COLUMNS)
    for image in range(descriptor[IMAGES]):
        for first in range(0, descriptor[COLUMNS], BLOCK_COLUMNS):
            width = min(int64(BLOCK_COLUMNS), descriptor[COLUMNS] - first)
            base = image * channels * step + first
            for c in range(channels):
                g = offset(grad, base + c * step)
                d = offset(divisor, base + c * step)
                gx = offset(grad_x, base + c * step)
                for j in range(width):
                    gx[j] = g[j] * exp(-beta * log(d[j]))
            for c in range(channels):
                g = offset(grad, base + c * step)
                a = offset(x, base + c * step)
                d = offset(divisor, base + c * step)
                for j in range(width):
                    slope[j] = T(2) * share * beta * g[j] * a[j] * exp(-beta * log(d[j])) / d[j]
                for near in range(max(c - before, int64(0)), min(c + after + 1, channels)):
                    b = offset(x, base + near * step)
                    gx = offset(grad_x, base + near * step)
                    for j in range(width):
                        gx[j] -= b[j] * slope[j]


def _plan(function, dtype, batch, channels, size, window, alpha, beta, k):
    kernel = typed(function, dtype, ("element*",) * (3 if function is response_columns else 4) + ("int64*",))
    work = batch * channels * size
    parts = image_shares(batch, size, work, GRAIN)
    rows = [(images, channels, columns, size, window // 2, (window - 1) // 2, bits(alpha / window), bits(beta), bits(k))
            for _, images, _, columns in parts]
    starts = [(image * channels * size + column) * itemsize(dtype) for image, _, column, _ in parts]
    return prepare_parts(kernel, rows, work, [(start,) * (len(kernel.signature) - 1) for start in starts], 4_000)


def plan_response_norm(dtype: str, batch: int, channels: int, size: int, window: int, alpha: float, beta: float, k: float):
    """Local response norm of contiguous (batch, channels, size) float32 or float64: x / d^beta with d = k + alpha / window * the
    sum of squares over `window` channels, of which window // 2 are before its own.

    Addresses: x, out, divisor: d, as x.
    """
    return _plan(response_columns, dtype, batch, channels, size, window, alpha, beta, k)


def plan_response_norm_grad(dtype: str, batch: int, channels: int, size: int, window: int, alpha: float, beta: float, k: float):
    """Its gradient; batch, channels, size, window, alpha, beta and k are the forward call's.

    Addresses: grad, x, divisor of the forward call, grad_x.
    """
    return _plan(response_grad_columns, dtype, batch, channels, size, window, alpha, beta, k)
