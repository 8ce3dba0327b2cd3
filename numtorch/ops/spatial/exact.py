"""Convolution of integers and of complex numbers, and pooling of integers: made of other ops, since the kernels are of floats.

Integers are exact, and wrap around as their products do: windows are views, multiplied as matrices or reduced.
"""
from __future__ import annotations

from math import prod

from ...dtypes import bool_, int64, integer_limits, uint16, uint32, uint64
from ...tensor import Tensor
from ..core.late import provide
from ..creation.fill import zeros
from ..creation.ranges import arange
from ..index.rearrange import flip
from ..linalg.matmul import matmul
from ..pointwise.bounds import clamp_min
from ..pointwise.comparison import logical_or
from ..pointwise.complexparts import complex, imag, real
from ..pointwise.functions import div, where
from ..reduce.extremes import max as maximum
from ..reduce.reductions import sum
from ..shape.pad import pad
from ..shape.slicing import as_strided
from ..shape.views import expand, reshape, squeeze, transpose
from .average_pool import AVG_POOL
from .max_pool import MAX_POOL
from .windows import batched, windows


def of_complex(convolve, x, weight, bias) -> Tensor:
    """A convolution of complex numbers, by four of their parts: `convolve(x, weight)` is linear in both."""
    (xr, xi), (wr, wi) = [(real(t), imag(t)) for t in (x, weight)]
    made = complex(convolve(xr, wr) - convolve(xi, wi), convolve(xr, wi) + convolve(xi, wr))
    return made if bias is None else made + reshape(bias, -1, *(1,) * (x.layout.ndim - 2))


def _windows(x, kernel, stride, dilation):
    """A view of (N, C, *S) with each window's elements: (N, C, *places, *kernel)."""
    sizes, steps = x.layout.shape[2:], x.layout.strides
    places = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(sizes, kernel, stride, dilation)]
    apart = [t * s for t, s in zip(steps[2:], stride)] + [t * d for t, d in zip(steps[2:], dilation)]
    return as_strided(x, (*x.layout.shape[:2], *places, *kernel), (*steps[:2], *apart)), places


