"""A graph, run: each node by the op it names, on tensors that may be recorded as in any other call.

A graph is made for tensors in one order in memory: its regions (`part`) and what it views otherwise are found by their strides. An
argument of the same shape in another order is copied into that one first, unless only `fused` calls read it, which take any.
"""
from __future__ import annotations

from typing import Any

from ...autograd.graph import saved_tensors_hooks
from ...autograd.modes import enable_grad, no_grad
from ...layout import Layout
from ...ops.memory.copies import clone
from ...ops.memory.detach import detach
from ...tensor import Tensor, empty, lasting
from .fused import FUSED
from .graph import CONSTANT, Graph, Node, Value
from .operations import run_op


def in_order(tensor: Tensor, layout: Layout) -> Tensor:
    """A tensor as it is where it lies as a layout of its shape says, else a copy that does.

    Args:
        tensor: it.
        layout: what is wanted.
    """
    own = tensor.layout
    if own is layout or (own.shape, own.dtype, own.device) != (layout.shape, layout.dtype, layout.device) or \
            all(a == b for n, a, b in zip(own.shape, own.strides, layout.strides) if n != 1):
        return tensor
    if own.handler is not None:                          # one of a trace, say, where only ops give another order
        order = sorted(range(len(layout.shape)), key=lambda dim: -layout.strides[dim])
        return tensor.permute(order).contiguous().permute([order.index(dim) for dim in range(len(order))])
    return (lasting(layout) if layout.extent()[0] else empty(layout)).copy_(tensor)      # rings have no memory before an address


class Interpreter:
    """Runs a graph.

    Args:
        graph: it. Nothing of it is changed.
        constants: its constants by name, by default those that it holds.
    """

    def __init__(self, graph: Graph, constants: Any = None) -> None:
        self.graph, self.constants = graph, graph.constants if constants is None else constants
        users = graph.users()
        self.unordered = {value for value in graph.inputs if users[value] and all(node.op == FUSED.name for node in users[value])}
        used = {value: place for place, node in enumerate(graph.nodes) for value in node.values()}
        ends = {*graph.ends(), *[target for target, _ in (*graph.writes, *graph.gradients)]}
        self.last: list[list[Value]] = [[] for _ in graph.nodes]       # values that nobody needs behind a node
        for value, place in used.items():
            if value not in ends:
                self.last[place].append(value)

    def run(self, *args: Tensor) -> Any:
        """What the program returns.

        Args:
            args: a tensor for each input.
        """
        graph, env = self.graph, self.values(args)
        with no_grad():
            new = [(env[target], env[value]) for target, value in graph.writes]
            for tensor, written in [(tensor, clone(written)) for tensor, written in new] if len(new) > 1 else new:
                tensor.copy_(written)
            for target, value in graph.gradients:
                env[target].grad = detach(env[value])
        return graph.result(env.__getitem__)

    def values(self, args: tuple) -> dict[Value, Any]:
        """The arguments as they were given, and what the calls give that the program hands out.

        Args:
            args: a tensor for each input.
        """
        given = dict(zip(self.graph.inputs, args))
        env = self.begin(given)
        for node, done in zip(self.graph.nodes, self.last):
            results = self.call(node, [env[v] if isinstance(v, Value) else v for v in node.inputs])
            env.update(zip(node.outputs, results))
            for value in done:
                del env[value]
        env.update(given)
        return env

    def begin(self, given: dict[Value, Tensor]) -> dict[Value, Any]:
        """The arguments as the graph reads them.

        Args:
            given: a tensor for each input.
        """
        return {value: tensor if value in self.unordered else in_order(tensor, value.layout) for value, tensor in given.items()}

    def call(self, node: Node, inputs: list) -> list[Tensor]:
        """The values of one node.

        Args:
            node: it.
            inputs: what stands in the places of its inputs.
        """
        if node.op == CONSTANT:
            return [self.constants[node.attributes[0]]]
        if not node.keeps:
            return run_op(node.op, inputs, node.attributes, node.writes)
        saved: list[Tensor] = []

        def pack(tensor):
            saved.append(tensor)
            return tensor
        with enable_grad(), saved_tensors_hooks(pack, lambda tensor: tensor):
            for i in node.wanted:
                if inputs[i].node is None:
                    inputs[i] = detach(inputs[i]).requires_grad_()
            results = run_op(node.op, inputs, node.attributes, node.writes)
        return [*results, *[detach(saved[i]) for i in node.keeps]]
