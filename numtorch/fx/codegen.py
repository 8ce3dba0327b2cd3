"""The text of a graph as Python: what each node computes, and what the names in it stand for."""
from __future__ import annotations

import builtins
import enum
import keyword
import math
import operator
import re
import types
import typing
from typing import TYPE_CHECKING, Any

from ..devices import device
from ..dtypes import dtype
from ..layout import memory_format
from ..tensor import Tensor
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
# Of these what is written to is the value.
_IN_PLACE = {
    "iadd": "{} += {}", "isub": "{} -= {}", "imul": "{} *= {}", "itruediv": "{} /= {}", "ifloordiv": "{} //= {}",
    "imod": "{} %= {}", "ipow": "{} **= {}", "imatmul": "{} @= {}", "ilshift": "{} <<= {}", "irshift": "{} >>= {}",
    "iand": "{} &= {}", "ior": "{} |= {}", "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}
NAMES = {"inf": math.inf, "nan": math.nan, "NoneType": type(None)}       # that stand for one thing in every text


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
        if isinstance(value, device):
            self.known["device"] = device
            return repr(value)
        if isinstance(value, (dtype, memory_format)):
            self.known["torch"] = _torch()
            return repr(value)
        if isinstance(value, enum.Enum):
            return f"{self.named(type(value), type(value).__name__)}.{value.name}"
        if value is None or value is Ellipsis or isinstance(value, (bool, int, str, bytes)):
            return repr(value)
        if isinstance(value, float):
            self.known.update({} if math.isfinite(value) else NAMES)
            return repr(value)
        if isinstance(value, complex) and value - value == 0:
            return repr(value)
        return self.named(value, f"_{type(value).__name__}")

    def annotation(self, kind):
        """A type, each of whose parts has a name of its own: `typing_List[int]`."""
        parts = getattr(kind, "__args__", ())
        if isinstance(kind, types.UnionType):
            return "|".join(map(self.annotation, parts))
        if parts:
            of_typing = not isinstance(kind, types.GenericAlias) and kind.__origin__ is not typing.Union
            outer = getattr(typing, kind._name or "", kind.__origin__) if of_typing else kind.__origin__
            return f"{self.annotation(outer)}[{','.join(map(self.annotation, parts))}]"
        if isinstance(kind, (str, int, bytes)) or kind is Ellipsis:            # also those of a Literal
            return "..." if kind is Ellipsis else repr(kind)
        if kind is Tensor or kind in NAMES.values():
            self.known.update(NAMES if kind is not Tensor else {"torch": _torch()})
            return type_name(kind)
        return kind.__name__ if vars(builtins).get(getattr(kind, "__name__", "")) is kind else self.named(kind, type_name(kind))

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

    def assignment(self, node, target):
        """The statements that make a node's value."""
        form = _IN_PLACE.get(getattr(node.target, "__name__", "")) if node.op == "call_function" else None
        if form is None or node.target is not getattr(operator, node.target.__name__) or not isinstance(node.args[0], Node):
            return f"{target} = {self.expression(node)}"
        owner, *others = node.args
        return f"{form.format(owner.name, *map(self.shown, others))};  {target} = {owner.name}"

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
    """Writes a graph's `forward`. Subclasses say otherwise what it takes and returns."""

    _body_transformer: Any = None                        # what makes other lines of those of the body (Graph.on_generate_code)

    # ------------------------------------------------------------ what subclasses may say
    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line that begins the function.

        Args:
            free_vars: its arguments, as they are written.
            maybe_return_annotation: ` -> ` and a type, or nothing.
        """
        arguments = free_vars if free_vars[:1] == ["self"] else ["self", *free_vars]
        return f"def forward({', '.join(arguments)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any) -> str:
        """The line that returns.

        Args:
            output_args: what is returned, of which `repr` gives the text.
        """
        return f"return {output_args!r}"

    def process_inputs(self, *args: Any) -> Any:
        """The graph's arguments, of those that the function takes: what its first lines do.

        Args:
            args: of a call.
        """
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What the function returns, of what the graph does.

        Args:
            outputs: of the graph.
        """
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names that stand in these lines, with their values."""
        return []

    # ------------------------------------------------------------ the text
    def code(self, graph: Graph, root: str = "self") -> tuple[str, dict]:
        """The text, and what its names stand for.

        Args:
            graph: the graph.
            root: what modules and attributes are found in.
        """
        names, arguments = _Names(root), dict[str, str]()
        names.known.update(self.additional_globals())
        lines: list[str] = []
        done, returned = _last_uses(graph), ""
        for node in graph.nodes:
            said = "" if node.type is None else names.annotation(node.type)
            if node.op == "placeholder":
                raw = str(node.target).lstrip("*")       # by which callers have it
                if raw in arguments or not raw.isidentifier() or keyword.iskeyword(raw):
                    raw = node.name
                default = f" = {names.shown(node.args[0])}" if node.args else ""
                arguments[raw] = f"{'*' * str(node.target).count('*')}{raw}{f' : {said}' if said else ''}{default}"
                if raw != node.name:
                    lines.append(f"{node.name} = {raw}")
            elif node.op == "output":
                returned = f" -> {said}" if said else ""
                lines.append(self.generate_output(_Text(names.shown(node.args[0]))))
            else:
                ended = [used.name for used in done.get(node, [])] + ([] if node.users else [node.name])
                end = f";  {' = '.join([*ended, 'None'])}" if ended else ""
                lines.append(names.assignment(node, f"{node.name}{f' : {said}' if said else ''}") + end)
        if self._body_transformer is not None:
            lines = "".join(self._body_transformer([f"{line}\n" for line in lines])).splitlines()
        body = "\n".join(f"    {line}" for line in lines or ["pass"])
        return f"\n\n\n{self.gen_fn_def(list(arguments.values()), returned)}\n{body}\n    ", names.known


class _Text:
    """Something that is written so."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def _last_uses(graph):
    """The nodes of which each node makes the last use, in the order of its arguments."""
    done: dict[Node, list[Node]] = {}
    used_later: set[Node] = set()
    for node in reversed(graph.nodes):
        ended = [used for used in node.all_input_nodes if used not in used_later]
        used_later.update(ended)
        if ended:
            done[node] = ended
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
