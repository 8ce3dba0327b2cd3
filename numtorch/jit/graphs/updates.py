"""Steps of optimisers in graphs: one call for each parameter, which writes to it and to its states.

What a step computes from Python's numbers (learning rates, how many steps there were) are its *coefficients*: a constant of the
graph, for each group of parameters. Whoever runs the graph for another step writes that step's into it.
"""
from __future__ import annotations

import numpy as np

from ...autograd.writes import mark_written
from ...dtypes import float64
from ...exchange.arrays import raw_array
from ...layout import Layout
from ...ops.core.primitive import Primitive, miss
from ...optim.batches import Batch, planned_step, row_of
from ...optim.rule import rules
from ...tensor import empty

UPDATE = Primitive("update", "One step of an optimiser's rule on one parameter, in place.",
                   ("coefficients", "parameter", "gradient", "states", "rule"))
UPDATE.mixes_devices = True                              # coefficients are the host's


@UPDATE.planned
def _plan(coefficients, parameter, gradient, *rest):
    *states, name = rest
    rule = rules.get(name)
    if rule is None or len(states) != len(rule.states) or coefficients.shape != (3 + rule.coefficients,) \
            or coefficients.dtype is not float64 or any(layout is not parameter for layout in (gradient, *states)):
        raise ValueError(f"update: {name!r} is no rule for a parameter like {parameter!r} with {len(states)} states")
    numel = parameter.numel * (2 if parameter.dtype.is_complex else 1)
    return planned_step(rule, parameter.dtype, parameter.device, (numel,))


def _execute(plan, coefficients, parameter, gradient, *rest):
    *states, _ = rest
    table = np.array(row_of(parameter, gradient, states), np.int64)
    plan.call(table.ctypes.data, coefficients.address, plan.descriptor)
    for tensor in (parameter, *states):
        mark_written(tensor.memory, "step")


UPDATE.execute = _execute


class TracedBatch(Batch):
    """A parameter whose step is written down.

    Args:
        trace: where.
        optimizer, rule, group: whose step it is.
        parameter, grad: the parameter, and its gradient.
    """

    __slots__ = ("trace", "grad", "optimizer", "rule")

    def __init__(self, trace, optimizer, parameter, grad, group, rule) -> None:
        state = optimizer.state[parameter] if rule.states or optimizer.counts else {}
        if any(state.get(name) is None for name in (*rule.states, *optimizer.counts)):
            raise NotImplementedError("trace: the first step of an optimiser makes its states; trace a later one")
        self.trace, self.optimizer, self.rule, self.grad = trace, optimizer, rule, grad
        self.parameters, self.states, self.keep, self.values, self.fresh = [parameter], [state], [grad], None, False
        self.array = np.zeros(3 + rule.coefficients)
        self.counts = {name: raw_array(state[name]).reshape(1) for name in optimizer.counts}

    def run(self):
        known = self.trace.coefficients
        key = id(self.optimizer), self.values
        if key not in known:
            tensor = empty(Layout.of(float64, self.array.shape))
            raw_array(tensor)[:] = self.array
            known[key] = tensor, self.optimizer
            self.trace.names[id(tensor)] = "coefficients"
        state = self.states[0]
        tensors = known[key][0], self.parameters[0], self.grad, *[state[name] for name in self.rule.states]
        miss(UPDATE, tensors, (self.rule.name,))
