"""Calls that decide by truth values: a program for each case, and the right one in each call."""
from __future__ import annotations

import traceback

import pytest
from recordings import recording_of, settle
from replays import Pair, batch, classes, is_replayed, kind_of, perceptron, same, sgd

import numtorch as torch
from numtorch import nn
from numtorch.jit.capturing.items import Break
from numtorch.jit.compiling import calls, compiled, recorded

F = nn.functional


def _sign(x):
    return x + 1 if x.sum() > 0 else x - 1


def _within(x):
    y = x * 2
    if (y.abs() > 5).any():
        y = y.clamp(-4, 4)
    return y.exp() if bool(y[0, 0] > 0) else y.sin()


def _closes(x):
    return (x if torch.allclose(x, x.abs()) else x.floor()) * 2


def _returned(x):
    return x + 1, (x > -2).all().item()


def _drawn(x):
    y = F.dropout(x, 0.5)
    return y * 2 if y.sum() > 0 else torch.rand_like(y)


def _valid(x):
    return torch.distributions.Normal(x, x.exp()).log_prob(x + 1)


def _categorical(x):
    chosen = torch.distributions.Categorical(logits=x)
    drawn = chosen.sample()
    return drawn, chosen.log_prob(drawn), chosen.entropy()


FUNCTIONS = [_sign, _within, _closes, _returned, _drawn, _valid, _categorical]


@pytest.mark.parametrize("f", FUNCTIONS, ids=[f.__name__ for f in FUNCTIONS])
@pytest.mark.parametrize("mode", ["replay", None])
def test_every_case_is_a_program(f, mode, soon):
    function = torch.compile(f, mode=mode)
    for number in range(60):
        x = batch(number % 7) + (0.5 if number % 3 else -0.5)
        x = x.abs() if number % 5 == 0 else x * (1 + number % 2)
        torch.manual_seed(number)
        wanted, stream = f(x), torch.get_rng_state()
        torch.manual_seed(number)
        found = function(x)
        assert same(torch.get_rng_state(), stream), number
        for a, b in zip(*(each if isinstance(each, tuple) else (each,) for each in (found, wanted)), strict=True):
            assert a is b if isinstance(a, bool) else same(a, b) if mode else torch.allclose(a, b, rtol=1e-4, atol=1e-5), number
    kind = kind_of(function)
    assert kind.reason is None and len(kind.replays) == (1 if f in (_valid, _categorical) else 3 if f is _within else 2)


def test_a_call_whose_values_are_no_good_raises_at_the_users_line():
    function = torch.compile(_valid, mode="replay")
    for number in range(6):
        function(batch(number))
    assert is_replayed(function)
    bad = batch(0)
    bad[1, 2] = float("nan")
    with pytest.raises(ValueError, match="loc") as caught:
        function(bad)
    assert caught.value.__context__ is None
    assert any(frame.name == "_valid" for frame in traceback.extract_tb(caught.tb))
    assert same(function(batch(1)), _valid(batch(1)))


def _skipping(net):
    """A step that is left out where a gradient is too large, as with loss scaling."""
    optimizer = sgd(net.parameters())

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        if torch.stack([p.grad.abs().max() for p in net.parameters()]).max() < 0.5:
            optimizer.step()
        return loss
    return step


def test_a_step_that_may_be_left_out():
    pair = Pair(perceptron, _skipping).run(40, lambda number: batch(number) * (5 if number % 4 == 3 else 1), classes)
    kind = kind_of(pair.compiled)
    assert kind.reason is None and len(kind.replays) == 2 and kind.differed > 5


def _adding(net):
    """Gradients that add up have been written when the value is asked for."""
    optimizer = sgd(net.parameters())

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        if loss < 1.5:
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
        return loss
    return step


def _counting(net):
    """What a case writes lasts, and comes before the next question."""
    seen = torch.zeros(())

    def step(x, y):
        with torch.no_grad():
            if x.sum() > 0:
                seen.add_(1)
            return net(x) * 2 if seen > 3 else net(x) + seen
    return step


