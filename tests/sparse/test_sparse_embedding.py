"""Embeddings with sparse gradients, and steps that touch the rows that were named: PyTorch's."""
import pytest
from test_sparse import THEIRS, check_same, plain

import numtorch as torch
from numtorch.nn import functional as F

pytorch = THEIRS.t


def table(t, rows=6, width=2):
    return t.nn.Parameter(t.arange(float(rows * width)).view(rows, width))


CALLS = {
    "embedding": lambda t, w: t.nn.functional.embedding(t.tensor([[1, 3], [1, 5]]), w, sparse=True),
    "int32": lambda t, w: t.nn.functional.embedding(t.tensor([1, 3, 1]).int(), w, sparse=True),
    "padding": lambda t, w: t.nn.functional.embedding(t.tensor([[1, 3], [1, 5]]), w, padding_idx=3, sparse=True),
    "none": lambda t, w: t.nn.functional.embedding(t.zeros(0, dtype=t.int64), w, sparse=True),
    **{mode: lambda t, w, mode=mode: t.nn.functional.embedding_bag(t.tensor([1, 3, 1, 5]), w, t.tensor([0, 2]), sparse=True, mode=mode)
       for mode in ("sum", "mean")},
    "bag with padding": lambda t, w: t.nn.functional.embedding_bag(t.tensor([1, 3, 1, 5]), w, t.tensor([0, 2]), sparse=True, mode="sum", padding_idx=3),
    "weighted bag": lambda t, w: t.nn.functional.embedding_bag(t.tensor([1, 3, 1, 5]), w, t.tensor([0, 2]), sparse=True, mode="sum",
                                                              per_sample_weights=t.tensor([1.0, 2.0, 3.0, 4.0])),
    "module": lambda t, w: t.nn.Embedding(6, 2, sparse=True, _weight=w)(t.tensor([2, 2])) * 0 + t.nn.functional.embedding(t.tensor([2, 2]), w, sparse=True),
    "twice": lambda t, w: t.nn.functional.embedding(t.tensor([2, 1]), w, sparse=True) * t.nn.functional.embedding(t.tensor([0, 2]), w, sparse=True),
}


def gradient(t, call):
    w = table(t)
    call(t, w).pow(2).sum().backward()
    return w.grad


@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_pytorchs(name):
    ours, theirs = gradient(torch, CALLS[name]), gradient(pytorch, CALLS[name])
    assert ours.is_sparse
    check_same(plain(ours), plain(theirs))
    if name in ("embedding", "padding"):
        assert repr(ours) == repr(theirs)


@pytest.mark.parametrize(("rows", "indices"), [(0, []), (10, []), (10, [[0, 2]])])
def test_rows_may_be_of_no_elements(rows, indices):
    layer = torch.nn.Embedding(rows, 0, sparse=True)
    layer(torch.tensor(indices, dtype=torch.int64)).sum().backward()
    assert layer.weight.grad.is_sparse and layer.weight.grad.shape == (rows, 0)


def test_what_has_no_sparse_gradient():
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse gradients"):
        F.embedding(torch.tensor([1]), table(torch), scale_grad_by_freq=True, sparse=True).sum().backward()
    with pytest.raises(ValueError, match="max mode does not support sparse weights"):
        F.embedding_bag(torch.tensor([[1]]), table(torch), mode="max", sparse=True)


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 0, 1), (1, 0, 1)])
@pytest.mark.parametrize("at_once", [False, True])
def test_sparse_and_dense_gradients_add_up(order, at_once):
    """A table that is a layer's weight too: PyTorch's sum is dense as soon as one of the gradients is."""
    def run(t):
        w, losses = table(t), []
        for kind in order:
            losses.append((w * 3).sum() if kind else t.nn.functional.embedding(t.tensor([1, 4, 1]), w, sparse=True).sum())
        for loss in [sum(losses)] if at_once else losses:
            loss.backward()
        return w.grad
    ours, theirs = run(torch), run(pytorch)
    assert not ours.is_sparse
    check_same(plain(ours), plain(theirs.to_dense()))


def test_more_of_a_gradient_is_added_to_the_one_that_is_there():
    """Rows that come later stand behind those that are there, in the tensor that whoever asked for the gradient has."""
    def run(t, rows):
        w = table(t)
        t.nn.functional.embedding(t.tensor([1, 3, 1]), w, sparse=True).sum().backward()
        first = w.grad
        for row in rows:
            t.nn.functional.embedding(t.tensor([row]), w, sparse=True).sum().backward()
            assert w.grad is first
        return first
    ours, theirs = run(torch, [0, 4, 1]), run(pytorch, [0, 4, 1])
    assert ours._indices().tolist() == theirs._indices().tolist() == [[1, 3, 1, 0, 4, 1]] and not ours.is_coalesced()
    often = run(torch, [0, 1] * 20)
    assert often._nnz() <= often.numel(), "rows that come again and again would fill the memory"
    check_same(plain(often.coalesce()), plain(run(pytorch, [0, 1] * 20).coalesce()))


def test_second_derivatives():
    w = table(torch).double().detach().requires_grad_()
    first, = torch.autograd.grad(F.embedding(torch.tensor([1, 3, 1]), w, sparse=True).pow(3).sum(), w, create_graph=True)
    assert first.is_sparse
    second, = torch.autograd.grad(first.to_dense().sum(), w)
    dense, = torch.autograd.grad(F.embedding(torch.tensor([1, 3, 1]), w).pow(3).sum(), w, create_graph=True)
    wanted, = torch.autograd.grad(dense.sum(), w)
    torch.testing.assert_close(second.to_dense(), wanted)


