"""One kernel call for many parameters: the table of addresses that it reads, and what must not have changed for the next step to
read it again, with only what has moved since written anew."""
from __future__ import annotations

from collections import Counter

import numpy as np

from ..dtypes import float32, float64
from ..exchange.arrays import raw_array
from ..layout import Layout
from ..ops.core.backends import kernels
from ..ops.memory.copies import copy_elements
from ..storage import moves
from ..tensor import empty, lasting, view_of
from .states import State, States, keep


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


class Prepared:
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


def check(name, layout):
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
            keep(state, key, laid_out(value.detach(), layout))


def laid_out(grad, layout):
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
        check(type(optimizer).__name__, layout)
        if grad.layout is not layout:                    # another dtype or order: brought into the parameter's, anew every step
            grad = laid_out(grad, layout)
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
