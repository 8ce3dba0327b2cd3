"""Batches in pieces for workers, and what they return joined again."""
from __future__ import annotations

from ...ops.shape.join import cat
from ...tensor import Tensor


def _count(targets):
    return targets if isinstance(targets, int) else len(targets)


def scatter(inputs, target_gpus, dim: int = 0) -> list:
    """Tensors in a structure cut into nearly equal pieces along a dimension; other things are in every piece.

    Args:
        inputs: tensors in tuples, lists and dicts.
        target_gpus: how many pieces, or a list as long.
        dim: the dimension.

    Returns:
        A list of structures: fewer where a tensor is shorter.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.parallel.scatter(torch.arange(5), 2)
        [tensor([0, 1, 2]), tensor([3, 4])]
    """
    count = _count(target_gpus)
    if isinstance(inputs, Tensor):
        return list(inputs.chunk(count, dim))
    if isinstance(inputs, dict) and inputs:
        return [type(inputs)(zip(inputs, values)) for values in zip(*[scatter(v, count, dim) for v in inputs.values()])]
    if isinstance(inputs, (list, tuple)) and inputs:
        pieces = zip(*[scatter(v, count, dim) for v in inputs])
        if hasattr(inputs, "_fields"):
            return [type(inputs)(*values) for values in pieces]
        return [type(inputs)(values) for values in pieces]
    return [inputs] * count


def scatter_kwargs(inputs, kwargs, target_gpus, dim: int = 0):
    """Positional and keyword arguments in as many pieces.

    Args:
        inputs, kwargs: a tuple and a dict, or None.
        target_gpus: how many pieces, or a list as long.
        dim: the dimension.

    Returns:
        A tuple of tuples, and a tuple of dicts.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.parallel.scatter_kwargs((torch.arange(2),), {"k": 1}, 2)
        (((tensor([0]),), (tensor([1]),)), ({'k': 1}, {'k': 1}))
    """
    args, kwargs = scatter(inputs, target_gpus, dim) if inputs else [], scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(args), len(kwargs))
    return tuple(args) + ((),) * (count - len(args)), tuple(kwargs) + ({},) * (count - len(kwargs))


def gather(outputs, target_device=None, dim: int = 0):
    """Structures that are made alike, their tensors joined along a dimension. Numbers (0-dim tensors) become a vector.

    Args:
        outputs: a list of them.
        target_device: accepted; they are where they are.
        dim: the dimension.

    Raises:
        TypeError: something that cannot be joined.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.parallel.gather([torch.ones(2), torch.zeros(1)])
        tensor([1., 1., 0.])
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        return cat([o.view(1) if not o.ndim else o for o in outputs], dim if first.ndim else 0)
    if first is None:
        return None
    if isinstance(first, dict):
        return type(first)((key, gather([o[key] for o in outputs], None, dim)) for key in first)
    if isinstance(first, (list, tuple)):
        parts = [gather(list(part), None, dim) for part in zip(*outputs)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    raise TypeError(f"gather: expected tensors in tuples, lists and dicts, got {type(first).__name__}")
