"""The descriptor of attention's kernels on a GPU: sizes, scale and flags, the mask's four strides, then (batch, head, row) strides
of q, k, v, out, grad and the three gradients; and what kernels read by it."""
from __future__ import annotations

from numpy import float32, inf

from ...cpu.attention.block import COLUMN, HEAD, ROW
from ...elementtypes import compute_type, same
from ...intrinsics import address_of, as_pointer, offset, select
from ..gemm.tiles import bits

BATCH, HEADS, GROUP, QUERIES, KEYS, DEPTH, WIDTH, SCALE, CAUSAL, MASK, MASK_STRIDES = range(11)
Q, K, V, OUT, GRAD, GRAD_Q, GRAD_K, GRAD_V = range(15, 39, 3)
BOOL_MASK, FLOAT_MASK = 1, 2

T = float32                                              # the compute type
load = same


def line_of(x, descriptor, place, batch, head, row):
    """Where a row of a head begins."""
    return offset(x, batch * descriptor[place] + head * descriptor[place + HEAD] + row * descriptor[place + ROW])


def masked(mask, q, descriptor, batch, head, query, key):
    """What the mask adds to a score."""
    at = (batch * descriptor[MASK_STRIDES] + head * descriptor[MASK_STRIDES + HEAD] + query * descriptor[MASK_STRIDES + ROW]
          + key * descriptor[MASK_STRIDES + COLUMN])
    if descriptor[MASK] == BOOL_MASK:
        return select(mask[at] != 0, T(0), T(-inf))
    return T(load(as_pointer(address_of(mask), q)[at]))


def describe(dtype, batch, heads, group, queries, keys, depth, width, scale, causal, strides, mask, mask_strides):
    """The descriptor, from a planner's arguments."""
    flag = 0 if mask is None else BOOL_MASK if mask == "bool" else FLOAT_MASK
    row = [batch, heads, group, queries, keys, depth, width, bits(scale, compute_type(dtype))[0], int(causal), flag, *mask_strides]
    row += [0] * (Q - len(row))
    return row + [step for each in strides for step in each] + [0] * (GRAD_V + 3 - Q - 3 * len(strides))
