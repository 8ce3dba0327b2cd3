"""Optimisers against PyTorch's formulas in NumPy float64, their state, and averaged weights."""
from __future__ import annotations

import copy
import inspect
import math
import pickle

import numpy as np
import pytest

import numtorch as torch
from numtorch import nn, optim

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


def asgd(p, g, state, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0):
    g = g + weight_decay * p
    eta, mu = state.get("eta", lr), state.get("mu", 1)
    p = p * (1 - lambd * eta) - eta * g
    state["ax"] = p if mu == 1 else state["ax"] + mu * (p - state["ax"])
    state["step"] = step = state.get("step", 0) + 1
    state["eta"], state["mu"] = lr / (1 + lambd * lr * step) ** alpha, 1 / max(1, step - t0)
    return p


def adamax(p, g, state, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, maximize=False):
    g = (-g if maximize else g) + weight_decay * p
    state["step"] = state.get("step", 0) + 1
    state["m"] = betas[0] * state.get("m", 0) + (1 - betas[0]) * g
    state["largest"] = np.maximum(betas[1] * state.get("largest", 0), np.abs(g) + eps)
    return p - lr / (1 - betas[0] ** state["step"]) * state["m"] / state["largest"]


def means(p, g, state, lr, betas, weight_decay, decoupled):
    p, g = (p * (1 - lr * weight_decay), g) if decoupled else (p, g + weight_decay * p)
    state["step"] = state.get("step", 0) + 1
    state["m"] = betas[0] * state.get("m", 0) + (1 - betas[0]) * g
    state["v"] = betas[1] * state.get("v", 0) + (1 - betas[1]) * g * g
    return p, g, state["step"], state["m"], state["v"]


def nadam(p, g, state, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3, decoupled_weight_decay=False):
    p, g, step, m, v = means(p, g, state, lr, betas, weight_decay, decoupled_weight_decay)
    mu, following = (betas[0] * (1 - 0.5 * 0.96 ** (s * momentum_decay)) for s in (step, step + 1))
    state["product"] = product = state.get("product", 1) * mu
    root = np.sqrt(v / (1 - betas[1] ** step)) + eps
    return p - lr * (1 - mu) / (1 - product) * g / root - lr * following / (1 - product * following) * m / root


def radam(p, g, state, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False):
    p, g, step, m, v = means(p, g, state, lr, betas, weight_decay, decoupled_weight_decay)
    m, left = m / (1 - betas[0] ** step), 1 - betas[1] ** step
    most = 2 / (1 - betas[1]) - 1
    now = most - 2 * step * betas[1] ** step / left
    if now <= 5:
        return p - lr * m
    certain = math.sqrt((now - 4) * (now - 2) * most / ((most - 4) * (most - 2) * now))
    return p - lr * m * certain * math.sqrt(left) / (np.sqrt(v) + eps)


def adagrad(p, g, state, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10):
    g = g + weight_decay * p
    state["step"] = state.get("step", 0) + 1
    state["sum"] = state.get("sum", initial_accumulator_value) + g * g
    return p - lr / (1 + (state["step"] - 1) * lr_decay) * g / (np.sqrt(state["sum"]) + eps)


def rmsprop(p, g, state, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False):
    g = g + weight_decay * p
    state["v"] = alpha * state.get("v", 0) + (1 - alpha) * g * g
    state["m"] = alpha * state.get("m", 0) + (1 - alpha) * g
    state["b"] = momentum * state.get("b", 0) + g / (np.sqrt(state["v"] - (state["m"] ** 2 if centered else 0)) + eps)
    return p - lr * state["b"]


def adadelta(p, g, state, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0):
    g = g + weight_decay * p
    state["v"] = rho * state.get("v", 0) + (1 - rho) * g * g
    delta = np.sqrt(state.get("d", 0) + eps) / np.sqrt(state["v"] + eps) * g
    state["d"] = rho * state.get("d", 0) + (1 - rho) * delta * delta
    return p - lr * delta


