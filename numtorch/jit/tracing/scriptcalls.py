"""Calls of scripts while a trace is made: the graph calls one that looks at elements, which so keeps its conditions and loops."""
from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

from ...autograd.function import Function
from ...autograd.graph import saved_tensors_hooks
from ...autograd.modes import enable_grad, modes
from ...func.randomness import taken_by
from ...ops.core.generator import get_rng_state
from ...ops.core.late import provide
from ...ops.memory.copies import clone
from ...ops.memory.detach import detach
from ...tensor import Tensor
from ...tree import flatten, map_tensors, tensors_in
from ..graphs.graph import Node, Value
from ..graphs.scriptcalls import GRADIENT, SCRIPT, call_script, run_gradient_op
from ..graphs.structures import structure_of
from .cells import Traced, counts_of
from .freezing import keeping, tracing


class Called(NamedTuple):
    """A call of a script.

    Attributes:
        program: a function, or a module.
        name: its own.
        method: of the program.
        args: its arguments: (those by place, those by name).
        held: the tensors of the program, by name.
        writes: the places of those tensors, of the arguments and then of the program, that the script might write to.
    """

    program: Any
    name: str
    method: str
    args: tuple[tuple, dict]
    held: dict[str, Tensor]
    writes: tuple[int, ...]


def _as_it_is(tensor):
    return tensor


@contextlib.contextmanager
def _unseen():
    """While nothing is written down."""
    by_ops, modes.by_ops = modes.by_ops, None
    try:
        with tracing(None), taken_by(None), saved_tensors_hooks(_as_it_is, _as_it_is):
            yield
    finally:
        modes.by_ops = by_ops


class _Call:
    """A call that is made and written down.

    Attributes:
        trace, program, attributes, writes: of it.
        values: what the graph has for its tensors.
        result: what the script returns.
        stream: where the default stream of random numbers was before the script ran.
        node: of the graph.
    """

    result: Any
    stream: Tensor
    node: Node

    def __init__(self, trace: Any, program: Any, values: list, attributes: tuple, writes: tuple = ()) -> None:
        self.trace, self.program, self.values, self.attributes, self.writes = trace, program, values, attributes, writes

    def kept_stream(self) -> Value:
        """The graph's value of where the stream was, which the script's node keeps from the first time on that somebody asks."""
        node = self.node
        if not node.keeps:
            node.outputs.append(Value(self.trace.graph.name(), self.stream.layout, node))
            node.keeps = (0,)
        return node.outputs[-1]


class _Script(Function):
    """A script's call as one node of the tape, whose backward is one call of the graph."""

    @staticmethod
    def forward(ctx, call, *inner):
        ctx.call, ctx.inner, call.stream = call, inner, get_rng_state()
        own = [detach(t).requires_grad_(wanted) for t, wanted in zip(inner, ctx.needs_input_grad[1:])]
        with _unseen(), enable_grad():
            call.result, made = call_script(call.program, own, call.attributes, call.writes)
        results = [inner[call.writes[i]] if i >= 0 and each is own[call.writes[i]] else detach(each)
                   for i, each in enumerate(made, len(call.writes) - len(made))]
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*[result for result, each in zip(results, made) if each.node is None])
        return tuple(results)

    @staticmethod
    def backward(ctx, *grads):
        call = ctx.call
        return _backward(ctx, grads, (*call.attributes, call.writes), [call.stream], [call.kept_stream()])


class _Gradient(Function):
    """The gradients of a call, which are a call themselves."""

    @staticmethod
    def forward(ctx, call, *inner):
        ctx.call, ctx.inner = call, inner
        ctx.set_materialize_grads(False)
        with _unseen():
            return tuple(run_gradient_op(call.program, [*map(detach, inner)], call.attributes))

    @staticmethod
    def backward(ctx, *grads):
        return _backward(ctx, grads, ctx.call.attributes)


