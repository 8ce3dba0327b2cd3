"""Tensor cores where they can be used, else what computes without them: products and attention."""
from __future__ import annotations

from ...precision import tf32_allowed
from ...threads import Prepared

ALIGNMENT = 16                                           # bytes that copies to shared memory bring at once


class Choice:
    """A call by tensor cores where its operands' addresses are multiples of 16 bytes. Of float32 only while it may be rounded to
    tf32: what is rounded is planned when the first such call comes.

    Args:
        otherwise: the plan without tensor cores.
        plan: makes the plan by tensor cores.
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
