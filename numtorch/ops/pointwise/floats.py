"""Floating-point numbers as mantissa and exponent, and the number next to another."""
from __future__ import annotations

from collections import namedtuple

import numpy as np

from ...autograd.graph import GraphNode, recording
from ...dtypes import int32
from ...exchange.scalars import number
from ...kernels.binding import ScalarBody
from ...kernels.intrinsics import bits_of, fabs, float_of, select
from ...kernels.threads import NOTHING
from ...kernels.vectormath.elementary import ByPrecision, Int
from ...layout import Layout, broadcast_shapes, broadcast_strides, shared_strides
from ...tensor import Tensor, empty
from ..core.arguments import expect_dtypes, expect_layout
from ..core.backends import kernels
from ..core.late import later
from ..core.operands import layout_of, method, result_dtype
from ..core.primitive import Primitive
from ..memory.assign import filled
from ..memory.copies import to_device, to_dtype
from ..memory.resize import into, into_all_exactly
from .comparison import ne
from .real_functions import ldexp

_FREXP = Primitive("frexp", samples="T[2, 3];")
_NEXTAFTER = Primitive("nextafter", samples="T[2, 3], T[2, 3];")              # of numbers of one dtype

Frexp = namedtuple("frexp", ["mantissa", "exponent"])

# ---------------------------------------------------------------- mantissa and exponent
FRACTION, BIAS = ByPrecision(np.int32(23), np.int64(52)), ByPrecision(np.int32(126), np.int64(1022))
FIELD = ByPrecision(np.int32(0xFF), np.int64(0x7FF))
REST = ByPrecision(np.int32(-0x7F800001), np.int64(-0x7FF0000000000001))           # all bits but the exponent's
HALF = ByPrecision(np.int32(126 << 23), np.int64(1022 << 52))
LEAST_NORMAL = ByPrecision(np.float32(2.0 ** -126), np.float64(2.0 ** -1022))
RAISED = ByPrecision(np.float32(2.0 ** 23), np.float64(2.0 ** 52))


def _parts(x):
    """Mantissa and exponent; subnormal numbers get an exponent by a factor."""
    small = fabs(x) < LEAST_NORMAL
    bits = bits_of(select(small, x * RAISED, x))
    field = Int(Int(bits >> FRACTION) & FIELD)
    plain = (x != 0.0) & (field != FIELD)
    mantissa = float_of(Int(Int(bits & REST) | HALF))
    exponent = Int(field - BIAS) - select(small, FRACTION, Int(0))
    return select(plain, mantissa, x), select(plain, exponent, Int(0))


@_FREXP.planned
def _plan_frexp(layout):
    if not layout.dtype.is_floating_point:
        raise RuntimeError(f"torch.frexp() only supports floating-point dtypes, got {layout.dtype.title}")
    strides = shared_strides([layout], layout.shape)
    mantissa, exponent = (Layout.of(kind, layout.shape, strides, layout.device) for kind in (layout.dtype, int32))
    compute = layout.dtype.compute
    return mantissa, exponent, kernels(layout.device, "pointwise.pointwise").plan_pointwise(
        ScalarBody(_parts, compute), (layout.dtype.kernel,), (layout.dtype.kernel, "int32"), layout.shape,
        [layout.strides, mantissa.strides, exponent.strides], compute=(compute,), results=(0, 1),
        cost=4.0) if layout.numel else NOTHING


@_FREXP.run
def _frexp(plan, input: Tensor):
    *layouts, prepared = plan
    mantissa, exponent = map(empty, layouts)
    prepared.call(input.address, mantissa.address, exponent.address, prepared.descriptor)
    _FREXP.recorded(mantissa, (input,), (exponent,))
    return Frexp(mantissa, exponent)


