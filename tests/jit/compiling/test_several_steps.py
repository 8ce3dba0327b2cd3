"""Calls in which optimisers step in other places than at the end: several times, first of all, in turns."""
from __future__ import annotations

import pytest
from replays import Pair, batch, classes, is_replayed, kind_of, perceptron, sgd, why

import numtorch as torch
from numtorch import nn

F = nn.functional
OPTIMIZERS = {"sgd": sgd, "plain": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
              "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01),
              "weights first": lambda parameters: torch.optim.AdamW(
                  [{"params": list(parameters)[::2]}, {"params": list(parameters)[1::2], "lr": 0.02}], lr=0.01)}


def _epochs(net, optimizer):
    """Several steps over one batch, as in proximal policy optimisation."""
    def step(x, y):
        for _ in range(3):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
        return loss
    return step


def _halves(net, optimizer):
    """Gradients of the first half are added to for the second, and end in the call."""
    def step(x, y):
        for half in (slice(0, 2), slice(2, 4)):
            loss = F.cross_entropy(net(x[half]), y[half])
            loss.backward()
            optimizer.step()
        optimizer.zero_grad()
        return loss
    return step


def _first(net, optimizer):
    """The step of the last call's gradients."""
    def step(x, y):
        optimizer.step()
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        return loss
    return step


def _around(net, optimizer):
    """One before, of the last call's gradients, and one behind, of its own."""
    def step(x, y):
        optimizer.step()
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss
    return step


def _written(net, optimizer):
    """Gradients stay in their memory."""
    def step(x, y):
        for _ in range(2):
            optimizer.zero_grad(set_to_none=False)
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
        return loss
    return step


STEPS = [_epochs, _halves, _first, _around, _written]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("make", STEPS)
def test_steps_in_other_places(make, optimizer):
    def whole(net):
        steps = OPTIMIZERS[optimizer](net.parameters())
        step = make(net, steps)
        step.optimizer = steps
        return step
    pair = Pair(perceptron, whole).run(8, batch, classes)
    assert is_replayed(pair.compiled), why(pair.compiled)
    captures = kind_of(pair.compiled).captures

    def before(number, net):
        """Rates that change, and gradients in other memory."""
        steps = (pair.eager if net is pair.nets[0] else pair.step).optimizer
        for group in steps.param_groups:
            group["lr"] *= 0.9
        for parameter in net.parameters():
            if number % 3 == 0 and parameter.grad is not None:
                parameter.grad = parameter.grad * 2
    pair.run(14, batch, classes, before=before)
    assert kind_of(pair.compiled).captures == captures


def test_two_optimisers_in_turns():
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.other = nn.Linear(8, 8), nn.Linear(8, 1)

    def make(net):
        one, other = (torch.optim.Adam(each.parameters(), lr=0.01) for each in (net.one, net.other))

        def step(x):
            for _ in range(2):
                other.zero_grad()
                loss = F.softplus(-net.other(x)).mean() + F.softplus(net.other(net.one(x).detach())).mean()
                loss.backward()
                other.step()
            one.zero_grad()
            fooled = F.softplus(-net.other(net.one(x))).mean()
            fooled.backward()
            one.step()
            return loss, fooled
        return step
    pair = Pair(Both, make).run(20, batch)
    assert is_replayed(pair.compiled), why(pair.compiled)


@pytest.mark.parametrize("make", STEPS)
def test_no_graph_takes_the_place_of_several_steps_with_other_results(make, soon):
    pair = Pair(perceptron, lambda net: make(net, sgd(net.parameters())), mode=None)
    for number in range(30):
        for function in (pair.eager, pair.compiled):
            function(batch(number), classes(number))
    for (name, a), (_, b) in zip(*(net.named_parameters() for net in pair.nets), strict=True):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-5), name
    assert is_replayed(pair.compiled) and kind_of(pair.compiled).replays[0].better is None
