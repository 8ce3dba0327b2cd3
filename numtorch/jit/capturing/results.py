"""What a captured call returns, such that a replay can return it: tensors, constants, containers that are made anew for both, and
whatever was there before, which is returned itself."""
from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any, NamedTuple

from ...autograd.graph import Leaf, Node, freed_error
from ...layout import Size
from ...tensor import Tensor
from .reach import is_constant

HAS_GRAPH = "it returns a tensor that has a graph"
HOLE = object()                                          # where a result has something that differs from call to call


class NotCaptured(Exception):
    """A captured call cannot be replayed: why."""


class Known(NamedTuple):
    """A container that the function reaches."""

    value: Any


class Given(NamedTuple):
    """A container among the arguments: the keys that lead to it from (args, kwargs)."""

    path: tuple


def containers(given) -> dict[int, Given]:
    """The lists and dicts among arguments, by identity.

    Args:
        given: the call's (args, kwargs).
    """
    found, pending = dict[int, Given](), [((), given)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, (list, dict)) and len(path) > 1:            # not kwargs, which is another dict in each call
            found.setdefault(id(value), Given(path))
        if isinstance(value, (list, tuple, dict)):
            pending += [((*path, key), each) for key, each in (value.items() if isinstance(value, dict) else enumerate(value))]
    return found


def opened(result, given, seen) -> tuple[Any, list]:
    """A result with `HOLE` where a replay puts something, and what that is: tensors, `Known` and `Given`.

    Args:
        result: what the call returned.
        given: its (args, kwargs).
        seen: the objects that the function reaches, by identity.

    Raises:
        NotCaptured: a replay would return another object than the call, or one object twice.
    """
    passed, made, leaves = containers(given), set[int](), list[Any]()

    def open_one(value):
        kind = type(value)
        if isinstance(value, Tensor):
            leaves.append(value)
            return HOLE
        if kind in (list, dict, OrderedDict):
            if id(value) in seen or id(value) in passed:
                leaves.append(Known(value) if id(value) in seen else passed[id(value)])
                return HOLE
            if id(value) in made:
                raise NotCaptured(f"it returns one {kind.__name__} twice")
            made.add(id(value))
            parts = [open_one(each) for each in (value if kind is list else value.values())]
            return parts if kind is list else kind(zip(value, parts))
        if kind is tuple or kind is Size:
            return kind([open_one(each) for each in value])
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return kind(*[open_one(each) for each in value])
        if is_constant(value) or id(value) in seen:
            return value
        raise NotCaptured(f"it returns an object that it makes ({kind.__name__})")

    return open_one(result), leaves


# ---------------------------------------------------------------- graphs that the call has walked
class Walked(Node):
    """What stands for a node that was walked and let go, or that is behind such a one: walking it is an error, as it is in eager.

    Args:
        node: that node.
    """

    __slots__ = ("called",)

    def __init__(self, node) -> None:
        self.edges, self.extras, self.saved, self.called = (), None, None, node.name()

    def name(self):
        return self.called

    def backward(self, grad):
        raise freed_error()


def spent(nodes, known) -> dict[Node, Node]:
    """For the nodes of a call's results, nodes that hold nothing of that call, with which any call's results do what its would.

    That is possible where the call has walked their graphs backwards and has let go of what they saved. Walked once more, a node
    that saves something raises an error, and one that saves nothing gives gradients: so the second is copied, and its edges too.
    What is behind the first is kept as a shape: the engine asks whether a path leads to the inputs whose gradients are wanted.

    Args:
        nodes: the results' nodes.
        known: nodes that were there before the call.

    Raises:
        NotCaptured: a graph can still be walked.
    """
    made, open_, behind = dict[Node, Node](), list(nodes), list[Node]()
    for node in open_:                                   # both lists grow meanwhile
        if node is None or node in made:
            continue
        if node in known:
            made[node] = node
        elif isinstance(node, Leaf) or node.saved is not None:
            raise NotCaptured(HAS_GRAPH)
        elif node.saved_names():
            made[node] = Walked(node)
            behind += node.edges
        elif node.extras is not None:                    # hooks, which would see the gradient
            raise NotCaptured(HAS_GRAPH)
        else:
            made[node] = copy.copy(node)
            open_ += node.edges
    for node in behind:
        if node is not None and node not in made:
            made[node] = node if node in known else Walked(node)
            if made[node] is not node:
                behind += node.edges
    for node, other in made.items():
        if other is not node:
            other.edges = tuple([None if edge is None else made[edge] for edge in node.edges])
    return made


def unhooked(node: Node) -> Node:
    """A result's node as `spent` has made it, for another result: this one has got a hook, or keeps a gradient.

    Args:
        node: it.
    """
    other = copy.copy(node)
    other.extras = None
    return other
