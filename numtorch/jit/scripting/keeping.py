"""Calls of scripts that a trace keeps as calls (tracing/scriptcalls.py)."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...nn.modules.module import Module
from ...tensor import Tensor
from ...tree import tensors_in
from ..tracing.cells import Traced
from ..tracing.scriptcalls import Called
from .enumerations import is_enumeration
from .hooks import scripts_of
from .vocabulary import is_plain

_STRUCTURES = {"List", "Tuple", "Dict", "Optional", "NamedTuple"}


def kept_call(trace: Any, script: Any, args: tuple, kwargs: dict, function: Any) -> Called | None:
    """A call of a script as a trace writes it down. None where the trace has the ops that run: where the script looks at no
    element, or is given nothing that is traced, and where a graph cannot say what it takes or gives, as objects of users' classes.

    Args:
        trace: the trace.
        script: what is called.
        args, kwargs: of the call, the module first where it is a method of one.
        function: what the user called, where it is none.
    """
    module = args[0] if isinstance(script.owner, Module) else None
    if script.is_property or (module is None and (function is None or script.owner is not None)) or (
            module is not None and "_scripts" not in vars(module)):                  # a hook of one of this package
        return None
    given = (args if module is None else args[1:], kwargs)
    scripts = [*all_scripts(script, module)]
    held = {} if module is None else _tensors_of(module)
    if held is None or not any(each.looks for each in scripts) or not (is_plain(given) and _gives_plain(script.result)):
        return None
    if not any(isinstance(tensor.layout, Traced) for tensor in (*tensors_in(given), *held.values())):
        return None
    count = sum(1 for _ in tensors_in(given))
    others = [each for each in (() if module is None else module.modules()) if "_scripts" not in vars(each)]
    if any(each.writes for each in scripts) or any(map(_writes, others)):
        writes = tuple(range(count + len(held)))
    elif module is not None and (any(each.assigns for each in scripts) or any(each._buffers for each in others)):
        parameters = dict(module.named_parameters())
        writes = tuple([count + i for i, name in enumerate(held) if name not in parameters])
    else:
        writes = ()
    if module is None:
        return Called(function, script.name, "__call__", given, {}, writes)
    return Called(module, module._original_name, script.name, given, held, writes)


def all_scripts(script: Any, module: Any) -> Iterator[Any]:
    """All that runs when a script does, and perhaps more: what belongs together with it.

    Args:
        script: it.
        module: whose method it is, or None.
    """
    units = {id(script.unit): script.unit}
    for each in () if module is None else module.modules():
        scripts = [*(vars(each).get("_scripts") or {}).values(), *scripts_of(each)]
        yield from scripts
        units.update((id(one.unit), one.unit) for one in scripts if hasattr(one, "unit"))
    for unit in units.values():
        for each in unit.reached().values():
            yield from getattr(each, "methods", {}).values()
            inner = getattr(getattr(each, "function", None), "_script", None)        # of another unit
            if inner is not None:
                yield from all_scripts(inner, None)
            elif hasattr(each, "looks"):
                yield each


def _tensors_of(module):
    """The tensors of a module by name; None where it has, or may have, some that have none, as in lists and objects."""
    held = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    for path, each in module.named_modules():
        for name in vars(each).get("_plain", ()):
            value = vars(each)[name]
            if isinstance(value, Tensor):
                held[f"{path}.{name}".lstrip(".")] = value
            elif not (is_plain(value) or is_enumeration(type(value))) or next(tensors_in(value), None) is not None:
                return None
    return held


def _writes(module):
    """Whether one of this package's modules might write to its parameters or to what it is given."""
    return bool(getattr(module, "inplace", False)) or getattr(module, "max_norm", None) is not None


def _gives_plain(kind):
    if kind.name == "NamedTuple":
        return all(_gives_plain(each) for _, each in kind.of[0].arguments)
    return all(map(_gives_plain, kind.of)) if kind.name in _STRUCTURES else kind.name not in ("Object", "Enum", "Future", "Module")
