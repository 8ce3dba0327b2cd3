"""Compiled calls whose results have a graph, and which look at gradients or change them: what eager calls do."""
from __future__ import annotations

import pytest
from replays import batch, classes, compare, perceptron, pieces_of, sgd

import numtorch as torch
from numtorch import nn
from numtorch.kernels import compiler, debugmemory

pytestmark = pytest.mark.skipif(compiler.DISABLE_JIT or bool(debugmemory.MODE),
                                reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")
F = nn.functional


def _zeroed(net, optimizer):
    def loss(x, y):
        optimizer.zero_grad()
        return F.cross_entropy(net(x), y)
    return loss


def _zeroed_in_place(net, optimizer):
    def loss(x, y):
        optimizer.zero_grad(set_to_none=False)
        return F.cross_entropy(net(x), y)
    return loss


def _zeroed_by_the_module(net, optimizer):
    def loss(x, y):
        net.zero_grad()
        return F.cross_entropy(net(x), y)
    return loss


def _set(net, optimizer):
    def loss(x, y):
        scores = net(x)
        for parameter in net.parameters():
            parameter.grad = None
        return F.cross_entropy(scores, y)
    return loss


def _read(net, optimizer):
    def loss(x, y):
        weight = net[0].weight.grad
        return F.cross_entropy(net(x if weight is None else x + weight.mean()), y)
    return loss


def _clipped(net, optimizer):
    def loss(x, y):
        nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        return F.cross_entropy(net(x), y)
    return loss


def _walked(net, optimizer):
    """Another loss is sent backward in the call."""
    def loss(x, y):
        (net(x) ** 2).mean().backward()
        return F.cross_entropy(net(x), y)
    return loss


def _stepped(net, optimizer):
    def loss(x, y):
        optimizer.step()
        return F.cross_entropy(net(x), y)
    return loss


LOSSES = [_zeroed, _zeroed_in_place, _zeroed_by_the_module, _set, _read, _clipped, _walked, _stepped]


@pytest.mark.parametrize("make", LOSSES)
def test_gradients_in_a_call_whose_result_has_a_graph(make, faster):
    nets, losses, optimizers = [], [], []
    for _ in range(2):
        torch.manual_seed(0)
        nets.append(perceptron())
        optimizers.append(sgd(nets[-1].parameters()))
        losses.append(make(nets[-1], optimizers[-1]))
    losses[1] = torch.compile(losses[1], mode="replay")
    for number in range(24):
        for loss, optimizer in zip(losses, optimizers):
            loss(batch(number), classes(number)).backward()
            if number % 3 == 0:
                optimizer.step()
        compare(*nets, f"in step {number}")


def test_what_stands_beside_is_compiled(faster):
    net = perceptron()
    optimizer = sgd(net.parameters())
    loss = torch.compile(_zeroed(net, optimizer), mode="replay")
    for number in range(30):
        loss(batch(number), classes(number)).backward()
    programs = [kind.recording.programs for piece in pieces_of(loss) for kind in getattr(piece.call, "_kinds", {}).values()
                if kind.recording is not None]
    assert any(programs)
    assert any("gradients" in each.what for each in torch.compile.explain(_zeroed(net, optimizer))(batch(0), classes(0)).breaks)
