"""Sampling of images at positions that are themselves data (Jaderberg et al. 2015): `grid_sample`, and grids of affine maps.

Made of gathers and elementwise ops, which record themselves: gradients of any order for image and grid.
"""
from __future__ import annotations

import itertools

from ..dtypes import int64
from ..tensor import Tensor
from .arithmetic import mul, remainder, sub
from .contract import matmul
from .copy import to_dtype
from .creation import arange, ones
from .elementary import floor
from .elementary import round_to_even as nearest_integer
from .join import cat
from .operators import clamp, where
from .view import expand, reshape, transpose, unsqueeze


def _unnormalised(x, extent, align_corners):
    """Positions in [-1, 1] as positions among pixels."""
    return (x + 1) * ((extent - 1) / 2) if align_corners else ((x + 1) * extent - 1) / 2


def _reflected(x, low, high):
    """Positions folded back at the edges, which lie at half of `low` and of `high`."""
    span = (high - low) / 2
    if span == 0:
        return mul(x, 0)
    distance = (x - low / 2).abs()
    extra = remainder(distance, span)
    flips = floor(distance.detach() / span)
    return where(remainder(flips, 2).eq(0), extra + low / 2, span - extra + low / 2)


def _padded(x, extent, padding_mode, align_corners):
    if padding_mode == "border":
        return clamp(x, 0, extent - 1)
    if padding_mode == "reflection":
        x = _reflected(x, 0, 2 * (extent - 1)) if align_corners else _reflected(x, -1, 2 * extent - 1)
        return clamp(x, 0, extent - 1)
    return x


def _cubic_weights(t):
    """Keys's cubic convolution with a = -0.75, for the four pixels around."""
    a = -0.75
    near = lambda x: ((a + 2) * x - (a + 3)) * x * x + 1
    far = lambda x: ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _taps(x, extent, mode, padding_mode, align_corners):
    """(index, weight) of each pixel that a position along one axis needs; indices are whole numbers as floats."""
    x = _unnormalised(x, extent, align_corners)
    if mode == "bicubic":
        low = floor(x).detach()
        return [(_padded(low + (i - 1), extent, padding_mode, align_corners), weight)
                for i, weight in enumerate(_cubic_weights(sub(x, low)))]
    x = _padded(x, extent, padding_mode, align_corners)
    if mode == "nearest":
        return [(nearest_integer(x).detach(), None)]
    low = floor(x).detach()
    return [(low, low + 1 - x), (low + 1, sub(x, low))]


def grid_sample(input, grid, mode: str = "bilinear", padding_mode: str = "zeros", align_corners=None) -> Tensor:
    """Pixels of (N, C, H, W) at the positions of (N, OH, OW, 2), or of (N, C, D, H, W) at (N, OD, OH, OW, 3).

    Args:
        grid: (x, y) or (x, y, z), -1 and 1 at the image's edges.
        mode: `"bilinear"` (in three dimensions trilinear), `"nearest"` or, in two dimensions, `"bicubic"`.
        padding_mode: what lies outside: `"zeros"`, the `"border"` or the image's `"reflection"`.
        align_corners: -1 and 1 are the centres of the corner pixels and not their outer edges.

    Raises:
        ValueError: an unknown mode. RuntimeError: shapes that do not go together.
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
                         f"'{padding_mode}'")
    shape, points = input.layout.shape, grid.layout.shape
    dims = len(shape) - 2
    if dims not in (2, 3) or len(points) != len(shape) or points[-1] != dims or points[0] != shape[0]:
        raise RuntimeError(f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions and batch size and a "
                           f"grid of {dims} coordinates, but got input with sizes {list(shape)} and grid with sizes {list(points)}")
    if mode == "bicubic" and dims == 3:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if min(shape[2:]) < 1:
        raise RuntimeError(f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
                           f"sizes {list(shape)}")
    batch, channels, *extents = shape
    axes = [_taps(grid[..., dims - 1 - d], extents[d], mode, padding_mode, bool(align_corners)) for d in range(dims)]
    image = reshape(input, batch, channels, -1)
    total = None
    for corner in itertools.product(*axes):
        place, inside, weight = None, None, None
        for (index, factor), extent in zip(corner, extents):
            held = clamp(index, 0, extent - 1)
            within = held.eq(index)                      # beyond the edge are zeros; a NaN is nowhere
            place = held if place is None else place * extent + held
            inside = within if inside is None else inside.logical_and(within)
            weight = factor if weight is None else mul(weight, factor)
        place = to_dtype(where(inside, place, 0.0), int64)
        value = image.gather(2, expand(reshape(place, batch, 1, -1), batch, channels, -1))
        factor = to_dtype(inside, input.layout.dtype) if weight is None else where(inside, weight, 0.0)
        value = mul(value, reshape(factor, batch, 1, -1))
        total = value if total is None else total + value
    return reshape(total, batch, channels, *points[1:-1])


def _centres(extent, like, align_corners):
    """Where the pixels of an axis lie between -1 and 1."""
    steps = arange(extent, dtype=like.layout.dtype, device=like.layout.device)
    if align_corners:
        return steps * (2 / (extent - 1)) - 1 if extent > 1 else steps
    return (steps * 2 + 1) / extent - 1


def affine_grid(theta, size, align_corners=None) -> Tensor:
    """The positions that affine maps send the pixels of an image to, for `grid_sample`.

    Args:
        theta: (N, 2, 3) for images (N, C, H, W), (N, 3, 4) for (N, C, D, H, W).
        size: the image's shape.
    """
    size = tuple(size)
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got "
                                  f"size {list(size)}.")
    if theta.layout.shape != (size[0], dims, dims + 1):
        raise ValueError(f"Expected a batch of {dims}D affine matrices of shape {size[0]}x{dims}x{dims + 1} for size {list(size)}. "
                         f"Got {tuple(theta.layout.shape)}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}")
    extents = size[2:]
    columns = []
    for d in reversed(range(dims)):
        line = _centres(extents[d], theta, bool(align_corners))
        columns.append(reshape(expand(reshape(line, *(-1 if i == d else 1 for i in range(dims))), *extents), -1, 1))
    base = cat([*columns, ones(columns[0].layout.shape[0], 1, dtype=theta.layout.dtype, device=theta.layout.device)], 1)
    return reshape(matmul(unsqueeze(base, 0), transpose(theta, 1, 2)), size[0], *extents, dims)
