"""Learning rate schedules: by their formulas, after loading, and beside PyTorch's where it is installed."""
from __future__ import annotations

import copy
import math
import types
import warnings

import numpy as np
import pytest

import numtorch as torch
from numtorch import nn, optim
from numtorch.optim import lr_scheduler


def rates(make, epochs, lr=1.0):
    optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=lr)
    scheduler = make(optimizer)
    found = []
    for _ in range(epochs):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


@pytest.mark.parametrize(("make", "expected"), [
    (lambda o: lr_scheduler.StepLR(o, 2, 0.5), [1, 1, 0.5, 0.5, 0.25, 0.25]),
    (lambda o: lr_scheduler.MultiStepLR(o, [1, 4]), [1, 0.1, 0.1, 0.1, 0.01, 0.01]),
    (lambda o: lr_scheduler.ExponentialLR(o, 0.5), [1, 0.5, 0.25, 0.125, 0.0625, 0.03125]),
    (lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 1 / (epoch + 1)), [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6]),
    (lambda o: lr_scheduler.LinearLR(o, 0.5, 1.0, 2), [0.5, 0.75, 1, 1, 1, 1]),
    (lambda o: lr_scheduler.CosineAnnealingLR(o, 4, 0.2), [0.2 + 0.4 * (1 + math.cos(math.pi * t / 4)) for t in range(6)]),
])
def test_schedules(make, expected):
    np.testing.assert_allclose(rates(make, 6), expected, rtol=1e-12)


def test_one_cycle_goes_up_and_down():
    found = rates(lambda o: lr_scheduler.OneCycleLR(o, 1.0, total_steps=10), 10)
    np.testing.assert_allclose([found[0], found[2], found[9]], [0.04, 1.0, 0.04e-4], rtol=1e-9)
    assert found[:3] == sorted(found[:3]) and found[2:] == sorted(found[2:], reverse=True)


def test_plateau():
    optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, factor=0.5)
    found = []
    for value in (3, 2, 2, 2, 2, 1, 1):
        scheduler.step(value)
        found.append(optimizer.param_groups[0]["lr"])
    assert found == [1, 1, 1, 0.5, 0.5, 0.5, 0.5]


def test_schedule_resumes():
    optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    scheduler = lr_scheduler.StepLR(optimizer, 2)
    optimizer.step()
    scheduler.step()
    optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    other = lr_scheduler.StepLR(optimizer, 2)
    other.load_state_dict(scheduler.state_dict())
    optimizer.step()
    other.step()
    assert other.get_last_lr() == pytest.approx([0.1])


@pytest.mark.parametrize(("call", "message"), [
    (lambda: lr_scheduler.CyclicLR(optim.Rprop([nn.Parameter(torch.ones(1))]), 0.1, 1.0), "must support momentum or beta1"),
    (lambda: lr_scheduler.ChainedScheduler([]), "at least one scheduler to be chained"),
])
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


SCHEDULES = [
    lambda s, o: s.StepLR(o, 3, 0.5), lambda s, o: s.MultiStepLR(o, [2, 2, 7], 0.5), lambda s, o: s.ConstantLR(o, 0.25, 4),
    lambda s, o: s.LinearLR(o, 0.25, 0.75, 4), lambda s, o: s.ExponentialLR(o, 0.8), lambda s, o: s.PolynomialLR(o, 6, 2.0),
    lambda s, o: s.CosineAnnealingLR(o, 4, 0.1), lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.1),
    lambda s, o: s.LambdaLR(o, lambda e: 1 / (1 + e)), lambda s, o: s.MultiplicativeLR(o, [lambda e: 0.9, lambda e: 1 - e / 20]),
    lambda s, o: s.CyclicLR(o, 0.1, 1.0, 3), lambda s, o: s.CyclicLR(o, 0.1, [1.0, 2.0], 2, 3, "triangular2"),
    lambda s, o: s.CyclicLR(o, 0.1, 1.0, 2, 3, "exp_range", 0.9, cycle_momentum=False),
    lambda s, o: s.CyclicLR(o, 0.1, 1.0, 2, scale_fn=lambda x: 1 / x), lambda s, o: s.OneCycleLR(o, 1.0, 13),
    lambda s, o: s.OneCycleLR(o, [1.0, 2.0], epochs=2, steps_per_epoch=8, anneal_strategy="linear", three_phase=True),
    lambda s, o: s.SequentialLR(o, [s.LinearLR(o, 0.1, 1.0, 3), s.StepLR(o, 2, 0.5), s.ExponentialLR(o, 0.9)], [3, 8]),
    lambda s, o: s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.CosineAnnealingLR(o, 5)], [2]),
    lambda s, o: s.ChainedScheduler([s.LinearLR(o, 0.1, 1.0, 3), s.CosineAnnealingLR(o, 5), s.StepLR(o, 3, 0.5)]),
    lambda s, o: s.SWALR(o, 0.05, 4), lambda s, o: s.SWALR(o, [0.05, 0.1], 3, "linear"),
]


