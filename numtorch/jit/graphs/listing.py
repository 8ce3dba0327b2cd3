"""A graph as Python, for people to read."""
from __future__ import annotations

from ...tree import filled, unflatten
from .graph import CONSTANT, Graph, Value, literal
from .scriptcalls import SCRIPT
from .structures import HOLE


def code_of(graph: Graph, name: str, method: bool = False) -> str:
    """Text that says what a graph computes.

    Args:
        graph: it.
        name: the function's.
        method: whether parameters are `self.` something.
    """
    held: dict[Value, str] = {}
    lines = []

    def shown(value):
        if isinstance(value, Value):
            if value in held:
                return held[value]
            return f"_{value.name}" if value.name[0].isdigit() else value.name
        return literal(value)

    for node in graph.nodes:
        if node.op == CONSTANT:
            path = str(node.attributes[0])
            held[node.outputs[0]] = f"self.{path}" if method else path
            continue
        if node.op == SCRIPT:
            lines.append(f"{', '.join(map(shown, node.outputs))} = {_script_call(node, shown, method)}")
            continue
        arguments = [shown(v) for v in node.inputs] + [literal(a) for a in node.attributes]
        if node.op.startswith("view."):
            right = f"{arguments[0]}.{node.op.removeprefix('view.')}({', '.join(arguments[1:])})"
        else:
            right = f"torch.{node.op}({', '.join(arguments)})"
        lines.append(f"{', '.join(map(shown, node.outputs))} = {right}")
    lines += [f"{shown(target)}.copy_({shown(value)})" for target, value in graph.writes]
    lines += [f"{shown(target)}.grad = {shown(value)}" for target, value in graph.gradients]
    result = unflatten([_Shown(shown(r)) for r in graph.results], graph.form)
    arguments = [*(["self"] if method else []), *[f"{shown(value)}: Tensor" for value in graph.inputs]]
    return "\n    ".join([f"def {name}({', '.join(arguments)}):", *lines, f"return {result!r}"]) + "\n"


def _script_call(node, shown, method):
    name, called, structure, _ = node.attributes
    args, options = filled(structure, HOLE, iter([_Shown(shown(v)) for v in node.inputs]))
    if called != "__call__":                             # a module's
        name = f"{'self.' if method else ''}{name}" + ("" if called == "forward" else f".{called}")
    return f"{name}({', '.join([*map(repr, args), *[f'{key}={each!r}' for key, each in options.items()]])})"


class _Shown:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self):
        return self.text
