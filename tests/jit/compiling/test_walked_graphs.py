"""What compiled calls return after they have walked its graph backwards: another walk does what it does in eager."""
from __future__ import annotations

import pytest
from replays import is_replayed, why
from settling import settled

import numtorch as torch
from numtorch.kernels import compiler, debugmemory

pytestmark = pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
                                reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
v, w = (torch.linspace(*ends, 3).requires_grad_() for ends in ((1, 2), (3, 5)))


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.factor = 2
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor


def product(x):
    loss = (v * x).sum()
    return loss, *torch.autograd.grad(loss, [v])


def stepped(x):
    v.grad = None
    loss = (v * x).mean()
    loss.backward()
    return loss


def moved(x):
    moved = v.roll(1) + x
    return moved, *torch.autograd.grad(moved, [v], x)


def moved_products(x):
    product = v * x
    left, right = torch.stack([product, w]).roll(1, 0).unbind()
    return left, right, *torch.autograd.grad([left, right], [v, w], [x, x])


def scaled(x):
    scaled = Scaled.apply(v)
    return scaled, *torch.autograd.grad(scaled, [v], x)


def on_the_way(x):
    hidden = v.exp() * x
    loss = (hidden * w).sum()
    return loss, hidden, *torch.autograd.grad(loss, [v, w])


def in_part(x):
    loss = ((v * x).exp() * w).sum()
    return loss, *torch.autograd.grad(loss, [w])


FUNCTIONS = [product, stepped, moved, moved_products, scaled, on_the_way, in_part]


def outcomes(given):
    """Gradients of all that a call returned and has a graph, by each input that one may ask for, or what is raised."""
    found: list = []
    given = given if isinstance(given, tuple) else (given,)
    recorded = [each for each in given if each.grad_fn is not None]
    for result in recorded:
        for inputs in ([v], [w], [v, w], recorded[-1:]):
            try:
                found.append(torch.autograd.grad(result.sum(), inputs, allow_unused=True, retain_graph=True))
            except RuntimeError as error:
                found.append(str(error))
    return [each.detach() for each in given], [each.grad_fn.name() for each in recorded], found


def compare(one, other):
    (results, names, found), (wanted, expected, gradients) = one, other
    assert names == expected
    torch.testing.assert_close(results, wanted, rtol=0, atol=0)
    for mine, its in zip(found, gradients, strict=True):
        assert type(mine) is type(its) and (isinstance(mine, tuple) or mine == its)
        for each, its_own in zip(mine, its) if isinstance(mine, tuple) else ():
            assert each is its_own or torch.equal(each, its_own)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_another_walk(function, late):
    compiled = torch.compile(function) if late else torch.compile(function, mode="replay")
    if late:
        settled(compiled, torch.ones(3))
    for number in range(5):
        x = torch.linspace(number, 1, 3)
        compare(outcomes(compiled(x)), outcomes(function(x)))
    assert is_replayed(compiled), why(compiled)


@pytest.mark.parametrize("function", [moved, product])
def test_hooks_are_those_of_one_call(function):
    compiled, calls = torch.compile(function, mode="replay"), []
    for _ in range(40):                                  # the functions that are written for calls come into it
        result, _ = compiled(torch.ones(3))
        result.retain_grad()
        result.register_hook(calls.append)
        try:
            torch.autograd.grad(result.sum(), [v])
        except RuntimeError as error:
            assert "a second time" in str(error)
    assert len(calls) == 40 and is_replayed(compiled)


def test_hooks_that_the_call_registers_are_called():
    def hooked(x):
        loss = (v + x).sum()
        loss.register_hook(lambda grad: 3 * grad)
        return loss, *torch.autograd.grad(loss, [v])
    compiled = torch.compile(hooked, mode="replay")
    for _ in range(8):
        compare(outcomes(compiled(torch.ones(3))), outcomes(hooked(torch.ones(3))))


def test_what_can_still_be_walked_has_its_gradient():
    def part(x):
        hidden = v.exp() * x
        return hidden, *torch.autograd.grad((hidden * w).sum(), [w])
    compiled = torch.compile(part, mode="replay")
    for number in range(8):
        x = torch.linspace(number, 1, 3)
        found, wanted = (torch.autograd.grad(function(x)[0].sum(), [v])[0] for function in (compiled, part))
        assert torch.equal(found, wanted)


@pytest.mark.parametrize("mode", ["replay", "default"])
def test_arguments_that_require_grad(mode):
    def moved(x):
        moved = x.roll(1)
        return moved, *torch.autograd.grad(moved, [x], torch.ones(3))
    compiled = torch.compile(moved, mode=mode)
    for number in range(8):
        found, wanted = (torch.autograd.grad(function(x)[0].sum(), [x])[0]
                         for function in (compiled, moved) for x in [torch.linspace(number, 1, 3).requires_grad_()])
        assert torch.equal(found, wanted)
