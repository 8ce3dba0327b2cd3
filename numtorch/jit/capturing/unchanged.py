"""Whether Python holds what it held when a call was captured: what the function reaches, where tensors are, and hooks."""
from __future__ import annotations

from typing import Any

from . import guards
from .reach import Reach, difference_of

LOOKS = 50                                               # times that words of memory are read anew


class Unchanged:
    """What a program depends on beside its arguments.

    Args:
        reach: what the function reaches.
        places: tensors that it reaches, each with its memory, address, layout and node.
        leaves: those of the tape that it reaches.
        absent: those among them that had no gradient before the call.

    Attributes:
        words: words of memory that say so, where they are known.
        rest: what of `reach` has none, and is compared in Python.
        looks: how often words were read.
    """

    def __init__(self, reach: Reach, places: list, leaves: list, absent: list) -> None:
        self.reach, self.places, self.absent = reach, places, absent
        self.leaves = [(leaf, leaf.extras, leaf.post_hooks) for leaf in leaves]
        self.hooks = [(table, dict(table)) for _, extras, after in self.leaves
                      for table in (None if extras is None else extras.hooks, after) if table is not None]
        self.words: Any = None
        self.rest: list = []
        self.looks = 0

    def holds(self) -> bool:
        """Whether nothing has changed."""
        if self.words is not None and self.words.are_same() and (not self.rest or difference_of(self.rest) is None):
            return True
        if not self._is_same():
            return False
        self._read_words()
        return True

    def _is_same(self):
        for tensor, storage, address, layout, node in self.places:
            if tensor.address != address or tensor.layout is not layout or tensor.node is not node or tensor.memory is not storage:
                return False
        for leaf, extras, hooks in self.leaves:
            if leaf.extras is not extras or leaf.post_hooks is not hooks:
                return False
        for table, hooks in self.hooks:
            if table != hooks:
                return False
        for leaf in self.absent:
            if leaf.grad is not None:
                return False
        return self.reach.difference() is None

    def _read_words(self):
        """Have the next calls compare words of memory, where that is possible."""
        self.looks += 1
        self.words = None
        if self.looks > LOOKS or not guards.is_known():
            return
        pairs, self.rest = self.reach.words()
        self.places = [(t, t.memory, t.address, t.layout, t.node) for t, *_ in self.places]     # of an address, the very object
        for tensor, *_ in self.places:
            pairs += [guards.of_slot(tensor, name) for name in ("address", "layout", "node", "memory")]
        for leaf, *_ in self.leaves:
            pairs += [guards.of_slot(leaf, name) for name in ("extras", "post_hooks")]
        for table, _ in self.hooks:
            pairs += guards.of_dict(table)
        pairs += [guards.of_slot(leaf, "grad") for leaf in self.absent]
        self.words = guards.Words(pairs)
