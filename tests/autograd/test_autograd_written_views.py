"""Tensors that share memory, written in place: views and their base share history, what `detach` and `data` give shares elements only."""
from __future__ import annotations

import numpy as np
import pytest
from tape import close, leaf, values

import numtorch


# ---------------------------------------------------------------- views share history
def test_siblings_and_base_see_a_write(torch):
    x = leaf(torch, 2, 3)
    base = x * 1
    left, right, both = base[0], base[1], base.view(2, 1)
    left.mul_(10)
    close(both.detach(), ((20,), (3,)))
    close(torch.autograd.grad(base.sum(), x, retain_graph=True)[0], (10, 1))
    close(torch.autograd.grad(both.sum(), x, retain_graph=True)[0], (10, 1))
    close(torch.autograd.grad(right, x, retain_graph=True)[0], (0, 1))
    close(torch.autograd.grad(left, x, retain_graph=True)[0], (10, 0))


def test_a_write_to_the_base_reaches_its_views(torch):
    x = leaf(torch, 2, 3)
    base = x * 1
    view = base[1:].view(1, 1)
    base.mul_(10)
    view.sum().backward(retain_graph=True)
    close(x.grad, (0, 10))
    view.mul_(3)
    x.grad = None
    base.sum().backward()
    close(x.grad, (10, 30))


def test_writes_and_views_in_turns(torch):
    x = leaf(torch, 1, 2, 3, 4)
    base = (x * 1).view(2, 2)
    column = base[:, 1]
    base.mul_(2)                                         # 2 4 6 8
    column.add_(base[:, 0])                              # 2 6 6 14
    row = base.t()[0]                                    # 2 6
    row.mul_(torch.tensor([2.0, 6.0]))                   # 4 36
    base[0].exp_()
    grid = torch.tensor([[1.0, 1.0], [10.0, 100.0]])
    (base * grid).sum().backward()
    close(x.grad, (4 * np.exp(4.0) + 2 * np.exp(6.0), 2 * np.exp(6.0), 10 * 12 + 200, 200), rtol=1e-4)    # base[1, 1] = 14


@pytest.mark.parametrize("view", [
    lambda y: y.t(), lambda y: y[:, ::2], lambda y: y[1], lambda y: y.view(-1), lambda y: y.unsqueeze(1), lambda y: y.diagonal(),
    lambda y: y.t()[1:], lambda y: y[..., -1], lambda y: y.reshape(3, 2), lambda y: y.permute(1, 0)[::2, 1:],
    lambda y: y.as_strided((2, 2), (3, 1), 1), lambda y: y.squeeze(), lambda y: y.unfold(1, 1, 2), lambda y: y.flatten(),
])
def test_any_view_is_written(torch, view):
    """Squaring a view of y in place: gradient 2y inside the view and 1 outside."""
    x = (torch.arange(6.0) + 1).reshape(2, 3).requires_grad_()
    y = x * 1
    part = view(y)
    part.mul_(part.detach().clone() * 1.0)
    inside = view(torch.arange(6).reshape(2, 3)).reshape(-1).tolist()
    (y * y).sum().backward()
    flat = np.arange(6.0) + 1
    expected = 2 * flat
    expected[inside] = 2 * flat[inside] ** 3
    close(x.grad.reshape(-1), expected)


def test_a_transposed_base(torch):
    x = (torch.arange(6.0) + 1).reshape(2, 3).requires_grad_()
    y = x.t() * 1                                        # keeps x's order in memory
    y[1].mul_(10)
    (y * torch.arange(6.0).reshape(3, 2)).sum().backward()
    close(x.grad, ((0, 20, 4), (1, 30, 5)))


def test_a_quarter_turn_is_itself_what_writes_through_its_views_reach(torch):
    x = torch.arange(4.0).reshape(2, 2).requires_grad_()
    transposed = torch.rot90(x)
    transposed[0].mul_(3)
    by_turned, = torch.autograd.grad(transposed[0].sum(), transposed)
    assert not transposed._is_view() and by_turned.tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize("write", [
    lambda b, e, w: e[1].mul_(w), lambda b, e, w: e[0].add_(w), lambda b, e, w: e.select(0, 2).mul_(w), lambda b, e, w: e[3, 1:].mul_(w[1:]),
    lambda b, e, w: e.narrow(0, 1, 1)[0].copy_(w), lambda b, e, w: e.__setitem__(1, w), lambda b, e, w: e.t()[:, 2].mul_(w),
    lambda b, e, w: b.mul_(w)])
def test_writes_through_slices_of_an_expanded_tensor(torch, write):
    """They reach its base, as values and in its gradient, and the other slices with it."""
    x, w = leaf(torch, 1, 2, 3), leaf(torch, 4, 5, 6)
    base, one, other = [x.view(1, 3) * 2 for _ in range(3)]
    expanded = base.expand(4, 3)
    write(base, expanded, w)
    results = []
    alone = one.view(3)
    write(one, alone.expand(4, 3), w)                    # the same without a second look at the expanded one
    for y in (base.expand(4, 3), expanded, one.expand(4, 3)):
        by = torch.autograd.grad((y * torch.arange(12.0).view(4, 3)).sum(), [x, w], retain_graph=True, allow_unused=True)
        results.append((values(y.detach()), *[None if g is None else values(g) for g in by]))
    assert results[0] == results[1] == results[2]
    assert not np.array_equal(results[0][0], values(other.detach().expand(4, 3)))


