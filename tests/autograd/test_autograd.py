"""backward and grad: what they compute, where gradients are kept and whose memory they are."""
from __future__ import annotations

import math
import random
import warnings

import numpy as np
import pytest
from tape import close, leaf, values

import numtorch


# ---------------------------------------------------------------- gradients, by hand
def diamond(torch, x):
    left, right = x * 2, x * 3
    return (left * right).sum()


def long_and_short(torch, x):
    y = x
    for _ in range(5):
        y = y * 1.5
    return (y + x).sum()


def many_uses(torch, x):
    return (x * x + x + x * 2 + x).sum()


def dead_branch(torch, x):
    (x * 7).sum()
    return (x * 2).sum()


def constants(torch, x):
    return ((x * torch.tensor([3.0, 4.0])).sum() + torch.ones(2).sum())


def detached(torch, x):
    return (x * x.detach()).sum()


def int_exponent(torch, x):
    return (x ** 3).sum()


def broadcast(torch, x):
    return (x.unsqueeze(0) * torch.tensor([[1.0], [2.0], [3.0]])).sum()


GRADIENTS = [
    (lambda torch, x: (x * x).sum(), (4, 6)),
    (lambda torch, x: (x + x).sum(), (2, 2)),
    (lambda torch, x: (x - x).sum(), (0, 0)),
    (lambda torch, x: (x / x).sum(), (0, 0)),
    (lambda torch, x: (x * x * x).sum(), (12, 27)),
    (lambda torch, x: (3 - x).sum(), (-1, -1)),
    (lambda torch, x: (6 / x).sum(), (-1.5, -6 / 9)),
    (lambda torch, x: x.mean(), (0.5, 0.5)),
    (lambda torch, x: x[0] * x[1], (3, 2)),
    (lambda torch, x: x.max(), (0, 1)),
    (diamond, (24, 36)),
    (long_and_short, (1.5 ** 5 + 1,) * 2),
    (many_uses, (8, 10)),
    (dead_branch, (2, 2)),
    (constants, (3, 4)),
    (detached, (2, 3)),
    (int_exponent, (12, 27)),
    (broadcast, (6, 6)),
]


@pytest.mark.parametrize("function, expected", GRADIENTS)
@pytest.mark.parametrize("how", ["backward", "grad", "inputs", "create_graph"])
def test_gradients(torch, function, expected, how):
    x = leaf(torch, 2, 3)
    out = function(torch, x)
    if how == "backward":
        assert out.backward() is None
        found = x.grad
    elif how == "grad":
        found, = torch.autograd.grad(out, x)
        assert x.grad is None
    elif how == "inputs":
        out.backward(inputs=[x])
        found = x.grad
    else:
        with warnings.catch_warnings():                  # PyTorch says that this makes a cycle
            warnings.simplefilter("ignore")
            out.backward(create_graph=True)
        found = x.grad
    close(found, expected)
    assert found.dtype is torch.float32 and found.shape == x.shape and (how == "grad" or found.is_contiguous())


@pytest.mark.parametrize("function, order, expected", [
    (lambda x: x ** 4, 1, 4 * 1.5 ** 3), (lambda x: x ** 4, 2, 12 * 1.5 ** 2), (lambda x: x ** 4, 3, 24 * 1.5),
    (lambda x: x ** 4, 4, 24), (lambda x: x ** 4, 5, 0),
    (lambda x: x.sin(), 1, math.cos(1.5)), (lambda x: x.sin(), 2, -math.sin(1.5)), (lambda x: x.sin(), 3, -math.cos(1.5)),
    (lambda x: x.exp(), 6, math.exp(1.5)),
    (lambda x: x * x * x * x, 3, 36), (lambda x: 1 / x, 3, -6 / 1.5 ** 4), (lambda x: x.log(), 4, -6 / 1.5 ** 4),
])
def test_any_order(torch, function, order, expected):
    x = leaf(torch, 1.5, dtype=torch.float64)
    y = function(x)
    for _ in range(order):
        if not y.requires_grad:                          # a constant, whose derivative PyTorch does not record
            y = torch.zeros_like(x)
            break
        found, = torch.autograd.grad(y, x, create_graph=True, allow_unused=True)
        y = torch.zeros_like(x) if found is None else found
    close(y, expected, rtol=1e-9)


