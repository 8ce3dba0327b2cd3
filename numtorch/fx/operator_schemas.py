"""Calls with their arguments in one form, whichever way they were written: what stood by place by place, all others by name."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from ..nn.modules.module import Module

_SYNONYMS = frozenset(("out", "axis", "keepdims"))       # which functions take beside what PyTorch's schemas have
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class ArgsKwargsPair(NamedTuple):
    """Arguments of a call, by place and by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def normalize_function(target: Callable, args: tuple, kwargs: dict | None = None, arg_types: Any = None, kwarg_types: Any = None,
                       normalize_to_only_use_kwargs: bool = False) -> ArgsKwargsPair | None:
    """The arguments of a function's call with all defaults. None where its signature does not say them, or takes `*args`.

    Args:
        target: the function.
        args, kwargs: of the call.
        arg_types, kwarg_types: taken for PyTorch's sake, where functions have several forms.
        normalize_to_only_use_kwargs: whether all stand by name.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.fx.operator_schemas import normalize_function
        >>> normalize_function(torch.nn.functional.glu, ("x",))
        ArgsKwargsPair(args=('x',), kwargs={'dim': -1})
    """
    try:
        signature = inspect.signature(inspect.unwrap(target))
    except (TypeError, ValueError):                      # one that C has
        return None
    if any(parameter.kind not in _NAMED for parameter in signature.parameters.values()):
        return None
    try:
        bound = signature.bind(*args, **(kwargs or {}))
    except TypeError:
        return None
    named = {*bound.arguments, *(signature.parameters.keys() - _SYNONYMS)}
    bound.apply_defaults()
    count = 0 if normalize_to_only_use_kwargs else len(args)
    given = [(name, value) for name, value in bound.arguments.items() if name in named]
    return ArgsKwargsPair(tuple([value for _, value in given[:count]]), dict(given[count:]))


def normalize_module(root: Module, target: str, args: tuple, kwargs: dict | None = None,
                     normalize_to_only_use_kwargs: bool = False) -> ArgsKwargsPair | None:
    """The arguments of a call of a layer of `torch.nn` below a module. None where it is another's.

    Args:
        root: the module.
        target: the layer's path.
        args, kwargs, normalize_to_only_use_kwargs: as `normalize_function` has them.

    Raises:
        RuntimeError: the path leads to no module.
    """
    try:
        layer = root.get_submodule(target)
    except AttributeError:
        raise RuntimeError(f"Tried to normalize node with target {target} but root did not have that target!") from None
    if not type(layer).__module__.startswith("numtorch.nn."):
        return None
    return normalize_function(layer.forward, args, kwargs, None, None, normalize_to_only_use_kwargs)
