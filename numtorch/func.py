"""`torch.func`: modules as functions of their parameters."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .nn.modules.module import Module
from .tensor import Tensor

__all__ = ["functional_call"]


def functional_call(module: Module, parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
                    args: Any = None, kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True,
                    strict: bool = False) -> Any:
    """`module(*args, **kwargs)` with other tensors in the place of its parameters and buffers, to which gradients go: those may be
    results themselves, such as parameters after a step (Finn et al. 2017). The module is as it was afterwards.

    Args:
        module: what to call.
        parameter_and_buffer_dicts: tensors by their names in `state_dict`, or several dicts without names in common. Buffers
            that the module writes to are written in these tensors.
        args: a tuple of arguments, or one.
        kwargs: arguments by name.
        tie_weights: a parameter that the module has under several names is replaced under all when one is given.
        strict: raise when names are missing, or are not the module's.

    Raises:
        RuntimeError: with `strict`, names that are missing or left over.
        TypeError: no module, or something else than a tensor.
        ValueError: no dicts, a name twice, or different tensors for one parameter's names.

    Example:
        >>> import numtorch as torch
        >>> layer, step = torch.nn.Linear(2, 1, bias=False), torch.tensor(2., requires_grad=True)
        >>> torch.func.functional_call(layer, {"weight": step * torch.ones(1, 2)}, torch.ones(2)).backward()
        >>> step.grad
        tensor(2.)
    """
    if not isinstance(module, Module):
        raise TypeError(f"functional_call: expected a Module, got {type(module).__name__}")
    given = _merged(parameter_and_buffer_dicts)
    places = _places(module)
    missing, unexpected = places.keys() - given.keys(), given.keys() - places.keys()
    if tie_weights:
        given = _tied(given, places)
        missing = missing - given.keys()
    if strict and (missing or unexpected):
        raise RuntimeError(f"Error(s) in functional_call for {type(module).__name__}: unexpected key(s): {sorted(unexpected)}, "
                           f"missing key(s): {sorted(missing)}")
    replaced = [(table, name, table[name]) for table, name in (places[full] for full in given if full in places)]
    try:
        for full, tensor in given.items():
            if full in places:
                table, name = places[full]
                table[name] = tensor
        return module(*(args if isinstance(args, tuple) else () if args is None else (args,)), **(kwargs or {}))
    finally:
        for table, name, tensor in replaced:
            table[name] = tensor


def _merged(dicts):
    """One dict of several."""
    if isinstance(dicts, dict):
        dicts = (dicts,)
    if not isinstance(dicts, (tuple, list)) or not all(isinstance(each, dict) for each in dicts):
        raise ValueError(f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}")
    given: dict[str, Tensor] = {}
    for each in dicts:
        if twice := sorted(given.keys() & each.keys()):
            raise ValueError(f"{twice} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        for name, tensor in each.items():
            if not isinstance(tensor, Tensor):
                raise TypeError(f"functional_call: expected a Tensor for {name}, got {type(tensor).__name__}")
            given[name] = tensor
    return given


def _places(module):
    """Where parameters and buffers are, by dotted name: (table, name in it)."""
    return {f"{prefix}.{name}" if prefix else name: (table, name)
            for prefix, part in module.named_modules(remove_duplicate=False)
            for table in (part._parameters, part._buffers) for name, tensor in table.items() if tensor is not None}


def _tied(given, places):
    """`given` with every name of a parameter that is given under one of them."""
    names: dict = {}
    for full, (table, name) in places.items():
        names.setdefault(id(table[name]), []).append(full)
    found = dict(given)
    for same in names.values():
        tensors = [given[full] for full in same if full in given]
        if any(tensor is not tensors[0] for tensor in tensors[1:]):
            raise ValueError(f"functional_call got multiple values for keys {sorted(same)}, which are tied. Consider using "
                             f"tie_weights=False")
        found.update((full, tensors[0]) for full in same if tensors)
    return found