def rprop(p, g, state, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50)):
    agreed = np.sign(g * state.get("prev", 0 * g))
    factor = np.where(agreed > 0, etas[1], np.where(agreed < 0, etas[0], 1))
    state["size"] = np.clip(state.get("size", lr + 0 * g) * factor, *step_sizes)
    state["prev"] = np.where(agreed < 0, 0, g)
    return p - np.sign(state["prev"]) * state["size"]


CASES = [
    (optim.ASGD, asgd, dict(lr=0.5)),
    (optim.ASGD, asgd, dict(lr=0.5, lambd=0.1, alpha=0.5, t0=2, weight_decay=0.1)),
    (optim.Adamax, adamax, dict(lr=0.1)),
    (optim.Adamax, adamax, dict(lr=0.1, betas=(0.5, 0.8), eps=1e-2, weight_decay=0.1, maximize=True)),
    (optim.NAdam, nadam, dict(lr=0.1)),
    (optim.NAdam, nadam, dict(lr=0.1, weight_decay=0.1, momentum_decay=0.1)),
    (optim.NAdam, nadam, dict(lr=0.1, weight_decay=0.1, decoupled_weight_decay=True)),
    (optim.RAdam, radam, dict(lr=0.1)),
    (optim.RAdam, radam, dict(lr=0.1, betas=(0.5, 0.9), weight_decay=0.1, decoupled_weight_decay=True)),
    (optim.Adagrad, adagrad, dict(lr=0.1)),
    (optim.Adagrad, adagrad, dict(lr=0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5)),
    (optim.RMSprop, rmsprop, dict(lr=0.1)),
    (optim.RMSprop, rmsprop, dict(lr=0.1, alpha=0.9, weight_decay=0.1, momentum=0.9)),
    (optim.RMSprop, rmsprop, dict(lr=0.1, alpha=0.5, centered=True)),
    (optim.RMSprop, rmsprop, dict(lr=0.1, alpha=0.5, centered=True, momentum=0.5)),
    (optim.Adadelta, adadelta, dict(lr=0.5)),
    (optim.Adadelta, adadelta, dict(rho=0.5, eps=1e-2, weight_decay=0.1)),
    (optim.Rprop, rprop, dict(lr=0.1)),
    (optim.Rprop, rprop, dict(lr=0.1, etas=(0.3, 1.7), step_sizes=(0.05, 0.2))),
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
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_steps(kind, reference, options, dtype, tolerance):
    """Six steps, in one of which a parameter has no gradient."""
    if {"eta", "mu_product"} & set(kind.counts):         # kept in float32 by default, as PyTorch keeps them
        tolerance = max(tolerance, 1e-6)
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


@pytest.mark.parametrize(("kind", "reference", "options"), [c for c in CASES if {"eta", "mu_product"} & set(c[0].counts)])
def test_counts_are_in_double_precision_where_that_is_the_default(kind, reference, options):
    random = np.random.default_rng(2)
    torch.set_default_dtype(torch.float64)
    try:
        expected, state, parameter = random.standard_normal(5), {}, nn.Parameter(torch.zeros(5))
        gradient(parameter, expected)
        parameter.data.copy_(parameter.grad)
        optimizer = kind([parameter], **options)
        for step in range(6):
            g = random.standard_normal(5)
            gradient(parameter, g)
            expected = reference(expected, g, state, **options)
            optimizer.step()
            if step == 3:                                # loaded ones stay what they are
                optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        assert all(optimizer.state[parameter][name].dtype is torch.float64 for name in kind.counts)
    finally:
        torch.set_default_dtype(torch.float32)
    np.testing.assert_allclose(parameter.detach().numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("kind", "reference", "options"), [c for c in CASES if len(c[2]) > 2])
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
    np.testing.assert_allclose(parameter.detach().numpy(), expected, rtol=1e-6 if {"eta", "mu_product"} & set(kind.counts) else 1e-12)


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


@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, 0.1, momentum=0.9), lambda p: optim.Adam(p, 0.1)])
@pytest.mark.parametrize("change", ["exchanged", "taken out", "another list"])
def test_the_parameters_of_a_group_may_change(make, change):
    """A new layer's weight in the place of an old one's: the old one has a gradient still, and is left alone."""
    old, stays, new = (nn.Parameter(torch.full((2,), value)) for value in (1.0, 2.0, 3.0))
    optimizer = make([old, stays])
    group = optimizer.param_groups[0]
    for _ in range(2):
        optimizer.zero_grad()
        (old * old + stays * stays).sum().backward()
        optimizer.step()
    if change == "exchanged":
        group["params"][0] = new
    elif change == "taken out":
        del group["params"][0]
    else:
        group["params"] = [new, stays]
    before, moved = old.detach().clone(), [p.detach().clone() for p in (stays, new)]
    optimizer.zero_grad()
    (new * new + stays * stays).sum().backward()
    optimizer.step()
    assert torch.equal(old, before) and not torch.equal(stays, moved[0])
    assert torch.equal(new, moved[1]) == (change == "taken out") and any(p is new for p in optimizer.state) == (change != "taken out")


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


