"""Parameters that are functions of others: `register_parametrization` puts a module between what is stored and what is used.

The module's class becomes a subclass of its own with a property in the parameter's place; what is stored moves to
`module.parametrizations.<name>.original` (or `original0`, `original1`, ... where it is several tensors).
"""
from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from copy import deepcopy

from ...autograd.modes import no_grad
from ...tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

_cached = [0, {}]                                        # how many `cached` contexts are open, and what was computed in them


@contextmanager
def cached():
    """A context in which parametrised tensors are computed once, not at every use.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.nn.utils import parametrizations, parametrize
        >>> layer = parametrizations.weight_norm(torch.nn.Linear(3, 2))
        >>> with parametrize.cached():
        ...     print(layer.weight is layer.weight)
        True
        >>> layer.weight is layer.weight
        False
    """
    _cached[0] += 1
    try:
        yield
    finally:
        _cached[0] -= 1
        if not _cached[0]:
            _cached[1].clear()


def _check_inverse(made, dtype):
    """Raise ValueError where what a right inverse gives cannot be stored for a tensor of a dtype."""
    if not isinstance(made, Tensor):
        raise ValueError(f"'right_inverse' must return a Tensor or a Sequence of tensors. Got {type(made).__name__}.")
    if made.dtype != dtype:
        raise ValueError(f"right_inverse may not change the dtype of a tensor: expected {dtype}, got {made.dtype}")


def _check_inverses(made, count=None):
    """How many tensors a right inverse gives. Raises ValueError where it gives something else, or another number of them."""
    if not isinstance(made, Sequence):
        raise ValueError(f"'right_inverse' must return a Tensor or a Sequence of tensors. Got {type(made).__name__}.")
    for number, each in enumerate(made):
        if not isinstance(each, Tensor):
            raise ValueError(f"'right_inverse' must return a Tensor or a Sequence of tensors. Got element {number} of the "
                             f"sequence with type {type(each).__name__}.")
    if count is not None and len(made) != count:
        raise ValueError(f"'right_inverse' must return a sequence of tensors of length {count}. Got one of length {len(made)}.")
    return len(made)


def _check_kept(made, original, maker="A parametrization", rule="Registering a parametrization"):
    """Raise ValueError where a tensor would change its dtype or shape."""
    if not isinstance(made, Tensor):
        raise ValueError(f"{maker} must return a tensor. Got {type(made).__name__}.")
    for what in ("dtype", "shape"):
        if getattr(made, what) != getattr(original, what):
            raise ValueError(f"{rule} may not change the {what} of the tensor, unless the `unsafe` flag is enabled.\n"
                             f"unparametrized {what}: {getattr(original, what)}\nparametrized {what}: {getattr(made, what)}")


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in the order they are applied, and what they start from. `register_parametrization`
    makes it.

    Args:
        modules: the parametrizations.
        original: the tensor as it was, which their right inverses take to what is stored.
        unsafe: do not check that shape and dtype stay.

    Attributes:
        original, or original0, original1, ...: what is stored.

    Raises:
        ValueError: no modules, or a tensor whose shape or dtype would change.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.nn.utils import parametrizations
        >>> layer = parametrizations.weight_norm(torch.nn.Linear(3, 2))
        >>> type(layer.parametrizations.weight).__name__, layer.parametrizations.weight.original1.shape
        ('ParametrizationList', torch.Size([2, 3]))
    """

    def __init__(self, modules, original, unsafe: bool = False) -> None:
        modules = list(modules)
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe, made = unsafe, original
        with no_grad():
            for each in reversed(modules):
                if hasattr(each, "right_inverse"):
                    try:
                        made = each.right_inverse(made)
                    except NotImplementedError:
                        pass
        before = original.detach()
        self.is_tensor, self.ntensors = isinstance(made, Tensor), 1
        if self.is_tensor:
            _check_inverse(made, before.dtype)
            if made is not original:
                original.data = made.detach()            # the same parameter, which an optimiser may hold
            self._store("original", original)
        else:
            self.ntensors = _check_inverses(made)
            for number, each in enumerate(made):
                each = Parameter(each, original.requires_grad) if isinstance(original, Parameter) else each
                self._store(f"original{number}", each)
        if not unsafe:
            _check_kept(self(), before)

    def _store(self, name, made):
        if isinstance(made, Parameter):
            self.register_parameter(name, made)
        else:
            self.register_buffer(name, made)

    def _originals(self):
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value) -> None:
        """Store what the parametrizations make of a value.

        Args:
            value: of the shape and dtype that the parametrised tensor has.

        Raises:
            RuntimeError: one of them has no `right_inverse`.
        """
        with no_grad():
            for each in reversed(list(self)):
                if not hasattr(each, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(each).__name__} does not implement right_inverse.")
                value = each.right_inverse(value)
            if not self.is_tensor:
                _check_inverses(value, self.ntensors)
            for original, new in zip(self._originals(), [value] if self.is_tensor else value):
                _check_inverse(new, original.dtype)
                original.data = new.detach().clone()

    def forward(self):
        first, *others = self
        result = first(*self._originals())
        for each in others:
            result = each(result)
        return result


def is_parametrized(module, tensor_name=None) -> bool:
    """Whether a module has parametrizations.

    Args:
        module: the module.
        tensor_name: of which tensor; None for any.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.nn.utils import parametrizations, parametrize
        >>> layer = parametrizations.weight_norm(torch.nn.Linear(3, 2))
        >>> parametrize.is_parametrized(layer), parametrize.is_parametrized(layer, "bias")
        (True, False)
    """
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def _property(name):
    def get(self):
        if not _cached[0]:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _cached[1]:
            _cached[1][key] = self.parametrizations[name]()
        return _cached[1][key]

    def put(self, value):
        self.parametrizations[name].right_inverse(value)
    return property(get, put)


def _with_class(module):
    """Give a module a class of its own, for properties."""
    kind = type(module)

    def deep_copy(self, memo):
        copied = memo.get(id(self))
        if copied is None:
            copied = memo[id(self)] = self.__new__(type(self))
            copied.__dict__.update(deepcopy(self.__dict__, memo))
        return copied

    def reduce(self, protocol):
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict().")
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), {"__deepcopy__": deep_copy, "__reduce_ex__": reduce,
                                                                      "__module__": kind.__module__})


def register_parametrization(module, tensor_name: str, parametrization, *, unsafe: bool = False):
    """Make a parameter or buffer what `parametrization` computes from a stored tensor. More of them are applied one after another.

    Args:
        module: whose tensor.
        tensor_name: the parameter's or buffer's name.
        parametrization: a Module of the stored tensor. Its `right_inverse`, if it has one, says what to store for a given value (a
            tensor or several, which its forward then takes).
        unsafe: do not check that shape and dtype stay.

    Returns:
        The module.

    Raises:
        ValueError: no such tensor, or one whose shape or dtype would change.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.nn.utils import parametrize
        >>> class Symmetric(torch.nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).mT
        >>> layer = parametrize.register_parametrization(torch.nn.Linear(2, 2), "weight", Symmetric())
        >>> bool((layer.weight == layer.weight.mT).all()), list(layer.state_dict())
        (True, ['bias', 'parametrizations.weight.original'])
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        already = module.parametrizations[tensor_name]
        if not unsafe:
            value = getattr(module, tensor_name)
            changed = parametrization(value)
            _check_kept(changed, value)
            if hasattr(parametrization, "right_inverse"):
                try:
                    _check_kept(parametrization.right_inverse(changed), changed, "parametrization.right_inverse",
                                "The tensor returned by right_inverse")
                except NotImplementedError:
                    pass
        already.append(parametrization)                  # what is stored stays: the tensor becomes what this one makes of it
        already.unsafe |= unsafe
    elif tensor_name in module._parameters or tensor_name in module._buffers:
        made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _with_class(module)
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, _property(tensor_name))
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
                         f"'{tensor_name}'")
    return module


