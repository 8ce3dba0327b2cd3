"""Reductions of rows keep their dimension, so that what follows can be one with them (rowfusion.py), and views are without it.

What is computed of their results alone moves before these views, as nothing is copied by them. What is a view of such a view again,
as in `x - x.mean(-1)[:, None]`, is the reduction's result then (algebra.py).
"""
from __future__ import annotations

from ...dtypes import float32, float64
from ...layout import Layout
from ..graphs.graph import Graph, Node, Value
from ..graphs.rowwise import REDUCTIONS
from .groups import kind_of

SHORTEST, LONGEST = 64, 4096                             # elements of rows that are fused


def reduces_rows(node: Node, layout: Layout) -> bool:
    """Whether a reduction is one over the last dimension.

    Args:
        node: the reduction.
        layout: of what is reduced.
    """
    dims = node.attributes[0] if node.attributes else None
    dim = dims[0] if isinstance(dims, tuple) and len(dims) == 1 else dims
    return dim is not None and dim in (-1, layout.ndim - 1)


def _loses_rows(node: Node) -> bool:
    """Whether a call is a reduction over the last dimension that does not keep it."""
    if node.op not in REDUCTIONS or node.keeps or len(node.outputs) != 1 or len(node.values()) != 1:
        return False
    first, out = node.values()[0].layout, node.outputs[0].layout
    return first.ndim > 1 and SHORTEST <= first.shape[-1] <= LONGEST and reduces_rows(node, first) and node.attributes[1] is False \
        and out.dtype in (float32, float64) and out.device.type == "cpu" and out.contiguous


def keep_dims(graph: Graph) -> int:
    """Have reductions of rows keep their dimension, and what is computed of them. Returns how many calls are others now.

    Args:
        graph: it is changed.
    """
    nodes: list[Node] = []
    kept: dict[Value, Value] = {}                        # by what is without the dimension
    reduced: set[Value] = set()

    def with_dim(value):
        if not isinstance(value, Value):
            return value
        if value not in kept:
            kept[value] = _made(graph, nodes, Node("view.unsqueeze", [value], (-1,)), value.layout)
        return kept[value]
    for node in graph.nodes:
        values = node.values()
        if _loses_rows(node):
            dims, _, options = node.attributes
            inside = _made(graph, nodes, Node(node.op, node.inputs, (dims, True, options)), node.outputs[0].layout)
        elif kind_of(node) == "value" and any(v in reduced for v in values) and all(v.layout.contiguous for v in values) \
                and node.outputs[0].layout.contiguous:
            inside = _made(graph, nodes, Node(node.op, [with_dim(v) for v in node.inputs], node.attributes), node.outputs[0].layout)
        else:
            nodes.append(node)
            continue
        out, = node.outputs
        kept[out] = inside
        reduced.add(out)
        out.node = Node("view.try_view", [inside], (out.layout.shape,))
        out.node.outputs = [out]
        nodes.append(out.node)
    graph.nodes = nodes
    return len(reduced)


def _made(graph, nodes, node, layout):
    """The value of a new call, which has one more dimension than a layout."""
    node.outputs = [Value(graph.name(), Layout.of(layout.dtype, (*layout.shape, 1), None, layout.device), node)]
    nodes.append(node)
    return node.outputs[0]
