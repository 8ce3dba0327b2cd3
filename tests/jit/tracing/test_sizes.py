"""Traces of calls whose sizes depend on values: they are what the values of each call make them, in files too, or a warning says not."""
import io
import warnings

import pytest

import numtorch as torch

F = torch.nn.functional
X, Y = torch.tensor([1.0, -2.0, 3.0, -4.0]), torch.tensor([-1.0, 2.0, 5.0, 4.0])
M, N = torch.arange(12.0).reshape(4, 3), torch.arange(12.0).reshape(4, 3).clamp(2, 4)
K, L = torch.tensor([True, False, True, True]), torch.tensor([False, False, True, False])
I, J = torch.tensor([3, 1, 1, 0]), torch.tensor([5, 1, 2, 0])
TABLE = torch.arange(18.0).reshape(6, 3)


def clipped(x):
    weight = x.clone().requires_grad_()
    (weight * weight).sum().backward()
    return torch.nn.utils.clip_grad_norm_([weight], 1.0), weight.grad


def assigned(m, k):
    m = m.clone()
    m[k] = 0.0
    return m


def columns_written(m, k):
    rows = m[k]
    last = rows[:, 2]
    rows[:, 0].clamp_(1, 4)
    rows[:, 1:] *= 2
    rows.t()[0].add_(last)
    whole = m.nonzero()
    first = whole[:, 0]
    whole.mul_(3)
    return rows, last, rows[:, ::2] + 1, first


FOLLOWED = {
    "rows of a mask": (lambda m, k: m[k], (M, K), (M, L)), "where": (lambda x: x[torch.where(x > 0)], (X,), (Y,)), "assigned": (assigned, (M, K), (M, L)),
    "columns written": (columns_written, (M, K & ~L), (M - 2, K)),
    "index_put": (lambda x, v: x.index_put((x > 0,), v), (X, torch.tensor(5.0)), (Y, torch.tensor(6.0))),
    "nonzero": (lambda x: (x.nonzero(), *x.nonzero(as_tuple=True)), (X,), (Y.clamp(min=0),)), "argwhere": (lambda x: torch.argwhere(x > 0), (X,), (Y,)),
    "unique": (lambda m: m.unique(return_inverse=True, return_counts=True), (M,), (N,)), "unique rows": (lambda m: m.unique(dim=0), (M,), (N,)),
    "runs": (lambda m: m.unique_consecutive(), (M,), (N,)), "runs of rows": (lambda m: m.unique_consecutive(dim=1, return_inverse=True)[1], (M,), (N,)),
    "embedding_bag": (lambda i, w: F.embedding_bag(i, w, torch.tensor([0, 2]), mode="max"), (I, TABLE), (J, TABLE)), "clipped": (clipped, (X,), (Y,)),
    "norm": (lambda x: torch.nn.utils.get_total_norm([x, x * 2]), (X,), (Y,)), "cholesky_ex": (torch.linalg.cholesky_ex, (torch.eye(2),), (-torch.eye(2),)),
    "inv_ex": (torch.linalg.inv_ex, (torch.eye(2),), (torch.zeros(2, 2),)), "masked_select": (lambda x: x.masked_select(x > 0), (X,), (Y,)),
    "masked_scatter": (lambda x, s: x.masked_scatter(x > 0, s), (X, torch.ones(3)), (Y, torch.zeros(3))), "bincount": (torch.bincount, (I,), (J,)),
    "weights": (lambda i, w: torch.bincount(i, w, 5), (I, X), (J, X)), "repeat_interleave": (torch.repeat_interleave, (X, I), (X, J)),
    "histogram": (lambda x: torch.histogram(x, 4), (X,), (Y,)), "histc": (lambda x: torch.histc(x, 4), (X,), (Y,)),
    "max_norm": (lambda i, w: F.embedding(i, w.clone(), max_norm=1.0), (I, TABLE), (J, TABLE)), "reshaped": (lambda m, k: m[k].reshape(-1, 1).flatten(), (M, K), (M, L)),
    "expanded": (lambda x: x[x > 0].unsqueeze(1).expand(-1, 2) * 2, (X,), (Y,)), "but the last": (lambda x: (x[x > 0][:-1], x[x > 0][1:]), (X,), (Y,)),
    "product": (lambda m, k: (m[k] @ m.t()).softmax(1).sum(0), (M, K), (M, L)), "joined": (lambda m, k: torch.cat([m[k], m]), (M, K), (M, L)),
    "joined and seen otherwise": (lambda m, k: torch.cat([m[k], m])[1:].reshape(-1, 1).flatten(), (M, K), (M, L))}


def _loaded(traced):
    file = io.BytesIO()
    traced.save(file)
    file.seek(0)
    return torch.jit.load(file)


@pytest.mark.parametrize("name", FOLLOWED)
def test_sizes_are_those_of_each_call(name):
    function, example, other = FOLLOWED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced = torch.jit.trace(function, example, check_trace=False)
    for each in (traced, _loaded(traced)):
        for args in (example, other):
            torch.testing.assert_close(each(*args), function(*args), equal_nan=True)


@pytest.mark.parametrize("function", [lambda x: x * x[x > 0].numel(), lambda x: x.nonzero().shape[0] * x, lambda x: x * len(x[x > 0]), lambda x: x * (x[x > 0] * 2).size(0),
                                      lambda x: torch.zeros_like(x[x > 0]), lambda x: sum(x[x > 0]), lambda x: x[x > 0].diff(), lambda x: x[x > 0].split(1),
                                      lambda x: x * len(torch.cat([x[x > 0], x])), lambda x: x[x > 0][1:].chunk(2)[0], lambda x: x * x[x > 0][-3:].numel(),
                                      lambda x: torch.rand_like(x[x > 0]), lambda x: (x[x > 0] * 2)[1:].zero_(), lambda x: torch.outer(x[x > 0], x[x > 0])[0].zero_(),
                                      lambda x: torch.autograd.grad((y := x.detach().requires_grad_())[x > 0].mean(), y)])
def test_a_size_that_comes_to_python_is_frozen_with_a_warning(function):
    with pytest.warns(torch.jit.TracerWarning) as seen:
        torch.jit.trace(function, X, check_trace=False)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.jit.trace(lambda x: x * x.numel() + x[x > 0].sum().unsqueeze(0).shape[0] + x[x > 0][:1].numel(), X)
