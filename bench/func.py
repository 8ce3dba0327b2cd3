"""Transforms of functions: gradients of each sample at once, Hessians, and derivatives forward beside the function itself."""
from __future__ import annotations

from .runner.case import Case, integers, normal

SAMPLES, WIDTHS = 256, (64, 128, 128, 10)


def _parameters():
    """The makers of a small network's weights and biases."""
    return tuple([maker for n, m in zip(WIDTHS, WIDTHS[1:]) for maker in (normal(m, n, scale=n ** -0.5), normal(m, scale=0.1))])


def _network(torch, parameters, x):
    *hidden, (weight, bias) = zip(parameters[::2], parameters[1::2])
    for w, b in hidden:
        x = torch.relu(torch.nn.functional.linear(x, w, b))
    return torch.nn.functional.linear(x, weight, bias)


def _loss(torch, parameters, x, target):
    return torch.nn.functional.cross_entropy(_network(torch, parameters, x), target)


def _per_sample(torch, x, target, *parameters):
    of_each = torch.func.vmap(torch.func.grad(lambda p, x, y: _loss(torch, p, x, y)), (None, 0, 0))
    return lambda: of_each(parameters, x, target)


def _norms(torch, x, target, *parameters):
    """The norm of each sample's gradient, as private training clips them."""
    of_each = torch.func.vmap(torch.func.grad(lambda p, x, y: _loss(torch, p, x, y)), (None, 0, 0))
    return lambda: sum(g.flatten(1).pow(2).sum(1) for g in of_each(parameters, x, target)).sqrt()


def _hessian(torch, x, a):
    hessian = torch.func.hessian(lambda x: (torch.tanh(a @ x) ** 2).sum() + (x ** 4).sum())
    return lambda: hessian(x)


def _jacobian(transform):
    def setup(torch, x, *parameters):
        jacobian = getattr(torch.func, transform)(lambda x: _network(torch, parameters, x))
        return lambda: jacobian(x)
    return setup


def _forward(torch, x, t, *parameters):
    return lambda: _network(torch, parameters, x)


def _jvp(torch, x, t, *parameters):
    return lambda: torch.func.jvp(lambda x: _network(torch, parameters, x), (x,), (t,))[1]


def _ensemble(torch, x, *parameters):
    """Eight networks of one shape."""
    stacked = [torch.stack([p * (1 + i / 8) for i in range(8)]) for p in parameters]
    run = torch.func.vmap(lambda p, x: _network(torch, p, x), (0, None))
    return lambda: run(stacked, x)


_rows, _targets = normal(SAMPLES, WIDTHS[0]), integers(SAMPLES, high=WIDTHS[-1])

CASES = [
    Case(f"gradient of each of {SAMPLES} samples, MLP {'→'.join(map(str, WIDTHS))}", (_rows, _targets, *_parameters()),
         setup=_per_sample, budget=0.3, tolerance=1e-3, group="vmap"),
    Case(f"norms of the gradients of {SAMPLES} samples", (_rows, _targets, *_parameters()), setup=_norms, budget=0.3,
         tolerance=1e-3, group="vmap"),
    Case("eight networks at once", (_rows, *_parameters()), setup=_ensemble, budget=1.0, tolerance=1e-3, group="vmap"),
    Case("Hessian of a function of 50 numbers", (normal(50), normal(50, 50, scale=0.1)), setup=_hessian, budget=0.3, tolerance=1e-3,
         group="derivatives"),
    *[Case(f"{name}, MLP of one sample", (normal(WIDTHS[0]), *_parameters()), setup=_jacobian(name), budget=1.0, tolerance=1e-3,
           group="derivatives") for name in ("jacrev", "jacfwd")],
    Case(f"MLP, {SAMPLES} samples", (_rows, _rows, *_parameters()), setup=_forward, tolerance=1e-3, group="forward mode"),
    Case(f"jvp of it, {SAMPLES} samples", (_rows, _rows, *_parameters()), setup=_jvp, tolerance=1e-3, group="forward mode",
         beside=(2.5, f"MLP, {SAMPLES} samples")),
]
