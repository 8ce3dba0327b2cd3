"""Optimisers against PyTorch's formulas in NumPy float64, their state, and schedules."""
from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import numtorch as torch
from numtorch import nn, optim
from numtorch.optim import lr_scheduler

SHAPES = [(3, 4), (5,), (), (2, 0)]


# ---------------------------------------------------------------- references
def sgd(p, g, state, lr, momentum=0, dampening=0, weight_decay=0, nesterov=False, maximize=False):
    g = -g if maximize else g
    g = g + weight_decay * p
    if momentum:
        state["buffer"] = g if "buffer" not in state else momentum * state["buffer"] + (1 - dampening) * g
        g = g + momentum * state["buffer"] if nesterov else state["buffer"]
    return p - lr * g


def adam(p, g, state, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, maximize=False, decoupled=False):
    g = -g if maximize else g
    if decoupled:
        p = p * (1 - lr * weight_decay)
    else:
        g = g + weight_decay * p
    state["step"] = state.get("step", 0) + 1
    state["m"] = betas[0] * state.get("m", 0) + (1 - betas[0]) * g
    state["v"] = betas[1] * state.get("v", 0) + (1 - betas[1]) * g * g
    state["top"] = np.maximum(state.get("top", 0), state["v"])
    square = state["top"] if amsgrad else state["v"]
    denominator = np.sqrt(square) / math.sqrt(1 - betas[1] ** state["step"]) + eps
    return p - lr / (1 - betas[0] ** state["step"]) * state["m"] / denominator


def adamw(p, g, state, weight_decay=1e-2, **options):
    return adam(p, g, state, weight_decay=weight_decay, decoupled=True, **options)


CASES = [
    (optim.SGD, sgd, dict(lr=0.1)),
    (optim.SGD, sgd, dict(lr=0.1, weight_decay=0.2, maximize=True)),
    (optim.SGD, sgd, dict(lr=0.1, momentum=0.9)),
    (optim.SGD, sgd, dict(lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1)),
    (optim.SGD, sgd, dict(lr=0.1, momentum=0.9, nesterov=True)),
    (optim.Adam, adam, dict(lr=0.05)),
    (optim.Adam, adam, dict(lr=0.05, betas=(0.5, 0.8), eps=1e-3, weight_decay=0.1)),
    (optim.Adam, adam, dict(lr=0.05, amsgrad=True, maximize=True)),
    (optim.AdamW, adamw, dict(lr=0.05)),
    (optim.AdamW, adamw, dict(lr=0.05, weight_decay=0.3, amsgrad=True)),
]


def gradient(parameter, value):
    parameter.grad = torch.tensor(np.asarray(value)).to(parameter.dtype)


@pytest.mark.parametrize(("kind", "reference", "options"), CASES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-6)])
def test_steps(kind, reference, options, dtype, tolerance):
    """Six steps, in one of which a parameter has no gradient."""
    random = np.random.default_rng(0)
    expected = [random.standard_normal(s) for s in SHAPES]
    parameters = [nn.Parameter(torch.tensor(e).to(dtype)) for e in expected]
    states, optimizer = [{} for _ in SHAPES], kind(parameters, **options)
    for step in range(6):
        for place, parameter in enumerate(parameters):
            if step == 2 and place == 1:
                parameter.grad = None
                continue
            g = random.standard_normal(SHAPES[place])
            gradient(parameter, g)
            expected[place] = reference(expected[place], g, states[place], **options)
        optimizer.step()
    for parameter, value in zip(parameters, expected):
        np.testing.assert_allclose(parameter.detach().numpy(), value, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("kind", "reference", "options"), [CASES[3], CASES[7]])
def test_saved_state_goes_on_where_it_was(kind, reference, options):
    random = np.random.default_rng(1)
    expected, state = random.standard_normal(7), {}
    parameter = nn.Parameter(torch.tensor(expected))
    optimizer = kind([parameter], **options)
    for step in range(5):
        g = random.standard_normal(7)
        gradient(parameter, g)
        expected = reference(expected, g, state, **options)
        optimizer.step()
        saved = pickle.loads(pickle.dumps(optimizer.state_dict())) if step % 2 else copy.deepcopy(optimizer.state_dict())
        optimizer = kind([parameter], lr=123.0)
        optimizer.load_state_dict(saved)
    np.testing.assert_allclose(parameter.detach().numpy(), expected, rtol=1e-12)


def test_groups_have_options_of_their_own():
    a, b = (nn.Parameter(torch.ones(2)) for _ in range(2))
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1)
    (a.sum() + b.sum()).backward()
    optimizer.step()
    assert a.tolist() == pytest.approx([0.9, 0.9]) and b.tolist() == [0.5, 0.5]
    optimizer.param_groups[0]["lr"] = 0.2
    optimizer.step()
    assert a.tolist() == pytest.approx([0.7, 0.7]) and b.tolist() == [0.0, 0.0]


