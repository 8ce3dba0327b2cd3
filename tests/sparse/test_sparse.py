"""Sparse tensors against PyTorch: values, gradients, errors and text of the same expressions in both libraries.

A row is a function of the library. Those without PyTorch are compared with dense tensors in tests/sparse/test_sparse_graphs.py.
"""
import numpy as np
import pytest

import numtorch

pytorch = pytest.importorskip("torch")

INDICES, NUMBERS = [[0, 1, 1, 0], [2, 0, 2, 2]], [1.0, 2.0, -3.0, 4.0]


class OnDemand:
    """What rows are made of, in one of two libraries: made when a row asks, since tests are collected before any kernel is there."""

    def __init__(self, torch):
        self.t = torch

    def __getattr__(self, name):
        if "made" in vars(self) or name.startswith("_"):  # pytest asks every name of a module for names of its own
            raise AttributeError(name)
        self.made = True
        self.make(self.t)
        return getattr(self, name)


class Library(OnDemand):
    """Coordinates that repeat, hybrid, empty and compressed tensors."""

    def make(self, torch):
        self.i, self.v = torch.tensor(INDICES), torch.tensor(NUMBERS)
        self.s = torch.sparse_coo_tensor(self.i, self.v, (2, 3))
        self.c = self.s.coalesce()
        self.h = torch.sparse_coo_tensor(self.i, torch.arange(8.0).view(4, 2), (2, 3, 2))
        self.e = torch.sparse_coo_tensor((2, 3))
        self.o = torch.sparse_coo_tensor([[0, 1, 1], [2, 1, 2]], [10.0, 20.0, 30.0], (2, 3))
        self.csr = self.c.to_sparse_csr()
        self.csc = self.c.to_sparse_csc()
        self.d = torch.arange(6.0).view(2, 3)
        self.m = torch.arange(12.0).view(3, 4) / 4 - 1
        self.w = torch.arange(10.0).view(5, 2)

    def coo(self, *args, **kwargs):
        return self.t.sparse_coo_tensor(*args, **kwargs)


OURS, THEIRS = Library(numtorch), Library(pytorch)


def plain(x):
    """A result as what can be compared."""
    if isinstance(x, (tuple, list)):
        return [plain(each) for each in x]
    if not hasattr(x, "layout"):
        return str(x) if type(x).__module__.split(".")[0] in ("torch", "numtorch") else x
    x = x.detach()
    kind = str(x.layout), str(x.dtype), tuple(x.shape)
    if x.layout in (numtorch.sparse_coo, pytorch.sparse_coo):
        dims, x = (x.sparse_dim(), x.dense_dim()), x.coalesce()
        return *kind, dims, x.indices().tolist(), np.array(x.values().tolist())
    if x.layout in (numtorch.sparse_csr, pytorch.sparse_csr, numtorch.sparse_bsr, pytorch.sparse_bsr):
        return *kind, x.crow_indices().tolist(), x.col_indices().tolist(), np.array(x.values().tolist())
    if x.layout in (numtorch.sparse_csc, pytorch.sparse_csc, numtorch.sparse_bsc, pytorch.sparse_bsc):
        return *kind, x.ccol_indices().tolist(), x.row_indices().tolist(), np.array(x.values().tolist())
    return *kind, np.array(x.tolist())


def check_same(ours, theirs):
    assert type(ours) is type(theirs), (ours, theirs)
    if isinstance(ours, (tuple, list)):
        assert len(ours) == len(theirs), (ours, theirs)
        for a, b in zip(ours, theirs):
            check_same(a, b)
    elif isinstance(ours, np.ndarray):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)
    else:
        assert ours == theirs


