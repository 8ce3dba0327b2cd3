"""Whether the calls of a graph give what its text says: a file may be damaged or made to do harm, a graph be changed by hand.

Calls are made without memory. One that must read values, as that of `nonzero`, comes as far as its plan, which is where operands
are checked; what it gives, or a script does, is known when it runs. Then all that uses it is planned for what is there, whatever
the text says."""
from __future__ import annotations

import warnings
from typing import Any

from ...autograd.modes import no_grad
from ...devices import device
from ...layout import Layout
from ...meta import placed
from ...ops.core.generator import fork_rng
from ...ops.core.late import provide
from ...ops.core.status import NoValues
from ...tensor import Tensor, empty
from .graph import CONSTANT, Graph, Node, Value, shown
from .interpreter import Interpreter
from .scriptcalls import SCRIPTS, check_script_op

_META = placed(device("meta"))


def _without_memory(layout: Layout) -> Tensor:
    return empty(Layout.of(layout.dtype, layout.shape, layout.strides, _META))


def _elsewhere(attribute):
    """An attribute with layouts and devices as they are for tensors without memory."""
    if type(attribute) is tuple:
        return tuple(map(_elsewhere, attribute))
    if isinstance(attribute, Layout):
        return Layout.of(attribute.dtype, attribute.shape, attribute.strides, _META, attribute.weak)
    return _META if isinstance(attribute, device) else attribute


def _operands(interpreter, node):
    """What a call is given: new tensors, but for what views a view, perhaps beyond its elements."""
    return [_viewed(interpreter, v) if node.op == "part" and isinstance(v, Value) else
            _without_memory(v.layout) if isinstance(v, Value) else v for v in node.inputs]


def _viewed(interpreter, value):
    node = value.node
    if node is None or (not node.op.startswith("view.") and node.op != "part"):
        return _without_memory(value.layout)
    return interpreter.call(_call_without_memory(node), [_viewed(interpreter, v) for v in node.inputs])[node.outputs.index(value)]


def _call_without_memory(node):
    return Node(node.op, node.inputs, _elsewhere(node.attributes), node.writes, node.keeps, node.wanted, node.draws)


@provide
def check_calls(graph: Graph, constants: Any) -> None:
    """Make each call without memory, on tensors as the text has them.

    Args:
        graph: it.
        constants: its constants by name; None for those of a text that was read without them.

    Raises:
        ValueError: a call is none, or gives something else, or what is written does not fit where it is.
    """
    interpreter = Interpreter(graph, constants)
    with no_grad(), fork_rng([]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for node in graph.nodes:
            if node.op in SCRIPTS:
                check_script_op(node, constants[node.attributes[0]])
                continue
            if node.op == CONSTANT and constants[node.attributes[0]] is None:
                continue
            try:
                results = interpreter.call(_call_without_memory(node), _operands(interpreter, node))
            except NoValues:
                continue
            except Exception as error:
                raise ValueError(f"graph: {node.op} cannot be called so: {error}") from None
            got = [None if each is None else each.layout for each in results]
            wanted = [value.layout for value in node.outputs]
            if len(got) != len(wanted) or any(a is None or (a.shape, a.dtype) != (b.shape, b.dtype) for a, b in zip(got, wanted)):
                said = ["nothing" if a is None else shown(a).replace(" on meta", "") for a in got]
                raise ValueError(f"graph: {node.op} gives {', '.join(said)}, not {', '.join(map(shown, wanted))}")
    for target, value in (*graph.writes, *graph.gradients):
        if (target.layout.shape, target.layout.dtype) != (value.layout.shape, value.layout.dtype):
            raise ValueError(f"graph: %{target.name} is {shown(target.layout)}, and cannot be written with {shown(value.layout)}")
