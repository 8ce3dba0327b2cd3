"""Copies of rows by vectors that reach beyond them: against NumPy, in memory that ends where the arrays begin and end."""
import itertools
from math import prod

import numpy as np
import pytest
from fenced import Fenced, fenced_only

from numtorch.kernels import threads
from numtorch.kernels.cpu.move import rearrange, words


@pytest.fixture
def thread_count():
    before = threads.get_num_threads()
    yield threads.set_num_threads
    threads.set_num_threads(before)


def some(dtype, shape):
    return (np.random.default_rng(0).normal(size=shape) * 50 + 60).astype(dtype)


SHAPES = [(1,), (5,), (100,), (7, 3), (3, 7), (40, 3), (3, 40), (33, 17), (5, 16), (4, 15), (9, 8), (2, 3, 4), (9, 2, 100), (3, 20_003),
          (12_000, 3), (2, 2000, 8), (20, 5, 300), (3, 3, 3, 3)]


@fenced_only
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex128"])
def test_flip(dtype, thread_count):
    for shape in SHAPES:
        x = Fenced(some(dtype, shape), True), Fenced(some(dtype, shape), False)
        chosen = [dims for count in range(1, len(shape) + 1) for dims in itertools.combinations(range(len(shape)), count)]
        for (number, dims), source in zip(itertools.product((1, 2, 3), chosen), itertools.cycle(x)):
            thread_count(number)
            expected = np.flip(source.array, dims)
            strides, dense = ([step // x.itemsize for step in x.strides] for x in (expected, source.array))
            plan = words.plan_move(expected.itemsize, shape, strides, dense)
            out = Fenced(np.zeros_like(expected, order="C"), number == 1)
            plan.call(expected.ctypes.data, out.address, plan.descriptor)
            np.testing.assert_array_equal(out.array, expected, f"{shape} {dims} {number}")


@fenced_only
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("widths", [(3, 2), (10, 10), (3, 40, 2, 7), (300, 2), (100, 65), (2,)])
def test_join(dtype, widths, thread_count):
    """Of rows one after another, with others between them, that overlap, and of one row again and again."""
    pitch = sum(widths)
    for rows, steps in itertools.product((1, 2, 9, 2000), ("dense", "apart", "overlapping", "still")):
        x, pieces, expected = [], [], np.zeros((rows, pitch), dtype)
        for width in widths:
            step = {"dense": width, "apart": width + 5, "overlapping": max(1, width // 2), "still": 0}[steps]
            x.append(Fenced(some(dtype, (rows - 1) * step + width), rows != 2))
            place = sum(piece[1] for piece in pieces)
            pieces.append((rows, width, step, place, pitch))
            values, size = x[-1].array, x[-1].array.itemsize
            expected[:, place:place + width] = np.lib.stride_tricks.as_strided(values, (rows, width), (step * size, size))
        table = np.array([each.address for each in x])
        for number in (1, 2, 3):
            thread_count(number)
            out = Fenced(np.zeros_like(expected), number == 1)
            plan = rearrange.plan_join(expected.itemsize, pieces)
            plan.call(table.ctypes.data, out.address, plan.descriptor)
            np.testing.assert_array_equal(out.array, expected, f"{rows} {steps} {number}")


def reach(shape, strides):
    return sum((extent - 1) * step for extent, step in zip(shape, strides)) + 1


def dense(shape):
    return [prod(shape[d + 1:]) for d in range(len(shape))]


def strided(array, shape, strides):
    return np.lib.stride_tricks.as_strided(array, shape, [step * array.itemsize for step in strides])


@fenced_only
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64"])
def test_every_nth(dtype, thread_count):
    """Of rows short and long, one after another or apart in either, from the first element of a memory to its last."""
    size = np.dtype(dtype).itemsize
    cases = itertools.product((2, 3, 4), [(4,), (9,), (64,), (65,), (200,), (300_001,), (5, 7), (3, 150), (2, 3, 33), (2000, 257)],
                              (0, 1, 5))
    for turn, (step, shape, apart) in enumerate(cases):
        *lead, n = shape
        pitch, out_pitch = n * step + apart, n + (apart if apart == 5 else 0)
        strides = [pitch, step] if lead else [step]
        out_strides = [out_pitch, 1] if lead else [1]
        if len(lead) == 2:                               # whose rows change places
            strides, out_strides = [pitch * lead[1], pitch, step], [out_pitch, lead[0] * out_pitch, 1]
        x = Fenced(some(dtype, reach(shape, strides)), turn % 2 == 0)
        expected = strided(x.array, shape, strides)
        for number in (1, 2, 3):
            thread_count(number)
            out = Fenced(np.zeros(reach(shape, out_strides), dtype), number == 1)
            plan = words.plan_move(size, shape, tuple(strides), tuple(out_strides))
            plan.call(x.address, out.address, plan.descriptor)
            np.testing.assert_array_equal(strided(out.array, shape, out_strides), expected, f"{step} {shape} {apart} {number}")


@fenced_only
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex128"])
def test_moves(dtype, thread_count):
    """Dims in any order, turned round, and with gaps in x or in `out`, whose memory ends where the first and last element are."""
    size, turns = np.dtype(dtype).itemsize, itertools.count()
    for shape in [(3, 2), (50, 4), (9, 8), (40, 3), (6, 4, 3), (2, 300, 3), (3, 5, 70), (4, 7, 2, 5), (2, 2000, 20), (3, 4100)]:
        for order in itertools.islice(itertools.permutations(range(len(shape))), 0, None, 1 if len(shape) < 4 else 5):
            turn = next(turns)
            x_gap, out_gap = (0, 0, 1, 8)[turn % 4], (0, 3, 0)[turn % 3]
            x_strides, out_strides = (dense((*shape[:-1], shape[-1] + gap)) for gap in (x_gap, out_gap))
            x = Fenced(some(dtype, reach(shape, x_strides)), turn % 2 == 0)
            view = strided(x.array, shape, x_strides)
            expected = view[tuple(slice(None, None, -1 if turn >> d & 1 else 1) for d in range(len(shape)))].transpose(order)
            out_shape = [shape[d] for d in order]
            out_strides = dense(out_shape) if out_gap == 0 else [out_strides[d] for d in order]
            for number in (1, 2):
                thread_count(number)
                out = Fenced(np.zeros(reach(out_shape, out_strides), dtype), number == 1)
                plan = words.plan_move(size, tuple(out_shape), [step // size for step in expected.strides], out_strides)
                plan.call(expected.ctypes.data, out.address, plan.descriptor)
                np.testing.assert_array_equal(strided(out.array, out_shape, out_strides), expected, f"{shape} {order} {turn}")
