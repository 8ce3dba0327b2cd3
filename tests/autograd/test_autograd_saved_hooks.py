"""Hooks on saved tensors: what is packed and unpacked, and when; gradients that went through them."""
from __future__ import annotations

import re

import numpy as np
import pytest
from tape import close, leaf

import numtorch


def through_numpy(torch, seen=None):
    def pack(tensor):
        if seen is not None:
            seen.append(tensor.tolist())
        return tensor.detach().numpy().copy()
    return torch.autograd.graph.saved_tensors_hooks(pack, torch.from_numpy)


SAVING = [
    lambda x: x * x, lambda x: x.exp(), lambda x: x.sin() * x, lambda x: (x * 2).sigmoid(), lambda x: x.view(1, 3) @ x.view(3, 1),
    lambda x: x.exp().log_softmax(0), lambda x: x.prod(), lambda x: x.expand(2, 3) * x, lambda x: (x.view(3, 1) * x ** 2).t().exp(),
    lambda x: x / x.sum(), lambda x: x.var(), lambda x: x[[0, 2, 2]] ** 2, lambda x: x.max() * x.norm(),
    lambda x: (x > 1).float() * x,
]


@pytest.mark.parametrize("function", SAVING)
def test_saved_tensors_through_numpy(torch, function):
    """The same gradients, first and second, when all that is saved went to NumPy and back."""
    x = leaf(torch, 1.5, 0.5, 2.0)
    expected, = torch.autograd.grad(function(x).exp().sum(), x, create_graph=True)
    expected_second, = torch.autograd.grad(expected.sum(), x)
    with through_numpy(torch):
        loss = function(x).exp().sum()
    close(torch.autograd.grad(loss, x, retain_graph=True)[0], expected.tolist())
    found, = torch.autograd.grad(loss, x, create_graph=True)
    close(torch.autograd.grad(found.sum(), x)[0], expected_second.tolist(), rtol=1e-4)


def test_pack_is_called_at_recording_and_unpack_at_backward(torch):
    calls = []

    def pack(tensor):
        calls.append("pack")
        return tensor

    def unpack(tensor):
        calls.append("unpack")
        return tensor

    x = leaf(torch, 2, 3)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        assert (x * 3).requires_grad and (2 / (x.detach() + 3 - x * 0.5)).requires_grad
        assert calls == ["pack"]                         # of the quotient; numbers are not packed
        calls.clear()
        y = (x * x).sum()
        assert calls == ["pack", "pack"]
        (x.detach() * 2).sum()
        with torch.no_grad():
            x * x
        assert calls == ["pack", "pack"]
    x * x
    y.backward()
    assert calls == ["pack", "pack", "unpack", "unpack"]
    close(x.grad, (4, 6))


def test_nested_hooks(torch):
    x = leaf(torch, 2, 3)
    outer, inner = [], []
    with through_numpy(torch, outer):
        with through_numpy(torch, inner):
            y = x.exp()
        z = y.sin()
    assert len(outer) == 1 and len(inner) == 1
    z.sum().backward()
    close(x.grad, np.cos(np.exp([2, 3])) * np.exp([2, 3]), rtol=1e-4)


def test_hooks_and_custom_functions(torch):
    seen = []

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            out = x.exp() * y
            ctx.save_for_backward(y, out)
            return out

        @staticmethod
        def backward(ctx, grad):
            y, out = ctx.saved_tensors
            return grad * out, grad * out / y

    x, y = leaf(torch, 2, 3), leaf(torch, 4, 5)
    with through_numpy(torch, seen):
        out = Exp.apply(x, y)
    assert len(seen) == 2
    first, = torch.autograd.grad(out.sum(), x, create_graph=True)
    close(first, np.exp([2, 3]) * [4, 5])
    by_x, by_y = torch.autograd.grad(first.sum(), [x, y])
    close(by_x, np.exp([2, 3]) * [4, 5])
    close(by_y, np.exp([2, 3]))


@pytest.mark.parametrize("unpack, error, words", [
    (lambda packed: 3, TypeError, "unpack_hook expected to be a Tensor but got result of type"),
    (lambda packed: numtorch.zeros(5), RuntimeError, "expected a torch.float32 tensor of shape"),
    (lambda packed: numtorch.zeros(2, dtype=numtorch.float64), RuntimeError, "got a torch.float64 tensor of shape"),
])
def test_what_unpack_returns_is_checked(unpack, error, words):
    x = leaf(numtorch, 2, 3)
    with numtorch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = (x * x).sum()
    with pytest.raises(error, match=re.escape(words)):
        y.backward()
