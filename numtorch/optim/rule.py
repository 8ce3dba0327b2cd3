"""Optimisers whose step is a formula for one element: what each says of itself, and how one kernel call runs it on all parameters.

A step costs one kernel call for each group (more only where dtypes or step counts differ). The kernel reads a table of addresses,
of which only what has moved since the last step is written again.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..devices import cpu
from ..dtypes import float32, float64, get_default_dtype
from ..exchange.arrays import raw_array
from ..kernels import ahead
from ..layout import Layout
from ..ops.core.backends import kernels
from ..ops.core.primitive import new_plan_table
from ..ops.creation.fill import zeros_like
from ..ops.memory.copies import copy_elements
from ..storage import moves
from ..tensor import Tensor, empty, lasting, view_of
from .optimizer import Optimizer
from .states import State, States, keep


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


class RuleOptimizer(Optimizer):
    """An optimiser made of rules. Subclasses say which rule a group follows, and with which coefficients.

    Attributes:
        counts: numbers in each parameter's state, which change from step to step, and their first values.
    """

    counts: ClassVar[dict[str, float]] = {"step": 0.0}

    def __init__(self, params, defaults) -> None:
        if defaults.get("differentiable"):
            raise NotImplementedError(f"{type(self).__name__}: differentiable steps are not supported")
        if defaults.get("fused") and defaults.get("foreach"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
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
        decay, sign = group.get("weight_decay", 0), -1.0 if group["maximize"] else 1.0
        return (sign, 0.0, 1 - float(group["lr"]) * decay) if group.get("decoupled_weight_decay") else (sign, float(decay), 1.0)

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
        for number, group in enumerate(self.param_groups):
            rule = self.rule(group)
            for batch in self._batches(number, group, rule):
                values = self.shared(group) + self.coefficients(group, batch)
                if values != batch.values:
                    batch.values = values
                    batch.array[:] = values
                batch.run()
        return loss

    def write_coefficients(self) -> None:
        """What a step does beside calling its kernels, where these are called by a program."""
        self._opt_called = True
        for number, group in enumerate(self.param_groups):
            for batch in self._prepared[number].batches:
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

    def _batches(self, number, group, rule):
        """The kernel calls of a group whose tables are up to date, made anew where its rule, its parameters or its gradients have
        changed."""
        if number >= len(self._prepared):
            self._prepared += [None] * (number + 1 - len(self._prepared))
        prepared = self._prepared[number]
        if prepared is None or not prepared.update(self.state, group, rule):
            prepared = self._prepared[number] = _Prepared(self, group, rule)
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


# ---------------------------------------------------------------- one kernel call
class Batch:
    """Parameters that one kernel call updates.

    Attributes:
        places: their places among the group's parameters that have gradients, or None for all.
        table: a row of addresses a parameter (parameter, gradient, state), and its number of elements.
        array: the coefficients as the kernel reads them, last written as `values`.
        counts: the parameters' counts by name, each as one array.
        fresh: whether their states begin with this step.
    """

    __slots__ = ("parameters", "states", "places", "table", "array", "values", "prepared", "gradients", "counts", "fresh", "keep",
                 "table_address", "array_address")

    def run(self):
        """Call the kernel, and note the write as in-place ops do."""
        self.prepared.call(self.table_address, self.array_address, self.prepared.descriptor)
        self.fresh = False
        for parameter in self.parameters:
            storage = parameter.memory
            storage.version += 1
            storage.writer = "step"

    def next_step(self) -> float:
        """The number of this step, 1 at the first."""
        steps = self.counts["step"]
        steps += 1
        return float(steps[0])


class _Prepared:
    """A group's batches, and what must not have changed for them to be used again.

    Attributes:
        foreign: (dict, key, value) of what somebody else's dicts hold, whose writes are not counted: of a state that a program has
            made and put in the place of the optimiser's.
    """

    __slots__ = ("known", "state", "rule", "batches", "moves", "foreign")

    def __init__(self, optimizer, group, rule) -> None:
        self.state, self.rule, self.moves = optimizer.state, rule, moves[0]
        self.known, self.batches, chosen, place = [], [], {}, 0
        among = Counter(map(id, group["params"]))
        seen: Counter = Counter()
        for parameter in group["params"]:
            grad = parameter.grad if parameter.node is None else parameter.node.grad
            if grad is None:
                self.known.append((parameter, None, None, None))
                continue
            if grad.layout.handler is not None:          # of other rows each time: known as nothing, so made anew every step
                self.known.append((parameter, None, None, None))
                traced = getattr(grad.layout.handler, "batch", None)         # a graph's, in which the step is written down
                self.batches.append(optimizer.of_rows(parameter, grad, group, rule) if traced is None else
                                    traced(optimizer, parameter, grad, group, rule))
                continue
            self.known.append((parameter, parameter.address, parameter.layout, grad.layout))
            fresh = optimizer.begin(parameter, group)
            state = optimizer.state[parameter] if rule.states or optimizer.counts else {}
            _check_states(type(optimizer).__name__, state, rule, parameter)
            counts = tuple([float(state[name]) for name in optimizer.counts])
            again = None
            if among[id(parameter)] > 1:                 # one step after the other: each begins where the last ended
                again = (id(parameter), seen[id(parameter)])
                seen[id(parameter)] += 1
            chosen.setdefault((parameter.layout.dtype, parameter.layout.device, fresh, counts, again), []).append(
                (place, parameter, grad, state))
            place += 1
        self.batches += [_batch(optimizer, rule, key, rows, len(chosen) == 1) for key, rows in chosen.items()]
        self.foreign = self._of_others(optimizer, [row for rows in chosen.values() for row in rows])

    def _of_others(self, optimizer, rows):
        if not self.rule.states and not optimizer.counts:
            return []
        own = type(self.state) is States
        foreign = [] if own else [(self.state, parameter, state) for _, parameter, _, state in rows]
        return foreign + [(state, name, state[name]) for *_, state in rows if not (own and type(state) is State)
                          for name in (*self.rule.states, *optimizer.counts)]

    def update(self, state, group, rule):
        """Write moved gradients' addresses. False where something else has changed."""
        parameters = group["params"]
        if state is not self.state or rule is not self.rule or self.moves != moves[0] or len(parameters) != len(self.known):
            return False
        if self.foreign and not all(each.get(key) is value for each, key, value in self.foreign):
            return False
        gradients = []
        for parameter, (known, address, layout, grad_layout) in zip(parameters, self.known):
            if parameter is not known:
                return False
            node = parameter.node
            grad = node.grad if node is not None else parameter._stored_grad
            if grad is None:
                if layout is not None:
                    return False
                continue
            if grad.layout is not grad_layout or parameter.address != address or parameter.layout is not layout:
                return False
            gradients.append(grad.address)
        for batch in self.batches:
            if batch.keep:
                return False
            moved = gradients if batch.places is None else [gradients[i] for i in batch.places]
            if moved != batch.gradients:
                batch.gradients = moved
                batch.table[:, 1] = moved
        return True


