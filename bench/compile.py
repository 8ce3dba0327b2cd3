"""What `numtorch.compile` makes of programs, beside PyTorch's eager ones: training steps that are captured and replayed, of small
networks and of some in which kernels take most of the time, and functions as graphs with fewer kernels."""
from __future__ import annotations

import os
import time
from dataclasses import replace

from . import models, networks
from .runner.case import Case, ProcessCase, fill, integers, normal, step_case, uniform
from .runner.networks import lenet, multilayer_perceptron, residual_block

_CALLS = 3                                               # before the first that is replayed
_MOST_SECONDS = 120                                      # until a graph's kernels are compiled and it was compared


def _compiled(case, budget, group):
    """The case with its function compiled on our side, after as many calls on each."""
    def setup(torch, *inputs):
        run = case.setup(torch, *inputs)
        if torch.__name__ == "numtorch":
            run = torch.compile(run, mode="replay")
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


# ---------------------------------------------------------------- functions as graphs
def _graph(name, function, inputs, budget, moved):
    """`function(torch, *inputs)`, on our side compiled until nothing more becomes of it."""
    def setup(torch, *inputs):
        def run(*given):
            return function(torch, *given)
        if torch.__name__ != "numtorch":
            return lambda: run(*inputs)
        compiled = torch.compile(run)
        for _ in range(_CALLS):
            compiled(*inputs)
        end = time.monotonic() + _MOST_SECONDS
        while not torch.compile.explain(compiled)(*inputs).settled:
            if time.monotonic() > end:
                raise RuntimeError(f"{name}: no graph after {_MOST_SECONDS} s")
            compiled(*inputs)
            time.sleep(0.02)
        return lambda: compiled(*inputs)
    return Case(f"{name}, compiled", inputs, setup=setup, budget=budget, moved=moved, tolerance=1e-4, group="graphs")


def _chain(torch, x, y):
    z = x * 2 + y
    z = torch.tanh(z) * x - y
    return torch.relu(z * 0.5 + 1).sqrt() + z.abs()


def _masked_softmax(torch, a, b, c, mask):
    return torch.softmax(a * b + c, -1) * mask


def _layer_norm(torch, x, weight, bias):
    centred = x - x.mean(-1, keepdim=True)
    return centred / ((centred * centred).mean(-1, keepdim=True) + 1e-5).sqrt() * weight + bias


def _folded_block():
    """ResNet-18's block for inference, its norms in the weights on our side."""
    def setup(torch, x):
        block = fill(torch, residual_block(torch, 64)).eval()
        if torch.__name__ == "numtorch":
            with torch.no_grad():
                block = torch.jit.optimize_for_inference(torch.jit.trace(block, x))

        def infer():
            with torch.no_grad():
                return block(x)
        return infer
    return Case("ResNet-18 block, 8×64×56×56, norms folded", (normal(8, 64, 56, 56),), setup=setup, budget=0.75, moved=0.0,
                tolerance=1e-2, corners=True, group="graphs")


NETWORKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runner", "networks.py")
PEAK = """
import runpy
import {module} as torch
model = runpy.run_path(NETWORKS)["lenet"](torch)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))
def step(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss
if torch.__name__ == "numtorch":
    step = torch.compile(step, mode="replay")
for _ in range(10):
    step(x, y)
report(peak_bytes())
""".replace("NETWORKS", repr(NETWORKS))


CASES = [
    _compiled(_perceptron(4, 16, 16, 4), 0.02, "small steps"), _compiled(_perceptron(1, 8, 32, 32, 4), 0.03, "small steps"),
    _compiled(_perceptron(64, 784, 128, 10), 0.3, "small steps"),
    _compiled(_of(networks, "Q-learning"), 0.05, "small steps"), _compiled(_of(networks, "linear regression"), 0.1, "small steps"),
    _compiled(_of(networks, "contrastive pairs"), 0.2, "small steps"),
    _compiled(step_case("training step, LeNet 16×1×28×28", lenet, (normal(16, 1, 28, 28), integers(16, high=10)), loss=_classes,
                        optimizer=_momentum, tolerance=1e-3), 0.8, "larger steps"),
    _compiled(_of(models, "training step, language model"), 0.72, "larger steps"),
    _compiled(_of(networks, "GPT, 2 layers of 128, 8×64"), 0.32, "larger steps"),
    _graph("ten elementwise ops, 1000×1000", _chain, (normal(1000, 1000), normal(1000, 1000)), 0.15, 3e6),
    _graph("softmax(a * b + c) * mask, 1000×1000", _masked_softmax, (*[normal(1000, 1000)] * 3, uniform(1000, 1000)), 0.3, 5e6),
    _graph("layer norm by hand, 1000×1000", _layer_norm, (normal(1000, 1000), normal(1000), normal(1000)), 0.3, 2e6),
    _folded_block(),
    ProcessCase("LeNet step", PEAK, (("training step, LeNet 64×1×28×28, compiled: peak memory", "B", 0.6),), rounds=2),
]