class Counting(optim.Optimizer):
    """A user's optimiser, whose step takes an argument of its own."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})
        self.scales = []

    def step(self, closure=None, *, scale=1):
        self.scales.append(scale)
        return closure and closure()


class Twice(optim.SGD):
    def step(self, closure=None):
        return super().step(closure)


def loss_of_five():
    return torch.tensor(5.0)


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adafactor, optim.LBFGS, Counting, Twice])
def test_hooks_of_steps_see_the_call(kind):
    """The optimiser and what `step` was given, in the form in which it was; what the hook before returns is given to the step, and to
    the hooks after it."""
    parameter, seen = nn.Parameter(torch.ones(2, 2)), []
    parameter.grad = torch.ones(2, 2)
    optimizer, other = kind([parameter], lr=0.1), lambda: torch.tensor(7.0)
    optimizer.register_step_pre_hook(lambda *call: seen.append(call))
    after = optimizer.register_step_post_hook(lambda *call: seen.append(call))
    assert optimizer.step(loss_of_five).item() == 5 and optimizer.step(closure=loss_of_five).item() == 5
    assert seen == [(optimizer, (optimizer, loss_of_five), {})] * 2 + [(optimizer, (optimizer,), {"closure": loss_of_five})] * 2
    after.remove()
    replaced = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: ((optimizer,), {"closure": other}))
    optimizer.register_step_post_hook(lambda *call: seen.append(call))
    del seen[:]
    assert optimizer.step(loss_of_five).item() == 7
    assert seen == [(optimizer, (optimizer, loss_of_five), {}), (optimizer, (optimizer,), {"closure": other})]
    replaced.remove()
    for wrong in (3, (), [(optimizer,), {}], (1, 2, 3)):
        with optimizer.register_step_pre_hook(lambda *call, wrong=wrong: wrong), \
                pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\)"):
            optimizer.step(loss_of_five)
    with optimizer.register_step_pre_hook(lambda *call: 1 / 0), pytest.raises(ZeroDivisionError):
        optimizer.step(loss_of_five)
    del seen[:]
    with pytest.raises(TypeError, match=r"step\(\) got an unexpected keyword argument 'unknown'"):
        optimizer.step(unknown=1)
    assert seen == [(optimizer, (optimizer,), {"unknown": 1})] and next(iter(inspect.signature(optimizer.step).parameters)) == "closure"


def test_hooks_of_all_optimisers():
    """They are called around an optimiser's own hooks, for classes made later too, until they are taken off."""
    made, seen = [optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1), Counting([nn.Parameter(torch.ones(2))], lr=0.1)], []
    first = torch.optim.optimizer.register_optimizer_step_pre_hook(lambda *call: seen.append(("all before", *call)))
    last = torch.optim.optimizer.register_optimizer_step_post_hook(lambda *call: seen.append(("all after", *call)))

    class Later(Counting):
        def step(self, closure=None):
            return super().step(closure)

    made[0].register_step_pre_hook(lambda *call: seen.append(("before", *call)))
    made[0].register_step_post_hook(lambda *call: seen.append(("after", *call)))
    made.append(Later([nn.Parameter(torch.ones(2))], lr=0.1))
    for optimizer in made:
        optimizer.step()
    assert [(when, optimizer) for when, optimizer, *_ in seen] == [
        *[(when, made[0]) for when in ("all before", "before", "after", "all after")],
        *[(when, optimizer) for optimizer in made[1:] for when in ("all before", "all after")]]
    assert all(args == (optimizer,) and not kwargs for _, optimizer, args, kwargs in seen)
    first.remove(), last.remove(), seen.clear()
    for optimizer in made:
        optimizer.step()
    assert [when for when, *_ in seen] == ["before", "after"] and made[1].scales == [1, 1]


