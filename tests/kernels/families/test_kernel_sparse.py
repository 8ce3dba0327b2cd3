"""The kernels of sparse tensors against NumPy, at sizes on both sides of their constants, in guarded memory, by one part and by several."""
import numpy as np
import pytest

import numtorch as torch
from numtorch.kernels import threads
from numtorch.kernels.cpu.sparse import coalesce, fold_ir, product

GUARD = 77
LANES = {"float32": 16, "float64": 8, "int32": 16, "complex64": 8}


@pytest.fixture(params=[1, 3])
def parts(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    threads.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def near(*constants):
    """Numbers below, at and above each constant."""
    return sorted({n + d for n in constants for d in (-1, 0, 1) if n + d > 0})


def run(prepared, *arrays):
    prepared.call(*[a.ctypes.data for a in arrays], prepared.descriptor)


@pytest.mark.parametrize("dtype, index", [("float32", "int32"), ("float64", "int64"), ("int32", "int32"), ("complex64", "int32")])
def test_rows_times_a_matrix(dtype, index):
    """Rows of 0, 1, ... elements, with columns named twice and not in order; a table with room between its rows."""
    rng = np.random.default_rng(0)
    lanes = LANES[dtype]
    counts = [0, *range(2 * fold_ir.AHEAD + 2), 0, 0, 9, 0]
    pointers = np.cumsum([0, *counts])
    nnz, rows = pointers[-1], len(counts)
    columns = rng.integers(0, 11, nnz).astype(index)
    for width in near(1, lanes, product.AT_ONCE * lanes, (product.AT_ONCE + 1) * lanes):
        values, table = rng.integers(-9, 9, nnz).astype(dtype), np.full((11, width + 3), GUARD, dtype)
        table[:, :width] = rng.integers(-9, 9, (11, width))
        dense = np.zeros((rows, 11), dtype)
        np.add.at(dense, (np.repeat(np.arange(rows), counts), columns), values)
        for edges in ((0, rows), (0, 3, 3, rows - 2, rows)):
            out = np.full(rows * width + 20, GUARD, dtype)
            run(product.plan_multiply_rows(dtype, index, edges, width, width + 3, int(nnz)), pointers, columns, values, table, out[10:])
            np.testing.assert_array_equal(out[10:-10].reshape(rows, width), dense @ table[:, :width])
            assert (out[:10] == GUARD).all() and (out[-10:] == GUARD).all()


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_products_at_places(dtype):
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(0, 5, 13), rng.integers(0, 7, 13)
    for length in (0, 1, 2, 7, 33):
        a, b = [rng.integers(-9, 9, (n, length + 2)).astype(dtype) for n in (5, 7)]
        for edges in ([(0, 13)], [(0, 6), (6, 13)]):
            out = np.full(15, GUARD, dtype)
            run(product.plan_sample_products(dtype, edges, length, length + 2, length + 2), rows, columns, a, b, out)
            np.testing.assert_array_equal(out[:13], (a[:, :length] @ b[:, :length].T)[rows, columns])
            assert (out[13:] == GUARD).all()


def test_keys_and_whether_they_are_in_order(parts):
    """What is out of order is found where parts meet, too."""
    for count in (1, 2, 3, *near(coalesce.GRAIN)):
        places = np.arange(count)
        for at in {0, 1, count // parts, count - 1} & set(range(count)):
            indices = np.stack([places // 100, places % 100])
            if at:
                indices[:, at] = indices[:, at - 1]
            keys = np.full(count + 1, GUARD)
            prepared, shares = coalesce.plan_keys(count, (100, 1))
            unsorted = np.full(shares, GUARD)
            run(prepared, indices, keys, unsorted)
            np.testing.assert_array_equal(keys, [*(indices[0] * 100 + indices[1]), GUARD])
            assert unsorted.any() == bool(at)


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_sums_of_segments(dtype, parts):
    rng = np.random.default_rng(0)
    for width in (1, 3, 17, coalesce.GRAIN // 8):
        x, order = rng.integers(0, 9, (12, width)).astype(dtype), rng.permutation(12)
        for starts in ([0], [0, 1, 2, 6, 11], list(range(12))):
            out = np.full((len(starts) + 1, width), GUARD, dtype)
            run(coalesce.plan_sum_segments(dtype, len(starts), 12, width), x, order, np.array(starts), out)
            np.testing.assert_array_equal(out[:-1], np.add.reduceat(x[order], starts, dtype=dtype))
            assert (out[-1] == GUARD).all()


def test_pointers_and_rows_are_each_others_inverses(parts):
    for counts in ([0], [3], [0, 0], [0, 2, 0, 0, 1, 0], [1] * 5, [0] * 4 + [coalesce.GRAIN + 3] + [0] * 4):
        rows, n = np.repeat(np.arange(len(counts)), counts), sum(counts)
        pointers = np.full(len(counts) + 2, GUARD)
        run(coalesce.plan_pointers(n, len(counts)), rows, pointers)
        np.testing.assert_array_equal(pointers, [0, *np.cumsum(counts), GUARD])
        found = np.full(n + 1, GUARD)
        run(coalesce.plan_rows(n, len(counts)), pointers, found)
        np.testing.assert_array_equal(found, [*rows, GUARD])


# ---------------------------------------------------------------- and as tensors
ORDERS = {
    "rows": lambda b: torch.from_numpy(b), "columns": lambda b: torch.from_numpy(b.T.copy()).t(), "every other": lambda b: torch.from_numpy(
        np.repeat(b, 2, 1))[:, ::2], "part": lambda b: torch.from_numpy(np.pad(b, ((2, 1), (3, 2)), constant_values=GUARD))[2:-1, 3:-2],
    "column by column": lambda b: torch.stack([torch.from_numpy(b[:, j].copy()) for j in range(b.shape[1])], 1),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ["coo", "out of order", "repeated", "csr", "csc", "transposed"])
def test_products_over_orders_of_memory(kind, order, parts):
    rng = np.random.default_rng(0)
    dense = rng.integers(-3, 4, (9, 40)) * (rng.random((9, 40)) < 0.2) * 1.0
    dense[4], dense[:, 7] = 0, 0
    x = torch.from_numpy(dense).to_sparse()
    if kind in ("out of order", "repeated"):
        shuffled = torch.from_numpy(rng.permutation(x._nnz()))
        indices, values = x.indices()[:, shuffled], x.values()[shuffled]
        if kind == "repeated":
            indices, values = torch.cat([indices, indices], 1), torch.cat([values * 3, values * -2])
        x = torch.sparse_coo_tensor(indices, values, (9, 40))
    elif kind == "transposed":
        x = torch.from_numpy(dense.T.copy()).to_sparse().t()
    elif kind != "coo":
        x = x.to_sparse(layout=getattr(torch, "sparse_" + kind))
    for width in (1, 35):
        b, c = rng.integers(-3, 4, (40, width)) * 1.0, rng.integers(-3, 4, (width, 9)) * 1.0
        np.testing.assert_array_equal((x @ ORDERS[order](b)).numpy(), dense @ b)
        np.testing.assert_array_equal((ORDERS[order](c) @ x).numpy(), c @ dense)
        np.testing.assert_array_equal((x.t() @ ORDERS[order](dense @ b)).numpy(), dense.T @ (dense @ b))


@pytest.mark.parametrize("name", ["to_sparse_csr", "to_sparse_csc"])
def test_products_see_what_is_written_to_indices(name):
    x = getattr(torch.tensor([[0.0, 2, 0], [0, 0, 3]]), name)()
    b = torch.tensor([[1.0, 1], [2, 3], [4, 5]])
    plain = x.col_indices() if name == "to_sparse_csr" else x.row_indices()
    for _ in range(2):
        assert torch.equal(x @ b, x.to_dense() @ b) and torch.equal(x.t() @ b[:2], x.to_dense().t() @ b[:2])
        plain[0] = 0 if name == "to_sparse_csr" else 1
