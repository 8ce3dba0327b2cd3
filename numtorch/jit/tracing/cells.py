"""What a trace knows of tensors: the layouts of traced ones, and memory as the graph sees it."""
from __future__ import annotations

import weakref
from typing import NamedTuple

from ...func.levels import Wrapping
from ...tensor import Tensor
from ..graphs.graph import Value


class Cell:
    """A storage, as the graph sees it.

    Attributes:
        base: a tensor over it, without a place on the tape, by whose layout the value lies.
        value: what it holds now.
        first: what it held before, where that is an input or a constant.
        version: how often it was written.
        tensors: the traced tensors over it.
        parts: the values of views as of this version, by layout and address.
    """

    __slots__ = ("base", "value", "first", "version", "tensors", "parts")

    def __init__(self, base: Tensor, value: Value) -> None:
        self.base, self.value, self.version, self.parts = base, value, 0, {}
        self.first = value if value.node is None or not value.node.inputs else None
        self.tensors: weakref.WeakSet = weakref.WeakSet()


class Traced(Wrapping):
    """The layout of a traced tensor.

    Attributes:
        cell: its memory.
        current, version: the graph's value, as of that version of the cell.
        tensor: a weak reference to the tensor that has this layout.
    """

    __slots__ = ("cell", "current", "version", "tensor")
    transformed = False                                  # calls are written down as they are
    instead_of_memory = ("a tensor that is traced has no memory of its own, since the graph is run with others: please do this "
                         "outside of the traced function, with what it returns, or `clone()` for a copy in the graph")

    def parts(self):
        return [self.value]

    def replaced(self, function):
        return self.with_value(function(self.value))

    def with_value(self, value):
        """The same value as another tensor inside."""
        return self.handler.traced(value, self.cell, self.current, self.version).layout


class Saved(NamedTuple):
    """What a node keeps: a tensor as it was."""

    tensor: Tensor
    version: int
