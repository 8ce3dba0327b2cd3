"""Sampling of images at positions that are themselves data (Jaderberg et al. 2015): `grid_sample`, and grids of affine maps.

Two-dimensional sampling has kernels, forward and for both gradients. Everything else, gradients of gradients too, is made of
gathers and elementwise ops, which record themselves.
"""
from __future__ import annotations

import itertools
import math

from ...autograd.api import grad as gradients
from ...autograd.graph import recording
from ...autograd.modes import modes
from ...dtypes import float32, float64, int64
from ...layout import Layout
from ...tensor import Tensor, empty
from ..core.arguments import check_truths, truth
from ..core.backends import has_kernels, kernels
from ..core.operands import layout_of
from ..core.primitive import Primitive, new_plan_table
from ..creation.fill import ones
from ..creation.ranges import arange
from ..linalg.matmul import matmul
from ..memory.assign import filled, lasting_copy
from ..memory.copies import contiguous, to_dtype
from ..pointwise.arithmetic import mul, remainder, sub
from ..pointwise.functions import clamp, where
from ..pointwise.rounding import floor
from ..pointwise.rounding import round_to_even as nearest_integer
from ..shape.join import cat
from ..shape.views import expand, reshape, transpose, unsqueeze

GRID_SAMPLER = Primitive("grid_sampler", samples="T[1, 2, 4, 4], T([[[[-0.5, 0.2], [0.3, -0.7]]]]); 'bilinear', 'zeros', False")


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
        return [(nearest_integer(x).detach(), where(x.lt(x), x, 1.0) if recording(x) else None)]      # whose gradient is zero
    low = floor(x).detach()
    return [(low, low + 1 - x), (low + 1, sub(x, low))]


@GRID_SAMPLER.planned
class _Plan:
    """The kernels of one pair of layouts, each planned when it is first wanted; `forward` is None where the formula serves."""

    __slots__ = ("key", "device", "arguments", "out", "image", "grid", "forward", "to_image", "to_grid")

    def __init__(self, *key):
        image, grid, mode, padding_mode, align_corners = self.key = key
        self.forward = self.to_image = self.to_grid = None
        if image.ndim != grid.ndim or image.shape[0] != grid.shape[0] or grid.shape[-1] != image.ndim - 2:
            raise RuntimeError(f"grid_sampler(): expected a grid of {image.ndim - 2} coordinates for each image, got input of size "
                               f"{list(image.shape)} and grid of size {list(grid.shape)}")
        if image.ndim != 4 or mode == "bicubic" or image.dtype not in (float32, float64) or grid.dtype is not image.dtype \
                or grid.device is not image.device or not (image.numel and grid.numel) \
                or not has_kernels(image.device, "pool.grid_sample"):
            return
        self.device = image.device
        self.arguments = image.dtype.kernel, image.shape, grid.shape[1] * grid.shape[2]
        self.out = Layout.of(image.dtype, (*image.shape[:2], *grid.shape[1:3]), None, image.device)
        self.image, self.grid = image.dense(image.dtype), grid.dense(grid.dtype)
        self.forward = self.kernel("plan_sample", mode == "nearest", padding_mode, align_corners)

    def kernel(self, planner, *options):
        return getattr(kernels(self.device, "pool.grid_sample"), planner)(*self.arguments, *options)


@GRID_SAMPLER.run
def _sample(plan, input: Tensor, grid: Tensor, mode, padding_mode, align_corners):
    if plan.forward is None:
        return _formula(input, grid, mode, padding_mode, align_corners)
    image = input if input.layout.contiguous else contiguous(input.detach())
    points = grid if grid.layout.contiguous else contiguous(grid.detach())
    out = empty(plan.out)
    plan.forward.call(image.address, points.address, out.address, plan.forward.descriptor)
    return GRID_SAMPLER.recorded(out, (input, grid), (input, grid), plan.key)


