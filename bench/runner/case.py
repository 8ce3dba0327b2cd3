"""What a family's file is made of: cases, and the makers of their inputs.

A case is written once against PyTorch's API. Its expression is called as `expression(torch, *inputs)` with numtorch and with
PyTorch standing for `torch`, and, where `numpy` says so, with NumPy and its arrays.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

BOTH = ("float32", "float64")
COUNTED = -1.0


# ---------------------------------------------------------------- inputs: functions of (random generator, dtype)
def normal(*shape, scale=1.0):
    """Normally distributed floats of the case's dtype."""
    return lambda rng, dtype: np.asarray(rng.standard_normal(shape, dtype) * dtype(scale), dtype)


def uniform(*shape, low=0.0, high=1.0):
    """Floats of the case's dtype between two bounds."""
    return lambda rng, dtype: (rng.random(shape, dtype) * dtype(high - low) + dtype(low)).astype(dtype)


def integers(*shape, high, low=0, kind=np.int64):
    """Integers in [low, high), the same for every dtype."""
    return lambda rng, dtype: rng.integers(low, high, shape).astype(kind)


def permutation(count):
    """The integers below `count` in random order."""
    return lambda rng, dtype: rng.permutation(count)


# ---------------------------------------------------------------- cases
@dataclass(frozen=True)
class Case:
    """One row of a table for each dtype and number of threads.

    Attributes:
        name: what the row is called.
        inputs: makers of the input arrays.
        expression: `expression(torch, *inputs)`, what is timed. A call of it costs some 40 ns, on every side.
        setup: instead of an expression, `setup(torch, *inputs)` that returns what is timed: a function without arguments.
        budget: the ratio to PyTorch's time that is not to be exceeded; None where none was set.
        dtypes: the dtypes to measure, those of the float inputs.
        flops: floating-point operations a call, 0 where they do not matter.
        moved: elements read and written a call, where that is not all inputs once and all results once; 0 where the case
            is not about memory.
        in_place: whether what is written was read first, as by an optimiser.
        numpy: True where NumPy understands the expression; or `numpy(np, *arrays)`, the same in NumPy's words.
        exact: whether both sides must give the same numbers; random ones are compared by shape, mean and deviation.
        tolerance: relative difference allowed between results, where the dtype's own (see `TOLERANCES`) does not fit.
        corners: whether rounding may move values across a corner such as relu's, which changes single gradients: results are
            compared by the root of their mean square, not by the largest difference.
        group: the table's heading, where a family has several.
        size: how much work there is, for cases that differ in it alone; they share a `group` and are drawn as one line.
        gain: how many times faster than one thread all threads must be. Such a case is measured with both.
        beside: (how many times, the name of a case before it in the family): our own time may be so many times of ours there.
        others: what is timed on sides beside PyTorch and NumPy, by side: `setup(module, *inputs)`, which gets tensors where the
            side is `torch.compile`, else arrays.
        budgets: the ratios to times of sides beside PyTorch that are not to be exceeded either.
    """

    name: str
    inputs: tuple
    expression: Callable | None = None
    setup: Callable | None = None
    budget: float | None = 1.0
    dtypes: tuple = ("float32",)
    flops: float = 0.0
    moved: float = COUNTED
    in_place: bool = False
    numpy: bool | Callable = False
    exact: bool = True
    tolerance: float | None = None
    corners: bool = False
    group: str = ""
    size: float = 0.0
    gain: float | None = None
    beside: tuple[float, str] | None = None
    others: dict = field(default_factory=dict)
    budgets: dict = field(default_factory=dict)


TOLERANCES = {"float32": 1e-4, "float64": 1e-9, "float16": 1e-2, "bfloat16": 3e-2}


def backward(case, budget=1.0, name="{}, forward and backward"):
    """The case with its gradients: the forward pass, and the gradients of all its float inputs for a given one of the result."""
    return replace(case, name=name.format(case.name), expression=None, setup=_gradients(case.expression), budget=budget,
                   flops=3 * case.flops, moved=0.0, numpy=False)


def with_backward(case, budget=1.0):
    """The case forward, and forward and backward."""
    return [case, backward(case, budget)]


def _gradients(expression):
    def setup(torch, *inputs):
        wanted = [x.requires_grad_() for x in inputs if x.is_floating_point()]
        with torch.no_grad():
            incoming = _wave(torch, expression(torch, *inputs))
        return lambda: torch.autograd.grad(expression(torch, *inputs), wanted, incoming)
    return setup


