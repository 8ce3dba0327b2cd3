"""What a call, a view, a backward pass and a tiny training step cost: overhead, not arithmetic."""
from __future__ import annotations

from .runner.case import Case, normal, step_case
from .runner.networks import multilayer_perceptron

SMALL = normal(10)


def _requires_grad(expression):
    def setup(torch, *inputs):
        inputs = [x.requires_grad_() for x in inputs]
        return lambda: expression(*inputs)
    return setup


def _backward(expression):
    """Gradients accumulated into fresh `.grad`s; the first one is what is compared."""
    def setup(torch, *inputs):
        inputs = [x.requires_grad_() for x in inputs]

        def run():
            for x in inputs:
                x.grad = None
            expression(*inputs).backward()
            return inputs[0].grad
        return run
    return setup


def _call(name, inputs, expression, budget=None, **more):
    return Case(name, inputs, expression, budget=budget, moved=0, numpy=True, group="calls", **more)


def _mean_square(torch, output, target):
    return torch.nn.functional.mse_loss(output, target)


CASES = [
    _call("a + b, 10 floats", (SMALL, SMALL), lambda torch, a, b: a + b, 0.45),
    Case("a + b, 10 floats, with grad", (SMALL, SMALL), setup=_requires_grad(lambda a, b: a + b), budget=0.45, moved=0,
         group="calls"),
    _call("a + b, (10, 1) and (10,)", (normal(10, 1), SMALL), lambda torch, a, b: a + b),
    _call("a * 2.0, 10 floats", (SMALL,), lambda torch, a: a * 2.0),
    _call("torch.exp(a), 10 floats", (SMALL,), lambda torch, a: torch.exp(a)),
    _call("a.sum(), 10 floats", (SMALL,), lambda torch, a: a.sum()),
    _call("a @ b, 4×4", (normal(4, 4), normal(4, 4)), lambda torch, a, b: a @ b),
    _call("a[1:9:2]", (SMALL,), lambda torch, a: a[1:9:2]),
    _call("a.reshape(2, 5)", (SMALL,), lambda torch, a: a.reshape(2, 5)),
    _call("a[[0, 1]]", (SMALL,), lambda torch, a: a[[0, 1]]),
    *[Case(name, inputs, expression, moved=0, group="calls") for name, inputs, expression in (
        ("torch.cat([a, b]), 10 floats", (SMALL, SMALL), lambda torch, a, b: torch.cat([a, b])),
        ("torch.equal(a, b), 10 floats", (SMALL, SMALL), lambda torch, a, b: torch.equal(a, b)),
        ("a.numpy()", (SMALL,), lambda torch, a: a.numpy()),
        ("einsum('ij,jk->ik'), 4×4", (normal(4, 4), normal(4, 4)), lambda torch, a, b: torch.einsum("ij,jk->ik", a, b)),
        ("pad(a, (1, 1)), 10 floats", (SMALL,), lambda torch, a: torch.nn.functional.pad(a, (1, 1))),
        ("max_pool2d(a, 2), 1×4×4×4", (normal(1, 4, 4, 4),), lambda torch, a: torch.nn.functional.max_pool2d(a, 2)))],
    Case("a.item()", (normal(),), lambda torch, a: a.item(), budget=None, moved=0, group="calls"),
    Case("torch.zeros(10)", (SMALL,), lambda torch, a: torch.zeros(10), budget=None, moved=0, numpy=True, tolerance=1e-4,
         group="calls"),
    Case("(a * b).sum().backward(), 10 floats", (SMALL, SMALL), setup=_backward(lambda a, b: (a * b).sum()), budget=0.25, moved=0,
         group="calls"),
    step_case("training step, MLP 4×16→16→4", lambda torch: multilayer_perceptron(torch, 4, 16, 16, 4, activation="Tanh"),
              (normal(4, 4), normal(4, 4)), loss=_mean_square, budget=0.2, group="small models"),
    step_case("training step, MLP 64×784→128→10", lambda torch: multilayer_perceptron(torch, 784, 128, 10),
              (normal(64, 784), normal(64, 10)), loss=_mean_square, budget=0.75, group="small models"),
]
