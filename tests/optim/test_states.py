"""Optimiser states that a program exchanges, against PyTorch; and what the dicts that hold them are to others."""
from __future__ import annotations

import copy
import io
import pickle
from collections import defaultdict

import numpy as np
import pytest

import numtorch as torch
from numtorch import nn, optim

OPTIMIZERS = [("SGD", dict(momentum=0.9)), ("ASGD", dict(t0=2.0)), ("Adam", {}), ("Adam", dict(amsgrad=True)), ("AdamW", {}), ("Adamax", {}),
              ("NAdam", {}), ("RAdam", {}), ("Adagrad", {}), ("RMSprop", dict(momentum=0.5, centered=True)), ("Adadelta", {}),
              ("Rprop", {})]


def _halved(state):
    return {name: value.clone() * 0.5 if value.ndim else value.clone() for name, value in state.items()}


def _steps_anew(module, optimizer, p):
    if "step" in optimizer.state[p]:
        optimizer.state[p]["step"] = module.tensor(0.0)


def _one_entry(module, optimizer, p):
    name = next(name for name, value in optimizer.state[p].items() if value.ndim)
    optimizer.state[p][name] = optimizer.state[p][name].clone() * 0.5


def _another_dict(module, optimizer, p):
    optimizer.state[p] = _halved(optimizer.state[p])


def _updated(module, optimizer, p):
    optimizer.state[p].update(_halved(optimizer.state[p]))


def _gone(module, optimizer, p):
    del optimizer.state[p]


def _popped(module, optimizer, p):
    optimizer.state.pop(p)


def _no_entries(module, optimizer, p):
    optimizer.state[p].clear()


def _all_gone(module, optimizer, p):
    optimizer.state.clear()


def _another_table(module, optimizer, p):
    optimizer.state = defaultdict(dict)


CHANGES = [_steps_anew, _one_entry, _another_dict, _updated, _gone, _popped, _no_entries, _all_gone, _another_table]


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__[1:])
@pytest.mark.parametrize(("name", "options"), OPTIMIZERS, ids=[f"{n}-{'-'.join(o)}" for n, o in OPTIMIZERS])
def test_states_that_are_exchanged_are_used(name, options, change):
    """Twice, so that a dict of the program's own is written to as well."""
    reference, rng = pytest.importorskip("torch"), np.random.default_rng(0)
    values, sides = [rng.normal(size=(3, 4)), rng.normal(size=5)], []
    for module in (torch, reference):
        parameters = [module.nn.Parameter(module.from_numpy(v.copy())) for v in values]
        groups = [{"params": parameters[:1]}, {"params": parameters[1:], "lr": 0.02}]
        sides.append((module, parameters, getattr(module.optim, name)(groups, lr=0.05, **options)))
    for step in range(12):
        grads = [rng.normal(size=v.shape) for v in values]
        for module, parameters, optimizer in sides:
            if step in (4, 8):
                change(module, optimizer, parameters[0])
            if step == 10:
                _one_entry(module, optimizer, parameters[0])
            for parameter, g in zip(parameters, grads):
                parameter.grad = module.from_numpy(g.copy())
            optimizer.step()
        for one, other in zip(sides[0][1], sides[1][1]):
            np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), 2e-5, 2e-6, err_msg=f"step {step}")


def _stepped(kind=optim.Adam, count=2, **options):
    parameter = nn.Parameter(torch.zeros(2, 3))
    optimizer = kind([parameter], lr=0.1, **options)
    for _ in range(count):
        parameter.grad = torch.ones(2, 3)
        optimizer.step()
    return parameter, optimizer


def test_a_plain_step_prepares_nothing_anew():
    parameter, optimizer = _stepped()
    prepared, = optimizer._prepared
    other = _stepped(count=3)[1]                         # whose first steps make states
    optimizer.step()
    assert optimizer._prepared[0] is prepared
    other.state[other.param_groups[0]["params"][0]]["step"] = torch.tensor(0.0)
    optimizer.step()
    assert optimizer.state[parameter]["step"].item() == 4


def test_states_lie_as_their_parameters():
    parameter, optimizer = _stepped()
    state = optimizer.state[parameter]
    state["exp_avg"] = torch.arange(6.0, dtype=torch.float64).reshape(3, 2).t()
    parameter.grad = torch.zeros(2, 3)
    optimizer.step()
    np.testing.assert_allclose(state["exp_avg"].numpy(), 0.9 * np.arange(6.0).reshape(3, 2).T, 1e-6)
    state["exp_avg"] = torch.zeros(5)
    with pytest.raises(RuntimeError, match=r"Adam: expected a state 'exp_avg' of its parameter's shape \[2, 3\], got \[5\]"):
        optimizer.step()


def test_states_are_dicts_of_pythons_where_they_are_copied_and_saved():
    reference = pytest.importorskip("torch")
    parameter, optimizer = _stepped()
    state, saved = optimizer.state[parameter], optimizer.state_dict()
    assert isinstance(state, dict) and isinstance(optimizer.state, defaultdict) and saved["state"][0] is state
    assert list(saved["state"]) == [0] and repr(optimizer.state).startswith("defaultdict(<class 'dict'>, {")
    for made in (copy.copy(state), copy.deepcopy(state), state.copy(), pickle.loads(pickle.dumps(saved))["state"][0]):
        assert type(made) is dict and list(made) == list(state) and made["step"].item() == 2
    assert [type(each) for each in (copy.copy(optimizer.state), copy.deepcopy(optimizer.state))] == [defaultdict] * 2
    file = io.BytesIO()
    torch.save(saved, file)
    file.seek(0)
    assert type(reference.load(file, weights_only=True)["state"][0]) is dict
    for again in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        p, = again.param_groups[0]["params"]
        again.state[p]["step"] = torch.tensor(7.0)
        p.grad = torch.ones(2, 3)
        again.step()
        assert again.state[p]["step"].item() == 8
