"""The kernels of recurrent layers: gates against NumPy in float64, the order of steps, panels, and the loop itself."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from numtorch.kernels import threads
from numtorch.kernels.cpu.rnn import rnn
from numtorch.kernels.cpu.rnn.gates import KINDS, plan_gates
from numtorch.kernels.cpu.rnn.panels import plan_panels, plan_product, size_of_panels
from numtorch.kernels.families.recurrent import FORWARD, GATES, Step, steps_of

TOLERANCE = {"float32": 2e-6, "float64": 1e-14, "float16": 4e-3, "bfloat16": 3e-2}


def to_words(array, dtype):
    if dtype == "bfloat16":
        bits = np.asarray(array, np.float32).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.asarray(array).astype(dtype).view(np.uint16 if dtype == "float16" else dtype)


def from_words(words, dtype):
    if dtype == "bfloat16":
        return (words.astype(np.uint32) << 16).view(np.float32).astype(float)
    return words.view(dtype).astype(float)


class Guarded:
    """An array between two guard strips that must survive the kernel."""

    def __init__(self, array):
        array = np.ascontiguousarray(array)
        edge = 256
        self.raw = np.full(array.nbytes + 2 * edge, 0xA5, np.uint8)
        self.array = self.raw[edge:edge + array.nbytes].view(array.dtype).reshape(array.shape)
        self.array[...] = array
        self.address = self.array.ctypes.data if array.nbytes else self.raw.ctypes.data + edge

    def check(self):
        assert (self.raw[:256] == 0xA5).all() and (self.raw[len(self.raw) - 256:] == 0xA5).all()
        return self.array


def run(prepared, *arrays):
    """Call a prepared kernel on arrays (None: a null address); returns them."""
    guarded = [None if a is None else Guarded(a) for a in arrays]
    prepared.call(*[0 if g is None else g.address for g in guarded], prepared.descriptor)
    return [None if g is None else g.check() for g in guarded]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def cell_reference(kind, sums, product, before, cell):
    """One step in float64: activations, hidden state, cell state."""
    if kind.startswith("rnn"):
        hidden = np.tanh(sums) if kind == "rnn_tanh" else np.maximum(sums, 0)
        return hidden, hidden, None
    if kind == "lstm":
        i, f, g, o = np.split(sums, 4, 1)
        gates = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
        cell = gates[1] * cell + gates[0] * gates[2]
        return np.hstack(gates), gates[3] * np.tanh(cell), cell
    (r, z, n), (hr, hz, hn) = np.split(sums, 3, 1), np.split(product, 3, 1)
    r, z = sigmoid(r + hr), sigmoid(z + hz)
    n = np.tanh(n + r * hn)
    return np.hstack((r, z, n)), n + z * (before - n), None


# ---------------------------------------------------------------- gates
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_gates_forward(kind, dtype):
    rng = np.random.default_rng(0)
    count = GATES[kind]

    def exact(words):
        return from_words(words, dtype)

    for rows, n in ((1, 1), (3, 7), (2, 16), (5, 300), (0, 4)):
        gates, before, cell, product, other = (to_words(rng.normal(size=(rows, width * n)), dtype) for width in (count, 1, 1, 3, 3))
        bias = to_words(rng.normal(size=3 * n), dtype)
        zeros = np.zeros((rows, n), gates.dtype)
        expected = cell_reference(kind, exact(gates), exact(product) + exact(bias), exact(before), exact(cell))
        plan = plan_gates(kind, dtype, rows, n)
        if kind == "lstm":
            gates, _, new, hidden = run(plan, gates, cell, zeros, zeros)
            np.testing.assert_allclose(exact(new), expected[2], atol=TOLERANCE[dtype] * 4)
        elif kind == "gru":
            gates, _, _, _, hidden, kept = run(plan, gates, product, bias, before, zeros, zeros)
            np.testing.assert_allclose(exact(kept), (exact(product) + exact(bias))[:, 2 * n:], atol=TOLERANCE[dtype] * 4)
            without = run(plan_gates(kind, dtype, rows, n, absent=("kept",)), other, product, None, before, zeros, None)
            assert np.isfinite(exact(without[4])).all()
        else:
            hidden, = run(plan, gates)
            gates = hidden
        np.testing.assert_allclose(exact(gates), expected[0], atol=TOLERANCE[dtype] * 4)
        np.testing.assert_allclose(exact(hidden), expected[1], atol=TOLERANCE[dtype] * 8)


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gates_backward_is_the_derivative(kind, dtype):
    """Along a random direction of everything that goes in, by central differences in float64."""
    rng = np.random.default_rng(1)
    count, tolerance = GATES[kind], 2e-5 if dtype == "float32" else 1e-8
    for rows, n in ((1, 1), (3, 300), (4, 13)):
        sums, product, before, cell = (rng.normal(size=(rows, w * n)) for w in (count, 3, 1, 1))
        later, grad_out, later_cell = (rng.normal(size=(rows, n)) for _ in range(3))
        directions = [rng.normal(size=x.shape) for x in (sums, product, before, cell)]
        losses = []
        for step in (1e-6, -1e-6):
            _, hidden, new = cell_reference(kind, *(x + step * d for x, d in zip((sums, product, before, cell), directions)))
            losses.append((hidden * (later + grad_out)).sum() + (0 if new is None else (new * later_cell).sum()))
        slope = (losses[0] - losses[1]) / 2e-6
        gates, hidden, new = cell_reference(kind, sums, product, before, cell)
        words = lambda x: np.asarray(x, dtype)
        plan, zeros = plan_gates(kind + "_grad", dtype, rows, n), np.zeros((rows, count * n), dtype)
        if kind == "lstm":
            out = run(plan, *map(words, (later, grad_out, later_cell, gates, cell, new)), zeros, np.zeros((rows, n), dtype))
            found = (out[6] * directions[0]).sum() + (out[7] * directions[3]).sum()
        elif kind == "gru":
            out = run(plan, *map(words, (later, grad_out, gates, product[:, 2 * n:], before)), zeros, zeros, np.zeros((rows, n), dtype))
            found = (out[5] * directions[0]).sum() + (out[6] * directions[1]).sum() + (out[7] * directions[2]).sum()
        else:
            out = run(plan, *map(words, (later, grad_out, hidden)), zeros)
            found = (out[3] * directions[0]).sum()
        assert found == pytest.approx(slope, rel=tolerance, abs=tolerance * rows * n)


def test_absent_gradients_count_as_zero():
    rng = np.random.default_rng(2)
    y, g = rng.normal(size=(2, 3, 5)).astype(np.float32)
    zero = np.zeros_like(y)
    for later, grad_out, absent in ((g, None, ["grad_out"]), (None, g, ["later"]), (None, None, ["later", "grad_out"])):
        out = run(plan_gates("rnn_tanh_grad", "float32", 3, 5, absent=absent), later, grad_out, y, zero)[3]
        expected = run(plan_gates("rnn_tanh_grad", "float32", 3, 5), *(zero if x is None else x for x in (later, grad_out)), y, zero)[3]
        np.testing.assert_array_equal(out, expected)
        total = run(plan_gates("total", "float32", 3, 5, absent=absent), later, grad_out, zero)[2]
        np.testing.assert_array_equal(total, zero if later is None and grad_out is None else g)


def test_gates_of_extremes():
    """Gates saturate without overflow, and NaN stays where it is."""
    sums = np.array([[1e4, -1e4, 1e4, -1e4], [-1e4, 1e4, -1e4, 1e4], [np.nan, 0, 0, 0]], np.float32)
    cell = np.full((3, 1), 0.5, np.float32)
    gates, _, new, hidden = run(plan_gates("lstm", "float32", 3, 1), sums, cell, np.zeros_like(cell), np.zeros_like(cell))
    np.testing.assert_array_equal(gates[:2], [[1, 0, 1, 0], [0, 1, -1, 1]])
    np.testing.assert_array_equal(new[:2], [[1], [0.5]])
    np.testing.assert_allclose(hidden[:2], [[0], [np.tanh(0.5)]], 1e-6)
    assert np.isnan(new[2]) and np.isnan(hidden[2])


@pytest.mark.parametrize("kind", KINDS)
def test_float32_kernels_stay_in_float32_and_vectorise(kind):
    from numtorch.kernels.binding import DISABLE_JIT
    from numtorch.kernels.compiler import inspect_ir
    from numtorch.kernels.elementtypes import same
    if DISABLE_JIT:
        pytest.skip("nothing is compiled")
    function, arrays, names = KINDS[kind]
    text = inspect_ir(function, ("float32*",) * len(arrays) + ("int64*",), {"T": np.float32, "load": same, "store": same, **names},
                      "float32")
    assert "double" not in text and " x float>" in text


# ---------------------------------------------------------------- steps, panels and the loop
def test_order_of_steps():
    assert steps_of((3, 2, 2), 0, 3, False) == [Step(3, 0, None, 0), Step(2, 3, 0, 0), Step(2, 5, 3, 0)]
    assert steps_of((3, 2, 2), 0, 3, True) == [Step(2, 5, None, 0), Step(2, 3, 5, 0), Step(2, 0, 3, 0), Step(1, 2, None, 2)]
    assert steps_of((3, 2, 2), 2, 3, True) == [Step(1, 2, None, 2)]
    assert steps_of((3, 2, 2), 1, 3, False) == [Step(2, 1, None, 1), Step(1, 4, 1, 1), Step(1, 6, 4, 1)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_turned_over(dtype):
    for rows, columns in [(1, 1), (16, 16), (3, 40), (40, 3), (33, 17), (512, 300)]:
        x = np.random.default_rng(0).normal(size=(rows, columns)).astype(dtype)
        out = np.full(rows * columns + 8, 7, dtype)
        plan = rnn.plan_transposed(dtype, rows, columns)
        plan.call(x.ctypes.data, out.ctypes.data, plan.descriptor)
        np.testing.assert_array_equal(out[:-8].reshape(columns, rows), x.T)
        assert (out[-8:] == 7).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_with_panels(dtype):
    rng = np.random.default_rng(3)
    for rows, columns, depth in ((1, 1, 1), (3, 32, 5), (4, 100, 33), (17, 64, 40), (2, 7, 50)):
        weight, a = rng.normal(size=(depth, columns)).astype(dtype), rng.normal(size=(rows, depth)).astype(dtype)
        start = rng.normal(size=(rows, columns)).astype(dtype)
        for matrix, strides in ((weight, (columns, 1)), (np.ascontiguousarray(weight.T), (1, depth))):
            empty = np.full(size_of_panels(dtype, depth, columns), np.nan, dtype)
            _, panels = run(plan_panels(dtype, depth, columns, strides), matrix, empty)
            assert not np.isnan(panels).any()
            for further in (False, True):
                out, left = Guarded(start.copy()), Guarded(a)
                plan = plan_product(dtype, rows, columns, depth, further)
                plan.call(left.address, panels.ctypes.data, out.address, 0, 0, plan.descriptor)
                expected = a.astype(float) @ weight + further * start
                np.testing.assert_allclose(out.check(), expected, 1e-5 if dtype == "float32" else 1e-12, 1e-5)


def test_where_inputs_are_multiplied():
    """In the steps where these are of several rows and both weights fit the cache."""
    assert rnn.input_inside("float32", (32,) * 64, 128, 128, 512) and rnn.input_inside("float64", (50, 50), 5, 4, 16)
    assert not rnn.input_inside("float32", (2,) * 64, 128, 128, 512)
    assert not rnn.input_inside("float32", (32,) * 64, 1024, 512, 2048)
    assert not rnn.input_inside("float32", (32,), 128, 128, 512) and not rnn.input_inside("float32", (32, 32), 0, 128, 512)


def run_loop(kind, sizes, reverse, n, dtype=np.float64):
    """A loop's hidden states and the same by NumPy, sequence by sequence."""
    rng = np.random.default_rng(4)
    count, batch, rows = GATES[kind], sizes[0], sum(sizes)
    sums = rng.normal(size=(rows, count * n)).astype(dtype)
    weight, bias = rng.normal(size=(count * n, n)).astype(dtype) * 0.3, rng.normal(size=count * n).astype(dtype)
    before, cell_before = rng.normal(size=(2, batch, n)).astype(dtype)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    expected = np.zeros((rows, n))
    for b in range(batch):
        hidden, cell = before[b:b + 1], cell_before[b:b + 1]
        steps = [starts[t] + b for t in range(len(sizes)) if sizes[t] > b]
        for row in steps[::-1] if reverse else steps:
            product = hidden @ weight.T
            total = sums[row:row + 1] + (0 if kind == "gru" else product)
            _, hidden, cell = cell_reference(kind, total, product + bias, hidden, cell)
            expected[row] = hidden[0]
    name = np.dtype(dtype).name
    plan = rnn.plan_forward(kind, name, sizes, reverse, n, n, (1, n), None, True)
    laid = weight
    if rnn.pays_to_pack(name, sizes):
        _, laid = run(rnn.plan_panels(name, n, count * n, (1, n)), weight, np.zeros(size_of_panels(name, n, count * n), dtype))
    arrays = {"gates": sums, "before": before, "cell_before": cell_before, "hidden_weight": laid, "hidden_bias": bias,
              "hidden": sums if kind.startswith("rnn") else np.zeros((rows, n), dtype), "cell": np.zeros((rows, n), dtype),
              "products": np.zeros((batch, count * n), dtype), "kept": np.zeros((rows, n), dtype),
              "workspace": np.zeros(plan.workspace // 8 + 16, np.int64)}
    guarded = {key: Guarded(value) for key, value in arrays.items()}
    address = {key: g.address + (-g.address % 64 if key == "workspace" else 0) for key, g in guarded.items()}
    plan.call(*[address.get(name, 0) for name in FORWARD], plan.descriptor)
    for g in guarded.values():
        g.check()
    return guarded["hidden"].array, expected


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", [(3,), (2, 2, 2, 2), (5, 5, 3, 3, 3, 1), (1, 1, 1)])
@pytest.mark.parametrize("kind", GATES)
def test_loop(kind, sizes, reverse):
    for n in (3, 40):
        found, expected = run_loop(kind, sizes, reverse, n)
        np.testing.assert_allclose(found, expected, 1e-10, 1e-10)


@pytest.mark.parametrize("reverse", [False, True])
def test_loop_is_shared_by_sequences(reverse):
    """Enough work for two threads: each takes sequences of about half of the steps."""
    before = threads.get_num_threads()
    try:
        threads.set_num_threads(2)
        sizes = (9, 9, 9, 9, 4, 4, 4, 2, 1, 1, 1, 1)
        assert rnn._parts("float64", sizes, 256, 768) == [(0, 3), (3, 9)]
        assert rnn._parts("float64", sizes, 4, 16) == [(0, 9)]
        found, expected = run_loop("gru", sizes, reverse, 256)
        np.testing.assert_allclose(found, expected, 1e-9, 1e-9)
    finally:
        threads.set_num_threads(before)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", GATES)
def test_loop_is_shared_by_columns(kind, reverse, count):
    """Few sequences and many units: threads take columns of each product."""
    before = threads.get_num_threads()
    try:
        threads.set_num_threads(count)
        sizes, n = (9, 9, 7, 4, 4, 1), 500
        assert rnn._parts("float64", sizes, n, 4 * n) == [(0, 9)]
        plan = plan_product("float64", 9, 4 * n, n, threaded=True)
        assert plan.entry is not plan_product("float64", 9, 4 * n, n).entry
        found, expected = run_loop(kind, sizes, reverse, n)
        np.testing.assert_allclose(found, expected, 1e-9, 1e-9)
    finally:
        threads.set_num_threads(before)


def test_loop_runs_as_python():
    """The same bodies without the compiler."""
    code = ("import numpy as np\nfrom tests.kernels.families.test_kernel_rnn import run_loop\n"
            "for kind in ('lstm', 'gru', 'rnn_relu'):\n    np.testing.assert_allclose(*run_loop(kind, (2, 2, 1), True, 3), 1e-10)")
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    root = str(Path(__file__).resolve().parents[3])
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=root, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
