"""How the three Fourier transforms are computed: on the host by NumPy's pocketfft, or by a device's kernels (the family
`signal.fft`, on CUDA by cuFFT).

Either is planned for a layout, dimensions and a norm, and has `run(x)`: a new contiguous tensor. A device transforms up to three
dimensions at a time, where the memory has them at even strides; else elements are brought into such an order and back.
"""
from __future__ import annotations

from math import prod, sqrt

import numpy as np

from ...dtypes import complex128, float64
from ...exchange.arrays import host_array
from ...layout import Layout, contiguous_format
from ...tensor import empty
from ..core.backends import has_kernels, kernels
from ..core.status import has_values
from ..linalg import lapack
from ..memory.copies import clone, contiguous, to_device, to_dtype
from ..pointwise.complexparts import view_as_real
from ..shape.views import permute


def plan(layout, dims, norm, inverse, out):
    """How a transform is computed.

    Args:
        layout: the operand's.
        dims: the dimensions; of real numbers and of half spectra, the last of them is the one that is halved.
        norm: "backward", "ortho" or "forward".
        inverse: which way.
        out: the result's layout, contiguous.
    """
    on_device = has_kernels(layout.device, "signal.fft")
    return (OnDevice if on_device else OnHost)(layout, dims, norm, inverse, out)


# ---------------------------------------------------------------- the host
# Rows from which double precision is faster. NumPy gives its ufunc a scale in double precision, so that single precision goes
# through its casting row by row, with a plan made for each: five times as long for 512 rows of 300. Converting few costs more.
ROWS = 8


class OnHost:
    """A transform by NumPy.

    Attributes:
        out: the result's layout.
        precise: the dtype that the input is converted to first, and `computed` the layout of what comes of that.
    """

    __slots__ = ("out", "precise", "computed", "dims", "norm", "inverse")

    def __init__(self, layout, dims, norm, inverse, out):
        self.out, self.dims, self.norm, self.inverse = out, dims, norm, inverse
        double = complex128 if layout.dtype.is_complex else float64
        self.precise = double if layout.numel >= ROWS * layout.shape[dims[-1]] else layout.dtype
        where = lapack.computed_on(layout.device)
        self.computed = out if self.precise is layout.dtype and where is layout.device else Layout.of(
            out.dtype if self.precise is layout.dtype else complex128 if out.dtype.is_complex else float64, out.shape, None, where)

    def run(self, x):
        """The result; without elements it is laid out alone."""
        if not has_values(x):
            return empty(self.out)
        out, source = empty(self.computed), x if x.layout.dtype is self.precise else to_dtype(x.detach(), self.precise)
        self._compute(lapack.array(lapack.on_host("a Fourier transform", source)), host_array(out))
        return to_device(to_dtype(out, self.out.dtype), self.out.device)

    def _compute(self, source, result):
        """Fill one array from another."""
        dims, norm = self.dims, self.norm
        function = np.fft.ifft if self.inverse else np.fft.fft
        if not self.out.dtype.is_complex:
            if len(dims) > 1:
                source = function(source, None, dims[0], norm)
                _along(function, source, dims[1:-1], norm)
            np.fft.irfft(source, self.out.shape[dims[-1]], dims[-1], norm, result)
            return
        if self.precise.is_complex:
            function(source, None, dims[-1], norm, result)
        else:
            np.fft.rfft(source, None, dims[-1], norm, result)
        _along(function, result, dims[-2::-1], norm)


def _along(function, array, dims, norm):
    """Complex numbers transformed in place, dimension by dimension."""
    for d in dims:
        function(array, None, d, norm, array)


# ---------------------------------------------------------------- devices
class OnDevice:
    """A transform by a device's kernels, in steps of up to three dimensions, and then divided.

    Attributes:
        out: the result's layout. scale: what the result is multiplied by.
    """

    __slots__ = ("out", "scale", "steps")

    def __init__(self, layout, dims, norm, inverse, out):
        self.out = out
        points = prod((layout if out.dtype.is_complex else out).shape[d] for d in dims)
        divided = norm == "ortho" or norm == ("backward" if inverse else "forward")
        self.scale = 1.0 if not divided else 1 / sqrt(points) if norm == "ortho" else 1 / points
        most = kernels(layout.device, "signal.fft").DIMS
        if not out.dtype.is_complex:
            groups = [*_groups(dims[:-1], most), dims[-1:]]
        elif not layout.dtype.is_complex:
            groups = [dims[-most:], *_groups(dims[:-most], most)]
        else:
            groups = _groups(dims, most)
        self.steps, source = [], layout
        for place, group in enumerate(groups):
            last = place == len(groups) - 1 and not out.dtype.is_complex
            target = out if last or out.dtype.is_complex else Layout.of(layout.dtype, layout.shape, None, layout.device)
            self.steps.append(_Step(source, target, group, inverse, place > 0))
            source = target

    def run(self, x):
        """The result; without elements it is laid out alone."""
        if not has_values(x) or not self.out.numel:
            return empty(self.out)
        x = x.detach()
        for step in self.steps:
            x = step.run(x)
        return x if self.scale == 1 else x.mul_(self.scale)