def test_a_view_made_before_the_base_required_grad(torch):
    w = leaf(torch, 2, 3)
    x = torch.zeros(2)
    first, view = x[0], x.view(2, 1)
    assert not view.requires_grad
    x.add_(w)
    assert first.requires_grad and view.requires_grad
    (first * 5 + view.sum()).backward()
    close(w.grad, (6, 1))


def test_writing_through_a_view_of_a_plain_tensor(torch):
    w = leaf(torch, 2)
    x = torch.ones(2, 2)
    row = x[1]
    other = x.t()
    row.mul_(w)
    assert x.requires_grad and other.requires_grad and row.requires_grad
    close(x.detach(), ((1, 1), (2, 2)))
    (other * torch.tensor([[1.0, 10.0], [100.0, 1000.0]])).sum().backward()
    close(w.grad, 1010)


def test_kept_gradients_follow_what_is_written_through_views(torch):
    """`.grad` is the gradient of what a tensor holds now, whichever of base and views was written."""
    x = leaf(torch, 1, 2, 3)
    y = x * 2
    written, beside = y[:2], y[1:]
    for each in (y, written, beside):
        each.retain_grad()
    written.mul_(5)
    assert y.retains_grad and written.retains_grad and beside.retains_grad
    (y.sum() + (beside * beside).sum() + (written * 3).sum()).backward()
    assert y.grad.tolist() == [4.0, 44.0, 13.0] and written.grad.tolist() == [3.0, 3.0] and beside.grad.tolist() == [40.0, 12.0]
    assert x.grad.tolist() == [40.0, 440.0, 26.0]


# ---------------------------------------------------------------- views that recorded ops may not write
def test_a_view_under_no_grad_is_not_written_by_recorded_ops(torch):
    x = leaf(torch, 2, 3)
    y, w = x * 1, leaf(torch, 5)
    with torch.no_grad():
        view = y[:1]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace with grad"):
        view.mul_(w)
    with torch.no_grad():
        parts = x[1:], y.split(1)[0]
    assert parts[0].requires_grad and parts[0].is_leaf
    with torch.no_grad():
        for part in parts:
            part.add_(1)
    close(x.detach(), (2, 4))
    for part in parts:
        with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace with grad"):
            part.add_(1)
    assert not x.detach()[1:].requires_grad


@pytest.mark.parametrize("view, shape", [("view_as_real", (2,)), ("view_as_complex", (2, 2))])
def test_a_view_of_parts_under_no_grad_is_a_leaf(torch, view, shape):
    x = torch.ones(shape, dtype=torch.complex64 if view == "view_as_real" else torch.float32, requires_grad=True)
    with torch.no_grad():
        seen = getattr(torch, view)(x)
    assert seen.requires_grad and seen.is_leaf
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace with grad"):
        seen.mul_(2)


@pytest.mark.parametrize("recorded", ["target", "other", "neither"])
def test_one_of_several_views_is_not_written_by_recorded_ops(torch, recorded):
    part = (leaf(torch, 4, 5) * 2 if recorded == "target" else torch.ones(2)).split(1)[0]
    if recorded == "neither":
        assert part.mul_(torch.tensor([2.0])).tolist() == [2.0]
        return
    with pytest.raises(RuntimeError, match="Such functions do not allow the output views to be modified inplace"):
        part.mul_(torch.ones(1).requires_grad_(recorded == "other"))


def test_a_view_made_a_leaf_is_not_written_through_its_views(torch):
    x = torch.ones(6).reshape(2, 3).requires_grad_()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        x[0] = 1.0


@pytest.mark.parametrize("view", [lambda x: x[:], lambda x: x.t()[0], lambda x: x.view(3, 2), lambda x: x[0].view(3)[1:]])
@pytest.mark.parametrize("write", [lambda v: v.add_(1), lambda v: v.zero_(), lambda v: v.copy_(v + 1), lambda v: v.__setitem__(0, 3.0),
                                   lambda v: v.mul_(leaf(v.torch, 2.0)), lambda v: v.view(-1).exp_()])
def test_a_view_that_is_older_than_the_leaf_is_not_written(torch, view, write):
    x = torch.ones(2, 3)
    older = view(x)
    x.requires_grad_()
    older.torch = torch
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used"):
        write(older)
    assert x.detach().tolist() == [[1.0] * 3] * 2
    x.requires_grad_(False)
    write(older)
    assert x.detach().tolist() != [[1.0] * 3] * 2


