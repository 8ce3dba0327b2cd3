"""Dual tensors: a tensor and its tangent, which is how it changes where the input of a function changes along a direction
(Wengert 1964).

What calls on them give is in tangents.py.
"""
from __future__ import annotations

from ..autograd.graph import Node
from ..ops.creation.fill import zeros_like
from ..ops.memory.detach import detach
from ..tensor import Tensor
from .levels import Level, Wrapping, lie_like, tensor_of


class _Moving(Node):
    """The place in the graph of what has a tangent and is not recorded. Ops that are computed otherwise where nobody asks for a
    derivative look whether there is a place."""

    __slots__ = ()

    def __init__(self):
        self.edges, self.extras, self.saved = (), None, None


_MOVING = _Moving()


class Dual(Wrapping):
    """The layout of a tensor with a tangent: `value` is the tensor, `tangent` has its shape. A view has the layout of the `whole`
    that it is a view of."""

    __slots__ = ("tangent", "whole")
    unrecorded = _MOVING

    def parts(self):
        return [self.value, self.tangent]

    def with_value(self, value):
        return dual_of(value, self.tangent, self.handler).layout

    def replaced(self, function):
        return dual_of(function(self.value), function(self.tangent), self.handler).layout


def dual_of(value: Tensor, tangent: Tensor, level: Level) -> Tensor:
    """A tensor with a tangent."""
    layout, inside = object.__new__(Dual), value.layout
    lie_like(layout, inside)
    layout.handler, layout.value, layout.tangent = level, value, tangent
    return tensor_of(layout)


def check_known(x) -> None:
    """Raise NotImplementedError for a result that an op has recorded as one of dual tensors, and has computed apart from them: it
    has a tangent that is not known."""
    seen: set = set()
    pending = [x]
    for t in pending:                                    # the ordinary tensors that it is made of
        if isinstance(t.layout, Wrapping):
            pending += t.layout.parts()
        elif t.node is not None and t.node not in seen:
            seen.add(t.node)
            nodes = [t.node]
            for node in nodes:
                for edge in node.edges:
                    if type(edge) is _Moving:
                        raise NotImplementedError(f"the tangent of {node.name()} is not implemented")
                    if edge is not None and edge not in seen:
                        seen.add(edge)
                        nodes.append(edge)


def parts_at(x, level):
    """(the tensor, its tangent or None) of a tensor at a level, whatever else it takes part in."""
    layout = x.layout
    if not isinstance(layout, Wrapping) or layout.handler.rank < level.rank:
        return x, None
    if layout.handler is level:
        return layout.value, layout.tangent
    each = [parts_at(part, level) for part in layout.parts()]
    if all(tangent is None for _, tangent in each):
        return x, None
    rest = iter(each)
    value = tensor_of(layout.replaced(lambda part: next(rest)[0]))
    rest = iter(each)
    return value, tensor_of(layout.replaced(lambda part: _or_zeros(next(rest)[1], part)))


def _or_zeros(tangent, like):
    return zeros_like(detach(like)) if tangent is None else tangent
