"""What the threads of a block wait for, and what the 32 of a warp do together: matrices loaded from shared memory and multiplied by
tensor cores, and copies from memory to shared memory that go on meanwhile.

Intrinsics: PTX in warps_ir.py, and Python twins for the simulator, which have each element where the instruction has it (PTX ISA,
"Matrix Fragments for mma.m16n8k16").
"""
from __future__ import annotations

import functools

import numpy as np

from ..intrinsics import Intrinsic
from .turns import running

_instruction = functools.partial(Intrinsic, module="numtorch.kernels.cuda.warps_ir")


@_instruction
def barrier():
    """`cuda.syncthreads()` for functions that kernels call, whose `cuda` the simulator does not replace."""
    running().wait()


# ---------------------------------------------------------------- copies to shared memory
@_instruction
def shared_address(array, index):
    """Where an element of an array in shared memory is, as the instructions below take it."""
    return array, int(index)


@_instruction
def copy_async(target, source, nbytes):
    """Copy 16 bytes of words to shared memory, of which all but the first `nbytes` become 0; done when `await_copies` says so."""
    array, at = target
    for i in range(8):
        array[at + i] = source[i] if 2 * i < nbytes else 0


@_instruction
def commit_copies():
    """The copies since the last of these are a group."""


@_instruction
def await_groups_but_one():
    """Wait for all groups of this thread's copies but the last."""


# ---------------------------------------------------------------- matrices
def _rows_of(values, number, transposed):
    rows = np.array([[array[at + i] for i in range(8)] for array, at in (values[number * 8 + r] for r in range(8))], np.uint16)
    return rows.T if transposed else rows


def _loaded(address, transposed):
    def answer(values, lane):
        words = []
        for number in range(4):
            low, high = _rows_of(values, number, transposed)[lane // 4, 2 * (lane % 4):2 * (lane % 4) + 2].astype(np.uint32)
            words.append(np.uint32(low | (high << np.uint32(16))))
        return tuple(words)
    return answer(*running().exchange(address))


@_instruction
def load_matrices(address):
    """Four 8 x 8 matrices of words from shared memory, two elements of each a thread; thread 8 q + r says where row r of matrix q
    is."""
    return _loaded(address, False)


@_instruction
def load_matrices_transposed(address):
    """The same, transposed."""
    return _loaded(address, True)


def _words(packed):
    packed = np.asarray(packed, np.uint32)
    return np.stack([packed & 0xFFFF, packed >> 16], -1).astype(np.uint16)


def _multiplied(a, b, c, read):
    def answer(values, lane):
        left, right = np.zeros((16, 16), np.float32), np.zeros((16, 8), np.float32)
        for other, (theirs, those) in values.items():
            group, pair = other // 4, 2 * (other % 4)
            places = (group, pair), (group + 8, pair), (group, pair + 8), (group + 8, pair + 8)
            for (row, k), both in zip(places, read(_words(theirs))):
                left[row, k:k + 2] = both
            for k, both in zip((pair, pair + 8), read(_words(those))):
                right[k:k + 2, group] = both
        product = left @ right
        group, pair = lane // 4, 2 * (lane % 4)
        return tuple(np.float32(c[q] + product[group + 8 * (q // 2), pair + q % 2]) for q in range(4))
    return answer(*running().exchange((a, b)))


@_instruction
def multiply_bfloat16(a, b, c):
    """A (16 x 16) @ B (16 x 8) + C of a warp: four packed words of A, two of B, four sums a thread."""
    return _multiplied(a, b, c, lambda words: (words.astype(np.uint32) << 16).view(np.float32))


@_instruction
def multiply_float16(a, b, c):
    """The same of float16."""
    return _multiplied(a, b, c, lambda words: words.view(np.float16).astype(np.float32))
