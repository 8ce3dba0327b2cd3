"""Gradients through sparse tensors: PyTorch's, sparse where these are; second ones by finite differences; and tensors kept and sent."""
import copy
import io
import pickle

import pytest
from test_sparse import OURS, THEIRS, check_same, plain

import numtorch as torch
from numtorch.autograd import gradcheck, gradgradcheck

# A row: what is computed of (library, sparse leaf, values leaf as a sparse tensor, dense leaf (3, 4)).
GRADIENTS = {
    "to_dense": lambda k, s, x, m: (s.to_dense() * k.d).sum() + (x.to_dense() * k.d).sum(),
    "mm": lambda k, s, x, m: ((s @ m) ** 2).sum() + (x @ m).sum(), "sparse.mm": lambda k, s, x, m: (k.t.sparse.mm(s, m) * k.t.sparse.mm(x, m)).sum(),
    "mm from the left": lambda k, s, x, m: ((s.t() @ k.w[:2]) * (x.t() @ k.w[:2])).sum(), "mv": lambda k, s, x, m: (s @ m[:, 0]).sum() + (x @ m[:, 1]).sum(),
    "addmm": lambda k, s, x, m: k.t.sparse.addmm(m[:2], x, m, alpha=2.0).sum(), "scaled": lambda k, s, x, m: (s * 2 + x.coalesce() / 3).to_dense().sum(),
    "times dense": lambda k, s, x, m: (x.coalesce() * m[:, :3][:2]).to_dense().sum(), "sum": lambda k, s, x, m: k.t.sparse.sum(s * 3) + x.sum() * 2,
    "sum over some": lambda k, s, x, m: (k.t.sparse.sum(s, 0).to_dense() * k.d[1]).sum() + (k.t.sparse.sum(x.coalesce(), 1).to_dense() * k.d[:, 1]).sum(),
    "plus": lambda k, s, x, m: ((s + k.o).to_dense() * k.d).sum() + ((x.coalesce() - k.o) .to_dense() * k.d).sum(),
    "dense plus": lambda k, s, x, m: ((k.d + x) ** 2).sum(), "transposed": lambda k, s, x, m: (s.t().to_dense() * k.d.t()).sum() + (x.t() @ k.d).sum(),
    "values": lambda k, s, x, m: (s.coalesce().values() ** 2).sum() + (x.coalesce().values() ** 3).sum(), "mask": lambda k, s, x, m: (m[:2, :3].sparse_mask(k.c).values() ** 2).sum(),
    "softmax": lambda k, s, x, m: (k.t.sparse.softmax(x, 1).to_dense() * k.d).sum() + (k.t.sparse.log_softmax(s, 0).to_dense() * k.d).sum(),
    "unary": lambda k, s, x, m: (s.coalesce().sin().to_dense() * k.d).sum() + (x.coalesce().tanh().to_dense() * k.d).sum(),
    "to_sparse": lambda k, s, x, m: ((m + 0.1).to_sparse() @ k.t.ones(4, 2)).sum() + k.t.sparse.sum((m + 0.1).to_sparse() * 2), "sparse @ sparse": lambda k, s, x, m: ((s @ x.t()).to_dense() ** 2).sum(),
    "select": lambda k, s, x, m: (s.coalesce()[0].to_dense() * k.d[1]).sum(), "sampled": lambda k, s, x, m: k.t.sparse.sampled_addmm(k.csr, m[:2], m.t()[:, :3].contiguous()).values().sum(),
    "cat": lambda k, s, x, m: (k.t.cat([s, s]).to_dense() * k.t.arange(12.0).view(4, 3)).sum(),
}


def slopes(k, row):
    s, v, m = k.c.clone().requires_grad_(), k.v.clone().requires_grad_(), k.m.clone().requires_grad_()
    row(k, s, k.coo(k.i, v, (2, 3)), m).backward()
    sparse = None if s.grad is None else (s.grad.is_sparse, plain(s.grad.to_dense() * (s.detach().to_dense() != 0)))
    return sparse, *[None if t.grad is None else plain(t.grad) for t in (v, m)]


