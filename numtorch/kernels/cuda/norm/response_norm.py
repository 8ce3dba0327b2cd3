"""Local response norm on a GPU: a thread an element, which adds up its window, and for the gradient the windows that it is in."""
from __future__ import annotations

from numpy import float32, int32, int64

from ...cpu.norm import response_norm as host
from ...cpu.norm.response_norm import AFTER, BEFORE, BETA, CHANNELS, IMAGES, SHARE, STEP, K
from ...intrinsics import offset
from ...vectormath import exp, log
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..shared.lines import scalar

T, INT = float32, int32


def response_elements(x, out, divisor, descriptor):
    channels, step = descriptor[CHANNELS], descriptor[STEP]
    share, beta, k = scalar(descriptor, SHARE), scalar(descriptor, BETA), scalar(descriptor, K)
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < descriptor[IMAGES] * channels * step:
        c, total = e // step % channels, T(0)
        a = offset(x, e - c * step)
        for near in range(max(c - descriptor[BEFORE], int64(0)), min(c + descriptor[AFTER] + 1, channels)):
            total += a[near * step] * a[near * step]
        d = k + share * total
        divisor[e] = d
        out[e] = x[e] * exp(-beta * log(d))
        e += int64(cuda.gridDim.x) * THREADS


def response_grad_elements(grad, x, divisor, grad_x, descriptor):
    channels, step = descriptor[CHANNELS], descriptor[STEP]
    share, beta = scalar(descriptor, SHARE), scalar(descriptor, BETA)
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < descriptor[IMAGES] * channels * step:
        c = e // step % channels
        total = grad[e] * exp(-beta * log(divisor[e]))
        for near in range(max(c - descriptor[AFTER], int64(0)), min(c + descriptor[BEFORE] + 1, channels)):
            at = e + (near - c) * step
            d = divisor[at]
            total -= x[e] * (T(2) * share * beta * grad[at] * x[at] * exp(-beta * log(d)) / d)
        grad_x[e] = total
        e += int64(cuda.gridDim.x) * THREADS


def _elements(row):
    return row[IMAGES] * row[CHANNELS] * row[STEP]


plan_response_norm = in_parallel(host.plan_response_norm, {host.response_columns: Form(
    response_elements, _elements, scalars=(SHARE, BETA, K))})
plan_response_norm_grad = in_parallel(host.plan_response_norm_grad, {host.response_grad_columns: Form(
    response_grad_elements, _elements, scalars=(SHARE, BETA, K))})
