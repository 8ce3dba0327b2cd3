"""What training loops do with all parameters or gradients at once."""
from __future__ import annotations

import inspect
import warnings

import numpy as np

from ...autograd.modes import no_grad
from ...autograd.writes import mark_written
from ...dtypes import uint8
from ...exchange.construction import make
from ...layout import Layout
from ...ops.core.backends import kernels
from ...ops.core.primitive import new_plan_table
from ...ops.reduce import reductions
from ...ops.shape.join import cat, stack
from ...tensor import Tensor, empty
from ..modules.module import Module


def _gradients(parameters):
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [grad for grad in [p.grad for p in parameters] if grad is not None]


class _Table:
    """Dense tensors of one dtype and device, as the kernels of `optim/total_norm.py` read them."""

    def __init__(self, tensors) -> None:
        self.tensors, self.dtype, self.device = tensors, tensors[0].layout.dtype, tensors[0].layout.device
        pairs = 2 if self.dtype.is_complex else 1
        self.numels = tuple([t.layout.numel * pairs for t in tensors])
        self.rows = np.array([[t.address for t in tensors], self.numels], np.int64).T.copy()

    def plan(self, kind, *more):
        key = kind, self.device, self.dtype, self.numels, *more
        plan = _plans.get(key)
        if plan is None:
            planner = getattr(kernels(self.device, "optim.total_norm"), kind)
            plan = _plans.keep(key, planner(self.dtype.to_real().kernel, self.numels, *more))
        return plan

    def norm(self, order):
        first, last = self.plan("plan_total_norm", order)
        options = np.array([order])
        parts = empty(Layout.of(uint8, (first.workspace,), None, self.device))
        out = empty(Layout.of(self.dtype.to_real(), (), None, self.device))
        first.call(self.rows.ctypes.data, options.ctypes.data, parts.address, first.descriptor)
        last.call(parts.address, options.ctypes.data, out.address, last.descriptor)
        return out

    def scale(self, norm, bound):
        plan, bound = self.plan("plan_scale_all"), np.array([bound], np.float64)
        plan.call(self.rows.ctypes.data, norm.address, bound.ctypes.data, plan.descriptor)
        for tensor in self.tensors:
            mark_written(tensor.memory, "mul_")         # also where the factor was 1, as PyTorch counts


_plans = new_plan_table()
_fitting: dict = new_plan_table()                        # by layout, whether kernels take such tensors many at once
_DTYPES = frozenset(("float32", "float64", "float16", "bfloat16", "complex64", "complex128"))


def _fits(layout):
    result = (layout.device.type in ("cpu", "cuda") and layout.dtype.name in _DTYPES
              and (layout.contiguous or layout.non_overlapping_and_dense()))
    return _fitting.keep(layout, result)


def _tables(tensors, order):
    """The tensors that kernels take many of at once, by device and dtype, and the rest."""
    groups: dict = {}
    rest = []
    for tensor in tensors:
        layout = tensor.layout
        fits = _fitting.get(layout)
        if fits or (fits is None and _fits(layout)):
            key = layout.device, layout.dtype
            group = groups.get(key)
            if group is None:
                groups[key] = [tensor]
            else:
                group.append(tensor)
        else:
            rest.append(tensor)
    for key in [k for k in groups if (k[1].is_complex and order != 2.0) or order == 0.0]:       # magnitudes; norms of norms
        rest += groups.pop(key)
    return [_Table(group) for group in groups.values()], rest


def _norm_of_all(tables, rest, order, error_if_nonfinite):
    norms = [table.norm(order) for table in tables] + [reductions.norm(tensor, order) for tensor in rest]
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


def _scale_all(tables, rest, max_norm, total_norm):
    for table in tables:
        table.scale(total_norm.to(device=table.device, dtype=table.dtype.to_real()), float(max_norm))
    if rest:
        factor = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
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
    tables, rest = _tables(tensors, norm_type)
    return _norm_of_all(tables, rest, norm_type, error_if_nonfinite)


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
    tables, rest = _tables(_gradients(parameters), 2.0)
    _scale_all(tables, rest, max_norm, total_norm)


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
    tables, rest = _tables(_gradients(parameters), norm_type)
    total = _norm_of_all(tables, rest, norm_type, error_if_nonfinite)
    _scale_all(tables, rest, max_norm, total)
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
