"""Training that one library began and saved, the other goes on with: the same losses and rates, in both directions."""
from __future__ import annotations

import io
import warnings

import numpy as np
import pytest

import numtorch

pytorch = pytest.importorskip("torch")

OPTIMIZERS = """SGD Adam AdamW NAdam RAdam Adamax Adadelta Adagrad RMSprop Rprop ASGD LBFGS Adafactor Muon""".split()
SCHEDULERS = ["StepLR(o, 2)", "MultiStepLR(o, [2, 4])", "CosineAnnealingLR(o, 5)", "ReduceLROnPlateau(o, patience=0)", "ConstantLR(o)", "LinearLR(o)",
              "CyclicLR(o, 0.01, 0.5, 2, cycle_momentum=False)", "OneCycleLR(o, 0.5, 10, cycle_momentum=False)", "CosineAnnealingWarmRestarts(o, 3)",
              "SequentialLR(o, [ConstantLR(o), ExponentialLR(o, 0.9)], [4])", "PolynomialLR(o)"]
ROWS = [(name, SCHEDULERS[i % len(SCHEDULERS)]) for i, name in enumerate(OPTIMIZERS)] + [("SGD", scheduler) for scheduler in SCHEDULERS]
WEIGHT, INPUTS = np.random.default_rng(0).standard_normal((3, 4)), np.random.default_rng(1).standard_normal((10, 5, 3))


def made(library, name, scheduler):
    parameter = library.nn.Parameter(library.from_numpy(WEIGHT.copy()))
    optimizer = getattr(library.optim, name)([parameter], lr=0.05, **({"momentum": 0.9} if name in ("SGD", "RMSprop") else {}))
    kinds = library.optim.lr_scheduler
    return parameter, optimizer, eval(scheduler, {**{kind: getattr(kinds, kind) for kind in dir(kinds)}, "o": optimizer})


def trained(library, parameter, optimizer, scheduler, steps):
    found = []
    for step in steps:
        def closure(x=INPUTS[step]):
            optimizer.zero_grad()
            loss = ((library.from_numpy(x) @ parameter).sin() ** 2).mean() + (parameter ** 2).mean()
            loss.backward()
            return loss
        loss = optimizer.step(closure)
        found += [loss.item(), optimizer.param_groups[0]["lr"]]
        if "Plateau" in type(scheduler).__name__:
            scheduler.step(loss.item())
        else:
            scheduler.step()
    return [*found, *parameter.detach().flatten().tolist()]


@pytest.mark.parametrize(("first", "then"), [(numtorch, pytorch), (pytorch, numtorch)], ids=["ours first", "theirs first"])
@pytest.mark.parametrize(("name", "scheduler"), ROWS)
def test_one_goes_on_where_the_other_was(name, scheduler, first, then):
    for library in (first, then):
        library.set_default_dtype(library.float64)       # in which both keep what they count
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")              # of schedulers within others
            whole = made(first, name, scheduler)
            trained(first, *whole, range(3))
            file = io.BytesIO()
            first.save([whole[0].detach(), whole[1].state_dict(), whole[2].state_dict()], file)
            weight, *states = then.load(io.BytesIO(file.getvalue()), weights_only=False)
            other = made(then, name, scheduler)
            with then.no_grad():
                other[0].copy_(weight)
            for each, state in zip(other[1:], states):
                each.load_state_dict(state)
            assert trained(then, *other, range(3, 8)) == pytest.approx(trained(first, *whole, range(3, 8)), rel=1e-10, abs=1e-11)
    finally:
        for library in (first, then):
            library.set_default_dtype(library.float32)