def test_sin_mixed_derivative(torch):
    x, y = leaf(torch, 1.0, dtype=torch.float64), leaf(torch, 2.0, dtype=torch.float64)
    by_x, = torch.autograd.grad((x * y).sin(), x, create_graph=True)
    by_xy, = torch.autograd.grad(by_x, y)
    close(by_xy, math.cos(2.0) - 2.0 * math.sin(2.0), rtol=1e-9)


def linear_graph(torch, seed):
    """A random graph of sums, with each leaf's share of its result."""
    choose = random.Random(seed).choice
    leaves = [torch.zeros(2, requires_grad=True) for _ in range(3)]
    nodes = list(zip(leaves, np.eye(3, dtype=int)))
    for _ in range(9):
        (a, of_a), (b, of_b) = choose(nodes[-5:]), choose(nodes[-5:])
        nodes.append(choose([(a + b, of_a + of_b), (a - b, of_a - of_b), (a.view(-1) + b, of_a + of_b), (-a, -of_a)]))
    out, of_out = nodes[-1]
    for a, of_a in nodes[-4:-1]:
        out, of_out = out + a, of_out + of_a
    return leaves, out, of_out


def test_gradients_that_several_nodes_hold_are_not_added_to(torch):
    """One gradient goes to both terms of a sum as it is: what comes to one of them later must not change the other's."""
    for seed in range(30):
        leaves, out, shares = linear_graph(torch, seed)
        out.backward(torch.ones(2))
        assert [values(x.grad) or [0, 0] for x in leaves] == [[share] * 2 for share in shares], seed


# ---------------------------------------------------------------- what backward keeps
def test_only_leaves_keep_gradients(torch):
    x = leaf(torch, 2, 3)
    y = x * 2
    (y * y).sum().backward()
    close(x.grad, (16, 24))
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert y.grad is None
    assert x.is_leaf and not y.is_leaf and not y.retains_grad and torch.ones(2).is_leaf


def test_retain_grad(torch):
    x = leaf(torch, 2, 3)
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    loss = (y * y).sum()
    loss.backward(retain_graph=True)
    close(y.grad, (8, 12))
    loss.backward()
    close(y.grad, (16, 24))
    x.retain_grad()                                      # nothing to do for a leaf
    assert not x.retains_grad


def test_retained_gradient_is_what_hooks_made_of_it(torch):
    x = leaf(torch, 2, 3)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    close(y.grad, (10, 10))
    close(x.grad, (20, 20))


def test_accumulation(torch):
    x = leaf(torch, 2, 3)
    for count in range(1, 4):
        (x * x).sum().backward()
        close(x.grad, (4 * count, 6 * count))
    kept = x.grad
    x.grad = None
    (x * x).sum().backward()
    close(x.grad, (4, 6))
    close(kept, (12, 18))


def test_retain_graph(torch):
    x = leaf(torch, 2, 3)
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    close(x.grad, (8, 12))
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        loss.backward()
    close(x.grad, (8, 12))


def test_several_roots(torch):
    x, y = leaf(torch, 2, 3), leaf(torch, 5)
    shared = x * y
    torch.autograd.backward([shared.sum(), shared * 2], [None, torch.tensor([1.0, 10.0])])
    close(x.grad, (15, 105))
    close(y.grad, 2 * 3 + 3 * 21)
    found = torch.autograd.grad([(x * y).sum(), x], [x, y], [None, torch.tensor([1.0, 10.0])])
    close(found[0], (6, 15))
    close(found[1], 5)


