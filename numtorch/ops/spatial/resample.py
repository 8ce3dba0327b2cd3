"""Interpolation, and averages over regions: maps that are linear along each of the last dimensions.

One op serves all of them. It is told the three maps as rows of weights; its gradient is the op with the transposed maps.
"""
from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from ...dtypes import float32, float64, uint8
from ...layout import Layout, format_of, formatted, ints
from ...storage import Storage
from ...tensor import Tensor, constants, empty
from ..core.arguments import truth
from ..core.backends import kernels
from ..core.operands import layout_of
from ..core.primitive import Primitive
from ..memory.assign import filled
from ..memory.conversion import to_dtype
from ..memory.copies import clone, contiguous
from ..pointwise.arithmetic import add, mul
from ..pointwise.functions import clamp
from ..pointwise.rounding import floor
from ..shape.views import transpose

RESAMPLE = Primitive("resample", samples="T[1, 2, 5]; maps_of('regions', ((5, 2),))")

FEW_CHANNELS = 16                                        # that are last, below which they are no rows worth a loop


@dataclass(eq=False)
class Maps:
    """The maps along each of the last dimensions, by what they are made of: a kind, and (inputs, outputs, ...) for each."""

    kind: str
    axes: tuple
    transposed: bool

    def __post_init__(self):
        self.inputs, self.outputs = tuple(a[0] for a in self.axes), tuple(a[1] for a in self.axes)
        if self.transposed:
            self.inputs, self.outputs = self.outputs, self.inputs

    def adjoint(self):
        return maps_of(self.kind, self.axes, not self.transposed)

    def rows(self):
        """For each axis and each output along it, a list of (input, weight) pairs."""
        made = [_KINDS[self.kind](*axis) for axis in self.axes]
        return [_transposed(rows, axis[0]) for rows, axis in zip(made, self.axes)] if self.transposed else made


def _transposed(rows, inputs):
    columns = [[] for _ in range(inputs)]
    for i, row in enumerate(rows):
        for j, weight in row:
            columns[j].append((i, weight))
    return columns


@functools.lru_cache(1024)
def maps_of(kind, axes, transposed=False):
    return Maps(kind, tuple(axes), transposed)


@RESAMPLE.planned
class _Plan:
    """The kernel of some maps, or None for no elements.

    Attributes:
        tables: the maps' indices and weights, as memory: a captured call wants to know whose it is given.
        format: the memory format in which the kernel takes the data, and leaves the result.
    """

    __slots__ = ("out", "call", "tables", "workspace", "descriptor", "kept", "format")

    def __init__(self, layout, maps):
        dims, made, sizes = len(maps.inputs), maps.rows(), maps.inputs
        lead = layout.shape[:-dims]
        self.out = Layout.of(layout.dtype, (*lead, *maps.outputs), None, layout.device)
        self.call, self.format = None, "contiguous_format"
        if dims == 2 and format_of(layout) is not None:
            self.format = format_of(layout)
            self.out = formatted(self.out, self.format)
            lead, channels = lead[:1], lead[1]
            if channels < FEW_CHANNELS:                  # columns and channels are one axis
                made[1] = [[(at * channels + c, weight) for at, weight in row] for row in made[1] for c in range(channels)]
                sizes = (sizes[0], sizes[1] * channels)
            else:
                made, sizes = [*made, None], (*sizes, channels)
        if self.out.numel and layout.numel:
            rows = [[[(0, 1.0)]]] * (3 - len(sizes)) + made
            kept = self.kept = kernels(layout.device, "pool.resample").plan_resample(
                layout.dtype.kernel, math.prod(lead), (1,) * (3 - len(sizes)) + sizes, rows)
            self.call, self.descriptor = kept.prepared.call, kept.prepared.descriptor
            self.tables = [Storage(table.ctypes.data, table.nbytes, table) for table in (kept.indices, kept.weights)]
            constants.update(self.tables)
            self.workspace = Layout.of(uint8, (kept.prepared.workspace,), None, layout.device)


@RESAMPLE.run
def apply(plan, x: Tensor, maps):
    """The maps applied to the last dimensions of x."""
    source = x if x.layout.contiguous and plan.format == "contiguous_format" else contiguous(x.detach(), plan.format)
    if plan.call is None:
        out = filled(plan.out, 0)
    else:
        out, room = empty(plan.out), empty(plan.workspace)
        indices, weights = plan.tables
        plan.call(source.address, out.address, indices.address, weights.address, room.address, plan.descriptor)
    return RESAMPLE.recorded(out, (x,), (), maps)


