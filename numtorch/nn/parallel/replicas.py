"""Copies of a module in this process, and modules applied to pieces of a batch."""
from __future__ import annotations

import copy


def replicate(network, devices, detach: bool = False) -> list:
    """Modules that share the parameters and buffers of one.

    Args:
        network: the module.
        devices: how many, or a list as long.
        detach: whether gradients do not reach the parameters.

    Example:
        >>> import numtorch as torch
        >>> layer = torch.nn.Linear(2, 2)
        >>> first, second = torch.nn.parallel.replicate(layer, 2)
        >>> first is not layer and first.weight is layer.weight
        True
    """
    return [_replica(network, detach) for _ in range(devices if isinstance(devices, int) else len(devices))]


def _replica(module, detach):
    made = copy.copy(module)
    made.__dict__ = dict(module.__dict__)
    made._parameters = {k: p.detach() if detach and p is not None else p for k, p in module._parameters.items()}
    made._buffers = dict(module._buffers)
    made._modules = {k: None if m is None else _replica(m, detach) for k, m in module._modules.items()}
    return made


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None) -> list:
    """Each module of its own arguments. They run one after another, their kernels on all threads; DataParallel has processes.

    Args:
        modules: the modules.
        inputs: for each its arguments, a tuple, or its one argument.
        kwargs_tup: for each its keyword arguments.
        devices: accepted.

    Raises:
        ValueError: not as many inputs as modules.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.parallel.parallel_apply([torch.nn.ReLU(), torch.nn.Identity()], [torch.tensor([-1.])] * 2)
        [tensor([0.]), tensor([-1.])]
    """
    if len(modules) != len(inputs) or (kwargs_tup is not None and len(kwargs_tup) != len(modules)):
        raise ValueError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    return [module(*(given if isinstance(given, (list, tuple)) else (given,)), **(named or {}))
            for module, given, named in zip(modules, inputs, kwargs_tup or [None] * len(modules))]