REFUSED = ("cat", "select", "times dense", "unary")     # by PyTorch, which has no derivative for them



@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.filterwarnings("ignore")
def test_gradients_are_pytorchs(name):
    ours = slopes(OURS, GRADIENTS[name])
    if name in REFUSED:
        with pytest.raises(RuntimeError):
            slopes(THEIRS, GRADIENTS[name])
        return
    theirs = slopes(THEIRS, GRADIENTS[name])
    check_same(ours, theirs)


# A row: what is computed of (library, sparse leaf of (2, 3), dense leaf of (3, 4)), and whether the sparse leaf's gradient is dense.
OF_LEAVES = {
    "@": (lambda t, s, m: (s @ m) ** 2, True), "mm": (lambda t, s, m: t.mm(s, m), True), "mv": (lambda t, s, m: t.mv(s, m[:, 0]), True),
    "@ of the transpose": (lambda t, s, m: m.t() @ s.t(), True), "transpose @": (lambda t, s, m: s.t() @ m[:2], True), "transpose": (lambda t, s, m: s.t().to_dense(), False),
    "addmm": (lambda t, s, m: t.addmm(m[:2], s, m), True), "linear": (lambda t, s, m: t.nn.functional.linear(m.t(), s), True),
    "bmm": (lambda t, s, m: t.bmm(s, m.unsqueeze(0)), True), "sum": (lambda t, s, m: s.sum() * 3, True),
    "dense plus": (lambda t, s, m: (m[:2, :3] + s) ** 2, True), "sparse.mm": (lambda t, s, m: t.sparse.mm(s, m), False),
    "sparse.addmm": (lambda t, s, m: t.sparse.addmm(m[:2], s, m), False), "sparse.sum": (lambda t, s, m: t.sparse.sum(s), False),
    "to_dense": (lambda t, s, m: s.to_dense() ** 2, False), "times": (lambda t, s, m: (s * 2).to_dense(), False),
}


@pytest.mark.parametrize("kind", ["coo", "uncoalesced", "csr"])
@pytest.mark.parametrize("name", OF_LEAVES)
@pytest.mark.filterwarnings("ignore")
def test_gradients_of_leaves_are_dense_where_pytorchs_are(name, kind):
    row, dense = OF_LEAVES[name]
    if kind == "csr" and name in ("bmm", "sparse.sum"):
        pytest.skip("PyTorch has no CSR tensors there")
    found = []
    for k in (OURS, THEIRS):
        s = k.coo(k.i, k.v.double(), (2, 3))
        s = (s if kind == "uncoalesced" else s.coalesce() if kind == "coo" else s.coalesce().to_sparse_csr()).detach().requires_grad_()
        if name == "bmm":
            s = s.detach().unsqueeze(0).detach().requires_grad_()
        m = k.m.double().detach().requires_grad_()
        row(k.t, s, m).sum().backward()
        found.append((s.grad.layout == k.t.strided, plain(s.grad.to_dense()), None if m.grad is None else plain(m.grad)))
    check_same(found[0], found[1])
    assert found[0][0] == dense