@pytest.mark.parametrize("make", SCHEDULES)
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_schedules_like_pytorch(make, kind):
    """Rates and momenta for 12 epochs, with state saved and loaded in the middle."""
    reference = pytest.importorskip("torch")
    found = []
    for module in (torch, reference):
        group = lambda m=module: {"params": [m.nn.Parameter(m.ones(1))]}
        optimizer = getattr(module.optim, kind)([group(), {**group(), "lr": 0.3}], lr=0.7, **({"momentum": 0.9} if kind == "SGD" else {}))
        family = types.SimpleNamespace(**{**vars(module.optim.swa_utils), **vars(module.optim.lr_scheduler)})
        family.SWALR = module.optim.swa_utils.SWALR
        scheduler, rows = make(family, optimizer), []
        for epoch in range(12):
            rows.append([(g["lr"], g.get("momentum"), g.get("betas")) for g in optimizer.param_groups])
            optimizer.step()
            scheduler.step()
            assert scheduler.get_last_lr() == [g["lr"] for g in optimizer.param_groups]
            if epoch == 5:
                scheduler.load_state_dict(copy.deepcopy(scheduler.state_dict()))
        found.append(np.array([[[v for v in (lr, m, *(b or ())) if v is not None] for lr, m, b in row] for row in rows], float))
    np.testing.assert_allclose(*found, rtol=1e-12)


@pytest.mark.parametrize("make", SCHEDULES)
def test_rates_in_tensors_are_written(make):
    """The rates of numbers, in the tensor that the optimiser was given; those of before do not change with it."""
    rate = torch.tensor(0.4, dtype=torch.float64)
    groups = lambda: [{"params": [nn.Parameter(torch.ones(1))]}, {"params": [nn.Parameter(torch.ones(1))], "lr": 0.3}]
    by_number, by_tensor = (optim.SGD(groups(), lr=lr, momentum=0.9) for lr in (0.4, rate))
    family = types.SimpleNamespace(**{**vars(lr_scheduler), "SWALR": optim.swa_utils.SWALR})
    first, second = make(family, by_number), make(family, by_tensor)
    for _ in range(8):
        last = second.get_last_lr()
        before = last[0].item()
        for each in (by_number, first, by_tensor, second):
            each.step()
        assert by_tensor.param_groups[0]["lr"] is rate and last[0].item() == before
        np.testing.assert_allclose(rate.item(), by_number.param_groups[0]["lr"], rtol=1e-12)
        np.testing.assert_allclose([float(lr) for lr in second.get_last_lr()], first.get_last_lr(), rtol=1e-12)


def test_plateau_like_pytorch():
    reference = pytest.importorskip("torch")
    for options in (dict(patience=1), dict(mode="max", patience=0, cooldown=2), dict(patience=1, threshold_mode="abs", threshold=0.5),
                    dict(patience=0, min_lr=[0.2, 0.01], factor=0.5)):
        found = []
        for module in (torch, reference):
            group = lambda m=module: {"params": [m.nn.Parameter(m.ones(1))]}
            optimizer = module.optim.SGD([group(), group()], lr=0.7)
            scheduler, rows = module.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options), []
            for value in (3, 2.9, 2.8, 3, 3, 3.5, 2, 2, 2, 2, 2):
                scheduler.step(value)
                rows.append([g["lr"] for g in optimizer.param_groups])
            found.append(rows)
        np.testing.assert_allclose(*found)


def test_a_given_epoch_is_warned_of_but_where_it_is_meant():
    optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=0.5)
    schedule = lr_scheduler.StepLR(optimizer, 2)
    optimizer.step()
    with pytest.warns(UserWarning, match="epoch parameter in `scheduler.step"):
        schedule.step(3)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.05)
    restarts = lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        restarts.step(0.5)
