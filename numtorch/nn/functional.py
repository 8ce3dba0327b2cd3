"""Layers as functions: PyTorch's `torch.nn.functional`. Where an op needs nothing added, its function stands here itself."""
from __future__ import annotations

import warnings

from ..layout import wrap_dim
from ..ops import activation, crossentropy, loss, reduce
from ..ops import softmax as softmax_ops
from ..ops.arithmetic import clamp_both, clamp_low, div, mul
from ..ops.attention import scaled_dot_product_attention
from ..ops.comparison import eq
from ..ops.contract import matmul
from ..ops.conv import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from ..ops.copy import copy_, to_dtype
from ..ops.creation import empty_like
from ..ops.ctc import ctc_loss
from ..ops.distances import pdist
from ..ops.dropout import alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout, feature_dropout
from ..ops.elementary import tanh
from ..ops.embedding import embedding_bag, one_hot
from ..ops.embedding import lookup as embedding
from ..ops.fractional import fractional_max_pool2d, fractional_max_pool3d
from ..ops.gridsample import affine_grid, grid_sample
from ..ops.linear import linear
from ..ops.loss import legacy_reduction as _legacy_reduction
from ..ops.loss import paired_loss, reduced, reduced_terms
from ..ops.marginloss import multi_margin_loss, multilabel_margin_loss, multilabel_soft_margin_loss
from ..ops.multihead import multi_head_attention_forward
from ..ops.norm import batch_norm, group_norm, instance_norm, layer_norm, rms_norm
from ..ops.op import result_type
from ..ops.pad import pad
from ..ops.query import broadcast_tensors
from ..ops.random import rand
from ..ops.rearrange import channel_shuffle, pixel_shuffle, pixel_unshuffle
from ..ops.regions import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool3d,
    fold,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
    unfold,
)
from ..ops.resample import interpolate
from ..ops.responsenorm import local_response_norm
from ..ops.unitnorm import normalize
from ..ops.view import reshape, transpose, unsqueeze
from ..ops.window import avg_pool1d, avg_pool2d, max_pool1d, max_pool2d
from ..tensor import Tensor
from ..tensor import view_of as _view_of
from ..viewalgebra import narrow as _narrow_layout

sigmoid = activation.sigmoid
logsigmoid, softsign = activation.logsigmoid, activation.softsign


# ---------------------------------------------------------------- activations
def _activation(function, doc):
    """`function` with PyTorch's `inplace` flag after its own arguments."""
    def wrapped(input, inplace: bool = False):
        return function(input) if not inplace else copy_(input, function(input))
    wrapped.__doc__, wrapped.__name__, wrapped.__qualname__ = doc, function.__name__, function.__name__
    return wrapped


def relu(input, inplace: bool = False) -> Tensor:
    """max(x, 0), elementwise."""
    return activation.relu(input) if not inplace else activation.relu.op.inplace(input)


def relu_(input) -> Tensor:
    """In-place form of `relu`."""
    return activation.relu.op.inplace(input)


selu = _activation(activation.selu, activation.selu.__doc__)
silu = _activation(activation.silu, activation.silu.__doc__)
mish = _activation(activation.mish, activation.mish.__doc__)
hardswish = _activation(activation.hardswish, activation.hardswish.__doc__)
hardsigmoid = _activation(activation.hardsigmoid, activation.hardsigmoid.__doc__)


def _placed(input, out, inplace):
    return copy_(input, out) if inplace else out