# What is linear in a sparse tensor passes the gradient of elements that are not stored, as PyTorch's does; what is not cannot.
STEPS = {
    "itself": lambda t, s, o, d: s, "neg": lambda t, s, o, d: -s, "times 2": lambda t, s, o, d: s * 2, "over 2": lambda t, s, o, d: s / 2, "plus": lambda t, s, o, d: s + o,
    "to others": lambda t, s, o, d: o + s, "minus": lambda t, s, o, d: o - s, "twice": lambda t, s, o, d: s + s, "transposed twice": lambda t, s, o, d: s.t().t(),
    "coalesce": lambda t, s, o, d: s.coalesce(), "clone": lambda t, s, o, d: s.clone(), "abs": lambda t, s, o, d: s.abs(), "squared": lambda t, s, o, d: s * s,
    "times sparse": lambda t, s, o, d: s * o, "times dense": lambda t, s, o, d: s * d, "csr": lambda t, s, o, d: s.to_sparse_csr(), "csc": lambda t, s, o, d: s.to_sparse_csc(),
    "bsr": lambda t, s, o, d: s.to_sparse_bsr((1, 1)), "to_sparse": lambda t, s, o, d: s.to_sparse(), "dense and back": lambda t, s, o, d: s.to_dense().to_sparse(),
    "cat": lambda t, s, o, d: t.cat([s, s * 3]), "picked": lambda t, s, o, d: s.index_select(0, t.tensor([1, 0, 1])), "a row": lambda t, s, o, d: s.select(0, 1).unsqueeze(0),
    "columns": lambda t, s, o, d: s.narrow_copy(1, 0, 2), "a further dimension": lambda t, s, o, d: s.select(1, 2).unsqueeze(1), "scaled sums": lambda t, s, o, d: (s * 2 + o).t().t() / 3,
}
ENDS = {
    "@": lambda t, s, y: s @ y, "sparse.mm": lambda t, s, y: t.sparse.mm(s, y) ** 2, "mv": lambda t, s, y: t.mv(s, y[:, 0]), "sum": lambda t, s, y: s.sum(), "to_dense": lambda t, s, y: s.to_dense() ** 2,
    "dense plus": lambda t, s, y: (t.ones(s.shape, dtype=y.dtype) + s) ** 2,
}


@pytest.mark.parametrize("source", ["leaf", "to_sparse", "to_sparse_csr"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.filterwarnings("ignore")
def test_gradients_of_elements_that_are_not_stored(step, source):
    def slope(k, end):
        t = k.t
        x, o, y = t.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 1.0]]).double(), t.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]).double().to_sparse(), k.m.double()
        leaf = (x.to_sparse() if source == "leaf" else x).requires_grad_()
        s = leaf if source == "leaf" else getattr(leaf, source)()
        ENDS[end](t, STEPS[step](t, s, o, (x.detach() + 1).to_dense()), y).sum().backward()
        return leaf.grad.layout == t.strided, plain(leaf.grad.to_dense())
    compared = 0
    for end in ENDS:
        try:
            theirs = slope(THEIRS, end)
        except (RuntimeError, NotImplementedError):
            continue
        check_same(slope(OURS, end), theirs)
        compared += 1
    assert compared >= (0 if source == "to_sparse_csr" else 1)


OF_DENSE = {                                             # of a dense (3, 4) matrix with zeros, made sparse: they have a gradient too
    "@": lambda s, m: s @ m.t(), "times a number": lambda s, m: (s * 3) @ m.t() + (-s / 2) @ m.t(), "a sum": lambda s, m: (s + s * 2 - s.t().t()) @ m.t(),
    "cat": lambda s, m: torch.cat([s, s * 2], 1) @ torch.cat([m, m], 1).t(), "a row": lambda s, m: s[1].unsqueeze(0) @ m.t(), "columns": lambda s, m: s[:, 1:4:2] @ m.t()[1:4:2],
    "picked": lambda s, m: s.index_select(1, torch.tensor([1, 0, 1])) @ m[:, :2].t()[torch.tensor([0, 1, 1])], "csr": lambda s, m: s.to_sparse_csr() @ m.t(),
    "bsr": lambda s, m: s.to_sparse_bsr((1, 2)) @ m.t(), "sparse": lambda s, m: torch.cat([s, s[:1]]).index_select(0, torch.tensor([3, 1])).to_dense() ** 3,
    "times dense": lambda s, m: (s * torch.arange(12.0).double().view(3, 4)) @ m.t(), "sums": lambda s, m: s.sum() * m + s,
}


@pytest.mark.parametrize("name", OF_DENSE)
def test_gradients_at_zeros_by_finite_differences(name):
    m = torch.linspace(-1, 1, 12, dtype=torch.float64).view(3, 4)
    m[1:, 1:3] = 0
    function = lambda m: OF_DENSE[name](m.to_sparse(), m)
    assert gradcheck(function, (m.requires_grad_(),))
    assert gradgradcheck(function, (m,))