@GRID_SAMPLER.derivative
def _sample_vjp(node, grad, input, grid):
    plan = GRID_SAMPLER.plan_at(node.attributes)
    *_, mode, padding_mode, align_corners = plan.key
    if modes.grad and (node.needs(0) or mode != "nearest"):
        wanted = [t for t, edge in zip((input, grid), node.edges) if edge is not None]
        out = _formula(input, grid, mode, padding_mode, align_corners)
        slopes = iter(gradients(out, wanted, grad, create_graph=True, allow_unused=True))
        return tuple([None if edge is None else next(slopes) for edge in node.edges])
    grad, points, to_image, to_grid = contiguous(grad), contiguous(grid), None, None
    if node.needs(0):
        if plan.to_image is None:
            plan.to_image = plan.kernel("plan_sample_image_grad", mode == "nearest", padding_mode, align_corners)
        to_image = empty(plan.image)
        plan.to_image.call(grad.address, points.address, to_image.address, plan.to_image.descriptor)
    if node.needs(1) and mode == "nearest":              # the nearest pixel does not change with the grid
        to_grid = filled(plan.grid, 0)
    elif node.needs(1):
        if plan.to_grid is None:
            plan.to_grid = plan.kernel("plan_sample_grid_grad", padding_mode, align_corners)
        image, to_grid = contiguous(input), empty(plan.grid)
        plan.to_grid.call(grad.address, image.address, points.address, to_grid.address, plan.to_grid.descriptor)
    return to_image, to_grid


