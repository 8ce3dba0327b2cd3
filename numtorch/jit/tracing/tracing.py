"""Tracing: a call of a function that writes down the graph of what it computes.

The arguments' layouts are *traced* ones, which are in no plan table, so that every call on them misses (ops/core/primitive.py) and
comes here: it is made on the tensors inside, and written down. No op knows of it. Control flow of Python is not seen: what it asked
of values (`if tensor:`, `item`) is warned of, because the graph has the branch that was taken.

The tape is that of the tensors inside. What a call saves for its derivative goes through a hook (`saved_tensors_hooks`), by which
backward finds the traced value of it again; so derivatives are calls like any others, and land in the same graph.

Memory (memory.py): a *cell* stands for a storage, and knows which value the graph has for it. A write gives the cell another value,
and a view that was taken before is made anew when it is next asked for.
"""
from __future__ import annotations

import contextlib
import functools
from typing import Any
from weakref import ref

from ...autograd.graph import Leaf, packed, saved_tensors_hooks
from ...autograd.modes import modes
from ...func.levels import Wrapping, lie_like, tensor_of
from ...func.randomness import taken_by
from ...ops.core.generator import Generator, default_generator
from ...ops.core.operands import as_operand
from ...ops.core.primitive import Primitive, miss
from ...ops.memory.copies import clone
from ...ops.memory.detach import detach
from ...ops.memory.writing import overlap_partly
from ...ops.shape.views import view_as
from ...tensor import Tensor
from ...tree import map_tensors, tensors_in
from ..graphs.gradients import PREFIX, differentiated, given_to, run_gradient
from ..graphs.graph import Graph, Node, Value
from ..graphs.operations import OTHERS, tensors_of
from ..graphs.updates import TracedBatch
from .cells import Cell, Counted, Saved, Traced, counts_after, counts_of, freezes, unfrozen
from .freezing import warn_frozen
from .memory import Memory
from .results import mapped, structured


