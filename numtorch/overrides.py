"""`torch.overrides`: the protocol of `__torch_function__` (torchfunction.py) under PyTorch's name.

A program with look-alikes (classes with the method that are no tensors) has to import this module: from then on every public
function asks its arguments first.
"""
from __future__ import annotations

from .torchfunction import (
    DisableTorchFunctionSubclass,
    TorchFunctionMode,
    disabled_torch_function,
    get_default_nowrap_functions,
    get_overridable_functions,
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
    is_tensor_like,
    is_tensor_method_or_property,
    resolve_name,
)
from .torchfunction import install as _install

__all__ = ["DisableTorchFunctionSubclass", "TorchFunctionMode", "disabled_torch_function", "get_default_nowrap_functions",
           "get_overridable_functions", "handle_torch_function", "has_torch_function", "has_torch_function_unary",
           "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property", "resolve_name"]

_install()


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    from .alias import attribute
    return attribute(__name__, name)
