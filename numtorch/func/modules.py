"""`torch.func`: modules as functions of their parameters."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from ..nn.modules.module import Module
from ..ops.shape.join import stack
from ..tensor import Tensor

__all__ = ["FunctionalModule", "combine_state_for_ensemble", "functional_call", "make_functional", "make_functional_with_buffers",
           "stack_module_state"]


def functional_call(module: Module, parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
                    args: Any = None, kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True,
                    strict: bool = False) -> Any:
    """`module(*args, **kwargs)` with other tensors in the place of its parameters and buffers, to which gradients go: those may be
    results themselves, such as parameters after a step (Finn et al. 2017). The module is as it was afterwards.

    Args:
        module: what to call.
        parameter_and_buffer_dicts: tensors by their names in `state_dict`, or several dicts without names in common; None leaves
            out. Buffers that the module writes to are written in these tensors; those that it replaces are replaced in the dict,
            where it is one. Names of other tensors of a module, or of none, are attributes during the call.
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
    with replaced(module, parameter_and_buffer_dicts, tie_weights, strict):
        return module(*(args if isinstance(args, tuple) else () if args is None else (args,)), **(kwargs or {}))


@contextlib.contextmanager
def replaced(module: Module, given: Any, tie_weights: bool = True, strict: bool = False) -> Iterator[None]:
    """While a module has other tensors in the place of its own.

    Args:
        module, tie_weights, strict: as `functional_call` has them.
        given: its `parameter_and_buffer_dicts`.
    """
    tensors = _merged(given)
    places = _places(module)
    missing, unexpected = places.keys() - tensors.keys(), tensors.keys() - places.keys()
    if tie_weights:
        tensors = _tied(tensors, places)
        missing = missing - tensors.keys()
    if strict and (missing or unexpected):
        raise RuntimeError(f"Error(s) in functional_call for {type(module).__name__}: unexpected key(s): {sorted(unexpected)}, "
                           f"missing key(s): {sorted(missing)}")
    changed = []
    try:
        for full, tensor in tensors.items():
            place = places[full] if full in places else _attribute(module, full)
            if place is not None:
                table, name = place
                changed.append((table, name, table.get(name, _NOTHING), full))
                table[name] = tensor
        yield
    finally:
        for table, name, before, full in changed:
            if isinstance(given, dict) and full in given and name in table:
                given[full] = table[name]                # what the module has put in its place
            if before is _NOTHING:
                table.pop(name, None)
            else:
                table[name] = before


_NOTHING = object()


def _attribute(module, full):
    """Where a tensor is that is no parameter or buffer, or is only in the call: (table, name in it); None in no module."""
    prefix, _, name = full.rpartition(".")
    try:
        owner = module.get_submodule(prefix)
    except AttributeError:
        return None
    for table in (owner._parameters, owner._buffers):
        if name in table:                                # None so far
            return table, name
    return (owner.__dict__, name) if isinstance(owner.__dict__.get(name), (Tensor, type(None))) else None


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


# ---------------------------------------------------------------- by the names of functorch
class FunctionalModule:
    """A module as a function of its parameters and buffers: what `make_functional` and its kin return. `stateless_model` is the
    module that it calls.

    Args:
        module: what to call.
        parameters, buffers: the names of what is given in a call; None for no place for buffers in it.
    """

    def __init__(self, module: Module, parameters: list[str], buffers: list[str] | None) -> None:
        self.stateless_model, self.param_names, self.buffer_names = module, parameters, buffers

    def __call__(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        names, values = self.param_names, list(params)
        if self.buffer_names is not None:
            names, values, args = [*names, *self.buffer_names], [*values, *args[0]], args[1:]
        if len(names) != len(values):
            raise RuntimeError(f"make_functional: expected {len(names)} tensors for {type(self.stateless_model).__name__}, got "
                               f"{len(values)}")
        return functional_call(self.stateless_model, dict(zip(names, values)), args, kwargs)


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """A module as a function of its parameters: `functional_call` under functorch's name, with the parameters as a tuple.

    Args:
        model: without buffers.
        disable_autograd_tracking: give parameters that require no gradient.

    Returns:
        (a function of parameters and the module's arguments, the parameters).

    Raises:
        RuntimeError: a module with buffers.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.func import make_functional
        >>> function, parameters = make_functional(torch.nn.Linear(2, 1))
        >>> function([torch.ones_like(p) for p in parameters], torch.ones(2))
        tensor([3.])
    """
    if list(model.buffers()):
        raise RuntimeError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.")
    function, parameters, _ = make_functional_with_buffers(model, disable_autograd_tracking)
    function.buffer_names = None
    return function, parameters


def make_functional_with_buffers(model: Module, disable_autograd_tracking: bool = False) -> tuple[
        FunctionalModule, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A module as a function of its parameters and buffers.

    Args:
        model: the module, which stays as it is.
        disable_autograd_tracking: give parameters that require no gradient.

    Returns:
        (a function of parameters, buffers and the module's arguments; the parameters; the buffers).

    Example:
        >>> import numtorch as torch
        >>> from numtorch.func import make_functional_with_buffers
        >>> function, parameters, buffers = make_functional_with_buffers(torch.nn.BatchNorm1d(2))
        >>> function(parameters, buffers, torch.zeros(3, 2)).shape, len(buffers)
        (torch.Size([3, 2]), 3)
    """
    names, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    function = FunctionalModule(deepcopy(model), list(names), list(buffers))
    return function, tuple([p.detach() if disable_autograd_tracking else p for p in names.values()]), tuple(buffers.values())


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[FunctionalModule, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Several modules of one class as one function, to be mapped over their parameters by `vmap`.

    Args:
        models: the modules.

    Returns:
        (a function of parameters, buffers and the modules' arguments; their parameters and their buffers, each stacked along a new
        first dimension).

    Raises:
        RuntimeError: no modules, modules of several classes, or some that train and some that do not.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.func import combine_state_for_ensemble
        >>> function, parameters, buffers = combine_state_for_ensemble([torch.nn.Linear(2, 1) for _ in range(3)])
        >>> torch.func.vmap(function, in_dims=(0, 0, None))(parameters, buffers, torch.ones(2)).shape
        torch.Size([3, 1])
    """
    parameters, buffers = stack_module_state(models)
    return (FunctionalModule(deepcopy(models[0]), list(parameters), list(buffers)), tuple(parameters.values()),
            tuple(buffers.values()))


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
            if tensor is not None and not isinstance(tensor, Tensor):
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