def _check(name, layout):
    if layout.dtype.category < 2:
        raise RuntimeError(f"{name}: expected parameters of a floating-point or complex dtype, got {layout.dtype}")
    if layout.numel and not layout.non_overlapping_and_dense():
        raise RuntimeError(f"{name}: expected parameters whose elements fill their memory, got shape {list(layout.shape)} with "
                           f"strides {list(layout.strides)}; use .contiguous()")


def _check_states(name, state, rule, parameter):
    """Have a parameter's states lie as it does: those that a program has put there may not."""
    layout = parameter.layout
    for key in rule.states:
        value = state[key]
        if value.layout is not layout:
            if value.layout.shape != layout.shape:
                raise RuntimeError(f"{name}: expected a state {key!r} of its parameter's shape {list(layout.shape)}, got "
                                   f"{list(value.layout.shape)}")
            keep(state, key, _laid_out(value.detach(), layout))


def _laid_out(grad, layout):
    moved = empty(layout)
    copy_elements(grad, moved)
    return moved


def row_of(parameter, grad, states):
    """A parameter's row in the table that the kernel reads."""
    layout = parameter.layout
    return [parameter.address, grad.address, *[state.address for state in states],
            layout.numel * (2 if layout.dtype.is_complex else 1)]


def planned_step(rule, dtype, device, numels):
    """The kernel that takes a step of a rule over parameters of so many elements, prepared."""
    planner = kernels(device, "optim.optim")
    return planner.plan_step(rule.formula, len(rule.states), rule.coefficients, dtype.to_real().kernel, numels)


def _batch(optimizer, rule, key, rows, only):
    dtype, device, fresh, _, again = key
    batch = Batch()
    batch.parameters, batch.states, batch.fresh = [r[1] for r in rows], [r[3] for r in rows], fresh
    batch.places = None if only else [r[0] for r in rows]
    batch.keep, batch.values = [], None
    table = []
    for _, parameter, grad, state in rows:
        layout = parameter.layout
        _check(type(optimizer).__name__, layout)
        if grad.layout is not layout:                    # another dtype or order: brought into the parameter's, anew every step
            grad = _laid_out(grad, layout)
            batch.keep.append(grad)
        table.append(row_of(parameter, grad, [state[name] for name in rule.states]))
    batch.table = np.array(table, np.int64)
    batch.gradients = [row[1] for row in table]
    plan = planned_step(rule, dtype, device, tuple([row[-1] for row in table]))
    batch.array = np.zeros(3 + rule.coefficients)
    batch.prepared, batch.table_address, batch.array_address = plan, batch.table.ctypes.data, batch.array.ctypes.data
    if again is None or again[1] == 0:
        batch.counts = joined_counts(optimizer, batch.states)
    else:                                                # the steps of a parameter that is there twice are counted together
        batch.counts = {name: raw_array(rows[0][3][name]).reshape(1) for name in optimizer.counts}
    return batch


def joined_counts(optimizer, states) -> dict:
    """The counts of some states by name, each as one array."""
    return {name: _joined(states, name) for name in optimizer.counts}


def _joined(states, name):
    """The states' counts of a name as consecutive elements of one array, so that one operation moves all of them on."""
    dtype = float64 if any(state[name].layout.dtype is float64 for state in states) else float32
    whole = lasting(Layout.of(dtype, (len(states),)))
    array = raw_array(whole)
    for place, state in enumerate(states):
        array[place] = float(state[name])
        keep(state, name, view_of(whole, Layout.of(dtype, ()), place))
    return array


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
        _check(name, layout)
        plan = planned_step(rule, layout.dtype, layout.device, (layout.numel * (2 if layout.dtype.is_complex else 1),))
        _plans.keep((rule, layout), plan)
    if grad.layout is not layout:
        if grad.layout.shape != layout.shape:
            raise RuntimeError(f"{name}: expected a gradient of shape {list(layout.shape)}, got {list(grad.layout.shape)}")
        grad = _laid_out(grad, layout)
    table, values = np.array(row_of(x, grad, states), np.int64), np.array((1.0, decay, shrink, *coefficients))
    plan.call(table.ctypes.data, values.ctypes.data, plan.descriptor)
    x.memory.version += 1
    x.memory.writer = name
