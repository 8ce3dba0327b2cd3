"""One tensor as several: `torch._utils._unflatten_dense_tensors` of PyTorch, which programs import. The way there is
`nn.utils.parameters_to_vector`."""
from __future__ import annotations

from collections.abc import Sequence

from ..tensor import Tensor


def unflatten(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of a tensor (N,) with the shapes of some tensors, in order.

    Args:
        flat: as many elements as they have.
        tensors: whose shapes are meant.

    Raises:
        RuntimeError: another number of elements.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.utils.flattening import unflatten
        >>> unflatten(torch.tensor([1., 2., 3.]), [torch.ones(2, 1), torch.zeros(1)])[1]
        tensor([3.])
    """
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple([part.view(tensor.shape) for part, tensor in zip(parts, tensors)])
