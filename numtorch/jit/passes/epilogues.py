"""What follows products and convolutions as part of them: the sum with a bias and relu, before a result is stored, and other
elementwise calls (activations, residuals, scales, dropout) on each block of it while it is in the cache.

The bias comes first: `relu(x @ w + b)` is one call. Elementwise calls come after they were put together (fusion.py), whatever they
are. A product that something else uses too is a result of the call.
"""
from __future__ import annotations

from typing import NamedTuple

from ...dtypes import float32, float64
from ...kernels.planning import without_memory
from ...layout import Layout
from ...ops.core.primitive import registry
from ...ops.nn.linear_relu import LINEAR_RELU
from ...ops.spatial.conv_relu import CONVOLUTION_RELU
from ...viewalgebra import transpose
from ..graphs.epilogue import DRAWS, EPILOGUE, PRODUCTS, drawn
from ..graphs.fused import FUSED
from ..graphs.graph import Graph, Node, Value
from ..graphs.rowwise import ALONG
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
        transposed = second.node
        if transposed is not None and transposed.op == "view.transpose" and set(transposed.attributes) == {0, 1}:
            second = transposed.inputs[0]
        else:
            second = view("view.transpose", second, (0, 1), transpose(second.layout, 0, 1)[0])
    op = "linear" if product.op == "mm" else product.op
    with without_memory():
        plan = registry[op].plan(first.layout, second.layout, bias.layout, *product.attributes)
    given = plan.result if op == "convolution" else plan.out
    return [*views, Node(op, [first, second, bias], product.attributes)] if given is out else None


_TAKING = ("mm", "linear", "convolution")


# ---------------------------------------------------------------- elementwise calls and dropout
class _Chain(NamedTuple):
    """A product, and what follows it in one call so far.

    Attributes:
        node: the call.
        product, attributes, own: the product's op, attributes and inputs.
        others: the other operands of the calls.
        calls: as EPILOGUE has them.
        outs: where each of its values comes from: ("x", 0) is the product's, ("v", i) that of the i-th call.
        mask: of dropout among the calls.
    """

    node: Node
    product: str
    attributes: tuple
    own: list
    others: list
    calls: tuple
    outs: dict
    mask: Value | None


def _chain(node):
    if node.op in PRODUCTS and not node.writes and not node.keeps:
        return _Chain(node, node.op, node.attributes, node.inputs, [], (), {node.outputs[0]: ("x", 0)}, None)
    if node.op != EPILOGUE.name:
        return None
    product, attributes, count, calls, results, keeps = node.attributes
    outs = dict(zip(node.outputs, [*([("x", 0)] if keeps else []), *[("v", i) for i in results]]))
    mask = node.outputs[-1] if drawn(calls) is not None else None
    return _Chain(node, product, attributes, node.inputs[:count], node.inputs[count:], calls, outs, mask)


def _blocks(graph):
    users, ends, count = graph.users(), set(graph.ends()), 0
    places = {node: place for place, node in enumerate(graph.nodes)}
    for node in list(graph.nodes):
        if node.op == FUSED.name:
            calls, results, layouts = node.attributes
        elif node.op in DRAWS and not node.writes and node.outputs[0].layout.contiguous:
            calls, results, layouts = ((node.op, ("x", 0), *node.attributes),), (0,), [node.outputs[0].layout]
        elif kind_of(node) == "value":
            (calls, results, _), layouts = as_one(graph, [node])[0].attributes, [node.outputs[0].layout]
        else:
            continue
        if any(op in ALONG for op, *_ in calls):
            continue
        chains = [(v, c) for v in dict.fromkeys(node.values()) if (c := _before(v, layouts)) is not None
                  and all(places[u] >= places[node] for out in c.node.outputs for u in users[out])]
        if not chains:
            continue
        value, chain = chains[0]                         # others that use it come later, as its backward does
        if chain.mask is not None and (node.op in DRAWS or chain.mask in node.values() or
                                       any(each.draws for each in graph.nodes[places[chain.node] + 1:places[node]])):
            continue                                     # draws keep their order
        if places[node] - places[chain.node] > 1 and _held(graph, chain.node, places[node]) > value.layout.nbytes:
            continue
        wanted = {v for v in chain.outs if v in ends or any(u is not node for u in users[v])}
        call = _longer(graph, chain, node, calls, results, wanted)
        if call is None:
            continue
        graph.nodes[graph.nodes.index(node)] = call
        graph.nodes = [each for each in graph.nodes if each is not node and each is not chain.node]
        users, places = graph.users(), {each: number for number, each in enumerate(graph.nodes)}
        count += len(calls)
    return count


def _before(value, layouts):
    """What gives a value and can go on with calls whose results lie so; None where nothing does."""
    if value.node is None or value.layout.device.type != "cpu" or value.layout.dtype not in (float32, float64) or \
            not value.layout.numel or any(l is not value.layout for l in layouts):
        return None
    return _chain(value.node)


def _longer(graph, chain, node, calls, results, wanted):
    """A chain with a call behind it as one call; None where there is no plan for it.

    Args:
        graph: it stays as it is but for a mask that nobody had asked for.
        chain, node: them.
        calls, results: the call's, over its tensors in order.
        wanted: the values of the chain that something else uses.
    """
    operands, others, start = list(dict.fromkeys(node.values())), list(chain.others), len(chain.calls)

    def moved(operand):
        if not isinstance(operand, tuple):
            return operand
        if operand[0] == "v":
            return "v", start + operand[1]
        value = operands[operand[1]]
        if value in chain.outs:
            return chain.outs[value]
        if value not in others:
            others.append(value)
        return "x", 1 + others.index(value)
    behind = tuple([(op, *map(moved, given)) for op, *given in calls])
    outs = {value: place for value, place in chain.outs.items() if value in wanted}
    outs.update(zip(node.outputs, [("v", start + i) for i in results]))
    inputs = [*chain.own, *others]
    keeps = ("x", 0) in outs.values()
    attributes = chain.product, chain.attributes, len(chain.own), (*chain.calls, *behind), \
        tuple([number for kind, number in outs.values() if kind == "v"]), keeps
    try:
        with without_memory():
            plan = EPILOGUE.plan(*[v.layout if isinstance(v, Value) else v for v in inputs], *attributes)
    except ValueError:
        return None
    if plan.prepared is None:
        return None
    draws = node.draws or chain.node.draws
    call = Node(EPILOGUE.name, inputs, attributes, draws=draws)
    call.outputs = list(outs)
    if draws:
        mask = chain.mask or next(iter(node.outputs[1:]), None)
        call.outputs.append(mask or Value(graph.name(), plan.extra.mask))
    for out in call.outputs:
        out.node = call
    return call


def _held(graph, product, place):
    """Bytes that a product at another place would keep longer."""
    lives = Lives(graph)
    roots = {lives.base.get(v, v) for v in product.values()}
    return sum(lives.sizes[root] for root in roots if root in lives.sizes and lives.last[root] < place)
