"""Compressed tensors of blocks (BSR, BSC), in batches, and with elements that have dimensions, against PyTorch and dense tensors."""
import copy
import io
import pickle

import numpy as np
import pytest
from test_sparse import OnDemand, check_same, error_of, plain

import numtorch
from numtorch.autograd import gradcheck, gradgradcheck

pytorch = pytest.importorskip("torch")
DENSE = np.arange(1.0, 25).reshape(4, 6) * [[1, 0, 0, 1, 0, 0], [1, 0, 1, 0, 0, 0], [0] * 6, [0, 0, 0, 0, 1, 1]]


class Library(OnDemand):
    """A matrix (4, 6) with an empty block, and as blocks of (2, 3); a batch (2, 2, 2); elements of 3 numbers."""

    def make(self, torch):
        self.d = torch.from_numpy(DENSE).float()
        self.bsr, self.bsc = self.d.to_sparse_bsr((2, 3)), self.d.to_sparse_bsc((2, 3))
        self.e = torch.tensor([[[1.0, 0], [0, 2]], [[0, 3], [4, 0]]])
        self.batch, self.columns = self.e.to_sparse_csr(), self.e.to_sparse_csc()
        self.wide = torch.arange(12.0).view(2, 2, 3).to_sparse_csr(dense_dim=1)
        self.all = self.bsr, self.bsc, self.batch, self.columns, self.wide
        self.m = torch.arange(12.0).view(6, 2)


OURS, THEIRS = Library(numtorch), Library(pytorch)
ROWS = {
    "given": lambda k: k.all, "dense": lambda k: [x.to_dense() for x in k.all], "counts": lambda k: [
        (x._nnz(), x.sparse_dim(), x.dense_dim(), x.shape == x.to_dense().shape, x.is_sparse, x.is_sparse_csr, x.values().shape) for x in k.all],
    "parts": lambda k: (k.bsr.crow_indices(), k.bsr.col_indices(), k.bsr.values(), k.bsc.ccol_indices(), k.bsc.row_indices(), k.batch.crow_indices()),
    "one number": lambda k: k.d.to_sparse_bsr(2), "to_sparse": lambda k: k.d.to_sparse(layout=k.t.sparse_bsr, blocksize=(2, 2)),
    "ones": lambda k: (k.d.to_sparse_bsr((1, 1)), k.d.to_sparse_bsc((4, 6)), k.t.zeros(4, 6).to_sparse_bsr((2, 2)), k.t.zeros(0, 6).to_sparse_bsr((2, 2))),
    "batch of blocks": lambda k: k.e.to_sparse_bsr((1, 2)), "batches of batches": lambda k: k.e.expand(3, 2, 2, 2).to_sparse_csr(),
    "no rows": lambda k: (k.t.zeros(0, 3).to_sparse_csr(), k.t.zeros(2, 0, 3).to_sparse_csr()), "blocks of elements": lambda k: k.t.arange(12.0).view(2, 2, 3).to_sparse_bsr((1, 2), dense_dim=1),
    "of csr": lambda k: (k.d.to_sparse_csr().to_sparse_bsr((2, 3)), k.bsr.to_sparse_bsc((2, 3)), k.d.to_sparse_csr().to_sparse_bsc((2, 2))),
    "to coo": lambda k: [x.to_sparse() for x in (k.bsr, k.batch, k.columns)], "transposed": lambda k: (k.bsr.t(), k.bsc.t(), k.batch.transpose(-1, -2)),
    "scaled": lambda k: [x * 2 for x in k.all], "unary": lambda k: [f(x) for x in k.all for f in (lambda x: -x, lambda x: x.relu(), lambda x: x.sin(), lambda x: x.abs())],
    "copies": lambda k: [f(x) for x in k.all for f in (lambda x: x.clone(), lambda x: x.double(), lambda x: x.detach(), lambda x: x.to("cpu"))],
    "sums": lambda k: (k.bsr + k.bsr, k.batch + k.batch, k.bsr.sum(), k.batch.sum()), "picked": lambda k: (k.batch[0], k.batch[-1], k.batch.select(0, 1), k.columns[1]),
    "by name": lambda k: (k.t.sparse_compressed_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2), layout=k.t.sparse_csc),
                          k.t.sparse_compressed_tensor([0, 1, 2], [0, 1], k.t.ones(2, 2, 2), layout=k.t.sparse_bsr)),
    "of lists": lambda k: (k.t.sparse_bsr_tensor([0, 1, 2], [0, 1], [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]), k.t.sparse_bsc_tensor([0, 1, 2], [0, 1], [[[1, 2]], [[5, 6]]]),
                           k.t.sparse_csr_tensor([[0, 1, 2]] * 2, [[0, 1], [1, 0]], [[1.0, 2], [3, 4]]), k.t.sparse_csr_tensor([0, 1, 2], [0, 1], k.t.ones(2, 3), (2, 2, 3))),
    "squares": lambda k: k.d[:, :4].to_sparse_bsr((2, 2)) @ k.m[:4], "a vector": lambda k: k.t.mv(k.d[:, :4].to_sparse_bsr((2, 2)), k.m[:4, 0]),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.filterwarnings("ignore")
