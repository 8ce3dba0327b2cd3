"""The pointwise loop's forms: direct, in blocks, in tiles; every layout gives what NumPy gives, bit for bit like a contiguous run."""
import itertools

import numpy as np
import pytest

import numtorch as torch
from numtorch.kernels.binding import DISABLE_JIT, SCALAR_MATH, ScalarBody
from numtorch.kernels.compiler import inspect_ir
from numtorch.kernels.cpu.pointwise import pointwise
from numtorch.kernels.loopnest import lengthened, merge, pattern_of, repeated, split, transposed

SIZES = [1, 2, 7] if DISABLE_JIT else [1, 2, 7, 8, 15, 16, 17, 33, 64, 65, 100, 257, 300]


def strided(array):
    """Layouts of one array's values: contiguous, every other element of a wider one, transposed, reversed rows of a wider one."""
    rows, columns = array.shape
    wide = np.zeros((rows, 2 * columns + 1), array.dtype)
    wide[:, 1::2] = array
    padded = np.zeros((rows, columns + 3), array.dtype)
    padded[:, :columns] = array
    return {"contiguous": torch.tensor(array), "stepped": torch.tensor(wide)[:, 1::2],
            "transposed": torch.tensor(np.ascontiguousarray(array.T)).t(), "padded": torch.tensor(padded)[:, :columns]}


@pytest.mark.parametrize("columns", SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_bodies_on_every_layout(columns, dtype):
    rng = np.random.default_rng(columns)
    x = rng.uniform(0.1, 3, (5, columns)).astype(dtype)
    expected = None
    for kind, tensor in strided(x).items():
        got = torch.log(tensor).numpy()
        expected = got if expected is None else expected
        assert (got == expected).all(), kind
    np.testing.assert_allclose(expected, np.log(x), rtol=1e-6 if dtype == "float32" else 1e-15, atol=1e-7)


@pytest.mark.parametrize("count", SIZES)
def test_pairs_of_bfloat16(count):
    """Two at a time, an odd one, from an odd place, into themselves, beside a number: what float32 gives, rounded; and no neighbour."""
    values = np.random.default_rng(count).standard_normal(count + 2).astype(np.float32) * 40
    values[1:3] = np.nan, np.inf
    for start in (0, 1):
        x = torch.tensor(values).bfloat16()
        part = x[start:start + count]
        expected = torch.exp(part.float()).bfloat16().float().numpy()
        angle = torch.atan2(part.float(), torch.tensor([0.5])).bfloat16().float().numpy()
        assert np.array_equal(torch.exp(part).float().numpy(), expected, equal_nan=True)
        assert np.array_equal(torch.atan2(part, torch.tensor([0.5]).bfloat16()).float().numpy(), angle, equal_nan=True)
        before = x.float().numpy()
        part.exp_()
        before[start:start + count] = expected
        assert np.array_equal(x.float().numpy(), before, equal_nan=True)


@pytest.mark.parametrize("rows, columns", list(itertools.product([1, 8, 31, 33, 70], [1, 9, 32, 65])))
def test_transposed_operands(rows, columns):
    x = np.arange(rows * columns, dtype=np.float32).reshape(columns, rows)
    y = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns) * 3
    a, b = torch.tensor(x), torch.tensor(y)
    assert (torch.add(a.t(), b).numpy() == x.T + y).all()
    assert (a.t().contiguous().numpy() == x.T).all()
    assert ((a.t() + b + b[:, :1]).numpy() == x.T + y + y[:, :1]).all()


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float64", "bool", "float16", "bfloat16"])
def test_transposed_copies_of_each_size_of_element(dtype):
    values = (np.arange(40 * 70) % 2).reshape(40, 70)
    source = torch.tensor(values.tolist()).to(getattr(torch, dtype))
    assert source.t().contiguous().to(torch.int64).tolist() == values.T.tolist()


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_permuted_copies(order):
    x = np.arange(9 * 33 * 70, dtype=np.float32).reshape(9, 33, 70)
    assert (torch.tensor(x).permute(*order).contiguous().numpy() == x.transpose(order)).all()


