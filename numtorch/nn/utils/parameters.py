"""What training loops do with all parameters or gradients at once."""
from __future__ import annotations

from ...autograd.modes import no_grad
from ...exchange import make
from ...ops import creation, reduce
from ...ops.join import cat
from ...tensor import Tensor


def _gradients(parameters):
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad for p in parameters if p.grad is not None]


@no_grad()
def get_total_norm(tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach=None) -> Tensor:
    """The norm of all tensors' elements together.

    Raises:
        RuntimeError: the norm is not finite and `error_if_nonfinite` is set.
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not tensors:
        return make(0.0)
    norm_type = float(norm_type)
    norms = creation.empty(len(tensors), dtype=tensors[0].layout.dtype, device=tensors[0].layout.device)
    for place, tensor in enumerate(tensors):
        norms[place] = reduce.norm(tensor, norm_type)
    total = reduce.norm(norms, norm_type)
    if error_if_nonfinite and not total.isfinite().item():
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
                           f"clipped. To "
                           f"disable this error and scale the gradients by the non-finite norm anyway, set "
                           f"`error_if_nonfinite=False`")
    return total


@no_grad()
def clip_grads_with_norm_(parameters, max_norm: float, total_norm, foreach=None) -> None:
    """Scale all gradients by max_norm / total_norm where that is below 1."""
    factor = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
    for grad in _gradients(parameters):
        grad.mul_(factor)


def clip_grad_norm_(parameters, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach=None) -> Tensor:
    """Scale all gradients together so that their norm is at most `max_norm`, and return the norm they had.

    Raises:
        RuntimeError: the norm is not finite and `error_if_nonfinite` is set.
    """
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


@no_grad()
def clip_grad_value_(parameters, clip_value: float, foreach=None) -> None:
    """Hold every gradient's elements between -clip_value and clip_value."""
    for grad in _gradients(parameters):
        grad.clamp_(-float(clip_value), float(clip_value))


def parameters_to_vector(parameters) -> Tensor:
    """All parameters' elements in one dimension, through which gradients flow."""
    return cat([p.reshape(-1) for p in parameters])


@no_grad()
def vector_to_parameters(vec: Tensor, parameters) -> None:
    """Write consecutive parts of a vector into parameters."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for parameter in parameters:
        count = parameter.layout.numel
        parameter.copy_(vec[start:start + count].reshape(parameter.layout.shape))
        start += count