@method
def frexp(input, *, out=None) -> Frexp:
    """mantissa * 2**exponent, elementwise.

    Infinities and NaN are their own mantissas, with an exponent of 0.

    Args:
        input: (*), floats.
        out: two tensors to write the results into.

    Returns:
        (mantissa, exponent): of magnitude in [0.5, 1) or 0, in the dtype of `input`; int32.

    Raises:
        RuntimeError: a dtype that is not floating point.

    Example:
        >>> import numtorch as torch
        >>> torch.frexp(torch.tensor([8.0, -3.0]))
        frexp(mantissa=tensor([ 0.5000, -0.7500]), exponent=tensor([4, 2], dtype=torch.int32))
    """
    return _frexp(input) if out is None else into_all_exactly("frexp", out, _frexp(input))


@_NEXTAFTER.derivative
def _nextafter_vjp(node, grad, slope):
    first, second = node.attributes
    return (later["sum_to_size"](grad * slope, first.shape) if node.needs(0) else None,
            filled(second.dense(), 0) if node.needs(1) else None)


@_FREXP.derivative
def _frexp_vjp(node, grad, exponent):
    return (ldexp(grad, -exponent),)


# ---------------------------------------------------------------- the next number
_WORDS = {                                               # a word of as many bits, and infinity's
    "bfloat16": ("int16", 0x7F80), "float16": ("int16", 0x7C00), "float32": ("int32", 0x7F800000),
    "float64": ("int64", 0x7FF0000000000000),
}


def _next_word(x, y, infinity, sign):
    """The word of the number after x on the way to y. Words without their sign are in the order of the numbers."""
    here = select(x < 0, sign - x, x)
    goal = select(y < 0, sign - y, y)
    result = here + select(goal > here, 1, -1)
    stepped = select((result < 0) | ((result == 0) & (here < 0)), sign - result, result)
    result = select(here == goal, y, stepped)
    result = select((goal > infinity) | (goal < -infinity), y, result)
    return select((here > infinity) | (here < -infinity), x, result)


@_NEXTAFTER.planned
def _plan_next(first, second):
    kind = first.dtype
    expect_dtypes("nextafter_cpu", kind, *_WORDS)
    expect_layout("nextafter", "other", second, None, kind)
    device = first.device
    shape = broadcast_shapes(first.shape, second.shape)
    out = Layout.of(kind, shape, shared_strides([first, second], shape), device)
    word, infinity = _WORDS[kind.name]
    strides = [broadcast_strides(layout, shape) for layout in (first, second)] + [(0,) * out.ndim] * 2 + [out.strides]
    prepared = kernels(device, "pointwise.pointwise").plan_pointwise(
        ScalarBody(_next_word, word), (word, word, "int64", "int64"), (word,), shape, strides, compute=(word,) * 4,
        cost=4.0) if out.numel else NOTHING
    numbers = to_device(number(infinity), device), to_device(number(-1 << 8 * kind.itemsize - 1), device)
    return out, numbers, prepared


@_NEXTAFTER.run
def _nextafter(plan, input: Tensor, other: Tensor):
    layout, (infinity, sign), prepared = plan
    out = empty(layout)
    prepared.call(input.address, other.address, infinity.address, sign.address, out.address, prepared.descriptor)
    if recording(input, other):
        out.node = GraphNode(_NEXTAFTER, (input.node, other.node), (ne(input, other),), (input.layout, other.layout))
    return out


@method
def nextafter(input, other, *, out=None) -> Tensor:
    """The number that comes after `input` on the way to `other`, elementwise, in the dtype to which both promote.

    As in PyTorch, the gradient of `input` is that of the result where the two differ, and the gradient of `other` is 0.

    Args:
        input, other: floats, broadcast with each other; where they are equal, `other` comes out.
        out: a tensor to write the result into.

    Raises:
        NotImplementedError: a dtype that is not floating point.
        RuntimeError: shapes that do not broadcast.

    Example:
        >>> import numtorch as torch
        >>> torch.nextafter(torch.tensor([1.]), torch.tensor([2.])) - 1
        tensor([1.1921e-07])
    """
    kind = result_dtype([layout_of("nextafter", input), layout_of("nextafter", other, "other", 2)])
    if not kind.is_floating_point:
        raise NotImplementedError(f'"nextafter_cpu" not implemented for \'{kind.title}\'')
    result = _nextafter(to_dtype(input, kind), to_dtype(other, kind))
    return result if out is None else into(out, result)