@pytest.mark.parametrize("register", [lambda optimizer: optimizer.register_step_post_hook,
                                      lambda optimizer: torch.optim.optimizer.register_optimizer_step_post_hook])
def test_hooks_that_come_after_a_step_was_compiled(register):
    parameter, seen = nn.Parameter(torch.ones(2)), []
    optimizer = optim.SGD([parameter], lr=0.1)

    @torch.compile
    def step():
        optimizer.zero_grad()
        (parameter * parameter).sum().backward()
        optimizer.step()

    for _ in range(4):
        step()
    with register(optimizer)(lambda *call: seen.append(1)):
        for _ in range(4):
            step()
    step()
    assert len(seen) == 4


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


ONE = nn.Parameter(torch.ones(1))
ERRORS = [
    (lambda: optim.SGD([], lr=0.1), ValueError, "empty parameter list"),
    (lambda: optim.SGD(torch.ones(1), lr=0.1), TypeError, "iterable of Tensors or dicts"),
    (lambda: optim.SGD([1], lr=0.1), TypeError, "can only optimize Tensors"),
    (lambda: optim.SGD([torch.ones(1, requires_grad=True) * 2], lr=0.1), ValueError, "non-leaf"),
    (lambda: optim.SGD([nn.Parameter(torch.ones(1))], lr=-1), ValueError, "Invalid learning rate: -1"),
    (lambda: optim.SGD([nn.Parameter(torch.ones(1))], lr=1, nesterov=True), ValueError, "Nesterov momentum requires"),
    (lambda: optim.Adam([nn.Parameter(torch.ones(1))], betas=(1.0, 0.9)), ValueError, "Invalid beta parameter at index 0"),
    (lambda: optim.SGD([{"params": [ONE]}, {"params": [ONE]}], lr=1), ValueError, "more than one parameter group"),
    (lambda: optim.Adagrad([nn.Parameter(torch.ones(1))], lr_decay=-1), ValueError, "Invalid lr_decay value: -1"),
    (lambda: optim.RMSprop([nn.Parameter(torch.ones(1))], eps=-1), ValueError, "Invalid epsilon value: -1"),
    (lambda: optim.Adadelta([nn.Parameter(torch.ones(1))], rho=2), ValueError, "Invalid rho value: 2"),
    (lambda: optim.Rprop([nn.Parameter(torch.ones(1))], etas=(2, 3)), ValueError, "Invalid eta values: 2, 3"),
    (lambda: optim.Adam([nn.Parameter(torch.ones(1))], foreach=True, fused=True), RuntimeError, "cannot be `True` together"),
    (lambda: optim.LBFGS([{"params": [nn.Parameter(torch.ones(1))]}] * 1 + [{"params": [nn.Parameter(torch.ones(1))]}]), ValueError,
     "doesn't support per-parameter options"),
    (lambda: optim.SGD([nn.Parameter(torch.ones(1))], lr=1).load_state_dict({"state": {}, "param_groups": []}), ValueError,
     "different number of parameter groups"),
]


