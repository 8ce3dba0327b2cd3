"""What training loops do with all parameters or gradients at once."""
from __future__ import annotations

import inspect
import warnings

from ...autograd.modes import no_grad
from ...exchange.construction import make
from ...ops.reduce import reductions
from ...ops.reduce.total_norm import fits, scale_down_, total_norm
from ...ops.shape.join import cat, stack
from ...tensor import Tensor
from ..modules.module import Module


def _gradients(parameters):
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [grad for grad in [p.grad for p in parameters] if grad is not None]


def _together(tensors, order):
    """The tensors that kernels take many of at once, by device and dtype, and the rest."""
    groups: dict = {}
    rest = []
    for tensor in tensors:
        layout = tensor.layout
        if fits(layout) and layout.device.type in ("cpu", "cuda") and order and not (layout.dtype.is_complex and order != 2.0):
            groups.setdefault((layout.device, layout.dtype), []).append(tensor)
        else:                                            # of complex numbers magnitudes; of order 0, norms of norms
            rest.append(tensor)
    return list(groups.values()), rest


def _norm_of_all(groups, rest, order, error_if_nonfinite):
    norms = [total_norm(group, order) for group in groups] + [reductions.norm(tensor, order) for tensor in rest]
    if not norms:
        return make(0.0)
    total = norms[0]
    if len(norms) > 1:
        total = reductions.norm(stack([norm.to(device=total.device, dtype=total.dtype) for norm in norms]), order)
    if error_if_nonfinite and not total.isfinite().item():
        raise RuntimeError(f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be "
                           f"clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                           f"`error_if_nonfinite=False`")
    return total


def _scale_all(groups, rest, max_norm, norm):
    for group in groups:
        layout = group[0].layout
        scale_down_(group, norm.to(device=layout.device, dtype=layout.dtype.to_real()), float(max_norm))
    if rest:
        factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
        for grad in rest:
            grad.mul_(factor.to(grad.device))


@no_grad()
def get_total_norm(tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach=None) -> Tensor:
    """The norm of all tensors' elements together.

    Args:
        tensors: a tensor, or several.
        norm_type: the norm's order; `inf` for the largest magnitude.
        error_if_nonfinite: raise for a norm that is not finite.
        foreach: nothing here, where many tensors are one kernel call.

    Returns:
        A 0-dim tensor; 0 of no tensors.

    Raises:
        RuntimeError: the norm is not finite and `error_if_nonfinite` is set.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([[4.0]])])
        tensor(5.)
    """
    norm_type = float(norm_type)
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    groups, rest = _together(tensors, norm_type)
    return _norm_of_all(groups, rest, norm_type, error_if_nonfinite)


@no_grad()
def clip_grads_with_norm_(parameters, max_norm: float, total_norm, foreach=None) -> None:
    """Scale all gradients in place by max_norm / (total_norm + 1e-6) where that is below 1.

    Args:
        parameters: a tensor, or several; those without a gradient are left out.
        max_norm: the largest norm that is left.
        total_norm: the norm they have, a 0-dim tensor, as `get_total_norm` gives it.
        foreach: nothing here, where many tensors are one kernel call.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.zeros(2))
        >>> p.grad = torch.tensor([3.0, 4.0])
        >>> torch.nn.utils.clip_grads_with_norm_([p], 1.0, torch.tensor(10.0))
        >>> p.grad
        tensor([0.3000, 0.4000])
    """
    groups, rest = _together(_gradients(parameters), 2.0)
    _scale_all(groups, rest, max_norm, total_norm)


@no_grad()
def clip_grad_norm_(parameters, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach=None) -> Tensor:
    """Scale all gradients in place, together, so that their norm is at most `max_norm` (Pascanu et al. 2013).

    Args:
        parameters: a tensor, or several; those without a gradient are left out.
        max_norm: the largest norm that is left.
        norm_type: the norm's order; `inf` for the largest magnitude.
        error_if_nonfinite: raise rather than scale by what is not finite.
        foreach: nothing here, where many tensors are one kernel call.

    Returns:
        The norm they had, a 0-dim tensor.

    Raises:
        RuntimeError: the norm is not finite and `error_if_nonfinite` is set.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.zeros(2))
        >>> p.grad = torch.tensor([3.0, 4.0])
        >>> torch.nn.utils.clip_grad_norm_([p], 1.0)
        tensor(5.)
        >>> p.grad
        tensor([0.6000, 0.8000])
    """
    norm_type, max_norm = float(norm_type), float(max_norm)
    groups, rest = _together(_gradients(parameters), norm_type)
    total = _norm_of_all(groups, rest, norm_type, error_if_nonfinite)
    _scale_all(groups, rest, max_norm, total)
    return total


def clip_grad_norm(parameters, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach=None) -> Tensor:
    """`clip_grad_norm_` under its older name, with a warning.

    Args:
        parameters, max_norm, norm_type, error_if_nonfinite, foreach: as for `clip_grad_norm_`.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.zeros(2))
        >>> p.grad = torch.tensor([3.0, 4.0])
        >>> torch.nn.utils.clip_grad_norm([p], 1.0)
        tensor(5.)
    """
    warnings.warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning,
                  stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters, clip_value: float, foreach=None) -> None:
    """Hold every gradient's elements between -clip_value and clip_value, in place.

    Args:
        parameters: a tensor, or several; those without a gradient are left out.
        clip_value: the largest magnitude that is left.
        foreach: nothing here; gradients are clipped one after another.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.zeros(2))
        >>> p.grad = torch.tensor([-3.0, 0.5])
        >>> torch.nn.utils.clip_grad_value_([p], 1.0)
        >>> p.grad
        tensor([-1.0000,  0.5000])
    """
    for grad in _gradients(parameters):
        grad.clamp_(-float(clip_value), float(clip_value))


def parameters_to_vector(parameters) -> Tensor:
    """All parameters' elements in one dimension, through which gradients flow.

    Args:
        parameters: tensors of any shapes and one dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.utils.parameters_to_vector([torch.ones(2), torch.zeros(1, 2)])
        tensor([1., 1., 0., 0.])
    """
    return cat([p.reshape(-1) for p in parameters])


@no_grad()
def vector_to_parameters(vec: Tensor, parameters) -> None:
    """Write consecutive parts of a vector into parameters.

    Args:
        vec: of as many elements as they have together.
        parameters: tensors, written in place.

    Raises:
        TypeError: `vec` is not a Tensor.
        RuntimeError: too few elements.

    Example:
        >>> import numtorch as torch
        >>> layer = torch.nn.Linear(2, 1)
        >>> torch.nn.utils.vector_to_parameters(torch.tensor([1., 2., 3.]), layer.parameters())
        >>> layer.bias.item()
        3.0
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for parameter in parameters:
        count = parameter.layout.numel
        parameter.copy_(vec[start:start + count].reshape(parameter.layout.shape))
        start += count


def skip_init(module_cls, *args, **kwargs):
    """A module whose parameters are not filled: it is made on the meta device, and given memory.

    Args:
        module_cls: a class of modules that takes `device`.
        args, kwargs: of the class; `device` is where the memory is, the CPU by default.

    Raises:
        RuntimeError: no class of modules, or one without `device`.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.utils.skip_init(torch.nn.Linear, 3, 2).weight.shape
        torch.Size([2, 3])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