def leaky_relu(input, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where positive, negative_slope * x elsewhere."""
    return _placed(input, activation.leaky_relu(input, negative_slope), inplace)


def elu(input, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, alpha * (exp(x) - 1) elsewhere."""
    return _placed(input, activation.elu(input, alpha), inplace)


def celu(input, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere (Barron 2017)."""
    return _placed(input, activation.celu(input, alpha), inplace)


def gelu(input, approximate: str = "none") -> Tensor:
    """x * Phi(x), exactly or with `approximate="tanh"`."""
    if approximate == "none":
        return activation.gelu(input)
    if approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return activation.gelu_tanh(input)


def softplus(input, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * x)) / beta, and x itself where beta * x exceeds the threshold."""
    return activation.softplus(input, beta, threshold)


def hardtanh(input, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x held between min_val and max_val."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if input.layout.dtype.category == 1:                 # PyTorch keeps integers
        return _placed(input, clamp_both(input, int(min_val), int(max_val)), inplace)
    return _placed(input, activation.hardtanh(input, min_val, max_val), inplace)


def relu6(input, inplace: bool = False) -> Tensor:
    """x held between 0 and 6."""
    return hardtanh(input, 0.0, 6.0, inplace)


def threshold(input, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it exceeds the threshold, else value."""
    return _placed(input, activation.threshold(input, threshold, value), inplace)


def _changing(function):
    """`function` that writes its result into its input."""
    def changing(input, *args, **kwargs):
        return function(input, *args, inplace=True, **kwargs)
    changing.__name__ = changing.__qualname__ = function.__name__ + "_"
    changing.__doc__ = f"In-place form of `{function.__name__}`."
    return changing


celu_, elu_, hardtanh_, leaky_relu_, selu_, threshold_ = map(_changing, (celu, elu, hardtanh, leaky_relu, selu, threshold))


def softshrink(input, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by lambd, and 0 where it is nearer."""
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return activation.softshrink(input, lambd)


def rrelu(input, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    """x, and below 0 a slope times x: while training one drawn between `lower` and `upper` for each element, else their mean."""
    if not training:
        found = leaky_relu(input, (lower + upper) / 2)
    else:
        found = activation.prelu(input, empty_like(input.detach()).uniform_(lower, upper))
    return _placed(input, found, inplace)


rrelu_ = _changing(rrelu)


def hardshrink(input, lambd: float = 0.5) -> Tensor:
    """x, and 0 where |x| is at most lambd."""
    return activation.hardshrink(input, lambd)


def tanhshrink(input) -> Tensor:
    """x - tanh(x), elementwise."""
    return input - tanh(input)


def prelu(input, weight) -> Tensor:
    """x where positive, weight * x elsewhere, with one weight or one for each channel (dimension 1)."""
    if weight.layout.numel != 1:
        channels = input.layout.shape[1] if input.layout.ndim > 1 else 1
        if weight.layout.numel != channels:
            raise RuntimeError(f"Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                               f"{weight.layout.numel} and "
                               f"channel size = {channels}.")
        if input.layout.ndim > 1:
            weight = reshape(weight, (1, -1) + (1,) * (input.layout.ndim - 2))
    return activation.prelu(input, weight)


def glu(input, dim: int = -1) -> Tensor:
    """The first half of a dimension times the sigmoid of the second (Dauphin et al. 2017)."""
    if input.layout.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = wrap_dim(dim, input.layout.ndim)
    extent = input.layout.shape[dim]
    if extent % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {extent}")
    if input.node is not None:
        return activation.gated(*input.split(extent // 2, dim))
    (first, start), (second, middle) = [_narrow_layout(input.layout, dim, at, extent // 2) for at in (0, extent // 2)]
    return activation.gated(_view_of(input, first, start), _view_of(input, second, middle))


def _default_dim(name, dim, ndim):
    if dim is None:
        warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
                      stacklevel=3)
        dim = 0 if ndim in (0, 1, 3) else 1
    return dim


def softmax(input, dim=None, _stacklevel: int = 3, dtype=None) -> Tensor:
    """exp(x) / sum(exp(x)) along a dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.softmax(torch.tensor([0., 0.]), 0)
        tensor([0.5000, 0.5000])
    """
    return softmax_ops.softmax(input, _default_dim("softmax", dim, input.layout.ndim), dtype)


def log_softmax(input, dim=None, _stacklevel: int = 3, dtype=None) -> Tensor:
    """log(softmax(x)) along a dimension."""
    return softmax_ops.log_softmax(input, _default_dim("log_softmax", dim, input.layout.ndim), dtype)


def softmin(input, dim=None, _stacklevel: int = 3, dtype=None) -> Tensor:
    """softmax(-x) along a dimension."""
    return softmax_ops.softmin(input, _default_dim("softmin", dim, input.layout.ndim), dtype)


def gumbel_softmax(logits, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A differentiable sample of a class: softmax of (logits + Gumbel noise) / tau, one-hot in value with `hard`."""
    noise = mul(rand(logits.layout.shape, dtype=logits.layout.dtype).clamp(min=1e-30).log().mul(-1).log(), -1)
    soft = softmax_ops.softmax(div(logits + noise, tau), dim)
    if not hard:
        return soft
    chosen = to_dtype(eq(soft, reduce.amax(soft, dim, keepdim=True)), soft.layout.dtype)
    return chosen - soft.detach() + soft


def cosine_similarity(x1, x2, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along a dimension of what the two, broadcast and promoted, have.

    Raises:
        RuntimeError: neither is of floating point.
    """
    if x1.layout.dtype is not x2.layout.dtype:
        kind = result_type(x1, x2)
        x1, x2 = to_dtype(x1, kind), to_dtype(x2, kind)
    if not x1.layout.dtype.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {x1.layout.dtype.title}")
    if x1.layout.ndim != x2.layout.ndim:
        x1, x2 = broadcast_tensors(x1, x2)
    lengths = [clamp_low(reduce.norm(x, 2, dim, keepdim=True), eps) for x in (x1, x2)]
    return reduce.sum(mul(div(x1, lengths[0]), div(x2, lengths[1])), dim)


def pairwise_distance(x1, x2, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension."""
    return reduce.norm(x1 - x2 + eps, p, -1, keepdim)


# ---------------------------------------------------------------- shapes
def bilinear(input1, input2, weight, bias=None) -> Tensor:
    """x1 A_k x2 + b_k for each output k; weight is (O, I1, I2)."""
    out = reduce.sum(mul(matmul(unsqueeze(input1, -2), transpose(weight, 0, 1).reshape(weight.layout.shape[1], -1))
                         .reshape(*input1.layout.shape[:-1], weight.layout.shape[0], weight.layout.shape[2]),
                         unsqueeze(input2, -2)), -1)
    return out if bias is None else out + bias


# ---------------------------------------------------------------- losses
def cross_entropy(input, target, weight=None, size_average=None, ignore_index: int = -100, reduce=None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """-log softmax(input)[target]; see `numtorch.ops.crossentropy.cross_entropy` for shapes and options.

    Example:
        >>> import numtorch as torch
        >>> loss = torch.nn.functional.cross_entropy(torch.zeros(3, 4), torch.tensor([0, 3, 1]))
        >>> loss
        tensor(1.3863)
    """
    if size_average is not None or reduce is not None:
        reduction = _legacy_reduction(size_average, reduce, reduction)
    return crossentropy.cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)


def nll_loss(input, target, weight=None, size_average=None, ignore_index: int = -100, reduce=None,
             reduction: str = "mean") -> Tensor:
    """-weight[target] * input[target] for log-probabilities (N, C, ...) and class indices (N, ...)."""
    return crossentropy.nll_loss(input, target, weight, ignore_index, _legacy_reduction(size_average, reduce, reduction))


def mse_loss(input, target, size_average=None, reduce=None, reduction: str = "mean", weight=None) -> Tensor:
    """(input - target)^2, its mean or its sum.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.mse_loss(torch.tensor([1., 2.]), torch.tensor([1., 4.]))
        tensor(2.)
    """
    if size_average is not None or reduce is not None:
        reduction = _legacy_reduction(size_average, reduce, reduction)
    return paired_loss("mse_loss", loss.squared_error, input, target, reduction, weight)


def l1_loss(input, target, size_average=None, reduce=None, reduction: str = "mean", weight=None) -> Tensor:
    """|input - target|, its mean or its sum."""
    if size_average is not None or reduce is not None:
        reduction = _legacy_reduction(size_average, reduce, reduction)
    return paired_loss("l1_loss", loss.absolute_error, input, target, reduction, weight)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Squared error / (2 beta) below beta, absolute error - beta / 2 above."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, size_average, reduce, reduction)
    reduction = _legacy_reduction(size_average, reduce, reduction)
    return paired_loss("smooth_l1_loss", loss.smooth_absolute_error, input, target, reduction, None, beta)


def huber_loss(input, target, reduction: str = "mean", delta: float = 1.0, weight=None) -> Tensor:
    """Squared error / 2 below delta, delta * (absolute error - delta / 2) above."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    return paired_loss("huber_loss", loss.huber_error, input, target, reduction, weight, delta)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction: str = "mean") -> Tensor:
    """-(y log p + (1 - y) log(1 - p)) of probabilities."""
    return loss.binary_cross_entropy(input, target, weight, _legacy_reduction(size_average, reduce, reduction))


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction: str = "mean",
                                     pos_weight=None) -> Tensor:
    """Binary cross entropy of sigmoid(input), exact for large |input|."""
    return loss.binary_cross_entropy_with_logits(input, target, weight, _legacy_reduction(size_average, reduce, reduction),
                                                 pos_weight)


def kl_div(input, target, size_average=None, reduce=None, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target * (log target - input), for log-probabilities `input`; "batchmean" divides the sum by the batch size."""
    terms = loss.log_divergence_terms if log_target else loss.divergence_terms
    reduction = _legacy_reduction(size_average, reduce, reduction)
    if reduction == "batchmean":
        return div(reduced_terms(terms, input, target, "sum"), input.layout.shape[0])
    if reduction == "mean":
        warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
                      "only by "
                      "the batch size, and aligns with the KL div math definition.", stacklevel=2)
    return reduced_terms(terms, input, target, reduction)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input)) for targets of 1 and -1."""
    return reduced_terms(loss.soft_margin_terms, input, target, _legacy_reduction(size_average, reduce, reduction))


def hinge_embedding_loss(input, target, margin: float = 1.0, size_average=None, reduce=None, reduction: str = "mean") -> Tensor:
    """input where the target is 1, max(0, margin - input) where it is -1."""
    return reduced(loss.hinge_terms(input, target, margin), _legacy_reduction(size_average, reduce, reduction))


def margin_ranking_loss(input1, input2, target, margin: float = 0, size_average=None, reduce=None,
                        reduction: str = "mean") -> Tensor:
    """max(0, -target * (input1 - input2) + margin)."""
    return reduced(clamp_low(mul(target, input2 - input1) + margin, 0), _legacy_reduction(size_average, reduce, reduction))


def cosine_embedding_loss(input1, input2, target, margin: float = 0, size_average=None, reduce=None,
                          reduction: str = "mean") -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    similarity = cosine_similarity(input1, input2, dim=-1)
    terms = mul(to_dtype(eq(target, 1), input1.layout.dtype), 1 - similarity)
    terms = terms + mul(to_dtype(eq(target, -1), input1.layout.dtype), clamp_low(similarity - margin, 0))
    return reduced(terms, _legacy_reduction(size_average, reduce, reduction))


def triplet_margin_loss(anchor, positive, negative, margin: float = 1.0, p: float = 2, eps: float = 1e-6, swap: bool = False,
                        size_average=None, reduce=None, reduction: str = "mean") -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)."""
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return reduced(clamp_low(near - far + margin, 0), _legacy_reduction(size_average, reduce, reduction))


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin: float = 1.0,
                                      swap: bool = False, reduction: str = "mean") -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), with any distance; `pairwise_distance` when None."""
    distance = pairwise_distance if distance_function is None else distance_function
    far = distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced(clamp_low(distance(anchor, positive) - far + margin, 0), reduction)


def poisson_nll_loss(input, target, log_input: bool = True, full: bool = False, size_average=None, eps: float = 1e-8, reduce=None,
                     reduction: str = "mean") -> Tensor:
    """exp(input) - target * input (`log_input`), else input - target * log(input + eps); `full` adds Stirling's term."""
    terms = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (target * 6.283185307179586).log()
        terms = terms + stirling.masked_fill(target <= 1, 0)
    return reduced(terms, _legacy_reduction(size_average, reduce, reduction))


def gaussian_nll_loss(input, target, var, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    """(log(var) + (input - target)^2 / var) / 2, with var at least eps; `full` adds log(2 pi) / 2."""
    held = clamp_low(var.detach(), eps) - var.detach() + var
    terms = mul(held.log() + div(loss.squared_error(input, target), held), 0.5)
    return reduced(terms + 0.9189385332046727 if full else terms, reduction)


# ---------------------------------------------------------------- older names
def _with_indices(function):
    """`function` that always returns where its maxima are."""
    def both(input, *args, **kwargs):
        return function(input, *args, **{**kwargs, "return_indices": True})
    both.__name__ = both.__qualname__ = function.__name__ + "_with_indices"
    both.__doc__ = f"`{function.__name__}` with `return_indices=True`."
    return both


(adaptive_max_pool1d_with_indices, adaptive_max_pool2d_with_indices, adaptive_max_pool3d_with_indices, max_pool1d_with_indices,
 max_pool2d_with_indices, max_pool3d_with_indices, fractional_max_pool2d_with_indices, fractional_max_pool3d_with_indices) = map(
    _with_indices, (adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d, max_pool1d, max_pool2d, max_pool3d,
                    fractional_max_pool2d, fractional_max_pool3d))


def upsample(input, size=None, scale_factor=None, mode: str = "nearest", align_corners=None) -> Tensor:
    """`interpolate` under its older name."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None) -> Tensor:
    """`interpolate` of mode "nearest" under its older name."""
    warnings.warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None) -> Tensor:
    """`interpolate` of mode "bilinear" with aligned corners under its older name."""
    warnings.warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices", "affine_grid", "alpha_dropout", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm",
    "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "celu_", "channel_shuffle", "conv1d",
    "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss",
    "cosine_similarity", "cross_entropy", "ctc_loss", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "elu_",
    "embedding", "embedding_bag", "feature_alpha_dropout", "feature_dropout", "fold", "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices", "fractional_max_pool3d", "fractional_max_pool3d_with_indices", "gaussian_nll_loss",
    "gelu", "glu", "grid_sample", "group_norm", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "hardtanh_", "hinge_embedding_loss", "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm",
    "leaky_relu", "leaky_relu_", "linear", "local_response_norm", "log_softmax", "logsigmoid", "lp_pool1d", "lp_pool2d",
    "lp_pool3d", "margin_ranking_loss", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices",
    "max_pool3d", "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d", "mish", "mse_loss",
    "multi_head_attention_forward", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss",
    "normalize", "one_hot", "pad", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss",
    "prelu", "relu", "relu6", "relu_", "rms_norm", "rrelu", "rrelu_", "scaled_dot_product_attention", "selu", "selu_",
    "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh",
    "tanhshrink", "threshold", "threshold_", "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold", "upsample",
    "upsample_bilinear", "upsample_nearest",
]
