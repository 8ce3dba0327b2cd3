"""Matrix products against NumPy in float64, over shapes, strides, dtypes, epilogues, tiles and threads.

Operands lie in buffers whose other elements are NaN, and C among guard values: nothing may leak in or be written outside.
"""
import ctypes
import itertools
import mmap
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from numtorch.kernels import threads
from numtorch.kernels.cpu.gemm import depth as gemmdepth
from numtorch.kernels.cpu.gemm import gemm, gemv, tiny
from numtorch.kernels.cpu.gemm.gemm import plan_gemm
from numtorch.kernels.cpu.micro import tile

GUARD = 77
TOLERANCE = {"float32": 3e-6, "float64": 1e-14, "complex64": 3e-6, "complex128": 1e-14}
ROUNDING = {"float16": 2.0 ** -11, "bfloat16": 2.0 ** -8}          # of one rounding to a word of these, relative


def to_words(values, dtype):
    """An array of the stored form of a dtype."""
    if dtype == "bfloat16":
        bits = np.asarray(values, np.float32).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.asarray(values).astype(dtype)


def from_words(words, dtype):
    if dtype == "bfloat16":
        return (words.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return words.astype(np.complex128 if words.dtype.kind == "c" else np.float64)


class Matrix:
    """`batch` matrices in a buffer with room around them and between rows, its remaining elements `fill`."""

    def __init__(self, batch, rows, columns, dtype, layout, fill, rng):
        order = {"row": (columns + 3, 1), "column": (1, rows + 3), "strided": (2 * columns + 1, 2), "reversed": (-(columns + 2), -1),
                 "repeated": (0, 1)}[layout]
        lengths = [(n - 1) * s if n else 0 for n, s in zip((rows, columns), order)]
        span = sum(map(abs, lengths)) + 5
        self.strides, self.batch_stride, self.dtype = order, span, dtype
        origin = 40 - sum(x for x in lengths if x < 0)
        values = rng.integers(-9, 9, batch * span + 80) if np.dtype(to_words(0, dtype).dtype).kind in "iu" and dtype != "bfloat16" \
            else rng.standard_normal(batch * span + 80)
        self.buffer = to_words(np.full(values.shape, fill), dtype)
        self.view = np.lib.stride_tricks.as_strided(
            self.buffer[origin:], (batch, rows, columns), [s * self.buffer.itemsize for s in (span, *order)])
        index = np.lib.stride_tricks.as_strided(
            np.arange(len(values))[origin:], (batch, rows, columns), [s * 8 for s in (span, *order)])
        self.inside = np.zeros(len(values), bool)
        self.inside[index.ravel()] = True
        self.buffer[self.inside] = to_words(values, dtype)[self.inside]
        self.address = self.buffer.ctypes.data + origin * self.buffer.itemsize

    @property
    def values(self):
        return from_words(np.ascontiguousarray(self.view), self.dtype)


def workspace_for(prepared):
    raw = np.full(prepared.workspace + 128, 0xFF, np.uint8)         # NaN, for whoever reads what it has not written
    start = -raw.ctypes.data % 64
    return raw, raw.ctypes.data + start, raw[start + prepared.workspace:]


def check(m, n, k, dtype="float32", a="row", b="row", c="row", batch=1, bias=None, bias_stride=1, activation=None, alpha=1,
          beta=0):
    rng = np.random.default_rng(m * 10007 + n * 101 + k)
    floating = np.dtype(to_words(0, dtype).dtype).kind in "fc" or dtype == "bfloat16"
    fill = np.nan if floating else GUARD
    left, right = Matrix(batch, m, k, dtype, a, fill, rng), Matrix(batch, k, n, dtype, b, fill, rng)
    out = Matrix(batch, m, n, dtype, c, GUARD, rng)
    before = out.values
    if not beta and floating:
        out.view[...] = to_words(np.nan, dtype)                     # beta = 0 must not read C
    shifts = to_words(rng.integers(-5, 5, (max(m, n) + 1) * bias_stride), dtype)
    used = shifts[::bias_stride][:n if bias == "column" else m]
    prepared = plan_gemm(m, n, k, dtype, left.strides, right.strides, out.strides, batch=batch,
                         batch_strides=(left.batch_stride, right.batch_stride, out.batch_stride), bias=bias,
                         bias_stride=bias_stride, activation=activation, alpha=alpha, beta=beta)
    keep, workspace, beyond = workspace_for(prepared)
    guard = beyond.copy()
    prepared.call(left.address, right.address, out.address, shifts.ctypes.data if bias else 0, workspace, prepared.descriptor)
    expected = alpha * (left.values @ right.values) + (beta * before if beta else 0)
    scale = abs(alpha) * (abs(left.values) @ abs(right.values)) + 1 + abs(before) * abs(beta)
    if bias:
        shift = from_words(used, dtype)
        expected = expected + (shift if bias == "column" else shift[:, None])
        scale = scale + 5
    if activation:
        expected = np.where(expected < 0, 0, expected)
    case = (m, n, k, dtype, a, b, c, batch, bias, activation, alpha, beta)
    if dtype in ROUNDING:                                           # summed in float32, rounded once
        assert (abs(out.values - expected) <= ROUNDING[dtype] * abs(expected) + (k + 6) * 2.0 ** -24 * scale).all(), case
    elif floating:
        assert (abs(out.values - expected) <= TOLERANCE[dtype] * scale).all(), case
    else:
        assert (np.ascontiguousarray(out.view) == expected.astype(np.int64).astype(dtype)).all(), case
    assert (out.buffer[~out.inside] == to_words(GUARD, dtype)).all(), case
    assert (beyond == guard).all(), case
    del keep


ROWS, COLUMNS, DEPTHS = (1, 2, 13, 14, 15, 29), (1, 7, 16, 17, 31, 32, 33, 65), (0, 1, 15, 16, 17, 67)


def sweep(dtype, rows=ROWS, columns=COLUMNS, depths=DEPTHS):
    for m, n, k in itertools.product(rows, columns, depths):
        for a, b in itertools.product(("row", "column"), repeat=2):
            check(m, n, k, dtype, a, b)
        check(m, n, k, dtype, "row", "column", "column", bias="column", activation="relu", alpha=2, beta=-1)
        check(m, n, k, dtype, "column", "row", "row", bias="row", alpha=-1, beta=1)


@pytest.fixture
def thread_count():
    before = threads.get_num_threads()
    yield threads.set_num_threads
    threads.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_shapes(dtype):
    sweep(dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_shapes_of_16_bit_words(dtype):
    sweep(dtype, (1, 17), (1, 33), (0, 17, 67))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "complex64", "complex128"])
