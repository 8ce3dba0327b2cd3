"""Softmax and its kind along a dimension, with PyTorch's arguments and warnings. What they compute is in ops/nn/softmax.py."""
from __future__ import annotations

import warnings

from ..ops.core.operands import layout_of
from ..ops.memory.copies import to_dtype
from ..ops.nn import softmax as softmax_ops
from ..ops.pointwise.arithmetic import div, mul
from ..ops.pointwise.comparison import eq
from ..ops.random.draws import rand
from ..ops.reduce import reductions
from ..tensor import Tensor


def _default_dim(name, dim, ndim):
    if dim is None:
        warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
                      stacklevel=3)
        dim = 0 if ndim in (0, 1, 3) else 1
    return dim


def softmax(input, dim=None, _stacklevel: int = 3, dtype=None) -> Tensor:
    """exp(x) / sum(exp(x)) along a dimension.

    Args:
        input: of any shape, and of floating point unless `dtype` says so.
        dim: along which the results sum to 1. None chooses 0 for 0, 1 or 3 dimensions and else 1, with a warning.
        _stacklevel: nothing here.
        dtype: what the input is cast to first.

    Returns:
        The input's shape.

    Raises:
        IndexError: `dim` is out of range.
        NotImplementedError: integers without `dtype`.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.softmax(torch.tensor([0., 0.]), 0)
        tensor([0.5000, 0.5000])
    """
    return softmax_ops.softmax(input, _default_dim("softmax", dim, layout_of("softmax", input).ndim), dtype)


def log_softmax(input, dim=None, _stacklevel: int = 3, dtype=None) -> Tensor:
    """log(softmax(x)) along a dimension, exact where softmax is all but 0.

    Args:
        input, dim, _stacklevel, dtype: as for `softmax`.

    Returns:
        The input's shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.log_softmax(torch.tensor([0., 200.]), 0)
        tensor([-200.,    0.])
    """
    return softmax_ops.log_softmax(input, _default_dim("log_softmax", dim, layout_of("log_softmax", input).ndim), dtype)


def softmin(input, dim=None, _stacklevel: int = 3, dtype=None) -> Tensor:
    """softmax(-x) along a dimension.

    Args:
        input, dim, _stacklevel, dtype: as for `softmax`.

    Returns:
        The input's shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.softmin(torch.tensor([0., 200.]), 0)
        tensor([1., 0.])
    """
    return softmax_ops.softmin(input, _default_dim("softmin", dim, layout_of("softmin", input).ndim), dtype)


def gumbel_softmax(logits, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A differentiable sample of a class: softmax of (logits + Gumbel noise) / tau (Jang et al. 2017, Maddison et al. 2017).

    Args:
        logits: unnormalised log-probabilities, of any shape and floating point.
        tau: the temperature: near 0 samples are nearly one-hot.
        hard: one-hot in value, with the gradient of the soft sample.
        eps: nothing; PyTorch has it from before 0.4.
        dim: along which classes lie.

    Returns:
        The logits' shape; sums along `dim` are 1.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.gumbel_softmax(torch.tensor([0., 200.]), hard=True)
        tensor([0., 1.])
    """
    layout = layout_of("gumbel_softmax", logits, "logits")
    noise = mul(rand(layout.shape, dtype=layout.dtype, device=layout.device).clamp(min=1e-30).log().mul(-1).log(), -1)
    soft = softmax_ops.softmax(div(logits + noise, tau), dim)
    if not hard:
        return soft
    chosen = to_dtype(eq(soft, reductions.amax(soft, dim, keepdim=True)), soft.layout.dtype)
    return chosen - soft.detach() + soft
