"""Gradient checks, autograd.functional and checkpointing."""
from __future__ import annotations

import importlib
import re

import numpy as np
import pytest
from tape import close, leaf, values

import numtorch


# ---------------------------------------------------------------- gradient checks
@numtorch.pointwise(methods=False)
def right_cube(x):
    """x cubed."""
    return x * x * x


@right_cube.derivative
def _(grad, x):
    return grad * 3 * x * x


@numtorch.pointwise(methods=False)
def wrong_cube(x):
    """x cubed, with a derivative that is 1 % too large."""
    return x * x * x


@wrong_cube.derivative
def _(grad, x):
    return grad * 3.03 * x * x


def checked(*shape, complex=False):
    random = np.random.default_rng(5)
    array = random.standard_normal(shape) + (1j * random.standard_normal(shape) if complex else 0) + 2
    return numtorch.tensor(array).requires_grad_()


@pytest.mark.parametrize("fast", [False, True])
def test_gradcheck_passes_and_fails(fast):
    from numtorch.autograd import gradcheck, gradgradcheck
    x = checked(3)
    assert gradcheck(right_cube, x, fast_mode=fast) and gradgradcheck(right_cube, x, fast_mode=fast)
    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(wrong_cube, x, fast_mode=fast)
    assert gradcheck(wrong_cube, x, fast_mode=fast, raise_exception=False) is False
    assert gradcheck(wrong_cube, x, fast_mode=fast, rtol=0.1)


@pytest.mark.parametrize("fast", [False, True])
def test_gradgradcheck_sees_a_cut_graph(fast):
    """A backward that computes the right numbers from a detached input."""
    class Cut(numtorch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad):
            x, = ctx.saved_tensors
            return grad * 3 * x.detach() * x

    x = checked(3)
    assert numtorch.autograd.gradcheck(Cut.apply, x, fast_mode=fast)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        numtorch.autograd.gradgradcheck(Cut.apply, x, fast_mode=fast)


def conjugated_backward(x):
    class Wrong(numtorch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            x, = ctx.saved_tensors
            return grad * 2 * x                          # PyTorch's convention wants the conjugate

    return Wrong.apply(x)


@pytest.mark.parametrize("fast", [False, True])
def test_complex_gradcheck(fast):
    x = checked(3, complex=True)
    assert numtorch.autograd.gradcheck(lambda x: x * x, x, fast_mode=fast)
    assert numtorch.autograd.gradcheck(lambda x: (x * x.conj()).real, x, fast_mode=fast)
    assert numtorch.autograd.gradcheck(lambda x, y: x * y + 3, (x, checked(3)), fast_mode=fast)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        numtorch.autograd.gradcheck(conjugated_backward, x, fast_mode=fast)


def test_gradcheck_of_several_inputs_and_outputs():
    from numtorch.autograd import gradcheck, gradgradcheck
    x, y = checked(2, 3), checked(3)
    assert gradcheck(lambda x, y, n: (x * y, n, y.exp().sum()), (x, y, 3))
    assert gradgradcheck(lambda x, y: (x * y, y.exp().sum()), (x, y))
    with pytest.raises(RuntimeError, match="output 1 with respect to input 1"):
        gradcheck(lambda x, y: (x * y, wrong_cube(y)), (x, y))
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x: x, numtorch.ones(2))
    with pytest.raises(RuntimeError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: x.detach(), checked(2))


# ---------------------------------------------------------------- autograd.functional
def quadratic(x):
    return (x * x).sum() * x[0]




def test_products_with_jacobians_and_hessians(torch):
    functional = torch.autograd.functional
    x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0])
    out, found = functional.vjp(lambda x: x * x.sum(), x, v)
    close(out, (3, 6))
    close(found, (10, 16))
    close(functional.jvp(lambda x: x * x.sum(), x, v)[1], (7, 17))
    hessian = functional.hessian(quadratic, x)
    close(hessian, ((6, 4), (4, 2)))
    close(functional.hvp(quadratic, x, v)[1], (18, 10))
    close(functional.vhp(quadratic, x, v)[1], (18, 10))
    assert not found.requires_grad and not hessian.requires_grad


