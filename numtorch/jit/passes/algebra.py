"""What is equal to something simpler, bit for bit, becomes that."""
from __future__ import annotations

from ..graphs.graph import Graph, Node, Value

_IN_ORDER = ("view.try_view", "view.unsqueeze", "view.squeeze", "view.unflatten")        # elements stay in their order


def _one(number) -> bool:
    return isinstance(number, (int, float)) and not isinstance(number, bool) and number == 1


def simpler(node: Node) -> Value | None:
    """The value that a call's is equal to, or None.

    Args:
        node: the call.
    """
    out, inputs = node.outputs[0], node.inputs
    first = inputs[0] if inputs and isinstance(inputs[0], Value) else None
    result = None
    if node.op == "copy" and node.writes == (0,) and isinstance(inputs[1], Value):
        result = inputs[1]                                # all of the target is written
    elif node.op == "put_part" and isinstance(inputs[1], Value):
        part = inputs[1].node
        if part is not None and part.op == "part" and part.inputs[0] is first and part.attributes == node.attributes:
            result = first                                # what lies there already
        elif inputs[1].layout is out.layout and node.attributes == (out.layout.shape, out.layout.strides, 0):
            result = inputs[1]                            # all of it
    elif node.op == "part" and first is not None and first.node is not None and first.node.op == "put_part" \
            and first.node.attributes == node.attributes:
        result = first.node.inputs[1]                     # what was put there
    elif node.op in ("mul", "div", "pow") and len(inputs) == 2 and first is not None and _one(inputs[1]) and not node.writes:
        result = first
    elif node.op == "neg" and first is not None and first.node is not None and first.node.op == "neg":
        result = first.node.inputs[0]
    elif node.op.startswith("view.") and len(node.outputs) == 1 and first is not None:
        before = first.node
        if node.op == "view.transpose" and before is not None and before.op == node.op \
                and sorted(before.attributes) == sorted(node.attributes):
            result = before.inputs[0]
        elif node.op in _IN_ORDER and before is not None and before.op in _IN_ORDER and before.inputs[0].layout is out.layout:
            result = before.inputs[0]                    # another shape and back
        elif node.op in ("view.try_view", "view.expand", "view.permute", "view.slice_dim") and first.layout is out.layout \
                and (node.op != "view.permute" or tuple(node.attributes[0]) == tuple(range(out.layout.ndim))):
            result = first
    return result if isinstance(result, Value) and result.layout is out.layout else None


def simplify(graph: Graph) -> int:
    """Replace what is equal to something simpler. Returns how much.

    Args:
        graph: it is changed.
    """
    ends, count = set(graph.ends()), 0
    for node in list(graph.nodes):
        if len(node.outputs) != 1 or node.draws or node.outputs[0] in ends:
            continue
        value = simpler(node)
        if value is not None:
            graph.nodes.remove(node)
            graph.replace({node.outputs[0]: value})
            count += 1
    return count
