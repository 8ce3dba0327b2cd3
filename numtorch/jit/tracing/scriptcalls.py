"""Calls of scripts while a trace is made: the graph calls one that looks at elements, which so keeps its conditions and loops."""
from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

from ...autograd.function import Function
from ...autograd.graph import saved_tensors_hooks
from ...autograd.modes import enable_grad, modes
from ...func.randomness import taken_by
from ...ops.core.generator import default_generator
from ...ops.memory.detach import detach
from ...tensor import Tensor
from ...tree import flatten, map_tensors, tensors_in
from ..graphs.graph import Node
from ..graphs.scriptcalls import GRADIENT, SCRIPT, call_script, run_script_op
from ..graphs.structures import structure_of
from .cells import Traced, counts_of
from .freezing import tracing


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


_FIRST = 5                                                # of the arguments of a _Script that is a tensor


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


class _Script(Function):
    """A script's call as one node of the tape, whose backward is one call of the graph."""

    @staticmethod
    def forward(ctx, trace, running, attributes, writes, values, *inner):
        ctx.trace, ctx.program, ctx.attributes, ctx.writes = trace, running.program, attributes, writes
        ctx.values, ctx.inner = values, inner
        offset = default_generator._offset
        own = [detach(t).requires_grad_(wanted) for t, wanted in zip(inner, ctx.needs_input_grad[_FIRST:])]
        with _unseen(), enable_grad():
            running.result, made = call_script(running.program, own, attributes, writes)
        results = [inner[writes[i]] if i >= 0 and each is own[writes[i]] else detach(each)
                   for i, each in enumerate(made, len(writes) - len(made))]
        ctx.draws = default_generator._offset != offset
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*[result for result, each in zip(results, made) if each.node is None])
        return tuple(results)

    @staticmethod
    def backward(ctx, *grads):
        if ctx.draws:
            raise NotImplementedError("trace: the gradient of a script that draws is asked for inside of the traced function: do "
                                      "that outside of it")
        trace = ctx.trace
        places = tuple([i for i, each in enumerate(grads) if each is not None])
        wanted = tuple([i for i in range(len(ctx.inner)) if ctx.needs_input_grad[_FIRST + i]])
        given = [grads[i] for i in places]
        attributes = (*ctx.attributes, ctx.writes, places, wanted)
        made = _Gradient.apply(ctx.program, attributes, *ctx.inner, *map(trace.inside, given))
        values = trace.emit(GRADIENT, [*ctx.values, *map(trace.value_of, given)], attributes, [t.layout for t in made], draws=True)
        results = iter(map(trace.result, made, values))
        return (None,) * _FIRST + tuple([next(results) if i in wanted else None for i in range(len(ctx.inner))])


class _Gradient(Function):
    """The gradients of a call."""

    @staticmethod
    def forward(ctx, program, attributes, *inner):
        with _unseen():
            return tuple(run_script_op(GRADIENT, program, [*map(detach, inner)], attributes, ()))

    @staticmethod
    def backward(ctx, *grads):
        raise NotImplementedError("trace: the gradient of a script that looks at elements is differentiated inside of the traced "
                                  "function: do that outside of it")


class _Running:
    """A call that runs: what it returns is put here."""

    def __init__(self, program: Any) -> None:
        self.program, self.result = program, None


def call_of_script(trace: Any, called: Called) -> Any:
    """Make a call, and write it down.

    Args:
        trace: the trace.
        called: it.

    Returns:
        What the script returns, traced. Numbers among it stay what they are now, of which the trace warns.
    """
    tensors = [*tensors_in(called.args), *called.held.values()]
    writes = called.writes
    inner, values = [trace.inside(t) for t in tensors], [trace.value_of(t) for t in tensors]
    attributes = (_held_as(trace, called), called.method, structure_of(called.args), tuple(called.held))
    running = _Running(called.program)
    made = list(_Script.apply(trace, running, attributes, writes, values, *inner))
    results, written = made[:len(made) - len(writes)], dict(zip(writes, made[len(made) - len(writes):]))
    for i in writes:
        if not isinstance(tensors[i].layout, Traced):
            trace.adopt(tensors[i])
            inner[i] = trace.inside(tensors[i])
    node = Node(SCRIPT, values, attributes, writes, draws=True)
    values = trace.add(node, [*[t.layout for t in results], *[inner[i].layout for i in writes]])
    counts = counts_of(*[t.layout for t in tensors])
    outer = iter([trace.result(t, value, counts) for t, value in zip(results, values)])
    for (i, now), value in zip(written.items(), values[len(results):]):
        if now.memory is not inner[i].memory:
            inner[i].copy_(now)
        trace.store(inner[i], value)
    if any(isinstance(each, (int, float)) for each in flatten(running.result)[0]):
        trace.freezing(None, trace)
    return map_tensors(lambda tensor: next(outer), running.result)


def _held_as(trace, called):
    """The name under which a graph holds what is called: its path, or one that neither tensors nor modules have."""
    constants, name = trace.graph.constants, trace.paths.get(id(called.program))
    if name is None:
        taken, name = {*trace.names.values(), *trace.paths.values()}, called.name
        while name in taken or constants.get(name, called.program) is not called.program:
            name += "_"
    constants[name] = called.program
    return name