@pytest.mark.parametrize("mode", ["reverse-mode", "forward-mode"])
def test_jacobian_of_several(torch, mode):
    functional = torch.autograd.functional
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([[3.0], [4.0], [5.0]])
    found = functional.jacobian(lambda x, y: (x * y.sum(), y * y), (x, y), vectorize=True, strategy=mode)
    assert [[tuple(j.shape) for j in row] for row in found] == [[(2, 2), (2, 3, 1)], [(3, 1, 2), (3, 1, 3, 1)]]
    close(found[0][0], ((12, 0), (0, 12)))
    close(found[0][1].reshape(2, 3), ((1, 1, 1), (2, 2, 2)))
    close(found[1][0].reshape(3, 2), np.zeros((3, 2)))
    close(found[1][1].reshape(3, 3), np.diag([6.0, 8.0, 10.0]))
    close(functional.jacobian(lambda x: x * x, x, vectorize=True, strategy=mode), ((2, 0), (0, 4)))
    blocks = functional.hessian(lambda x, y: x.sum() * (y * y).sum(), (x, y), vectorize=True, outer_jacobian_strategy=mode)
    close(blocks[0][1].reshape(2, 3), ((6, 8, 10), (6, 8, 10)))
    close(blocks[0][0], np.zeros((2, 2)))


def test_jacobians_can_be_differentiated(torch):
    x = leaf(torch, 1, 2)
    jacobian = torch.autograd.functional.jacobian(lambda x: x ** 3, x, create_graph=True)
    close(torch.autograd.grad(jacobian.sum(), x)[0], (6, 12))
    v = torch.tensor([1.0, 3.0])
    _, product = torch.autograd.functional.jvp(lambda x: x ** 3, x, v, create_graph=True)
    close(torch.autograd.grad(product.sum(), x)[0], (6, 36))


def test_functional_inside_no_grad(torch):
    with torch.no_grad():
        close(torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1.0, 2.0])), ((2, 0), (0, 4)))


@pytest.mark.parametrize("function, words", [
    (lambda f, torch: f.vjp(lambda x: x * x, torch.ones(2)), "The vector v can only be None if the user-provided function returns"),
    (lambda f, torch: f.jvp(lambda x: x * x, torch.ones(2)), "The vector v can only be None if the input to the user"),
    (lambda f, torch: f.vjp(lambda x: x * x, torch.ones(2), torch.ones(3)), "v has invalid size: should be torch.Size([2]) but got "
                                                                          "torch.Size([3])"),
    (lambda f, torch: f.hessian(lambda x: x * x, torch.ones(2)), "single element"),
    (lambda f, torch: f.jacobian(lambda x: torch.ones(2), torch.ones(2), strict=True), "does not require gradients"),
    (lambda f, torch: f.jacobian(lambda x, y: x * 2, (torch.ones(2), torch.ones(2)), strict=True), "independent of input 1"),
    (lambda f, torch: f.jacobian(lambda x: x * 2, torch.ones(2), strategy="forward-mode"), "only implemented for `vectorize=True`"),
    (lambda f, torch: f.jacobian(lambda x: x * 2, torch.ones(2), strict=True, vectorize=True, strategy="forward-mode"), "are not supported together"),
])
def test_functional_errors(torch, function, words):
    with pytest.raises(RuntimeError, match=re.escape(words)):
        function(torch.autograd.functional, torch)


