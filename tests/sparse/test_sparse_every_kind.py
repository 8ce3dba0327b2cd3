"""Every sparse call on every kind of COO tensor (elements stored twice, none stored, elements that have dimensions, extents of 0): what
PyTorch gives of each, and where it has nothing the dense result or an error that a user can read."""
import numpy as np
import pytest
from test_sparse import check_same, plain

import numtorch

pytorch = pytest.importorskip("torch")


def coo(t, indices, dense, shape):
    """A tensor with numbers 1, -2, 3, ... at the coordinates."""
    count = len(indices[0])
    values = (t.arange(1.0, 1 + count * int(np.prod(dense))) * 0.5 - 1.25).view(count, *dense) if count else t.zeros(0, *dense)
    return t.sparse_coo_tensor(t.tensor(indices, dtype=t.int64).view(len(indices), count), values, shape)


TWICE = [[1, 0, 1, 0], [2, 0, 2, 2]]
KINDS = {
    "in order": lambda t: coo(t, TWICE, (), (2, 3)).coalesce(), "twice": lambda t: coo(t, TWICE, (), (2, 3)),
    "none": lambda t: coo(t, [[], []], (), (2, 3)), "no rows": lambda t: coo(t, [[], []], (), (0, 3)), "no columns": lambda t: coo(t, [[], []], (), (2, 0)),
    "hybrid": lambda t: coo(t, TWICE, (2,), (2, 3, 2)).coalesce(), "hybrid twice": lambda t: coo(t, TWICE, (2,), (2, 3, 2)),
    "hybrid none": lambda t: coo(t, [[], []], (2,), (2, 3, 2)), "hybrid of nothing": lambda t: coo(t, TWICE, (0,), (2, 3, 0)),
    "vectors": lambda t: coo(t, [[1, 0, 1]], (3,), (2, 3)), "vector": lambda t: coo(t, [[1, 0, 1]], (), (2,)),
    "batch": lambda t: coo(t, [[1, 0, 1, 1], *TWICE], (), (2, 2, 3)), "square": lambda t: coo(t, [[1, 0, 1, 2], [2, 0, 2, 1]], (), (3, 3)),
}


def dense_like(t, x):
    return (t.arange(float(x.numel())).view(x.shape) + 1) / 4


def columns(t, x):
    """A matrix to multiply with."""
    return (t.arange(4.0 * x.shape[-1]).view(x.shape[-1], 4) - 3) / 2


