"""Calls in which optimisers step in other places than at the end: several times, first of all, in turns."""
from __future__ import annotations

import pytest
from changes import CHANGES, forget
from replays import Pair, batch, classes, compare, is_replayed, kind_of, perceptron, same, sgd, why
from settling import hurry

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
def test_changes_between_calls_are_seen(make):
    """Programs for each state of things share what an optimiser keeps: whatever ran last, each finds its own gradients. Each change
    with every other step, in turns: what is seen of it does not depend on the step."""
    threads = torch.get_num_threads()

    def network():
        return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 4))

    def whole(net):
        steps = sgd(net.parameters())
        step = make(net, steps)
        step.optimizer = steps
        return step
    for name, change in list(CHANGES.items())[STEPS.index(make) % 2::2]:
        pair = Pair(network, whole).run(5, batch, classes, seed=1)
        for seed in range(3):
            for net, step in zip(pair.nets, (pair.eager, pair.step)):
                change(net, step.optimizer)
            try:
                pair.run(5, batch, classes, seed=seed)
            except AssertionError as error:
                raise AssertionError(f"{name}, the {seed + 1}. time: {error}") from None
        torch.set_num_threads(threads)
    forget()


def _returned_and_dropped(net, optimizer):
    def step(x, y):
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        gradients = tuple(parameter.grad for parameter in net.parameters())
        optimizer.zero_grad()
        return gradients
    return step


def _made_by_grad(net, optimizer):
    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        for parameter, grad in zip(net.parameters(), torch.autograd.grad(loss, list(net.parameters()))):
            parameter.grad = torch.zeros_like(parameter)
            parameter.grad.add_(grad)
        optimizer.step()
        optimizer.zero_grad()
        return loss
    return step


def _in_one_buffer(net, optimizer):
    parameters = list(net.parameters())
    buffer = torch.zeros(sum(parameter.numel() for parameter in parameters))

    def step(x, y):
        for parameter, part in zip(parameters, buffer.split([parameter.numel() for parameter in parameters])):
            parameter.grad = part.view_as(parameter)
        buffer.zero_()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss
    return step


@pytest.mark.parametrize("make", [_returned_and_dropped, _made_by_grad, _in_one_buffer])
def test_gradients_in_other_places(make):
    pair = Pair(perceptron, lambda net: make(net, sgd(net.parameters())))
    kept = []
    for number in range(24):
        results = [function(batch(number), classes(number)) for function in (pair.eager, pair.compiled)]
        compare(*pair.nets, f"in step {number}")
        if number % 3:                                   # so that the next results have other memory
            kept.append([each if isinstance(each, tuple) else (each,) for each in results])
    assert all(same(a, b) for pair_ in kept for a, b in zip(*pair_, strict=True))
    assert is_replayed(pair.compiled), why(pair.compiled)


def _checked_late(net, optimizer):
    """By the time the target is looked at statistics are written, and gradients are gone, new or as they were."""
    def step(x, y):
        hidden = net[:2](x)
        net[0].weight.grad = None
        net[0].bias.grad = torch.ones_like(net[0].bias)
        hidden.pow(3).mean().backward()
        net[2].bias.grad.mul_(0.5)
        net[2].weight.grad = None
        loss = F.cross_entropy(net[2](hidden.detach()), y)
        loss.backward()
        optimizer.step()
        return loss
    return step


def test_gradients_are_those_at_the_line_that_raised():
    pair = Pair(lambda: nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Linear(8, 4)),
                lambda net: _checked_late(net, sgd(net.parameters())))
    for net in pair.nets:
        for parameter in net.parameters():
            parameter.grad = torch.full_like(parameter, 0.1)
    for number in range(20):
        y = classes(number)
        y[2] = 9 if number in (8, 9, 14) else y[2]
        raised = []
        for function in (pair.eager, pair.compiled):
            try:
                function(batch(number), y)
            except IndexError as error:
                raised.append(str(error))
        assert len(raised) == (2 if 9 in y else 0) and len(set(raised)) < 2
        compare(*pair.nets, f"in step {number}")
    assert is_replayed(pair.compiled), why(pair.compiled)


@pytest.mark.parametrize("make", STEPS)
def test_no_graph_takes_the_place_of_several_steps_with_other_results(make, soon):
    pair = Pair(perceptron, lambda net: make(net, sgd(net.parameters())), mode=None)
    for number in range(30):
        for function in (pair.eager, pair.compiled):
            function(batch(number), classes(number))
        for replay in kind_of(pair.compiled).replays:
            hurry(replay.better)
    for (name, a), (_, b) in zip(*(net.named_parameters() for net in pair.nets), strict=True):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-5), name
    assert is_replayed(pair.compiled) and kind_of(pair.compiled).replays[0].better is None