def _groups(dims, most):
    return [dims[i:i + most] for i in range(0, len(dims), most)]


class _Step:
    """One call of the device's transform.

    Attributes:
        order: the order that dimensions are brought into first, and back afterwards; None where they stay.
        copied: whether the operand is copied first.
        result: the layout that the transform writes.
        halved: of a transform to real numbers, where the halved dimension lies then, and its points.
        again: makes the step for another layout of the operand.
    """

    __slots__ = ("order", "back", "copied", "result", "halved", "prepared", "again")

    def __init__(self, source, target, dims, inverse, ours):
        self.again = lambda layout: _Step(layout, target, dims, inverse, False)
        family, to_real = kernels(source.device, "signal.fft"), not target.dtype.is_complex
        points = source if not source.dtype.is_complex else target
        if source.dtype.is_complex and target.dtype.is_complex:
            dims = tuple(sorted(dims))                   # in whichever order
        self.order, self.back, self.result = None, None, target
        self.copied = to_real and not ours               # the device may write over such an operand
        found = None if self.copied else _evenly(family, source.shape, target.shape, source.strides, target.strides, dims)
        if found is None:
            self.copied = True
            found = _evenly(family, source.shape, target.shape, Layout.of(source.dtype, source.shape, None, source.device).strides,
                            target.strides, dims)
        if found is None:
            self.order = (*(d for d in range(source.ndim) if d not in dims), *dims)
            self.back = tuple(map(self.order.index, range(source.ndim)))
            lies, comes = (Layout.of(each.dtype, tuple(each.shape[d] for d in self.order), None, each.device)
                           for each in (source, target))
            points, self.result = lies if points is source else comes, comes
            dims = tuple(range(source.ndim - len(dims), source.ndim))
            found = _evenly(family, lies.shape, comes.shape, lies.strides, comes.strides, dims)
        self.halved = (dims[-1], points.shape[dims[-1]]) if to_real else None
        count, of_source, of_target = found
        self.prepared = family.plan_transform(source.dtype.kernel, target.dtype.kernel, tuple(points.shape[d] for d in dims), count,
                                              of_source, of_target, inverse)

    def run(self, x):
        if self.order is not None:
            x = permute(x, self.order)
        if self.copied:
            x = clone(x, memory_format=contiguous_format)
        elif x.address % (2 * x.layout.dtype.to_real().itemsize):        # where no complex number may lie, as cuFFT wants it
            x = clone(x, memory_format=contiguous_format)
            return self.again(x.layout).run(x)
        if self.halved is not None:
            _make_real(x, *self.halved)
        out = empty(self.result)
        self.prepared.call(x.address, out.address, self.prepared.descriptor)
        return out if self.back is None else contiguous(permute(out, self.back))


def _evenly(family, shape, to_shape, strides, to_strides, dims):
    """(batches, strides of source and of target: of batches and of each dimension) as a device takes them, or None."""
    inner, to_inner = tuple(strides[d] for d in dims), tuple(to_strides[d] for d in dims)
    if not (family.fits(tuple(shape[d] for d in dims), inner) and family.fits(tuple(to_shape[d] for d in dims), to_inner)):
        return None
    count, step, to_step = 1, inner[0] * shape[dims[0]], to_inner[0] * to_shape[dims[0]]
    for d in sorted((d for d in range(len(shape)) if d not in dims and shape[d] > 1), key=lambda d: to_strides[d]):
        if count == 1:
            step, to_step = strides[d], to_strides[d]
        elif strides[d] != step * count or to_strides[d] != to_step * count:
            return None
        count *= shape[d]
    return (count, (step, *inner), (to_step, *to_inner)) if step > 0 else None


def _make_real(spectrum, dim, points):
    """Set the imaginary parts to 0 that a spectrum of real numbers has not, and that a device might not overlook."""
    parts = view_as_real(spectrum).select(-1, 1)
    parts.select(dim, 0).zero_()
    if points % 2 == 0:
        parts.select(dim, points // 2).zero_()
