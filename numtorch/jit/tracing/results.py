"""What calls and traced functions return: tensors in structures, and what stands for them."""
from __future__ import annotations

from ...tensor import Tensor


def mapped(result, pairs):
    """What a call returned, with traced tensors in the places of those inside.

    Args:
        result: a tensor, or tensors and other values in tuples and lists.
        pairs: (the tensor inside, the traced one).
    """
    if isinstance(result, Tensor):
        return next(outer for inside, outer in pairs if inside is result)
    if isinstance(result, tuple):
        parts = [mapped(r, pairs) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    if isinstance(result, list):
        return [mapped(r, pairs) for r in result]
    return result


def structured(result, value_of):
    """What a function returned, with values in the places of tensors.

    Args:
        result: tensors and numbers in tuples, lists and dicts.
        value_of: gives the value of a tensor.

    Raises:
        RuntimeError: there is something else in it.
    """
    if isinstance(result, Tensor):
        return value_of(result)
    if isinstance(result, dict):
        return {key: structured(value, value_of) for key, value in result.items()}
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*[structured(r, value_of) for r in result])
    if isinstance(result, (tuple, list)):
        return type(result)(structured(r, value_of) for r in result)
    if result is None or isinstance(result, (bool, int, float, complex, str)):
        return result
    raise RuntimeError(f"trace: expected a function that returns tensors, tuples, lists and dicts of them, and numbers, got "
                       f"{type(result).__name__}")
