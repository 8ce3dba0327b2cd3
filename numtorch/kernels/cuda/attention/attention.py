"""Attention on a GPU without the matrix of scores: softmax(scale * Q @ K^T + mask) @ V and its gradients, after FlashAttention (Dao
et al. 2022).

A block goes through the keys a tile at a time: scores, the running maximum and sum of each query (Milakov, Gimelshein 2018),
exponentials in place of scores, and their products with V. The logarithm of the sum of exponentials is kept; from it the backward
kernels make the same probabilities again: one goes through the keys of each block of queries for Q's gradient, the other through
the queries of each block of keys for those of K and V. tiles.py has the kernels, which are for every dtype; of 16 bits, and of
float32 that may be rounded, tensor cores make the products (tensorcores.py).

Dropout takes the host's kernels (../serial.py), whose draws are by blocks of the host's.
"""
from __future__ import annotations

from ...cpu.attention import attention as host
from ...elementtypes import compute_type, itemsize
from ...threads import Prepared
from ..compiler import prepare
from ..gemm.choice import Choice
from ..runtime import runtime
from ..serial import STATE, on_device
from . import tensorcores
from .descriptor import describe
from .tiles import TILE, attention_kernel


class _Forward:
    """A call with the addresses of the CPU's, of which the generator's state and the workspace are none."""

    __slots__ = ("kernel",)

    def __init__(self, kernel):
        self.kernel = kernel

    def __call__(self, q, k, v, mask, state, out, lse, workspace, descriptor):
        self.kernel.call(q, k, v, mask, out, lse, descriptor)


class _Backward:
    """The two launches of the gradients, with scratch memory of this call's own: a number of each query, which the first leaves to
    the second."""

    __slots__ = ("device", "for_kv", "for_q", "nbytes")

    def __init__(self, for_q, for_kv, nbytes, device):
        self.for_q, self.for_kv, self.nbytes, self.device = for_q, for_kv, nbytes, device

    def __call__(self, q, k, v, mask, state, out, lse, grad, grad_q, grad_k, grad_v, workspace, descriptor):
        owner, dots = runtime().allocate(self.nbytes, self.device)       # the owner gives the memory back in stream order
        self.for_q.call(q, k, v, mask, out, lse, grad, dots, grad_q, self.for_q.descriptor)
        self.for_kv.call(q, k, v, mask, lse, grad, dots, grad_k, grad_v, self.for_kv.descriptor)


counters_used = host.counters_used
_dropped = on_device(host.plan_attention, {4: STATE - 8})
_dropped_grad = on_device(host.plan_attention_grad, {4: STATE - 8})
plan_attention_kept = on_device(host.plan_attention_kept, {0: STATE - 8})


def plan_attention(dtype, batch, heads, group, queries, keys, depth, width, scale, causal, strides, mask=None,
                   mask_strides=(0, 0, 0, 0), dropout=0.0, device=0) -> Prepared:
    sizes = dtype, batch, heads, group, queries, keys, depth, width, scale, causal, strides, mask, mask_strides
    if dropout:
        return _dropped(*sizes, dropout, device=device)
    kernel = attention_kernel("attention", dtype, width, mask is not None)
    made = prepare(kernel, describe(*sizes), batch * heads * -(-queries // TILE), device)
    made = Prepared(_Forward(made), made.descriptor, 0, made)
    if tensorcores.takes(*sizes):
        made = Choice(made, lambda: tensorcores.plan_forward(sizes, device), dtype == "float32", (0, 1, 2)).prepared()
    return made


def plan_attention_grad(dtype, batch, heads, group, queries, keys, depth, width, scale, causal, strides, mask=None,
                        mask_strides=(0, 0, 0, 0), dropout=0.0, device=0) -> Prepared:
    sizes = dtype, batch, heads, group, queries, keys, depth, width, scale, causal, strides, mask, mask_strides
    if dropout:
        return _dropped_grad(*sizes, dropout, device=device)
    row = describe(*sizes)
    for_q, for_kv = (attention_kernel(name, dtype, depth, mask is not None) for name in ("attention_grad_q", "attention_grad_kv"))
    for_q = prepare(for_q, row, batch * heads * -(-queries // TILE), device)
    for_kv = prepare(for_kv, row, batch * heads // group * -(-keys // TILE), device)
    nbytes = batch * heads * queries * itemsize(compute_type(dtype))
    made = Prepared(_Backward(for_q, for_kv, nbytes, device), for_q.descriptor, 0, (for_q, for_kv))
    if tensorcores.takes(*sizes):
        made = Choice(made, lambda: tensorcores.plan_gradients(sizes, device), dtype == "float32", (0, 1, 2, 7)).prepared()
    return made
