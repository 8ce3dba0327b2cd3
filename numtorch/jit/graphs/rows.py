"""Programs for other numbers of rows than they were traced with, for files: there the source is absent, so nothing is traced again.

The graphs for 5 and for 7 rows are the same text but for the integers that count rows, or what is in them: each of these lies on a
line through its two values. Whether it does for other numbers, too, is tried before such graphs are written; where the program is
another one for another number of rows (a loop over them, a number that is computed of theirs), there are none. Constants of its own
are the same for all numbers, or zeros, such as the state that a recurrent layer begins with.
"""
from __future__ import annotations

import re
from collections.abc import Callable

from ...ops.creation.fill import zeros
from ...ops.reduce.query import equal
from ...ops.reduce.reductions import count_nonzero
from ...tensor import Tensor
from .decompose import decomposed
from .graph import Graph
from .operations import CONSTANT
from .parsing import parse

COUNTS = 5, 7                                            # of rows, whose graphs are written
TRIED = 12, 31                                           # for which they must say what a trace does
_TOKEN = re.compile(r"""'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*"                  # strings
                        | \d+(?:\.\d+)?e[+-]?\d+ | \d+\.\d+                 # floating-point numbers
                        | [%\w.]*[A-Za-z_%][\w.]* | -?\d+ | .             # names, integers, the rest""", re.VERBOSE | re.DOTALL)
_STRIDES = re.compile(r"@\([^)]*\)")                     # of one row they may be anything


class Rows:
    """Graphs for any number of rows.

    Args:
        texts: those for `COUNTS`.
        least: rows that there must be.

    Raises:
        ValueError: they are not the same but for integers.
    """

    def __init__(self, texts: tuple[str, str], least: int) -> None:
        one, other = map(_TOKEN.findall, texts)
        if len(one) != len(other):
            raise ValueError("the graph for other rows has other calls")
        self.texts, self.least = texts, least
        self.tokens: list = one
        self.slopes: dict[int, int] = {}                 # by which the integers at some places grow with each row
        for place, (a, b) in enumerate(zip(one, other)):
            if a != b:
                rise, rest = divmod(_integer(b) - _integer(a), COUNTS[1] - COUNTS[0])
                if rest:
                    raise ValueError("a number does not grow with the rows evenly")
                self.slopes[place] = rise

    def text(self, count: int) -> str:
        """The graph for a number of rows, as text.

        Args:
            count: it.
        """
        tokens = list(self.tokens)
        for place, rise in self.slopes.items():
            tokens[place] = str(_integer(tokens[place]) + rise * (count - COUNTS[0]))
        return "".join(tokens)

    def graph(self, count: int, constants: dict[str, Tensor]) -> Graph:
        """The graph for a number of rows.

        Args:
            count: it.
            constants: those of the graph that was traced.
        """
        graph = parse(self.text(count), constants)
        for node in graph.nodes:
            if node.op == CONSTANT and node.outputs[0].layout.shape != constants[node.attributes[0]].shape:
                layout = node.outputs[0].layout
                graph.constants[node.attributes[0]] = zeros(layout.shape, dtype=layout.dtype, device=layout.device)
        return graph

    def count_in(self, tensors: list[Tensor], inputs: list) -> int | None:
        """How many rows arguments have, where it is all in which they differ from those of the graph; else None.

        Args:
            tensors: the arguments.
            inputs: the values that stand for them in the graph that was traced.
        """
        counts = {tensor.shape[0] for tensor, value in zip(tensors, inputs) if tensor.shape != value.layout.shape and tensor.shape}
        count = counts.pop() if len(counts) == 1 else None
        return count if count is not None and count >= self.least else None


def _integer(token):
    if not re.fullmatch(r"-?\d+", token):
        raise ValueError("the graph for other rows has other calls")
    return int(token)


def rows_of(graph: Graph, again: Callable[[list[tuple]], Graph], own: Callable[[str], bool]) -> Rows | None:
    """What a program does for other numbers of rows, or None where that is not known.

    Args:
        graph: the program. The rows are the first dimension of its first argument, and of those that have as many there.
        again: makes the graph for arguments of some shapes.
        own: whether a constant of a name is the program's own, and not a module's.
    """
    shapes = [tuple(value.layout.shape) for value in graph.inputs]
    if not shapes or not shapes[0]:
        return None

    def text(count):
        made = again([(count, *shape[1:]) if shape[:1] == shapes[0][:1] else shape for shape in shapes])
        for name, tensor in made.constants.items():
            if not isinstance(tensor, Tensor):           # a script, which takes any
                continue
            first = graph.constants[name]
            if own(name) and not (equal(tensor, first) if tensor.shape == first.shape else _are_zero(tensor, first)):
                raise ValueError(f"{name} is another one for other rows")
        return str(decomposed(made))
    traced = shapes[0][0]
    try:
        if _differs(text(traced), str(decomposed(graph))):           # what it did hung on values
            return None
        made = Rows((text(COUNTS[0]), text(COUNTS[1])), 2)
        if any(made.text(count) != text(count) for count in (*TRIED, max(traced, 2))):
            return None
    except Exception:                                    # the program does not take as many, which is for its caller to say
        return None
    try:
        made.least = 2 if _differs(made.text(1), text(1)) else 1
    except Exception:                                    # such as batch norm of one row
        made.least = 2
    return made


def _are_zero(*tensors):
    return not any(count_nonzero(tensor).item() for tensor in tensors)


def _differs(one, other):
    """Whether programs are others than each other, but for the strides of what has one row."""
    return _STRIDES.sub("", one) != _STRIDES.sub("", other)
