"""Steps on sparse gradients, which name some rows of a parameter: only these are read and written, and their states."""
from __future__ import annotations

import numpy as np

from ..autograd.writes import mark_written
from ..dtypes import int64
from ..ops.core.backends import kernels
from ..ops.creation.fill import zeros
from ..ops.index.index_select import index_values, put_values
from ..ops.pointwise.arithmetic import mul
from ..sparse.coo import coalesce
from ..tensor import Tensor
from .batches import Batch, joined_counts, row_of
from .states import keep


class RowBatch(Batch):
    """The rows of a parameter that a sparse gradient names, and those of its states: copied out, changed by the rule, and written
    back.

    Args:
        optimizer, rule: whose.
        parameter, grad: the parameter, and its COO gradient.
        state: the parameter's.
    """

    __slots__ = ("indices", "rows", "wholes")

    def __init__(self, optimizer, rule, parameter, grad, state) -> None:
        grad = coalesce(grad)
        indices, values = grad.memory.parts
        wholes = [parameter.detach(), *[state[name] for name in rule.states]]
        if parameter.dim():
            self.indices = tuple([indices[d] for d in range(indices.layout.shape[0])])
        else:                                            # the one element, if it is there
            self.indices, wholes = (zeros(values.layout.shape, dtype=int64),), [whole.reshape(1) for whole in wholes]
        self.parameters, self.states, self.keep, self.values, self.fresh = [parameter], [state], [grad], None, False
        self.wholes = wholes
        self.rows = [index_values(whole, tuple(range(len(self.indices))), self.indices) for whole in self.wholes]
        moved, *states = self.rows
        table = row_of(moved, values.contiguous(), states)
        dtype = parameter.layout.dtype
        self.prepared = kernels(parameter.layout.device, "optim.optim").plan_step(
            rule.formula, len(rule.states), rule.coefficients, dtype.to_real().kernel, (table[-1],))
        self.table, self.array = np.array([table], np.int64), np.zeros(3 + rule.coefficients)
        self.table_address, self.array_address = self.table.ctypes.data, self.array.ctypes.data
        self.counts = joined_counts(optimizer, [state])

    def run(self):
        if self.rows[0].layout.numel:
            super().run()
            for whole, rows in zip(self.wholes, self.rows):
                put_values(whole, tuple(range(len(self.indices))), self.indices, rows, False)


class AddedRows(Batch):
    """p -= lr * g: the stored elements are added where they belong, without being put in order."""

    __slots__ = ("grad",)

    def __init__(self, parameter, grad) -> None:
        self.parameters, self.grad, self.values, self.array = [parameter], grad, None, np.zeros(4)

    def run(self):
        sign, _, _, lr = self.values
        self.add(self.grad, -lr * sign)

    def add(self, change: Tensor, factor: float):
        """Add a sparse tensor to the parameter."""
        parameter = self.parameters[0]
        parameter.detach().add_(mul(change, factor))
        mark_written(parameter.memory, "step")


class MomentumRows(AddedRows):
    """The same with momentum, for all rows that any step so far has named: the buffer is sparse."""

    __slots__ = ("nesterov",)

    def __init__(self, parameter, grad, state, nesterov) -> None:
        super().__init__(parameter, coalesce(grad))
        self.states, self.nesterov, self.array = [state], nesterov, np.zeros(6)
        self.fresh = state.get("momentum_buffer") is None

    def run(self):
        sign, _, _, lr, momentum, kept = self.values
        state, grad = self.states[0], mul(self.grad, sign)
        buffer = grad if self.fresh else coalesce(mul(state["momentum_buffer"], momentum) + mul(grad, kept))
        keep(state, "momentum_buffer", buffer)
        self.add(grad + mul(buffer, momentum) if self.nesterov else buffer, -lr)