def remove_parametrizations(module, tensor_name: str, leave_parametrized: bool = True):
    """Store a tensor as such again.

    Args:
        module: whose tensor.
        tensor_name: its name.
        leave_parametrized: keep the value that the parametrizations give; else the one that was stored.

    Returns:
        The module.

    Raises:
        ValueError: it is not parametrised, or is made of several tensors and not to be left so.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.nn.utils import parametrizations, parametrize
        >>> layer = parametrizations.weight_norm(torch.nn.Linear(3, 2))
        >>> list(parametrize.remove_parametrizations(layer, "weight").state_dict())
        ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrization = module.parametrizations[tensor_name]
    if parametrization.is_tensor:
        original = parametrization.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).detach().clone()
    elif leave_parametrized:
        made = getattr(module, tensor_name).detach()
        original = Parameter(made) if made.layout.dtype.category >= 2 and isinstance(parametrization.original0, Parameter) else made
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
                         "sequence of tensors.")
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    return module


def type_before_parametrizations(module) -> type:
    """The class a module had before it was given parametrizations.

    Args:
        module: with or without them.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.nn.utils import parametrizations, parametrize
        >>> layer = parametrizations.weight_norm(torch.nn.Linear(3, 2))
        >>> type(layer).__name__, parametrize.type_before_parametrizations(layer).__name__
        ('ParametrizedLinear', 'Linear')
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Module, to_module: Module, tensor_name=None) -> Module:
    """Give a module the parametrizations of another, with what they store.

    Args:
        from_module: whose parametrizations; they are shared.
        to_module: with tensors of the same names.
        tensor_name: of which tensor; None for all.

    Returns:
        `to_module`.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.nn.utils import parametrizations, parametrize
        >>> layer = parametrizations.weight_norm(torch.nn.Linear(3, 2))
        >>> other = parametrize.transfer_parametrizations_and_params(layer, torch.nn.Linear(3, 2))
        >>> torch.equal(other.weight, layer.weight)
        True
    """
    if not is_parametrized(from_module):
        return to_module
    for name in [tensor_name] if tensor_name is not None else list(from_module.parametrizations):
        for each in from_module.parametrizations[name]:
            register_parametrization(to_module, name, each, unsafe=True)
        for mine, theirs in zip(to_module.parametrizations[name]._originals(), from_module.parametrizations[name]._originals()):
            mine.data = theirs.detach().clone()
    return to_module


__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
           "transfer_parametrizations_and_params", "type_before_parametrizations"]
