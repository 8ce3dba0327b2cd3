"""What random streams and optimisers do in Python at each replay of captured launches, before these are made: the words that they
read are written anew. While launches are captured, both are watched, and nothing of theirs goes on."""
from __future__ import annotations

import ctypes
import sys
from operator import is_

import numpy as np

from ..ops.core.generator import Generator
from ..optim.batches import Batch, joined_counts
from ..optim.rule import RuleOptimizer
from .devices import _machine

_claim = Generator._claim
_LOOKING = ("draw", "multinomial")                       # functions whose kernels look at what they draw from


class Draws:
    """Random draws: counters are claimed at each replay, and what launches claim now is given back. Draws on the host are made as
    ever.

    Args:
        index: the device.
    """

    def __init__(self, index) -> None:
        self.index, self.claims = index, {}              # by the address of words: what writes them; words, stream, counters
        note = self._note
        Generator._claim = lambda generator, words, counters: note(generator, words, counters)  # type: ignore[method-assign]

    def end(self) -> None:
        """Note no more."""
        Generator._claim = _claim  # type: ignore[method-assign]

    def _note(self, generator, words, counters):
        own, index = (ctypes.c_int64 * 3)(), self.index

        def fill(target):
            _claim(generator, own, counters)
            _machine().copy(target, ctypes.addressof(own), ctypes.sizeof(own), index, False)
        _claim(generator, words, counters)
        self.claims[ctypes.addressof(words)] = fill, words, generator, counters

    def source(self, address):
        """What claims counters for a launch and writes them to the device; see `Capture` (kernels/cuda/capture.py)."""
        found = self.claims.pop(address, None)
        frame = sys._getframe(1)
        while found is not None and frame is not None:
            name = frame.f_code.co_name
            if frame.f_globals.get("__name__", "").startswith("numtorch.ops.") and (
                    name in _LOOKING or (name == "run_fill" and frame.f_locals.get("each") is not None)):
                return None
            frame = frame.f_back
        if found is None:
            return None
        fill, words, generator, counters = found
        with generator._lock:
            if generator._offset == words[1] + counters:
                generator._offset = words[1]
        return fill


# ---------------------------------------------------------------- optimisers
_batches = RuleOptimizer._batches


class Steps:
    """Steps of optimisers: their counts go on at each replay, and what a step's options are by then is what it does.

    Args:
        index: the device.
    """

    def __init__(self, index) -> None:
        self.index, self.fills = index, {}               # by the address of coefficients: what writes them
        note = self._note
        RuleOptimizer._batches = lambda *arguments: note(*arguments)  # type: ignore[method-assign]

    def end(self) -> None:
        """Note no more."""
        RuleOptimizer._batches = _batches  # type: ignore[method-assign]

    def _note(self, optimizer, place, group, rule):
        """A group's batches, one after the other, each with its counts as they were behind it."""
        for batch in _batches(optimizer, place, group, rule):
            if type(batch) is not Batch:
                raise RuntimeError(f"{type(optimizer).__name__}: steps of sparse gradients cannot be captured")
            if batch.fresh:
                raise RuntimeError(f"{type(optimizer).__name__}: a step that makes its states cannot be captured: each replay "
                                   "would make them again. Take a step before")
            self.fills[batch.array_address] = _Step(optimizer, group, batch, self.index).fill
            before = {name: values.copy() for name, values in batch.counts.items()}
            yield batch
            for name, values in before.items():
                batch.counts[name][:] = values

    def source(self, address):
        """What writes the coefficients of the step that a replay is; see `Capture` (kernels/cuda/capture.py)."""
        return self.fills.get(address)


class _Step:
    """One kernel call of a step that is captured."""

    def __init__(self, optimizer, group, batch, index) -> None:
        self.optimizer, self.group, self.batch, self.index = optimizer, group, batch, index
        self.values, self.numbers = np.zeros_like(batch.array), self._numbers()

    def _numbers(self):
        return [state[name] for state in self.batch.states for name in self.optimizer.counts]

    def fill(self, target):
        """Count a step, and write its coefficients to the device."""
        numbers, group = self._numbers(), self.group
        if not all(map(is_, numbers, self.numbers)):     # loaded, or joined with others by a step that was not captured
            self.batch.counts, self.numbers = joined_counts(self.optimizer, self.batch.states), self._numbers()
        self.values[:] = self.optimizer.shared(group) + self.optimizer.coefficients(group, self.batch)
        _machine().copy(target, self.values.ctypes.data, self.values.nbytes, self.index, False)
