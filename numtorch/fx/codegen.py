"""The text of a graph as Python: what each node computes, and what the names in it stand for."""
from __future__ import annotations

import builtins
import keyword
import math
import operator
import re
from typing import TYPE_CHECKING

from ..dtypes import dtype
from ..layout import memory_format
from .node import Node, path_of, type_name

if TYPE_CHECKING:
    from .graph import Graph

# How Python writes what stands in `operator`.
_OPERATORS = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "truediv": "{} / {}", "floordiv": "{} // {}", "mod": "{} % {}",
    "pow": "{} ** {}", "matmul": "{} @ {}", "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}",
    "xor": "{} ^ {}", "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}",
    "pos": "+{}", "neg": "-{}", "invert": "~{}", "getitem": "{}[{}]",
}


class _Names:
    """How values are written, and what the names in the text stand for."""

    def __init__(self, root: str):
        self.root, self.known = root, {}

    def named(self, value, wanted):
        name, number = re.sub(r"\W", "_", wanted), 1
        while self.known.get(name, value) is not value:
            name, number = f"{name}_{number}", number + 1
        self.known[name] = value
        return name

    def shown(self, value):
        shown = self.shown
        if isinstance(value, Node):
            return value.name
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return f"{self.named(type(value), type(value).__name__)}({', '.join(map(shown, value))})"
        if isinstance(value, tuple):
            return "(" + "".join(f"{shown(v)}, " for v in value).removesuffix("" if len(value) == 1 else ", ").rstrip() + ")"
        if isinstance(value, list):
            return "[" + ", ".join(map(shown, value)) + "]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{shown(k)}: {shown(v)}" for k, v in value.items()) + "}"
        if isinstance(value, slice):
            return f"slice({shown(value.start)}, {shown(value.stop)}, {shown(value.step)})"
        if isinstance(value, (dtype, memory_format)):
            self.known["torch"] = _torch()
            return repr(value)
        if value is None or value is Ellipsis or isinstance(value, (bool, int, str, bytes)):
            return repr(value)
        if isinstance(value, float):
            self.known.update({} if math.isfinite(value) else {"inf": math.inf, "nan": math.nan})
            return repr(value)
        if isinstance(value, complex) and value - value == 0:
            return repr(value)
        return self.named(value, f"_{type(value).__name__}")

    def callee(self, target):
        path = path_of(target)
        if path.startswith("torch."):
            self.known["torch"] = _torch()
            return path
        if hasattr(builtins, path) and getattr(builtins, path) is target:
            return path
        return self.named(target, path)

    def attribute(self, path):
        text = self.root
        for part in str(path).split("."):
            text = f"{text}.{part}" if part.isidentifier() else f'getattr({text}, "{part}")'
        return text

    def call(self, function, args, kwargs):
        return f"{function}({', '.join([*map(self.shown, args), *[f'{k} = {self.shown(v)}' for k, v in kwargs.items()]])})"

    def expression(self, node):
        """What a node computes."""
        args, kwargs, shown = node.args, node.kwargs, self.shown
        if node.op == "get_attr":
            return self.attribute(node.target)
        if node.op == "call_module":
            return self.call(self.attribute(node.target), args, kwargs)
        if node.op == "call_method":
            return self.call(f"{_grouped(args[0], shown)}.{node.target}", args[1:], kwargs)
        name = getattr(node.target, "__name__", "")
        if getattr(operator, name, None) is node.target and name in _OPERATORS and not kwargs:
            parts = [_grouped(a, shown) if i == 0 or name != "getitem" else _index(a, shown) for i, a in enumerate(args)]
            return _OPERATORS[name].format(*parts)
        if node.target is getattr and len(args) == 2 and str(args[1]).isidentifier():
            return f"{shown(args[0])}.{args[1]}"
        return self.call(self.callee(node.target), args, kwargs)


class CodeGen:
    """Writes a graph's `forward`."""

    def code(self, graph: Graph, root: str = "self") -> tuple[str, dict]:
        """The text, and what its names stand for.

        Args:
            graph: the graph.
            root: what modules and attributes are found in.
        """
        names, arguments = _Names(root), dict[str, str]()
        lines: list[str] = []
        done = _last_uses(graph)
        for node in graph.nodes:
            if node.op == "placeholder":
                raw = str(node.target).lstrip("*")       # by which callers have it
                if raw in arguments or not raw.isidentifier() or keyword.iskeyword(raw):
                    raw = node.name
                said = type_name(node.type)
                names.known.update({"torch": _torch()} if said == "torch.Tensor" else {})
                default = f" = {names.shown(node.args[0])}" if node.args else ""
                arguments[raw] = f"{'*' * str(node.target).count('*')}{raw}{f' : {said}' if said else ''}{default}"
                if raw != node.name:
                    lines.append(f"{node.name} = {raw}")
            elif node.op == "output":
                lines.append(f"return {names.shown(node.args[0])}")
            else:
                ended = [used.name for used in done.get(node, [])] + ([] if node.users else [node.name])
                end = f";  {' = '.join([*ended, 'None'])}" if ended else ""
                lines.append(f"{node.name} = {names.expression(node)}{end}")
        body = "\n".join(f"    {line}" for line in lines or ["pass"])
        return f"\n\n\ndef forward({', '.join([root, *arguments.values()])}):\n{body}\n    ", names.known


def _last_uses(graph):
    """The nodes of which each node makes the last use."""
    last = {used: node for node in graph.nodes for used in node.all_input_nodes}
    done: dict[Node, list[Node]] = {}
    for used, node in last.items():
        done.setdefault(node, []).append(used)
    return done


def _torch():
    import numtorch
    return numtorch


def _grouped(value, shown):
    text = shown(value)
    return f"({text})" if isinstance(value, (int, float, complex)) and not text.isidentifier() and text.startswith("-") else text


def _index(value, shown):
    if isinstance(value, tuple) and value:
        return "(" + ", ".join(shown(v) for v in value) + ("," if len(value) == 1 else "") + ")"
    return shown(value)
