"""The graph of a call and of its derivative, divided into a program of forward and one of backward.

The call is traced with `autograd.grad` of its results behind it; the gradients that backward begins with are inputs of the
graph. Forward is what the call's results, and what it writes, need. What remains for the gradients is backward's. What that reads
of forward are further results of forward; views it takes again itself. Parameters and arguments it is given anew, so that the tape
can tell whether somebody has written to them in between.
"""
from __future__ import annotations

from typing import Any, NamedTuple

from ...autograd.api import grad
from ...autograd.function import FunctionCtx
from ...autograd.graph import Leaf
from ...layout import Layout
from ...tensor import Tensor, empty
from ...tree import each_tensor_in, flatten
from ..capturing.results import opened
from ..graphs.graph import Graph, Node, Value
from ..graphs.operations import CHECKS, CONSTANT
from ..passes.inplace import is_view
from ..tracing.freezing import tracing
from ..tracing.tracing import Trace
from .deciding import decide


class NotDivided(Exception):
    """A call has no program of forward and one of backward: why."""


class Joint(NamedTuple):
    """A traced call.

    Attributes:
        graph: of arguments, then of a gradient for each result that has a graph. Its results are those of the call, then gradients.
        results: the leaves of what the call returned: True for a tensor that has a graph, False for another tensor, else values.
        form: their structure (tree.py).
        arguments: the places of the arguments that require grad.
        reached: the tensors that the function reaches and that have a place in the graph.
        given: for each of both, the place of its gradient among the gradients, or None.
        names: of the tensors that are reached, by the constants of the graph.
        unrecorded: the nodes of calls that were made without recording.
    """

    graph: Graph
    results: list
    form: Any
    arguments: list
    reached: list
    given: list
    names: dict
    unrecorded: set


class Halves(NamedTuple):
    """A call's two programs.

    Attributes:
        forward: gives the call's results that are tensors, then what else backward is given.
        backward: of what forward gives for it, of arguments and tensors that are reached, and of gradients.
        own: the places of the first among what forward gives.
        arguments, reached: the places of the second among the call's arguments; the third.
        depends: for each gradient, the places of the results without whose gradients there is none.
        again: gives the results that have graphs, of the arguments at the places `reads`; it draws what the call draws, and writes
            nothing.
        unrecorded: its nodes that stand for calls made without recording.
    """

    forward: Graph
    backward: Graph
    own: list
    arguments: list
    reached: list
    depends: list
    again: Graph
    reads: list
    unrecorded: set


# ---------------------------------------------------------------- tracing
def joint_graph(function, args: tuple, kwargs: dict, reach, exact: bool) -> Joint:
    """Trace a call and its derivative.

    Args:
        function, args, kwargs: the call. It is made, with all its effects.
        reach: what the function reaches.
        exact: as `Trace` has it.

    Raises:
        NotDivided: backward runs Python of the user's, or there is nothing to differentiate.
    """
    held = reach.named()
    before = {tensor.node: tensor.node.grad for tensor in held.values() if type(tensor.node) is Leaf}
    trace = Trace({id(tensor): name for name, tensor in held.items()}, decide, final=True, exact=exact)
    with tracing(), trace:
        given = trace.arguments((args, kwargs))
        copies = each_tensor_in(given)
        trace.adopt(*held.values())
        result = function(*given[0], **given[1])
        if not all(isinstance(leaf, Tensor) for leaf in opened(result, given, reach.seen)[1]):
            raise NotDivided("it returns a container that others have, too")
        leaves, form = flatten(result)
        outs = [x for x in leaves if isinstance(x, Tensor) and x.node is not None]
        _check_tape(outs)
        begin = [trace.input(empty(_dense(x.layout.value.layout)).zero_(), "gradient") for x in outs if hasattr(x.layout, "value")]
        if not outs or len(begin) < len(outs) or len({id(x) for x in outs}) < len(outs):
            raise NotDivided("a result is a tensor that was there before, or is there twice")
        arguments = [i for i, x in enumerate(copies) if x.node is not None]
        reached = [x for x in held.values() if x.node is not None]
        grads = grad(outs, [*[copies[i] for i in arguments], *reached], begin, allow_unused=True)
        gradients = [x for x in grads if x is not None]
        graph = trace.finish([*leaves, *gradients])
        changed = any(leaf.grad is not grad for leaf, grad in before.items()) or any(
            type(x.node) is Leaf and x.node.grad is not None for x in copies)
    if changed or graph.gradients:
        raise NotDivided("it runs backward() itself, and returns something that has a graph")
    graph.verify()
    numbers = iter(range(len(gradients)))
    return Joint(graph, [x.node is not None if isinstance(x, Tensor) else x for x in leaves], form, arguments, reached,
                 [None if x is None else next(numbers) for x in grads], held, trace.unrecorded)


def _dense(layout):
    return layout if layout.non_overlapping_and_dense() else Layout.of(layout.dtype, layout.shape, None, layout.device)


