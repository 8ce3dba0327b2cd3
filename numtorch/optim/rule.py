"""Optimisers whose step is a formula for one element: what each says of itself, and how one kernel call runs it on all parameters.

A step costs one kernel call for each group (more only where dtypes or step counts differ). The kernel reads a table of addresses,
of which only what has moved since the last step is written again.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..devices import cpu
from ..dtypes import float32, float64, get_default_dtype
from ..exchange.arrays import raw_array
from ..kernels import ahead
from ..layout import Layout
from ..ops.core.primitive import new_plan_table
from ..ops.creation.fill import zeros_like
from ..tensor import Tensor, lasting
from . import recorded
from .batches import Prepared, check, laid_out, planned_step, row_of
from .optimizer import Optimizer
from .states import States, keep


@dataclass(frozen=True, eq=False)
class Rule:
    """How one element of a parameter changes in a step.

    Attributes:
        formula: `formula(p, g, *states, *coefficients)`, a function of scalars that gives the new parameter, or the new parameter
            and the new states.
        states: names of the state tensors, each of its parameter's shape.
        coefficients: how many coefficients the formula takes.
        name: what graphs call it, by which it is among `rules`.
    """

    formula: Callable
    states: tuple = ()
    coefficients: int = field(init=False)
    name: str = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "coefficients", self.formula.__code__.co_argcount - 2 - len(self.states))
        object.__setattr__(self, "name", f"{self.formula.__module__.removeprefix('numtorch.optim.')}.{self.formula.__qualname__}")
        rules.setdefault(self.name, self)


rules: dict[str, Rule] = {}                              # by name


def _as_it_is(option):
    return option


class RuleOptimizer(Optimizer):
    """An optimiser made of rules. Subclasses say which rule a group follows, and with which coefficients.

    Attributes:
        counts: numbers in each parameter's state, which change from step to step, and their first values.
        number: an option as coefficients are made of it: a number, but a tensor stays one where steps are recorded.
    """

    counts: ClassVar[dict[str, float]] = {"step": 0.0}
    number: Callable = float

    def __init__(self, params, defaults) -> None:
        if defaults.get("fused"):
            if defaults.get("differentiable"):
                raise RuntimeError("`fused` does not support `differentiable`")
            if defaults.get("foreach"):
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        if defaults.get("differentiable"):
            self.number = _as_it_is
        super().__init__(params, defaults)
        self._prepared = [None] * len(self.param_groups)
        if ahead.is_cold():
            ahead.expect(self._plan_steps)

    def _plan_steps(self):
        """Compile what steps need."""
        for group in self.param_groups:
            layouts = [p.layout for p in group["params"] if p.layout.device is cpu]
            for dtype in dict.fromkeys(l.dtype for l in layouts):
                planned_step(self.rule(group), dtype, cpu, tuple([l.numel for l in layouts if l.dtype is dtype]))

    def rule(self, group) -> Rule:
        """The rule that a group's options ask for.

        Args:
            group: one of `param_groups`.
        """
        raise NotImplementedError

    def coefficients(self, group, batch) -> tuple:
        """The formula's coefficients in this step.

        Args:
            group: one of `param_groups`.
            batch: the parameters of one kernel call, whose `counts` go on.
        """
        raise NotImplementedError

    def shared(self, group) -> tuple:
        """What all rules share: the gradient's sign, how much of the parameter is added to it, and what the parameter is
        multiplied with.

        Args:
            group: one of `param_groups`.
        """
        decay, sign = self.number(group.get("weight_decay", 0.0)), -1.0 if group["maximize"] else 1.0
        return (sign, 0.0, 1 - self.number(group["lr"]) * decay) if group.get("decoupled_weight_decay") else (sign, decay, 1.0)

    def first(self, name, parameter, group) -> Tensor:
        """The first value of a state.

        Args:
            name: the state's.
            parameter, group: whose.
        """
        return zeros_like(parameter.detach())

    def first_count(self, name, group) -> float:
        """The first value of a count.

        Args:
            name: the count's.
            group: one of `param_groups`.
        """
        return self.counts[name]

    def step(self, closure=None) -> Any:
        self._opt_called = True
        loss = None if closure is None else self._loss(closure)
        if self.defaults.get("differentiable"):
            recorded.step(self)
            return loss
        for place, group in enumerate(self.param_groups):
            rule = self.rule(group)
            for batch in self._batches(place, group, rule):
                values = self.shared(group) + self.coefficients(group, batch)
                if values != batch.values:
                    batch.values = values
                    batch.array[:] = values
                batch.run()
        return loss

    def write_coefficients(self) -> None:
        """What a step does beside calling its kernels, where these are called by a program."""
        self._opt_called = True
        for place, group in enumerate(self.param_groups):
            for batch in self._prepared[place].batches:
                values = self.shared(group) + self.coefficients(group, batch)
                if values != batch.values:
                    batch.values = values
                    batch.array[:] = values
                for parameter in batch.parameters:
                    parameter.memory.version += 1
                    parameter.memory.writer = "step"

    def begin(self, parameter, group) -> bool:
        """Fill in what is missing of a parameter's state.

        Args:
            parameter, group: whose.

        Returns:
            Whether tensors were missing.
        """
        rule = self.rule(group)
        if not rule.states and not self.counts:
            return False
        state = self.state[parameter]
        for name in self.counts:
            if not isinstance(state.get(name), Tensor):
                keep(state, name, _number(state.get(name, self.first_count(name, group))))
        missing = [name for name in rule.states if state.get(name) is None]
        for name in missing:
            keep(state, name, self.first(name, parameter, group))
        return bool(missing)

    def share_memory(self) -> None:
        """Make the state that the first step would make, and move it to memory that other processes can see: processes that are
        given this optimiser and its module then train one model. Each counts its own steps.

        Example:
            >>> import numtorch as torch
            >>> layer = torch.nn.Linear(2, 2).share_memory()
            >>> optimizer = torch.optim.Adam(layer.parameters())
            >>> optimizer.share_memory()
            >>> optimizer.state[layer.weight]["exp_avg"].is_shared()
            True
        """
        from ..shared.storages import base_of, share
        for group in self.param_groups:
            for parameter in group["params"]:
                self.begin(parameter, group)
        share([base_of(value.memory) for state in self.state.values() for value in state.values() if isinstance(value, Tensor)])

    def of_rows(self, parameter, grad, group, rule):
        """The batch of a parameter with a sparse gradient.

        Args:
            parameter, grad: the parameter, and its COO gradient.
            group: one of `param_groups`.
            rule: which it follows.

        Raises:
            RuntimeError: this optimiser has no step for such.
        """
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    def _batches(self, place, group, rule):
        """The kernel calls of a group whose tables are up to date, made anew where its rule, its parameters or its gradients have
        changed."""
        if place >= len(self._prepared):
            self._prepared += [None] * (place + 1 - len(self._prepared))
        prepared = self._prepared[place]
        if prepared is None or not prepared.update(self.state, group, rule):
            prepared = self._prepared[place] = Prepared(self, group, rule)
        return prepared.batches

    def _empty_state(self):
        return States()

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self._prepared = [None] * len(self.param_groups)

    def __setstate__(self, state):
        super().__setstate__(state)
        self.state = States(self.state)
        self._prepared = [None] * len(self.param_groups)


def _number(value):
    """A state that is one number: in double precision where that is the default, in single otherwise, as PyTorch has it."""
    out = lasting(Layout.of(float64 if get_default_dtype() is float64 else float32, ()))
    raw_array(out)[...] = value
    return out


# ---------------------------------------------------------------- one tensor
_plans = new_plan_table()


def run_rule(name, rule, x, grad, states=(), coefficients=(), decay: float = 0.0, shrink: float = 1.0) -> None:
    """One step of a rule on one tensor, in place, without an optimiser that remembers it.

    Args:
        name: of the function that asks, for errors.
        rule: the rule.
        x: the parameter, any shape.
        grad: its gradient, of its shape.
        states: its states, of its layout.
        coefficients: those of the formula.
        decay: how much of `x` is added to the gradient.
        shrink: what `x` is multiplied with first.

    Raises:
        RuntimeError: another shape, not floating point, or elements that do not fill their memory.
    """
    layout = x.layout
    plan = _plans.get((rule, layout))
    if plan is None:
        check(name, layout)
        plan = planned_step(rule, layout.dtype, layout.device, (layout.numel * (2 if layout.dtype.is_complex else 1),))
        _plans.keep((rule, layout), plan)
    if grad.layout is not layout:
        if grad.layout.shape != layout.shape:
            raise RuntimeError(f"{name}: expected a gradient of shape {list(layout.shape)}, got {list(grad.layout.shape)}")
        grad = laid_out(grad, layout)
    table, values = np.array(row_of(x, grad, states), np.int64), np.array((1.0, decay, shrink, *coefficients))
    plan.call(table.ctypes.data, values.ctypes.data, plan.descriptor)
    x.memory.version += 1
    x.memory.writer = name