def test_the_same_root_twice(torch):
    x = leaf(torch, 2, 3)
    y = (x * x).sum()
    torch.autograd.backward([y, y], [None, torch.tensor(2.0)])
    close(x.grad, (12, 18))


def test_a_root_below_another(torch):
    x = leaf(torch, 2, 3)
    y = x * x
    torch.autograd.backward([y, (y * y).sum()], [torch.ones(2), None])
    close(x.grad, (2 * 2 + 4 * 8, 2 * 3 + 4 * 27))


def test_a_wanted_root_below_another_that_leads_elsewhere_too(torch):
    """Whether a root leads to what is wanted is known of those behind it first."""
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    y, one = x * 2, torch.ones(2)
    for outputs, wanted, factor in (([x, x * w], x, 2.0), ([y, y * w], y, 2.0), ([x, y * w, y], x, 5.0), ([w * y, x, x], x, 4.0)):
        found, = torch.autograd.grad(outputs, wanted, [one] * len(outputs), retain_graph=True)
        assert found.tolist() == [factor] * 2


def test_a_leaf_as_root(torch):
    x = leaf(torch, 2, 3)
    x.backward(torch.tensor([5.0, 7.0]))
    close(x.grad, (5, 7))
    close(torch.autograd.grad(x.sum() * 2, [x, x])[1], (2, 2))


def test_inputs(torch):
    x, y = leaf(torch, 2, 3), leaf(torch, 5, 7)
    product = x * y
    calls = []
    y.register_hook(lambda g: calls.append(1))
    (product * product).sum().backward(inputs=[product, x])
    close(product.grad, (20, 42))
    close(x.grad, (100, 294))
    assert y.grad is None and not calls


def test_inputs_that_already_retain(torch):
    x = leaf(torch, 2, 3)
    y = x * 1
    y.retain_grad()
    (y * y).sum().backward(inputs=[y])
    close(y.grad, (4, 6))
    assert x.grad is None


def test_unneeded_gradients_are_not_computed(torch):
    calls = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, name):
            ctx.name = name
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            calls.append(ctx.name)
            return grad * 2, None

    x, y = leaf(torch, 2, 3), leaf(torch, 5, 7)
    out = (Watched.apply(x, "x") * Watched.apply(y, "y")).sum()
    close(torch.autograd.grad(out, y)[0], (8, 12))
    assert calls == ["y"]


def test_grad_outputs(torch):
    x = leaf(torch, 2, 3)
    found, = torch.autograd.grad(x * x, x, torch.tensor([1.0, 10.0]))
    close(found, (4, 60))
    found, = torch.autograd.grad([x * x, x.sum()], [x], [torch.tensor([1.0, 10.0]), None])
    close(found, (5, 61))


def test_unused_inputs(torch):
    x, y = leaf(torch, 2, 3), leaf(torch, 5, 7)
    assert torch.autograd.grad(x.sum(), [y], allow_unused=True) == (None,)
    found = torch.autograd.grad(x.sum(), [x, y], materialize_grads=True)
    close(found[0], (1, 1))
    close(found[1], (0, 0))


def test_gradient_of_the_gradients_start(torch):
    """The gradient is linear in what backward starts with, and differentiable by it."""
    x, start = leaf(torch, 2, 3), leaf(torch, 1, 1)
    first, = torch.autograd.grad(x * x, x, start, create_graph=True)
    close(torch.autograd.grad(first.sum(), start)[0], (4, 6))


def test_grad_of_grad_accumulates_into_leaves(torch):
    x = leaf(torch, 2, 3)
    first, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
    (first * first).sum().backward()                     # (3x²)² has derivative 36x³
    close(x.grad, (36 * 8, 36 * 27))


