"""Compiled calls to which one tensor is given in several places, as queries, keys and values of an attention are."""
from __future__ import annotations

import copy

import pytest
from recordings import recording_of
from replays import kind_of
from settling import hurry

import numtorch as torch
from numtorch import nn
from numtorch.kernels import compiler, debugmemory

pytestmark = [pytest.mark.usefixtures("soon", "faster"), pytest.mark.skipif(
    compiler.DISABLE_JIT or bool(debugmemory.MODE), reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")]


def computed(a, b):
    return (a * b).sin() * 2 + a


def written(a, b):
    a.mul_(2)
    return a + b, (a - b).exp() * 3


def returned(a, b):
    return a, a.exp() + 1, b


def asked(a, b):
    return a * 2 if a is b else a + b


FUNCTIONS = [computed, written, returned, asked]


def compare(found, wanted):
    for one, other in zip(*[each if isinstance(each, (tuple, list)) else (each,) for each in (found, wanted)], strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("mode", ["replay", "default"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_calls(function, mode):
    """Calls with two tensors in between are of another kind."""
    compiled = torch.compile(function, mode=mode)
    for number in range(40):
        given = [torch.randn(4), torch.randn(4)]
        once = number % 5 < 3
        x, y = given[0], given[0 if once else 1]
        found, wanted = [], []
        for call, results in ((compiled, found), (function, wanted)):
            a = x.clone()
            b = a if once else y.clone()
            out = call(a, b)
            out = out if isinstance(out, tuple) else (out,)
            results += [*out, a, b]
            assert function is not returned or (out[0] is a and out[2] is b)
        compare(found, wanted)
        for kind in compiled._kinds.values():
            hurry(kind.replays[0].better if kind.replays else None)
    assert len(compiled._kinds) == 2 and all(kind.replays for kind in compiled._kinds.values())


@pytest.mark.parametrize("mode", ["replay", "default"])
def test_attention_to_itself(mode):
    """In the usual loop, and in a step; gradients of the argument come from all places."""
    torch.manual_seed(0)
    net = nn.MultiheadAttention(8, 2, batch_first=True)
    nets = net, copy.deepcopy(net)
    optimizers = [torch.optim.SGD(each.parameters(), 0.01) for each in nets]
    models = net, torch.compile(nets[1], mode=mode)

    def stepping(net, optimizer):
        def step(query, key, value):
            optimizer.zero_grad()
            loss = net(query, key, value, need_weights=False)[0].square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()
        return step
    steps = stepping(net, optimizers[0]), torch.compile(stepping(nets[1], optimizers[1]), mode=mode)
    for number in range(40):
        x = torch.randn(2, 5, 8)
        leaves = [x.clone().requires_grad_() for _ in nets]
        found = []
        for model, leaf, step in zip(models, leaves, steps):
            out, weights = model(leaf, leaf, leaf)
            (out.sin().mean() + weights.square().mean()).backward()
            found.append([out.detach(), weights.detach(), leaf.grad, step(x, x, x)])
        compare(*found)
        compare(list(net.parameters()), list(nets[1].parameters()))
        recording = recording_of(models[1])
        if recording is not None and recording.pending is not None and recording.pending[1] is not None:
            recording.pending[1].join()
        for kind in steps[1]._kinds.values():
            hurry(kind.replays[0].better if kind.replays else None)
    assert recording_of(models[1]).programs and kind_of(steps[1]).replays


def test_gradients_of_gradients():
    compiled = torch.compile(lambda a, b: (a * b).sin(), mode="replay")
    for _ in range(8):
        x = torch.randn(4).requires_grad_()
        for call in (compiled, lambda a, b: (a * b).sin()):
            slope, = torch.autograd.grad(call(x, x).sum(), [x], create_graph=True)
            second, = torch.autograd.grad(slope.sum(), [x])
            torch.testing.assert_close(slope.detach(), (2 * x * (x * x).cos()).detach())
            torch.testing.assert_close(second, (2 * (x * x).cos() - 4 * x * x * (x * x).sin()).detach())
    assert recording_of(compiled).programs


def test_explained():
    explanation = torch.compile.explain(computed)(*[torch.randn(3)] * 2)
    assert not explanation.breaks and explanation.launches