# ---------------------------------------------------------------- steps
OPTIMISERS = {
    "sgd": lambda o, p: o.SGD(p, 0.01), "momentum": lambda o, p: o.SGD(p, 0.01, momentum=0.9), "maximize": lambda o, p: o.SGD(p, 0.01, maximize=True),
    "dampening": lambda o, p: o.SGD(p, 0.01, momentum=0.9, dampening=0.3), "nesterov": lambda o, p: o.SGD(p, 0.01, momentum=0.9, nesterov=True),
    "momentum up": lambda o, p: o.SGD(p, 0.01, momentum=0.9, maximize=True), "adagrad": lambda o, p: o.Adagrad(p, 0.1),
    "adagrad decayed": lambda o, p: o.Adagrad(p, 0.1, lr_decay=0.1, initial_accumulator_value=0.1), "sparse adam": lambda o, p: o.SparseAdam(p, 0.1),
    "sparse adam up": lambda o, p: o.SparseAdam(p, 0.1, betas=(0.8, 0.9), eps=1e-3, maximize=True),
}


def trained(t, make, clear=True):
    w = table(t)
    optimiser = make(t.optim, [w])
    for step in range(4):
        optimiser.zero_grad(set_to_none=clear)
        t.nn.functional.embedding(t.tensor([[1, 3], [1, 5 - step]]), w, sparse=True).pow(2).sum().backward()
        optimiser.step()
    return w, optimiser


@pytest.mark.parametrize("clear", [True, False])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_steps_are_pytorchs(name, clear):
    (ours, mine), (theirs, other) = trained(torch, OPTIMISERS[name], clear), trained(pytorch, OPTIMISERS[name], clear)
    check_same(plain(ours), plain(theirs))
    states = [{k: v.to_dense().tolist() if hasattr(v, "to_dense") else v for k, v in o.state[w].items()} for o, w in ((mine, ours), (other, theirs))]
    assert states[0].keys() == states[1].keys()
    for key, state in states[0].items():
        assert state == pytest.approx(states[1][key], rel=1e-5) if isinstance(state, (int, float)) else \
            torch.allclose(torch.tensor(state), torch.tensor(states[1][key]), rtol=1e-5)


@pytest.mark.parametrize("name", ["momentum", "adagrad", "sparse adam"])
def test_a_run_goes_on_from_its_state(name):
    w, optimiser = trained(torch, OPTIMISERS[name])
    other = torch.nn.Parameter(w.detach().clone())
    second = OPTIMISERS[name](torch.optim, [other])
    second.load_state_dict(optimiser.state_dict())
    for p, o in ((w, optimiser), (other, second)):
        o.zero_grad()
        F.embedding(torch.tensor([0, 5]), p, sparse=True).pow(2).sum().backward()
        o.step()
    assert torch.equal(w, other)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop", "Adadelta", "ASGD", "Rprop", "NAdam", "RAdam", "Adamax"])
def test_others_refuse(name):
    messages = []
    for t in (torch, pytorch):
        w = table(t)
        t.nn.functional.embedding(t.tensor([1]), w, sparse=True).sum().backward()
        with pytest.raises(RuntimeError, match="does not support sparse gradients") as caught:
            getattr(t.optim, name)([w]).step()
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_options_that_do_not_fit():
    w = table(torch)
    F.embedding(torch.tensor([1]), w, sparse=True).sum().backward()
    for make in (lambda: torch.optim.SGD([w], 0.1, weight_decay=0.1), lambda: torch.optim.Adagrad([w], weight_decay=0.1)):
        with pytest.raises(RuntimeError, match="sparse"):
            make().step()
    dense = torch.nn.Parameter(torch.ones(2))
    dense.grad = torch.ones(2)
    with pytest.raises(RuntimeError, match="does not support dense gradients"):
        torch.optim.SparseAdam([dense]).step()
    for options in (dict(lr=0.0), dict(eps=0.0), dict(betas=(1.0, 0.9))):
        with pytest.raises(ValueError, match="Invalid"):
            torch.optim.SparseAdam([dense], **options)
    with pytest.raises(ValueError, match=r"Sparse params at indices \[\[0, 0\]\]"):
        torch.optim.SparseAdam([torch.eye(2).to_sparse()])


@pytest.mark.parametrize("name", ["sgd", "adagrad"])
def test_dense_parameters_beside_a_table(name):
    """One group with both kinds, whose dense parameters move as ever."""
    def run(t):
        w, v = table(t), t.nn.Parameter(t.ones(2))
        optimiser = OPTIMISERS[name](t.optim, [v, w])
        for _ in range(3):
            optimiser.zero_grad()
            (t.nn.functional.embedding(t.tensor([1, 4]), w, sparse=True) * v).pow(2).sum().backward()
            optimiser.step()
        return [w, v]
    check_same(plain(run(torch)), plain(run(pytorch)))


def test_a_step_leaves_other_rows_alone():
    """Rows that no step names are not even read: they may be NaN."""
    w = torch.nn.Parameter(torch.full((8, 3), float("nan")))
    with torch.no_grad():
        w[2] = 1.0
    for make in OPTIMISERS.values():
        optimiser = make(torch.optim, [w])
        w.grad = None
        F.embedding(torch.tensor([2, 2]), w, sparse=True).sum().backward()
        optimiser.step()
    assert torch.isfinite(w[2]).all() and torch.isnan(w[[0, 1, 3, 4, 5, 6, 7]]).all()