def _uncounted(net):
    """Writes through `.data` count in no version."""
    def step(x, y):
        with torch.no_grad():
            net[0].weight.data.add_(0.01)
            return net(x) * 2 if x.sum() > 0 else net(x)
    return step


@pytest.mark.parametrize("make", [_adding, _counting, _uncounted])
def test_where_something_has_been_written_the_function_is_split(make):
    Pair(perceptron, make).run(30, batch, classes)


def test_cases_that_are_many_or_change_often_are_split(monkeypatch):
    def many(x):
        y = x.exp()
        for i in range(4):
            if y[0, i] > 1:
                y = y * 2
        return y + 1
    function = torch.compile(many, mode="replay")
    assert all(same(function(batch(number)), many(batch(number))) for number in range(40))
    kind = kind_of(function)
    assert not kind.replays and kind.differed > calls.DIFFERING and kind.split is not None
    monkeypatch.setattr(compiled, "DIFFERING", 8)
    function = torch.compile(_sign, mode="replay")
    for number in range(40):
        x = batch(number).abs() * (-1) ** number
        assert same(function(x), _sign(x))
    assert not kind_of(function).replays and kind_of(function).reason


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(8, 16), nn.Linear(16, 4), nn.Linear(16, 4)

    def forward(self, x):
        x = torch.relu(self.first(x))
        return self.second(x) if x.mean() > 0.4 else self.third(x)


@pytest.mark.parametrize("mode", ["replay", None])
def test_a_network_with_branches_in_the_usual_loop(mode, faster):
    nets = []
    for _ in range(2):
        torch.manual_seed(0)
        nets.append(Gated())
    steps = [torch.optim.SGD(net.parameters(), lr=0.1) for net in nets]
    model = torch.compile(nets[1], mode=mode)
    cases = set()

    def train(number):
        x, y = batch(number) * (1.5 if number % 3 else 0.7), classes(number)
        cases.add(bool(torch.relu(nets[0].first(x)).mean() > 0.4))
        for call, step in zip((nets[0], model), steps):
            step.zero_grad()
            F.cross_entropy(call(x), y).backward()
            step.step()
        for (name, a), (_, b) in zip(nets[0].named_parameters(), nets[1].named_parameters()):
            assert same(a, b) if mode else torch.allclose(a, b, rtol=1e-4, atol=1e-6), (name, number)
    numbers = iter(range(200))
    settle(lambda: train(next(numbers)), model)
    for _ in range(60):
        train(next(numbers))
    assert cases == {False, True}
    recording = recording_of(model)
    assert recording.reason is None and len(recording.programs) == 2 and recording.differed, recording.reason


def test_a_causal_mask_is_looked_at_once_per_call():
    torch.manual_seed(0)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), 2)
    mask, x = nn.Transformer.generate_square_subsequent_mask(4), torch.randn(3, 4, 8)
    model = torch.compile(lambda x: encoder(x, mask=mask), mode="replay")
    settle(lambda: model(x), model)
    assert recording_of(model).programs, recording_of(model).reason
    assert torch.allclose(model(x), encoder(x, mask=mask), atol=1e-6)
    mask[0, 3] = 0                                       # now the first place sees the last
    assert torch.allclose(model(x), encoder(x, mask=mask), atol=1e-6)


def test_a_whole_graph_decides_nothing():
    with pytest.raises(RuntimeError, match="c_bool"):
        torch.compile(_sign, fullgraph=True)(batch(0))
    assert isinstance(torch.compile.explain(_sign)(batch(0)).breaks, list | tuple)
    assert not any(isinstance(each, Break) for each in torch.compile.explain(_sign)(batch(0)).breaks)


def test_a_network_that_is_called_as_before_when_its_branches_change_too_often(monkeypatch):
    monkeypatch.setattr(recorded, "DIFFERING", 8)
    torch.manual_seed(0)
    net = Gated()
    model = torch.compile(net, mode="replay")
    for number in range(60):
        x = batch(number) * (1.5 if number % 2 else 0.3)
        assert torch.allclose(model(x), net(x), atol=1e-6)
    assert kind_of(model._compiled).reason and not recording_of(model).programs