@RESAMPLE.derivative
def _vjp(node, grad):
    return (apply(grad, node.attributes.adjoint()),)


# ---------------------------------------------------------------- averages
def _regions(inputs, outputs):
    """Output i averages the inputs from floor(i n / outputs) up to ceil((i + 1) n / outputs)."""
    rows = []
    for i in range(outputs):
        region = range(i * inputs // outputs, -(-(i + 1) * inputs // outputs))
        rows.append([(j, 1.0 / len(region)) for j in region])
    return rows


def _windows(inputs, outputs, kernel, stride, padding, include_padding, divide):
    """Output i averages a window, or sums it where the division is done elsewhere."""
    rows = []
    for i in range(outputs):
        start = i * stride - padding
        stop = min(start + kernel, inputs + padding)
        inside = range(max(start, 0), min(stop, inputs))
        count = stop - start if include_padding else len(inside)
        rows.append([(j, 1.0 / count if divide else 1.0) for j in inside])
    return rows


def region_maps(inputs, outputs):
    """Means over as many equal regions of the last dimensions as `outputs` says; they overlap where extents do not divide."""
    return maps_of("regions", tuple(zip(inputs, outputs)))


def window_maps(inputs, outputs, kernel, stride, padding, include_padding, divide):
    """Means over windows of the last dimensions, or their sums."""
    return maps_of("windows", tuple((*axis, include_padding, divide) for axis in zip(inputs, outputs, kernel, stride, padding)))


# ---------------------------------------------------------------- interpolation
def _positions(inputs, outputs, align_corners, scale):
    """Where outputs lie among inputs: corners on corners, or halves of pixels on halves."""
    if align_corners:
        step = (inputs - 1) / (outputs - 1) if outputs > 1 else 0.0
        return [i * step for i in range(outputs)]
    return [(i + 0.5) * scale - 0.5 for i in range(outputs)]


def _nearest(inputs, outputs, scale, exact):
    """`exact` takes the input whose centre is nearest; the other is PyTorch's old rule, floor(i * scale)."""
    scale, half = np.float32(scale), np.float32(0.5 if exact else 0.0)
    at = [(np.float32(i) + half) * scale for i in range(outputs)]    # as PyTorch: in float32, and floor shows the difference
    return [[(min(math.floor(x), inputs - 1), 1.0)] for x in at]


def _linear(inputs, outputs, scale, align_corners):
    rows = []
    for position in _positions(inputs, outputs, align_corners, scale):
        low = min(math.floor(max(position, 0.0)), inputs - 1)
        fraction = min(max(position - low, 0.0), 1.0)
        rows.append([(low, 1.0 - fraction), (min(low + 1, inputs - 1), fraction)])
    return rows


def _cubic(inputs, outputs, scale, align_corners):
    """Keys's cubic convolution with a = -0.75; inputs beyond an edge are the edge."""
    a = -0.75

    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    rows = []
    for position in _positions(inputs, outputs, align_corners, scale):
        low = math.floor(position)
        t = position - low
        weights = far(t + 1), near(t), near(1 - t), far(2 - t)
        rows.append([(min(max(low + i, 0), inputs - 1), w) for i, w in zip(range(-1, 3), weights)])
    return rows


def _triangle(x):
    return max(0.0, 1.0 - abs(x))


def _keys(x):
    """Keys's cubic with a = -0.5, as Pillow has it."""
    x = abs(x)
    return (1.5 * x - 2.5) * x * x + 1 if x < 1 else ((-0.5 * x + 2.5) * x - 4) * x + 2 if x < 2 else 0.0


_FILTERS = {"bilinear": (1.0, _triangle), "bicubic": (2.0, _keys)}           # how far each reaches, in outputs


def _smooth(inputs, outputs, scale, name):
    """A filter about each output that is as wide as what the output stands for: nothing between outputs is lost."""
    reach, weigh = _FILTERS[name]
    wide = max(scale, 1.0)
    rows = []
    for i in range(outputs):
        centre = scale * (i + 0.5)
        first, stop = max(int(centre - reach * wide + 0.5), 0), min(int(centre + reach * wide + 0.5), inputs)
        weights = [weigh((j - centre + 0.5) / wide) for j in range(first, stop)]
        total = sum(weights) or 1.0
        rows.append([(j, w / total) for j, w in enumerate(weights, first)] or [(inputs - 1, 0.0)])       # nothing lies beyond
    return rows


def _as_given(inputs, outputs, rows):
    return [list(row) for row in rows]


_KINDS = {"rows": _as_given, "regions": _regions, "windows": _windows, "nearest": _nearest, "linear": _linear, "cubic": _cubic,
          "smooth": _smooth}
_BYTES = ("nearest", "nearest-exact", "bilinear", "bicubic")             # the modes of images of uint8
_MODES = {"nearest": (1, 2, 3), "nearest-exact": (1, 2, 3), "area": (1, 2, 3), "linear": (1,), "bilinear": (2,), "bicubic": (2,),
          "trilinear": (3,)}


def _output_sizes(input, size, scale_factor, recompute, dims):
    """The output's extents, and for each the scale that positions use: what was given, or input / output."""
    extents = input.layout.shape[2:]
    if (size is None) == (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined" if size is not None else
                         "either size or scale_factor should be defined")
    given = size if size is not None else scale_factor
    if not isinstance(given, (list, tuple)):
        given = (given,) * dims
    if len(given) != dims:
        what = "output" if size is not None else "scale_factor"
        raise ValueError(f"Input and {what} must have the same number of spatial dimensions, but got input with spatial dimensions "
                         f"of {list(extents)} and {what} of {list(given)}.")
    if size is not None:
        return ints(given, "interpolate: size"), None
    if not all(math.isfinite(s) for s in given):
        raise RuntimeError(f"interpolate: expected finite scale factors, got {list(given)}")
    sizes = tuple(math.floor(float(n) * s) for n, s in zip(extents, given))
    return sizes, None if recompute else tuple(given)


def _scale(mode, dims, inputs, outputs, factor):
    """How far apart outputs lie among inputs. As in PyTorch, a factor that changes no extent changes nothing in linear and smooth
    modes, nor in `"nearest"` mode of images, where one that doubles an extent repeats each input."""
    if (mode in ("linear", "bilinear", "trilinear", "smooth bilinear", "smooth bicubic") and inputs == outputs) or (
            mode == "nearest" and dims == 2 and outputs in (inputs, 2 * inputs)):
        return inputs / outputs
    return inputs / outputs if factor is None else 1.0 / factor


@functools.lru_cache(1024)
def _interpolation(mode, extents, sizes, factors, align_corners):
    dims = len(extents)
    scales = [_scale(mode, dims, *axis) for axis in zip(extents, sizes, factors or (None,) * dims)]
    kind, extra = {"nearest": ("nearest", False), "nearest-exact": ("nearest", True), "bicubic": ("cubic", align_corners),
                   "smooth bilinear": ("smooth", "bilinear"), "smooth bicubic": ("smooth", "bicubic")}.get(
        mode, ("linear", align_corners))
    if kind == "smooth" and align_corners:
        scales = [(n - 1) / (o - 1) if o > 1 else 0.0 for n, o in zip(extents, sizes)]
    return maps_of(kind, tuple((n, o, s, extra) for n, o, s in zip(extents, sizes, scales)))


def interpolated(input, mode, sizes, factors, aligned) -> Tensor:
    """Images of the extents `sizes`, at positions by `factors`, or by the extents where a factor is None."""
    if min(sizes) < (mode != "area") or min(input.layout.shape[2 if mode == "area" else 1:]) <= 0:
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input (spatial "
                           f"{list(input.layout.shape[2:])}) output ({list(sizes)})")
    if mode == "area":
        return apply(input, region_maps(input.layout.shape[2:], sizes))
    maps = _interpolation(mode, input.layout.shape[2:], sizes, factors, aligned)
    return _interpolated_bytes(input, maps) if input.layout.dtype is uint8 else apply(input, maps)


# ---------------------------------------------------------------- images of bytes
def _fixed_point(row_weights):
    """Weights as integers of 15 bits, and the power of two that they are over: the largest that the heaviest allows."""
    heaviest = max((weight for row in row_weights for weight in row.values()), default=1.0)
    bits = 0
    while bits < 22 and int(0.5 + heaviest * (1 << bits + 1)) < 1 << 15:
        bits += 1
    unit = 1 << bits
    rows = [tuple([(at, float(int(w * unit + (0.5 if w >= 0 else -0.5)))) for at, w in row.items()]) for row in row_weights]
    return tuple(rows), unit


@functools.lru_cache(1024)
def _byte_maps(maps):
    """For each axis the map of integer weights and what they are over; None for one that keeps its extent."""
    made = []
    for inputs, outputs, rows in zip(maps.inputs, maps.outputs, maps.rows()):
        row_weights: list = [{} for _ in rows]
        for weights, row in zip(row_weights, rows):
            for at, weight in row:                       # an edge comes several times
                weights[at] = weights.get(at, 0.0) + weight
        fixed, unit = _fixed_point(row_weights)
        made.append((maps_of("rows", ((inputs, outputs, fixed),)), unit) if inputs != outputs else None)
    return made


def _interpolated_bytes(input, maps):
    """uint8 under the maps of an interpolation, as PyTorch and Pillow do it: in fixed point, one axis after the other, and rounded
    to bytes after each."""
    if maps.kind == "nearest":
        return to_dtype(apply(to_dtype(input, float32), maps), uint8)
    high, wide = _byte_maps(maps)
    x = to_dtype(input, float64)                         # holds the sums of integers exactly
    for axis, map_and_unit in ((3, wide), (2, high)):
        if map_and_unit is not None:
            axis_map, unit = map_and_unit
            sums = apply(transpose(x, axis, 3), axis_map)
            x = transpose(clamp(floor(add(mul(sums, 1 / unit), 0.5)), 0, 255), axis, 3)
    return clone(to_dtype(x, uint8), memory_format=format_of(input.layout) or "contiguous_format")


def interpolate(input, size=None, scale_factor=None, mode: str = "nearest", align_corners=None, recompute_scale_factor=None,
                antialias: bool = False) -> Tensor:
    """Images made larger or smaller.

    Args:
        input: (N, C, L), (N, C, H, W) or (N, C, D, H, W), of floating point; uint8 in nearest, bilinear and bicubic modes, which
            is rounded after each axis.
        size: the new extents, or one for all; or
        scale_factor: what to multiply the extents with, one number or one for each.
        mode: `"nearest"`, `"nearest-exact"`, `"linear"` (3-D input), `"bilinear"`, `"bicubic"` (4-D), `"trilinear"` (5-D) or
            `"area"` (means).
        align_corners: whether the centres of the corner pixels stay where they are; else the outer edges do.
        recompute_scale_factor: compute positions from the extents, and not from `scale_factor`.
        antialias: whether what is made smaller is smoothed first, as Pillow does it; of bilinear and bicubic mode.

    Returns:
        (N, C, *) with the new extents, floor(extent * scale_factor) where none were given.

    Raises:
        ValueError: options that do not go together.
        NotImplementedError: a mode that the input's dimensions do not have, or another dtype.
        RuntimeError: an extent of 0.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.interpolate(torch.tensor([[[1., 2.]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    if mode not in _MODES:
        raise NotImplementedError(f"interpolate: unknown mode {mode!r}, expected one of {sorted(_MODES)}")
    if mode in ("nearest", "nearest-exact", "area"):
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
                             "trilinear")
    dims = layout_of("interpolate", input).ndim - 2
    if antialias and (mode not in _FILTERS or dims != 2):
        raise ValueError("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input")
    if dims not in _MODES[mode]:
        raise NotImplementedError(f"Got {input.layout.ndim}D input, but {mode} mode needs "
                                  f"{' or '.join(f'{d + 2}D' for d in _MODES[mode])} input")
    if not input.layout.dtype.is_floating_point and (input.layout.dtype is not uint8 or mode not in _BYTES):
        raise NotImplementedError(f"interpolate: expected a floating-point dtype, or uint8 in one of the modes "
                                  f"{', '.join(_BYTES)}, got {input.layout.dtype} in mode {mode!r}")
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    sizes, factors = _output_sizes(input, size, scale_factor, recompute_scale_factor, dims)
    aligned = align_corners is not None and truth("interpolate", "align_corners", align_corners)
    return interpolated(input, "smooth " + mode if antialias else mode, sizes, factors, aligned)