# ---------------------------------------------------------------- text
TEXTS = {
    "duplicates": lambda k: k.s, "coalesced": lambda k: k.c, "hybrid": lambda k: k.h, "empty": lambda k: k.e,
    "empty hybrid": lambda k: k.coo(k.t.zeros(2, 0, dtype=k.t.int64), k.t.zeros(0, 2, dtype=k.t.float64), (2, 3, 2)),
    "double": lambda k: k.s.double(), "int32": lambda k: k.s.int(), "int64": lambda k: k.s.long(), "bool": lambda k: k.s.bool(),
    "half": lambda k: k.s.half(), "complex": lambda k: k.s.to(k.t.complex64), "long": lambda k: k.t.eye(40).to_sparse(),
    "summarised": lambda k: k.t.ones(40, 40).to_sparse(), "0-dim": lambda k: k.t.tensor(3.0).to_sparse(), "one row": lambda k: k.s[0],
    "leaf": lambda k: k.s.clone().requires_grad_(), "of values": lambda k: k.coo(k.i, k.v.clone().requires_grad_(), (2, 3)),
    "coalesced graph": lambda k: k.coo(k.i, k.v.clone().requires_grad_(), (2, 3)).coalesce(),
    "values": lambda k: k.coo(k.i, k.v.clone().requires_grad_(), (2, 3)).coalesce().values(),
    "dense": lambda k: k.coo(k.i, k.v.clone().requires_grad_(), (2, 3)).to_dense(),
    "csr": lambda k: k.csr, "csr double": lambda k: k.csr.double(), "csr empty": lambda k: k.t.zeros(2, 3).to_sparse_csr(),
    "csr long": lambda k: k.t.eye(12).to_sparse_csr(), "csc": lambda k: k.csc, "layouts": lambda k: (k.s.layout, k.csr.layout, k.csc.layout),
    "sum": lambda k: k.t.sparse.sum(k.coo(k.i, k.v.clone().requires_grad_(), (2, 3)), 0),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_pytorchs(name):
    assert repr(TEXTS[name](OURS)) == repr(TEXTS[name](THEIRS))


# ---------------------------------------------------------------- values
VALUES = {
    # names from before layouts
    "products by name": lambda k: [k.t.smm(k.s, k.m), k.s.smm(k.m), k.t.hspmm(k.s, k.m), k.t.hsmm(k.c, k.m), k.t.dsmm(k.s, k.m), k.t.smm(k.e, k.m)],
    "sspaddmm": lambda k: [f(k.coo([[0, 1], [3, 0]], [1.0, 2.0], (2, 4)), k.s, k.m, beta=2, alpha=-3) for f in (k.t.sspaddmm, k.t.saddmm, k.t.Tensor.sspaddmm)],
    "native_norm": lambda k: [k.t.native_norm(k.s), k.t.native_norm(k.c, 1), k.t.native_norm(k.s, 2, [0, 1], False, None)],
    "parts copied": lambda k: [k.t.crow_indices_copy(k.csr), k.t.col_indices_copy(k.csr), k.t.ccol_indices_copy(k.csc), k.t.row_indices_copy(k.csc), k.t.values_copy(k.csr)],
    "types": lambda k: [k.t.sparse.FloatTensor(k.i, k.v, k.t.Size([2, 3])), k.t.sparse.FloatTensor(k.i, k.v), k.t.sparse.LongTensor(2, 3), k.t.sparse.DoubleTensor(),
                        k.t.sparse.HalfTensor(k.t.Size([2, 1])), [isinstance(x, kind) for x in (k.s, k.d, k.s.double(), k.csr) for kind in (k.t.sparse.FloatTensor, k.t.FloatTensor)],
                        repr(k.t.sparse.FloatTensor), k.s.type(), k.d.type(), k.s.double().type(), k.d.type("torch.sparse.DoubleTensor"), k.t.sparse.FloatTensor.is_sparse],
    "resized as": lambda k: k.s.clone().resize_as_sparse_(k.coo((4, 5))),
    # made and taken apart
    "given": lambda k: (k.s, k.c, k.h, k.e, k.csr, k.csc), "size from indices": lambda k: k.coo(k.i, k.v),
    "lists": lambda k: k.coo([[0, 1], [1, 0]], [1, 2]), "a number": lambda k: k.coo([[2]], 5.0, (4,)),
    "floats as indices": lambda k: k.coo([[0.0, 1.0]], [1.0, 2.0]), "dtype": lambda k: k.coo(k.i, k.v, (2, 3), dtype=k.t.float64),
    "empty of a dtype": lambda k: k.coo((3, 4), dtype=k.t.int64), "no indices": lambda k: k.coo(k.t.zeros(2, 0, dtype=k.t.int64), k.t.zeros(0)),
    "0-dim": lambda k: k.coo(k.t.zeros(0, 2, dtype=k.t.int64), [1.0, 3.0], ()).coalesce(),
    "parts": lambda k: (k.c.indices(), k.c.values(), k.s._indices(), k.s._values()),
    "questions": lambda k: [(x.is_sparse, x.is_sparse_csr, x.sparse_dim(), x.dense_dim(), x.shape == x.size(), x.dim(), x.numel(), len(x))
                            for x in (k.s, k.h, k.e, k.csr, k.d)],
    "counts": lambda k: (k.s._nnz(), k.c._nnz(), k.e._nnz(), k.csr._nnz(), k.s.is_coalesced(), k.c.is_coalesced()),
    "layouts differ": lambda k: (k.s.layout == k.t.sparse_coo, k.s.layout == k.t.strided, k.csr.layout == k.t.sparse_csr, k.d.layout == k.t.sparse_coo),
    "said coalesced": lambda k: k.coo([[0, 1]], [1.0, 2.0], (3,), is_coalesced=True).is_coalesced(),
    "to_dense": lambda k: [x.to_dense() for x in (k.s, k.c, k.h, k.e, k.csr, k.csc, k.d, k.s.bool(), k.s.long())],
    "to_sparse": lambda k: [k.d.to_sparse(), k.d.to_sparse(1), k.h.to_dense().to_sparse(2), k.t.zeros(2, 2).to_sparse(), k.t.tensor(3.0).to_sparse(),
                            k.d.to_sparse(layout=k.t.sparse_csr), k.d.to_sparse_coo(), k.d.to_sparse_csc(), k.csr.to_sparse(), k.csc.to_sparse_coo()],
    "csr parts": lambda k: (k.csr.crow_indices(), k.csr.col_indices(), k.csr.values(), k.csc.ccol_indices(), k.csc.row_indices()),
    "csr of lists": lambda k: k.t.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [5.0, 2.0, 3.0]),
    "csc of lists": lambda k: k.t.sparse_csc_tensor([0, 1, 1, 3], [1, 0, 1], [5.0, 2.0, 3.0], (2, 3)),
    "item": lambda k: (k.coo([[0]], [3.0], (1,)).item(), float(k.coo([[0]], [3.0], (1,))), bool(k.coo([[0]], [3.0], (1,)))),
    # elementwise
    "neg": lambda k: (-k.s, -k.csr, +k.s), "abs": lambda k: (k.s.abs(), abs(k.h)), "unary": lambda k: [
        getattr(x, n)() for x in (k.s, k.c) for n in "relu sin tanh sign floor ceil trunc expm1 atan asinh isnan isinf square nan_to_num erf frac round sgn".split()],
    "sqrt": lambda k: (k.s.abs().sqrt(), k.s.abs().log1p()), "pow": lambda k: (k.s ** 2, k.c.pow(3)), "csr unary": lambda k: (k.csr.relu(), k.csr.sin()),
    "times a number": lambda k: (k.s * 2, 2 * k.s, k.s * k.t.tensor(2.0), k.h * 3, k.csr * 2, k.s.long() * 2.5),
    "over a number": lambda k: (k.s / 2, k.s.div(2), k.s.long() / 2, k.s // 2), "plus sparse": lambda k: (k.s + k.o, k.s - k.o, k.c + k.o, k.s + k.s, k.s + k.e, k.e + k.s),
    "alpha": lambda k: (k.t.add(k.s, k.o, alpha=3), k.t.sub(k.s, k.o, alpha=0.5), k.t.add(k.d, k.s, alpha=2)),
    "dense plus": lambda k: (k.d + k.s, k.d - k.s, k.t.zeros(2, 3, 2) + k.h, k.d + k.e), "promoted": lambda k: (k.s + k.o.double(), k.d.double() + k.s),
    "times sparse": lambda k: ((k.s * k.o).to_dense(), k.c * k.c, k.c * k.o.coalesce(), (k.s * k.e).to_dense(), (k.h * k.h).to_dense()), "times dense": lambda k: (k.s * k.d, k.d * k.s, k.s * k.d[0], k.s * k.d[:, :1], k.h * k.t.arange(2.0)),
    "csr sums": lambda k: (k.csr + k.csr, k.csr * k.csr, k.d + k.csr, k.csr * k.d),
    "in place": lambda k: (k.s.clone().mul_(2), k.s.clone().add_(k.o), k.s.clone().sub_(k.s), k.s.clone().div_(2), k.s.clone().zero_(), k.s.clone().neg_(),
                           k.t.zeros(2, 3).add_(k.s, alpha=2), k.t.zeros(2, 3).sub_(k.s), k.s.clone().copy_(k.o), k.t.zeros(2, 3, 2).add_(k.h)),
    "casts": lambda k: (k.s.double(), k.s.to(k.t.int32), k.csr.double(), k.s.to(k.t.float32), k.s.type(k.t.float64), k.h.half().float()),
    "copies": lambda k: (k.s.clone(), k.csr.clone(), k.s.detach(), k.s.cpu(), k.s.to("cpu"), k.s.data),
    # shapes
    "transposed": lambda k: (k.s.t(), k.s.T, k.s.transpose(0, 1), k.h.transpose(0, 1), k.s.permute(1, 0), k.h.permute(1, 0, 2), k.csr.t(), k.csr.transpose(0, 1)),
    "select": lambda k: (k.s[0], k.s[-1], k.s[0, 2], k.s[:, 2], k.s[..., 0], k.s.select(1, 2), k.h[0], k.h[0, 2], k.h[0, 2, 1], k.h.select(2, 0), k.h[:, :, 1], k.csr[0]),
    "unsqueeze": lambda k: (k.s[None], k.s.unsqueeze(-1), k.s.unsqueeze(1), k.h.unsqueeze(3)), "narrow_copy": lambda k: (k.s.narrow_copy(1, 0, 2), k.h.narrow_copy(1, 1, 2)),
    "iterated": lambda k: (list(k.s), k.s.unbind(1)), "cat": lambda k: (k.t.cat([k.s, k.o]), k.t.cat([k.s, k.o], 1), k.t.stack([k.s, k.o]), k.t.cat([k.h, k.h], 2)),
    # reductions
    "sum": lambda k: (k.s.sum(), k.h.sum(), k.csr.sum(), k.e.sum()), "sum over some": lambda k: [
        k.t.sparse.sum(x, d) for x, d in ((k.s, 0), (k.s, 1), (k.s, (0, 1)), (k.h, 2), (k.h, (0, 1)), (k.h, (0, 2)), (k.h, 0))],
    "sum kept": lambda k: (k.s.sum(0, keepdim=True), k.t.sparse.sum(k.s, 0, dtype=k.t.float64)), "norm": lambda k: (k.s.norm(), k.s.any()),
    "softmax": lambda k: [f(x, d) for f in (k.t.sparse.softmax, k.t.sparse.log_softmax) for x in (k.s, k.h) for d in range(x.dim())],
    # products
    "mm": lambda k: (k.s @ k.m, k.t.mm(k.s, k.m), k.t.sparse.mm(k.s, k.m), k.t.spmm(k.c, k.m), k.csr @ k.m, k.csc @ k.m, k.e @ k.m),
    "dense @ sparse": lambda k: (k.w @ k.s, k.w @ k.csr, k.w @ k.csc), "mv": lambda k: (k.s @ k.m[:, 0], k.t.mv(k.s, k.m[:, 1]), k.csr @ k.m[:, 1]),
    "sparse @ sparse": lambda k: (k.s @ k.o.t(), k.t.sparse.mm(k.s, k.s.t()), (k.csr @ k.csr.t().to_sparse_csr()).to_dense(), k.e @ k.s.t()),
    "addmm": lambda k: (k.t.addmm(k.t.ones(2, 4), k.s, k.m), k.t.addmm(k.t.ones(2, 4), k.s, k.m, beta=2, alpha=3), k.t.sparse.addmm(k.t.ones(2, 4), k.s, k.m, beta=0.5)),
    "bmm": lambda k: k.t.bmm(k.t.stack([k.s, k.o]), k.t.stack([k.m, k.m + 1])), "linear": lambda k: k.t.nn.functional.linear(k.w[:, :1] @ k.d[:1], k.s),
    "wide": lambda k: (k.s @ k.t.arange(300.0).view(3, 100), k.csr.double() @ k.t.arange(300.0).view(3, 100).double()),
    "strided": lambda k: (k.s @ k.m.t().contiguous().t(), k.s @ k.t.ones(3, 1).expand(3, 4)), "complex": lambda k: k.s.to(k.t.complex64) @ k.m.to(k.t.complex64),
    "integers": lambda k: k.s.long() @ k.m.long(), "sampled_addmm": lambda k: k.t.sparse.sampled_addmm(k.csr, k.w[:2], k.d[:2], beta=0.5, alpha=2.0),
    "spdiags": lambda k: [k.t.sparse.spdiags(k.d, k.t.tensor([0, o]), (3, 3)) for o in (1, -1, 2)],
    "mm reduced": lambda k: [k.t.sparse.mm(x, k.m, how) for x in (k.csr, k.t.zeros(2, 3).to_sparse_csr(), k.csr.double().float()) for how in ("sum", "mean", "amax", "amin", "max", "min")],
    "sparse_mask": lambda k: (k.d.sparse_mask(k.c), k.d.sparse_mask(k.s), k.d.sparse_mask(k.csr), k.s.sparse_mask(k.o), k.h.to_dense().sparse_mask(k.h.coalesce())),
    "resized": lambda k: (k.s.clone().sparse_resize_((4, 4), 2, 0), k.s.clone().sparse_resize_and_clear_((4,), 1, 0)),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.filterwarnings("ignore")
def test_values_are_pytorchs(name):
    check_same(plain(VALUES[name](OURS)), plain(VALUES[name](THEIRS)))


# ---------------------------------------------------------------- errors
ERRORS = {
    "smm of dense": lambda k: k.t.smm(k.d, k.m), "smm of sparse": lambda k: k.t.smm(k.s, k.m.to_sparse()), "smm of extents": lambda k: k.t.smm(k.s, k.d),
    "sspaddmm of dense": lambda k: k.t.sspaddmm(k.d, k.s, k.m), "hspmm of dense": lambda k: k.t.hspmm(k.d, k.m), "norm of rows": lambda k: k.t.native_norm(k.s, 2, [0], False, None),
    "copied parts of dense": lambda k: k.t.crow_indices_copy(k.d), "copied parts of rows": lambda k: k.t.ccol_indices_copy(k.csr), "typed list": lambda k: k.t.sparse.FloatTensor([1.0]),
    "not as many": lambda k: k.coo(k.i, k.v[:3], (2, 3)), "dims": lambda k: k.coo(k.i, k.v, (2,)), "a vector of indices": lambda k: k.coo([0, 1], [1.0, 2.0]),
    "dense sizes": lambda k: k.coo([[0]], k.t.ones(1, 2), (2, 3)), "uncoalesced indices": lambda k: k.s.indices(), "uncoalesced values": lambda k: k.s.values(),
    "dense indices": lambda k: k.d.indices(), "dense coalesce": lambda k: k.d.coalesce(), "dense nnz": lambda k: k.d._nnz(), "coo crow": lambda k: k.s.crow_indices(),
    "csr indices": lambda k: k.csr.indices(), "to_sparse dims": lambda k: k.d.to_sparse(3), "view": lambda k: k.s.view(6), "reshape": lambda k: k.s.reshape(6),
    "flatten": lambda k: k.s.flatten(), "csr view": lambda k: k.csr.view(6), "expand": lambda k: k.s.expand(2, 2, 3), "exp": lambda k: k.s.exp(), "cos": lambda k: k.csr.cos(),
    "add a number": lambda k: k.s + 1, "sparse plus dense": lambda k: k.s + k.d, "sparse minus dense": lambda k: k.s - k.d, "over sparse": lambda k: k.s / k.s,
    "over dense": lambda k: k.s / k.d, "reciprocal": lambda k: 1 / k.s, "shapes": lambda k: k.s + k.s.t(), "power 0": lambda k: k.s ** 0, "power of": lambda k: 2 ** k.s,
    "mean": lambda k: k.s.mean(), "max": lambda k: k.s.max(), "prod": lambda k: k.s.prod(), "cumsum": lambda k: k.s.cumsum(0), "sort": lambda k: k.s.sort(),
    "mask": lambda k: k.s[k.t.ones(2, 3).bool()], "fill_": lambda k: k.s.clone().fill_(1.0), "set": lambda k: k.s.__setitem__((0, 0), 1.0), "numpy": lambda k: k.s.numpy(),
    "tolist": lambda k: k.s.tolist(), "bool of many": lambda k: bool(k.s), "eq": lambda k: k.s == k.s, "gt": lambda k: k.s > 0, "clamp": lambda k: k.s.clamp(0, 1),
    "where": lambda k: k.t.where(k.d > 0, k.s, k.s), "gather": lambda k: k.s.gather(0, k.t.tensor([[0]])), "mm shapes": lambda k: k.s @ k.w, "mm dtypes": lambda k: k.s @ k.m.double(),
    "mv shapes": lambda k: k.t.mv(k.s, k.v), "mixed transpose": lambda k: k.h.transpose(0, 2), "mixed permute": lambda k: k.h.permute(2, 0, 1),
    "dense into sparse": lambda k: k.s.clone().copy_(k.d), "sparse into dense": lambda k: k.t.zeros(2, 3).copy_(k.s), "out of bounds": lambda k: k.s[2], "dim": lambda k: k.s.select(2, 0),
    "mask shapes": lambda k: k.t.ones(2, 2).sparse_mask(k.s), "dense mask": lambda k: k.d.sparse_mask(k.d), "nbytes": lambda k: k.s.nbytes, "storage": lambda k: k.s.data_ptr(),
    "softmax": lambda k: k.s.softmax(1), "backward of dense": lambda k: k.s.backward(), "add_ dense": lambda k: k.s.clone().add_(k.d), "sigmoid": lambda k: k.s.sigmoid(),
    "reduced COO": lambda k: k.t.sparse.mm(k.s, k.m, "mean"), "reduced CSC": lambda k: k.t.sparse.mm(k.csc, k.m, "amax"), "other reduction": lambda k: k.t.sparse.mm(k.csr, k.m, "prod"),
    "dot": lambda k: k.s[0].dot(k.s[0]), "trace": lambda k: k.s.trace(), "diagonal": lambda k: k.s.diagonal(),
}
CHECKED = {                                              # PyTorch checks these on demand only; here they are, always
    "negative": lambda k, **c: k.coo([[-1]], [1.0], (2,), **c), "outside": lambda k, **c: k.coo([[2]], [1.0], (2,), **c),
    "order": lambda k, **c: k.coo([[1, 0]], [1.0, 2.0], (2,), is_coalesced=True, **c),
    **{f"csr {crow} {col}": lambda k, crow=crow, col=col, **c: k.t.sparse_csr_tensor(crow, col, [5.0, 2.0, 3.0], (2, 3), **c)
       for crow, col in (([0, 1], [2, 0, 2]), ([0, 1, 3], [2, 0, 3]), ([1, 1, 3], [2, 0, 2]), ([0, 1, 4], [2, 0, 2]), ([0, 1, 3], [2, 2, 2]),
                         ([0, 1, 3], [2, 2]), ([0, 1, 3], [0, -1, 2]), ([0, 4, 3], [0, 1, 2]))},
}


def error_of(call):
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.filterwarnings("ignore")
def test_errors_are_of_pytorchs_classes(name):
    theirs = error_of(lambda: ERRORS[name](THEIRS))
    ours = error_of(lambda: ERRORS[name](OURS))
    assert isinstance(ours, type(theirs)), (repr(ours), repr(theirs)[:200])
    assert "AttributeError" not in repr(ours) and "plan" not in str(ours), ours


@pytest.mark.parametrize("name", CHECKED)
def test_indices_are_checked_in_pytorchs_words(name):
    ours, theirs = error_of(lambda: CHECKED[name](OURS)), error_of(lambda: CHECKED[name](THEIRS, check_invariants=True))
    assert type(ours) is type(theirs) and str(ours) == str(theirs)


def test_what_has_no_meaning_names_a_way():
    for call, words in ((lambda: OURS.s.view(6), "sparse COO has no `view`; use `to_dense"), (lambda: OURS.s.exp(), "sparse COO has no `exp`"),
                        (lambda: OURS.csr.cos(), "sparse CSR has no `cos`")):
        with pytest.raises(NotImplementedError, match=words):
            call()


def test_sampled_products_go_into_out():
    """`out` takes on the result's size and places; another layout or dtype is refused."""
    results = []
    for k in (OURS, THEIRS):
        t = k.t
        given, a, b = t.eye(3).to_sparse_csr(), t.ones(3, 2), t.ones(2, 3)
        outs = [t.eye(3).to_sparse_csr(), t.ones(3, 3).to_sparse_csr(), t.eye(2).to_sparse_csr(), given]
        results.append([t.sparse.sampled_addmm(given, a, b, beta=2.0, alpha=3.0, out=o).to_dense().tolist() for o in outs[:3]] + [o.to_dense().tolist() for o in outs])
        assert t.sparse.sampled_addmm(given, a, b, out=given) is given and given.to_dense()[0, 0].item() == 3
        for wrong in (t.eye(3), t.eye(3).to_sparse(), t.eye(3, dtype=t.float64).to_sparse_csr()):
            with pytest.raises(RuntimeError, match="sampled_addmm: Expected result"):
                t.sparse.sampled_addmm(given, a, b, out=wrong)
        with pytest.raises(RuntimeError, match="without overflow"):
            t.sparse.sampled_addmm(given, a, b, alpha=1j)
    assert results[0] == results[1]


@pytest.mark.parametrize("dtype", [numtorch.bfloat16, numtorch.float16])
def test_products_of_16_bit_floats(dtype):
    """They are widened: the kernels of rows know no such elements."""
    x, dense = numtorch.tensor([[1.0, 0, 2], [0, 3, 0]], dtype=dtype), numtorch.tensor([[1.0, 2], [3, 4], [5, 6]], dtype=dtype, requires_grad=True)
    for sparse in (x.to_sparse(), x.to_sparse_csr()):
        sparse.requires_grad_()
        out = sparse @ dense
        assert out.dtype is dtype and out.tolist() == [[11, 14], [9, 12]]
        by_sparse, by_dense = numtorch.autograd.grad(out.sum(), (sparse, dense))
        assert by_dense.tolist() == [[1, 1], [3, 3], [2, 2]] and by_sparse.to_dense()[0, 2].item() == 11
        assert numtorch.sparse.sampled_addmm(x.to_sparse_csr(), x, dense.detach() @ x).to_dense()[0, 2].item() == 2 + 22


def test_elements_picked_keep_their_dtype():
    x = numtorch.sparse_coo_tensor([[0, 0], [1, 1]], [1, 2], (2, 2), dtype=numtorch.int32)
    assert x[0, 1].dtype is numtorch.int32 and x[0, 1].item() == 3


def test_nothing_is_added_to_any_number_of_sparse_dimensions():
    x = numtorch.sparse_coo_tensor([[0]], [[1.0, 2.0, 3.0]], (2, 3))
    for total in (numtorch.sparse_coo_tensor((2, 3)) + x, x + numtorch.sparse_coo_tensor((2, 3))):
        assert total.to_dense().tolist() == [[1, 2, 3], [0, 0, 0]]