def test_gradients_of_complex_sparse_factors():
    a, b = torch.randn(2, 3, dtype=torch.complex128), torch.randn(4, 2, dtype=torch.complex128)
    for product in (lambda a, b: b @ a, lambda a, b: a @ b.t()[:, :2].new_ones(3, 2).mul(1j) @ b.t()):
        grads = []
        for x in (a.clone().requires_grad_(), a.to_sparse().requires_grad_(), a.to_sparse_csr().requires_grad_()):
            product(x, b).abs().sum().backward()
            grads.append(x.grad.to_dense())
        assert torch.allclose(grads[0], grads[1]) and torch.allclose(grads[0], grads[2])


INDICES = torch.tensor([[0, 1, 1, 0], [2, 0, 2, 1]])
ROWS = {                                                 # of values (4) and a dense (3, 4) matrix, in float64
    "mm": lambda x, m: x @ m, "dense @ sparse": lambda x, m: m.t() @ x.t(), "mv": lambda x, m: x @ m[:, 0], "to_dense": lambda x, m: x.to_dense() ** 2,
    "elementwise": lambda x, m: (x * x + x.sin() * 2 - x / 3).to_dense(), "times dense": lambda x, m: (x * m[:2, :3]).to_dense(),
    "sum": lambda x, m: torch.sparse.sum(x, 0).to_dense() * torch.sparse.sum(x), "sparse @ sparse": lambda x, m: (x @ x.t()).to_dense(),
    "softmax": lambda x, m: torch.sparse.softmax(x, 1).to_dense(), "select": lambda x, m: x[1].to_dense() * x[0].to_dense(),
    "mask": lambda x, m: m[:2, :3].sparse_mask(x.coalesce().detach()).values() * x.coalesce().values(), "cat": lambda x, m: torch.cat([x, x * 2], 1).to_dense() ** 2,
    "bmm": lambda x, m: torch.bmm(torch.stack([x, x * 2]), torch.stack([m, m])), "csr": lambda x, m: x.to_sparse_csr() @ m,
    "csc": lambda x, m: x.to_sparse_csc().to_dense() @ m + x.to_sparse_csr().t().to_dense().t() @ m, "transposed": lambda x, m: x.t() @ m[:2],
    **{"reduced by " + how: lambda x, m, how=how: torch.sparse.mm(x.coalesce().to_sparse_csr(), m, how) for how in ("mean", "amax", "amin")},
    "sampled": lambda x, m: torch.sparse.sampled_addmm(x.to_sparse_csr(), m[:2, :2], m[:2, :3]).values(), "repeated": lambda x, m: (x + x.coalesce() * 3) @ m,
    "to_sparse": lambda x, m: m.to_sparse() @ m.t(), "squeezed": lambda x, m: (x.unsqueeze(0) * 2).squeeze(0).to_dense(), "sliced": lambda x, m: x[:, 1:].to_dense(),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("repeated", [False, True])
def test_gradients_by_finite_differences(name, repeated):
    indices = INDICES.clone()
    if repeated:
        indices[1, 3] = 2                                # two elements of one place
    values = torch.tensor([0.3, -0.7, 1.1, 0.6], dtype=torch.float64, requires_grad=True)
    m = torch.linspace(-1, 1, 12, dtype=torch.float64).view(3, 4).requires_grad_()
    function = lambda v, m: ROWS[name](torch.sparse_coo_tensor(indices, v, (2, 3)), m)
    assert gradcheck(function, (values, m))
    assert gradgradcheck(function, (values, m))


def test_a_gradient_of_a_gradient_is_recorded():
    v = OURS.v.clone().requires_grad_()
    m = OURS.m.clone().requires_grad_()
    first, = torch.autograd.grad((torch.sparse_coo_tensor(OURS.i, v, (2, 3)) @ m).pow(2).sum(), m, create_graph=True)
    second, = torch.autograd.grad(first.sum(), v)
    dense = torch.zeros(2, 3).index_put((OURS.i[0], OURS.i[1]), v, accumulate=True)
    first, = torch.autograd.grad((dense @ m).pow(2).sum(), m, create_graph=True)
    torch.testing.assert_close(second, torch.autograd.grad(first.sum(), v)[0])


def test_gradients_of_a_leaf_add_up():
    s = OURS.c.clone().requires_grad_()
    for _ in range(2):
        torch.sparse.mm(s, OURS.m).sum().backward()
    assert s.grad.is_sparse
    torch.testing.assert_close(s.grad.to_dense(), 2 * OURS.m.sum(1).expand(2, 3) * (OURS.c.to_dense() != 0))
    s.grad.zero_()
    assert s.grad._nnz() == 0


# ---------------------------------------------------------------- kept and sent
@pytest.mark.parametrize("name", ["s", "c", "h", "e", "csr", "csc"])
def test_pickled_copied_and_saved(name):
    x = getattr(OURS, name)
    file = io.BytesIO()
    torch.save({"x": x}, file)
    file.seek(0)
    for other in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x), torch.load(file)["x"], x.clone()):
        assert repr(other) == repr(x) and other.layout is x.layout
    assert pickle.loads(pickle.dumps(x.clone().requires_grad_())).requires_grad