@pytest.mark.parametrize("make", [lambda optim, p: optim.SGD(p, lr=0.1), lambda optim, p: optim.Adam(p, lr=0.1), lambda optim, p: optim.RMSprop(p, lr=0.1)],
                         ids=["SGD", "Adam", "RMSprop"])
def test_a_parameter_that_is_twice_in_a_group_is_warned_of_and_makes_two_steps(make):
    pytorch = pytest.importorskip("torch")
    found = []
    for library in (torch, pytorch):
        once, twice = library.nn.Parameter(library.ones(3)), library.nn.Parameter(library.tensor([1.0, 2.0, -1.0]))
        with pytest.warns(UserWarning, match="duplicate parameters; in future, this will cause an error"):
            optimizer = make(library.optim, [twice, once, twice])
        for _ in range(3):
            optimizer.zero_grad()
            ((once + twice) ** 3).sum().backward()
            optimizer.step()
        numbers = optimizer.state_dict()
        steps = [int(state["step"]) for _, state in sorted(numbers["state"].items()) if "step" in state]
        found.append((once.tolist(), twice.tolist(), steps, numbers["param_groups"][0]["params"]))
    ours, theirs = found
    assert ours[2:] == theirs[2:] and ours[3] == [2, 1, 2]
    np.testing.assert_allclose(ours[:2], theirs[:2], rtol=1e-4)


@pytest.mark.parametrize(("call", "kind", "message"), ERRORS)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


# ---------------------------------------------------------------- PyTorch, where it is installed
NAMES = ["SGD", "ASGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "RMSprop", "Adadelta", "Rprop"]
MORE = [("SGD", dict(momentum=0.9)), ("SGD", dict(momentum=0.9, dampening=0.5, maximize=True)),
        ("SGD", dict(momentum=0.9, nesterov=True)), ("Adam", dict(amsgrad=True, weight_decay=0.1)), ("ASGD", dict(t0=2.0)),
        ("RMSprop", dict(momentum=0.5, centered=True, weight_decay=0.1)), ("NAdam", dict(decoupled_weight_decay=True, weight_decay=0.1)),
        ("Adagrad", dict(lr_decay=0.1, initial_accumulator_value=0.1)), ("Rprop", dict(maximize=True))]


@pytest.mark.parametrize(("name", "options"), [*[(n, {}) for n in NAMES], *MORE])
def test_like_pytorch(name, options):
    """Step by step, with the state in the middle taken from PyTorch; complex parameters too."""
    reference, rng = pytest.importorskip("torch"), np.random.default_rng(0)
    values = [rng.normal(size=(3, 4)).astype(np.float32), (rng.normal(size=5) + 1j * rng.normal(size=5)).astype(np.complex64)]
    sides = []
    for module in (torch, reference):
        parameters = [module.nn.Parameter(module.from_numpy(v.copy())) for v in values]
        sides.append((module, parameters, getattr(module.optim, name)(parameters, lr=0.05, **options)))
    for step in range(8):
        grads = [(rng.normal(size=v.shape) + (1j * rng.normal(size=v.shape) if v.dtype.kind == "c" else 0)).astype(v.dtype)
                 for v in values]
        for module, parameters, optimizer in sides:
            for parameter, g in zip(parameters, grads):
                parameter.grad = module.from_numpy(g.copy())
            optimizer.step()
        for one, other in zip(sides[0][1], sides[1][1]):
            np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), 2e-5, 2e-6)
        ours, theirs = sides[0][2].state_dict(), sides[1][2].state_dict()
        assert {k: set(v) for k, v in ours["state"].items()} == {k: set(v) for k, v in theirs["state"].items()}
        assert set(ours["param_groups"][0]) == set(theirs["param_groups"][0])
        if step in (0, 4):
            fresh = getattr(optim, name)(sides[0][1], lr=123.0)
            fresh.load_state_dict(theirs)
            sides[0] = (*sides[0][:2], fresh)


