"""Layers as functions: PyTorch's `torch.nn.functional`. Where an op needs nothing added, its function stands here itself; those
that take more than the op does are in activations.py, softmax.py, losses.py and ranking.py."""
from __future__ import annotations

import warnings

from ..ops.core.operands import layout_of as _layout_of
from ..ops.index.pixels import channel_shuffle, pixel_shuffle, pixel_unshuffle
from ..ops.linalg.distances import pdist
from ..ops.linalg.matmul import matmul
from ..ops.loss.ctc import ctc_loss
from ..ops.loss.margin_losses import multi_margin_loss, multilabel_margin_loss, multilabel_soft_margin_loss
from ..ops.nn.attention import scaled_dot_product_attention
from ..ops.nn.batch_norm import batch_norm, instance_norm
from ..ops.nn.dropout import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout, feature_dropout
from ..ops.nn.embedding import embedding_bag, one_hot
from ..ops.nn.embedding import lookup as embedding
from ..ops.nn.linear import linear
from ..ops.nn.multihead import _in_projection as _in_projection
from ..ops.nn.multihead import _in_projection_packed as _in_projection_packed
from ..ops.nn.multihead import multi_head_attention_forward
from ..ops.nn.norm import group_norm, layer_norm, rms_norm
from ..ops.nn.response_norm import local_response_norm
from ..ops.nn.unit_norm import normalize
from ..ops.pointwise.activation import logsigmoid, sigmoid
from ..ops.pointwise.arithmetic import mul
from ..ops.pointwise.elementary import tanh
from ..ops.reduce import reductions
from ..ops.shape.pad import pad
from ..ops.shape.views import transpose, unsqueeze
from ..ops.spatial.average_pool import avg_pool1d, avg_pool2d
from ..ops.spatial.conv import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from ..ops.spatial.conv_tbc import conv_tbc
from ..ops.spatial.fold import fold, unfold
from ..ops.spatial.fractional_pool import fractional_max_pool2d, fractional_max_pool3d
from ..ops.spatial.grid_sample import affine_grid, grid_sample
from ..ops.spatial.max_pool import max_pool1d, max_pool2d
from ..ops.spatial.region_pool import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool3d,
)
from ..ops.spatial.resample import interpolate
from ..ops.spatial.unpool import max_unpool1d, max_unpool2d, max_unpool3d
from ..tensor import Tensor
from .activations import (
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    mish,
    prelu,
    relu,
    relu6,
    relu_,
    rrelu,
    rrelu_,
    selu,
    selu_,
    silu,
    softplus,
    softshrink,
    softsign,
    tanhshrink,
    threshold,
    threshold_,
)
from .linear_loss import linear_cross_entropy
from .losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    gaussian_nll_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
)
from .ranking import (
    cosine_embedding_loss,
    cosine_similarity,
    hinge_embedding_loss,
    margin_ranking_loss,
    pairwise_distance,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from .softmax import gumbel_softmax, log_softmax, softmax, softmin


def bilinear(input1, input2, weight, bias=None) -> Tensor:
    """x1 A_k x2 + b_k for each output k.

    Args:
        input1: (*, I1).
        input2: (*, I2), of as many.
        weight: A, (O, I1, I2).
        bias: b, (O), or None.

    Returns:
        (*, O).

    Raises:
        RuntimeError: extents that do not fit.

    Example:
        >>> import numtorch as torch
        >>> x, y = torch.tensor([[1., 2.]]), torch.tensor([[3., 5.]])
        >>> torch.nn.functional.bilinear(x, y, torch.tensor([[[0., 1.], [0., 0.]]]))
        tensor([[5.]])
    """
    given = _layout_of("bilinear", input1, "input1").shape[:-1], _layout_of("bilinear", input2, "input2", 2).shape[:-1]
    if given[0] != given[1]:
        raise RuntimeError(f"bilinear(): input batch dimensions do not match: got {list(given[0])} and {list(given[1])}")
    out = reductions.sum(mul(matmul(unsqueeze(input1, -2), transpose(weight, 0, 1).reshape(weight.layout.shape[1], -1))
                         .reshape(*input1.layout.shape[:-1], weight.layout.shape[0], weight.layout.shape[2]),
                         unsqueeze(input2, -2)), -1)
    if bias is None:
        return out
    layout = _layout_of("bilinear", bias, "bias", 4)
    if layout.shape[:1] != weight.layout.shape[:1]:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {list(layout.shape)} but expected "
                           f"[{weight.layout.shape[0]}]")
    return out + bias