def test_values_and_text_are_pytorchs(name):
    ours, theirs = ROWS[name](OURS), ROWS[name](THEIRS)
    check_same(plain(ours), plain(theirs))
    if name != "to coo":                                 # ours is in order
        assert repr(ours) == repr(theirs)


ERRORS = {
    "not divided": lambda k, **c: k.d.to_sparse_bsr((3, 3)), "empty blocks": lambda k, **c: k.d.to_sparse_bsr((2, 0)), "no blocks": lambda k, **c: k.d.to_sparse_bsr(),
    "other blocks": lambda k, **c: k.bsr.to_sparse_bsr((2, 2)), "columns of rows": lambda k, **c: k.bsr.ccol_indices(), "rows of columns": lambda k, **c: k.bsc.crow_indices(),
    "indices": lambda k, **c: k.bsr.indices(), "coalesce": lambda k, **c: k.bsr.coalesce(), "view": lambda k, **c: k.bsr.view(24), "cos": lambda k, **c: k.bsr.cos(),
    "uneven": lambda k, **c: k.t.tensor([[[1.0, 0], [0, 0]], [[0, 3], [4, 0]]]).to_sparse_csr(), "no layout": lambda k, **c: k.t.sparse_compressed_tensor([0, 1], [0], [1.0]),
    "number": lambda k, **c: k.bsr + 1, "reshape": lambda k, **c: k.batch.reshape(8), "dims": lambda k, **c: k.t.sparse_csr_tensor([[0, 1]], [0], [1.0], (1, 1), **c),
    "size": lambda k, **c: k.t.sparse_bsr_tensor([0, 1, 2], [0, 1], k.t.ones(2, 2, 2), (4, 5), **c), "elements": lambda k, **c: k.t.sparse_bsr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (4, 4), **c),
    "count": lambda k, **c: k.t.sparse_bsr_tensor([0, 1, 3], [0, 1], k.t.ones(2, 2, 2), (4, 4), **c), "outside": lambda k, **c: k.t.sparse_bsr_tensor([0, 1, 2], [0, 2], k.t.ones(2, 2, 2), (4, 4), **c),
    "twice": lambda k, **c: k.t.sparse_bsr_tensor([0, 2], [0, 0], k.t.ones(2, 2, 2), (2, 4), **c), "batch": lambda k, **c: k.t.sparse_csr_tensor([[0, 1]] * 2, [[0], [1]], k.t.ones(2, 1), (2, 1, 1), **c),
    "empty": lambda k, **c: k.t.zeros(0, 2, 2).to_sparse_csr(),
    "ends": lambda k, **c: k.t.sparse_csr_tensor([[0, 1], [0, 0]], [[0], [0]], k.t.ones(2, 1), (2, 1, 1), **c),
}
SAME_WORDS = "elements count outside twice batch ends size uneven empty".split()


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.filterwarnings("ignore")
def test_errors_are_pytorchs(name):
    ours, theirs = error_of(lambda: ERRORS[name](OURS)), error_of(lambda: ERRORS[name](THEIRS, check_invariants=True))
    assert isinstance(ours, type(theirs)), (repr(ours), repr(theirs)[:200])
    if name in SAME_WORDS:
        assert str(ours) == str(theirs)


