"""Calls of scripts in graphs: what looks at elements as it runs, so that a graph holds it and not its ops.

    %4: float32[3] = script[block, 'forward', (('%tensor', 2), {}), ('weight',)](%x, %weight, draws=True)

The attributes are the name of what the graph holds, its method, the arguments with marks for tensors, and the names of the tensors
of a module, which come behind the arguments' own: a graph says of each what it is. Which ones `writes` names are those that the
script might write to. A call may draw, print or raise, so that none is left out (`draws`).

`script_gradient` gives the gradients of a call, for which the script runs again. Its inputs are those of the call, where the
default stream of random numbers was, which the call keeps for it (`keeps`) so that the same is drawn, and the gradients of results.
Its attributes are those of the call, its `writes`, the places of the results, and of the inputs whose gradients it gives. The
gradients of such a call are one with two more attributes, and the gradients of results behind its inputs.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

from ...autograd.api import grad
from ...autograd.modes import enable_grad, modes
from ...func.modules import replaced
from ...ops.core.generator import fork_rng, get_rng_state, set_rng_state
from ...ops.core.late import later
from ...ops.creation.fill import zeros_like
from ...ops.memory.copies import clone
from ...ops.memory.detach import detach
from ...ops.shape.views import view_as
from ...tensor import Tensor
from ...tree import filled, flatten, tensors_in
from .structures import HOLE

SCRIPT = "script"
GRADIENT = "script_gradient"
SCRIPTS = SCRIPT, GRADIENT


def calls_scripts(graph: Any) -> bool:
    """Whether a graph calls scripts.

    Args:
        graph: it.
    """
    return any(node.op in SCRIPTS for node in graph.nodes)


def check_script_op(node: Any, program: Any) -> None:
    """Whether a call of a script is one: a file may say anything, and is run.

    Args:
        node: the call.
        program: what it calls; None where that is not known.

    Raises:
        ValueError: it is none.
    """
    attributes = node.attributes
    count = len(attributes)
    if count != 4 if node.op == SCRIPT else count < 7 or count % 2 == 0:
        raise ValueError(f"graph: {node.op} has not so many attributes")
    name, method, structure, held, *more = attributes
    scripts = getattr(program, "__dict__", {}).get("_scripts")
    if program is not None and not (method in scripts if scripts is not None else hasattr(program, "_script") and
                                    method == "__call__" and not held):
        raise ValueError(f"graph: {method} of {name} is no script")
    args, options = structure
    marks = [each for each in flatten((args, options))[0] if each == HOLE]
    count = len(marks) + len(held) + (1 + sum(map(len, more[1::2])) if more else 0)
    if type(args) is not tuple or type(options) is not dict or len(node.inputs) != count or not all(
            isinstance(each, str) for each in (*held, *options)) or any(i >= count for i in node.writes):
        raise ValueError(f"graph: {name} is not called so")


def run_script_op(op: str, program: Any, inputs: list, attributes: tuple, writes: tuple, results: int | None = None,
                  keeps: tuple = ()) -> list[Tensor]:
    """The tensors that a call of a script gives, then what it wrote and what it keeps, or that its gradient gives.

    Args:
        op: which of the two.
        program: what is called.
        inputs, attributes, writes, keeps: of the node.
        results: how many there must be, where that is known.

    Raises:
        RuntimeError: the script gives more or fewer tensors than when it was traced.
    """
    made = later["traced_script_op"](op, program, inputs, attributes, writes, keeps)
    if made is None and op == GRADIENT:
        made = run_gradient_op(program, inputs, attributes)
    elif made is None:
        kept = [get_rng_state() for _ in keeps]
        made = [*call_script(program, inputs, attributes, writes)[1], *kept]
    if results is not None and len(made) != results:
        others = len(writes) + len(keeps)
        raise RuntimeError(f"jit: {attributes[0]}, a script that a trace calls, gives {len(made) - others} tensors here, and gave "
                           f"{results - others} when it was traced")
    return made


def call_script(program: Any, inputs: list, attributes: tuple, writes: tuple, call: Any = None,
                copy: Any = clone) -> tuple[Any, list[Tensor]]:
    """What a script returns, and its tensors, then what it wrote: those it was given where it did not.

    Args:
        program: a function, or a module.
        inputs, attributes, writes: of the node.
        call: makes a call of a function with arguments by place and by name; by default Python does.
        copy: copies a tensor.
    """
    _, method, structure, held = attributes
    given: list = [copy(t) if i in writes else t for i, t in enumerate(inputs)]
    versions = [given[i].memory.version for i in writes]
    tensors = iter(given)
    args, options = filled(structure, HOLE, tensors)
    own = dict(zip(held, tensors))
    with replaced(program, own, tie_weights=False) if held else contextlib.nullcontext():
        function = program if method == "__call__" else getattr(program, method)
        result = function(*args, **options) if call is None else call(function, args, options)
    results = [copy(t) if any(t.memory is each.memory for each in given) else t for t in tensors_in(result)]
    first, written = len(given) - len(held), []
    for i, version in zip(writes, versions):
        now = own[held[i - first]] if i >= first else given[i]
        same = now is given[i] and now.layout.handler is None and now.memory.version == version
        written.append(inputs[i] if same else now)
    return result, [*results, *written]


def run_gradient_op(program: Any, inputs: list, attributes: tuple) -> list[Tensor]:
    """The gradients of a call's results for its inputs.

    Args:
        program: what is called.
        inputs, attributes: of the node.
    """
    *call, places, wanted = attributes
    stop = len(inputs) - len(places)
    grads = inputs[stop:]
    with enable_grad():
        own = [t if i not in wanted else view_as(t, t) if t.node is not None else detach(t).requires_grad_()
               for i, t in enumerate(inputs[:stop])]
        made = _run_again(program, own, call)
    pairs = [(made[place], each) for place, each in zip(places, grads) if made[place].node is not None]
    found: Iterable = grad([result for result, _ in pairs], [own[i] for i in wanted], [each for _, each in pairs],
                           create_graph=modes.grad, allow_unused=True) if pairs else [None] * len(wanted)
    return [zeros_like(inputs[i]) if each is None else each for i, each in zip(wanted, found)]


def _run_again(program, inputs, attributes):
    """What a call gave, by the attributes of its gradient without places."""
    if len(attributes) > 5:
        return run_gradient_op(program, inputs, tuple(attributes))
    *call, writes = attributes
    *inputs, stream = inputs
    with fork_rng():
        set_rng_state(stream)
        return call_script(program, inputs, tuple(call), writes)[1]
