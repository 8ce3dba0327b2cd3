"""Traces of functions with hooks of their own on what is saved for backward, as checkpoints have: they see what is traced."""
from __future__ import annotations

import pytest
from recordings import recording_of, settle
from settling import settled

import numtorch as torch
from numtorch import nn
from numtorch.autograd.graph import save_on_cpu, saved_tensors_hooks
from numtorch.kernels import compiler, debugmemory
from numtorch.utils.checkpoint import checkpoint

captured = pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
                              reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
F = nn.functional


def _layer(x, weight):
    return F.linear(x, weight).sin().sigmoid()


def checkpointed(x, weight):
    return checkpoint(_layer, x, weight, use_reentrant=False).exp()


def in_parts(x, weight):
    return torch.cat([checkpoint(_layer, part, weight, use_reentrant=False) for part in x.split(2)]) * x


def within(x, weight):
    return checkpoint(lambda y: checkpoint(_layer, y, weight, use_reentrant=False).cos() * y, x, use_reentrant=False)


def halved(x, weight):
    with saved_tensors_hooks(lambda saved: saved / 2, lambda packed: packed * 2):
        return _layer(x, weight) * x


def on_the_host(x, weight):
    with save_on_cpu():
        return _layer(x, weight) ** 2


def drawn(x, weight):
    return checkpoint(lambda y: F.dropout(_layer(y, weight), 0.5), x, use_reentrant=False)


FUNCTIONS = [checkpointed, in_parts, within, halved, on_the_host]


def gradients(function):
    def step(x, weight):
        x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
        out = function(x, weight)
        return out.detach(), *torch.autograd.grad(out.sum(), [x, weight])
    return step


def compare(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_trace_has_gradients_of_its_arguments(function):
    step = gradients(function)
    traced = torch.jit.trace(step, (torch.randn(4, 3), torch.randn(3, 3)))
    for _ in range(2):
        given = torch.randn(4, 3), torch.randn(3, 3)
        compare(traced(*given), step(*given))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_trace_is_differentiated(function):
    traced = torch.jit.trace(function, (torch.randn(4, 3), torch.randn(3, 3)))
    x, weight = torch.randn(4, 3).requires_grad_(), torch.randn(3, 3).requires_grad_()
    compare(*[torch.autograd.grad(call(x, weight).sum(), [x, weight]) for call in (traced, function)])


def test_hooks_that_write_are_refused():
    def writing(x, weight):
        with saved_tensors_hooks(lambda saved: saved.detach().mul_(2), lambda packed: packed / 2):
            return _layer(x, weight)
    given = torch.randn(4, 3), torch.randn(3, 3)
    for call in (gradients(writing), lambda *given: torch.jit.trace(gradients(writing), given)):
        with pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
            call(*given)


@captured
@pytest.mark.usefixtures("soon", "faster")
@pytest.mark.parametrize("mode", ["replay", "default"])
@pytest.mark.parametrize("function", [*FUNCTIONS, drawn])
def test_calls_in_the_usual_loop(function, mode):
    compiled = torch.compile(function, mode=mode)
    x, weight = torch.randn(4, 3).requires_grad_(), torch.randn(3, 3).requires_grad_()
    settle(lambda: compiled(x, weight).sum().backward(), compiled)
    for number in range(3):
        x, found = torch.randn(4, 3).requires_grad_(), []
        for call in (compiled, function):
            torch.manual_seed(number)
            out = call(x, weight)
            found.append([out.detach(), *torch.autograd.grad(out.sum(), [x, weight])])
        compare(*found)
    assert function is drawn or recording_of(compiled).programs


@captured
@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_steps(function):
    step = gradients(function)
    compiled = torch.compile(step)
    found = settled(compiled, torch.randn(4, 3), torch.randn(3, 3))
    assert "something else" not in found.reason
    given = torch.randn(4, 3), torch.randn(3, 3)
    compare(compiled(*given), step(*given))


@captured
@pytest.mark.usefixtures("soon")
def test_what_a_checkpoint_computes_again_is_not_kept():
    """Also where passes see that it has been computed before; what is computed twice while it is there is computed once."""
    blocks = nn.ModuleList(nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16), nn.Tanh()) for _ in range(4))

    def stepping(checkpoint):
        def step(x):
            blocks.zero_grad()
            for block in blocks:
                x = checkpoint(block, x)
            loss = x.square().mean() + (x.exp() * x.exp()).mean()
            loss.backward()
            return loss.detach()
        return step
    found = [settled(torch.compile(stepping(way)), torch.randn(128, 16)) for way in (
        lambda block, x: block(x), lambda block, x: checkpoint(block, x, use_reentrant=False))]
    plain, again = [each.replay.successor.memory.nbytes for each in found]
    assert all(each.reason == "it was replaced" and each.passes["subexpressions"] for each in found), [each.passes for each in found]
    assert again < plain / 2
