"""Norms that also give the statistics they divide by, as PyTorch's `native_*` functions."""
from __future__ import annotations

from ...dtypes import float32
from ...tensor import Tensor
from ..core.arguments import integer
from ..core.operands import layout_of
from ..creation.fill import empty
from ..memory.conversion import to_dtype
from ..memory.resize import check_outs, into_exactly
from ..pointwise.elementary import rsqrt
from ..pointwise.functions import add
from ..reduce.reductions import var_mean
from ..shape.views import reshape
from .batch_norm import batch_norm
from .norm import group_norm, layer_norm


def _statistics(input, dims, keepdim, eps):
    """The mean and one by the standard deviation."""
    wide = to_dtype(input, float32) if input.layout.dtype.itemsize == 2 else input
    variance, mean = var_mean(wide, dims, correction=0, keepdim=keepdim)
    return [to_dtype(t, input.layout.dtype) for t in (mean, rsqrt(add(variance, eps)))]


def native_layer_norm(input, normalized_shape, weight: Tensor | None, bias: Tensor | None,
                      eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm`, and the mean and one by the standard deviation of each row.

    Args:
        input, normalized_shape, weight, bias, eps: as for `layer_norm`.

    Returns:
        The result, and the two statistics with extents of 1 where they are shared, which are not recorded.

    Example:
        >>> import numtorch as torch
        >>> torch.native_layer_norm(torch.tensor([[1., 3.]]), (2,), None, None, 0.0)[1:]
        (tensor([[2.]]), tensor([[1.]]))
    """
    out = layer_norm(input, normalized_shape, weight, bias, eps)
    dims = tuple(range(-len(normalized_shape), 0))
    return out, *_statistics(input.detach(), dims, True, eps)


def native_group_norm(input, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int,
                      eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """`group_norm`, and the mean and one by the standard deviation of each group.

    Args:
        input, weight, bias, eps: as for `group_norm`; group: how many groups.
        N, C, HxW: extents of the input.

    Returns:
        The result, and the two statistics, (N, group).

    Raises:
        RuntimeError: extents that are not the input's.

    Example:
        >>> import numtorch as torch
        >>> torch.native_group_norm(torch.tensor([[[1., 3.]]]), None, None, 1, 1, 2, 1, 0.0)[1:]
        (tensor([[2.]]), tensor([[1.]]))
    """
    N, C, HxW = [integer("native_group_norm", argument, n) for argument, n in (("N", N), ("C", C), ("HxW", HxW))]
    if layout_of("native_group_norm", input).numel != N * C * HxW:
        raise RuntimeError(f"Expected X.numel() == N * C * HxW to be true, got {input.layout.numel} and {N} * {C} * {HxW}")
    out = group_norm(input, group, weight, bias, eps)
    return out, *_statistics(reshape(input, N, group, HxW * (C // group)), (2,), False, eps)


def native_batch_norm(input, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
                      running_var: Tensor | None, training: bool, momentum: float, eps: float, *,
                      out=None) -> tuple[Tensor, Tensor, Tensor]:
    """`batch_norm`, and in training the mean and one by the standard deviation of each channel.

    Args:
        input, weight, bias, running_mean, running_var, training, momentum, eps: as for `batch_norm`.
        out: a tuple of three tensors to write the results to.

    Returns:
        The result, and the two statistics, (C); without elements where the running ones were used.

    Example:
        >>> import numtorch as torch
        >>> torch.native_batch_norm(torch.tensor([[1.], [3.]]), None, None, None, None, True, 0.1, 1e-5)[1]
        tensor([2.])
    """
    result = batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if training:
        statistics = _statistics(input.detach(), (0, *range(2, input.layout.ndim)), False, eps)
    else:
        statistics = [empty((0,), dtype=input.layout.dtype, device=input.device) for _ in range(2)]
    results = result, *statistics
    if out is None:
        return results
    check_outs("native_batch_norm", out, len(results))
    return tuple([into_exactly("native_batch_norm", o, t) for o, t in zip(out, results)])


def _native_batch_norm_legit(input, weight: Tensor | None, bias: Tensor | None, *settings,
                             out=None) -> tuple[Tensor, Tensor, Tensor]:
    """`native_batch_norm`, also without running statistics among its arguments.

    Args:
        input, weight, bias: as for `batch_norm`.
        settings: running_mean, running_var, training, momentum, eps; or the last three of these.
        out: a tuple of three tensors to write the results to.

    Example:
        >>> import numtorch as torch
        >>> torch._native_batch_norm_legit(torch.tensor([[1.], [3.]]), None, None, True, 0.1, 1e-5)[1]
        tensor([2.])
    """
    running = settings[:-3] or (None, None)
    return native_batch_norm(input, weight, bias, *running, *settings[-3:], out=out)
