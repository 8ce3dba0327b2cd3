"""Memory as a trace sees it: which value of the graph a tensor holds, also one that was there before, and what a write changes."""
from __future__ import annotations

import gc
from typing import Any
from weakref import ref

from ...autograd.modes import modes
from ...func.levels import Level, Wrapping
from ...layout import Layout
from ...ops.memory.assign import lasting_copy
from ...tensor import Tensor, wrap
from ..graphs.graph import CONSTANT, Graph, Node, Value
from .cells import Cell, Traced, region


class Memory(Level):
    """The part of a trace that knows cells.

    Attributes:
        graph: what was written down.
        cells: by the storage's identity, which the cell's base keeps.
        names: what tensors that are there already are called, by identity.
        adopted: tensors of others whose layout is traced meanwhile, and what they were.
        unrecorded: the nodes of calls that were made without recording.
        follows_modes: whether what was computed without recording is detached where it is recorded what comes of it.
    """

    graph: Graph
    cells: dict[int, Cell]
    names: dict[int, str]
    adopted: list[tuple[Tensor, Tensor]]
    unrecorded: set[Node]
    follows_modes = False
    emit: Any
    traced: Any

    def _cell_of(self, tensor, value):
        cell = self.cells[id(tensor.memory)] = Cell(wrap(tensor.memory, tensor.address, tensor.layout), value)
        return cell, value, 0

    def adopt(self, *tensors: Tensor) -> None:
        """Have tensors of others be traced, and their views.

        Args:
            tensors: they.
        """
        waiting = {id(tensor.memory): tensor for tensor in tensors if not isinstance(tensor.layout, Wrapping)}
        over: dict[int, list[Tensor]] = {key: [] for key in waiting}         # views of integers too, which only storages know
        for each in gc.get_referrers(*[tensor.memory for tensor in waiting.values()]) if waiting else ():
            if isinstance(each, Tensor):
                over[id(each.memory)].append(each)
        for tensor in tensors:
            if not isinstance(tensor.layout, Wrapping):
                self._adopt(tensor, over[id(tensor.memory)])

    def _adopt(self, tensor, over):
        cell = self.cells.get(id(tensor.memory))
        base = None if cell is None else cell.base
        cell = self._cell_to_write(tensor, self.names.get(id(tensor)))
        for each in over:
            if each is base or isinstance(each.layout, Wrapping):
                continue
            inside = wrap(each.memory, each.address, each.layout, each.node)
            self.adopted.append((each, inside))
            each.layout = self.traced(inside, cell, cell.value, -1).layout         # its value is found when it is asked for
            each.layout.place, each.layout.tensor = each.node, ref(each)
            cell.tensors.add(each)
            del each.address

    def _cell_to_write(self, tensor, name):
        """The cell of memory of others: all of it, since what it is a view of may be asked for too."""
        cell = self.cells.get(id(tensor.memory))
        if name is not None:
            self.constant(tensor, name)
        elif cell is None or (not cell.version and cell.first is not None and not self._is_live(cell)):
            storage, kind = tensor.memory, tensor.layout.dtype
            whole = Layout.of(kind, (storage.nbytes // kind.itemsize,), None, tensor.layout.device)
            flat = wrap(storage, storage.address, whole)
            self._cell_of(flat, self.graph.constant("constant", lasting_copy(flat), whole))
        return self.cells[id(tensor.memory)]

    def constant(self, tensor: Tensor, name: str | None = None) -> Value:
        """The graph's value of a tensor that was not computed by it."""
        cell = self.cells.get(id(tensor.memory))
        if cell is not None:
            here = tensor.layout is cell.base.layout and tensor.address == cell.base.address
            if here or cell.first is None or cell.version:
                return self._value_in(cell, tensor)
        held = tensor if name is not None else lasting_copy(tensor)          # what may be written before the graph runs
        value = self.graph.constant(name or "constant", held, tensor.layout)
        if cell is None:
            self._cell_of(tensor, value)
        return value

    def _is_live(self, cell):
        """Whether a cell is memory that was there before: an argument's, or of a tensor with a name."""
        first = cell.first
        return first is not None and (first.node is None or first.node.attributes[0] in self.names.values())

    def _value_in(self, cell, tensor):
        """The value of a tensor over a cell's memory."""
        base = cell.base
        if tensor.layout is base.layout and tensor.address == base.address:
            return cell.value
        part = cell.parts.get((tensor.layout, tensor.address))
        if part is not None:
            return part
        if tensor.layout.dtype is not base.layout.dtype or not base.layout.non_overlapping_and_dense():
            raise NotImplementedError("trace: a view of memory that is read as another dtype, or overlaps itself, is written to")
        part, = self.emit("part", [cell.value], region(self, cell, tensor), [tensor.layout])
        if self.follows_modes and cell.value.node in self.unrecorded:
            self.unrecorded.add(part.node)
        cell.parts[tensor.layout, tensor.address] = part
        return part

    def value_of(self, x: Any):
        """What the graph has for an argument of a call: a value, or a number."""
        if not isinstance(x, Tensor):
            return x
        x = self._of_others(x)
        layout = x.layout
        if isinstance(layout, Traced):
            if layout.version != layout.cell.version:
                layout.current, layout.version = self._value_in(layout.cell, layout.value), layout.cell.version
            if self.follows_modes and modes.grad and layout.current.node in self.unrecorded and layout.dtype.category >= 2 \
                    and layout.value.node is None and x.node is None:
                layout.current, = self.emit("detach", [layout.current], (), [layout.value.layout])
            return layout.current
        if layout.weak and layout.numel == 1:
            return x.item()
        return self.constant(x, self.names.get(id(x)))

    def value_to_write(self, x: Tensor) -> Value:
        """The value of a traced tensor that is written to. By `as_strided` it may reach beyond the view that it was made of, as far
        as which its own value has a gradient: the memory's has one everywhere.

        Args:
            x: the tensor.
        """
        cell, value = x.layout.cell, self.value_of(x)
        if value.node is None or value.node.op != "part" or value.node.inputs[0] is cell.value:
            return value
        return self._value_in(cell, x.layout.value)

    def inside(self, x: Any):
        """The tensor inside of a traced one, with its place on the tape."""
        x = self._of_others(x) if isinstance(x, Tensor) else x
        layout = getattr(x, "layout", None)
        if not isinstance(layout, Traced):
            return x
        value = layout.value
        if value.node is not x.node:                     # by requires_grad_, detach_ or a Function, which know this one alone
            value = layout.value = wrap(value.memory, value.address, value.layout, x.node)
            layout.place = x.node
        return value

    def _of_others(self, x):
        """What a tensor is here: that of a trace around this one is what it stands for, a constant."""
        while isinstance(x.layout, Traced) and x.layout.handler is not self:
            x = x.layout.value
        return x

    def store(self, inside: Tensor, value: Value) -> None:
        """Note that the memory of a tensor holds another value.

        Args:
            inside: the tensor.
            value: what it holds.
        """
        cell = self.cells[id(inside.memory)]
        base = cell.base
        if inside.layout is not base.layout or inside.address != base.address:
            value, = self.emit("put_part", [cell.value, value], region(self, cell, inside), [base.layout])
        before = cell.value.node
        if self.follows_modes and before not in self.unrecorded and (before is None or before.op != CONSTANT):
            self.unrecorded.discard(value.node)          # what was recorded stays so when it is written to
        cell.value, cell.version, cell.parts = value, cell.version + 1, {}
        for tensor in cell.tensors:
            layout = tensor.layout
            if isinstance(layout, Traced) and tensor.node is layout.place:
                tensor.node = layout.place = layout.value.node
