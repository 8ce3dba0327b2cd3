"""Local response norm on a GPU: a thread an element, which adds up its window, and for the gradient the windows that it is in."""
from __future__ import annotations

from numpy import float32, int32, int64

from ...cpu.norm import response_norm as host
from ...intrinsics import offset
from ...vectormath import exp, log
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..shared.lines import scalar

T, INT = float32, int32


def response_elements(x, out, divisor, descriptor):
    """descriptor: as on the host."""
    channels, step = descriptor[1], descriptor[3]
    share, beta, k = scalar(descriptor, 6), scalar(descriptor, 7), scalar(descriptor, 8)
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < descriptor[0] * channels * step:
        c, total = e // step % channels, T(0)
        a = offset(x, e - c * step)
        for near in range(max(c - descriptor[4], int64(0)), min(c + descriptor[5] + 1, channels)):
            total += a[near * step] * a[near * step]
        d = k + share * total
        divisor[e] = d
        out[e] = x[e] * exp(-beta * log(d))
        e += int64(cuda.gridDim.x) * THREADS


def response_grad_elements(grad, x, divisor, grad_x, descriptor):
    channels, step = descriptor[1], descriptor[3]
    share, beta = scalar(descriptor, 6), scalar(descriptor, 7)
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < descriptor[0] * channels * step:
        c = e // step % channels
        total = grad[e] * exp(-beta * log(divisor[e]))
        for near in range(max(c - descriptor[5], int64(0)), min(c + descriptor[4] + 1, channels)):
            at = e + (near - c) * step
            d = divisor[at]
            total -= x[e] * (T(2) * share * beta * grad[at] * x[at] * exp(-beta * log(d)) / d)
        grad_x[e] = total
        e += int64(cuda.gridDim.x) * THREADS


def _elements(row):
    return row[0] * row[1] * row[3]


plan_response_norm = in_parallel(host.plan_response_norm, {host.response_columns: Form(
    response_elements, _elements, scalars=(6, 7, 8))})
plan_response_norm_grad = in_parallel(host.plan_response_norm_grad, {host.response_grad_columns: Form(
    response_grad_elements, _elements, scalars=(6, 7, 8))})