# ---------------------------------------------------------------- checkpointing
def checkpoint_module(torch):

    return importlib.import_module(f"{torch.__name__}.utils.checkpoint")


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint_gives_the_same_gradients(torch, reentrant):
    checkpoint = checkpoint_module(torch).checkpoint
    runs = []

    def part(x, w):
        runs.append(torch.is_grad_enabled())
        return (x * w).exp().sin() * x

    x, w = leaf(torch, 0.5, 0.3), leaf(torch, 2)
    expected = torch.autograd.grad(part(x, w).sum(), [x, w])
    runs.clear()
    out = checkpoint(part, x * 1, w, use_reentrant=reentrant)
    assert len(runs) == 1 and out.requires_grad
    out.sum().backward()
    assert len(runs) == 2 and runs[1] is True
    close(x.grad, values(expected[0]))
    close(w.grad, values(expected[1]))


def test_checkpoint_with_everything(torch):
    """Several outputs, closures, numbers, keywords, nesting, grad and double backward."""
    checkpoint = checkpoint_module(torch).checkpoint
    x, w = leaf(torch, 0.5, 0.3), leaf(torch, 2)

    def inner(x):
        return (x * w).exp()

    def outer(x, power, *, scale):
        y = checkpoint(inner, x, use_reentrant=False) * scale
        return y ** power, y.sin()

    def loss(run):
        a, b = run(outer, x, 2, scale=3.0)
        return (a * b).sum()

    plain = loss(lambda f, *a, **k: f(*a, **k))
    first = torch.autograd.grad(plain, [x, w], create_graph=True)
    second = torch.autograd.grad((first[0] * first[0]).sum() + first[1], [x, w])
    saved = loss(lambda f, *a, **k: checkpoint(f, *a, use_reentrant=False, **k))
    again = torch.autograd.grad(saved, [x, w], create_graph=True)
    twice = torch.autograd.grad((again[0] * again[0]).sum() + again[1], [x, w])
    for got, wanted in zip((*again, *twice), (*first, *second)):
        close(got, values(wanted), rtol=1e-4)


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("forked", [False, True])
def test_checkpoint_replays_random_numbers(torch, forked, reentrant):
    checkpoint = checkpoint_module(torch).checkpoint
    drawn = []

    def noisy(x):
        with torch.random.fork_rng(enabled=forked):      # which leaves the stream where it was
            noise = torch.rand(4)
        drawn.append(values(noise))
        return x * noise

    x = torch.ones(4, requires_grad=True)
    torch.manual_seed(3)
    out = checkpoint(noisy, x, use_reentrant=reentrant)
    after = values(torch.rand(4))
    state = torch.get_rng_state().tolist()
    out.sum().backward()
    assert len(drawn) == 2 and drawn[0] == drawn[1] and forked == (drawn[1] == after)
    assert values(x.grad) == drawn[0]
    assert torch.get_rng_state().tolist() == state       # backward drew nothing as others see it
    drawn.clear()
    out = checkpoint(noisy, x, use_reentrant=reentrant, preserve_rng_state=False)
    torch.rand(4)
    out.sum().backward()
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint_of_what_only_seeds_the_stream(torch, reentrant):
    def seeded(x):
        torch.manual_seed(7)
        return x * 2
    out = checkpoint_module(torch).checkpoint(seeded, torch.ones(4, requires_grad=True), use_reentrant=reentrant)
    torch.rand(4)
    state = torch.get_rng_state().tolist()
    out.sum().backward()
    assert torch.get_rng_state().tolist() == state


def test_checkpoint_frees_and_retains(torch):
    checkpoint = checkpoint_module(torch).checkpoint
    runs = []

    def part(x):
        runs.append(1)
        return x.exp() * x

    x = leaf(torch, 0.5, 0.3)
    out = checkpoint(part, x, use_reentrant=False).sum()
    out.backward(retain_graph=True)
    first = values(x.grad)
    out.backward()
    assert len(runs) == 3
    close(x.grad, np.array(first) * 2)