# A row: what PyTorch has no kernels for, of a sparse tensor; the dense one gives the same.
ON_DENSE = {
    "@": lambda x, m, w: x @ m, "from the left": lambda x, m, w: w @ x, "mv": lambda x, m, w: x @ m[:, 0], "times dense": lambda x, m, w: (x * w.t()[:, :1]).to_dense(),
    "dense plus": lambda x, m, w: w.t() @ m.t() + x, "sums": lambda x, m, w: (x + x.clone() * 2).to_dense(), "squared": lambda x, m, w: (x * x).to_dense(),
    "transposed": lambda x, m, w: x.t() @ w.t(), "a row": lambda x, m, w: x[1].to_dense(), "sum over rows": lambda x, m, w: x.sum(0).to_dense(),
    "with itself": lambda x, m, w: (x @ x.t()).to_dense(), "linear": lambda x, m, w: numtorch.nn.functional.linear(m.t(), x),
}


@pytest.mark.parametrize("kind", ["bsr", "bsc"])
@pytest.mark.parametrize("name", ON_DENSE)
def test_blocks_are_as_dense_tensors(name, kind):
    function, factors = ON_DENSE[name], (OURS.m, numtorch.arange(8.0).view(2, 4))
    numtorch.testing.assert_close(function(getattr(OURS, kind), *factors), function(OURS.d, *factors))


def test_batches_are_as_dense_tensors():
    b = numtorch.arange(12.0).view(2, 2, 3)
    for x in (OURS.batch, OURS.columns, OURS.e.to_sparse_bsr((1, 2))):
        for product in (numtorch.bmm, numtorch.matmul):
            numtorch.testing.assert_close(product(x, b), OURS.e @ b)
        numtorch.testing.assert_close((x * b[:, :, :1]).to_dense(), OURS.e * b[:, :, :1])


GRADIENTS = {
    "dense": lambda t, m: t.to_sparse_bsr((2, 3)).to_dense() ** 2, "product": lambda t, m: t.to_sparse_bsc((2, 2)) @ m, "sum": lambda t, m: (t.to_sparse_bsr((1, 3)) * m[:, 0]).to_dense(),
    "values": lambda t, m: t.to_sparse_bsr((4, 2)).values() ** 2, "of csr": lambda t, m: t.to_sparse_csr().to_sparse_bsr((2, 3)).t() @ m[:4],
    "batch": lambda t, m: numtorch.bmm(numtorch.stack([t, t * 2]).to_sparse_csr(), numtorch.stack([m, m])), "one": lambda t, m: numtorch.stack([t, t * t]).to_sparse_csr()[1] @ m,
    "given blocks": lambda t, m: numtorch.sparse_bsr_tensor([0, 1, 2], [1, 0], t.view(2, 3, 4), (6, 8)) @ numtorch.cat([m, m])[:8],
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_by_finite_differences(name):
    t, m = numtorch.from_numpy(DENSE / 24 + 0.01).requires_grad_(), numtorch.linspace(-1, 1, 12, dtype=numtorch.float64).view(6, 2).requires_grad_()
    assert gradcheck(lambda t, m: GRADIENTS[name](t, m), (t, m))
    assert gradgradcheck(lambda t, m: GRADIENTS[name](t, m), (t, m))


def test_a_leafs_gradient_has_its_layout():
    x = OURS.bsr.clone().requires_grad_()
    (x.to_dense() * OURS.d).sum().backward()
    assert x.grad.layout is x.layout
    numtorch.testing.assert_close(x.grad.to_dense(), numtorch.where((OURS.bsr * 0 + OURS.bsr.sin() * 0).to_dense() == 0, OURS.d, 0.0))


@pytest.mark.filterwarnings("ignore")
def test_kept_and_sent(tmp_path):
    for x, theirs in zip(OURS.all, THEIRS.all):
        file = io.BytesIO()
        numtorch.save(x, file)
        file.seek(0)
        for other in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), numtorch.load(file)):
            assert repr(other) == repr(x) and other.layout is x.layout
        numtorch.save(x, tmp_path / "ours")
        assert repr(pytorch.load(tmp_path / "ours")) == repr(theirs)
        pytorch.save(theirs, tmp_path / "theirs")
        assert repr(numtorch.load(tmp_path / "theirs")) == repr(x)
        numtorch.testing.assert_close(x, x.clone())