def _backward(ctx, grads, attributes, more=(), values=()):
    """Gradients for the arguments of a call, by one with further inputs and attributes."""
    trace, program = ctx.call.trace, ctx.call.program
    places = tuple([i for i, each in enumerate(grads) if each is not None])
    wanted = tuple([i for i, each in enumerate(ctx.needs_input_grad[1:]) if each])
    given = [grads[i] for i in places]
    call = _Call(trace, program, [*ctx.call.values, *values, *map(trace.value_of, given)], (*attributes, places, wanted))
    results = dict(zip(wanted, _gradient(call, [*ctx.inner, *more, *map(trace.inside, given)])))
    return (None, *[results.get(i) for i in range(len(ctx.inner))])


def _gradient(call, inner):
    """What a gradient's call gives, traced."""
    made = _Gradient.apply(call, *inner)
    values = call.trace.emit(GRADIENT, call.values, call.attributes, [t.layout for t in made], draws=True)
    return list(map(call.trace.result, made, values))


def _script(call, tensors):
    """The tensors that a script's call returns, traced. Those that it writes to are written to."""
    trace, writes = call.trace, call.writes
    inner = [trace.inside(t) for t in tensors]
    made = list(_Script.apply(call, *inner))
    results, written = made[:len(made) - len(writes)], dict(zip(writes, made[len(made) - len(writes):]))
    for i in writes:
        if not isinstance(tensors[i].layout, Traced):
            trace.adopt(tensors[i])
            inner[i] = trace.inside(tensors[i])
    call.node = Node(SCRIPT, call.values, call.attributes, writes, draws=True)
    values = trace.add(call.node, [*[t.layout for t in results], *[inner[i].layout for i in writes]])
    counts = counts_of(*[t.layout for t in tensors])
    outer = [trace.result(t, value, counts) for t, value in zip(results, values)]
    for (i, now), value in zip(written.items(), values[len(results):]):
        if now.memory is not inner[i].memory:
            inner[i].copy_(now)
        trace.store(inner[i], value)
    return outer


def call_of_script(trace: Any, called: Called) -> Any:
    """Make a call, and write it down.

    Args:
        trace: the trace.
        called: it.

    Returns:
        What the script returns, traced. Numbers among it stay what they are now, of which the trace warns.
    """
    tensors = [*tensors_in(called.args), *called.held.values()]
    attributes = _held_as(trace, called.program, called.name), called.method, structure_of(called.args), tuple(called.held)
    call = _Call(trace, called.program, [trace.value_of(t) for t in tensors], attributes, called.writes)
    outer = iter(_script(call, tensors))
    if any(isinstance(each, (int, float)) for each in flatten(call.result)[0]):
        trace.freezing(None, trace)
    return map_tensors(lambda tensor: next(outer), call.result)


@provide
def traced_script_op(op: str, program: Any, inputs: list, attributes: tuple, writes: tuple, keeps: tuple) -> list[Tensor] | None:
    """What a call of a graph gives that runs while another trace is made, which has it as its own. None while there is none.

    Args:
        op, program, inputs, attributes, writes, keeps: of the call.
    """
    trace = keeping()
    if trace is None or not any(isinstance(t.layout, Traced) for t in inputs):
        return None
    given = [clone(t) if i in writes else t for i, t in enumerate(inputs)]
    attributes = (_held_as(trace, program, attributes[0]), *attributes[1:])
    call = _Call(trace, program, [trace.value_of(t) for t in given], attributes, writes)
    if op == GRADIENT:
        return _gradient(call, [trace.inside(t) for t in given])
    results = [*_script(call, given), *[given[i] for i in writes]]
    return [*results, trace.result(call.stream, call.kept_stream())] if keeps else results


def _held_as(trace, program, called):
    """The name under which a graph holds what is called: its path, or one that neither tensors nor modules have."""
    constants, name = trace.graph.constants, trace.paths.get(id(program))
    if name is None:
        taken, name = {*trace.names.values(), *trace.paths.values()}, called
        while name in taken or constants.get(name, program) is not program:
            name += "_"
    constants[name] = program
    return name
