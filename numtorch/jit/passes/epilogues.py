"""What follows products and convolutions as part of them, done before a result is stored: the sum with a bias, and relu.

The bias comes first: `relu(x @ w + b)` is one call. A product that something else uses too stays.
"""
from __future__ import annotations

from ...dtypes import float32, float64
from ...kernels.planning import without_memory
from ...layout import Layout
from ...ops.core.primitive import registry
from ...ops.nn.linear_relu import LINEAR_RELU
from ...ops.spatial.conv_relu import CONVOLUTION_RELU
from ...viewalgebra import transpose
from ..graph import Graph, Node, Value

_WITH_RELU = {"linear": LINEAR_RELU, "convolution": CONVOLUTION_RELU}


def fuse_epilogues(graph: Graph) -> int:
    """Have products and convolutions add biases and apply relu. Returns how many calls they took in.

    Args:
        graph: it is changed.
    """
    return _take_in(graph, _with_bias) + _take_in(graph, _with_relu)


def _take_in(graph, made_of):
    users, ends, count = graph.users(), set(graph.ends()), 0
    for node in list(graph.nodes):
        if node.writes or node.keeps or len(node.outputs) != 1:
            continue
        for place, value in enumerate(node.inputs):
            product = value.node if isinstance(value, Value) else None
            if product is None or product.writes or product.keeps or len(product.outputs) != 1 or len(users[value]) != 1 or \
                    value in ends or value.layout.dtype not in (float32, float64) or value.layout.device.type != "cpu" or \
                    value.layout is not node.outputs[0].layout or not value.layout.numel:
                continue
            made = made_of(graph, node, place, product)
            if made is None:
                continue
            *views, call = made
            call.outputs, node.outputs[0].node = node.outputs, call
            at = graph.nodes.index(node)
            graph.nodes[at:at + 1] = [*views, call]
            graph.nodes.remove(product)
            users = graph.users()
            count += 1
            break
    return count


# ---------------------------------------------------------------- relu
def _with_relu(graph, node, place, product):
    op = _WITH_RELU.get(product.op)
    if node.op != "relu" or op is None:
        return None
    with without_memory():
        plan = op.plan(*[v.layout if isinstance(v, Value) else v for v in product.inputs], *product.attributes)
    return None if plan is None else [Node(op.key, product.inputs, product.attributes)]


# ---------------------------------------------------------------- biases
def _with_bias(graph, node, place, product):
    if node.op != "add" or len(node.inputs) != 2:
        return None
    bias = node.inputs[1 - place]
    out = node.outputs[0].layout
    if not isinstance(bias, Value) or bias.layout.dtype is not out.dtype or not bias.layout.contiguous or bias.layout.weak or \
            (product.op != "mm" and product.inputs[2] is not None if product.op in _TAKING else True):
        return None
    channel = 1 if product.op == "convolution" else out.ndim - 1
    features = out.shape[channel]
    wanted = (features, *(1,) * (out.ndim - 1 - channel))
    shape = bias.layout.shape
    if shape not in (wanted, (1,) * (out.ndim - len(wanted)) + wanted):
        return None
    views: list[Node] = []

    def view(op, value, attributes, layout):
        made = Node(op, [value], attributes)
        made.outputs = [Value(graph.name(), layout, made)]
        views.append(made)
        return made.outputs[0]
    if shape != (features,):
        bias = view("view.try_view", bias, ((features,),), Layout.of(out.dtype, (features,), None, out.device))
    first, second = product.inputs[:2]
    if product.op == "mm":
        turned = second.node
        if turned is not None and turned.op == "view.transpose" and set(turned.attributes) == {0, 1}:
            second = turned.inputs[0]
        else:
            second = view("view.transpose", second, (0, 1), transpose(second.layout, 0, 1)[0])
    op = "linear" if product.op == "mm" else product.op
    with without_memory():
        plan = registry[op].plan(first.layout, second.layout, bias.layout, *product.attributes)
    given = plan.result if op == "convolution" else plan.out
    return [*views, Node(op, [first, second, bias], product.attributes)] if given is out else None


_TAKING = ("mm", "linear", "convolution")
