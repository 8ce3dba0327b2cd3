"""Optimiser steps over many small and a few large parameters. PyTorch runs its multi-tensor (`foreach`) form."""
from __future__ import annotations

import numpy as np

from .runner.case import Case

SMALL = [(64, 64), (64,)] * 50
LARGE = [(512, 512, 3, 3), (512,), (1000, 512), (2048, 1024)]
BUDGET = 0.5


def _step(name, make, states, shapes, label):
    """`optimizer.step()` with fixed gradients; what is compared is the first parameter after one step. A step reads parameters,
    gradients and states, and writes parameters and states."""
    def setup(torch):
        rng = np.random.default_rng(0)
        floats = lambda shape: torch.from_numpy(rng.standard_normal(shape, np.float32))
        parameters = [torch.nn.Parameter(floats(shape)) for shape in shapes]
        for parameter in parameters:
            parameter.grad = floats(tuple(parameter.shape)) * 1e-3
        more = {"foreach": True} if torch.__name__ == "torch" else {}
        optimizer = make(torch, parameters, more)

        def step():
            optimizer.step()
            return parameters[0]
        return step
    elements = sum(int(np.prod(shape)) for shape in shapes)
    return Case(f"{name}, {label} ({elements / 1e6:.2g} M)", (), setup=setup, budget=BUDGET, moved=(3.0 + 2 * states) * elements,
                in_place=True)


# A maker of each, and how many states of a parameter's size it has.
OPTIMIZERS = {
    "SGD": (lambda torch, p, more: torch.optim.SGD(p, lr=1e-3, **more), 0),
    "SGD with momentum and decay": (lambda torch, p, more: torch.optim.SGD(p, lr=1e-3, momentum=0.9, weight_decay=1e-4, **more), 1),
    **{name: (lambda torch, p, more, name=name: getattr(torch.optim, name)(p, lr=1e-3, **more), states)
       for name, states in {"Adam": 2, "AdamW": 2, "RMSprop": 1, "Adagrad": 1, "Adadelta": 2, "Adamax": 2, "NAdam": 2, "RAdam": 2,
                            "ASGD": 1, "Rprop": 2}.items()},
}

CASES = [_step(name, make, states, shapes, label) for name, (make, states) in OPTIMIZERS.items()
         for shapes, label in ((SMALL, "100 tensors"), (LARGE, "4 tensors"))]


def _zero_grad(torch):
    parameters = [torch.nn.Parameter(torch.zeros(*shape)) for shape in SMALL]
    optimizer = torch.optim.SGD(parameters, lr=1e-3)
    return lambda: optimizer.zero_grad()


def _clip(name, largest):
    def setup(torch):
        rng = np.random.default_rng(0)
        parameters = [torch.nn.Parameter(torch.zeros(*shape)) for shape in SMALL]
        for parameter in parameters:
            parameter.grad = torch.from_numpy(rng.standard_normal(tuple(parameter.shape), np.float32) * np.float32(1e-3))
        return lambda: torch.nn.utils.clip_grad_norm_(parameters, largest)
    return Case(f"clip_grad_norm_, 100 tensors, {name}", (), setup=setup, budget=BUDGET, moved=0.0)


# A norm of 0.46 stays as it is below 1. Above 1e-6 it is scaled by 1e-6 / (norm + 1e-6), and so a little at every call.
CASES += [Case("zero_grad, 100 tensors", (), setup=_zero_grad, budget=None, moved=0.0),
          _clip("small enough", 1.0), _clip("too large", 1e-6)]
