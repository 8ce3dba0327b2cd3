"""The tape: recording, backward through deep and wide graphs, gradients of gradients, and what saves memory."""
from __future__ import annotations

from .runner.case import Case, normal
from .runner.networks import multilayer_perceptron


def _chain(length, step):
    """`length` ops one after another, forward and backward."""
    def setup(torch, x):
        x.requires_grad_()

        def run():
            y = x
            for _ in range(length):
                y = step(torch, y)
            return torch.autograd.grad(y.sum(), x)
        return run
    return setup


def _fan(width):
    """One tensor used many times: its gradients are added up."""
    def setup(torch, x):
        x.requires_grad_()

        def run():
            total = x * 1.5
            for i in range(width - 1):
                total = total + x * (0.5 + i)
            return torch.autograd.grad(total.sum(), x)
        return run
    return setup


def _parts(torch, x):
    """A tensor used in slices and chunks, whose gradients go back to their places."""
    x.requires_grad_()

    def run():
        first, second, third, fourth = x.chunk(4, 1)
        return torch.autograd.grad((first * second + third * fourth).sum() + x[:, 3].sum(), x)
    return run


def _backward_only(torch, x):
    model = multilayer_perceptron(torch, 32, 32, 32, 32, 1, activation="Tanh")
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.copy_(torch.from_numpy(_values(tuple(parameter.shape), number)))
    loss = model(x).sum()
    return lambda: torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)


def _values(shape, number):
    import numpy as np
    return (np.random.default_rng(number).standard_normal(shape) * 0.2).astype(np.float32)


def _second_derivative(torch, x):
    x.requires_grad_()

    def run():
        slope, = torch.autograd.grad((torch.tanh(x) * x).sum(), x, create_graph=True)
        return torch.autograd.grad(slope.sum(), x)
    return run


def _hessian_vector_product(torch, x, v):
    weight = torch.from_numpy(_values((32, 32), 0))
    x.requires_grad_()

    def run():
        slope, = torch.autograd.grad(torch.sigmoid(x @ weight).square().sum(), x, create_graph=True)
        return torch.autograd.grad((slope * v).sum(), x)
    return run


def _function(torch, x):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad_output):
            x, = ctx.saved_tensors
            return grad_output * 3 * x * x
    x.requires_grad_()
    return lambda: torch.autograd.grad(Cube.apply(x).sum(), x)


def _hook(torch, x):
    x.requires_grad_()

    def run():
        y = x * 2.0
        y.register_hook(lambda grad: grad * 0.5)
        return torch.autograd.grad((y * y).sum(), x)
    return run


def _checkpoint(torch, x):
    from importlib import import_module
    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    x.requires_grad_()
    return lambda: torch.autograd.grad(checkpoint(lambda t: torch.tanh(t * t) * t, x, use_reentrant=False).sum(), x)


def _no_grad(torch, x):
    x.requires_grad_()

    def run():
        with torch.no_grad():
            return x * 2.0
    return run


def _case(name, setup, inputs, budget=None):
    return Case(name, inputs, setup=setup, budget=budget, moved=0.0)


CASES = [
    _case("100 multiplications in a row, 10 floats", _chain(100, lambda torch, y: y * 1.01), (normal(10),), 0.45),
    _case("100 tanh in a row, 10 floats", _chain(100, lambda torch, y: torch.tanh(y)), (normal(10),), 0.45),
    _case("10 tanh in a row, 2²⁰ floats", _chain(10, lambda torch, y: torch.tanh(y)), (normal(1 << 20),), 1.0),
    _case("one tensor used 50 times, 10 floats", _fan(50), (normal(10),), 0.45),
    _case("chunks and a column of a tensor, 8×512 floats", _parts, (normal(8, 512),), 1.0),
    _case("backward alone, MLP 16×32→32→32→1", _backward_only, (normal(16, 32),)),
    _case("second derivative of tanh(x) x, 1000 floats", _second_derivative, (normal(1000),)),
    _case("Hessian times vector, 16×32", _hessian_vector_product, (normal(16, 32), normal(16, 32))),
    _case("a Function written in Python, 1000 floats", _function, (normal(1000),)),
    _case("a hook on a tensor, 1000 floats", _hook, (normal(1000),)),
    _case("checkpoint, 2²⁰ floats", _checkpoint, (normal(1 << 20),), 1.0),
    _case("no_grad and a call, 10 floats", _no_grad, (normal(10),)),
]
