"""Calls in order. Their text as Python is written in codegen.py."""
from __future__ import annotations

import builtins
import contextlib
import copy
import keyword
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from .codegen import NAMES
from .codegen import CodeGen as CodeGen
from .node import Argument, Node, Target, map_arg, path_of

_TAKEN = frozenset(("self", "torch", "device", "fx_pytree", "pytree", *NAMES))          # what no node is called


class Graph:
    """A program as nodes in order.

    Args:
        owning_module: the module that it is of.
        tracer_cls: the class of what made it.

    Attributes:
        nodes: the nodes, which may be iterated over while they change.

    Example:
        >>> import numtorch as torch
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> _ = graph.output(graph.call_function(torch.relu, (x,)))
        >>> torch.fx.GraphModule({}, graph)(torch.tensor([-1., 2.]))
        tensor([0., 2.])
    """

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None) -> None:
        self._nodes: list[Node] = []
        self._names: dict[str, int] = {}
        self._root = Node(self, "", "root", "")          # behind the last node and before the first, as PyTorch has it
        self._before: Node | None = None
        self.owning_module, self._tracer_cls = owning_module, tracer_cls
        self._codegen = CodeGen()

    @property
    def nodes(self) -> _Nodes:
        return _Nodes(self)

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind.

        Args:
            op: the kind.
            target: what they call; anything where it is None.
            sort: taken for PyTorch's sake.
        """
        return [node for node in self._nodes if node.op == op and (target is None or node.target == target)]

    def output_node(self) -> Node:
        """The node that returns."""
        return self.find_nodes(op="output")[0]

    # ------------------------------------------------------------ names and places
    def _name(self, wanted):
        wanted = re.sub(r"[^0-9a-zA-Z_]+", "_", wanted) or "_unnamed"
        if wanted[0].isdigit():
            wanted = f"_{wanted}"
        match = re.fullmatch(r"(.*)_(\d+)", wanted)
        base = match[1] if match and match[1] else wanted
        number = int(match[2]) if match and match[1] else None
        result = wanted
        if number is None and (hasattr(builtins, base) or keyword.iskeyword(base) or base in _TAKEN):
            result, number = f"{base}_1", 1
        used = self._names
        while result in used:
            number = used.get(f"#{base}", 0) + 1 if number is None else number + 1
            result = f"{base}_{number}"
        used[result] = 1
        used[f"#{base}"] = number or 0
        return result

    def _neighbour(self, node, step):
        ring = [*self._nodes, self._root]
        return ring[(ring.index(node) + step) % len(ring)]

    def _move(self, node, anchor, behind):
        if node is not anchor:
            self._nodes.remove(node)
            ring = [*self._nodes, self._root]
            self._nodes.insert((ring.index(anchor) + behind) % len(ring), node)

    @contextlib.contextmanager
    def inserting_before(self, n: Node | None = None) -> Iterator[None]:
        """While the context lasts, new nodes come before a node.

        Args:
            n: the node; the first where it is None.
        """
        before, self._before = self._before, n if n is not None else (self._nodes[0] if self._nodes else None)
        try:
            yield
        finally:
            self._before = before

    @contextlib.contextmanager
    def inserting_after(self, n: Node | None = None) -> Iterator[None]:
        """While the context lasts, new nodes come behind a node.

        Args:
            n: the node; the last where it is None.
        """
        before, self._before = self._before, None if n is None else n.next
        try:
            yield
        finally:
            self._before = before

    # ------------------------------------------------------------ making nodes
    def create_node(self, op: str, target: Target, args: tuple | None = None, kwargs: dict | None = None, name: str | None = None,
                    type_expr: Any = None) -> Node:
        """A new node, where new nodes come.

        Args:
            op, target, args, kwargs: what it is (`Node`).
            name: what it should be called.
            type_expr: the type of its value.
        """
        if name is None:
            path = path_of(target) if callable(target) and hasattr(target, "__name__") else str(target)
            name = path.rpartition(".")[2] if path.startswith("torch.") else getattr(target, "__name__", path)
            name = _snake(name[2:-2] if re.fullmatch("__.+__", name) else name)
        node = Node(self, self._name(name), op, target, tuple(args or ()), dict(kwargs or {}), type_expr)
        last = self._before is None or self._before is self._root
        self._nodes.insert(len(self._nodes) if last else self._nodes.index(self._before), node)  # type: ignore[arg-type]
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An argument.

        Args:
            name: its name, with stars for `*args` and `**kwargs`.
            type_expr: its type.
            default_value: its default.
        """
        return self.create_node("placeholder", name, () if default_value is ... else (default_value,), {}, None, type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or other attribute of the module.

        Args:
            qualified_name: its path.
            type_expr: its type.
        """
        if self.owning_module is not None and not leads_somewhere(self.owning_module, qualified_name):
            warnings.warn(f"Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! "
                          f"{qualified_name} is no submodule, parameter or buffer of it", stacklevel=2)
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_function(self, the_function: Callable, args: tuple | None = None, kwargs: dict | None = None,
                      type_expr: Any = None, name: str | None = None) -> Node:
        """A call of a function.

        Args:
            the_function: it.
            args, kwargs: of the call.
            type_expr, name: of the node.
        """
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def call_method(self, method_name: str, args: tuple | None = None, kwargs: dict | None = None, type_expr: Any = None) -> Node:
        """A call of a method of the first argument.

        Args:
            method_name: its name.
            args, kwargs: of the call.
            type_expr: of the node.
        """
        return self.create_node("call_method", method_name, args, kwargs, None, type_expr)

    def call_module(self, module_name: str, args: tuple | None = None, kwargs: dict | None = None, type_expr: Any = None) -> Node:
        """A call of a submodule.

        Args:
            module_name: its path.
            args, kwargs: of the call.
            type_expr: of the node.
        """
        if self.owning_module is not None and not leads_somewhere(self.owning_module, module_name):
            warnings.warn(f"Attempted to insert a call_module Node with no underlying reference in the owning GraphModule! Call "
                          f"GraphModule.add_submodule to add the necessary submodule {module_name}", stacklevel=2)
        return self.create_node("call_module", module_name, args, kwargs, None, type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """The return.

        Args:
            result: what is returned.
            type_expr: its type.
        """
        return self.create_node("output", "output", (result,), {}, None, type_expr)

    def node_copy(self, node: Node, arg_transform: Callable = lambda node: node) -> Node:
        """A copy of a node, where new nodes come.

        Args:
            node: of this graph or another.
            arg_transform: what stands here for the nodes it uses.
        """
        args, kwargs = map_arg((node.args, node.kwargs), arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = dict(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict, return_output_node: bool = False) -> Any:
        """Copies of all nodes of a graph but its return.

        Args:
            g: the graph.
            val_map: nodes of this graph for nodes of that one; it grows.
            return_output_node: return the node of its return too.

        Returns:
            What it returns, as nodes of this one.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda each: val_map[each])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda each: val_map[each])
        return None

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out.

        Args:
            to_erase: it.

        Raises:
            RuntimeError: others use it.
        """
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                               f"{to_erase.users}!")
        if to_erase in self._nodes:
            to_erase._update((), {})
            if self._before is to_erase:
                self._before = to_erase.next
            self._nodes.remove(to_erase)

    def eliminate_dead_code(self, is_impure_node: Callable | None = None) -> bool:
        """Take out what nobody uses.

        Args:
            is_impure_node: says of a node whether it stays nevertheless; by default `Node.is_impure`.

        Returns:
            Whether there was any.
        """
        self.lint()
        changed = False
        for node in reversed(self._nodes[:]):
            stays = is_impure_node(node) if is_impure_node is not None else node.is_impure()
            if not node.users and not stays and node.op not in ("placeholder", "output"):
                self.erase_node(node)
                changed = True
        return changed

    def lint(self) -> None:
        """Raise RuntimeError where this is no program: a name twice, a node used before it is there, a module that is not there."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self._nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            for used in node.all_input_nodes:
                if used not in seen:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' was used before it has been defined! Please check that "
                                       f"Nodes in the graph are topologically ordered\n{self}")
            names.add(node.name)
            seen.add(node)
            if node.op in ("get_attr", "call_module") and self.owning_module is not None:
                if not leads_somewhere(self.owning_module, str(node.target)):
                    raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute of the module")

    # ------------------------------------------------------------ text
    def python_code(self, root_module: str = "self", **options: Any) -> PythonCode:
        """The program as Python.

        Args:
            root_module: what modules and attributes are found in.
            options: taken for PyTorch's sake.
        """
        return PythonCode(*self._codegen.code(self, root_module))

    def set_codegen(self, codegen: CodeGen) -> None:
        """Have something else write the text.

        Args:
            codegen: it.
        """
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable) -> contextlib.AbstractContextManager:
        """Have the lines of the text changed whenever it is written, from now on or while the context lasts that is returned.

        Args:
            make_transformer: is given what changes them so far, or None, and gives what does: a function of a list of lines, each
                with its end, that returns such a list.

        Example:
            >>> import numtorch as torch
            >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x))
            >>> with traced.graph.on_generate_code(lambda before: lambda lines: ["print(x.shape)\\n", *lines]):
            ...     _ = traced.recompile()
            >>> traced(torch.ones(2))
            torch.Size([2])
            tensor([1., 1.])
        """
        codegen = self._codegen
        before = codegen._body_transformer
        codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def lasting():
            try:
                yield
            finally:
                codegen._body_transformer = before
        return lasting()

    def process_inputs(self, *args: Any) -> Any:
        """The graph's arguments, of those that its code takes.

        Args:
            args: of a call.
        """
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """What its code returns, of what the graph does.

        Args:
            out: of the graph.
        """
        return self._codegen.process_outputs(out)

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [(n.op, n.name, str(n.target), str(n.args), str(n.kwargs)) for n in self._nodes]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        print("\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]]))

    def __str__(self):
        return "\n    ".join(["graph():", *[node.format_node() for node in self._nodes]])

    def __deepcopy__(self, memo=None):
        made = Graph(tracer_cls=self._tracer_cls)
        output, node = made.graph_copy(self, {}, return_output_node=True) or (None, None)
        if node is not None:
            made.output(output, node.type).meta = dict(node.meta)
        made._codegen = copy.copy(self._codegen)
        return made


class PythonCode:
    """A program as Python.

    Attributes:
        src: the text.
        globals: what its names stand for.
    """

    def __init__(self, src: str, names: dict) -> None:
        self.src, self.globals = src, names


class _Nodes:
    """A graph's nodes. One that is put behind the current one while they are gone through is met too, one taken out is not."""

    def __init__(self, graph) -> None:
        self.graph = graph

    def __len__(self) -> int:
        return len(self.graph._nodes)

    def __getitem__(self, index):
        return self.graph._nodes[index]

    def __iter__(self) -> Iterator[Node]:
        return self._through(self.graph._nodes)

    def __reversed__(self) -> Iterator[Node]:
        return iter(self.graph._nodes[::-1])

    @staticmethod
    def _through(nodes: list[Node]) -> Iterator[Node]:
        place, seen = 0, set()
        while place < len(nodes):
            node = nodes[place]
            if node not in seen:
                seen.add(node)
                yield node
                place = nodes.index(node) + 1 if node in nodes else place
            else:
                place += 1


def leads_somewhere(module: Any, path: str) -> bool:
    """Whether a module has something at a path."""
    for part in path.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True


def _snake(name: str) -> str:
    """A name as of a variable: `ReLU` is `re_lu`, as in PyTorch."""
    name = name.replace(".", "_")
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()