def _check_tape(outs):
    """Raise NotDivided where a result has no graph, but keeps a gradient itself, and where backward from results would call Python:
    hooks, or functions that users wrote."""
    if any(type(x.node) is Leaf for x in outs):
        raise NotDivided("it returns a tensor whose gradient is wanted, and that it makes")
    seen, pending = set(), [x.node for x in outs]
    while pending:
        node = pending.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        users = isinstance(node, FunctionCtx) or getattr(getattr(node, "primitive", None), "name", "") == "backward_hook"
        if users or node.extras is not None or (type(node) is Leaf and node.post_hooks is not None):
            raise NotDivided(f"backward runs Python code ({node.name()})")
        pending += node.edges


# ---------------------------------------------------------------- dividing
def divide(joint: Joint, arguments: int) -> Halves:
    """The two programs of a traced call.

    Args:
        joint: it.
        arguments: how many tensors are arguments.

    Raises:
        NotDivided: what forward does depends on backward, or the other way round on what is written.
    """
    graph = joint.graph
    given, begin = graph.inputs[:arguments], graph.inputs[arguments:]
    tensors = [value for value, kind in zip(graph.results, joint.results) if isinstance(kind, bool) and isinstance(value, Value)]
    gradients = graph.results[len(joint.results):]
    written = {target for target, _ in graph.writes}
    behind = set(begin)
    sources = {value: {place} for place, value in enumerate(begin)}
    for node in graph.nodes:
        if not behind.isdisjoint(node.values()):
            behind.update(node.outputs)
            sources.update(dict.fromkeys(node.outputs, set().union(*[sources.get(value, ()) for value in node.values()])))
            if node.draws or node.op in CHECKS:
                raise NotDivided("backward draws random numbers, or checks values")
    first = _needed([*tensors, *written, *[value for _, value in graph.writes]],
                    [node for node in graph.nodes if node.draws or node.op in CHECKS])
    if any(value in behind for node in first for value in node.outputs) or not behind.isdisjoint(tensors):
        raise NotDivided("what it writes depends on a gradient")
    for value in tensors:
        root = _root(value)
        if root.node is None or root.node.op == CONSTANT:
            raise NotDivided("a result is a view of what was there before")
    recorded = [value for value, kind in zip(tensors, (kind for kind in joint.results if isinstance(kind, bool))) if kind]
    if len({_root(value) for value in recorded}) < len(recorded):
        raise NotDivided("results that have graphs share memory")

    second: set[Node] = set()
    own, read, reached, seen = list[Value](), list[Value](), list[Value](), set[Value]()
    pending = list(gradients)
    while pending:
        value = pending.pop()
        if value in seen or not isinstance(value, Value):
            continue
        seen.add(value)
        node = value.node
        if node is None:
            if value in given:
                read.append(value)
        elif node.op == CONSTANT and node.attributes[0] in joint.names:
            reached.append(value)
        elif node in first and node.op != CONSTANT and not is_view(node):
            own.append(value)
        else:
            second.add(node)
            pending += node.values()
    if not written.isdisjoint([*read, *reached, *[value for node in second for value in node.outputs]]):
        raise NotDivided("backward reads what forward writes")
    made = [*tensors, *[value for value in own if value not in tensors]]
    forward, _ = _program(graph, given, first, made, graph.writes)
    backward, _ = _program(graph, [*own, *read, *reached, *begin], second, gradients, ())
    repeated = _needed(recorded, [node for node in graph.nodes if node.draws])
    used = {value for node in repeated for value in node.values()}
    reads = [i for i, value in enumerate(given) if value in used]
    again, copies = _program(graph, [given[i] for i in reads], repeated, recorded, ())
    return Halves(forward, backward, [made.index(value) for value in own], [given.index(value) for value in read],
                  [joint.names[value.node.attributes[0]] for value in reached if value.node is not None],
                  [sources.get(value, set()) for value in gradients], again, reads,
                  {copies[node] for node in repeated & joint.unrecorded})


def _needed(values, nodes):
    """The nodes that values and other nodes need."""
    needed: set[Node] = set()
    pending = [*[value.node for value in values], *nodes]
    while pending:
        node = pending.pop()
        if node is not None and node not in needed:
            needed.add(node)
            pending += [value.node for value in node.values()]
    return needed


def _root(value):
    """The value in whose memory another is."""
    while value.node is not None and is_view(value.node):
        value = value.node.inputs[0]
    return value


def _program(graph, inputs, nodes, results, writes):
    """Some nodes of a graph as a graph, and its nodes by those."""
    made, new, copies = Graph(), dict[Any, Value](), dict[Node, Node]()
    for value in inputs:
        new[value] = made.input(value.layout, value.name)
    for node in graph.nodes:
        if node in nodes:
            given = [new.get(v, v) if isinstance(v, Value) else v for v in node.inputs]
            copies[node] = Node(node.op, given, node.attributes, node.writes, node.keeps, node.wanted, node.draws)
            values = made.call(copies[node], [v.layout for v in node.outputs], [v.name for v in node.outputs])
            new.update({old: value for old, value in zip(node.outputs, values) if old not in new})
            if node.op == CONSTANT:
                made.constants[node.attributes[0]] = graph.constants[node.attributes[0]]
    made.set_result([new[value] for value in results])
    made.writes = [(new[target], new[value]) for target, value in writes]
    made.forget_kept()
    made.verify()
    return made, copies


def sharing(graph: Graph) -> list[int]:
    """For each result of a program, the first that is in the same memory.

    Args:
        graph: it.
    """
    roots = [_root(value) for value in graph.results]
    return [roots.index(root) for root in roots]
