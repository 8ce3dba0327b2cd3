"""A graph, run: each node by the op it names, on tensors that may be recorded as in any other call.

A graph is made for tensors in one order in memory: its regions (`part`) and what it views otherwise are found by their strides. An
argument of the same shape in another order is copied into that one first, unless only `fused` calls read it, which take any.
"""
from __future__ import annotations

from typing import Any

from ...autograd.modes import no_grad
from ...ops.memory.detach import detach
from ...tensor import Tensor
from .fused import FUSED
from .graph import CONSTANT, Graph, Node, Value
from .operations import in_order, run_node, write_all
from .scriptcalls import SCRIPTS, run_script_op


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
        self.last = graph.last_uses()

    def run(self, *args: Tensor) -> Any:
        """What the program returns.

        Args:
            args: a tensor for each input.
        """
        graph, env = self.graph, self.values(args)
        with no_grad():
            write_all([(env[target], env[value]) for target, value in graph.writes if env[value] is not env[target]])
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
        if node.op in SCRIPTS:
            program = self.constants[node.attributes[0]]
            return run_script_op(node.op, program, inputs, node.attributes, node.writes, len(node.outputs), node.keeps)
        return run_node(node, inputs)
