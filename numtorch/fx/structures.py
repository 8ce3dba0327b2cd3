"""Graphs of functions whose arguments are structures: each leaf is an argument of the graph, and the code takes and returns the
structures."""
from __future__ import annotations

import re
import sys
from typing import Any

from ..tree import count, registered
from ..utils import pytree
from ..utils.pytree import TreeSpec
from .codegen import CodeGen


class PHBase:
    """Stands for an argument in `concrete_args`: what is not decided."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class StructuredCodeGen(CodeGen):
    """Writes a `forward` that takes its arguments apart, and puts together what it returns.

    Args:
        arguments: their names, with stars for `*args` and `**kwargs`.
        given: what they are without their leaves.

    Attributes:
        returned: the same of what is returned, once that is known.
    """

    returned: TreeSpec

    def __init__(self, arguments: list[str], given: TreeSpec) -> None:
        self.arguments, self.given = arguments, given

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        names, defaults, place = [re.split("[ :=]", text.lstrip("*"), maxsplit=1)[0] for text in free_vars], [], 0
        for form in self.given.form[2]:
            defaults.append(free_vars[place].partition(" = ")[2] if form is None else "")
            place += count(form)
        arguments = []
        for i, name in enumerate(self.arguments):        # one has no default where a later one has none
            arguments.append(f"{name} = {defaults[i]}" if name[:1] != "*" and all(defaults[i:]) else name)
        begin = super().gen_fn_def(arguments, maybe_return_annotation)
        if not names:
            return begin
        given = ", ".join(name.lstrip("*") for name in self.arguments)
        return f"{begin}\n    {', '.join(names)}, = fx_pytree.tree_flatten_spec([{given}], self._in_spec)"

    def generate_output(self, output_args: Any) -> str:
        return f"return pytree.tree_unflatten({output_args!r}, self._out_spec)"

    def process_inputs(self, *args: Any) -> list:
        return tree_flatten_spec(args, self.given)

    def process_outputs(self, outputs: Any) -> Any:
        return pytree.tree_unflatten(outputs, self.returned)

    def additional_globals(self) -> list[tuple[str, Any]]:
        return [("fx_pytree", sys.modules[__name__]), ("pytree", pytree)]


def tree_flatten_spec(structure: Any, spec: TreeSpec) -> list:
    """The leaves of a structure where a form has some.

    Args:
        structure: as the form is, or with more.
        spec: the form.
    """
    leaves: list = []
    _take(structure, spec.form, leaves)
    return leaves


def _take(structure, form, leaves):
    if form is None:
        leaves.append(structure)
        return
    kind, keys, forms = form
    parts = registered[kind][0](structure)[0] if kind in registered else \
        [structure[key] for key in (keys if issubclass(kind, dict) else range(keys))]
    for part, each in zip(parts, forms):
        _take(part, each, leaves)
