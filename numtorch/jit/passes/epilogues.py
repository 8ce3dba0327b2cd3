"""What follows products and convolutions as part of them: the sum with a bias and relu, before a result is stored, and other
elementwise calls (activations, residuals, scales, masks of dropout) on each block of it while it is in the cache.

The bias comes first: `relu(x @ w + b)` is one call. Elementwise calls come after they were put together (fusion.py), whatever they
are. A product that something else uses too is a result of the call.
"""
from __future__ import annotations

from ...dtypes import float32, float64
from ...kernels.planning import without_memory
from ...layout import Layout
from ...ops.core.primitive import registry
from ...ops.nn.linear_relu import LINEAR_RELU
from ...ops.spatial.conv_relu import CONVOLUTION_RELU
from ...viewalgebra import transpose
from ..epilogue import EPILOGUE, PRODUCTS
from ..fused import FUSED
from ..graph import Graph, Node, Value
from ..rowwise import ALONG
from .groups import as_one, kind_of
from .memory import Lives

_WITH_RELU = {"linear": LINEAR_RELU, "convolution": CONVOLUTION_RELU}


def fuse_biases(graph: Graph) -> int:
    """Have products and convolutions add biases. Returns how many.

    Args:
        graph: it is changed.
    """
    return _take_in(graph, _with_bias)


def fuse_epilogues(graph: Graph) -> int:
    """Have products and convolutions go on with the elementwise calls behind them. Returns how many calls they took in.

    Args:
        graph: it is changed, after elementwise calls were put together.
    """
    return _take_in(graph, _with_relu) + _blocks(graph)


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


# ---------------------------------------------------------------- elementwise calls
def _blocks(graph):
    users, ends, count = graph.users(), set(graph.ends()), 0
    places = {node: place for place, node in enumerate(graph.nodes)}
    for node in list(graph.nodes):
        if node.op == FUSED.name:
            calls, results, layouts = node.attributes
        elif kind_of(node) == "value":
            (calls, results, _), layouts = as_one(graph, [node])[0].attributes, [node.outputs[0].layout]
        else:
            continue
        found = [v for v in node.values() if _is_product(v, layouts) and all(places[u] >= places[node] for u in users[v])]
        if not found or any(op in ALONG for op, *_ in calls):
            continue
        value = found[0]                                 # others that use it come later, as its backward does
        product, operands = value.node, list(dict.fromkeys(node.values()))
        if places[node] - places[product] > 1 and _held(graph, product, places[node]) > value.layout.nbytes:
            continue
        if operands.count(value) != 1:
            continue
        order = [value, *[v for v in operands if v is not value]]
        number = {operands.index(v): i for i, v in enumerate(order)}

        def moved(operand, number=number):
            return ("x", number[operand[1]]) if isinstance(operand, tuple) and operand[0] == "x" else operand
        calls = tuple([(op, *map(moved, given)) for op, *given in calls])
        keeps = len(users[value]) > 1 or value in ends
        own = product.inputs
        attributes = product.op, product.attributes, len(own), calls, results, keeps
        try:
            with without_memory():
                plan = EPILOGUE.plan(*[v.layout if isinstance(v, Value) else v for v in (*own, *order[1:])], *attributes)
        except ValueError:
            continue
        if plan.prepared is None:
            continue
        call = Node(EPILOGUE.name, [*own, *order[1:]], attributes)
        call.outputs = [*([value] if keeps else []), *node.outputs]
        for out in call.outputs:
            out.node = call
        graph.nodes[graph.nodes.index(node)] = call
        graph.nodes = [each for each in graph.nodes if each is not node and each is not product]
        users, places = graph.users(), {each: number for number, each in enumerate(graph.nodes)}
        count += len(calls)
    return count


def _is_product(value, layouts):
    node = value.node
    if node is None or node.op not in PRODUCTS or node.writes or node.keeps or value.layout.device.type != "cpu":
        return False
    return value.layout.dtype in (float32, float64) and value.layout.numel > 0 and all(l is value.layout for l in layouts)


def _held(graph, product, place):
    """Bytes that a product at another place would keep longer."""
    lives = Lives(graph)
    roots = {lives.base.get(v, v) for v in product.values()}
    return sum(lives.sizes[root] for root in roots if root in lives.sizes and lives.last[root] < place)