def test_shapes_of_loops(dtype):
    for m, n, k in itertools.product((1, 3, 5), (1, 7), (0, 1, 6)):
        check(m, n, k, dtype)
        check(m, n, k, dtype, "column", "strided", "reversed", batch=2, bias="column", bias_stride=2, alpha=3, beta=2)
        check(m, n, k, dtype, bias="row", alpha=2j if dtype[0] == "c" else 2)
    check(3, 2000, 5, dtype)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
def test_shapes_of_integers(dtype):
    for m, n, k in itertools.product((1, 15, 29), (1, 33, 64, 130), (0, 1, 33, 67)):
        check(m, n, k, dtype)
        check(m, n, k, dtype, "column", "column", bias="row", beta=2)
        check(m, n, k, dtype, "row", "strided", "column", batch=2, alpha=3, bias="column", bias_stride=2)
    check(300, 260, 700, dtype, "row", "column")
    for m, n, k in ((3, 34, 70), (34, 3, 70), (12, 13, 5), (20, 1100, 1000)):       # dot products
        check(m, n, k, dtype, "row", "column", batch=2, bias="row", bias_stride=2, beta=2)
        check(m, n, k, dtype, "row", "column", "column", bias="column", alpha=3)
    check(20, 700, 900, dtype, "column", "row", bias="column", activation="relu" if dtype in ("int32", "int64") else None)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_strides(dtype):
    for a, b, c in itertools.product(("row", "column", "strided", "reversed", "repeated"), ("row", "strided", "reversed", "repeated"),
                                     ("row", "column", "strided", "reversed")):
        for m, n, k in ((1, 33, 20), (30, 1, 20), (17, 35, 19)):
            check(m, n, k, dtype, a, b, c, bias="column", bias_stride=3, beta=1)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_blocks(dtype):
    for m, n, k in ((300, 700, 900), (70, 2100, 800), (15, 1100, 700), (500, 33, 1100), (1, 1, 5000), (1, 5000, 300), (29, 1500, 1)):
        check(m, n, k, dtype, "row", "column", bias="column", activation="relu", alpha=2, beta=-1)
        check(m, n, k, dtype, "column", "row", bias="row")


