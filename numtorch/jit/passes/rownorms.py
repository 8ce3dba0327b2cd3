"""Layer norms and RMS norms of rows as the calls that they are made of, where these can be one with what is elementwise around them
(rowfusion.py): a norm by itself is one kernel already."""
from __future__ import annotations

from collections.abc import Container

from ...dtypes import float32, float64
from ...layout import Layout
from ..graphs.graph import Graph, Node, Value
from .groups import kind_of
from .keptdims import LONGEST, SHORTEST

LEAST = 1 << 16                                          # elements of which one pass less over memory is worth more than a launch


def _opens(node: Node, users: dict) -> bool:
    """Whether a call is a norm of rows with elementwise calls beside it."""
    if node.op not in ("layer_norm", "rms_norm") or node.writes or node.keeps or len(node.outputs) != 1:
        return False
    x, *vectors = node.inputs
    layout, (shape, eps) = x.layout, node.attributes
    plain = layout.dtype in (float32, float64) and layout.contiguous and not layout.weak and layout.device.type == "cpu" and \
        all(v is None or (v.layout.dtype is layout.dtype and v.layout.contiguous) for v in vectors)
    if not plain or len(shape) != 1 or not SHORTEST <= shape[0] <= LONGEST or layout.numel < LEAST or type(eps) is not float:
        return False
    before = x.node is not None and kind_of(x.node) == "value"
    return before or any(kind_of(user) == "value" for user in users[node.outputs[0]])


def open_norms(graph: Graph, names: Container[str] | None = None) -> dict[str, list[Node]]:
    """Have norms of rows be the calls that they are made of.

    Args:
        graph: it is changed.
        names: of the norms' results; all that have elementwise calls beside them by default.

    Returns:
        The calls, by these names.
    """
    users, made = graph.users(), dict[str, list[Node]]()
    for node in list(graph.nodes):
        if _opens(node, users) and (names is None or node.outputs[0].name in names):
            calls = _calls(graph, node)
            calls[-1].outputs = node.outputs
            node.outputs[0].node = calls[-1]
            at = graph.nodes.index(node)
            graph.nodes[at:at + 1] = calls
            made[node.outputs[0].name] = calls
    return made


def _calls(graph, node):
    x, weight, bias = (*node.inputs, None, None)[:3]
    whole, calls = x.layout, list[Node]()
    one = Layout.of(whole.dtype, (*whole.shape[:-1], 1), None, whole.device)

    def call(op, layout, *inputs, attributes=()):
        made = Node(op, inputs, attributes)
        made.outputs = [Value(graph.name(), layout, made)]
        calls.append(made)
        return made.outputs[0]

    def mean(value):
        return call("mean", one, value, attributes=((whole.ndim - 1,), True, ()))
    centred = x if node.op == "rms_norm" else call("sub", whole, x, mean(x))
    scale = call("rsqrt", one, call("add", one, mean(call("mul", whole, centred, centred)), node.attributes[1]))
    out = call("mul", whole, centred, scale)
    out = out if weight is None else call("mul", whole, out, weight)
    _ = out if bias is None else call("add", whole, out, bias)
    return calls
