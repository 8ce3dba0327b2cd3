"""Functions that PyTorch has in `torch` with ATen's arguments, beside the more convenient ones of `nn.functional`."""
from __future__ import annotations

import numtorch

from ..ops.core.operands import layout_of
from ..ops.loss.ctc import ctc_loss as _ctc_loss
from ..tensor import Tensor

_F = numtorch.nn.functional
_REDUCTIONS = ("none", "mean", "sum")                    # by ATen's numbers


# ---------------------------------------------------------------- convolution and pooling
def convolution(input, weight, bias: Tensor | None, stride, padding, dilation, transposed: bool, output_padding,
                groups: int) -> Tensor:
    """`conv1d` to `conv3d` by the number of dimensions, or their transposes.

    Args:
        input: (N, C, *S).
        weight: (C_out, C / groups, *K), or of transposes (C, C_out / groups, *K).
        bias: (C_out), or None.
        stride, padding, dilation, output_padding: a list with a number for each dimension.
        transposed: whether it is the transpose.
        groups: in how many groups the channels are.

    Raises:
        RuntimeError: shapes or options that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.convolution(torch.ones(1, 1, 3), torch.ones(1, 1, 2), None, [1], [0], [1], False, [0], 1)
        tensor([[[2., 2.]]])
    """
    dims = layout_of("convolution", input, "input").ndim - 2
    if not 1 <= dims <= 3:
        raise RuntimeError(f"convolution: expected an input (N, C, *S) of one to three dimensions S, got shape {list(input.shape)}")
    if transposed:
        return getattr(numtorch, f"conv_transpose{dims}d")(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(numtorch, f"conv{dims}d")(input, weight, bias, stride, padding, dilation, groups)


def max_pool1d_with_indices(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode: bool = False) -> tuple[Tensor, Tensor]:
    """`max_pool1d` with the places of the maxima.

    Args:
        input: (N, C, L) or (C, L).
        kernel_size, stride, padding, dilation, ceil_mode: as there.

    Example:
        >>> import numtorch as torch
        >>> torch.max_pool1d_with_indices(torch.tensor([[1., 3., 2., 4.]]), 2)
        (tensor([[3., 4.]]), tensor([[1, 3]]))
    """
    return _F.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def affine_grid_generator(theta, size, align_corners: bool) -> Tensor:
    """`nn.functional.affine_grid`, where the corners have to be said.

    Args:
        theta: (N, 2, 3) or (N, 3, 4).
        size: the shape of the images.
        align_corners: whether -1 and 1 are the centres of the corners' pixels.

    Example:
        >>> import numtorch as torch
        >>> torch.affine_grid_generator(torch.eye(2, 3)[None], (1, 1, 1, 2), True).shape
        torch.Size([1, 1, 2, 2])
    """
    return _F.affine_grid(theta, size, align_corners)


def native_channel_shuffle(input, groups: int) -> Tensor:
    """`channel_shuffle`.

    Args:
        input: (N, C, *).
        groups: in how many groups the channels are.

    Example:
        >>> import numtorch as torch
        >>> torch.native_channel_shuffle(torch.arange(4.).view(1, 4, 1, 1), 2).flatten()
        tensor([0., 2., 1., 3.])
    """
    return numtorch.channel_shuffle(input, groups)


# ---------------------------------------------------------------- dropout
def native_dropout(input, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Dropout, with the mask of what stays.

    Args:
        input: (*), floating point.
        p: the share that becomes 0.
        train: whether anything does; None is True.

    Example:
        >>> import numtorch as torch
        >>> torch.native_dropout(torch.ones(2), 0.5, False)
        (tensor([1., 1.]), tensor([True, True]))
    """
    layout_of("native_dropout", input, "input")
    if train is False or not p:
        return input.clone(), numtorch.ones_like(input, dtype=numtorch.bool)
    mask = numtorch.rand_like(input) >= p
    return input * mask * (1 / (1 - p) if p < 1 else 0.0), mask


def _in_place(name, example):
    function = getattr(numtorch, name)

    def drop(input, p: float, train: bool) -> Tensor:
        return function(input, p, train, True)
    drop.__name__ = drop.__qualname__ = f"{name}_"
    drop.__doc__ = f"""`{name}` in place.

    Args:
        input: (*), floating point.
        p: the share that becomes 0.
        train: whether anything does.

    Example:
        >>> import numtorch as torch
        >>> torch.{name}_({example}, 1.0, False).sum()
        tensor(4.)
    """
    return drop


dropout_, alpha_dropout_ = _in_place("dropout", "torch.ones(4)"), _in_place("alpha_dropout", "torch.ones(4)")
feature_dropout_ = _in_place("feature_dropout", "torch.ones(1, 2, 2)")
feature_alpha_dropout_ = _in_place("feature_alpha_dropout", "torch.ones(1, 2, 2)")


# ---------------------------------------------------------------- losses
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank: int = 0, reduction: int = 1,
             zero_infinity: bool = False) -> Tensor:
    """`nn.functional.ctc_loss`, with the reduction as a number.

    Args:
        log_probs, targets, input_lengths, target_lengths, blank, zero_infinity: as there.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    Raises:
        ValueError: another reduction.

    Example:
        >>> import numtorch as torch
        >>> log_probs = torch.zeros(2, 1, 2).log_softmax(2)
        >>> torch.ctc_loss(log_probs, torch.tensor([[1]]), (2,), (1,)).exp()
        tensor(1.3333)
    """
    if reduction not in (0, 1, 2):
        raise ValueError(f"ctc_loss: expected reduction to be 0 (none), 1 (mean) or 2 (sum), got {reduction!r}")
    return _ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _REDUCTIONS[reduction], zero_infinity)