# ---------------------------------------------------------------- whose memory a gradient is
def test_gradients_of_a_sum_do_not_share_memory(torch):
    x, y = leaf(torch, 2, 3), leaf(torch, 5, 7)
    for create_graph in (False, True):
        x.grad = y.grad = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (x + y).sum().backward(create_graph=create_graph)
        assert x.grad.data_ptr() != y.grad.data_ptr()
        with torch.no_grad():
            x.grad.add_(1)
        close(y.grad, (1, 1))


def test_a_given_gradient_is_neither_taken_nor_changed():
    torch = numtorch                                     # PyTorch takes it over, and then adds to it
    x = leaf(torch, 2, 3)
    start = torch.tensor([1.0, 10.0])
    for root in (x, x + 0, x.view(2), (x + x)):
        x.grad = None
        root.backward(start)
        root2 = x * 1
        root2.backward(start)                            # accumulates into what may be the same memory
        close(start, (1, 10))
        assert x.grad.data_ptr() != start.data_ptr()
        x.grad.add_(100)
        close(start, (1, 10))


def test_a_hooks_gradient_stays_what_it_was(torch):
    x = leaf(torch, 2, 3)
    seen = []
    y = x * 1
    y.register_hook(seen.append)
    (y + y + y).sum().backward()
    (x * 5).sum().backward()
    close(seen[0], (3, 3))
    close(x.grad, (8, 8))


def test_a_retained_gradient_has_its_own_memory(torch):
    x = leaf(torch, 2, 3)
    y = x + 0
    y.retain_grad()
    loss = y.sum()
    loss.retain_grad()
    loss.backward()
    y.grad.mul_(5)
    loss.grad.numpy()[...] = 9
    close(x.grad, (1, 1))
    x.grad = None
    x.sum().backward()
    close(x.grad, (1, 1))


def test_the_gradient_grad_starts_with_is_not_shared(torch):
    x = leaf(torch, 3)
    y = x * 1
    found, = torch.autograd.grad(y, y)
    found.numpy()[...] = 9
    close(torch.autograd.grad(x * 2, x)[0], 2)


def test_an_expanded_gradient_is_materialised(torch):
    x = torch.ones(3, 4, requires_grad=True)
    x.sum().backward()
    assert x.grad.is_contiguous() and x.grad.stride() == (4, 1)
    x.grad[0, 0] = 5.0
    assert x.grad.sum().item() == 16
    x.grad = None
    x.backward(torch.tensor(2.0).expand(3, 4))
    assert x.grad.stride() == (4, 1) and x.grad.sum().item() == 24


def test_a_transposed_gradient(torch):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    (x.t() * torch.arange(6.0).reshape(3, 2)).sum().backward()
    assert x.grad.tolist() == [[0, 2, 4], [1, 3, 5]]


def test_accumulated_dtypes(torch):
    x = leaf(torch, 2, 3, dtype=torch.float16)
    (x.double() * 3).sum().backward()
    assert x.grad.dtype is torch.float16
    close(x.grad, (3, 3))


def test_requires_grad_switches(torch):
    x = torch.tensor([1.0, 2.0])
    assert not x.requires_grad and x.requires_grad_() is x and x.requires_grad
    (x * 2).sum().backward()
    x.requires_grad = False
    assert not (x * 2).requires_grad
    close(x.grad, (2, 2))
    x.requires_grad_()
    close(x.grad, (2, 2))
    y = x * 2
    y.requires_grad_()
    assert y.grad_fn is not None and x.grad_fn is None and y.detach().grad_fn is None


def test_roots_that_lead_to_no_wanted_input_do_not_run(torch):
    x, y = leaf(torch, 1, 2), leaf(torch, 3, 4)
    powers = y.exp()
    powers.detach().add_(1)                              # what exp saved is no more, so its backward cannot run
    ones = torch.ones(2)
    assert torch.autograd.grad(powers, [x], ones, allow_unused=True) == (None,)
    close(torch.autograd.grad([powers, x * x], [x], [ones, ones], allow_unused=True)[0], (2, 4))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        powers.backward(ones)
