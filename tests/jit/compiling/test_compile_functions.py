"""Compiled training steps with functions of the user's that have derivatives of their own, and with 16-bit floats inside."""
from __future__ import annotations

import subprocess
import sys

import pytest
from replays import Pair, batch, classes, is_replayed, perceptron, sgd, why

import numtorch as torch
from numtorch import nn
from numtorch.kernels import compiler, debugmemory
from numtorch.utils.checkpoint import checkpoint

pytestmark = pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
                                reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
F = nn.functional


class Power(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, power):
        ctx.save_for_backward(x)
        ctx.power = power
        return x ** power, x.argmax(1)

    @staticmethod
    def backward(ctx, grad, _):
        x, = ctx.saved_tensors
        return ctx.power * x ** (ctx.power - 1) * grad if ctx.needs_input_grad[0] else None, None


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad):
        return grad * 3                                  # not the derivative, so that a trace of the formula would be seen


class Counted(torch.autograd.Function):
    calls = 0

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        Counted.calls += 1
        return grad


def _power(net, x, y):
    hidden, places = Power.apply(net(x), 3)
    return F.cross_entropy(Doubled.apply(hidden * 0.5), y) + places.float().mean()


def _half(net, x, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = net(x) + net(x * 2)                     # weights are cast once
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return F.cross_entropy(hidden + net(x), y)


def _late(net, x, y):
    return F.cross_entropy(net(x), y) - torch.cosine_similarity(net(x), net(x * 2)).mean()


def _checkpointed(net, x, y):
    return F.cross_entropy(checkpoint(net[2:], checkpoint(net[:2], x, use_reentrant=False), use_reentrant=True), y)


def _drawn(net, x, y):
    return F.cross_entropy(checkpoint(lambda x: F.dropout(net(x), 0.5), x, use_reentrant=False), y)


def _step(loss):
    def make(net):
        optimizer = sgd(net.parameters())

        def step(x, y):
            optimizer.zero_grad()
            value = loss(net, x, y)
            value.backward()
            optimizer.step()
            return value
        return step
    return make


@pytest.mark.parametrize("loss", [_power, _half, _late, _checkpointed], ids=["function", "autocast", "late", "checkpoint"])
def test_steps_are_replayed_bit_for_bit(loss):
    pair = Pair(perceptron, _step(loss)).run(30, batch, classes, seed=0)
    assert is_replayed(pair.compiled), why(pair.compiled)


BAGS = [dict(mode="mean"), dict(mode="sum"), dict(mode="max"), dict(mode="mean", scale_grad_by_freq=True)]


@pytest.mark.parametrize("options", BAGS, ids=["-".join(map(str, each.values())) for each in BAGS])
def test_bags_of_indices_are_replayed(options):
    """How many rows a bag has, and how often one is in it, depends on values; no size does."""
    def loss(net, x, y):
        return F.cross_entropy(net((x.abs() * 3).long().clamp(max=8)), y)
    pair = Pair(lambda: nn.Sequential(nn.EmbeddingBag(9, 4, **options), nn.Linear(4, 4)), _step(loss), fullgraph=True)
    assert is_replayed(pair.run(12, batch, classes).compiled)


@pytest.mark.parametrize("late", [False, True], ids=["early", "late"])
@pytest.mark.parametrize("mode", ["mean", "sum"])
def test_bags_that_start_where_offsets_say_are_replayed(mode, late):
    """And refused where eager calls refuse them, whether something has been written by then or not."""
    weight, count = torch.randn(9, 4), torch.zeros(())

    def f(indices, offsets):
        if late:
            count.add_(1)
        return F.embedding_bag(indices, weight, offsets, mode=mode)
    compiled = torch.compile(f, mode="replay", fullgraph=True)
    for number in range(8):
        indices, offsets = torch.randint(0, 9, (7,)), torch.tensor([0, number % 3, 3 + number % 5])
        assert torch.equal(compiled(indices, offsets), f(indices, offsets))
    assert is_replayed(compiled), why(compiled)
    for starts, words in (([1, 2, 5], "has to start from position 0"), ([0, 2, 8], "can not be greater than input's length"),
                          ([0, 5, 2], "do not decrease")):
        for function in (f, compiled):
            with pytest.raises(RuntimeError, match=words):
                function(indices, torch.tensor(starts))
    assert torch.equal(compiled(indices, offsets), f(indices, offsets))


def test_a_second_run_that_draws_what_the_first_drew_is_not_replayed():
    pair = Pair(perceptron, _step(_drawn)).run(9, batch, classes, seed=0)
    assert not is_replayed(pair.compiled) and "random stream" in why(pair.compiled)


def test_what_backward_of_a_function_does_to_python_is_done_every_time():
    pair = Pair(perceptron, _step(lambda net, x, y: F.cross_entropy(Counted.apply(net(x)), y)))
    Counted.calls = 0
    pair.run(9, batch, classes)
    assert Counted.calls == 18 and not is_replayed(pair.compiled)


def test_a_late_name_is_found_by_python_alone_the_second_time():
    program = "import numtorch as t; a = 'cosine_similarity'; assert a not in vars(t); f = getattr(t, a); assert vars(t)[a] is f"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("mode", ["replay", None])
def test_classes_that_are_none_are_refused_by_replays(mode):
    def code(x):
        return F.one_hot(x, 5) * 2
    compiled = torch.compile(code, mode=mode)
    for number in range(8):
        x = torch.tensor([number % 5, 4, 0])
        assert torch.equal(compiled(x), code(x))
    assert is_replayed(compiled), why(compiled)
    for bad, words in (([0, 5, 1], "smaller than num_classes"), ([-1, 0, 0], "non-negative")):
        with pytest.raises(RuntimeError, match=words):
            compiled(torch.tensor(bad))
    assert torch.equal(compiled(x), code(x)) and is_replayed(compiled)


HOOKED = """
import numtorch as torch
def made(compiled):
    torch.manual_seed(0)
    net = torch.nn.Linear(4, 4)
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    WHERE
    def step(x):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss
    step = torch.compile(step, mode="replay") if compiled else step
    losses = [step(torch.full((3, 4), i % 5.0)).item() for i in range(20)]
    if compiled:
        assert step._kinds and all(kind.replays for kind in step._kinds.values()), [kind.breaks for kind in step._kinds.values()]
    handle.remove()
    return losses
first = made(False)
assert first == made(True) and first[0] != first[5]
"""


@pytest.mark.parametrize("where", ["optimizer", "torch.optim.optimizer"])
def test_hooks_of_steps_are_captured_whichever_was_imported_first(where):
    name = "register_step_post_hook" if where == "optimizer" else "register_optimizer_step_post_hook"
    hook = f"handle = {where}.{name}(lambda *call: net.bias.data.mul_(0.5))"
    subprocess.run([sys.executable, "-c", HOOKED.replace("WHERE", hook)], check=True)