def test_files_are_read_by_either_library(tmp_path):
    pytorch = THEIRS.t
    for name in ("s", "c", "h", "csr", "csc"):
        torch.save(getattr(OURS, name), tmp_path / "ours")
        assert repr(pytorch.load(tmp_path / "ours")) == repr(getattr(THEIRS, name))
        pytorch.save(getattr(THEIRS, name), tmp_path / "theirs")
        assert repr(torch.load(tmp_path / "theirs")) == repr(getattr(OURS, name))


def test_a_file_that_describes_no_tensor_is_refused(tmp_path):
    x = OURS.c.clone()
    x.memory.parts[0][0, 0] = 1000
    torch.save(x, tmp_path / "bad")
    with pytest.raises(Exception, match="size is inconsistent with indices"):
        torch.load(tmp_path / "bad")
    crow = OURS.csr.clone()
    crow.crow_indices()[1] = 1000
    torch.save(crow, tmp_path / "bad")
    with pytest.raises(Exception, match="is not satisfied"):
        torch.load(tmp_path / "bad")


def test_a_module_keeps_sparse_buffers_and_parameters():
    class Graph(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("adjacency", OURS.s.clone())
            self.weight = torch.nn.Parameter(OURS.m.clone())
            self.learned = torch.nn.Parameter(OURS.c.clone())

        def forward(self):
            return (self.adjacency + self.learned) @ self.weight
    one, two = Graph(), Graph()
    with torch.no_grad():
        one.adjacency.mul_(2)
    one().sum().backward()
    assert one.learned.grad.layout == torch.strided and one.weight.grad.shape == (3, 4)
    two.load_state_dict(one.state_dict())
    torch.testing.assert_close(two(), one())
    assert copy.deepcopy(one)().tolist() == one().tolist()
    assert one.double()().dtype is torch.float64


def test_a_write_is_noticed_by_backward():
    s = OURS.s.clone()
    m = OURS.m.clone().requires_grad_()
    y = s @ m
    s.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_saved_tensor_hooks_see_sparse_tensors():
    seen = []
    m = OURS.m.clone().requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.layout.kind) or t, lambda t: t):
        loss = (OURS.s @ m).sum()
    loss.backward()
    assert "sparse_coo" in seen
    torch.testing.assert_close(m.grad, OURS.s.to_dense().sum(0)[:, None].expand(3, 4))


def test_closeness_of_sparse_tensors_is_pytorchs():
    def outcomes(k):
        pairs = ((k.s, k.s.clone()), (k.s, k.s * 2), (k.s, k.o), (k.c, k.csr), (k.csr, k.csr * 2), (k.s, k.d), (k.c, k.coo([[0], [2]], [5.0], (2, 3))))
        for a, b in pairs:
            try:
                k.t.testing.assert_close(a, b)
                yield None
            except AssertionError as error:
                yield str(error).splitlines()[0]
        k.t.testing.assert_close(k.c, k.csr, check_layout=False)
    assert list(outcomes(OURS)) == list(outcomes(THEIRS))


def test_tensors_travel_between_processes():
    queue = torch.multiprocessing.Queue()
    for name in ("s", "h", "csr"):
        queue.put(getattr(OURS, name))
        assert repr(queue.get(timeout=60)) == repr(getattr(OURS, name))