@pytest.mark.parametrize("name", NAMES)
def test_options_are_pytorchs(name):
    import inspect
    reference = pytest.importorskip("torch")
    ours, theirs = (inspect.signature(getattr(module.optim, name).__init__).parameters for module in (torch, reference))
    assert [(p.name, p.default, p.kind) for p in ours.values()] == [(p.name, p.default, p.kind) for p in theirs.values()]


@pytest.mark.parametrize("options", [{}, dict(line_search_fn="strong_wolfe"), dict(max_iter=5, history_size=2, lr=0.5),
                                     dict(line_search_fn="strong_wolfe", max_iter=4, max_eval=30)])
def test_lbfgs_like_pytorch(options):
    reference, found = pytest.importorskip("torch"), []
    for module in (torch, reference):
        start = np.array([-1.2, 1.0, 0.5])
        places = [module.nn.Parameter(module.from_numpy(start[:2].copy())), module.nn.Parameter(module.from_numpy(start[2:].copy()))]
        optimizer = module.optim.LBFGS(places, **options)

        def closure(places=places, optimizer=optimizer):
            optimizer.zero_grad()
            (x, y), z = places[0].unbind(), places[1]
            loss = 100 * (y - x * x) ** 2 + (1 - x) ** 2 + ((z - x) ** 4).sum() + (z * z).sum()
            loss.backward()
            return loss
        losses = [optimizer.step(closure).item() for _ in range(4)]
        state = optimizer.state_dict()["state"][0]
        found.append([losses, [p.tolist() for p in places], sorted(state), state["func_evals"], state["n_iter"]])
    np.testing.assert_allclose(found[0][0], found[1][0], 1e-6)
    assert found[0][2:] == found[1][2:]
    for one, other in zip(found[0][1], found[1][1]):
        np.testing.assert_allclose(one, other, 1e-6)


# ---------------------------------------------------------------- averaged weights
@pytest.mark.parametrize("options", [{}, dict(avg=0.5), dict(multi=0.5), dict(use_buffers=True)])
def test_averaged_model(options):
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2))
    tools, given = optim.swa_utils, dict(options)
    if "avg" in given:
        given = dict(avg_fn=tools.get_ema_avg_fn(given["avg"]))
    elif "multi" in given:
        given = dict(multi_avg_fn=tools.get_ema_multi_avg_fn(given["multi"]))
    average = tools.AveragedModel(model, **given)
    for value in (1.0, 3.0, 8.0):
        model[0].weight.detach().fill_(value)
        model[1].running_mean.fill_(value)
        average.update_parameters(model)
    forgets = "avg" in options or "multi" in options
    np.testing.assert_allclose(average.module[0].weight.detach().numpy(), 5.0 if forgets else 4.0, 1e-6)
    np.testing.assert_allclose(average.module[1].running_mean.numpy(), 4.0 if options.get("use_buffers") else 8.0, 1e-6)
    assert average.n_averaged.item() == 3 and "n_averaged" in average.state_dict()
    with pytest.raises(AssertionError, match="Only one of avg_fn"):
        tools.AveragedModel(model, avg_fn=len, multi_avg_fn=len)


def test_statistics_computed_anew():
    model = nn.Sequential(nn.BatchNorm1d(2))
    data = [torch.randn(5, 2, dtype=torch.float32) for _ in range(3)]
    model.eval()
    optim.swa_utils.update_bn([(x, None) for x in data], model)
    assert not model.training and model[0].momentum == 0.1
    np.testing.assert_allclose(model[0].running_mean.numpy(), np.mean([x.numpy().mean(0) for x in data], 0), 1e-5, 1e-6)


def test_lbfgs_goes_on_where_the_gradient_is_zero():
    x = torch.zeros(2, requires_grad=True)
    optimizer = optim.LBFGS([x], lr=0.5, max_iter=3, tolerance_grad=-1, tolerance_change=-1)

    def closure():
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss
    assert optimizer.step(closure).item() == 0 and x.tolist() == [0, 0]