def test_a_view_that_is_older_than_the_leaf_leads_to_it(torch):
    """In PyTorch from its next write on."""
    x = torch.ones(3)
    older, own = x[1:], x[:2].requires_grad_()
    x.requires_grad_()
    (own * 2).sum().backward()
    assert own.is_leaf and x.grad is None
    close(own.grad, (2, 2))
    with torch.no_grad():
        older.add_(1)
    (older * 3).sum().backward()
    close(x.grad, (0, 3, 3))


# ---------------------------------------------------------------- detach and data
def test_detach_shares_memory_and_version(torch):
    x = leaf(torch, 2, 3)
    y = x * 1
    z = y * y
    detached = y.detach()
    assert not detached.requires_grad and detached.data_ptr() == y.data_ptr()
    before = y._version
    detached.add_(1)
    assert y._version == before + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_data_shares_memory_only(torch):
    x = leaf(torch, 2, 3)
    y = x * 1
    z = y * y
    before = y._version
    y.data.add_(1)
    assert y._version == before
    z.sum().backward()                                   # with what the memory holds now, as PyTorch does
    close(x.grad, (6, 8))
    x.data = torch.tensor([7.0, 8.0])
    close(x.detach(), (7, 8))
    assert x.requires_grad and x.is_leaf


@pytest.mark.parametrize("writes", range(4))
def test_assigned_data_has_the_tensors_own_version(torch, writes):
    x = leaf(torch, 2, 3)
    y = x * x
    before, other = x._version, torch.ones(2)
    for _ in range(writes):
        other.add_(1)
    x.data = other
    assert x._version == before
    y.sum().backward()                                   # of what is there now
    assert x.grad.tolist() == [2 + 2 * writes] * 2
    y = x * x
    other.add_(1)                                        # the same memory, whose writes are not noticed
    assert x.tolist() == [2 + writes] * 2
    y.sum().backward()
    y = x * x
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_data_of_data_keeps_one_memory():
    x = numtorch.ones(2)
    first = x.memory
    for _ in range(5):
        x.data = x.data
    assert x.memory.owner is first


def test_detach_in_place(torch):
    y = leaf(torch, 2, 3) * 2
    assert y.detach_() is y and not y.requires_grad and y.is_leaf
    with torch.no_grad():
        of_a_leaf = leaf(torch, 2, 3)[:1]
    for view in ((leaf(torch, 2, 3) * 2)[0], leaf(torch, 2, 3).split(1)[0], of_a_leaf):
        with pytest.raises(RuntimeError, match="Can't detach views in-place"):
            view.detach_()


@pytest.mark.parametrize("where", [Ellipsis, slice(None), slice(0, 2), [0, 1]], ids=str)
def test_what_shares_memory_but_no_history_is_assigned(torch, where):
    """A tensor and what `detach` made of it hold the same elements: to assign one to the other changes gradients only."""
    x = leaf(torch, 2, -3)
    y = x.detach()
    y[where] = x[where]
    y.sum().backward()
    close(x.grad, (1, 1))
    x = leaf(torch, 2, -3)
    y = x * 2
    y[where] = y.detach()[where]
    y.sum().backward()
    close(x.grad, (0, 0))
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x[where] = x[where]


# what is written to, and what is read, of one tensor: with `.data` on either side, or on both
SIDES = [(lambda x: x, lambda x: x.data), (lambda x: x.data, lambda x: x), (lambda x: x.data, lambda x: x.data),
         (lambda x: x, lambda x: x.data.data)]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("write", [
    lambda torch, to, x: to[1:].add_(x[:-1]), lambda torch, to, x: to[1:].clamp_(min=x[:-1]),
    lambda torch, to, x: to[1:].addcmul_(x[:-1], x[:-1]), lambda torch, to, x: to.view(3, 4).mul_(x.view(4, 3).t())])
def test_data_that_overlaps_what_is_written_is_refused(torch, write, side):
    x = torch.arange(12.0)
    for _ in range(2):                                   # as the first call and as one whose plan is known
        with pytest.raises(RuntimeError, match="single memory location"):
            write(torch, side[0](x), side[1](x))
    assert x.tolist() == list(range(12))
    side[0](x).mul_(side[1](x))                          # the whole of it is no overlap
    assert x.tolist() == [n * n for n in range(12)]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("write", [
    lambda to, x: to[1:].copy_(x[:-1]), lambda to, x: to.__setitem__(slice(1, None), x[:-1]),
    lambda to, x: numtorch.add(x[:-1], 0, out=to[1:]), lambda to, x: to.index_put_((numtorch.arange(1, 12),), x[:-1]),
    lambda to, x: to.scatter_(0, numtorch.arange(1, 12), x[:-1]), lambda to, x: to.index_copy_(0, numtorch.arange(1, 12), x[:-1]),
    lambda to, x: to[1:].masked_scatter_(numtorch.ones(11, dtype=numtorch.bool), x[:-1])])
def test_what_is_copied_from_overlapping_data_is_read_first(write, side):
    for _ in range(2):
        x = numtorch.arange(12.0)
        write(side[0](x), side[1](x))
        assert x.tolist() == [0, *range(11)]
