"""Several tensors as one, and one as several: `torch._utils._flatten_dense_tensors` of PyTorch, which programs import."""
from __future__ import annotations

from collections.abc import Sequence

from ..ops.shape.join import cat
from ..tensor import Tensor


def flatten(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of some tensors, one after the other, as one new tensor (N,).

    Args:
        tensors: of one dtype, any shapes.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.utils.flattening import flatten, unflatten
        >>> flat = flatten([torch.ones(2, 1), torch.zeros(1)])
        >>> flat, [t.shape for t in unflatten(flat, [torch.ones(2, 1), torch.zeros(1)])]
        (tensor([1., 1., 0.]), [torch.Size([2, 1]), torch.Size([1])])
    """
    return cat([tensor.contiguous().view(-1) for tensor in tensors])


def unflatten(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of a tensor (N,) with the shapes of some tensors, in order.

    Args:
        flat: as many elements as they have.
        tensors: whose shapes are meant.

    Raises:
        RuntimeError: another number of elements.
    """
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple([part.view(tensor.shape) for part, tensor in zip(parts, tensors)])
