"""Steps that `numtorch.compile` has captured, beside PyTorch's eager ones: whole training steps of small networks, and of some in
which kernels take most of the time."""
from __future__ import annotations

from dataclasses import replace

from . import models, networks
from .runner.case import integers, normal, step_case
from .runner.networks import lenet, multilayer_perceptron

_CALLS = 3                                               # before the first that is replayed


def _compiled(case, budget, group):
    """The case with its function compiled on our side, after as many calls on each."""
    def setup(torch, *inputs):
        run = case.setup(torch, *inputs)
        if torch.__name__ == "numtorch":
            run = torch.compile(run)
        for _ in range(_CALLS):
            run()
        return run
    return replace(case, name=f"{case.name}, compiled", setup=setup, budget=budget, group=group)


def _classes(torch, logits, target):
    return torch.nn.functional.cross_entropy(logits, target)


def _momentum(torch, parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


def _perceptron(batch, *sizes):
    return step_case(f"training step, MLP {batch}×{'→'.join(map(str, sizes))}", lambda torch: multilayer_perceptron(torch, *sizes),
                     (normal(batch, sizes[0]), integers(batch, high=sizes[-1])), loss=_classes, optimizer=_momentum, tolerance=1e-3)


def _of(family, beginning):
    return next(case for case in family.CASES if case.name.startswith(beginning))


CASES = [
    _compiled(_perceptron(4, 16, 16, 4), 0.02, "small steps"), _compiled(_perceptron(1, 8, 32, 32, 4), 0.03, "small steps"),
    _compiled(_perceptron(64, 784, 128, 10), 0.3, "small steps"),
    _compiled(_of(networks, "Q-learning"), 0.05, "small steps"), _compiled(_of(networks, "linear regression"), 0.1, "small steps"),
    _compiled(_of(networks, "contrastive pairs"), 0.2, "small steps"),
    _compiled(step_case("training step, LeNet 16×1×28×28", lenet, (normal(16, 1, 28, 28), integers(16, high=10)), loss=_classes,
                        optimizer=_momentum, tolerance=1e-3), 0.8, "larger steps"),
    _compiled(_of(models, "training step, language model"), 0.72, "larger steps"),
    _compiled(_of(networks, "GPT, 2 layers of 128, 8×64"), 0.32, "larger steps"),
]
