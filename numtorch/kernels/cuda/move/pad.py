"""Padding on a GPU: a thread an element of the result, and for the gradient one of what comes back, which is added by atomics to
the element it was copied from. Descriptors are the host's (kernels/cpu/move/pad.py)."""
from __future__ import annotations

import functools

from numpy import float32, int64

from ...cpu.move import pad as host
from ...cpu.move.pad import CONSTANT, HEAD, NOWHERE, outer_place, source_of
from ...elementtypes import same
from ...intrinsics import offset
from ...threads import Prepared
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..shared.atomics import add_at, way_to_add

T = float32
load = store = same
WIDE = 1
put_at = add_at


def place_of(k, row, form):
    """Where an element of the result was copied from, in words from the first; NOWHERE for one that is padding of a value.

    form: as `pad_rows` has its descriptor.
    """
    mode, left, middle, right, inner = form[2], offset(form, 3), offset(form, 6), offset(form, 8), offset(form, HEAD)
    block = row // inner[0]
    base = outer_place(form, block, mode)
    i = source_of(row - block * inner[0] - inner[1], inner[2], mode)
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
    width = width_of(descriptor)
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < descriptor[1] * width:
        row = e // width
        place = place_of(e - row * width, row, descriptor)
        for w in range(WIDE):
            if place == NOWHERE:
                out[e * WIDE + w] = value[w]
            else:
                out[e * WIDE + w] = x[place + w]
        e += int64(cuda.gridDim.x) * THREADS


def clear_planes(grad_out, grad_x, descriptor):
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[0] * descriptor[1]:
        grad_x[i] = store(T(0))
        i += int64(cuda.gridDim.x) * THREADS


def pad_grad_elements(grad_out, grad_x, descriptor):
    form = offset(descriptor, 3)
    width, words = width_of(form), descriptor[2]
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < descriptor[0] * (words // WIDE):
        plane = e * WIDE // words
        rest = e - plane * (words // WIDE)
        row = rest // width
        place = plane * descriptor[1] + place_of(rest - row * width, row, form)
        for w in range(WIDE):
            put_at(offset(grad_x, place + w), grad_out[e * WIDE + w])
        e += int64(cuda.gridDim.x) * THREADS


# ---------------------------------------------------------------- planners
class _WithoutValue:
    """A call of a mode that puts no value, whose address is of the host's memory."""

    __slots__ = ("call",)

    def __init__(self, call):
        self.call = call

    def __call__(self, x, value, out, descriptor):
        self.call(x, 0, out, descriptor)


_forms = {host.pad_rows: Form(pad_elements, lambda row: row[1] * width_of(row))}
_plan_constant = in_parallel(host.plan_pad, _forms, read=lambda mode, size, *geometry: {1: size})     # the value is the host's
_plan_other = in_parallel(host.plan_pad, _forms)
plan_pad_grad = in_parallel(host.plan_pad_grad, {host.pad_rows_grad: Form(
    pad_grad_elements, lambda row: row[0] * row[2], way_to_add, first=Form(clear_planes, lambda row: row[0] * row[1]))})


@functools.wraps(host.plan_pad)
def plan_pad(mode, *geometry, device: int = 0):
    if mode == "constant":
        return _plan_constant(mode, *geometry, device=device)
    plan = _plan_other(mode, *geometry, device=device)
    return Prepared(_WithoutValue(plan.call), plan.descriptor, 0, plan)
