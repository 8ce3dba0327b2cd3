"""Batches in pieces for workers or devices, and what they return joined again."""
from __future__ import annotations

from ...devices import device as as_device
from ...ops.shape.join import cat
from ...tensor import Tensor


def _count(targets):
    return targets if isinstance(targets, int) else len(targets)


def places_of(targets, tensor):
    """The devices that targets name: devices or their names, or ints for a tensor on one; None where they only count."""
    if isinstance(targets, int) or not targets or (isinstance(targets[0], int) and not tensor.is_cuda):
        return None
    return [as_device("cuda", t) if isinstance(t, int) else as_device(t) for t in targets]


def scatter(inputs, target_gpus, dim: int = 0) -> list:
    """Tensors in a structure cut into nearly equal pieces along a dimension; other things are in every piece.

    Args:
        inputs: tensors in tuples, lists and dicts.
        target_gpus: how many pieces, or a list as long; a list of devices, to which the pieces go. Ints are CUDA devices for
            tensors on one.
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
        places, pieces = places_of(target_gpus, inputs), inputs.chunk(count, dim)
        return list(pieces) if places is None else [piece.to(place) for piece, place in zip(pieces, places)]
    if isinstance(inputs, dict) and inputs:
        return [type(inputs)(zip(inputs, values)) for values in zip(*[scatter(v, target_gpus, dim) for v in inputs.values()])]
    if isinstance(inputs, (list, tuple)) and inputs:
        pieces = zip(*[scatter(v, target_gpus, dim) for v in inputs])
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
        target_device: the device where they are joined, its index or name; where the first is when None.
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
        place = first.device if target_device is None or not first.is_cuda else \
            as_device("cuda", target_device) if isinstance(target_device, int) else as_device(target_device)
        return cat([(o.view(1) if not o.ndim else o).to(place) for o in outputs], dim if first.ndim else 0)
    if first is None:
        return None
    if isinstance(first, dict):
        return type(first)((key, gather([o[key] for o in outputs], target_device, dim)) for key in first)
    if isinstance(first, (list, tuple)):
        parts = [gather(list(part), target_device, dim) for part in zip(*outputs)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    raise TypeError(f"gather: expected tensors in tuples, lists and dicts, got {type(first).__name__}")