@pytest.mark.parametrize("columns", SIZES)
def test_written_in_place_on_strided_memory(columns):
    base = np.linspace(0.5, 2, 6 * columns * 2).reshape(6, columns * 2).astype(np.float32)
    whole = torch.tensor(base.copy())
    whole[:, ::2].exp_()
    expected = base.copy()
    expected[:, ::2] = torch.exp(torch.tensor(np.ascontiguousarray(base[:, ::2]))).numpy()
    assert (whole.numpy() == expected).all()                 # what lies between the strides is untouched


@pytest.mark.parametrize("columns", SIZES)
def test_broadcast_operands_of_long_bodies(columns):
    rng = np.random.default_rng(3)
    x, row, column = rng.uniform(0.5, 2, (4, columns)), rng.uniform(0.5, 2, columns), rng.uniform(0.5, 2, (4, 1))
    for first, second in itertools.permutations((x, row, column), 2):
        got = torch.pow(torch.tensor(first), torch.tensor(second)).numpy()
        np.testing.assert_allclose(got, first ** second, rtol=1e-14)


@pytest.mark.parametrize("columns", [1, 5, 16, 21, 300])
def test_results_into_strided_memory_leave_the_rest_alone(columns):
    x = np.linspace(0.1, 1, 3 * columns).reshape(3, columns).astype(np.float32)
    out = torch.full((3, 2 * columns), 7.0)
    torch.exp(torch.tensor(x), out=out[:, ::2])
    assert (out[:, 1::2].numpy() == 7).all()
    assert (out[:, ::2].numpy() == torch.exp(torch.tensor(x)).numpy()).all()


def test_gradients_of_long_bodies_on_transposed_inputs():
    x = torch.tensor(np.linspace(0.1, 1, 35).reshape(5, 7), requires_grad=True)
    torch.exp(x.t()).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(x.detach().numpy()), rtol=1e-14)


def test_which_walks_are_tiled():
    def form(shape, *strides):
        extents, steps = merge(shape, [*strides])
        output = len(strides) - 1
        return transposed(extents, steps, output, 8)

    assert form((64, 32), (1, 64), (32, 1))[2] == "tc"
    assert form((64, 32), (1, 64), (0, 1), (32, 1))[2] == "tcc"
    assert form((16, 8, 32), (1, 16, 128), (256, 32, 1)) == ([8, 16, 32], [(16, 32), (1, 256), (128, 1)], "tc")
    assert form((64, 32), (2, 128), (32, 1)) is None             # contiguous along neither
    assert form((64, 4), (1, 64), (4, 1)) is None                # too narrow
    assert pattern_of((64, 1), 1) == "ss"


def visited(extents, steps):
    """The offsets of a walk, for each operand, in its order."""
    places = np.zeros((1, len(steps[0])), int)
    for n, step in zip(extents, steps):
        places = (places[:, None] + np.arange(n)[:, None] * np.array(step)).reshape(-1, len(step))
    return [tuple(p) for p in places]


@pytest.mark.parametrize("extents, steps, inner", [
    ([1000, 3], [(5, 3), (1, 1)], 250),                      # rows of 3 in wider ones
    ([40, 512, 2], [(512, 1024), (1, 2), (512, 1)], 256),    # the dimension with the smallest steps
    ([32, 4096, 7], [(7 * 4096, 7 * 4096), (1, 7), (4096, 1)], 256),
    ([509, 3], [(5, 3), (1, 1)], 3),                         # a prime
    ([31, 3], [(5, 3), (1, 1)], 3), ([1000, 8], [(9, 8), (1, 1)], 8), ([7], [(1, 1)], 7), ([], [], None)])
def test_short_rows_are_walked_in_blocks_of_columns(extents, steps, inner):
    found, moved = lengthened(extents, steps)
    assert not extents or found[-1] == inner
    if extents:
        assert sorted(visited(found, moved)) == sorted(visited(extents, steps))


