"""A graph of a whole call, run on what the function reaches: writes where they belong, steps by the optimisers themselves."""
from __future__ import annotations

from typing import Any

from ...autograd.modes import no_grad
from ...ops.memory.detach import detach
from ...tensor import Tensor
from ..graphs.graph import Graph, Node, Value
from ..graphs.interpreter import Interpreter
from ..graphs.operations import part, run_op, write_all
from ..graphs.updates import UPDATE
from ..passes.inplace import writes_in_place
from ..passes.steps import optimizer_of, steps_of


class Executor(Interpreter):
    """Runs a graph in the place of the call that it was traced from.

    Args:
        graph: it.
        optimizers: by the names of the constants that their coefficients are.
        dropped: the leaves of the tape that have no gradient afterwards.

    Raises:
        Unsuited: what a step gives is returned, or what it overwrites is used after it.
    """

    def __init__(self, graph: Graph, optimizers: dict, dropped: list) -> None:
        super().__init__(graph)
        self.optimizers, self.dropped = optimizers, dropped
        self.in_place = writes_in_place(graph)
        self.targets: dict[Value, Value] = {value: target for target, value in graph.writes}
        self.steps = steps_of(graph, optimizers)

    def run(self, *args: Tensor) -> Any:
        graph = self.graph
        with no_grad():
            env = self.values(args)
            moved = [(env[target], env[value]) for target, value in graph.writes]
            write_all([(there, here) for there, here in moved
                       if here.memory is not there.memory or here.address != there.address or here.layout is not there.layout])
            for target, value in graph.gradients:
                leaf, grad = env[target].node, env[value]
                if leaf.grad is None or leaf.grad.memory is not grad.memory or leaf.grad.address != grad.address:
                    leaf.grad = detach(grad)             # else it is what a step has had
            for leaf in self.dropped:
                leaf.grad = None
        return graph.result(lambda value: env[self.targets.get(value, value)])

    def call(self, node: Node, inputs: list) -> list[Tensor]:
        if node.op == UPDATE.name:
            return self._step(node, inputs)
        places = self.in_place.get(node)
        if node.keeps:                                   # for which the call was recorded
            return [detach(tensor) for tensor in super().call(node, inputs)]
        if not places:
            return super().call(node, inputs)
        if node.writes:
            return run_op(node.op, inputs, node.attributes, node.writes, places)
        x, source = inputs                               # put_part
        part(x, *node.attributes).copy_(source)
        return [x]

    def _step(self, node, inputs):
        """The last call of a step takes it, of all parameters."""
        optimizer, nodes = optimizer_of(node, self.optimizers), self.steps[node]
        if node is nodes[0]:                             # a step is of those that have a gradient
            for leaf in [p.node for group in optimizer.param_groups for p in group["params"] if p.node is not None]:
                leaf.grad = None
        inputs[1].node.grad = detach(inputs[2])
        if node is nodes[-1]:
            optimizer.step()
        return [inputs[i] for i in node.writes]
