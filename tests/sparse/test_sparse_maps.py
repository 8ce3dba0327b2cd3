"""`vmap` over samples of a COO tensor: where PyTorch's gives something, the same; else what a loop over the samples gives, or words."""
import numpy as np
import pytest
from test_sparse import check_same, plain

import numtorch

pytorch = pytest.importorskip("torch")
INDICES, NUMBERS = [[0, 0, 1, 1, 1], [0, 1, 0, 1, 1], [2, 0, 1, 2, 2]], np.arange(1.0, 6)


def samples(t, kind):
    """Three dimensions, of which one counts the samples, with elements stored twice; or with elements that have dimensions."""
    i = t.tensor(INDICES)
    if kind == "hybrid":
        return t.sparse_coo_tensor(i[:2], t.arange(10.0).view(5, 2), (2, 2, 2))
    if kind == "none":
        return t.sparse_coo_tensor(t.zeros(3, 0, dtype=t.int64), t.zeros(0), (2, 2, 3))
    x = t.sparse_coo_tensor(i, t.tensor(NUMBERS).float(), (2, 2, 3))
    return x.coalesce() if kind == "in order" else x


def matrix(t, s):
    return (t.arange(4.0 * s.shape[-1]).view(s.shape[-1], 4) - 3) / 2


CALLS = {
    "itself": lambda t, s: s, "times 2": lambda t, s: s * 2, "neg": lambda t, s: -s, "to_dense": lambda t, s: s.to_dense(), "sum": lambda t, s: s.sum(), "sum over 0": lambda t, s: s.sum(0),
    "sparse.sum": lambda t, s: t.sparse.sum(s), "sparse.sum over 0": lambda t, s: t.sparse.sum(s, 0), "abs": lambda t, s: s.abs(), "sin": lambda t, s: s.sin(), "relu": lambda t, s: s.relu(),
    "sqrt": lambda t, s: s.sqrt(), "squared": lambda t, s: s ** 2, "over 2": lambda t, s: s / 2, "twice": lambda t, s: s + s, "nothing": lambda t, s: s - s, "times itself": lambda t, s: s * s,
    "alpha": lambda t, s: t.add(s, s, alpha=2), "onto dense": lambda t, s: t.ones(s.shape) + s, "times dense": lambda t, s: s * t.ones(s.shape), "plus 1": lambda t, s: s + 1, "exp": lambda t, s: s.exp(),
    "sign": lambda t, s: s.sign(), "isnan": lambda t, s: s.isnan(), "t": lambda t, s: s.t(), "transpose": lambda t, s: s.transpose(0, 1), "permute": lambda t, s: s.permute(1, 0),
    "a row": lambda t, s: s[0], "a column": lambda t, s: s[:, 1], "rows": lambda t, s: list(s), "unbind": lambda t, s: s.unbind(0), "unsqueeze": lambda t, s: s.unsqueeze(0),
    "squeeze": lambda t, s: s.unsqueeze(0).squeeze(0), "narrow_copy": lambda t, s: s.narrow_copy(0, 0, 1), "slice": lambda t, s: s[:1], "coalesce": lambda t, s: s.coalesce(),
    "indices": lambda t, s: s.coalesce().indices(), "values": lambda t, s: s.coalesce().values(), "nnz": lambda t, s: t.tensor(s._nnz()), "is_coalesced": lambda t, s: t.tensor(s.is_coalesced()),
    "questions": lambda t, s: t.tensor([s.is_sparse, s.layout == t.sparse_coo, s.dim() == 2, tuple(s.shape) == s.shape]), "clone": lambda t, s: s.clone(), "double": lambda t, s: s.double(),
    "detach": lambda t, s: s.detach(), "@": lambda t, s: s @ matrix(t, s), "sparse.mm": lambda t, s: t.sparse.mm(s, matrix(t, s)), "mv": lambda t, s: s @ matrix(t, s)[:, 0],
    "from the left": lambda t, s: t.ones(3, s.shape[0]) @ s, "addmm": lambda t, s: t.addmm(t.ones(s.shape[0], 4), s, matrix(t, s)), "sparse.addmm": lambda t, s: t.sparse.addmm(t.ones(s.shape[0], 4), s, matrix(t, s)),
    "sparse @ sparse": lambda t, s: t.sparse.mm(s, s.t()), "cat": lambda t, s: t.cat([s, s]), "stack": lambda t, s: t.stack([s, s]), "picked": lambda t, s: s.index_select(0, t.tensor([1, 0])),
    "softmax": lambda t, s: t.sparse.softmax(s, 1), "norm": lambda t, s: s.norm(), "any": lambda t, s: s.any(), "to_sparse_csr": lambda t, s: s.to_sparse_csr(), "mask": lambda t, s: t.ones(s.shape).sparse_mask(s),
    "zeros_like": lambda t, s: t.zeros_like(s), "mul_": lambda t, s: s.clone().mul_(3), "add_": lambda t, s: s.clone().add_(s), "mean": lambda t, s: s.mean(), "view": lambda t, s: s.view(-1),
    "linear": lambda t, s: t.nn.functional.linear(t.ones(5, s.shape[-1]), s), "item": lambda t, s: t.tensor(s.sum().item()), "dense sums": lambda t, s: (s * 2).to_dense() + 1,
    "of gradients": lambda t, s: t.func.grad(lambda s: (s.to_dense() ** 3).sum())(s), "gradients of products": lambda t, s: t.func.grad(lambda s: t.sparse.mm(s, matrix(t, s)).pow(2).sum())(s),
}
WAYS = {"in front": ("twice", 0), "in order": ("in order", 0), "second": ("twice", 1), "last": ("twice", -1), "hybrid": ("hybrid", 0), "none": ("none", 0)}
# Dense here, see docs/sparse.md; PyTorch loses writes to what it moved, and takes what is permuted for in order.
OTHERWISE = {"zeros_like", ("mul_", "second"), ("mul_", "last"), ("add_", "second"), ("add_", "last"), ("permute", "in order"), ("transpose", "in order")}


