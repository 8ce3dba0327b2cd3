"""Copies of a module in this process, and modules applied to pieces of a batch."""
from __future__ import annotations

import contextlib
import copy

from .scattering import places_of


def replicate(network, devices, detach: bool = False) -> list:
    """Modules that share the parameters and buffers of one, or on other devices copies of them, from which gradients come back.

    Args:
        network: the module.
        devices: how many, or a list as long; a list of devices. Ints are CUDA devices for a module on one.
        detach: whether gradients do not reach the parameters.

    Example:
        >>> import numtorch as torch
        >>> layer = torch.nn.Linear(2, 2)
        >>> first, second = torch.nn.parallel.replicate(layer, 2)
        >>> first is not layer and first.weight is layer.weight
        True
    """
    own = next(iter([*network.parameters(), *network.buffers()]), None)
    places = None if own is None else places_of(devices, own)
    if places is None:
        return [_replica(network, detach, None, {}) for _ in range(devices if isinstance(devices, int) else len(devices))]
    return [_replica(network, detach, place, {}) for place in places]


def _replica(module, detach, place, copies):
    """A copy of a module on a device, where one is named. What is shared within the module is copied once."""
    def there(tensor):
        if tensor is None:
            return None
        if id(tensor) not in copies:
            copies[id(tensor)] = tensor if place is None else tensor.to(place)
        return copies[id(tensor)]

    made = copy.copy(module)
    made.__dict__ = dict(module.__dict__)
    made._parameters = {k: there(p.detach() if detach and p is not None else p) for k, p in module._parameters.items()}
    made._buffers = {k: there(b) for k, b in module._buffers.items()}
    made._modules = {k: None if m is None else _replica(m, detach, place, copies) for k, m in module._modules.items()}
    return made


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None) -> list:
    """Each module of its own arguments. They run one after another, their kernels on all threads, or on their devices, which work
    while the next is called.

    Args:
        modules: the modules.
        inputs: for each its arguments, a tuple, or its one argument.
        kwargs_tup: for each its keyword arguments.
        devices: for each module the device that is current meanwhile; None for those of no consequence.

    Raises:
        ValueError: not as many inputs as modules.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.parallel.parallel_apply([torch.nn.ReLU(), torch.nn.Identity()], [torch.tensor([-1.])] * 2)
        [tensor([0.]), tensor([-1.])]
    """
    if len(modules) != len(inputs) or (kwargs_tup is not None and len(kwargs_tup) != len(modules)):
        raise ValueError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    results = []
    for module, given, named, place in zip(modules, inputs, kwargs_tup or [None] * len(modules), devices or [None] * len(modules)):
        with contextlib.nullcontext() if place is None else _current(place):
            results.append(module(*(given if isinstance(given, (list, tuple)) else (given,)), **(named or {})))
    return results


def _current(place):
    from ...cuda import device
    return device(place)
