"""Kernels compiled for one element type, and how a planner splits work over threads.

A kernel generic over its dtype names `T`, `load` and `store` (`kernels/elementtypes.py`); `typed` compiles it for one dtype.
"""
from __future__ import annotations

import functools
import struct

import numpy as np

from ...compiler import compile_kernel
from ...elementtypes import bindings, compute_type
from ...intrinsics import bits_of, float_of
from ...threads import get_num_threads, least_work, prepare
from ...vectormath.elementary import ByPrecision, Int

WORDS = {1: "uint8", 2: "uint16", 4: "int32", 8: "int64"}        # what elements are copied as, by their size


VECTOR_LANES = 16                                        # elements in the longest vector; bound by `typed`


def padded(n):
    """n up to whole vectors. LLVM computes what is left after the last one element by element, and an exp by itself costs as
    much as 60 within vectors: softmax over rows of 100 spent a third of its time on the last 4. So short rows go through a
    buffer of this length, filled under `if int32(i) < n`, which becomes a load under a mask (64-bit numbers would take three
    instructions to compare instead of one)."""
    return (n + (VECTOR_LANES - 1)) & -VECTOR_LANES


def whole(n):
    """n down to whole vectors, which a short row in memory has read without a mask: Zen 5 does not see what loads under a mask will
    want next. All under masks, softmax over rows of 128 takes 4 times as long there, and 1.5 times in the cache."""
    return n & -VECTOR_LANES


SIGN, MAGNITUDE = ByPrecision(np.int32(31), np.int64(63)), ByPrecision(np.int32((1 << 31) - 1), np.int64((1 << 63) - 1))


def order_of(x):
    """An integer in the order of floats, in which NaN is above or below all. Integers have a maximum in one instruction, where
    that of floats with NaN takes three that wait for one another."""
    bits = bits_of(x)
    return Int(bits ^ Int(Int(bits >> SIGN) & MAGNITUDE))


def from_order(bits):
    return float_of(Int(bits ^ Int(Int(bits >> SIGN) & MAGNITUDE)))


def bits(value: float) -> int:
    """A float64 as the integer that a descriptor holds."""
    return struct.unpack("<q", struct.pack("<d", value))[0]


def wide(dtype: str) -> int:
    """Bytes of the type that elements are computed in."""
    return np.dtype(compute_type(dtype)).itemsize


@functools.cache
def typed(function, dtype: str, signature: tuple, **names):
    """The kernel of `function` for elements of `dtype`.

    Args:
        function: a kernel over the global names `T`, `load` and `store`.
        dtype: the stored type.
        signature: as for `compile_kernel`; "element*" and "compute*" stand for pointers to the two types.
        names: other global names of the kernel, hashable.
    """
    compute = compute_type(dtype)
    meaning = bindings(dtype)
    places = {"element*": dtype + "*", "compute*": compute + "*"}
    return compile_kernel(function, tuple(places.get(s, s) for s in signature),
                          {**meaning, "VECTOR_LANES": 64 // meaning["T"]().itemsize, **names}, compute,
                          meant={"VECTOR_LANES": VECTOR_LANES})


def shares(count: int, work: int, grain: int, multiple: int = 1) -> list[tuple[int, int]]:
    """`range(count)` cut into one range a thread, or into fewer where a thread would get less than `grain` of the `work`.

    Every range but the last starts at a multiple of `multiple`.
    """
    blocks = -(-count // multiple)
    parts = max(1, min(get_num_threads(), blocks, work // max(1, least_work(grain))))
    edges = [min(count, blocks * part // parts * multiple) for part in range(parts + 1)]
    return list(zip(edges[:-1], edges[1:]))


def image_shares(images: int, columns: int, work: int, grain: int) -> list[tuple[int, int, int, int]]:
    """(images, channels, columns) cut over images, or over columns where there is a single image, by `shares`.

    Returns:
        For each part: its first image, how many, its first column, how many.
    """
    if images > 1 or columns == 1:
        return [(start, stop - start, 0, columns) for start, stop in shares(images, work, grain)]
    return [(0, images, start, stop - start) for start, stop in shares(columns, work, grain, multiple=64)]


def part_offsets(parts, *steps):
    """What each part of several (start, stop) adds to its addresses, which move by so many bytes for each of what is shared."""
    return [tuple([start * step for step in steps]) for start, _ in parts]


def prepare_parts(kernel, rows, work, offsets=None, worth_releasing=30_000, workspace=0):
    """`prepare`, letting other Python threads run when there is more than a little work."""
    return prepare(kernel, rows, offsets, workspace=workspace, release_lock=len(rows) > 1 or work > worth_releasing)
