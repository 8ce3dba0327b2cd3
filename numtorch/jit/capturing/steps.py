"""What optimisers and random streams do in Python at each replay, before the launches that read what they write."""
from __future__ import annotations

import ctypes

from ...optim.rule import RuleOptimizer


class Draw:
    """Counters of a random stream for one launch, in words of its own.

    Args:
        generator: the stream.
        counters: how many it claims.
    """

    leaves = ()

    def __init__(self, generator, counters) -> None:
        self.generator, self.counters = generator, counters
        self.words = (ctypes.c_int64 * 3)()
        self.address = ctypes.addressof(self.words)

    def __call__(self) -> None:
        self.generator._claim(self.words, self.counters)

    def take_back(self) -> None:
        """Have the stream where it was before."""
        self.generator._claim((ctypes.c_int64 * 3)(), -self.counters)


class Update:
    """A step of an optimiser but for its kernels: counts, coefficients, the table of addresses.

    Args:
        optimizer: it.

    Attributes:
        leaves: those of the parameters, each with the gradient that the step has for it, until there is a program.
        sources: then, for each leaf, where a replay finds that: "new" and the place among the gradients that it leaves, "before"
            and the place among those that it begins with, "result" and where it is in which result's memory, or "own" and the
            gradient, which ends in the call.
        batches: that the step runs.
        gradients: the addresses that each batch has in its table, which another step of the call may overwrite.
    """

    def __init__(self, optimizer: RuleOptimizer) -> None:
        self.optimizer = optimizer
        self.prepared = list(optimizer._prepared)
        self.groups = len(optimizer.param_groups)
        self.parameters = [p for group in optimizer.param_groups for p in group["params"]]
        self.leaves = [(p.node, p.node.grad) for p in self.parameters if p.node is not None and p.node.grad is not None]
        self.batches: list = []
        self.gradients: list = []
        self.sources: list[tuple] = []

    def is_same(self) -> bool:
        """Whether a step would launch the same kernels on the same memory. Moved gradients are noted."""
        optimizer = self.optimizer
        groups, prepared = optimizer.param_groups, optimizer._prepared
        if len(groups) != self.groups or len(prepared) < len(self.prepared):
            return False
        for number, before in enumerate(self.prepared):
            if prepared[number] is not before or (before is not None and
                                                  not before.update(optimizer.state, groups[number],
                                                                    optimizer.rule(groups[number]))):
                return False
        self.gradients = [batch.gradients for batch in self.batches]
        return True

    def __call__(self) -> None:
        for batch, gradients in zip(self.batches, self.gradients):
            if batch.gradients is not gradients:
                batch.gradients = batch.table[:, 1] = gradients
        self.optimizer.write_coefficients()
