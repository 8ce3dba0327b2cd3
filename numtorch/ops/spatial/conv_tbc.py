"""Convolution of sequences whose time comes first."""
from __future__ import annotations

from ...tensor import Tensor
from ..core.operands import layout_of
from .conv import conv1d


def conv_tbc(input, weight, bias, pad: int = 0) -> Tensor:
    """Convolution in one dimension of sequences whose time is first and whose channels are last.

    Args:
        input: (T, N, C).
        weight: (K, C, C_out).
        bias: (C_out).
        pad: zeros at both ends.

    Returns:
        (T + 2 pad - K + 1, N, C_out).

    Raises:
        RuntimeError: shapes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.conv_tbc(torch.ones(3, 1, 2), torch.ones(2, 2, 1), torch.zeros(1)).flatten()
        tensor([4., 4.])
    """
    for name, value in (("input", input), ("weight", weight), ("bias", bias)):
        layout_of("conv_tbc", value, name)
    if input.ndim != 3:
        raise RuntimeError(f"conv_tbc: Input must have 3 dims: time, batch, in_channel; got shape {list(input.shape)}")
    if weight.ndim != 3:
        raise RuntimeError(f"conv_tbc: Weight tensor must have 3 dims: kernel_width, in_channels, out_channels; got shape "
                           f"{list(weight.shape)}")
    if bias.ndim != 1:
        raise RuntimeError(f"conv_tbc: Bias must be 1-D, got shape {list(bias.shape)}")
    return conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)
