"""What the threads of a block wait for, and what the 32 of a warp do together: matrices loaded from shared memory and multiplied by
tensor cores, and copies from memory to shared memory that go on meanwhile.

Intrinsics: PTX in warps_ir.py, and Python twins for the simulator, which have each element where the instruction has it (PTX ISA,
"Matrix Fragments for mma.m16n8k16" and "m16n8k8").
"""
from __future__ import annotations

import functools

import numpy as np

from ..intrinsics import Intrinsic, float_to_bfloat16, float_to_half
from .turns import running

WARP = 32                                                # threads
TF32 = np.uint32(0xFFFFE000)                             # the bits of a float32 that tensor cores see

_instruction = functools.partial(Intrinsic, module="numtorch.kernels.cuda.warps_ir")


@_instruction
def barrier():
    """`cuda.syncthreads()` for functions that kernels call, whose `cuda` the simulator does not replace."""
    running().wait()


@_instruction
def warp_barrier():
    """The same for the 32 threads of a warp."""
    running().exchange(None)


_ANSWER = "answer"                                       # beside the lanes' values, which are by number


def _together(value, answers):
    """Of each lane its own of `answers(values)`, which is made once a warp of what the lanes give."""
    values, lane = running().exchange(value)
    if _ANSWER not in values:
        values[_ANSWER] = answers([values[k] for k in range(WARP)])
    return values[_ANSWER][lane]


@_instruction
def lane_across(x, mask):
    """What the lane has whose number differs in the bits of `mask`: a number of any type."""
    values, lane = running().exchange(x)
    return values[lane ^ int(mask)]


@_instruction
def lane_before(x, distance):
    """What the lane has that is so many before this one; of the first ones their own."""
    values, lane = running().exchange(x)
    return values[lane - int(distance) if lane >= distance else lane]


@_instruction
def lanes_alike(x):
    """The lanes whose word is this one's, a bit each."""
    values, _ = running().exchange(x)
    return np.uint32(sum(1 << lane for lane, value in values.items() if value == x))


@_instruction
def count_bits(x):
    """How many bits of a word of 32 are set."""
    return int(x).bit_count()


@_instruction
def exponential2(x):
    """2 to the power of a float32, to 22 bits."""
    return np.exp2(np.float32(x))


@_instruction
def packed_bfloat16(low, high):
    """Two float32 rounded, as a word."""
    return np.uint32(int(float_to_bfloat16.twin(low)) | int(float_to_bfloat16.twin(high)) << 16)


@_instruction
def packed_float16(low, high):
    """The same of float16."""
    return np.uint32(int(float_to_half.twin(low)) | int(float_to_half.twin(high)) << 16)


# ---------------------------------------------------------------- copies to shared memory
# Shared memory that the instructions below take is declared as words of 32 bits, uint32, and aligned to 16 bytes.
def _aligned(array, at):
    if (array.ctypes.data + 4 * at) % 16:
        raise ValueError(f"word {at} of shared memory is not at a multiple of 16 bytes")


@_instruction
def shared_address(array, index):
    """Where a word of an array in shared memory is, as the instructions below take it."""
    return array, int(index)


@_instruction
def further(address, nbytes):
    """A place in shared memory so many bytes further, a multiple of 4."""
    array, at = address
    if nbytes % 4:
        raise ValueError(f"{nbytes} bytes are no words")
    return array, at + int(nbytes) // 4


@_instruction
def bytes_within(count):
    """How many bytes of a chunk of 16 are inside, where `count` bytes are from its beginning on."""
    return np.int32(min(max(count, 0), 16))


@_instruction
def shared_word(address):
    """The word at a place of shared memory."""
    array, at = address
    return np.uint32(array[at])


@_instruction
def shared_words(address):
    """The four words there, whose first is at a multiple of 16 bytes."""
    array, at = address
    _aligned(array, at)
    return tuple(np.uint32(word) for word in array[at:at + 4])


@_instruction
def shared_pair(address):
    """The two float32 there, whose first is at a multiple of 8 bytes."""
    array, at = address
    return tuple(np.array(array[at:at + 2], np.uint32).view(np.float32))


