"""What tests of compiled functions compare: two networks that begin alike, one eager and one compiled, bit for bit."""
from __future__ import annotations

import numpy as np

import numtorch as torch
from numtorch import nn

F = nn.functional


def kind_of(function):
    """The one kind of calls of a compiled function."""
    kind, = function._kinds.values()
    return kind


def pieces_of(function):
    """The pieces that a compiled function is split into."""
    kinds = getattr(function, "_compiled", function)._kinds.values()
    return [each for kind in kinds if kind.split is not None for each in kind.split.pieces]


def is_replayed(function):
    return bool(kind_of(function).replays)


def why(function):
    return "; ".join(str(each) for each in kind_of(function).breaks)


def perceptron():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


def same(a, b):
    """Equal bits; NaN too."""
    if a is None or b is None:
        return a is b
    a, b = a.detach(), b.detach()
    return a.shape == b.shape and a.dtype is b.dtype and a.numpy().tobytes() == b.numpy().tobytes()


def states(module):
    for name, value in module.state_dict(keep_vars=True).items():
        yield name, value
        if value.node is not None:
            yield f"{name}.grad", value.grad


def compare(module, other, where=""):
    for (name, a), (_, b) in zip(states(module), states(other), strict=True):
        assert same(a, b), f"{name} differs {where}"


class Pair:
    """A step written once, of two networks that begin alike: one eager, one compiled.

    `make(net)` returns a step, a function of tensors.
    """

    def __init__(self, network, make, **options):
        self.nets = []
        for _ in range(2):
            torch.manual_seed(0)
            self.nets.append(network())
        self.eager, self.step = (make(net) for net in self.nets)
        self.compiled = torch.compile(self.step, **{"mode": "replay", **options})

    def run(self, count, *inputs, seed=None, before=lambda number, net: None):
        for number in range(count):
            given = [make(number) for make in inputs]
            results = []
            for function, net in zip((self.eager, self.compiled), self.nets):
                before(number, net)
                if seed is not None:
                    torch.manual_seed(seed + number)
                results.append(function(*given))
            a, b = (results[0], results[1]) if isinstance(results[0], (tuple, list)) else ([results[0]], [results[1]])
            for x, y in zip(a, b, strict=True):
                assert same(x, y) if isinstance(x, torch.Tensor) or x is None else x == y, f"results differ in step {number}"
            compare(*self.nets, f"in step {number}")
        return self


def batch(number):
    return torch.from_numpy(np.random.default_rng(number).standard_normal((4, 8), np.float32))


def classes(number):
    return torch.from_numpy(np.random.default_rng(number).integers(0, 4, 4))


def training(optimizer, loss=F.cross_entropy, set_to_none=True, clip=None):
    def make(net):
        steps = optimizer(net.parameters())

        def step(x, y):
            steps.zero_grad(set_to_none=set_to_none)
            value = loss(net(x), y)
            value.backward()
            if clip is not None:
                nn.utils.clip_grad_norm_(net.parameters(), clip)
            steps.step()
            return value
        step.optimizer = steps
        return step
    return make


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
