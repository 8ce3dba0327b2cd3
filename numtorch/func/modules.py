"""`torch.func`: modules as functions of their parameters."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..nn.modules.module import Module
from ..ops.shape.join import stack
from ..tensor import Tensor

__all__ = ["functional_call", "stack_module_state"]


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


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several modules of one class, each stacked along a new first dimension: an ensemble that
    `vmap` of `functional_call` runs at once.

    Args:
        models: the modules.

    Returns:
        (parameters, buffers), by name. Parameters that require a gradient are leaves that do.

    Raises:
        RuntimeError: no modules, modules of several classes, or some that train and some that do not.

    Example:
        >>> import numtorch as torch
        >>> models = [torch.nn.Linear(2, 1) for _ in range(3)]
        >>> parameters, buffers = torch.func.stack_module_state(models)
        >>> parameters["weight"].shape
        torch.Size([3, 1, 2])
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    return _stacked([dict(m.named_parameters()) for m in models]), _stacked([dict(m.named_buffers()) for m in models])


def _stacked(dicts):
    result = {}
    for name in dicts[0]:
        each = [d[name] for d in dicts]
        if len({t.requires_grad for t in each}) > 1:
            raise RuntimeError(f"Expected {name} to have consistent .requires_grad state. Got a mix of .requires_grad states.")
        result[name] = stack([t.detach() for t in each]).requires_grad_(each[0].requires_grad)
    return result


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
    result = dict(given)
    for same in names.values():
        tensors = [given[full] for full in same if full in given]
        if any(tensor is not tensors[0] for tensor in tensors[1:]):
            raise ValueError(f"functional_call got multiple values for keys {sorted(same)}, which are tied. Consider using "
                             f"tie_weights=False")
        result.update((full, tensors[0]) for full in same if tensors)
    return result
