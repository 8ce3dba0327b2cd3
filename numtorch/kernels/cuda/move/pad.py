"""Padding on a GPU: a thread an element of the result, and for the gradient one of what comes back, which is added by atomics to
the element it was copied from. Descriptors are the host's (kernels/cpu/move/pad.py)."""
from __future__ import annotations

import functools

from numpy import float32, int64, uint32

from ...cpu.move import pad as host
from ...cpu.move.pad import CONSTANT, DIM, HEAD, NOWHERE, source_of
from ...elementtypes import same
from ...intrinsics import offset
from ...threads import Prepared
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..shared.atomics import add_at, way_to_add
from ..shared.coordinates import quotient31 as quotient

T, N = float32, uint32
load = store = same
WIDE = 1
put_at = add_at


def outer_place(form, block, mode, words):
    """As on the host: where the source of a block of rows begins; NOWHERE where it is all padding."""
    rest, at = N(block), int64(0)
    for d in range(1, form[11]):
        dim = offset(form, HEAD + DIM * d)
        before = quotient(rest, words[1 + d])
        i = source_of(int64(N(rest - N(before * N(dim[0])))) - dim[1], dim[2], mode)
        at = NOWHERE if i < 0 or at == NOWHERE else at + i * dim[3]
        rest = before
    return at


def place_of(e, form):
    """Where an element of the result was copied from, in words from the first; NOWHERE for one that is padding of a value.

    form: as `pad_rows` has its descriptor, and behind it the divisors of a row and of the outer dimensions.
    """
    mode, left, middle, right, inner = form[2], offset(form, 3), offset(form, 6), offset(form, 8), offset(form, HEAD)
    words = offset(form, HEAD + DIM * form[11])
    row = quotient(e, words[0])
    block = quotient(row, words[1])
    base = outer_place(form, block, mode, words)
    i = source_of(int64(N(row - N(block * N(inner[0])))) - inner[1], inner[2], mode)
    k = int64(N(e - N(row * N(width_of(form)))))
    column = middle[0] + k - left[0]
    if k < left[0]:
        column = left[1] + k * left[2]
    elif k >= left[0] + middle[1]:
        column = right[1] + (k - left[0] - middle[1]) * right[2]
    inside = left[0] <= k < left[0] + middle[1]
    if base == NOWHERE or i < 0 or (mode == CONSTANT and not inside):
        return NOWHERE
    return base + i * inner[3] + column * WIDE


def width_of(form):
    return form[3] + form[7] + form[8]


def pad_elements(x, value, out, descriptor):
    e = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    if e < descriptor[1] * width_of(descriptor):
        place = place_of(e, descriptor)
        for w in range(WIDE):
            if place == NOWHERE:
                out[int64(e) * WIDE + w] = value[w]
            else:
                out[int64(e) * WIDE + w] = x[place + w]


def clear_planes(grad_out, grad_x, descriptor):
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[0] * descriptor[1]:
        grad_x[i] = store(T(0))
        i += int64(cuda.gridDim.x) * THREADS


def pad_grad_elements(grad_out, grad_x, descriptor):
    form, words = offset(descriptor, 3), descriptor[2]
    elements = words // WIDE
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    if e < descriptor[0] * elements:
        plane = quotient(e, descriptor[3 + HEAD + DIM * form[11] + 1 + form[11]])
        place = int64(plane) * descriptor[1] + place_of(N(e - int64(plane) * elements), form)
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


_forms = {host.pad_rows: Form(pad_elements, lambda row: row[1] * width_of(row), divisors=_divisors)}
_plan_constant = in_parallel(host.plan_pad, _forms, read=lambda mode, size, *geometry: {1: size})     # the value is the host's
_plan_other = in_parallel(host.plan_pad, _forms)
plan_pad_grad = in_parallel(host.plan_pad_grad, {host.pad_rows_grad: Form(
    pad_grad_elements, lambda row: row[0] * row[4] * width_of(row[3:]), way_to_add,
    first=Form(clear_planes, lambda row: row[0] * row[1]),
    divisors=lambda row: (*_divisors(row[3:]), row[4] * width_of(row[3:])))})


@functools.wraps(host.plan_pad)
def plan_pad(mode, *geometry, device: int = 0):
    if mode == "constant":
        return _plan_constant(mode, *geometry, device=device)
    plan = _plan_other(mode, *geometry, device=device)
    return Prepared(_WithoutValue(plan.call), plan.descriptor, 0, plan)
