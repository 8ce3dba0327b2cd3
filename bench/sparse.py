"""Sparse matrices: products with dense ones, their gradients, indices put in order, and steps of a table, few rows at a time."""
from __future__ import annotations

import numpy as np

from .runner.case import BOTH, Case, integers, normal

SIZE, PER_ROW, COLUMNS = 10_000, 100, 64                 # 1 % of the elements
ELEMENTS = SIZE * PER_ROW
NAMED, WIDTH = 4096, 64
DENSE = f"dense 10⁴² @ {COLUMNS} columns"


def _pointers(rng, dtype):
    return np.arange(SIZE + 1, dtype=np.int64) * PER_ROW


def _columns(rng, dtype):
    """A column of each hundredth part of a row."""
    step = SIZE // PER_ROW
    return (rng.integers(0, step, (SIZE, PER_ROW)) + step * np.arange(PER_ROW)).reshape(-1)


MATRIX = (_pointers, _columns, normal(ELEMENTS))


def _csr(torch, pointers, columns, values):
    return torch.sparse_csr_tensor(pointers, columns, values, (SIZE, SIZE))


def _coo(torch, pointers, columns, values):
    rows = torch.arange(SIZE).repeat_interleave(PER_ROW)
    return torch.sparse_coo_tensor(torch.stack([rows, columns]), values, (SIZE, SIZE)).coalesce()


def _scipy(numpy, pointers, columns, values, dense):
    """SciPy's product, with the making of its matrix, which copies nothing."""
    from scipy.sparse import csr_matrix
    return csr_matrix((values, columns, pointers), shape=(SIZE, SIZE), copy=False) @ dense


def _product(make):
    def setup(torch, pointers, columns, values, dense):
        matrix = make(torch, pointers, columns, values)
        return lambda: matrix @ dense
    return setup


def _gradients(torch, pointers, columns, values, dense):
    """A product, and the gradients of the stored elements and of the dense matrix."""
    rows = torch.arange(SIZE).repeat_interleave(PER_ROW)
    indices = torch.stack([rows, columns])
    values.requires_grad_()
    dense.requires_grad_()

    def run():
        product = torch.sparse.mm(torch.sparse_coo_tensor(indices, values, (SIZE, SIZE), is_coalesced=True), dense)
        return torch.autograd.grad(product.sum(), (values, dense))
    return run


def _graph(torch, pointers, columns, values, dense):
    """A product with a matrix that stays, and the gradient of the dense one: what a graph convolution does."""
    matrix = _coo(torch, pointers, columns, values)
    dense.requires_grad_()
    return lambda: torch.autograd.grad((matrix @ dense).sum(), dense)


def _coalescing(torch, rows, columns, values):
    indices = torch.stack([rows, columns])
    return lambda: torch.sparse_coo_tensor(indices.clone(), values, (1000, 1000)).coalesce().values()


def _step(rows, make):
    def setup(torch, named):
        table = torch.nn.Embedding(rows, WIDTH, sparse=True, _weight=torch.ones(rows, WIDTH))
        optimizer = make(torch, table.parameters())

        def step():
            optimizer.zero_grad()
            table(named).sum().backward()
            optimizer.step()
            return table.weight.detach()[:64]
        return step
    return setup


def _steps():
    makers = {"SGD": lambda torch, p: torch.optim.SGD(p, lr=1e-6),
              "SparseAdam": lambda torch, p: torch.optim.SparseAdam(list(p), lr=1e-6)}
    for name, rows, label in (("SGD", 10_000, "10⁴"), ("SGD", 1_000_000, "10⁶"), ("SparseAdam", 10_000, "10⁴"),
                              ("SparseAdam", 100_000, "10⁵")):
        title = f"embedding step, {name}, {NAMED} of {{}}×{WIDTH}".format
        yield Case(title(label), (integers(NAMED, high=rows),), setup=_step(rows, makers[name]), group="embedding steps",
                   beside=None if rows == 10_000 else (2.0, title("10⁴")))


def _dense(rng, dtype):
    """A matrix of as many rows and columns, in which a row of numbers goes on and on."""
    return np.resize(rng.standard_normal(SIZE + 1).astype(dtype), (SIZE, SIZE))


def _case(name, columns, setup, flops, **fields):
    """A case of a matrix of 10⁴ rows and columns, of which 1 % is stored, and a dense one."""
    title = f"{name[:3]} 10⁴², 1 %, @ {columns} column{'s' * (columns > 1)}{name[3:]}"
    return Case(title, (*MATRIX, normal(SIZE, columns)), setup=setup, flops=flops * 2.0 * ELEMENTS * columns, **fields)


CASES = [
    Case(DENSE, (_dense, normal(SIZE, COLUMNS)), lambda torch, a, b: a @ b, flops=2.0 * SIZE * SIZE * COLUMNS, tolerance=1e-3),
    _case("CSR", COLUMNS, _product(_csr), 1, numpy=_scipy, budgets={"numpy": 1.0}, dtypes=BOTH, beside=(1 / 6, DENSE)),
    _case("COO", COLUMNS, _product(_coo), 1, numpy=_scipy),
    _case("CSR", 1, _product(_csr), 1, numpy=_scipy), _case("COO, gradient of the dense matrix", COLUMNS, _graph, 2),
    _case("COO, both gradients", COLUMNS, _gradients, 3),
    Case("coalesce 10⁶ of 1000×1000", (integers(ELEMENTS, high=1000), integers(ELEMENTS, high=1000), normal(ELEMENTS)),
         setup=_coalescing, group="indices", tolerance=1e-3),
    *_steps(),
]
