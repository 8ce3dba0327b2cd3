"""The page of the elementwise ops, docs/ops.md, written from their records: `python -m numtorch ops`."""
from __future__ import annotations

import sys

import numtorch

from .. import special
from ..nn import functional
from ..ops.core.primitive import is_ours, registry
from ..ops.pointwise.describe import accepted, gradients_of, refused, translated
from ..ops.pointwise.pointwise import PointwiseOp
from ..tensor import Tensor

_HEAD = """# Elementwise ops

Each is one record, a formula and its derivative, from which the function, the method, the in-place form, `out=`, kernels and tests
are made ([architecture.md](architecture.md), "Ops and plans"). This page is made of the records too, by `python -m numtorch ops`.

A gradient is that of the named operand, where the result `out` has the gradient `grad`; the others have none. Arguments, errors
and examples: `help(torch.exp)`.
"""


def records() -> list:
    """The elementwise ops that have a public name; `functional` has forms of its own of those that are public only there."""
    return [op for op in registry.values() if isinstance(op, PointwiseOp) and is_ours(op.module)
            and (hasattr(numtorch, op.name) or hasattr(special, op.name)
                 or getattr(functional, op.name, op.function) is not op.function)]


def page() -> str:
    """The whole page, as Markdown."""
    parts, module = [_HEAD], None
    for op in sorted(records(), key=lambda op: op.module):
        if op.module != module:
            module = op.module
            about = (sys.modules[module].__doc__ or "").split("\n")[0]
            parts.append(f"\n## {about}\n\n| op | what it is | gradient | dtypes | in place |\n|---|---|---|---|---|\n")
        parts.append(_row(op))
    return "".join(parts)


def _row(op):
    call = f"`{op.name}({', '.join(op.public)})`"
    first = translated(op, (op.doc or "").split("\n")[0])
    gradient = "; ".join([f"{operand}: `{text}`" for operand, text in gradients_of(op).items() if text != "0"])
    place = f"`{op.name}_`" if hasattr(Tensor, op.name + "_") else ""
    return "| " + " | ".join([c.replace("|", "\\|") for c in (call, first, gradient, accepted(refused(op)), place)]) + " |\n"
