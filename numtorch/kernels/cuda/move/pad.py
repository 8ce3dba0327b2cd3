"""Padding on a GPU: a thread an element of the result, and for the gradient one of what comes back, which is added by atomics to
the element it was copied from. Descriptors are the host's (kernels/cpu/move/pad.py)."""
from __future__ import annotations

from numpy import float32, int32, int64, uint32

from ...cpu.move import pad as host
from ...cpu.move.pad import (
    BEFORE,
    CIRCULAR,
    CONSTANT,
    COUNT,
    DIM,
    DIMS,
    EXTENT,
    FORM,
    HEAD,
    LEFT,
    MIDDLE,
    MIDDLE_COUNT,
    MIDDLE_PLACE,
    MODE,
    OUT_WORDS,
    PLACE,
    PLANES,
    REFLECT,
    REPLICATE,
    RIGHT,
    SOURCE_EXTENT,
    STEP,
    STOP,
    STRIDE,
    X_WORDS,
)
from ...elementtypes import same
from ...intrinsics import offset
from ...threads import Prepared
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..shared.atomics import add_at, way_to_add
from ..shared.coordinates import quotient31 as quotient

T, N, P = float32, uint32, int32
load = store = same
WIDE = 1
put_at = add_at


def source_at(i, extent, mode):
    """`source_of` of places of type P."""
    if 0 <= i < extent:
        return P(i)
    if mode == REFLECT:
        return P(-i) if i < 0 else P(2 * (extent - 1) - i)
    if mode == REPLICATE:
        return P(0) if i < 0 else P(extent - 1)
    if mode == CIRCULAR:
        return P(i + extent) if i < 0 else P(i - extent)
    return P(-1)


def place_of(e, form):
    """Where an element of the result was copied from, in words from the first, and whether it was: a value's padding was not.

    form: as `pad_rows` has its descriptor, and behind it the divisors of a row and of the outer dimensions.
    """
    mode, left, middle, right = form[MODE], offset(form, LEFT), offset(form, MIDDLE), offset(form, RIGHT)
    words = offset(form, HEAD + DIM * form[DIMS])
    row = quotient(e, words[0])
    place, found, rest = P(0), True, N(row)
    for d in range(form[DIMS]):
        dim = offset(form, HEAD + DIM * d)
        before = quotient(rest, words[1 + d])
        i = source_at(P(P(N(rest - N(before * N(dim[EXTENT])))) - P(dim[BEFORE])), P(dim[SOURCE_EXTENT]), mode)
        found = found and i >= 0
        place, rest = P(place + P(i * P(dim[STRIDE]))), before
    k, first, end = P(N(e - N(row * N(width_of(form))))), P(left[COUNT]), P(left[COUNT] + middle[MIDDLE_COUNT])
    column = P(P(middle[MIDDLE_PLACE]) + k - first)
    if k < first:
        column = P(P(left[PLACE]) + k * P(left[STEP]))
    elif k >= end:
        column = P(P(right[PLACE]) + (k - end) * P(right[STEP]))
    return P(place + column * WIDE), found and (mode != CONSTANT or first <= k < end)


def width_of(form):
    return form[LEFT + COUNT] + form[MIDDLE + MIDDLE_COUNT] + form[RIGHT + COUNT]


def pad_elements(x, value, out, descriptor):
    e = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    if e < descriptor[STOP] * width_of(descriptor):
        place, found = place_of(e, descriptor)
        for w in range(WIDE):
            if found:
                out[int64(e) * WIDE + w] = x[int64(place) + w]
            else:
                out[int64(e) * WIDE + w] = value[w]


def pad_grad_elements(grad_out, grad_x, descriptor):
    form, words = offset(descriptor, FORM), descriptor[OUT_WORDS]
    elements = words // WIDE
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    if e < descriptor[PLANES] * elements:
        plane = quotient(e, form[HEAD + DIM * form[DIMS] + 1 + form[DIMS]])
        within, _ = place_of(N(e - int64(plane) * elements), form)
        place = int64(plane) * descriptor[X_WORDS] + within
        for w in range(WIDE):
            put_at(offset(grad_x, place + w), grad_out[e * WIDE + w])


# ---------------------------------------------------------------- planners
class _WithoutValue:
    """A call of a mode that puts no value, whose address is of the host's memory."""

    __slots__ = ("call",)

    def __init__(self, call):
        self.call = call

    def __call__(self, x, value, out, descriptor):
        self.call(x, 0, out, descriptor)


def _divisors(form):
    return width_of(form), *form[HEAD:HEAD + DIM * form[DIMS]:DIM]


def _reach(form):
    """What numbers of elements, and places in x, stay below."""
    dims = [form[at:at + DIM] for at in range(HEAD, HEAD + DIM * form[DIMS], DIM)]
    farthest = max(abs(form[MIDDLE + MIDDLE_PLACE]) + form[MIDDLE + MIDDLE_COUNT], abs(form[STOP]), abs(form[LEFT + PLACE]),
                   abs(form[RIGHT + PLACE]) + form[RIGHT + COUNT])
    return max(form[STOP] * width_of(form), 2 * farthest + sum((dim[SOURCE_EXTENT] + 1) * abs(dim[STRIDE]) for dim in dims))


_forms = {host.pad_rows: Form(pad_elements, lambda row: row[STOP] * width_of(row), divisors=_divisors, largest=_reach)}
_plan_constant = in_parallel(host.plan_pad, _forms, read=lambda mode, size, *geometry: {1: size})     # the value is the host's
_plan_other = in_parallel(host.plan_pad, _forms)
plan_pad_grad = in_parallel(host.plan_pad_grad, {host.pad_rows_grad: Form(
    pad_grad_elements, lambda row: row[PLANES] * row[FORM + STOP] * width_of(row[FORM:]), way_to_add,
    cleared=lambda row: row[PLANES] * row[X_WORDS],
    divisors=lambda row: (*_divisors(row[FORM:]), row[FORM + STOP] * width_of(row[FORM:])),
    largest=lambda row: max(row[PLANES] * row[FORM + STOP] * width_of(row[FORM:]), _reach(row[FORM:])))})


def plan_pad(mode: str, size: int, shape: tuple, strides: tuple, widths: tuple, device: int = 0):
    if mode == "constant":
        return _plan_constant(mode, size, shape, strides, widths, device=device)
    plan = _plan_other(mode, size, shape, strides, widths, device=device)
    return Prepared(_WithoutValue(plan.call), plan.descriptor, 0, plan)
