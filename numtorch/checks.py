"""`torch._check` and its like: conditions that a program states, and the exceptions where they do not hold."""
from __future__ import annotations

from .tensor import Tensor

__all__ = ["_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all", "_check_type", "_check_value"]


def _stated(kind, cond, message):
    if isinstance(cond, Tensor):
        raise TypeError("cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert "
                        "that all elements are true.")
    if not cond:
        raise kind("Expected cond to be True, but got False." if message is None else str(message()))


def _check(cond, message=None) -> None:
    """Raise RuntimeError with what `message()` gives, unless a condition holds."""
    _stated(RuntimeError, cond, message)


def _check_index(cond, message=None) -> None:
    """Raise IndexError unless a condition holds."""
    _stated(IndexError, cond, message)


def _check_value(cond, message=None) -> None:
    """Raise ValueError unless a condition holds."""
    _stated(ValueError, cond, message)


def _check_type(cond, message=None) -> None:
    """Raise TypeError unless a condition holds."""
    _stated(TypeError, cond, message)


def _check_not_implemented(cond, message=None) -> None:
    """Raise NotImplementedError unless a condition holds."""
    _stated(NotImplementedError, cond, message)


def _check_is_size(i, message=None, *, max=None) -> None:
    """Raise RuntimeError unless a number is an extent."""
    _stated(RuntimeError, i >= 0 and (max is None or i <= max), message)


def _check_tensor_all(cond, message=None) -> None:
    """Raise RuntimeError unless a condition holds of every element of a tensor of bools."""
    if not isinstance(cond, Tensor) or cond.dtype.name != "bool":
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {getattr(cond, 'dtype', type(cond))}")
    _stated(RuntimeError, bool(cond.all()), message)
