"""Programs over torch.func beside PyTorch: per-sample gradients of modules, ensembles, MAML, a fit by Newton's method, private steps."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

import numtorch

theirs = pytest.importorskip("torch", reason="PyTorch is not installed to compare with")


def same(program, tolerance=2e-4):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, wanted = program(numtorch, np.random.default_rng(0)), program(theirs, np.random.default_rng(0))
    assert list(ours) == list(wanted)
    for name, value in wanted.items():
        assert tuple(ours[name].shape) == tuple(value.shape), name
        np.testing.assert_allclose(ours[name].detach().numpy(), value.detach().numpy(), rtol=tolerance, atol=tolerance, err_msg=name)


def filled(torch, module, rng):
    """A module with parameters drawn by NumPy."""
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.tensor(rng.normal(size=tuple(p.shape)).astype(np.float32) * 0.3))
    return module


def tensor(torch, rng, *shape):
    return torch.tensor(rng.normal(size=shape).astype(np.float32))


NETWORKS = {
    "MLP": (lambda nn: nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)), (6,)),
    "convolutions": (lambda nn: nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 2, 2), nn.Flatten(), nn.Linear(8, 3)), (1, 8, 8)),
    "norms": (lambda nn: nn.Sequential(nn.Conv1d(2, 4, 3), nn.GroupNorm(2, 4), nn.GELU(), nn.Flatten(), nn.LayerNorm(16), nn.Linear(16, 3)), (2, 6)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_per_sample_gradients(name):
    make, shape = NETWORKS[name]

    def program(torch, rng):
        net = filled(torch, make(torch.nn), rng)
        parameters = {k: v.detach() for k, v in net.named_parameters()}
        x, y = tensor(torch, rng, 5, *shape), torch.tensor(rng.integers(0, 3, 5))

        def loss(p, x, y):
            return torch.nn.functional.cross_entropy(torch.func.functional_call(net, p, (x.unsqueeze(0),)), y.unsqueeze(0))
        return torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(parameters, x, y)
    same(program)


@pytest.mark.parametrize("name", NETWORKS)
def test_ensembles(name):
    make, shape = NETWORKS[name]

    def program(torch, rng):
        nets = [filled(torch, make(torch.nn), rng) for _ in range(3)]
        parameters, buffers = torch.func.stack_module_state(nets)
        x = tensor(torch, rng, 4, *shape)
        call = lambda p, b, x: torch.func.functional_call(nets[0], (p, b), (x,))
        out = torch.func.vmap(call, (0, 0, None))(parameters, buffers, x)
        loop = torch.stack([net(x) for net in nets])
        assert torch.allclose(out, loop, atol=1e-5)
        each = torch.func.vmap(call)(parameters, buffers, torch.stack([x, x * 2, x * 3]))
        return {"same": out, "own": each, **dict(zip(parameters, torch.autograd.grad(out.square().sum(), list(parameters.values()))))}
    same(program)


def test_maml():
    """The gradient of the loss after a step of gradient descent on each task (Finn et al. 2017)."""
    def program(torch, rng):
        net = filled(torch, torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)), rng)
        parameters = {k: v.detach() for k, v in net.named_parameters()}
        x, y = tensor(torch, rng, 4, 10, 1), tensor(torch, rng, 4, 10, 1)

        def loss(p, x, y):
            return torch.nn.functional.mse_loss(torch.func.functional_call(net, p, (x,)), y)

        def adapted(p, x, y):
            grads = torch.func.grad(loss)(p, x[:5], y[:5])
            return loss({k: p[k] - 0.1 * grads[k] for k in p}, x[5:], y[5:])
        found, value = torch.func.grad_and_value(lambda p: torch.func.vmap(adapted, (None, 0, 0))(p, x, y).mean())(parameters)
        return {"loss": value, **found}
    same(program)


def test_newton():
    def program(torch, rng):
        x, y, w = tensor(torch, rng, 20, 3), torch.tensor(rng.integers(0, 2, 20).astype(np.float32)), torch.zeros(3)

        def loss(w):
            return torch.nn.functional.binary_cross_entropy_with_logits(x @ w, y) + 0.05 * w.square().sum()
        for _ in range(4):
            w = w - torch.linalg.solve(torch.func.hessian(loss)(w), torch.func.grad(loss)(w))
        return {"w": w, "flat": torch.func.grad(loss)(w)}
    same(program)


def test_a_module_in_a_direction():
    def program(torch, rng):
        net = filled(torch, NETWORKS["convolutions"][0](torch.nn), rng)
        parameters = {k: v.detach() for k, v in net.named_parameters()}
        x, directions = tensor(torch, rng, 2, 1, 8, 8), {k: tensor(torch, rng, *v.shape) for k, v in parameters.items()}
        value, moved = torch.func.jvp(lambda p: torch.func.functional_call(net, p, (x,)), (parameters,), (directions,))
        return {"value": value, "moved": moved}
    same(program)