@pytest.mark.parametrize("rows, columns", [(40, 2)] if DISABLE_JIT else [(4000, 2), (4000, 7), (257, 3), (3, 5000), (65, 66)])
def test_short_rows_of_every_layout(rows, columns):
    values = np.random.default_rng(5).normal(size=(rows, columns)).astype(np.float32)
    for name, x in strided(values).items():
        for other, y in strided(values[::-1].copy()).items():
            assert np.array_equal((x + y).numpy(), values + values[::-1]), (name, other)
        assert np.array_equal(x.contiguous().numpy(), values), name
        np.testing.assert_allclose(x.exp().numpy(), np.exp(values), 1e-5)


@pytest.mark.parametrize("rows, columns, strides, pattern", [
    (500, 10, [(10, 1), (0, 1), (10, 1)], "crc"), (500, 10, [(0, 1), (0, 0), (10, 1)], "rbc"), (500, 10, [(10, 1), (0, -3), (10, 1)], "crc"),
    (100, 10, [(10, 1), (0, 1), (10, 1)], ""),             # not enough of them
    (500, 100, [(100, 1), (0, 1), (100, 1)], ""),          # long enough by themselves
    (500, 10, [(10, 1), (1, 0), (10, 1)], ""), (500, 10, [(12, 1), (0, 1), (10, 1)], ""), (500, 10, [(0, 1), (12, 1)], "")])
def test_which_walks_repeat_a_row(rows, columns, strides, pattern):
    assert repeated(*merge((rows, columns), strides), len(strides) - 1, 64) == pattern


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bfloat16", "complex64"])
@pytest.mark.parametrize("rows, columns", [(900, 3)] if DISABLE_JIT else [(900, 3), (300, 10), (257, 16), (1000, 63), (33, 64), (40000, 5)])
def test_one_row_beside_many_short_ones(dtype, rows, columns):
    """Bits as of rows written out, in new memory and in place, with the row first or last, contiguous or stepped."""
    kind = getattr(torch, dtype)
    torch.manual_seed(1)
    x, row = [(torch.rand(*shape) * 9).to(kind) for shape in ((rows, columns), (3 * columns,))]
    for one in (row[:columns], row[1::3]):
        full = one.expand(rows, columns).contiguous()
        assert torch.equal(x + one, x + full) and torch.equal(one * x, full * x) and torch.equal(x == one, x == full)
        assert torch.equal(torch.where(x == one, one, x), torch.where(x == full, full, x))
        if kind.is_floating_point:
            assert torch.equal(torch.exp2(x).mul_(one), torch.exp2(x) * full) and torch.equal(x ** one, x ** full)


def test_which_dimension_threads_share():
    """One of even shares rather than the first, and not the one that is left out."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        shares = lambda extents, keep=None: [row[:3] for row in split(extents, [(1, 1)] * len(extents), [4, 4], 1.0, keep)[0]]
        assert shares([4, 500_000]) == [[500_000, 2, 1]] * 2
        assert shares([3, 1_000_000]) == [[499_968, 3, 1], [500_032, 3, 1]]
        assert shares([17, 1_000_000])[0][1] == 8
        assert shares([4, 500_000], 0)[0][1] == 4
    finally:
        torch.set_num_threads(before)


@pytest.mark.skipif(DISABLE_JIT, reason="NUMBA_DISABLE_JIT: nothing is compiled")
@pytest.mark.parametrize("pattern", ["ccc", "cbc", "bcc"])
def test_rows_of_strided_operands_are_one_loop(pattern):
    """LLVM makes the loops twice, and takes half as long again, where it finds a condition that no iteration changes."""
    body = ScalarBody(lambda x, y: x + y, "float32")
    kernel = pointwise._kernel(body, ("float32",) * 2, ("float32",), pattern, ("float32",) * 2, -1, None, True, "")
    function, names, compute, _ = kernel.recipe
    text = inspect_ir(function, kernel.signature, names, compute, SCALAR_MATH)
    assert len([line for line in text.split("\n") if line.startswith("vector.body") and ":" in line]) == 1
