"""Padding on a GPU: a thread an element of the result, and for the gradient one of what comes back, which is added by atomics to
the element it was copied from. Descriptors are the host's (kernels/cpu/move/pad.py)."""
from __future__ import annotations

import functools

from numpy import float32, int32, int64, uint32

from ...cpu.move import pad as host
from ...cpu.move.pad import CIRCULAR, CONSTANT, DIM, HEAD, REFLECT, REPLICATE
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
    mode, left, middle, right = form[2], offset(form, 3), offset(form, 6), offset(form, 8)
    words = offset(form, HEAD + DIM * form[11])
    row = quotient(e, words[0])
    place, found, rest = P(0), True, N(row)
    for d in range(form[11]):
        dim = offset(form, HEAD + DIM * d)
        before = quotient(rest, words[1 + d])
        i = source_at(P(P(N(rest - N(before * N(dim[0])))) - P(dim[1])), P(dim[2]), mode)
        found = found and i >= 0
        place, rest = P(place + P(i * P(dim[3]))), before
    k, first, end = P(N(e - N(row * N(width_of(form))))), P(left[0]), P(left[0] + middle[1])
    column = P(P(middle[0]) + k - first)
    if k < first:
        column = P(P(left[1]) + k * P(left[2]))
    elif k >= end:
        column = P(P(right[1]) + (k - end) * P(right[2]))
    return P(place + column * WIDE), found and (mode != CONSTANT or first <= k < end)


def width_of(form):
    return form[3] + form[7] + form[8]


def pad_elements(x, value, out, descriptor):
    e = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    if e < descriptor[1] * width_of(descriptor):
        place, found = place_of(e, descriptor)
        for w in range(WIDE):
            if found:
                out[int64(e) * WIDE + w] = x[int64(place) + w]
            else:
                out[int64(e) * WIDE + w] = value[w]


def pad_grad_elements(grad_out, grad_x, descriptor):
    form, words = offset(descriptor, 3), descriptor[2]
    elements = words // WIDE
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    if e < descriptor[0] * elements:
        plane = quotient(e, descriptor[3 + HEAD + DIM * form[11] + 1 + form[11]])
        within, _ = place_of(N(e - int64(plane) * elements), form)
        place = int64(plane) * descriptor[1] + within
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
    return width_of(form), *form[HEAD:HEAD + DIM * form[11]:DIM]


def _reach(form):
    """What numbers of elements, and places in x, stay below."""
    dims = [form[at:at + DIM] for at in range(HEAD, HEAD + DIM * form[11], DIM)]
    farthest = max(abs(form[6]) + form[7], abs(form[1]), abs(form[4]), abs(form[9]) + form[8])
    return max(form[1] * width_of(form), 2 * farthest + sum((dim[2] + 1) * abs(dim[3]) for dim in dims))


_forms = {host.pad_rows: Form(pad_elements, lambda row: row[1] * width_of(row), divisors=_divisors, largest=_reach)}
_plan_constant = in_parallel(host.plan_pad, _forms, read=lambda mode, size, *geometry: {1: size})     # the value is the host's
_plan_other = in_parallel(host.plan_pad, _forms)
plan_pad_grad = in_parallel(host.plan_pad_grad, {host.pad_rows_grad: Form(
    pad_grad_elements, lambda row: row[0] * row[4] * width_of(row[3:]), way_to_add,
    cleared=lambda row: row[0] * row[1],
    divisors=lambda row: (*_divisors(row[3:]), row[4] * width_of(row[3:])),
    largest=lambda row: max(row[0] * row[4] * width_of(row[3:]), _reach(row[3:])))})


@functools.wraps(host.plan_pad)
def plan_pad(mode, *geometry, device: int = 0):
    if mode == "constant":
        return _plan_constant(mode, *geometry, device=device)
    plan = _plan_other(mode, *geometry, device=device)
    return Prepared(_WithoutValue(plan.call), plan.descriptor, 0, plan)
