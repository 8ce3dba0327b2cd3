"""The norm of many tensors, and their scaling, on a GPU: the chunks of an optimiser's step (optim.py), shared by blocks.

What is joined, and the root, are the host's (kernels/cpu/optim/total_norm.py); the terms are joined in the compute type, of a
thread, then of a block by halves, then of all blocks by one.
"""
from __future__ import annotations

from numpy import float32, inf, int64

from ...cpu.optim.total_norm import NORMS, PARTS, raised, square, square_root, whole_root
from ...elementtypes import same
from ...intrinsics import as_pointer, local_array, offset
from ...pointers import element_type
from ...vectormath import pow as power
from ..compiler import cuda
from ..environment import THREADS
from ..serial import given
from ..shared.elements import launch, typed
from ..warps import barrier
from .optim import CHUNK, CHUNKS, ENTRIES, chunks_of

T = W = float32                                          # W: the stored word
load = store = same
RANGES = 2 if THREADS < 32 else 512                      # blocks that leave a number each
BLOCKS, RANGE_ENTRIES = ENTRIES, ENTRIES + 1             # of the descriptor where blocks leave a number, between its words


def add(x, y):
    return x + y


def any_root(total, order):
    return power(total, T(1) / order)


norm_term, norm_join, norm_root = square, add, square_root
NORM_FIRST = 0.0


def joined_terms(cells, value, me):
    """What a block's threads have, joined: thread 0 gets it, the others what they have joined themselves."""
    cells[me] = value
    half = THREADS // 2
    while half > 0:
        barrier()
        if me < half:
            cells[me] = norm_join(cells[me], cells[me + half])
        half //= 2
    return cells[me]


def range_norms(table, order, out, descriptor):
    """out[block] = the joined terms of the block's chunks."""
    cells = cuda.shared.array(THREADS, T)
    like = local_array(W, 1)
    exponent = T(order[0])
    me = int64(cuda.threadIdx.x)
    block = int64(cuda.blockIdx.x)
    if block < descriptor[BLOCKS]:
        total = T(NORM_FIRST)
        for chunk in range(block, descriptor[CHUNKS], descriptor[BLOCKS]):
            entry = offset(table, 2 * descriptor[RANGE_ENTRIES + 2 * chunk])
            x, first = as_pointer(entry[0], like), descriptor[RANGE_ENTRIES + 1 + 2 * chunk]
            for i in range(first + me, min(first + CHUNK, entry[1]), THREADS):
                total = norm_join(total, norm_term(load(x[i]), exponent))
        total = joined_terms(cells, total, me)
        if me == 0:
            out[block] = total


def norm_of_ranges(ranges, order, out, descriptor):
    """out[0] = the norm, from the blocks' joined terms."""
    cells = cuda.shared.array(THREADS, T)
    me = int64(cuda.threadIdx.x)
    total = T(NORM_FIRST)
    for part in range(me, descriptor[PARTS], THREADS):
        total = norm_join(total, ranges[part])
    total = joined_terms(cells, total, me)
    if me == 0:
        out[0] = store(norm_root(total, T(order[0])))


def scale_chunks(table, norm, bound, descriptor):
    """Every element times min(1, bound / (norm + 1e-6)); where that is 1, nothing is read or written."""
    like = local_array(W, 1)
    factor = T(bound[0]) / (load(norm[0]) + T(1e-6))
    if factor < T(1) or factor != factor:
        chunk = int64(cuda.blockIdx.x)
        while chunk < descriptor[CHUNKS]:
            entry = offset(table, 2 * descriptor[ENTRIES + 2 * chunk])
            x, first = as_pointer(entry[0], like), descriptor[ENTRIES + 1 + 2 * chunk]
            for i in range(first + cuda.threadIdx.x, min(first + CHUNK, entry[1]), THREADS):
                x[i] = store(load(x[i]) * factor)
            chunk += cuda.gridDim.x


def plan_total_norm(dtype: str, numels, order: float, device: int = 0):
    chunks = chunks_of(numels)
    count = len(chunks) // 2
    ranges = max(1, min(RANGES, count))
    terms, joined, _ = NORMS.get(order, (raised, add, None))
    root = square_root if order == 2.0 else whole_root if order in NORMS else any_root
    names: dict = dict(W=element_type(dtype).type, norm_term=terms, norm_join=joined, norm_root=root,
                       NORM_FIRST=inf if order == -inf else 0.0)
    first = launch(typed(range_norms, dtype, ("int64*", "float64*", "compute*", "int64*"), **names), [count, ranges, *chunks],
                   ranges * THREADS, device)
    first.workspace = 8 * ranges
    last = launch(typed(norm_of_ranges, dtype, ("compute*", "float64*", "element*", "int64*"), **names), [ranges], THREADS, device)
    first_given = given(first, {0: 16 * len(numels), 1: 8}, device)
    return first_given, given(last, {1: 8}, device)


def plan_scale_all(dtype: str, numels, device: int = 0):
    chunks = chunks_of(numels)
    names: dict = dict(W=element_type(dtype).type)
    kernel = typed(scale_chunks, dtype, ("int64*", "element*", "float64*", "int64*"), **names)
    made = launch(kernel, [len(chunks) // 2, *chunks], len(chunks) // 2 * THREADS, device)
    return given(made, {0: 16 * len(numels), 2: 8}, device)