@_instruction
def put_rows(address, sums, pitch):
    """Write 16 rows of a warp's sums to shared memory, as `add_products...` has them, rows `pitch` words apart (a literal). The
    address is a lane's own: of its first row and its first column."""
    array, at = address
    for place, total in enumerate(sums):
        matrix, q = divmod(place, 4)
        array[at + 8 * matrix + q % 2 + q // 2 * 8 * pitch] = np.float32(total).view(np.uint32)


@_instruction
def store_words(pointer, words):
    """Write four words to memory, at a multiple of 16 bytes, whatever elements the pointer is to."""
    if pointer.address % 16:
        raise IndexError(f"four words do not begin at {pointer.address:#x}")
    for place, value in enumerate(np.array(words, np.uint32).view(pointer.dtype)):
        pointer[place] = value


@_instruction
def copy_async(target, source, nbytes):
    """Copy 16 bytes to shared memory, of which all but the first `nbytes` become 0; done when `await_groups...` says so."""
    array, at = target
    _aligned(array, at)
    size = source.dtype.itemsize
    values = [source[i] if size * i < nbytes else 0 for i in range(16 // size)]
    array[at:at + 4] = np.array(values, source.dtype).view(array.dtype)


@_instruction
def copy_word_async(target, source, nbytes):
    """The same of one word: `nbytes` are 4, or 0 where it becomes 0."""
    array, at = target
    array[at] = np.array(source[0] if nbytes else 0, source.dtype).view(array.dtype)


@_instruction
def commit_copies():
    """The copies since the last of these are a group."""


@_instruction
def await_groups(left):
    """Wait for all groups of this thread's copies but the last `left`, a literal."""


# ---------------------------------------------------------------- matrices
def _lines(addresses):
    """The 32 lines of four words that the lanes say the places of: of each of four matrices eight."""
    for array, at in addresses:
        _aligned(array, at)
    return np.array([array[at:at + 4] for array, at in addresses]).reshape(4, 8, 4)


@_instruction
def load_matrices(address):
    """Four matrices of eight lines of 16 bytes from shared memory, a word of each a thread; thread 8 q + r says where line r of
    matrix q is."""
    return _together(address, lambda addresses: [tuple(words) for words in _lines(addresses).reshape(4, WARP).T])


@_instruction
def load_matrices_transposed(address):
    """The same of 8 x 8 elements of 16 bits, transposed."""
    def transposed(addresses):
        halves = np.ascontiguousarray(_lines(addresses)).view(np.uint16).swapaxes(1, 2)
        return [tuple(words) for words in np.ascontiguousarray(halves).view(np.uint32).reshape(4, WARP).T]
    return _together(address, transposed)


@_instruction
def rounded_to_tf32(words):
    """Four float32 as words, rounded to the eleven bits that tensor cores multiply: to the nearest, ties away from zero."""
    bits = np.array(words, np.uint32)
    finite = (bits & 0x7F800000) != 0x7F800000
    return tuple(np.where(finite, bits + np.uint32(0x1000), bits) & TF32)


def _product(values, read):
    """A @ B + C of a warp. A word of A is of row `lane / 4` or eight below it and of the step of the depth that `lane % 4` says or
    four words further; of B the same with columns for rows."""
    a, b, c = (np.array([lane[part] for lane in values]) for part in range(3))
    lane = np.arange(WARP)
    left, right, sums = np.zeros((16, 8), np.uint32), np.zeros((8, 8), np.uint32), np.zeros((16, 8), np.float32)
    group, word = lane // 4, lane % 4
    for q in range(4):
        left[group + 8 * (q % 2), word + 4 * (q // 2)] = a[:, q]
        sums[group + 8 * (q // 2), 2 * word + q % 2] = c[:, q]
    for q in range(2):
        right[group, word + 4 * q] = b[:, q]
    sums = sums + read(left) @ read(right).T
    return [tuple(sums[g + 8 * (q // 2), 2 * w + q % 2] for q in range(4)) for g, w in zip(group, word)]


def _halves(words):
    return np.ascontiguousarray(words).view(np.uint16)


def _bfloat16(words):
    return (_halves(words).astype(np.uint32) << 16).view(np.float32)


def _products(read):
    """A @ B + C of a warp, for matrices of A below each other and pairs of matrices of B beside each other: of each of A four words
    a thread, and of each pair of B; sums by rows of matrices, four a matrix. A is 16 x 16 elements of 16 bits, or 16 x 8 of tf32,
    whose last 13 bits are of no consequence: `rounded_to_tf32` comes before."""
    def add_products(a, b, sums):
        def answers(values):
            found: list = [[] for _ in values]
            for place in range(len(sums) // 4):
                r, s = divmod(place, 2 * len(b))
                matrix = [(a[r], b[s // 2][2 * (s % 2):2 * (s % 2) + 2], c[4 * place:4 * place + 4]) for a, b, c in values]
                for lane, four in zip(found, _product(matrix, read)):
                    lane += four
            return [tuple(lane) for lane in found]
        return _together((a, b, sums), answers)
    return add_products


def _named(name, read):
    function = _products(read)
    function.__name__, function.__doc__ = name, _products.__doc__
    return _instruction(function)


add_products_bfloat16 = _named("add_products_bfloat16", _bfloat16)
add_products_float16 = _named("add_products_float16", lambda words: _halves(words).view(np.float16).astype(np.float32))
add_products_tf32 = _named("add_products_tf32", lambda words: (words & TF32).view(np.float32))


# ---------------------------------------------------------------- sixteen bytes at once
def _at_sixteen(memory, index):
    address = memory.ctypes.data if isinstance(memory, np.ndarray) else memory.address
    if (address + int(index) * memory.dtype.itemsize) % 16:
        raise ValueError(f"element {index} is not at a multiple of 16 bytes")
    return range(int(index), int(index) + 16 // memory.dtype.itemsize)


@_instruction
def neighbours(source, index):
    """The elements from number `index` on, of memory or shared memory, that 16 bytes hold."""
    return tuple(source[i] for i in _at_sixteen(source, index))


@_instruction
def put_neighbours(target, index, values):
    """Write as many."""
    for i, value in zip(_at_sixteen(target, index), values, strict=True):
        target[i] = value


# ---------------------------------------------------------------- warp groups (Hopper)
@_instruction
def fence_async():
    """What this thread wrote to shared memory is seen by the instructions below, once all have passed a barrier."""


def _without_swizzle(address, count):
    """Lines of 128 bytes, as (count, 64 elements of 16 bits), whose chunk c of 16 bytes is at the place c ^ (line & 7)."""
    array, at = address
    if (array.ctypes.data + 4 * at) % 1024:
        raise ValueError(f"word {at} of shared memory is not at a multiple of 1024 bytes")
    chunks = np.asarray(array)[at:at + 32 * count].reshape(count, 8, 4)
    lines = np.arange(count)
    return chunks[lines[:, None], np.arange(8) ^ (lines[:, None] & 7)].reshape(count, 32).view(np.uint16)


def _operand(address, extent, panel):
    """Rows of A or columns of B, as (extent, 64 of the depth), in lines along the depth, or across it in panels, bytes apart."""
    if not panel:
        return _without_swizzle(address, extent)
    array, at = address
    return np.concatenate([_without_swizzle((array, at + p * panel // 4), 64).T for p in range(-(-extent // 64))])[:extent]


def _group_products(read):
    def add_group_products(sums, a, b, a_panel, b_panel):
        """A (64 x 64) @ B (64 x N) + C of four warps, of 16 rows each, with sums as `add_products...` has them: a slice of 64 of
        the depth in shared memory. They are not there until `await_sums` says so. `a_panel` and `b_panel`, literals: 0 where the
        operand lies in lines along the depth, else the bytes between its panels."""
        first = running().current.number // WARP % 4 * 16

        def answers(values):
            columns = len(sums) // 4 * 8
            operands = _operand(a, 64, a_panel)[first:first + 16], _operand(b, columns, b_panel)
            left, right = (read(np.ascontiguousarray(x)) for x in operands)
            products = left @ right.T
            rows, across = np.arange(WARP) // 4, np.arange(WARP) % 4 * 2
            places = [(rows + 8 * (q // 2), across + q % 2) for q in range(4)]
            added = np.stack([products[row[:, None], column[:, None] + np.arange(0, columns, 8)] for row, column in places], -1)
            return [tuple(np.float32(x) for x in np.array(total, np.float32) + more)
                    for total, more in zip(values, added.reshape(WARP, -1))]
        return _together(sums, answers)
    return add_group_products


def _of_groups(name, read):
    function = _group_products(read)
    function.__name__ = name
    return _instruction(function)


add_group_products_bfloat16 = _of_groups("add_group_products_bfloat16", lambda x: (x.astype(np.uint32) << 16).view(np.float32))
add_group_products_float16 = _of_groups("add_group_products_float16", lambda x: x.view(np.float16).astype(np.float32))


@_instruction
def await_products(left):
    """Wait for all slices that this thread's group multiplies but the last `left`, a literal."""


@_instruction
def await_sums(sums):
    """The sums, once all that was to be added has been."""
    return sums


# ---------------------------------------------------------------- sums of a thread
@_instruction
def add_outer_product(sums, left, right):
    """Each of `left` times each of `right` added to sums, which lie in lines of as many as `right` has."""
    products = (x * y for x in left for y in right)
    return tuple(type(total)(total + product) for total, product in zip(sums, products, strict=True))


@_instruction
def rectified(sums):
    """The sums, and 0 for those below."""
    return tuple(type(total)(0) if total < 0 else total for total in sums)
