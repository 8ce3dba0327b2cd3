"""`Variable`, which a tensor was wrapped in to be recorded before PyTorch 0.4."""
from __future__ import annotations

from typing import Any

from ..tensor import Tensor


class _VariableType(type):
    def __call__(cls, data=(), requires_grad: bool = False, volatile: bool = False) -> Any:
        tensor = data.detach() if isinstance(data, Tensor) else Tensor._construct(data)
        return tensor.requires_grad_() if requires_grad and not volatile else tensor

    def __instancecheck__(cls, value):
        return isinstance(value, Tensor)


class Variable(metaclass=_VariableType):
    """`Variable(data)` is the tensor itself, or a tensor of the data: Variables and Tensors have been one since PyTorch 0.4.

    Args:
        data: a tensor, or what `Tensor` takes.
        requires_grad: whether to record what is computed from it.
        volatile: True records nothing.

    Example:
        >>> import numtorch as torch
        >>> torch.autograd.Variable(torch.tensor([1., 2.]), requires_grad=True)
        tensor([1., 2.], requires_grad=True)
    """


__all__ = ["Variable"]
