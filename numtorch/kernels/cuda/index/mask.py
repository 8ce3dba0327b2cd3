"""Masks on a GPU: how many elements hold, by blocks; and the elements where one holds, by a scan of the mask.

What is true before an element says where it goes: the mask's running sum (../scan/scan.py), whose last step moves the element
instead of writing the sum. The host reads the count once, to make the result.
"""
from __future__ import annotations

from math import prod

from numpy import int64

from ...cpu.index import mask as host
from ...cpu.index.mask import ELEMENTS
from ...cpu.shared.elements import WORDS
from ...intrinsics import address_of, as_pointer
from ...threads import NOTHING, Prepared
from ..compiler import cuda
from ..environment import SMALL, THREADS
from ..parallel import Form, in_parallel
from ..runtime import upload
from ..scan.scan import plan_scan
from ..serial import STATUS
from ..shared.lines import add_total_at

ITEMS = 2 if SMALL else 16                               # elements of a mask that a thread has of a tile: 16 bytes
WORD = 8                                                 # bytes of a mask that are counted at once


def true_bytes(word):
    """How many bytes of a word are not 0."""
    word |= word >> 4
    word |= word >> 2
    word |= word >> 1
    return ((word & 0x0101010101010101) * 0x0101010101010101) >> 56


def count_true(mask, count, descriptor):
    cells = cuda.shared.array(THREADS, int64)
    n, me = descriptor[ELEMENTS], int64(cuda.threadIdx.x)
    before = min(-address_of(mask) & (WORD - 1), n)      # bytes in front of the first whole word
    words = (n - before) // WORD
    behind = before + words * WORD
    whole = as_pointer(address_of(mask) + before, count)
    total, i = int64(0), int64(cuda.blockIdx.x) * THREADS + me
    while i < max(words, int64(WORD)):
        if i < words:
            total += true_bytes(whole[i])
        if i < before:
            total += int64(mask[i] != 0)
        if behind + i < n:
            total += int64(mask[behind + i] != 0)
        i += int64(cuda.gridDim.x) * THREADS
    add_total_at(count, cells, total, me)


# ---------------------------------------------------------------- what a scan reads of a mask, and where it puts elements
def whether_true(mask, stride, r):
    return int64(mask[r * stride] != 0)


def plus(mask, stride, before, after):
    return before + after


def put_selected(mask, out, x, stride, r, total):
    if mask[r] != 0:
        out[total - 1] = x[r]


def put_filled(mask, x, source, stride, r, total):
    if mask[r] != 0:
        x[r] = source[total - 1]


def put_coordinates(mask, out, sizes, stride, r, total):
    """sizes: how many dimensions, and their extents."""
    if mask[r] != 0:
        dims = sizes[0]
        for back in range(dims):
            d = dims - 1 - back
            rest = r // sizes[1 + d]
            out[(total - 1) * dims + d] = r - rest * sizes[1 + d]
            r = rest


# ---------------------------------------------------------------- planners
class _Scan:
    """A scan of a mask, called with the host's addresses. `order` says where those of mask, out and what is beside it are among
    them, and `sizes` stands beside them."""

    __slots__ = ("call", "descriptor", "order", "sizes")

    def __init__(self, scan, order, sizes=0):
        self.call, self.descriptor, self.order, self.sizes = scan.call, scan.descriptor, order, sizes

    def __call__(self, *addresses):
        given = *addresses[:-1], self.sizes
        self.call(*[given[place] for place in self.order], self.descriptor)


def _plan(n, put, out, beside, order, device, sizes=()):
    scan = plan_scan("bool", 1, n, 1, False, device, beside, "int64", out=out, items=ITEMS, step=plus, START=0,
                     element=whether_true, put=put)
    if scan is NOTHING:
        return NOTHING
    owner, address = upload(sizes, device) if sizes else (None, 0)
    return Prepared(_Scan(scan, order, address), 0, 0, (scan, owner))


plan_count_nonzero = in_parallel(host.plan_count_nonzero, {host.count_true: Form(
    count_true, lambda row: -(-row[ELEMENTS] // WORD), lambda row, bound: dict(LANES=THREADS))}, host={1: STATUS})


def plan_nonzero(shape, device: int = 0):
    return _plan(prod(shape), put_coordinates, "int64*", "int64*", (0, 1, 2), device, (len(shape), *shape))


def plan_masked_select(size: int, n: int, device: int = 0):
    word = WORDS.get(size, "complex128") + "*"
    return _plan(n, put_selected, word, word, (1, 2, 0), device)


def plan_masked_scatter(size: int, n: int, device: int = 0):
    word = WORDS.get(size, "complex128") + "*"
    return _plan(n, put_filled, word, word, (1, 0, 2), device)