def test_what_moves_is_followed():
    """Parameters and gradients whose memory, layout or dtype changes between steps."""
    parameter = nn.Parameter(torch.zeros(3, 2))
    optimizer = optim.SGD([parameter], lr=1.0, momentum=0.5)
    parameter.grad = torch.ones(3, 2)
    optimizer.step()
    parameter.grad = torch.ones(2, 3).t()                # other strides
    optimizer.step()
    assert parameter.tolist() == [[-2.5, -2.5]] * 3
    parameter.data = torch.zeros(3, 2)                   # other memory
    optimizer.step()
    assert parameter.tolist() == [[-1.75, -1.75]] * 3


def test_state_can_be_thrown_away():
    parameter = nn.Parameter(torch.zeros(2))
    optimizer = optim.Adam([parameter], lr=0.1)
    for _ in range(3):
        parameter.grad = torch.ones(2)
        optimizer.step()
    optimizer.state.clear()
    parameter.grad = torch.ones(2)
    optimizer.step()
    assert optimizer.state[parameter]["step"].item() == 1


def test_a_step_counts_as_a_write():
    parameter = nn.Parameter(torch.ones(2))
    optimizer = optim.SGD([parameter], lr=0.1)
    loss = (parameter * parameter).sum()
    parameter.grad = torch.ones(2)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_closure_and_hooks():
    parameter, seen = nn.Parameter(torch.ones(1)), []
    optimizer = optim.SGD([parameter], lr=0.1)
    before = optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    optimizer.register_step_post_hook(lambda *_: seen.append("after"))

    def closure():
        optimizer.zero_grad()
        loss = (parameter * 2).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 2
    assert parameter.item() == pytest.approx(0.8) and seen == ["before", "after"]
    before.remove()
    optimizer.step(closure)
    assert seen == ["before", "after", "after"]


def test_zero_grad():
    parameter = nn.Parameter(torch.ones(2))
    optimizer = optim.SGD([parameter], lr=0.1)
    parameter.grad = torch.ones(2)
    optimizer.zero_grad(set_to_none=False)
    assert parameter.grad.tolist() == [0, 0]
    optimizer.zero_grad()
    assert parameter.grad is None


def test_state_dict_has_pytorchs_form():
    parameters = [nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(3))]
    optimizer = optim.Adam(parameters)
    parameters[1].grad = torch.ones(3)
    optimizer.step()
    saved = optimizer.state_dict()
    assert set(saved["state"]) == {1} and set(saved["state"][1]) == {"step", "exp_avg", "exp_avg_sq"}
    assert saved["param_groups"][0]["params"] == [0, 1] and saved["param_groups"][0]["betas"] == (0.9, 0.999)
    plain = optim.SGD(parameters, lr=0.1)
    plain.step()
    assert plain.state_dict()["state"] == {}


ERRORS = [
    (lambda: optim.SGD([], lr=0.1), ValueError, "empty parameter list"),
    (lambda: optim.SGD(torch.ones(1), lr=0.1), TypeError, "iterable of Tensors or dicts"),
    (lambda: optim.SGD([1], lr=0.1), TypeError, "can only optimize Tensors"),
    (lambda: optim.SGD([torch.ones(1, requires_grad=True) * 2], lr=0.1), ValueError, "non-leaf"),
    (lambda: optim.SGD([nn.Parameter(torch.ones(1))], lr=-1), ValueError, "Invalid learning rate: -1"),
    (lambda: optim.SGD([nn.Parameter(torch.ones(1))], lr=1, nesterov=True), ValueError, "Nesterov momentum requires"),
    (lambda: optim.Adam([nn.Parameter(torch.ones(1))], betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0"),
    (lambda: optim.SGD([nn.Parameter(torch.ones(1))] * 2, lr=1), ValueError, "duplicate"),
    (lambda: optim.SGD([nn.Parameter(torch.ones(1))], lr=1).load_state_dict({"state": {}, "param_groups": []}), ValueError,
     "different number of parameter groups"),
]


@pytest.mark.parametrize(("call", "kind", "message"), ERRORS)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


# ---------------------------------------------------------------- schedules
def rates(make, epochs, lr=1.0):
    optimizer = optim.SGD([nn.Parameter(torch.ones(1))], lr=lr)
    scheduler = make(optimizer)
    found = []
    for _ in range(epochs):
        found.append(optimizer.param_groups[0]["lr"])
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
    scheduler.step()
    other = lr_scheduler.StepLR(optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0), 2)
    other.load_state_dict(scheduler.state_dict())
    other.step()
    assert other.get_last_lr() == pytest.approx([0.1])


def test_like_pytorch():
    reference = pytest.importorskip("torch")
    for name, options in (("SGD", dict(lr=0.1, momentum=0.9)), ("Adam", dict()), ("AdamW", dict())):
        ours, theirs = nn.Parameter(torch.ones(4)), reference.nn.Parameter(reference.ones(4))
        a, b = getattr(optim, name)([ours], **options), getattr(reference.optim, name)([theirs], **options)
        for step in range(4):
            ours.grad, theirs.grad = torch.full((4,), 0.5 + step), reference.full((4,), 0.5 + step)
            a.step()
            b.step()
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-6)
        mine, other = a.state_dict(), b.state_dict()
        assert set(mine["state"][0]) == set(other["state"][0])
        assert set(mine["param_groups"][0]) == set(other["param_groups"][0])
