"""What copies 16 bytes at once where addresses allow it, among it tensor cores, else what does without: products and attention."""
from __future__ import annotations

from ...precision import tf32_allowed
from ...threads import Prepared

ALIGNMENT = 16                                           # bytes that copies to shared memory bring at once


class _Later:
    """A call that is planned, and its kernels compiled, when it is first made."""

    __slots__ = ("plan", "made")

    def __init__(self, plan):
        self.plan, self.made = plan, None

    def __call__(self, *words):
        if self.made is None:
            self.made = self.plan()
        self.made.call(*words[:-1], self.made.descriptor)


def later(plan) -> Prepared:
    """What `plan` makes, when it is needed."""
    return Prepared(_Later(plan), 0, 0, None)


class Choice:
    """A call that copies 16 bytes at once where its operands' addresses are multiples of 16. By tensor cores of float32 only
    while it may be rounded to tf32: what is rounded is planned when the first such call comes.

    Args:
        otherwise: the plan without.
        plan: makes the plan with such copies.
        rounds: whether that rounds operands.
        operands: which of the call's addresses are copied.
    """

    __slots__ = ("otherwise", "plan", "rounds", "operands", "warps")

    def __init__(self, otherwise, plan, rounds, operands):
        self.otherwise, self.plan, self.rounds, self.operands = otherwise, plan, rounds, operands
        self.warps = None if rounds else plan()

    def prepared(self) -> Prepared:
        return Prepared(self, self.otherwise.descriptor, 0, self.otherwise)

    def __call__(self, *words):
        made = self._of(words)
        made.call(*words[:-1], made.descriptor)

    def _of(self, words):
        if self.rounds and not tf32_allowed():
            return self.otherwise
        for place in self.operands:
            if words[place] % ALIGNMENT:
                return self.otherwise
        if self.warps is None:
            self.warps = self.plan()
        return self.warps
