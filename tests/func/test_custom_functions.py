"""What users' `autograd.Function`s say of forward mode and of samples."""
from __future__ import annotations

import importlib

import numpy as np
import pytest


def cube(torch, saving=True, **more):
    """x ** 3 by NumPy, or by ops; with another gradient (30 x ** 2), so that one sees whose it is."""
    def forward(x):
        return torch.tensor(x.detach().numpy() ** 3) if more else x ** 3

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        if saving:
            ctx.save_for_forward(inputs[0])

    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return 30 * x * x * grad
    parts = {"forward": forward, "setup_context": setup_context, "backward": backward, **more}
    return type("Cube", (torch.autograd.Function,), {"generate_vmap_rule": "vmap" not in more, **{k: staticmethod(v) for k, v in parts.items()}})


def jvp(ctx, moving):
    x, = ctx.saved_tensors
    return 300 * x * x * moving


def test_jvp_is_the_functions_own(torch):
    x = torch.tensor([1.0, 2.0])
    function = cube(torch, jvp=jvp)
    value, tangent = torch.func.jvp(function.apply, (x,), (torch.ones(2),))
    assert value.tolist() == [1, 8] and tangent.tolist() == [300, 1200]
    forward_ad = importlib.import_module("torch.autograd.forward_ad" if torch.__name__ == "torch" else "numtorch.func.forward_ad")
    with forward_ad.dual_level():
        out = function.apply(forward_ad.make_dual(x, torch.tensor([1.0, 0.0])))
        assert forward_ad.unpack_dual(out).tangent.tolist() == [300, 0]
    leaf = x.clone().requires_grad_()
    _, tangent = torch.func.jvp(function.apply, (leaf,), (torch.ones(2),))
    slope, = torch.autograd.grad(tangent.sum(), leaf)    # reverse over forward
    assert slope.tolist() == [600, 1200]
    assert torch.func.grad(lambda x: function.apply(x).sum())(x).tolist() == [30, 120]


def test_vmap_is_the_functions_own(torch):
    seen = []

    def mapped(info, in_dims, x):
        seen.append((info.batch_size, in_dims))
        return function.apply(x), in_dims[0]
    function = cube(torch, vmap=mapped)
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert torch.equal(torch.func.vmap(function.apply)(x), x ** 3) and seen == [(3, (0,))]
    slopes = torch.func.vmap(torch.func.grad(lambda row: function.apply(row).sum()))(x)
    assert torch.equal(slopes, 30 * x * x)


def test_backward_is_the_functions_own_in_each_sample(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    function = cube(torch)

    def loss(row):
        return function.apply(row).sum()
    assert torch.equal(torch.func.vmap(torch.func.grad(loss))(x), 30 * x * x)
    twice = torch.func.vmap(torch.func.grad(lambda row: torch.func.grad(loss)(row).sum()))(x)
    assert torch.equal(twice, 60 * x)
    leaf = x.clone().requires_grad_()
    torch.func.vmap(loss)(leaf).sum().backward()
    assert torch.equal(leaf.grad, 30 * x * x)


def test_what_has_no_samples_gets_the_sum_of_gradients(torch):
    class Scaled(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, weight):
            return x * weight

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            x, weight = ctx.saved_tensors
            return grad * weight * 10, grad * x * 10

    x, weight = torch.arange(6.0).reshape(3, 2).requires_grad_(), torch.tensor([2.0, 3.0], requires_grad=True)
    product = torch.func.vmap(Scaled.apply, in_dims=(0, None))(x, weight)
    assert product.tolist() == (x * weight).tolist()
    product.sum().backward()
    assert weight.grad.tolist() == [60, 90] and x.grad.tolist() == [[20, 30]] * 3


@pytest.mark.parametrize("answer, words", [(lambda x: x, "two returns"), (lambda x: (x, (0, 0)), "incompatible")])
def test_a_vmap_gives_results_and_their_dimensions(torch, answer, words):
    function = cube(torch, vmap=lambda info, in_dims, x: answer(x))
    with pytest.raises(RuntimeError, match=words):
        torch.func.vmap(function.apply)(torch.from_numpy(np.ones(3)))