def test_batches():
    for m, n, k in ((5, 7, 3), (32, 32, 32), (1, 20, 9), (20, 1, 9), (40, 70, 30)):
        for a, b, c in itertools.product(("row", "column"), repeat=3):
            check(m, n, k, "float32", a, b, c, batch=6, bias="row")
        check(m, n, k, "float16", batch=3)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_batches_of_tiny_matrices(dtype, count, thread_count, monkeypatch):
    thread_count(count)
    taken = []
    monkeypatch.setattr(tiny, "plan", lambda problem, plan=tiny.plan: taken.append(problem) or plan(problem))
    for m, n, k in ((1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4), (3, 1, 3), (1, 8, 4), (8, 4, 8), (1, 1, 37)):
        for a, b, c in itertools.product(("row", "column", "reversed"), ("row", "column", "strided"), ("row", "column")):
            check(m, n, k, dtype, a, b, c, batch=8)
        assert taken, (m, n, k)
        taken.clear()
        check(m, n, k, dtype, "repeated", batch=4001)
        check(m, n, k, dtype, batch=9, bias="row", alpha=2)
        assert len(taken) == 1                               # what is added or scaled goes elsewhere
        taken.clear()
    check(9, 2, 2, dtype, batch=8), check(2, 2, 2, dtype, batch=7), check(8, 8, 8, dtype, batch=8), check(2, 2, 0, dtype, batch=8)
    assert not taken


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_a_vector_and_a_deep_narrow_matrix(dtype):
    for n, k in itertools.product((2, 3, 8, 9, 15, 16, 17), (128, 131, 1030)):
        check(1, n, k, dtype)
        check(n, 1, k, dtype, "column", "row", bias="row", beta=2, activation="relu")
        check(1, n, k, dtype, "strided", "strided", batch=3)
        check(1, n, k, dtype, "row", "reversed", bias="column", alpha=3)


def test_nothing_to_do():
    for m, n, batch in ((0, 3, 1), (3, 0, 1), (3, 3, 0)):
        prepared = plan_gemm(m, n, 4, "float32", (4, 1), (3, 1), (3, 1), batch=batch)
        assert prepared.workspace == 0
        prepared.call(0, 0, 0, 0, 0, prepared.descriptor)


def test_nan_and_infinity_survive():
    for poison, activation in ((np.nan, "relu"), (np.nan, None), (np.inf, None)):
        a, b, c = np.ones((20, 40), np.float32), np.ones((40, 50), np.float32), np.zeros((20, 50), np.float32)
        a[3, 7] = poison
        prepared = plan_gemm(20, 50, 40, "float32", (40, 1), (50, 1), (50, 1), activation=activation)
        _keep, workspace, _ = workspace_for(prepared)
        prepared.call(a.ctypes.data, b.ctypes.data, c.ctypes.data, 0, workspace, prepared.descriptor)
        np.testing.assert_array_equal(c[3], np.full(50, poison))
        assert (np.delete(c, 3, axis=0) == 40).all()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mprotect through the C library")
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_operands_that_end_at_an_unmapped_page(dtype):
    page = mmap.PAGESIZE
    pages = mmap.mmap(-1, 4 * page)
    end = (ctypes.addressof(ctypes.c_char.from_buffer(pages)) + 3 * page) // page * page
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    assert protect(end, page, 0) == 0
    try:
        for m, n, k in ((5, 7, 9), (14, 32, 16), (15, 17, 17), (1, 9, 13), (9, 1, 13), (1, 5, 200), (1, 9, 131)):
            for turned_a, turned_b, flush in itertools.product((0, 1), (0, 1), range(3)):
                sizes = m * k, k * n, m * n
                arrays = [np.zeros(size, dtype) for size in sizes]
                addresses = [x.ctypes.data for x in arrays]
                addresses[flush] = end - arrays[flush].nbytes
                prepared = plan_gemm(m, n, k, dtype, (1, m) if turned_a else (k, 1), (1, k) if turned_b else (n, 1), (n, 1))
                _keep, workspace, _ = workspace_for(prepared)
                prepared.call(*addresses, 0, workspace, prepared.descriptor)
    finally:
        assert protect(end, page, mmap.PROT_READ | mmap.PROT_WRITE) == 0