def grid_sample(input, grid, mode: str = "bilinear", padding_mode: str = "zeros", align_corners=None) -> Tensor:
    """Pixels of images at any positions (the sampler of Jaderberg et al. 2015).

    Args:
        input: (N, C, H, W) or (N, C, D, H, W), of floating point.
        grid: (N, H_out, W_out, 2) of (x, y), or (N, D_out, H_out, W_out, 3) of (x, y, z); -1 and 1 at the image's edges.
        mode: `"bilinear"` (in three dimensions trilinear), `"nearest"` or, in two dimensions, `"bicubic"`.
        padding_mode: what lies outside: `"zeros"`, the `"border"` or the image's `"reflection"`.
        align_corners: -1 and 1 are the centres of the corner pixels and not their outer edges; None is False.

    Returns:
        (N, C, H_out, W_out) or (N, C, D_out, H_out, W_out).

    Raises:
        ValueError: an unknown mode.
        RuntimeError: shapes that do not go together.

    Example:
        >>> import numtorch as torch
        >>> image, middle = torch.tensor([[[[1., 3.]]]]), torch.zeros(1, 1, 1, 2)
        >>> torch.nn.functional.grid_sample(image, middle)
        tensor([[[[2.]]]])
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
                         f"'{padding_mode}'")
    shape, points = layout_of("grid_sample", input).shape, layout_of("grid_sample", grid, "grid", 2).shape
    dims = len(shape) - 2
    if dims not in (2, 3) or len(points) != len(shape) or points[-1] != dims or points[0] != shape[0]:
        raise RuntimeError(f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions and batch size and a "
                           f"grid of {dims} coordinates, but got input with sizes {list(shape)} and grid with sizes {list(points)}")
    if mode == "bicubic" and dims == 3:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if min(shape[2:]) < 1:
        raise RuntimeError(f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
                           f"sizes {list(shape)}")
    aligned = align_corners is not None and truth("grid_sampler", "align_corners", align_corners)
    return _sample(input, grid, mode, padding_mode, aligned)


def grid_sampler(input, grid, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """`nn.functional.grid_sample` with numbers for modes.

    Args:
        input, grid, align_corners: as there.
        interpolation_mode: 0, 1 or 2 for bilinear, nearest and bicubic.
        padding_mode: 0, 1 or 2 for zeros, border and reflection.

    Example:
        >>> import numtorch as torch
        >>> torch.grid_sampler(torch.tensor([[[[1., 3.]]]]), torch.zeros(1, 1, 1, 2), 0, 0, False)
        tensor([[[[2.]]]])
    """
    check_truths("grid_sampler", align_corners=align_corners)
    return grid_sample(input, grid, ("bilinear", "nearest", "bicubic")[interpolation_mode],
                       ("zeros", "border", "reflection")[padding_mode], align_corners)


def _formula(input, grid, mode, padding_mode, align_corners):
    """The same in ops: in any number of dimensions, differentiable any number of times."""
    points = grid.layout.shape
    batch, channels, *extents = input.layout.shape
    dims, count = len(extents), math.prod(points[1:-1])
    axes = [_taps(grid[..., dims - 1 - d], extents[d], mode, padding_mode, align_corners) for d in range(dims)]
    image = reshape(input, batch, channels, math.prod(extents))
    total = None
    for corner in itertools.product(*axes):
        place, inside, weight = None, None, None
        for (index, factor), extent in zip(corner, extents):
            held = clamp(index, 0, extent - 1)
            within = held.eq(index)                      # beyond the edge are zeros; a NaN is nowhere
            held = to_dtype(where(within, held, 0.0), int64)
            place = held if place is None else place * extent + held
            inside = within if inside is None else inside.logical_and(within)
            weight = factor if weight is None else mul(weight, factor)
        value = image.gather(2, expand(reshape(place, batch, 1, count), batch, channels, -1))
        factor = to_dtype(inside, input.layout.dtype) if weight is None else where(inside, weight, 0.0)
        value = mul(value, reshape(factor, batch, 1, count))
        total = value if total is None else total + value
    return reshape(total, batch, channels, *points[1:-1])


def _centres(extent, like, align_corners):
    """Where the pixels of an axis lie between -1 and 1."""
    steps = arange(extent, dtype=like.layout.dtype, device=like.layout.device)
    if align_corners:
        return steps * (2 / (extent - 1)) - 1 if extent > 1 else steps
    return (steps * 2 + 1) / extent - 1


def affine_grid(theta, size, align_corners=None) -> Tensor:
    """The positions that affine maps send the pixels of images to, for `grid_sample` (Jaderberg et al. 2015).

    Args:
        theta: (N, 2, 3) for images (N, C, H, W), (N, 3, 4) for (N, C, D, H, W).
        size: the images' shape.
        align_corners: as for `grid_sample`.

    Returns:
        (N, H, W, 2) or (N, D, H, W, 3).

    Raises:
        ValueError: a `theta` of another shape, or an extent of 0.
        NotImplementedError: other numbers of dimensions.

    Example:
        >>> import numtorch as torch
        >>> theta = torch.tensor([[[1., 0., 0.], [0., 1., 0.]]])
        >>> torch.nn.functional.affine_grid(theta, (1, 1, 1, 2))
        tensor([[[[-0.5000,  0.0000],
                  [ 0.5000,  0.0000]]]])
    """
    size = tuple(size)
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got "
                                  f"size {list(size)}.")
    if layout_of("affine_grid", theta, "theta").shape != (size[0], dims, dims + 1):
        raise ValueError(f"Expected a batch of {dims}D affine matrices of shape {size[0]}x{dims}x{dims + 1} for size {list(size)}. "
                         f"Got {tuple(theta.layout.shape)}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {list(size)}")
    extents, layout = size[2:], theta.layout
    key = extents, layout.dtype, layout.device, bool(align_corners)
    base = _bases.get(key)
    if base is None:
        base = _base(extents, theta, bool(align_corners))
        if base.layout.numel <= KEPT and not base.memory.inference:
            _bases.keep(key, lasting_copy(base))
    return reshape(matmul(base, transpose(theta, 1, 2)), size[0], *extents, dims)


_bases = new_plan_table()
KEPT = 1 << 12                                           # numbers of a base: it takes four times as long to make as its product


def _base(extents, like, align_corners):
    """The positions of an image's pixels and a 1, as (1, pixels, dimensions + 1)."""
    dims = len(extents)
    columns = []
    for d in reversed(range(dims)):
        line = _centres(extents[d], like, align_corners)
        columns.append(reshape(expand(reshape(line, *(-1 if i == d else 1 for i in range(dims))), *extents), -1, 1))
    return unsqueeze(cat([*columns, ones(columns[0].layout.shape[0], 1, dtype=like.layout.dtype, device=like.layout.device)], 1), 0)
