"""Steps in which more happens than backward and one step at the end become graphs too, and train as without."""
from __future__ import annotations

import pytest
from replays import kind_of
from settling import close, hurry, settled

import numtorch as torch
from numtorch import nn
from numtorch.ops.reduce import total_norm

F = nn.functional


def _network():
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4))


def _averaged():
    net = _network()
    average, optimizer = [p.detach().clone() for p in net.parameters()], torch.optim.AdamW(net.parameters(), 1e-2)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for mean, parameter in zip(average, net.parameters()):
                mean.lerp_(parameter, 0.1)
        return loss
    return step, [*net.parameters(), *average]


def _clamped():
    net = _network()
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.clamp_(-0.2, 0.2)
        return loss
    return step, list(net.parameters())


def _adversarial():
    one, other = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 8)), nn.Sequential(_network(), nn.Linear(4, 1))
    makes, judges = torch.optim.Adam(one.parameters(), 1e-3), torch.optim.Adam(other.parameters(), 1e-3)

    def step(x, y):
        judges.zero_grad()
        made = one(y)
        loss = F.softplus(-other(x)).mean() + F.softplus(other(made.detach())).mean()
        loss.backward()
        judges.step()
        makes.zero_grad()
        fooled = F.softplus(-other(made)).mean()
        fooled.backward()
        makes.step()
        return loss, fooled
    return step, [*one.parameters(), *other.parameters()]


def _epochs():
    net = _network()
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)

    def step(x, y):
        for _ in range(2):
            optimizer.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()
        return loss
    return step, list(net.parameters())


def _twice():
    net = _network()
    optimizer = torch.optim.SGD(net.parameters(), 1e-2, momentum=0.9)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.step()
        return loss
    return step, list(net.parameters())


def _moved():
    net = _network()
    optimizer = torch.optim.SGD(net.parameters(), 1e-2)

    def step(x, y):
        before = [parameter.detach().clone() for parameter in net.parameters()]
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        return loss, sum((now.detach() - then).abs().sum() for now, then in zip(net.parameters(), before))
    return step, list(net.parameters())


def _clipped(order=2.0):
    net = _network()
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 0.05, order)
        optimizer.step()
        return loss, norm
    return step, list(net.parameters())


def _largest():
    return _clipped(float("inf"))


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("make", [_averaged, _clamped, _adversarial, _epochs, _twice, _moved, _clipped, _largest])
def test_they_become_graphs(make):
    (eager, wanted), (step, got) = [torch.manual_seed(0) and make() for _ in range(2)]
    compiled, draw, found, left = torch.compile(step), torch.Generator().manual_seed(1), None, 60
    while left:
        x, y = torch.randn(8, 8, generator=draw), torch.randn(8, 4, generator=draw)
        close(compiled(x, y), eager(x, y))
        for a, b in zip(got, wanted):
            close(a, b)
        replays = kind_of(compiled).replays
        found = found or (replays[0].better if replays else None)
        hurry(found)
        left = min(left - 1, 5) if found is not None and found.reason is not None else left - 1
    assert found is not None and found.reason == "it was replaced", found and found.reason


@pytest.mark.usefixtures("soon")
def test_what_a_step_overwrites_is_not_read_behind_it():
    """In a graph the old weights would be the new ones: the launches stay."""
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], 0.1)

    def step(x):
        optimizer.zero_grad()
        (weight * x).sum().backward()
        optimizer.step()
        return weight
    compiled = torch.compile(step)
    assert "what an optimiser's step gives is returned" in settled(compiled, torch.ones(3)).reason


@pytest.mark.usefixtures("soon")
def test_budgets_hold_where_gradients_are_clipped():
    """Memory is spared there too."""
    net = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(64, 64), nn.GELU())])
    optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def step(x):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    sizes = []
    for budget in (1.0, 0.5):
        compiled = torch.compile(step, memory_budget=budget)
        assert settled(compiled, torch.randn(512, 64)).reason == "it was replaced"
        compiled(torch.randn(512, 64))
        sizes.append(kind_of(compiled).replays[0].memory.nbytes)
    assert sizes[1] < 0.8 * sizes[0], sizes


def test_traces_that_clip_leave_no_layouts_behind():
    """Those of traced tensors hold tensors: no table keeps them."""
    torch.jit.trace(lambda x: nn.utils.get_total_norm([x, x * 2]), torch.ones(3), check_trace=False)
    assert all(layout.handler is None for layout in total_norm._fitting)
