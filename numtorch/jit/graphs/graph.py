"""A program as a graph: what is computed of what, each value once (static single assignment), and every value with its layout.

    graph(%x: float32[2, 3], %w: float32[4, 3]):
      %0: float32[3, 4]@(1, 3) = view.transpose[0, 1](%w)
      %1: float32[2, 4] = mm(%x, %0)
      return %1

A node calls an op on values and numbers; in brackets stand its attributes. Ops are primitives under their names, views (`view.`
and the name in viewalgebra.py), and `detach`. Nothing is written in place: where a primitive writes, its node has `writes`, the
places of the arguments that it would write to, and gives what they would hold. What a call keeps for its derivative is a result too
(`keeps`). What the program leaves in memory that was there before stands at the end:

      write %running_mean <- %7

`str(graph)` is such text, and `parse` (parsing.py) reads it; tracing.py makes graphs, interpreter.py runs them. What stands in
brackets and behind `return` are Python's literals, and a few names: dtypes, `slice(0, 2, None)`, `device('cpu')`, `inf`, `nan`,
`layout(float32, (2, 3), (3, 1), 'cpu', False)`, `Window(...)` of convolution, `default_generator`. A named tuple has its fields:
`return max(values=%0, indices=%1)`.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable
from typing import Any

from ...devices import cpu, device
from ...drawing import Drawing
from ...dtypes import dtype
from ...layout import Layout, Size, memory_format
from ...ops.core.generator import Generator, default_generator
from ...ops.core.late import later
from ...ops.spatial.conv import Window
from ...ops.spatial.resample import Maps
from ...tree import flatten, unflatten
from .gradients import is_gradient
from .operations import CONSTANT, is_known
from .scriptcalls import SCRIPTS


class Value:
    """One value of a graph.

    Attributes:
        name: unique in its graph.
        layout: its type.
        node: what computes it; None for an input.
    """

    __slots__ = ("name", "layout", "node")

    def __init__(self, name: str, layout: Layout, node: Node | None = None) -> None:
        self.name, self.layout, self.node = name, layout, node

    def __repr__(self):
        return f"%{self.name}"


class Node:
    """A call.

    Attributes:
        op: what is called.
        inputs: values, numbers, and None for a tensor that is left out.
        attributes: the call's other arguments, hashable.
        outputs: what it gives: results, then what is written, then what is kept.
        writes: the places of the inputs that the call writes to.
        keeps: of the tensors that the call saves for its derivative by `wanted`, those that are results.
        wanted: the places of the inputs by which it is differentiable there.
        draws: whether it moves a stream of random numbers on, or may: then it is made although nobody uses what it gives.
        module: (path, class) of the module that made the call, where a graph of torch.fx was traced; else None.
    """

    __slots__ = ("op", "inputs", "attributes", "outputs", "writes", "keeps", "wanted", "draws", "module")

    def __init__(self, op, inputs, attributes=(), writes=(), keeps=(), wanted=(), draws=False) -> None:
        self.op, self.inputs, self.attributes = op, list(inputs), tuple(attributes)
        self.writes, self.keeps, self.wanted = tuple(writes), tuple(keeps), tuple(wanted)
        self.draws, self.outputs = draws, list[Value]()
        self.module: tuple[str, type] | None = None

    def values(self) -> list[Value]:
        """The inputs that are values."""
        return [value for value in self.inputs if isinstance(value, Value)]

    def __repr__(self):
        return f"<{self.op} -> {', '.join(map(repr, self.outputs))}>"


class Graph:
    """A program over tensors.

    Attributes:
        inputs: values.
        nodes: calls, each behind those whose values it uses.
        results, form: what it returns, flattened, and the structure of that (tree.py); what is no value is as it is.
        writes: (value, what the memory of it holds afterwards), of inputs and constants.
        gradients: (value, its gradient afterwards), of inputs and constants.
        constants: tensors by the names under which nodes ask for them, and what calls of scripts call (scriptcalls.py).
        handed_out: whether users have it, who may change it by hand: then `verify` looks at what its calls give, too.
    """

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.nodes: list[Node] = []
        self.results: list[Any] = []
        self.form: Any = None
        self.writes: list[tuple[Value, Value]] = []
        self.gradients: list[tuple[Value, Value]] = []
        self.constants: dict[str, Any] = {}
        self.handed_out = False
        self._names: set[str] = set()
        self._numbers = 0

    # ------------------------------------------------------------ making one
    def name(self, wanted: str | None = None) -> str:
        """A name that no value has yet.

        Args:
            wanted: what it should look like; a number by default.
        """
        if wanted is None:
            while str(self._numbers) in self._names:
                self._numbers += 1
            result = str(self._numbers)
        else:
            result = free_name(wanted, self._names)
        self._names.add(result)
        return result

    def input(self, layout: Layout, name: str | None = None) -> Value:
        """A further input.

        Args:
            layout: its type.
            name: what it should be called.
        """
        value = Value(self.name(name), layout)
        self.inputs.append(value)
        return value

    def call(self, node: Node, layouts: Iterable[Layout], names: Iterable[str] = ()) -> list[Value]:
        """Put a node behind the others, and give its values names.

        Args:
            node: it.
            layouts: of its values.
            names: theirs; numbers by default.
        """
        given = iter(names)
        node.outputs = [Value(self.name(next(given, None)), layout, node) for layout in layouts]
        self.nodes.append(node)
        return node.outputs

    def constant(self, name: str, tensor, layout: Layout | None = None) -> Value:
        """A value that the graph holds.

        Args:
            name: of it, such as a parameter's; made unique.
            tensor: it.
            layout: its type, where that is not the tensor's.
        """
        while name in self.constants:
            name += "_"
        self.constants[name] = tensor
        node = Node(CONSTANT, (), (name,))
        node.outputs = [Value(self.name(name), layout or tensor.layout, node)]
        count = sum(n.op == CONSTANT for n in self.nodes)
        self.nodes.insert(count, node)                   # constants come first
        return node.outputs[0]

    def set_result(self, structure: Any) -> None:
        """What the program returns.

        Args:
            structure: values in tuples, lists and dicts.
        """
        self.results, self.form = flatten(structure)

    # ------------------------------------------------------------ looking at one
    def values(self) -> list[Value]:
        """All values, in the order in which they come to be."""
        return [*self.inputs, *[value for node in self.nodes for value in node.outputs]]

    def ends(self) -> list[Value]:
        """The values that the program hands out: results, what is written, gradients."""
        return [*[r for r in self.results if isinstance(r, Value)], *[new for _, new in self.writes],
                *[new for _, new in self.gradients]]

    def users(self) -> dict[Value, list[Node]]:
        """The nodes that use each value."""
        users: dict[Value, list[Node]] = {value: [] for value in self.values()}
        for node in self.nodes:
            for value in dict.fromkeys(node.values()):
                users[value].append(node)
        return users

    def last_uses(self) -> list[list[Value]]:
        """For each node the values that nobody needs behind it."""
        used = {value: place for place, node in enumerate(self.nodes) for value in node.values()}
        ends = {*self.ends(), *[target for target, _ in (*self.writes, *self.gradients)]}
        last: list[list[Value]] = [[] for _ in self.nodes]
        for value, place in used.items():
            if value not in ends:
                last[place].append(value)
        return last

    def replace(self, old: dict[Value, Any]) -> None:
        """Have others stand in the places of values.

        Args:
            old: for each, a value, or a number where only nodes use it.
        """
        def replaced(value):
            while isinstance(value, Value) and value in old:
                value = old[value]
            return value
        for node in self.nodes:
            node.inputs = [replaced(value) for value in node.inputs]
        self.results = [replaced(value) for value in self.results]
        self.writes = [(target, replaced(value)) for target, value in self.writes]
        self.gradients = [(target, replaced(value)) for target, value in self.gradients]

    def result(self, env: Callable[[Value], Any]) -> Any:
        """The structure of results, with what `env` says of each value.

        Args:
            env: a function of a value.
        """
        return unflatten([env(r) if isinstance(r, Value) else r for r in self.results], self.form)

    def forget_kept(self) -> None:
        """Have no node keep what nobody uses."""
        used = {value for node in self.nodes for value in node.values()} | set(self.ends())
        for node in self.nodes:
            if node.keeps:
                plain = len(node.outputs) - len(node.keeps)
                kept = [(place, value) for place, value in zip(node.keeps, node.outputs[plain:]) if value in used]
                node.keeps = tuple([place for place, _ in kept])
                node.outputs[plain:] = [value for _, value in kept]
                node.wanted = node.wanted if kept else ()

    def verify(self) -> None:
        """Raise ValueError where this is no program: a value used before it is there, two of one name, an op that is not known, a
        call that gives something else than the type of its value. Calls whose results hang on elements are not looked at."""
        seen: set[Value] = set()
        names: set[str] = set()

        def define(values):
            for value in values:
                if value.name in names:
                    raise ValueError(f"graph: %{value.name} is there twice")
                if not isinstance(value.layout, Layout):
                    raise ValueError(f"graph: %{value.name} has no layout, but {value.layout!r}")
                names.add(value.name)
                seen.add(value)

        def check(values, where):
            for value in values:
                if isinstance(value, Value) and value not in seen:
                    raise ValueError(f"graph: {where} uses %{value.name}, which is not there yet")
        define(self.inputs)
        for node in self.nodes:
            check(node.inputs, node.op)
            if not is_known(node.op):
                raise ValueError(f"graph: the op {node.op} is not known")
            if node.op in (CONSTANT, *SCRIPTS) and node.attributes[0] not in self.constants:
                raise ValueError(f"graph: there is no constant {node.attributes[0]!r}")
            if any(not isinstance(node.inputs[i], Value) for i in (*node.writes, *node.wanted)
                   if i < len(node.inputs)) or any(i >= len(node.inputs) for i in (*node.writes, *node.wanted)):
                raise ValueError(f"graph: {node.op} writes to what is no value")
            if any(value.node is not node for value in node.outputs):
                raise ValueError(f"graph: a value of {node.op} says that something else computes it")
            define(node.outputs)
        check(self.results, "the result")
        for target, value in (*self.writes, *self.gradients):
            check((target, value), "a write")
            if target.node is not None and target.node.op != CONSTANT:
                raise ValueError(f"graph: %{target.name} is written, which is neither an input nor a constant")
        if self.handed_out:
            later["check_calls"](self, self.constants)

    def copy(self) -> Graph:
        """The same program with nodes of its own, over the same constants."""
        made, new = Graph(), {}
        for value in self.inputs:
            new[value] = made.input(value.layout, value.name)
        for node in self.nodes:
            copied = Node(node.op, [new.get(v, v) if isinstance(v, Value) else v for v in node.inputs], node.attributes,
                          node.writes, node.keeps, node.wanted, node.draws)
            copied.module = node.module
            new.update(zip(node.outputs, made.call(copied, [v.layout for v in node.outputs], [v.name for v in node.outputs])))
        made.results, made.form = [new[r] if isinstance(r, Value) else r for r in self.results], self.form
        made.writes = [(new[a], new[b]) for a, b in self.writes]
        made.gradients = [(new[a], new[b]) for a, b in self.gradients]
        made.constants, made.handed_out = dict(self.constants), self.handed_out
        return made

    def draw(self) -> Drawing:
        """A picture: a box for each call, an oval for each input and constant.

        Example:
            >>> import numtorch as torch
            >>> graph = torch.jit.trace(torch.sin, torch.zeros(2)).graph
            >>> graph.draw().source.splitlines()[0]
            'digraph {'
        """
        lines = ["digraph {", '  node [fontname="monospace" fontsize=10];']
        for value in self.inputs:
            lines.append(f'  "{value.name}" [shape=oval label="{value.name}\\n{shown(value.layout)}"];')
        for number, node in enumerate(self.nodes):
            box = f"call{number}"
            title = node.attributes[0] if node.op == CONSTANT else node.op
            types = "\\n".join(shown(v.layout) for v in node.outputs)
            lines.append(f'  "{box}" [shape={"oval" if node.op == CONSTANT else "box"} label="{title}\\n{types}"];')
            for value in node.values():
                lines.append(f'  "{self._box(value)}" -> "{box}";')
        lines.append('  "result" [shape=plaintext];')
        lines += [f'  "{self._box(value)}" -> "result";' for value in self.results if isinstance(value, Value)]
        return Drawing("\n".join([*lines, "}"]))

    def _box(self, value):
        return value.name if value.node is None else f"call{self.nodes.index(value.node)}"

    def __str__(self):
        return write(self)


# ---------------------------------------------------------------- writing
def free_name(wanted: str, taken: Container[str]) -> str:
    """A name for Python like the one that is wanted, which is not among those `taken`."""
    stem = name = "".join(c if c.isalnum() or c == "_" else "_" for c in wanted) or "_"
    number = 1
    while name in taken:
        name, number = f"{stem}_{number}", number + 1
    return name


def shown(layout: Layout) -> str:
    """A type as text: dtype, shape, and strides where they are not row-major.

    Args:
        layout: it.
    """
    text = f"{layout.dtype.name}{list(layout.shape)}"
    if Layout.of(layout.dtype, layout.shape).strides != layout.strides:
        text += f"@{layout.strides}"
    if layout.device is not cpu:
        text += f" on {layout.device}"
    return text + (" weak" if layout.weak else "")


def literal(value: Any) -> str:
    """An attribute as text that `parse` understands. Raises TypeError for what has none.

    Args:
        value: it.
    """
    if isinstance(value, Value):
        return f"%{value.name}"
    if isinstance(value, bool) or value is None or value is Ellipsis:
        return repr(value)
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf") if math.isinf(value) else repr(float(value))
    if isinstance(value, complex):
        return f"complex({literal(value.real)}, {literal(value.imag)})"
    if isinstance(value, memory_format):
        return f"memory_format({str.__repr__(value)})"
    if isinstance(value, Maps):
        return f"maps({literal(value.kind)}, {literal(value.axes)}, {value.transposed})"
    if isinstance(value, str):
        return repr(value).replace("%", r"\x25")
    if isinstance(value, dtype):
        return value.name
    if isinstance(value, device):
        return f"device({str(value)!r})"
    if isinstance(value, Layout) and type(value) is Layout:
        return f"layout({value.dtype.name}, {literal(value.shape)}, {literal(value.strides)}, {str(value.device)!r}, {value.weak})"
    if isinstance(value, slice):
        return f"slice({literal(value.start)}, {literal(value.stop)}, {literal(value.step)})"
    if value is default_generator:
        return "default_generator"
    if isinstance(value, Window):
        return f"Window({literal(tuple(value))})"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return f"{type(value).__name__}({', '.join(f'{name}={literal(v)}' for name, v in zip(value._fields, value))})"
    if type(value) in (tuple, Size):
        return "(" + "".join(f"{literal(v)}, " for v in value).removesuffix("" if len(value) == 1 else ", ").rstrip() + ")"
    if type(value) is list:
        return "[" + ", ".join(map(literal, value)) + "]"
    if type(value) is dict:
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Generator):
        raise TypeError("graph: a generator other than torch.default_generator has no text")
    raise TypeError(f"graph: {type(value).__name__} has no text: {value!r}")


def call_text(node: Node) -> str:
    """The right side of a line.

    Args:
        node: it.
    """
    shown_as = repr if is_gradient(node.op) else literal           # what derivatives are planned by is shown, and not always read
    attributes = ", ".join(map(shown_as, node.attributes)) + ("," if len(node.attributes) == 1 else "")
    arguments = [literal(v) for v in node.inputs]
    for name in ("writes", "keeps", "wanted", "draws"):
        if getattr(node, name):
            arguments.append(f"{name}={literal(getattr(node, name))}")
    return f"{node.op}{f'[{attributes}]' if attributes else ''}({', '.join(arguments)})"


def write(graph: Graph) -> str:
    """A graph as text.

    Args:
        graph: it.
    """
    def typed(values):
        return ", ".join(f"%{v.name}: {shown(v.layout)}" for v in values)
    lines = [f"graph({typed(graph.inputs)}):"]
    for node in graph.nodes:
        lines.append(f"  {typed(node.outputs)}{' = ' if node.outputs else ''}{call_text(node)}")
    lines += [f"  write %{target.name} <- %{value.name}" for target, value in graph.writes]
    lines += [f"  grad %{target.name} <- %{value.name}" for target, value in graph.gradients]
    lines.append(f"  return {literal(unflatten(graph.results, graph.form))}")
    return "\n".join(lines)