def mapped(t, call, way):
    kind, dim = WAYS[way]
    return plain(t.func.vmap(lambda s: CALLS[call](t, s), dim)(samples(t, kind)))


def looped(call, way):
    """The same in a loop, dense."""
    kind, dim = WAYS[way]
    x = samples(numtorch, kind)
    each = [CALLS[call](numtorch, x.select(dim, i)) for i in range(x.shape[dim])]
    return numtorch.stack([e.to_dense() for e in each])


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_samples_of_a_sparse_tensor(call):
    wrong = {}
    for way in WAYS:
        try:
            theirs, refused = mapped(pytorch, call, way), call in OTHERWISE or (call, way) in OTHERWISE
        except Exception:
            refused = True
        try:
            kind, dim = WAYS[way]
            result = numtorch.func.vmap(lambda s: CALLS[call](numtorch, s), dim)(samples(numtorch, kind))
        except (RuntimeError, IndexError) as error:
            if not refused or len(str(error)) < 20 or "attribute" in str(error):
                wrong[way] = repr(error)
            continue
        try:
            if not refused:
                check_same(plain(result), theirs)
            else:
                numtorch.testing.assert_close(result.to_dense(), looped(call, way))
        except Exception as error:
            wrong[way] = repr(error)[:300]
    assert not wrong, wrong


PAIRS = {
    "sums": (lambda t, a, b: a + b, "sparse", (0, 0)), "products": (lambda t, a, b: a * b, "sparse", (0, 0)), "times dense": (lambda t, a, b: a * b, "dense", (0, 0)),
    "dense plus": (lambda t, a, b: b + a, "dense", (0, 0)), "@": (lambda t, a, b: a @ b, "factors", (0, 0)), "@ the same": (lambda t, a, b: a @ b, "factor", (0, None)),
    "in each other": (lambda t, a, b: t.func.vmap(lambda s: s * 3)(a), "dense", (0, 0)), "sums in each other": (lambda t, a, b: t.func.vmap(lambda s: s.sum())(a), "dense", (0, 0)),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.filterwarnings("ignore")
def test_samples_of_two_tensors(name):
    function, other, dims = PAIRS[name]

    def run(t):
        a = samples(t, "twice")
        b = {"sparse": lambda: a * 2 + a, "dense": lambda: t.arange(12.0).view(2, 2, 3), "factors": lambda: t.arange(24.0).view(2, 3, 4), "factor": lambda: t.arange(12.0).view(3, 4)}[other]()
        return t.func.vmap(lambda a, b: function(t, a, b), dims)(a, b), a, b
    found, a, b = run(numtorch)
    try:
        theirs = run(pytorch)[0]
    except Exception:                                    # a loop says what it is
        each = [function(numtorch, a[i], b if dims[1] is None else b[i]).to_dense() for i in range(2)]
        numtorch.testing.assert_close(found.to_dense(), numtorch.stack(each))
    else:
        check_same(plain(found), plain(theirs))


@pytest.mark.parametrize("out_dim", [0, 1, 2, -1])
def test_where_samples_come_out(out_dim):
    check_same(*[plain(t.func.vmap(lambda s: s * 2, 0, out_dim)(samples(t, "twice"))) for t in (numtorch, pytorch)])


GRADIENTS = {
    "scaled": lambda t, s: (s * 2).sum(), "to_dense": lambda t, s: (s.to_dense() ** 2).sum(), "@": lambda t, s: ((s @ matrix(t, s)) ** 2).sum(), "sparse.sum": lambda t, s: t.sparse.sum(s * 3),
    "sparse.mm": lambda t, s: t.sparse.mm(s, matrix(t, s)).sum(),
}


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.filterwarnings("ignore")
def test_gradients_of_functions_of_sparse_tensors(name):
    """`func.grad` and `vjp` take them; forward mode has no tangents of them, as PyTorch's has none."""
    found = []
    for t in (numtorch, pytorch):
        s, function = samples(t, "in order")[1].coalesce(), lambda s, t=t: GRADIENTS[name](t, s)
        slope = t.func.grad(function)(s)
        found.append((slope.layout == t.strided, plain(slope.to_dense()), plain(t.func.vjp(function, s)[1](t.tensor(2.0))[0].to_dense())))
        with pytest.raises(NotImplementedError):
            t.func.jvp(function, (s,), (s,))
    check_same(*found)