def test_checkpoint_keeps_no_intermediate_results():
    checkpoint = checkpoint_module(numtorch).checkpoint
    alive = []

    def part(x):
        import weakref
        for _ in range(4):
            x = x.exp() * 0.1
            alive.append(weakref.ref(x.memory))
        return x

    part(leaf(numtorch, 0.5, 0.3))
    alive.clear()
    out = checkpoint(part, numtorch.ones(100_000, requires_grad=True), use_reentrant=False)
    assert [r() is not None for r in alive] == [False, False, False, True]
    out.sum().backward()


def test_checkpoint_without_gradients(torch):
    checkpoint = checkpoint_module(torch).checkpoint
    with torch.no_grad():
        assert not checkpoint(lambda x: x * 2, leaf(torch, 1, 2), use_reentrant=False).requires_grad
    assert not checkpoint(lambda x: x * 2, torch.ones(2), use_reentrant=False).requires_grad
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(lambda x: x * 2, torch.ones(2), use_reentrant=True)


def test_a_reentrant_checkpoint_gives_no_chosen_gradients(torch):
    """They would be written to the parameters inside."""
    x = leaf(torch, 1, 2)
    out = checkpoint_module(torch).checkpoint(lambda x: x * 2, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match="incompatible with"):
        torch.autograd.grad(out, x)


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("graph", [True, False])
def test_checkpoint_notices_changed_arguments(torch, reentrant, graph):
    checkpoint = checkpoint_module(torch).checkpoint
    x = leaf(torch, 1, 2)
    y = x * 1
    out = checkpoint(lambda a, b: (a * b).tanh(), y, x * 2, use_reentrant=reentrant)
    with torch.set_grad_enabled(graph):
        y.mul_(3)                                        # the second run would be of other values
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_checkpoint_notices_another_second_run():
    module = checkpoint_module(numtorch)
    runs = []

    def more(x):
        runs.append(1)
        return x.exp() * x if len(runs) == 1 else x.exp() * x * x

    def larger(x):
        runs.append(1)
        return (x.exp() if len(runs) == 1 else numtorch.ones(5, requires_grad=True).exp()).sum()

    for function, words in ((more, "A different number of tensors"), (larger, "different metadata")):
        runs.clear()
        out = module.checkpoint(function, leaf(numtorch, 1, 2), use_reentrant=False)
        with pytest.raises(module.CheckpointError, match=words):
            out.sum().backward()


def test_checkpoint_sequential(torch):
    module = checkpoint_module(torch)
    calls = []

    def layer(i):
        def run(x):
            calls.append(i)
            return (x * (i + 1)).sin()
        return run

    layers = [layer(i) for i in range(5)]
    x = leaf(torch, 0.5, 0.3)
    expected = x
    for f in layers:
        expected = f(expected)
    expected, = torch.autograd.grad(expected.sum(), x)
    for segments in (1, 2, 5):
        calls.clear()
        x.grad = None
        module.checkpoint_sequential(layers, segments, x, use_reentrant=False).sum().backward()
        close(x.grad, values(expected))
        again = 5 // segments * (segments - 1)
        assert calls[:5] == list(range(5)) and sorted(calls[5:]) == list(range(again))


def test_checkpoint_options():
    module = checkpoint_module(numtorch)
    x = leaf(numtorch, 1, 2)
    entered = []

    class Noted:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            entered.append(self.name)

        def __exit__(self, *exception):
            entered.append(f"end {self.name}")

    out = module.checkpoint(lambda x: x.exp(), x, use_reentrant=False, context_fn=lambda: (Noted("first"), Noted("second")))
    assert entered == ["first", "end first"]
    out.sum().backward()
    assert entered[2:] == ["second", "end second"]
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        module.checkpoint(lambda x: x, x, use_reentrant=True, scale=2)
    with pytest.raises(ValueError, match="determinism_check"):
        module.checkpoint(lambda x: x, x, determinism_check="loud")
    with pytest.raises(ValueError, match="segments"):
        module.checkpoint_sequential([abs], 2, x)