CALLS = {
    "to_dense": lambda t, x: x.to_dense(), "coalesce": lambda t, x: x.coalesce(), "parts": lambda t, x: (x.coalesce().indices(), x.coalesce().values()),
    "counts": lambda t, x: (x.coalesce()._nnz(), x.sparse_dim(), x.dense_dim(), x.numel(), x.dim(), x.is_sparse, x.is_coalesced(), tuple(x.shape)),
    "text": lambda t, x: repr(x.coalesce()), "clone": lambda t, x: x.clone(), "detach": lambda t, x: x.detach(), "double": lambda t, x: x.double(),
    "to ints": lambda t, x: x.to(t.int64), "neg": lambda t, x: -x, "abs": lambda t, x: x.abs(), "relu": lambda t, x: x.relu(), "sin": lambda t, x: x.sin(),
    "sqrt": lambda t, x: x.abs().sqrt(), "sign": lambda t, x: x.sign(), "isnan": lambda t, x: x.isnan(), "square": lambda t, x: x ** 2, "times 2": lambda t, x: x * 2,
    "over 2": lambda t, x: x / 2, "floored": lambda t, x: x // 2, "twice": lambda t, x: x + x, "minus its own": lambda t, x: x - x.coalesce(),
    "plus others": lambda t, x: t.add(x, x * 2, alpha=3), "squared": lambda t, x: (x * x).to_dense(), "times others": lambda t, x: (x * (x.coalesce() * 3)).to_dense(),
    "onto dense": lambda t, x: dense_like(t, x) + x, "off dense": lambda t, x: dense_like(t, x) - x, "times dense": lambda t, x: x * dense_like(t, x),
    "times the last": lambda t, x: (x * dense_like(t, x)[..., :1]).to_dense(), "times 0-dim": lambda t, x: x * t.tensor(2.0),
    "transposed": lambda t, x: x.transpose(0, 1), "t": lambda t, x: x.t(), "permuted": lambda t, x: x.permute(1, 0, *range(2, x.dim())),
    "first": lambda t, x: x[0], "last": lambda t, x: x[-1], "of the last": lambda t, x: x.select(-1, 0), "one": lambda t, x: x[0, 0], "rows": lambda t, x: list(x),
    "unsqueezed": lambda t, x: x.unsqueeze(0), "unsqueezed behind": lambda t, x: x.unsqueeze(-1), "squeezed": lambda t, x: x.unsqueeze(0).squeeze(0), "narrowed": lambda t, x: x.narrow_copy(0, 0, 1),
    "narrowed behind": lambda t, x: x.narrow_copy(-1, 0, 1), "sliced": lambda t, x: x[:1], "picked": lambda t, x: x.index_select(0, t.tensor([1, 0, 1])),
    "picked behind": lambda t, x: x.index_select(-1, t.tensor([0, 0])), "sum": lambda t, x: x.sum(), "sparse.sum": lambda t, x: t.sparse.sum(x),
    "sum over 0": lambda t, x: t.sparse.sum(x, 0), "sum over the last": lambda t, x: t.sparse.sum(x, -1), "sum over two": lambda t, x: t.sparse.sum(x, (0, 1)),
    "sum kept": lambda t, x: x.sum(0, keepdim=True), "norm": lambda t, x: x.norm(), "any": lambda t, x: x.any(), "softmax": lambda t, x: t.sparse.softmax(x, 0),
    "softmax behind": lambda t, x: t.sparse.softmax(x, -1), "log_softmax": lambda t, x: t.sparse.log_softmax(x, 0), "cat": lambda t, x: t.cat([x, x * 2]),
    "cat behind": lambda t, x: t.cat([x, x * 2], -1), "stack": lambda t, x: t.stack([x, x * 2]), "@": lambda t, x: x @ columns(t, x),
    "mm": lambda t, x: t.sparse.mm(x, columns(t, x)), "from the left": lambda t, x: t.ones(4, x.shape[0]) @ x, "mv": lambda t, x: t.mv(x, columns(t, x)[:, 0]),
    "with itself": lambda t, x: (x @ x.t()).to_dense(), "addmm": lambda t, x: t.addmm(t.ones(x.shape[0], 4), x, columns(t, x), beta=2, alpha=3),
    "bmm": lambda t, x: t.bmm(x, columns(t, x).expand(x.shape[0], -1, -1)), "linear": lambda t, x: t.nn.functional.linear(t.ones(4, x.shape[-1]), x),
    "csr": lambda t, x: x.coalesce().to_sparse_csr(), "csc": lambda t, x: x.to_sparse_csc(), "mask": lambda t, x: dense_like(t, x).sparse_mask(x.coalesce()),
    "masked": lambda t, x: (x * 2).coalesce().sparse_mask(x.coalesce()), "mul_": lambda t, x: x.clone().mul_(3), "add_": lambda t, x: x.clone().add_(x * 2),
    "sub_": lambda t, x: x.clone().sub_(x.coalesce()), "zero_": lambda t, x: x.clone().zero_(), "copy_": lambda t, x: x.clone().copy_(x * 2), "neg_": lambda t, x: x.clone().neg_(),
    "dense add_": lambda t, x: dense_like(t, x).add_(x, alpha=2), "resized": lambda t, x: x.clone().sparse_resize_((*[n + 1 for n in x.shape[:x.sparse_dim()]], *x.shape[x.sparse_dim():]), x.sparse_dim(), x.dense_dim()),
    "cleared": lambda t, x: x.clone().sparse_resize_and_clear_(tuple(x.shape), x.sparse_dim(), x.dense_dim()), "zeros_like": lambda t, x: t.zeros_like(x), "empty_like": lambda t, x: t.empty_like(x, dtype=t.float64), "sum kept over two": lambda t, x: x.sum((0, 1), keepdim=True),
    "closeness": lambda t, x: t.testing.assert_close(x, x.clone()),
}
REFUSALS = (RuntimeError, TypeError, ValueError, IndexError)                          # NotImplementedError is a RuntimeError


def outcome(t, call, kind):
    return plain(CALLS[call](t, KINDS[kind](t)))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_every_kind(call):
    wrong = {}
    for kind in KINDS:
        try:
            theirs, refused = outcome(pytorch, call, kind), False
        except Exception:
            refused = True
        try:
            ours = outcome(numtorch, call, kind)
        except REFUSALS as error:
            if not refused or isinstance(error, RecursionError):
                wrong[kind] = repr(error)
            continue
        except Exception as error:                       # what a user cannot read
            wrong[kind] = repr(error)
            continue
        try:
            if refused:                                  # PyTorch has no such call: the dense tensor says what it is
                dense = CALLS[call](numtorch, KINDS[kind](numtorch).to_dense())
                found = CALLS[call](numtorch, KINDS[kind](numtorch))
                for a, b in zip(*[r if isinstance(r, (tuple, list)) else (r,) for r in (found, dense)], strict=True):
                    numtorch.testing.assert_close(a.to_dense(), b)
            else:
                check_same(ours, theirs)
        except Exception as error:
            # where the result has no elements, it does not matter which places it stores
            if not (kind == "hybrid of nothing" and not refused and str(ours[:3]) == str(theirs[:3]) and 0 in ours[2]):
                wrong[kind] = repr(error)[:300]
    assert not wrong, wrong
