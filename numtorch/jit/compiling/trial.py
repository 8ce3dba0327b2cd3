"""A recorded call's two programs beside the call itself: whether they give the same, and which takes less time."""
from __future__ import annotations

import numpy as np

from ...autograd.api import partial_gradients
from ...devices import cpu
from ...exchange.arrays import raw_array
from ...layout import Layout
from ...tensor import Tensor, empty
from ...tree import flatten
from ..capturing.reach import Reach
from ..capturing.snapshots import content, nudge
from ..graphs.operations import in_order
from .calls import IGNORED
from .timing import timed

ROUNDS, SECONDS = 12, 0.3                                # that a program and the call as it is are timed


class Trial:
    """A call, which is made in several ways. After each of them, memory and random streams are what they were before.

    What a call gives: the contents of its results, of gradients, of its arguments, and of the tensors that it reaches.

    Args:
        function: what is called.
        program: its two programs (`recorded.Recorded`).
        tensors: the arguments that are tensors.
        call: all arguments, positional and named.
        before: a snapshot of memory and random streams (`Snapshot`).
    """

    def __init__(self, function, program, tensors: list, call: tuple, before) -> None:
        self.function, self.program, self.tensors, self.call, self.before = function, program, tensors, call, before
        self.held = [tensor for _, tensor in program.reach.tensors.values()]
        self.leaves = [*[tensors[i] for i in program.arguments], *program.reached]
        self.grad_outputs = _random_tensors(program.backward.takes[-sum(program.kinds):])
        self.streams: list = []                          # where random streams are behind each call

    @property
    def draws_alike(self) -> bool:
        """Whether all calls so far took as many random numbers."""
        return all(each == self.streams[0] for each in self.streams)

    def of_the_programs(self) -> list:
        """Capture the programs, and return what they give.

        Raises:
            Exception: they are not captured.
        """
        program, tensors = self.program, self.tensors
        try:
            program.forward.capture(tensors, program.reach)
            self.before.restore()
            made = program.forward.run(tensors)
            halves = program.halves
            given = [*[made[i] for i in halves.own], *[tensors[i] for i in halves.arguments], *halves.reached, *self.grad_outputs]
            given = list(map(in_order, given, program.backward.takes))
            program.backward.capture(given, Reach([], {}, IGNORED))
            grads = program.backward.run(given)
            return self._contents(made[:len(program.kinds)], [grads[i] for i in program.given if i is not None])
        finally:
            self.before.restore()

    def of_the_repetition(self) -> list | None:
        """The gradients that are made to be differentiated, where the graph is run op by op."""
        grads = self.program.repeated(self.tensors, self.grad_outputs)
        self.before.restore()
        return None if grads is None else list(map(content, self._given(grads)))

    def as_it_is(self) -> tuple[list, list]:
        """What the function gives, and what it gives of operands that differ in their last places, or the first where it refuses
        these."""
        nudge([*self.tensors, *self.held])
        try:
            nudged = self._eager()
        except Exception:
            nudged = None
        wanted = self._eager()
        return wanted, wanted if nudged is None else nudged

    def is_faster(self) -> bool:
        """Whether the programs take less time than the function."""
        def replayed(*args, **kwargs):
            returned = self.program.call(self.tensors)
            return self.function(*args, **kwargs) if returned is None else returned[0]
        devices = {tensor.layout.device for tensor in (*self.tensors, *self.held)}
        return is_faster(lambda: self._made_by(replayed), lambda: self._made_by(self.function), self.before.restore, devices)

    def _eager(self):
        try:
            outs, grads = self._made_by(self.function)
            return self._contents(outs, self._given(grads))
        finally:
            self.before.restore()

    def _made_by(self, function):
        """A call's tensors, and its gradients."""
        args, kwargs = self.call
        outs = [x for x in flatten(function(*args, **kwargs))[0] if isinstance(x, Tensor)]
        return outs, partial_gradients([x for x, kind in zip(outs, self.program.kinds) if kind], self.leaves, self.grad_outputs)

    def _given(self, grads):
        """Those of the gradients that backward's program gives."""
        return [g for g, place in zip(grads, self.program.given) if place is not None]

    def _contents(self, outs, grads):
        self.streams.append(self.before.positions())
        return [content(t) for t in (*outs, *grads, *self.tensors, *self.held)]


def _random_tensors(layouts):
    """Tensors of normal random numbers, the same in each call, which no random stream gives."""
    rng, tensors = np.random.default_rng(0), []
    for layout in layouts:
        host = empty(Layout.of(layout.dtype, layout.shape, layout.strides, cpu))
        raw_array(host)[...] = rng.standard_normal(layout.shape)
        tensors.append(empty(layout))
        tensors[-1].copy_(host)
    return tensors


def is_faster(one, other, restore, devices) -> bool:
    """Whether a call takes less time than another.

    Args:
        one, other: the calls.
        restore: called after each, to put back what they change.
        devices: those that they use.
    """
    times: tuple[list, list] = [], []
    while len(times[0]) < ROUNDS and sum(map(sum, times)) < SECONDS:
        for call, mine in zip((one, other), times):
            mine.append(timed(call, devices)[1])
            restore()
    return min(times[0]) < min(times[1])