class Trace(Memory):
    """One trace.

    Args:
        names: what tensors that are there already are called, by identity; they are traced from the start.
        freezing: called with a tensor whose values are asked for, and the trace; by default it warns.
        final: whether the graph will not be differentiated: then derivatives are calls of their own (gradients.py).
        exact: whether those of elementwise calls are, too, to the last bit. Else they are ops, which passes put together.
        paths: of modules that have names, by identity.

    Attributes:
        graph: what was written down.
        unrecorded: the nodes of calls that were made without recording.
    """

    def __init__(self, names: dict | None = None, freezing=None, final: bool = False, exact: bool = False,
                 paths: dict[int, str] | None = None) -> None:
        self.graph = Graph()
        self.unrecorded: set[Node] = set()
        self.cells: dict[int, Cell] = {}                 # by the storage's identity, which the cell's base keeps
        self.names, self.paths = names or {}, paths or {}
        self.freezing, self.final, self.exact = freezing or warn_frozen, final, exact
        self.adopted: list[tuple[Tensor, Tensor]] = []   # tensors of others whose layout is traced meanwhile
        self.packed: list[Saved] = []
        self.counted: set = set()                        # the tape's nodes of tensors whose sizes depend on values
        self.coefficients: dict = {}                     # of optimisers' steps: (tensor, optimiser) by their values
        self.hooks = saved_tensors_hooks(self.pack, self.unpack)

    def __enter__(self):
        self.hooks.__enter__()
        self.draws = taken_by(self)
        self.draws.__enter__()
        self.by_ops, modes.by_ops = modes.by_ops, self.backward
        self.follows_modes = modes.grad and not self.final             # a whole trace under no_grad can be trained
        return super().__enter__()

    def __exit__(self, *exception):
        super().__exit__(*exception)
        self.draws.__exit__(*exception)
        self.hooks.__exit__(*exception)
        modes.by_ops = self.by_ops
        for tensor, inside in self.adopted:
            tensor.layout, tensor.address, tensor.memory = inside.layout, inside.address, inside.memory
            leaf = tensor.node
            if isinstance(leaf, Leaf) and leaf.grad is not None and isinstance(leaf.grad.layout, Traced):
                leaf.grad = detach(leaf.grad.layout.value)
        self.adopted.clear()                             # or the next trace adopts these, too, until the collector has been here

    # ------------------------------------------------------------ tensors in and out
    def traced(self, inside: Tensor, cell: Cell, current: Value, version: int, counts: frozenset = frozenset()) -> Tensor:
        """A traced tensor.

        Args:
            inside: what it stands for.
            cell: its memory.
            current, version: the graph's value.
            counts: extents that depend on values.
        """
        counts = counts.intersection(inside.layout.shape)
        layout = object.__new__(Counted if counts else Traced)
        if counts:
            layout.counts = counts
            self.counted.add(inside.node)
        lie_like(layout, inside.layout)
        layout.weak = inside.layout.weak
        layout.handler, layout.value, layout.cell = self, inside, cell
        layout.current, layout.version = current, version
        out = tensor_of(layout)
        layout.tensor = ref(out)
        cell.tensors.add(out)
        return out

    def input(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """An argument as a traced tensor.

        Args:
            tensor: it. It is not written to: it is a copy of the caller's.
            name: what it is called.
        """
        return self.traced(tensor, *self._cell_of(tensor, self.graph.input(tensor.layout, name)))

    def argument(self, name: str | None, tensor: Tensor) -> Tensor:
        """A copy of a caller's tensor as a traced one.

        Args:
            name: what it is called.
            tensor: it.
        """
        copied = clone(detach(self._of_others(tensor)))
        return self.input(copied.requires_grad_() if tensor.node is not None else copied, name)

    def arguments(self, given: Any) -> Any:
        """Arguments with traced copies in the place of tensors: of one that is there twice, one.

        Args:
            given: them, as (args, kwargs).
        """
        copies: dict[int, Tensor] = {}

        def copied(tensor):
            if id(tensor) not in copies:
                copies[id(tensor)] = self.argument(None, tensor)
            return copies[id(tensor)]
        return map_tensors(copied, given)

    def result(self, inside: Tensor, value: Value, counts: frozenset = frozenset()) -> Tensor:
        """A call's result as a traced tensor."""
        cell = self.cells.get(id(inside.memory))
        if cell is None:
            cell, _, _ = self._cell_of(inside, value)
            cell.counts = counts.intersection(inside.layout.shape)
        return self.traced(inside, cell, value, cell.version, counts)

    # ------------------------------------------------------------ calls
    def emit(self, op: str, inputs, attributes, layouts, **options) -> list[Value]:
        """Write a call down.

        Args:
            op, inputs, attributes, options: of the node.
            layouts: its values'.
        """
        return self.add(Node(op, inputs, attributes, **options), layouts)

    def add(self, node: Node, layouts) -> list[Value]:
        """Write a call down.

        Args:
            node: it.
            layouts: its values'.
        """
        if not modes.grad:
            self.unrecorded.add(node)
        return self.graph.call(node, layouts)

    def __call__(self, primitive: Primitive, tensors, attributes):
        inner = [self.inside(t) for t in tensors]
        if self.over:
            return primitive.function(*inner) if primitive.execute is None else miss(primitive, tuple(inner), attributes)
        if primitive.execute is None:
            inner = [as_operand(primitive.name, t) for t in inner]
        values = [self.value_of(t) for t in tensors]
        versions = [t.memory.version if isinstance(t, Tensor) else None for t in inner]
        offset = default_generator._offset
        with self._packing() as kept, taken_by(None):  # it is written down below
            result = primitive.function(*inner) if primitive.execute is None else miss(primitive, tuple(inner), attributes)
        writes = []
        for i, (t, version) in enumerate(zip(inner, versions)):
            if isinstance(t, Tensor) and t.memory.version != version and not any(inner[j].memory is t.memory for j in writes):
                writes.append(i)
        results = [leaf for leaf in tensors_of(result) if not any(leaf is inner[i] for i in writes)]
        if isinstance(result, (int, float)) or (isinstance(result, tuple) and result and not (results or writes)):
            self.freezing(next(t for t in tensors if isinstance(t, Tensor)), self)         # numbers of Python's
            return result
        counts = counts_after(primitive.name, attributes, [t.layout for t in tensors if isinstance(t, Tensor)],
                              results[0].layout) if results else frozenset()
        if primitive.counts:
            counts |= {*results[0].layout.shape[:1]}
        written = [(inner[i], tensors[i]) for i in writes]
        for i in writes:
            if not isinstance(tensors[i].layout, Traced):
                self.adopt(tensors[i])
                inner[i] = self.inside(tensors[i])
        node = Node(primitive.key, values, attributes, writes)
        node.draws = default_generator._offset != offset or any(isinstance(a, Generator) for a in attributes)
        made = self.add(node, [*[t.layout for t in results], *[inner[i].layout for i in writes]])
        outer = [(t, self.result(t, value, counts)) for t, value in zip(results, made)] + written
        for i, value in zip(writes, made[len(results):]):
            self.store(inner[i], value)
        self._keep(node, inner, kept)
        self._hook(kept)
        return mapped(result, outer)

    def _keep(self, node, inner, kept):
        """Have what a call saved, and neither was given nor returns, be values of its node."""
        for place, saved in enumerate(kept):
            tensor = saved.tensor
            if isinstance(tensor.layout, Wrapping) or tensor.layout.weak or id(tensor.memory) in self.cells:
                continue
            value = Value(self.graph.name(), tensor.layout, node)
            node.outputs.append(value)
            node.keeps += (place,)
            self._cell_of(tensor, value)
        if node.keeps:
            node.wanted = tuple([i for i, t in enumerate(inner) if isinstance(t, Tensor) and t.node is not None])

    def function(self, kind, args):
        """What a user's Function gives. Whether that is recorded hangs on the tensors of each call, not on how forward runs."""
        _, result = kind._call(args)
        for each in tensors_in(result):
            if isinstance(each.layout, Traced):
                self.unrecorded.discard(each.layout.current.node)
        return result

    def batch(self, optimizer, parameter, grad, group, rule) -> TracedBatch:
        """A parameter whose step is written down."""
        return TracedBatch(self, optimizer, parameter, grad, group, rule)

    def write(self, op, tensors):
        """An elementwise op in place."""
        inner = [self.inside(t) for t in tensors]
        if self.over:
            return op.inplace(*inner)
        target, own = tensors[0], inner[0]
        for i, each in enumerate(inner):                 # what lies between elements of the target is read from a copy
            if overlap_partly(each, own) and not all(t.layout.non_overlapping_and_dense() for t in (each, own)):
                tensors = (*tensors[:i], clone(tensors[i]), *tensors[i + 1:])
                inner[i] = self.inside(tensors[i])
        values = [self.value_of(t) for t in tensors]
        if isinstance(target.layout, Traced):
            values[0] = self.value_to_write(target)
        plain = op.planned_for(tuple([t.layout for t in inner]), ()).out is inner[0].layout
        if not isinstance(target.layout, Traced):
            self.adopt(target)
            inner[0] = self.inside(target)
        with self._packing() as kept:
            op.inplace(*inner)
        for saved in kept:
            self._know_copy(saved.tensor, inner, values)
        value, = self.emit(op.name, values, (), [inner[0].layout], writes=() if plain else (0,))
        self._hook(kept)
        self.store(inner[0], value)
        return target

    def _know_copy(self, tensor, inner, values):
        """Have a copy of what an operand held, which the tape made before that was written to, be the operand's value."""
        if tensor.layout.weak or id(tensor.memory) in self.cells:
            return
        layout = tensor.layout
        value = next(value for t, value in zip(inner, values)
                     if isinstance(t, Tensor) and t.address == inner[0].address and t.layout.shape == layout.shape)
        if value.layout is not layout:                   # of a region, say: a copy has no gaps
            value, = self.emit("clone", [value], (layout.dtype,), [layout])
        self._cell_of(tensor, value)

    # ------------------------------------------------------------ views
    def view(self, function, layout, *args):
        name = function.__name__
        if name == "moved_order":
            return function(layout, *args)
        x = layout.tensor()
        inside = self.inside(x := tensor_of(layout) if x is None else x)
        if freezes(name, layout, args):
            self.freezing(x, self)
        counts, given, args = counts_of(layout), args, unfrozen(name, layout, args)
        made = OTHERS[f"view.{name}"](inside, *args)
        if made is None or self.over:
            return made if made is None else (made.layout, 0)
        if name == "slice_dim":
            counts = counts_after(name, args, [layout], made.layout)
        value = self.value_of(x)
        if name == "as_strided":                         # from the tensor's first element on, wherever that will be
            name = "part"
            args = (*args[:2], (made.address - inside.address) // made.layout.dtype.itemsize)
        name = name if name == "part" else f"view.{name}"
        parts = list(made) if isinstance(made, (tuple, list)) else [made]
        values = self.emit(name, [value], args, [part.layout for part in parts])
        if name != "part":
            layout.cell.parts.update({(part.layout, part.address): v for part, v in zip(parts, values)})
        if args != given:
            counts |= {n for n, size in zip(given[0], args[0]) if n != size}
        result = tuple([(self.traced(p, layout.cell, v, layout.cell.version, counts).layout, 0) for p, v in zip(parts, values)])
        return result if isinstance(made, (tuple, list)) else result[0]

    def viewed(self, x, layout):
        if layout is x.layout:                           # a view of all
            made = view_as(self.inside(x), layout.value)
            return self.traced(made, layout.cell, self.value_of(x), layout.cell.version, counts_of(layout))
        out = tensor_of(layout)
        if isinstance(layout, Traced):
            layout.tensor = ref(out)
            layout.cell.tensors.add(out)
        return out

    def place(self, x):
        x.layout.place = x.layout.value.node = x.node

    def detached(self, x):
        inside = detach(self.inside(x))
        if self.over:
            return inside
        value, = self.emit("detach", [self.value_of(x)], (), [inside.layout])
        return self.traced(inside, x.layout.cell, value, x.layout.cell.version, counts_of(x.layout))

    def detach_in_place(self, x):
        super().detach_in_place(x)
        inside = self.inside(x)
        if not self.over:
            x.layout.current, = self.emit("detach", [self.value_of(x)], (), [inside.layout])

    def asked_size(self, x):
        if isinstance(x.layout, Counted) and not self.over:
            self.freezing(x, self)

    def each_like(self, x, made):
        self.asked_size(x)
        return super().each_like(x, made)

    # ------------------------------------------------------------ values
    def values(self, x):
        if not self.over:
            self.freezing(x, self)
        return self.inside(x)

    def text(self, x, prefix):
        return repr(self.inside(x))

    # ------------------------------------------------------------ backward
    def backward(self, node, grad):
        """The gradients for a node's edges."""
        if node in self.counted:
            self.freezing(None, self)                    # its derivative asks how many elements there were
        if not self.final or (primitive := differentiated(node, self.exact)) is None:
            return node.differentiable_backward(grad)
        tensors, attributes = given_to(node, grad)
        op = PREFIX + primitive.key
        made = run_gradient(op, [self.inside(t) for t in tensors], attributes)
        values = self.emit(op, [None if t is None else self.value_of(t) for t in tensors], attributes, [t.layout for t in made])
        gradients = map(self.result, made, values)
        return [next(gradients) if wanted else None for wanted in attributes[2]]

    # ------------------------------------------------------------ what is saved for backward
    def pack(self, tensor):
        """What the tape keeps of a tensor. While a call is made, it is a tensor inside."""
        if isinstance(tensor.layout, Wrapping):
            return tensor
        saved = Saved(tensor)
        self.packed.append(saved)
        return saved

    @contextlib.contextmanager
    def _packing(self):
        """What calls inside save goes into a list, past hooks of the function's own, which `_hook` calls with traced tensors."""
        before, self.packed, hooks = self.packed, [], modes.saved_hooks
        modes.saved_hooks = (self.hooks.pair,)
        try:
            yield self.packed
        finally:
            self.packed, modes.saved_hooks = before, hooks

    def _hook(self, kept):
        """Have hooks of the function's own, as those of a checkpoint, take what a call saved."""
        hooks = modes.saved_hooks
        if hooks and hooks[-1] is not self.hooks.pair:
            for saved in kept:
                if not saved.tensor.layout.weak:
                    saved.hooked = packed(self.unpack(saved), saved.tensor.memory)

    def unpack(self, saved):
        if isinstance(saved, Tensor):
            return saved
        if saved.hooked is not None and not self.over:
            value, unpack = saved.hooked
            return unpack(value)
        tensor, version = saved.tensor, saved.version
        cell = self.cells.get(id(tensor.memory))
        if self.over or tensor.layout.weak:
            return tensor
        if cell is None:                                 # as a constant it would be what it is now for ever
            raise NotImplementedError("trace: a call keeps for its derivative what is neither its arguments nor its results")
        if not cell.version and cell.first is not None and not self._is_live(cell):
            return tensor                                # a constant is as it is
        if tensor.memory.version != version:
            raise RuntimeError("one of the variables needed for gradient computation has been modified by an inplace operation")
        return self.traced(tensor, cell, self._value_in(cell, tensor), cell.version)

    # ------------------------------------------------------------ the end
    def _returned(self, x):
        """The value of a tensor that is returned. One that the function made of constants is new in each call: callers write."""
        value = self.value_of(x)
        if isinstance(value, Value) and not isinstance(x.layout, Traced) and id(x) not in self.names:
            cell = self.cells[id(x.memory)]
            value = self.value_of(clone(self.traced(x, cell, value, cell.version)))
        return value

    def finish(self, result: Any) -> Graph:
        """The graph, of what the function returned.

        Args:
            result: tensors in tuples, lists and dicts.
        """
        graph = self.graph
        graph.set_result(structured(result, functools.cache(self._returned)))
        for cell in self.cells.values():
            first = cell.first
            if first is not None and cell.version and self._is_live(cell) and cell.value is not first:
                graph.writes.append((first, cell.value))
        for tensor, _ in self.adopted:
            leaf = tensor.node
            if isinstance(leaf, Leaf) and leaf.grad is not None and isinstance(leaf.grad.layout, Traced):
                first = tensor.layout.cell.first
                assert first is not None
                entry = first, self.value_of(leaf.grad)
                if entry not in graph.gradients:         # a leaf may have several tensors, such as one that waits for the collector
                    graph.gradients.append(entry)
        graph.forget_kept()
        return graph
