"""A recorded call once more, op by op, for gradients that are differentiated themselves.

Programs are launches, of which the tape knows nothing. So where backward is recorded (`create_graph`), the graph of what the
results need runs on what the call was given: the same draws are made from where the streams were, and nothing is written. What the
call wrote over, and results depend on, was kept before.
"""
from __future__ import annotations

from typing import NamedTuple

from ...autograd.api import partial_gradients
from ...autograd.graph import GraphNode, Recorded
from ...autograd.modes import enable_grad, no_grad
from ...ops.core.generator import Generator, default_generator
from ...ops.memory.copies import clone
from ...ops.memory.detach import detach
from ...tensor import Tensor, view_of
from ..graphs.graph import CONSTANT, Graph, Node
from ..graphs.interpreter import Interpreter
from .joint import Halves, Joint

_PASSED = Recorded("compiled_argument")


@_PASSED.derivative
def _pass(node, grad):
    return (grad,)


def apart(tensor: Tensor) -> Tensor:
    """A tensor as the result of a call on the tape, so that gradients by it run none of its own hooks.

    Args:
        tensor: it; one that requires no grad is returned as it is.
    """
    node = tensor.node
    return tensor if node is None else view_of(tensor, tensor.layout, 0, GraphNode(_PASSED, (node,), ()))


class Beginning(NamedTuple):
    """What a call began with.

    Attributes:
        tensors: by the places of the arguments that the graph reads.
        constants: those that the call writes to, as they were.
        versions: of what is read and not written to.
        streams: where random streams were.
    """

    tensors: dict[int, Tensor]
    constants: dict[str, Tensor]
    versions: list[tuple[Tensor, int]]
    streams: list[tuple[Generator, int, int]]

    def is_unchanged(self) -> bool:
        """Whether nothing has been written to what was read."""
        return all(tensor.memory.version == version for tensor, version in self.versions)


class _Recording(Interpreter):
    """A graph, recorded but for some nodes.

    Args:
        graph, constants: as `Interpreter` has them.
        unrecorded: these nodes.
    """

    def __init__(self, graph: Graph, constants: dict, unrecorded: set) -> None:
        super().__init__(graph, constants)
        self.unrecorded = unrecorded

    def call(self, node: Node, inputs: list) -> list[Tensor]:
        if node not in self.unrecorded or node.op == CONSTANT:
            return super().call(node, inputs)
        with no_grad():
            return super().call(node, inputs)


class Repetition:
    """A call's results, and their gradients, by ops.

    Args:
        joint: the traced call.
        halves: its programs.
    """

    def __init__(self, joint: Joint, halves: Halves) -> None:
        self.graph, self.reads, self.unrecorded = halves.again, halves.reads, halves.unrecorded
        self.leaves, self.reached = joint.arguments, joint.reached
        targets = [target for target, _ in joint.graph.writes]
        self.written = {i for i in self.reads if joint.graph.inputs[i] in targets}
        overwritten = {target.node.attributes[0] for target in targets if target.node is not None}
        names = {node.attributes[0] for node in self.graph.nodes if node.op == CONSTANT} & joint.names.keys()
        self.overwritten = {name: joint.names[name] for name in names & overwritten}
        self.named = {name: joint.names[name] for name in names - overwritten}
        drawing = [node for node in self.graph.nodes if node.draws]
        streams = [each for node in drawing for each in (default_generator, *node.attributes)]
        self.generators = {each for each in streams if isinstance(each, Generator)}

    def begin(self, tensors: list) -> Beginning:
        """What is kept of a call, before it is made.

        Args:
            tensors: its arguments.
        """
        with no_grad():
            given = {i: clone(detach(tensors[i])) if i in self.written else tensors[i] for i in self.reads}
            before = {name: clone(detach(tensor)) for name, tensor in self.overwritten.items()}
        read = [*[tensors[i] for i in self.reads if i not in self.written], *self.named.values()]
        return Beginning(given, before, [(tensor, tensor.memory.version) for tensor in read],
                         [(each, each._seed, each._offset) for each in self.generators])

    def gradients(self, beginning: Beginning, arguments: dict, begin: list) -> list:
        """Gradients that have graphs, by the arguments and the tensors that require grad; None where there is none.

        Args:
            beginning: what was kept of the call.
            arguments: those that require grad, by their places.
            begin: a gradient for each result that has one.
        """
        given = {i: apart(tensor) for i, tensor in arguments.items()}
        reached = {id(tensor): apart(tensor) for tensor in self.reached}
        constants = {**self.graph.constants, **{name: reached.get(id(each), each) for name, each in self.named.items()},
                     **beginning.constants}
        now = [(each, each._seed, each._offset) for each in self.generators]
        _set(beginning.streams)
        try:
            with enable_grad():
                values = _Recording(self.graph, constants, self.unrecorded).values(tuple([
                    beginning.tensors[i] if i in self.written else given.get(i, beginning.tensors[i]) for i in self.reads]))
        finally:
            _set(now)
        outs = [values[each] for each in self.graph.results]
        return partial_gradients(outs, [*[given[i] for i in self.leaves], *reached.values()], begin, create_graph=True)


def _set(streams):
    for generator, seed, offset in streams:
        generator._seed, generator._offset = seed, offset
