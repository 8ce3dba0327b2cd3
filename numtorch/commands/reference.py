"""The page of all primitives, docs/ops.md, written from their records: `python -m numtorch ops`."""
from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path

import numtorch

from .. import ops, sparse, special
from ..autograd.modes import no_grad
from ..dtypes import dtype as named
from ..kernels import cpu, cuda
from ..nn import functional
from ..ops.core.primitive import Primitive, is_ours, registry
from ..ops.core.status import NoValues
from ..ops.pointwise.describe import accepted, gradients_of, refused, translated
from ..ops.pointwise.pointwise import PointwiseOp
from ..ops.samples import calls_of, dtypes_of, run
from ..tensor import Tensor

_HEAD = """# Elementwise ops

Each is one record, a formula and its derivative, from which the function, the method, the in-place form, `out=`, kernels and tests
are made ([architecture.md](architecture.md), "Ops and plans"). This page is made of the records too, by `python -m numtorch ops`.

A gradient is that of the named operand, where the result `out` has the gradient `grad`; the others have none. Gradients have
gradients in turn. Each op runs on the host, on CUDA devices and, as shapes alone, on `meta`, by the kernels of the family
`pointwise.pointwise`. Arguments, errors and examples: `help(torch.exp)`.
"""


_REST = """
# All other primitives

What is not elementwise and not composed of other ops, room by room: a planner for the layouts, what runs a plan, and a derivative
written in ops, which is why gradients have gradients. The dtypes are those of the operands that may be of several, as the planner
takes them; it refuses others by name. Where elements must be read to know a result, there is none on `meta`. The kernels are those
families of `numtorch/kernels/` that the planner asks for; where it asks for none, elements are seen otherwise, other ops' kernels
are used, or NumPy's LAPACK or Fourier transforms compute ([cuda.md](cuda.md) says which are the host's on a CUDA device too).
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
            parts.append(f"\n## {about}\n\n`{_file(module)}`\n\n"
                         "| op | what it is | gradient | dtypes | in place |\n|---|---|---|---|---|\n")
        parts.append(_row(op))
    return "".join([*parts, _REST, *_rooms()])


def others() -> list:
    """The primitives that are not elementwise, by their files."""
    for package in (ops, sparse):                        # some are made when their file is first needed
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            importlib.import_module(found.name)
    homes = (ops.__name__ + ".", sparse.__name__ + ".")
    own = [op for op in registry.values() if not isinstance(op, PointwiseOp) and op.module.startswith(homes)]
    return sorted(own, key=lambda op: (op.module, op.name))


def _rooms():
    """A table for each room of primitives that are not elementwise."""
    rooms: dict = {}
    for op in others():
        rooms.setdefault(".".join(op.module.split(".")[:3 if op.module.startswith(ops.__name__) else 2]), []).append(op)
    for room, primitives in rooms.items():
        about = (sys.modules[room].__doc__ or "").split("\n")[0].partition(":")[0].rstrip(".")
        yield f"\n## {about}\n\n| primitive | what it is | gradient | dtypes | devices | kernels | file |\n{'|---' * 7}|\n"
        for op in primitives:
            families = _families(op)
            yield _line([f"`{op.name}({', '.join(op.parameters)})`", _first_line(op), orders(op), *_where(op, families),
                         ", ".join(families), _file(op.module)])


def _where(op, families):
    """The dtypes that a primitive's planner takes in its samples, and the kinds of devices that it runs on."""
    if not op.samples:                                   # a name of nodes alone
        return "", ""
    twins = all((Path(cuda.__file__).parent / _path(name)).exists() for name in families)
    devices = ", ".join(["host"] + ["cuda"] * twins + ["meta"] * _runs_on_meta(op))
    if not any(re.search(r"\bT\b", text) for text in op.samples):      # whose operands have dtypes of their own
        return ", ".join(sorted({t.layout.dtype.name for tensors, _ in calls_of(op) for t in tensors})), devices
    return _in_words(dtypes_of(op)), devices


def _runs_on_meta(op):
    try:
        with no_grad():
            for tensors, attributes in calls_of(op, dtypes_of(op)[0], "meta"):
                run(op, tensors, attributes)
    except NoValues:
        return False
    return True


def _in_words(dtypes):
    """Kinds of dtypes of which all are there, and the names of others."""
    words = []
    for category, kind in enumerate(("bools", "integers", "floats", "complex numbers")):
        of_kind = [each for each in named.by_name.values() if each.category == category]
        there = [each.name for each in of_kind if each in dtypes]
        words += [kind] if len(there) == len(of_kind) else there
    return "any" if len(dtypes) == len(named.by_name) else ", ".join(words)


def _file(module):
    return "/".join(module.split(".")[1:]) + ".py"


def _first_line(op):
    """What a primitive is, in its own words or in those of the function of its name."""
    name = op.name.removeprefix("linalg_").removesuffix("_along")
    named = [getattr(home, name, None) for home in (numtorch, functional, numtorch.linalg, numtorch.special, Tensor)]
    texts = [op.doc, *[f.__doc__ for f in (op.function, *named, op.execute) if inspect.isfunction(f)]]
    of_another = f"The gradient of `{op.name[:-5]}`." if op.name.endswith("_grad") else ""
    return next((text.split("\n")[0] for text in texts if text), of_another)


def orders(op):
    """What gradients a primitive has: a derivative that has none of its own says so, by what it is made of."""
    if op.vjp is None or _ends(op):
        return "none"
    used = [op.vjp.__globals__.get(name) for name in op.vjp.__code__.co_names] if hasattr(op.vjp, "__code__") else []
    return "first" if any(isinstance(each, Primitive) and _ends(each) for each in used) else "any order"


def _ends(op):
    return getattr(op.vjp, "__name__", "").startswith(("_no_", "_refuse"))


def _families(op):
    """The families of kernels that a primitive's planner names, in whatever it calls, and what that calls of its room."""
    found, seen, waiting = {}, set(), [op.plan, op.execute]
    room = op.module.rpartition(".")[0] + "."
    while waiting:
        part = waiting.pop()
        part = getattr(part, "func", getattr(part, "__func__", part))
        code = part if inspect.iscode(part) else getattr(part, "__code__", None)
        if isinstance(part, type):
            waiting += [each for each in vars(part).values() if inspect.isfunction(each)]
        if code is None or code in seen:
            continue
        seen.add(code)
        for constant in code.co_consts:
            if inspect.iscode(constant):
                waiting.append(constant)
            elif isinstance(constant, str) and (Path(cpu.__file__).parent / _path(constant)).exists():
                found[constant] = None
        home = part.__globals__ if str(getattr(part, "__module__", None)).startswith(room) else {}
        waiting += [home[name] for name in code.co_names if name in home]
        waiting += [cell.cell_contents for cell in getattr(part, "__closure__", None) or ()]
    return sorted(found)


def _path(family):
    return family.replace(".", "/") + ".py"


def _row(op):
    call = f"`{op.name}({', '.join(op.public)})`"
    first = translated(op, (op.doc or "").split("\n")[0])
    gradient = "; ".join([f"{operand}: `{text}`" for operand, text in gradients_of(op).items() if text != "0"])
    place = f"`{op.name}_`" if hasattr(Tensor, op.name + "_") else ""
    return _line([call, first, gradient, accepted(refused(op)), place])


def _line(cells):
    return "| " + " | ".join([cell.replace("|", "\\|") for cell in cells]) + " |\n"
