"""What a trace knows of tensors: the layouts of traced ones, and memory as the graph sees it."""
from __future__ import annotations

import sys
import weakref
from typing import Any

from ...func.levels import Wrapping
from ...layout import Layout
from ...tensor import Tensor
from ..graphs.graph import CONSTANT, Value


class Cell:
    """A storage, as the graph sees it.

    Attributes:
        base: a tensor over it, without a place on the tape, by whose layout the value lies.
        value: what it holds now.
        first: what it held before, where that is an input or a constant.
        version: how often it was written.
        tensors: the traced tensors over it.
        parts: the values of views as of this version, by layout and address.
        counts: the extents of its base that depend on values.
    """

    __slots__ = ("base", "value", "first", "version", "tensors", "parts", "counts")

    def __init__(self, base: Tensor, value: Value) -> None:
        self.base, self.value, self.version, self.parts, self.counts = base, value, 0, {}, frozenset[int]()
        self.first = value if value.node is None or value.node.op == CONSTANT else None
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
        return self.handler.traced(value, self.cell, self.current, self.version, counts_of(self)).layout


def _asked(name):
    """An attribute that says how many elements there are: a program that asks for it has it frozen; ops may ask."""
    slot = getattr(Layout, name)

    def a_size(layout):
        frame = sys._getframe(1)
        if frame.f_globals.get("__name__") == "numtorch.tensor":
            frame = frame.f_back
        if not str(frame.f_globals.get("__name__")).startswith("numtorch.") and not layout.handler.over:
            layout.handler.freezing(layout.tensor(), layout.handler)
        return slot.__get__(layout)
    return property(a_size, slot.__set__)


class Counted(Traced):
    """The layout of a traced tensor whose size depends on values.

    Attributes:
        counts: the extents that do.
    """

    __slots__ = ("counts",)
    shape, size, numel = map(_asked, ("shape", "size", "numel"))


def counts_of(*layouts: Layout) -> frozenset[int]:
    """Those extents of layouts that depend on values.

    Args:
        layouts: of traced tensors, or others.
    """
    return frozenset().union(*[layout.counts for layout in layouts if isinstance(layout, Counted)])


def counts_after(op: str, attributes: tuple, layouts: list, result: Layout) -> frozenset[int]:
    """Those extents of operands, and of what is joined of them, or cut off at their end, that depend on values.

    Args:
        op, attributes: the call.
        layouts: of its operands.
        result: of what it gives.
    """
    counts = counts_of(*layouts)
    if counts and op in ("cat", "slice_dim"):
        dim, *cut = attributes
        open_ended = not cut or (cut[1] is None or cut[1] < 0 or (cut[0] or 0) < 0)
        if open_ended and any(each.value.layout.shape[dim] in each.counts for each in layouts if isinstance(each, Counted)):
            counts |= {result.shape[dim]}
    return counts


def region(trace: Any, cell: Cell, tensor: Tensor) -> tuple:
    """Where a view lies in a cell's base, as the graph says it: shape, strides and offset. In the shape, -1 stands for all rows of
    a base whose number depends on values; any other part of such rows is frozen.

    Args:
        trace: the trace, which says so.
        cell: the cell.
        tensor: the view, inside.
    """
    layout, base, frozen = tensor.layout, cell.base.layout, False
    shape, strides, offset = layout.shape, layout.strides, (tensor.address - cell.base.address) // base.dtype.itemsize
    if cell.counts:
        step, rows = max(zip(base.strides, base.shape))
        if rows not in cell.counts or cell.counts.intersection(n for n, s in zip(base.shape, base.strides) if s != step):
            frozen = True                                # strides depend on values too, or may
        else:
            along = [n for n, s in zip(shape, strides) if s >= step]
            shape = tuple([-1 if s == step and n == rows else n for n, s in zip(shape, strides)])
            frozen = bool(along) and (along != [rows] or -1 not in shape or offset >= step)
    if frozen:
        trace.freezing(tensor, trace)
    return shape, strides, offset


def freezes(name: str, layout: Layout, args: tuple) -> bool:
    """Whether a view of a tensor has it that so many elements are there as there are now.

    Args:
        name: the view.
        layout: of the tensor.
        args: of the view, the dimension first.
    """
    if name not in ("every", "cut", "narrow") or not isinstance(layout, Counted):
        return False
    extent = layout.value.layout.shape[args[0]]
    return extent in layout.counts and (name != "narrow" or args[1] + args[2] == extent)


def unfrozen(name: str, layout: Layout, args: tuple) -> tuple:
    """A view's arguments with -1 in the place of the one size among them that depends on values.

    Args:
        name: the view.
        layout: of what it is a view of.
        args: its arguments.
    """
    counts = counts_of(layout)
    if not counts or name not in ("try_view", "expand"):
        return args
    shape, = args
    behind = len(shape) - layout.ndim
    places = [i for i, n in enumerate(shape) if any(n and n % count == 0 for count in counts if count)
              and (name == "try_view" or (i >= behind and n == layout.value.layout.shape[i - behind]))]
    return (tuple([-1 if [i] == places else n for i, n in enumerate(shape)]),)


class Saved:
    """What a node keeps: a tensor as it was.

    Args:
        tensor: it, inside.

    Attributes:
        hooked: where hooks of the function's own are on, what the first made of it, and the second, that gives it back.
    """

    __slots__ = ("tensor", "version", "hooked")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor, self.version = tensor, tensor.memory.version
        self.hooked: tuple | None = None
