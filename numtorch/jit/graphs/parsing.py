"""The text of a graph, read (graph.py says what it is). Nothing of it is executed: it is taken apart by Python's parser, and what
is no literal and none of the few names is refused."""
from __future__ import annotations

import ast
import collections
import functools
import math
import re

from ...devices import cpu, device
from ...dtypes import dtype
from ...layout import Layout, channels_last, channels_last_3d, contiguous_format, preserve_format
from ...ops.core.generator import default_generator
from ...ops.spatial.conv import Window
from ...ops.spatial.resample import maps_of
from ...tree import flatten
from .graph import CONSTANT, Graph, Node, Value
from .scriptcalls import SCRIPTS

_NAME = re.compile(r"%(\w+)")
_TYPE = r"(\w+)(\[[^\]]*\])(?:@(\([^)]*\)))?(?: on ([\w:]+))?( weak)?"
_VALUE = re.compile(rf"%(\w+): {_TYPE}")


def parse(text: str, constants: dict | None = None) -> Graph:
    """The graph that a text describes.

    Args:
        text: as `str(graph)` gives it.
        constants: the tensors that it holds, by name; without them it can be looked at, and not run.

    Raises:
        ValueError: the text is none, with the line.

    Example:
        >>> import numtorch as torch
        >>> graph = torch.jit.trace(torch.sin, torch.zeros(2)).graph
        >>> str(torch.jit.parse(str(graph))) == str(graph)
        True
    """
    return _Reader(constants).read(text)


class _Reader:
    def __init__(self, constants) -> None:
        self.graph = Graph()
        self.given = constants
        self.values: dict[str, Value] = {}

    def read(self, text):
        done = False
        for number, line in enumerate(text.splitlines(), 1):
            line = line.strip()
            if not line:
                continue
            try:
                done = self._line(line) or done
            except (SyntaxError, KeyError, ValueError, IndexError, TypeError, AttributeError, OverflowError, RuntimeError,
                    RecursionError) as error:
                raise ValueError(f"graph: line {number} is none of a graph: {line[:200]} ({error})") from None
        if not done:
            raise ValueError("graph: the text ends without a `return`")
        self.graph.verify()
        self.graph.handed_out = True
        return self.graph

    def _line(self, line):
        graph = self.graph
        if line.startswith("graph("):
            if not line.endswith("):"):
                raise ValueError("expected `graph(...):`")
            for name, layout in self._typed(line[6:-2]):
                self._define(Value(name, layout), graph.inputs)
            return False
        if line.startswith(("write ", "grad ")):
            kind, rest = line.split(" ", 1)
            target, value = rest.split(" <- ")
            pairs = graph.writes if kind == "write" else graph.gradients
            pairs.append((self.values[target.strip()[1:]], self.values[value.strip()[1:]]))
            return False
        if line.startswith("return"):
            graph.results, graph.form = flatten(self._value(self._tree(line[6:].strip())))
            return True
        typed, rest = [], line
        if line.startswith("%"):
            left, _, rest = line.partition(" = ")
            typed = self._typed(left)
        node = self._call(self._tree(rest))
        graph.nodes.append(node)
        for name, layout in typed:
            self._define(Value(name, layout, node), node.outputs)
        if node.op in (CONSTANT, *SCRIPTS):
            name = node.attributes[0]
            graph.constants[name] = None if self.given is None else self.given[name]
        return False

    def _define(self, value, into):
        if value.name in self.values:
            raise ValueError(f"%{value.name} is there twice")
        self.values[value.name] = value
        self.graph._names.add(value.name)
        into.append(value)

    def _typed(self, text):
        names, at = [], 0
        while at < len(text):
            match = _VALUE.match(text, at)
            if match is None:
                raise ValueError(f"expected `%name: type`, got {text[at:at + 40]!r}")
            name, kind, shape, strides, place, weak = match.groups()
            layout = Layout.of(dtype.by_name[kind], tuple(ast.literal_eval(shape)), ast.literal_eval(strides) if strides else None,
                               cpu if place is None else device(place), weak is not None)
            names.append((name, layout))
            at = match.end() + (2 if text.startswith(", ", match.end()) else 0)
        return names

    def _tree(self, text):
        return ast.parse(_NAME.sub(r"v_.n_\1", text), mode="eval").body

    def _call(self, tree):
        if not isinstance(tree, ast.Call):
            raise ValueError("expected a call")
        target, attributes = tree.func, ()
        if isinstance(target, ast.Subscript):
            attributes = self._value(target.slice)
            target = target.value
        op = ast.unparse(target)
        options = {}
        for keyword in tree.keywords:
            if keyword.arg not in ("writes", "keeps", "wanted", "draws"):
                raise ValueError(f"{keyword.arg} is not known")
            options[keyword.arg] = self._value(keyword.value)
        return Node(op, [self._value(each) for each in tree.args], attributes, **options)

    def _value(self, tree):
        """What a literal stands for. Nothing is called but what is named here."""
        if isinstance(tree, ast.Constant):
            return tree.value
        if isinstance(tree, ast.Attribute) and isinstance(tree.value, ast.Name) and tree.value.id == "v_":
            return self.values[tree.attr[2:]]
        if isinstance(tree, ast.Tuple):
            return tuple([self._value(each) for each in tree.elts])
        if isinstance(tree, ast.List):
            return [self._value(each) for each in tree.elts]
        if isinstance(tree, ast.Dict):
            return {self._value(k): self._value(v) for k, v in zip(tree.keys, tree.values)}
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            return -self._value(tree.operand)
        if isinstance(tree, ast.Name):
            if tree.id in dtype.by_name:
                return dtype.by_name[tree.id]
            return {"inf": math.inf, "nan": math.nan, "default_generator": default_generator}[tree.id]
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and not tree.keywords:
            arguments = [self._value(each) for each in tree.args]
            return _CALLS[tree.func.id](*arguments)
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and not tree.args:
            kind = _named(tree.func.id, tuple([str(each.arg) for each in tree.keywords]))
            return kind(*[self._value(each.value) for each in tree.keywords])
        raise ValueError(f"{ast.unparse(tree)} is no literal")


@functools.lru_cache(256)
def _named(name, fields):
    """The class of named tuples that a text has: its names are looked at, and nothing of the user's is known of it."""
    return collections.namedtuple(name, fields)


def _layout(kind, shape, strides, place, weak):
    return Layout.of(kind, shape, strides, device(place), weak)


# ops compare them by identity
_FORMATS = {str(each): each for each in (contiguous_format, preserve_format, channels_last, channels_last_3d)}
_CALLS = {"slice": slice, "device": device, "layout": _layout, "complex": complex, "Window": Window,
          "memory_format": _FORMATS.__getitem__, "maps": maps_of}