# ---------------------------------------------------------------- older names
def _with_indices(function, dims):
    """`function` that always returns where its maxima are."""
    def both(input, *args, **kwargs) -> tuple[Tensor, Tensor]:
        return function(input, *args, **{**kwargs, "return_indices": True})
    name = both.__name__ = both.__qualname__ = function.__name__ + "_with_indices"
    both.arguments_of = function
    more = ", 1" if "fractional" in name else ""
    both.__doc__ = f"""`{function.__name__}` with `return_indices=True`, under the name that it has in older scripts.

    Args:
        input: and all others as for `{function.__name__}`.

    Returns:
        A pair of maxima and their int64 places.

    Example:
        >>> import numtorch as torch
        >>> maxima, places = torch.nn.functional.{name}(torch.ones(1, 2, {", ".join("4" * dims)}), 2{more})
        >>> places.dtype
        torch.int64
    """
    return both


adaptive_max_pool1d_with_indices, max_pool1d_with_indices = (_with_indices(f, 1) for f in (adaptive_max_pool1d, max_pool1d))
adaptive_max_pool2d_with_indices, max_pool2d_with_indices, fractional_max_pool2d_with_indices = (
    _with_indices(f, 2) for f in (adaptive_max_pool2d, max_pool2d, fractional_max_pool2d))
adaptive_max_pool3d_with_indices, max_pool3d_with_indices, fractional_max_pool3d_with_indices = (
    _with_indices(f, 3) for f in (adaptive_max_pool3d, max_pool3d, fractional_max_pool3d))


def upsample(input, size=None, scale_factor=None, mode: str = "nearest", align_corners=None) -> Tensor:
    """`interpolate` under its older name, with a warning.

    Args:
        input, size, scale_factor, mode, align_corners: as for `interpolate`.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.upsample(torch.tensor([[[1., 2.]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None) -> Tensor:
    """`interpolate` of mode "nearest" under its older name, with a warning.

    Args:
        input, size, scale_factor: as for `interpolate`.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.upsample_nearest(torch.tensor([[[1., 2.]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    warnings.warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None) -> Tensor:
    """`interpolate` of mode "bilinear" with aligned corners under its older name, with a warning.

    Args:
        input: (N, C, H, W).
        size, scale_factor: as for `interpolate`.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.upsample_bilinear(torch.tensor([[[[1., 3.]]]]), size=(1, 3))
        tensor([[[[1., 2., 3.]]]])
    """
    warnings.warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices", "affine_grid", "alpha_dropout", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm",
    "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "celu_", "channel_shuffle", "conv1d",
    "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss",
    "cosine_similarity", "cross_entropy", "ctc_loss", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "elu_",
    "embedding", "embedding_bag", "feature_alpha_dropout", "feature_dropout", "fold", "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices", "fractional_max_pool3d", "fractional_max_pool3d_with_indices", "gaussian_nll_loss",
    "gelu", "glu", "grid_sample", "group_norm", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "hardtanh_", "hinge_embedding_loss", "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm",
    "leaky_relu", "leaky_relu_", "linear", "linear_cross_entropy", "local_response_norm",
    "log_softmax", "logsigmoid", "lp_pool1d", "lp_pool2d",
    "lp_pool3d", "margin_ranking_loss", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices",
    "max_pool3d", "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d", "mish", "mse_loss",
    "multi_head_attention_forward", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss",
    "normalize", "one_hot", "pad", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss",
    "prelu", "relu", "relu6", "relu_", "rms_norm", "rrelu", "rrelu_", "scaled_dot_product_attention", "selu", "selu_",
    "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh",
    "tanhshrink", "threshold", "threshold_", "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold", "upsample",
    "upsample_bilinear", "upsample_nearest",
]


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    from ..alias import attribute
    return attribute(__name__, name)