@pytest.mark.parametrize("vector_bytes", [16, 32])
def test_narrower_vectors(vector_bytes, monkeypatch):
    if vector_bytes > tile.host_vector()[0]:
        pytest.skip("wider than this processor's vectors")
    monkeypatch.setenv("NUMTORCH_VECTOR_BYTES", str(vector_bytes))
    # Four lanes are four lanes: float64 has two of them in 16 bytes, float32 and the integers eight in 32.
    for dtype in ("float32", "float64") if vector_bytes == 16 else ("float32",):
        sweep(dtype, (1, 5, 6, 13), (3, 8, 15, 17), (0, 7, 17))
        check(300, 530, 800, dtype, "row", "column", bias="column", beta=2)
        check(300, 530, 800, dtype, "column", "row", bias="row", activation="relu")
        check(1, 13, 300, dtype), check(1, 3, 131, dtype)
    for m, n, k in ((5, 7, 17), (13, 65, 9)):
        check(m, n, k, "int16", "row", "column", bias="column", beta=2)
        check(m, n, k, "int16", "column", "row")
    check(60, 90, 70, "float16", "strided", "column")


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_threads(count, thread_count):
    thread_count(count)
    for m, n, k in ((64, 128, 784), (128, 784, 64), (333, 70, 100), (1, 700, 700), (700, 1, 700), (257, 513, 900)):
        check(m, n, k, "float32", "row", "column", bias="column", bias_stride=2)
        check(m, n, k, "float32", "column", "row", "column", bias="row", activation="relu", beta=1)
    check(200, 90, 80, "float16", batch=3)
    check(32, 32, 32, "float64", batch=9, bias="column")
    check(100, 90, 80, "int32", "row", "column", bias="row")
    check(5, 900, 300, "int32", "row", "column", bias="row")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_rows_and_columns_share_the_depth(dtype, count, thread_count, monkeypatch):
    thread_count(count)
    shared = []
    monkeypatch.setattr(gemmdepth, "plan", lambda *given, plan=gemmdepth.plan: shared.append(given) or plan(*given))
    if count > 1:
        sweep(dtype, (2, 17), (5, 32, 50), (4099,))
    check(20, 20, 5000, dtype, "strided", "reversed", "row", bias="row", bias_stride=2)
    assert bool(shared) == (count > 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_few_vectors_along_the_depth_are_dot_products(dtype, thread_count, monkeypatch):
    thread_count(2)
    taken = []
    monkeypatch.setattr(gemv, "plan", lambda *given, plan=gemv.plan: taken.append(given) or plan(*given))
    tables = (2, 33, 64), (3, 32, 65), (4, 47, 100), (4, 600, 601)
    for few, many, depth in tables:
        check(many, few, depth, dtype, "row", "strided", "row", bias="column", beta=0.5)
        check(few, many, depth, dtype, "reversed", "column", "row", batch=2, bias="row", activation="relu", alpha=1.5)
    assert len(taken) == 2 * len(tables)
    check(7, 45, 530, dtype, "row", "column", "row")
    check(45, 5, 530, dtype, "row", "column", "column")
    assert len(taken) == 2 * len(tables) + (2 if dtype == "float32" else 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_asked_for_beyond_the_last(dtype):
    asked = []
    taken = gemm.compile_for
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gemm, "compile_for", lambda *given, **names: asked.append(names["LANES"] & tile.ASK_ROWS) or taken(*given, **names))
        check(130, 70, 130, dtype, batch=9, beta=0.5)
        check(2001, 33, 70, dtype, bias="column", activation="relu")
        check(130, 70, 130, dtype, batch=2)
    assert [bool(a) for a in asked] == [True, True, False]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_that_share_a_set_of_the_cache(dtype):
    for m, n in (9, 40), (11, 64), (31, 16), (95, 65):
        check(m, n, 4096 // np.dtype(dtype).itemsize - 3, dtype, bias="row")          # 3 elements of room between rows


def test_python_threads_at_once():
    errors = []

    def work(seed):
        try:
            for i in range(8):
                check(60 + seed, 200 + i, 150, "float32", "row", "column")
        except AssertionError as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not errors


def test_without_the_compiler():
    code = """
from test_kernel_gemm import check
for dtype in ("float32", "float16", "complex64", "int32"):
    for a, b, c in (("row", "row", "row"), ("column", "column", "column"), ("row", "column", "strided")):
        check(3, 4, 5, dtype, a, b, c, bias="column", beta=1)
        check(1, 4, 5, dtype, a, b, c, bias="row")
check(15, 34, 17, "float32", "row", "column", activation="relu")
"""
    path = os.pathsep.join([*map(str, Path(__file__).resolve().parents[:4]), os.environ.get("PYTHONPATH", "")])
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path})
