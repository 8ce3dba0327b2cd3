"""Hooks of modules that are scripts: `hook(self, input: Tuple[Tensor], output: Tensor)` behind `forward`, and
`pre_hook(self, input: Tuple[Tensor])` before it. A module holds them as it holds hooks that are Python, so calls come to them
anyway; here is which of the user's become scripts, and of what types they are."""
from __future__ import annotations

import types
from typing import Any

from ...nn.modules.module import Module
from .kinds import ANY, NONE, Kind, common, fits, optional, tuple_of
from .problems import NotSupportedError, refuse
from .vocabulary import said_result

KINDS = ("forward_pre", "forward")
_FORMS = {"forward_pre": "hook(self, input: Tuple[Tensor])", "forward": "hook(self, input: Tuple[Tensor], output: Tensor)"}


def hooks_of(module: Module, kind: str) -> list[Any]:
    """The hooks of a module, in order: scripts, and functions that are Python.

    Args:
        module: it.
        kind: of `KINDS`.
    """
    return [] if module._hooks is None else [hook for hook, *_ in module._hooks[kind].values()]


def scripts_of(module: Module) -> list[Any]:
    """The hooks of a module that are scripts.

    Args:
        module: it.
    """
    return [hook for kind in KINDS for hook in hooks_of(module, kind) if hasattr(hook, "tree")]


def read_hooks(module: Module, origin: Module, unit: Any) -> None:
    """Give a module the hooks of the one that it was made of, as scripts.

    Args:
        module: it, without hooks.
        origin: the one of the user's.
        unit: what the scripts belong to.

    Raises:
        NotSupportedError: one is none of a script.
    """
    if origin._hooks is None:
        return
    of = type(origin).__name__
    if origin._hooks["backward_pre"] or origin._hooks["backward"]:
        raise NotSupportedError(f"jit.script: {of} has backward hooks, which are Python: remove them before")
    read: dict[str, tuple[Any, Any]] = {}
    for kind in KINDS:
        for function, with_kwargs, always in origin._hooks[kind].values():
            name = getattr(function, "__name__", type(function).__name__)
            if with_kwargs or always or not isinstance(function, types.FunctionType):
                raise NotSupportedError(f"jit.script: {name}, a hook of {of}, is " + (
                    "called with keyword arguments" if with_kwargs else "called where forward raises, too" if always else
                    "no function") + f": scripts have hooks of the form {_FORMS[kind]}")
            if read.get(name, (function,))[0] is not function or getattr(type(origin), name, function) is not function:
                raise NotSupportedError(f"jit.script: {of} has another method or hook that is called {name}: give this hook a name "
                                        f"of its own")
            if name not in read:
                read[name] = function, unit.read_method(function, name, module)
            add_hook(module, kind, read[name][1])
            if "_scripts" in vars(module):
                vars(module)["_scripts"][name] = read[name][1]


def add_hook(module: Module, kind: str, hook: Any) -> None:
    """Add a hook behind those that a module has.

    Args:
        module: it.
        kind: of `KINDS`.
        hook: a script, or what stands for a function that is Python.
    """
    module._tables()[kind].add((hook if hasattr(hook, "tree") else hook.function, False, False))


def check_call(caller: Any, node: Any, module: Module, by_place: list[Kind], by_name: dict[str, Kind]) -> None:
    """Look at a call of a module whose hooks are given its arguments by place.

    Args:
        caller: the checker.
        node: the call.
        module: what is called.
        by_place, by_name: the types of its arguments.
    """
    for hook in scripts_of(module):
        (name, wanted), *_ = hook.ready().arguments
        if not fits(wanted, tuple_of(*by_place)):
            caller.refuse(node, f"{hook.name}(), a hook, expected a value of type '{wanted}' for argument '{name}' but instead "
                          f"found type '{tuple_of(*by_place)}'" + (": give all arguments by place" if by_name else ""))


def result_of_call(module: Module, unit: Any) -> Kind | None:
    """The type of what a call of a module gives, with its hooks, whose types are looked at; None where it has no `forward`.

    Args:
        module: it.
        unit: of the script that calls it, or of its own.

    Raises:
        RuntimeError: a hook does not fit; it names its line.
    """
    forward = unit.method(module, "forward")
    if forward is None and "_scripts" in vars(module) and module._program is None:
        return None
    result = said_result(type(module).forward) if forward is None else forward.result
    takes = ANY if getattr(forward, "arguments", None) is None else tuple_of(*[kind for _, kind in forward.arguments])
    for hook in hooks_of(module, "forward_pre"):
        if hasattr(hook, "tree"):
            _check(hook.ready(), "forward_pre", takes)
            gives = [takes, *(takes.of if len(takes.of) == 1 else ())]
            if not any(fits(optional(each), hook.result) for each in gives):
                refuse(hook.source, hook.tree, f"{hook.name}, a hook, gives {hook.result} in the place of the module's arguments: "
                       f"expected {' or '.join(map(str, gives))}, or None")
    for hook in hooks_of(module, "forward"):
        if not hasattr(hook, "tree"):
            result = ANY
            continue
        _check(hook.ready(), "forward", takes, result)
        if hook.result.name == "Optional":
            result = common([result, hook.result.of[0]])
        elif hook.result != NONE:
            result = hook.result
    return result


def _check(hook, kind, takes, *more):
    """Whether a hook can be given what it is given."""
    if len(hook.arguments) != 1 + len(more) or len(hook.places) != 1 + len(more):
        refuse(hook.source, hook.tree, f"{hook.name} is a hook of another form than {_FORMS[kind]}")
    for place, ((name, wanted), given) in enumerate(zip(hook.arguments, (takes, *more)), 1):
        if not fits(wanted, given) or (place == 1 and wanted.name not in ("Tuple", "Any")):
            refuse(hook.source, hook.tree.args.args[place], f"{hook.name}, a hook, is given a value of type '{given}' for argument "
                   f"'{name}', and takes one of type '{wanted}'")
