"""Graphs of 100 000 nodes: recursion would end the process, and reference counts alone free them.

The garbage collector is off in all of these: reference counts alone must free everything, so a node, tensor or storage that
is still there afterwards is part of a cycle or held by a table.
"""
from __future__ import annotations

import weakref

import numpy as np
import pytest
from collected import collector_off, cycles, leaf, ours, what_was_there_is_not_looked_at  # noqa: F401

import numtorch as torch

DEPTH = 100_000


def deep_chain(x):
    for _ in range(DEPTH):
        x = x + 1.0
    return x


def deep_saving_chain(x):
    for _ in range(DEPTH):
        x = x * 1.0
    return x


def deep_views(x):
    for _ in range(DEPTH // 2):
        x = x.view(1, 2).view(2)
    return x


def deep_in_place(x):
    x = x * 1
    for _ in range(DEPTH):
        x.add_(1.0)
    return x


@pytest.mark.parametrize("build", [deep_chain, deep_saving_chain, deep_views, deep_in_place])
def test_deep_graphs(build):
    x = leaf(2, 3)
    before = ours()
    y = build(x)
    assert ours() >= before + DEPTH                      # the count counts
    last = weakref.ref(y.grad_fn)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]
    del y
    assert last() is None and ours() < before + 20       # x.grad, and what is made once (numbers, the first gradient)
    y = build(x)                                         # and without a backward
    del y
    assert ours() < before + 20
    assert cycles() == []


@pytest.mark.parametrize("view", [lambda x: x[1:], lambda x: x.split(1), torch.view_as_complex, lambda x: ReturnsAView.apply(x)])
def test_a_tensor_forgets_views_that_are_gone(view):
    """Parameters are viewed at each step of a training."""
    x = torch.ones(4, 2, requires_grad=True)
    for _ in range(300):
        view(x)
    assert len(x._views) < 100


class ReturnsAView(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)


def test_deep_graphs_towards_an_input():
    x = leaf(2, 3)
    y = deep_chain(x)
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [1, 1]


def test_deep_custom_functions():
    class Next(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = leaf(2, 3)
    y = x
    for _ in range(20_000):
        y = Next.apply(y)
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]
    del y
    assert cycles() == []


def test_deep_double_backward():
    x = leaf(1, 1)
    y = x
    for _ in range(3_000):
        y = y * x
    first, = torch.autograd.grad(y.sum(), x, create_graph=True)
    second, = torch.autograd.grad(first.sum(), x)
    assert first.tolist() == [3001, 3001] and second.tolist() == [3001 * 3000] * 2


def test_wide_graphs():
    x = leaf(2, 3)
    torch.autograd.backward([(x * i).sum() for i in range(5_000)])
    total = sum(range(5_000))
    np.testing.assert_allclose(x.grad.tolist(), [total, total], rtol=1e-5)
