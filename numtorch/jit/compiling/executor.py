"""A graph of a whole call, run on what the function reaches: writes where they belong, steps by the optimisers themselves."""
from __future__ import annotations

from typing import Any

from ...autograd.modes import no_grad
from ...ops.memory.detach import detach
from ...tensor import Tensor
from ..graphs.graph import CONSTANT, Graph, Node, Value
from ..graphs.interpreter import Interpreter
from ..graphs.operations import run_op, write_all
from ..graphs.updates import UPDATE
from ..passes.inplace import is_view, writes_in_place, written_values


class Unsuited(Exception):
    """A graph cannot be run in the place of a call: why."""


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
        self.steps: dict[Node, list[Node]] = {}
        step: list[Node] = []
        for node in graph.nodes:
            if node.op != UPDATE.name:
                step = [] if node.op != CONSTANT and not is_view(node) else step
                continue
            written = written_values(node)
            if any(value in graph.results for value in written):
                raise Unsuited("what an optimiser's step gives is returned")
            if len(self.in_place.get(node, ())) < len(node.writes):
                raise Unsuited("what was there before an optimiser's step is used after it")
            if not step or self._optimizer(step[0]) is not self._optimizer(node) or node.inputs[1] in written_values(step[0]):
                step = []                                # another step, before which something else is computed, or right after
            step.append(node)
            self.steps[node] = step

    def _optimizer(self, node):
        held = getattr(node.inputs[0], "node", None)
        if held is None or held.op != CONSTANT or held.attributes[0] not in self.optimizers:
            raise Unsuited("a step of an optimiser that is not known")
        return self.optimizers[held.attributes[0]]

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
        shape, strides, offset = node.attributes
        x.as_strided(shape, strides, x.storage_offset() + offset).copy_(source)
        return [x]

    def _step(self, node, inputs):
        """The last call of a step takes it, of all parameters."""
        optimizer, nodes = self._optimizer(node), self.steps[node]
        if node is nodes[0]:                             # a step is of those that have a gradient
            for leaf in [p.node for group in optimizer.param_groups for p in group["params"] if p.node is not None]:
                leaf.grad = None
        inputs[1].node.grad = detach(inputs[2])
        if node is nodes[-1]:
            optimizer.step()
        return [inputs[i] for i in node.writes]