def convolve_integers(x, weight, bias, window) -> Tensor:
    """(N, C, *S) with (C_out, C / groups, *K): products of matrices of windows."""
    stride, padding, dilation, groups = window
    features, _, *kernel = weight.layout.shape
    padded = pad(x, [p for n in reversed(padding) for p in (n, n)])
    views, places = _windows(padded, kernel, stride, dilation)
    batch, dims = x.layout.shape[0], len(kernel)
    columns = views.permute(0, 1, *range(2 + dims, 2 + 2 * dims), *range(2, 2 + dims))
    columns = reshape(columns, batch, groups, weight.layout.shape[1] * prod(kernel), prod(places))
    made = reshape(matmul(reshape(weight, groups, features // groups, -1), columns), batch, features, *places)
    return made if bias is None else made + reshape(bias, -1, *(1,) * dims)


def transpose_integers(x, weight, bias, window, sizes) -> Tensor:
    """The transpose of `convolve_integers` with results of these sizes: zeros between the elements, and the kernels reversed."""
    stride, padding, dilation, groups = window
    batch, channels, *extents = x.layout.shape
    _, features, *kernel = weight.layout.shape
    dims = len(kernel)
    spread = [(n - 1) * s + 1 for n, s in zip(extents, stride)]
    between = zeros(batch, channels, *spread, dtype=x.layout.dtype, device=x.layout.device)
    apart = (Ellipsis, *[slice(None, None, s) for s in stride])
    between[apart] = x
    before = [d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding)]
    behind = [n - m - b + d * (k - 1) for n, m, b, d, k in zip(sizes, between.layout.shape[2:], before, dilation, kernel)]
    padded = pad(between, [n for b, e in zip(reversed(before), reversed(behind)) for n in (b, e)])
    transposed = transpose(reshape(weight, groups, channels // groups, features, *kernel), 1, 2)
    transposed = reshape(flip(transposed, tuple(range(3, 3 + dims))), groups * features, channels // groups, *kernel)
    return convolve_integers(padded, transposed, bias, ((1,) * dims, (0,) * dims, dilation, groups))


def _filled(x, window, counts, value):
    """x with a value in the padding, and with as much more at the ends as the last windows hang over."""
    kernel, stride, padding, dilation = window
    behind = [(c - 1) * s + d * (k - 1) + 1 - n - p
              for c, k, s, p, d, n in zip(counts, kernel, stride, padding, dilation, x.layout.shape[2:])]
    return pad(x, [n for p, b in zip(reversed(padding), reversed(behind)) for n in (p, b)], value=value)


@provide
def average_integers(name, dims, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor) -> Tensor:
    """Means of windows, towards 0; arguments as of `avg_pool2d`."""
    x, unbatched = batched(name, input, dims)
    window, counts = windows(name, x.layout.shape[:2], x.layout.shape[2:], kernel_size, stride, padding, 1, ceil_mode)
    made = _averages(x, window, counts, count_include_pad, divisor)
    return squeeze(made, 0) if unbatched else made


def _averages(x, window, counts, count_include_pad, divisor):
    kernel, stride, padding, dilation = window
    dims = len(kernel)
    inner = tuple(range(2 + dims, 2 + 2 * dims))

    def sums(t):
        return sum(_windows(_filled(t, window, counts, 0), kernel, stride, dilation)[0], inner, dtype=t.layout.dtype)

    if divisor is None:
        ones = zeros(1, 1, *x.layout.shape[2:], dtype=x.layout.dtype, device=x.layout.device) + 1
        if count_include_pad:
            ones = pad(ones, [n for p in reversed(padding) for n in (p, p)], value=1)
            kept = _windows(pad(ones, [n for k in reversed(kernel) for n in (0, k)]), kernel, stride, dilation)[0]
            first = (Ellipsis, *map(slice, counts), *(slice(None),) * dims)
            divisor = sum(kept[first], inner)
        else:
            divisor = sums(ones)
    return div(sums(x), divisor, rounding_mode="trunc")


def maximise_integers(name, dims, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
    """Maxima of windows, with the place in its plane of each where that is asked for; arguments as of `max_pool2d`."""
    x, unbatched = batched(name, input, dims)
    window, counts = windows(name, x.layout.shape[:2], x.layout.shape[2:], kernel_size, stride, padding, dilation, ceil_mode)
    result = _maxima(x, window, counts)
    result = tuple([squeeze(t, 0) for t in result]) if unbatched else result
    return result if return_indices else result[0]


def _maxima(x, window, counts):
    kernel, stride, padding, dilation = window
    sizes, dims = x.layout.shape[2:], len(kernel)
    views, places = _windows(_filled(x, window, counts, integer_limits(x.layout.dtype)[0]), kernel, stride, dilation)
    values, chosen = maximum(reshape(views, *views.layout.shape[:2 + dims], -1), -1)
    device = x.layout.device
    axes, outside = [], zeros(dims * (1,), dtype=bool_, device=device)
    for axis, (c, k, s, p, d, n) in enumerate(zip(places, kernel, stride, padding, dilation, sizes)):
        inner = div(chosen, prod(kernel[axis + 1:]), rounding_mode="floor") % k
        begins = reshape(arange(c, device=device) * s - p, -1, *(1,) * (dims - 1 - axis))
        first = begins + div(clamp_min(-begins, 0) + d - 1, d, rounding_mode="floor") * d
        axes.append((n, first, begins + inner * d))
        outside = logical_or(outside, logical_or(axes[-1][2] < 0, axes[-1][2] >= n))
    # Where padding was chosen, no element is above the least there is: the first one is the maximum.
    result = zeros(dims * (1,), dtype=chosen.layout.dtype, device=device)
    for n, first, place in axes:
        result = result * n + where(outside, first, place)
    return values, expand(result, values.layout.shape)


@provide
def pool_integers(primitive, input, options):
    """What PyTorch makes of windows of integers, None where it refuses: maxima of all dtypes but its newer unsigned ones, and in
    one dimension with their places only; means of int64.

    Args:
        primitive: the pooling of floats.
        options: as of the public function.
    """
    kind = input.layout.dtype
    for dims in (1, 2, 3):
        if primitive is MAX_POOL[dims] and kind not in (uint16, uint32, uint64) and (dims > 1 or options[-1]):
            return maximise_integers(f"max_pool{dims}d", dims, input, *options)
        if primitive is AVG_POOL.get(dims) and kind is int64:
            return average_integers(f"avg_pool{dims}d", dims, input, *options)
    return None