def gradient(case, which, title, budget=1.0):
    """The backward pass alone: the gradient of input number `which`, again and again over one graph."""
    def setup(torch, *inputs):
        wanted = inputs[which].requires_grad_()
        result = case.expression(torch, *inputs)
        incoming = _wave(torch, result.detach())
        return lambda: torch.autograd.grad(result, wanted, incoming, retain_graph=True)
    return replace(case, name=f"{case.name}, {title}", expression=None, setup=setup, budget=budget, moved=0.0, numpy=False)


def _wave(torch, like):
    """A gradient to begin with: neither constant nor random, and the same on every side."""
    steps = np.arange(like.numel(), dtype=np.float64).reshape(tuple(like.shape))
    return torch.from_numpy(np.asarray(np.cos(steps))).to(like.dtype)


def fill(torch, module):
    """Give a module's parameters values that depend on their names and shapes only, the same on every side."""
    with torch.no_grad():
        for name, parameter in sorted(module.named_parameters()):
            parameter.copy_(torch.from_numpy(values_of(name, tuple(parameter.shape))).to(parameter.dtype))
    return module


def values_of(name, shape):
    """The values that `fill` gives a parameter."""
    fan_in = int(np.prod(shape[1:])) or 1
    values = np.random.default_rng(sum(name.encode())).standard_normal(shape) / np.sqrt(fan_in if len(shape) > 1 else 100.0)
    return values + (len(shape) == 1 and name.endswith("weight"))


def module_case(name, make, inputs, *, trained=False, pick=lambda result: result, **fields):
    """A case that calls a module, `make(torch)`, on the inputs; `trained` adds the gradients of its parameters and inputs.

    `pick` takes the tensor to differentiate out of what the module returns.
    """
    def setup(torch, *inputs):
        kind = next((x.dtype for x in inputs if x.is_floating_point()), torch.float32)
        module = fill(torch, make(torch).to(kind))
        if not trained:
            module.eval()

            def infer():
                with torch.no_grad():
                    return pick(module(*inputs))
            return infer
        wanted = [*module.parameters(), *[x.requires_grad_() for x in inputs if x.is_floating_point()]]
        with torch.no_grad():
            incoming = _wave(torch, pick(module(*inputs)))
        return lambda: torch.autograd.grad(pick(module(*inputs)), wanted, incoming)
    return Case(name + (", forward and backward" if trained else ", forward"), inputs, setup=setup, moved=0.0, **fields)


def step_case(name, make, inputs, *, loss, optimizer=lambda torch, p: torch.optim.SGD(p, lr=1e-3), compared=1, **fields):
    """A training step: zero_grad, forward, `loss(torch, output, target)`, backward, step; the last input is the target.

    What is compared is the loss of the first steps, so that a wrong gradient or update shows.
    """
    def setup(torch, *inputs):
        *arguments, target = inputs
        module = fill(torch, make(torch))
        steps = optimizer(torch, module.parameters())

        def step():
            steps.zero_grad()
            value = loss(torch, module(*arguments), target)
            value.backward()
            steps.step()
            return value
        step()
        return step
    return Case(name, inputs, setup=setup, moved=0.0, **fields)


@dataclass(frozen=True)
class ProcessCase:
    """Rows measured in processes of their own, one after another, each side in turn.

    Attributes:
        source: Python source in which `{module}` stands for the side's package and `{side}` for its name; it prints a JSON list of
            numbers, one a row.
        rows: for each number its name, unit (`"s"`, `"B"`, `"×"` or `""`), budget, and, where there is one, what it must not
            exceed by itself.
        sides: the packages that can run it.
        rounds: how many processes a side; the first of them is not counted when there are several: it warms disk and store.
        long: whether it takes so long that a quick run leaves it out.
        budgets: the ratios to sides beside PyTorch that no row is to exceed.
        store: the kernel store and home of each process of ours: the user's own; `"empty"`; or `"warm"`, one that an earlier
            process of the same case filled.
    """

    name: str
    source: str
    rows: tuple
    sides: tuple = ("numtorch", "torch")
    rounds: int = 6
    store: str = "user"
    long: bool = False
    group: str = ""
    budgets: dict = field(default_factory=dict)
