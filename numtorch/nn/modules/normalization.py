"""Normalisation layers."""
from __future__ import annotations

import warnings

from ...dtypes import int64
from ...ops.creation import fill
from .. import functional as F
from .. import init
from ..base.foreseen import expect_example
from ..parameter import Parameter
from .module import Module


class _Statistics(Module):
    """What batch and instance normalisation share: weights and running statistics for each channel.

    Args:
        num_features: channels C.
        eps: added to the variance.
        momentum: the share of a batch in the running statistics; None for the mean over all batches.
        affine: whether to learn a scale and, with `bias`, a shift.
        track_running_stats: whether to keep statistics for evaluation.
    """

    dims: tuple = ()                                     # how many dimensions an input may have
    _version = 2

    def __init__(self, num_features, eps, momentum, affine, track_running_stats, bias, device, dtype) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, Parameter(fill.empty(num_features, device=device, dtype=dtype)) if wanted else None)
        self.register_buffer("running_mean", fill.zeros(num_features, device=device, dtype=dtype) if track_running_stats
                             else None)
        self.register_buffer("running_var", fill.ones(num_features, device=device, dtype=dtype) if track_running_stats
                             else None)
        self.register_buffer("num_batches_tracked", fill.zeros((), dtype=int64, device=device) if track_running_stats else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Give all parameters first values anew."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        """Files from before version 2 lack the number of batches."""
        key = prefix + "num_batches_tracked"
        if (local_metadata.get("version") or 0) < 2 and self.track_running_stats and key not in state_dict:
            state_dict[key] = self.num_batches_tracked if self.num_batches_tracked is not None else fill.zeros((), dtype=int64)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    def _check_input_dim(self, input):
        if input.layout.ndim not in self.dims:
            raise ValueError(f"expected {' or '.join(f'{n}D' for n in self.dims)} input (got {input.layout.ndim}D input)")

    def _count_batch(self):
        """The share of this batch in the running statistics."""
        if not self.training or not self.track_running_stats:
            return 0.0 if self.momentum is None else self.momentum
        self.num_batches_tracked.add_(1)
        return 1.0 / self.num_batches_tracked.item() if self.momentum is None else self.momentum

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")


class _BatchNorm(_Statistics):
    def __init__(self, num_features: int, eps: float = 1e-5, momentum=0.1, affine: bool = True, track_running_stats: bool = True,
                 device=None, dtype=None, *, bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, bias, device, dtype)

    def forward(self, input):
        self._check_input_dim(input)
        momentum = self._count_batch()
        tracked = not self.training or self.track_running_stats
        return F.batch_norm(input, self.running_mean if tracked else None, self.running_var if tracked else None, self.weight,
                            self.bias,
                            self.training or self.running_mean is None, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Each channel standardised over the batch: (x - mean) / sqrt(var + eps) * weight + bias (Ioffe and Szegedy 2015).

    Args:
        num_features: the number of channels C.
        eps: added to the variance.
        momentum: the share of a batch in the running statistics; None for the mean over all batches.
        affine: whether to learn a scale and, with `bias`, a shift.
        track_running_stats: whether to keep statistics for evaluation; without, those of the batch are always used.
        device, dtype: of the parameters; the defaults when None.
        bias: whether to learn the shift.

    Attributes:
        weight, bias: (C), ones and zeros, or None.
        running_mean, running_var, num_batches_tracked: buffers (C), (C) and (), or None. The variance in there is the unbiased
            one.

    Shape:
        (N, C) or (N, C, L) -> the same shape.

    Raises:
        ValueError: in the call, another number of dimensions, or in training a channel of a single value.
        RuntimeError: in the call, another number of channels.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.BatchNorm1d(2, affine=False)(torch.tensor([[0., 1.], [2., 5.]]))
        tensor([[-1.0000, -1.0000],
                [ 1.0000,  1.0000]])
    """

    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Each channel standardised over the batch: (x - mean) / sqrt(var + eps) * weight + bias (Ioffe and Szegedy 2015).

    Args:
        num_features: the number of channels C.
        eps: added to the variance.
        momentum: the share of a batch in the running statistics; None for the mean over all batches.
        affine: whether to learn a scale and, with `bias`, a shift.
        track_running_stats: whether to keep statistics for evaluation; without, those of the batch are always used.
        device, dtype: of the parameters; the defaults when None.
        bias: whether to learn the shift.

    Attributes:
        weight, bias: (C), ones and zeros, or None.
        running_mean, running_var, num_batches_tracked: buffers (C), (C) and (), or None. The variance in there is the unbiased
            one.

    Shape:
        (N, C, H, W) -> the same shape.

    Raises:
        ValueError: in the call, another number of dimensions, or in training a channel of a single value.
        RuntimeError: in the call, another number of channels.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.BatchNorm2d(1, affine=False)(torch.tensor([0., 2.]).view(2, 1, 1, 1)).flatten()
        tensor([-1.0000,  1.0000])
    """

    dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Each channel standardised over the batch: (x - mean) / sqrt(var + eps) * weight + bias (Ioffe and Szegedy 2015).

    Args:
        num_features: the number of channels C.
        eps: added to the variance.
        momentum: the share of a batch in the running statistics; None for the mean over all batches.
        affine: whether to learn a scale and, with `bias`, a shift.
        track_running_stats: whether to keep statistics for evaluation; without, those of the batch are always used.
        device, dtype: of the parameters; the defaults when None.
        bias: whether to learn the shift.

    Attributes:
        weight, bias: (C), ones and zeros, or None.
        running_mean, running_var, num_batches_tracked: buffers (C), (C) and (), or None. The variance in there is the unbiased
            one.

    Shape:
        (N, C, D, H, W) -> the same shape.

    Raises:
        ValueError: in the call, another number of dimensions, or in training a channel of a single value.
        RuntimeError: in the call, another number of channels.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.BatchNorm3d(1, affine=False)(torch.tensor([0., 2.]).view(2, 1, 1, 1, 1)).flatten()
        tensor([-1.0000,  1.0000])
    """

    dims = (5,)


class _InstanceNorm(_Statistics):
    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device=None, dtype=None, *, bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, bias, device, dtype)

    def forward(self, input):
        self._check_input_dim(input)
        unbatched = input.layout.ndim == self.dims[0]
        channels = input.layout.shape[0 if unbatched else 1]
        if channels != self.num_features:
            message = (f"expected input's size at dim={0 if unbatched else 1} to match num_features ({self.num_features}), but got:"
                       f" {channels}.")
            if self.affine:
                raise ValueError(message)
            warnings.warn(f"input's size at dim={0 if unbatched else 1} does not match num_features. You can silence this warning "
                          f"by not passing in num_features, which is not used because affine=False", stacklevel=2)
        x = input.unsqueeze(0) if unbatched else input
        out = F.instance_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
                              self.training or not self.track_running_stats, self.momentum or 0.0, self.eps)
        return out.squeeze(0) if unbatched else out


class InstanceNorm1d(_InstanceNorm):
    """Each channel of each example standardised: (x - mean) / sqrt(var + eps) * weight + bias (Ulyanov et al. 2016).

    Args:
        num_features: the number of channels C.
        eps: added to the variance.
        momentum: the share of a batch in the running statistics.
        affine: whether to learn a scale and, with `bias`, a shift.
        track_running_stats: whether to keep statistics, and to use them in evaluation.
        device, dtype: of the parameters; the defaults when None.
        bias: whether to learn the shift.

    Attributes:
        weight, bias: (C), ones and zeros, or None.
        running_mean, running_var, num_batches_tracked: buffers (C), (C) and (), or None.

    Shape:
        (N, C, L) or (C, L) -> the same shape.

    Raises:
        ValueError: in the call, another number of dimensions, a channel of a single value, or with `affine` another number of
            channels.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.InstanceNorm1d(1)(torch.tensor([[0., 2.]])).flatten()
        tensor([-1.0000,  1.0000])
    """

    dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Each channel of each example standardised: (x - mean) / sqrt(var + eps) * weight + bias (Ulyanov et al. 2016).

    Args:
        num_features: the number of channels C.
        eps: added to the variance.
        momentum: the share of a batch in the running statistics.
        affine: whether to learn a scale and, with `bias`, a shift.
        track_running_stats: whether to keep statistics, and to use them in evaluation.
        device, dtype: of the parameters; the defaults when None.
        bias: whether to learn the shift.

    Attributes:
        weight, bias: (C), ones and zeros, or None.
        running_mean, running_var, num_batches_tracked: buffers (C), (C) and (), or None.

    Shape:
        (N, C, H, W) or (C, H, W) -> the same shape.

    Raises:
        ValueError: in the call, another number of dimensions, a channel of a single value, or with `affine` another number of
            channels.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.InstanceNorm2d(1)(torch.tensor([[[0., 2.]]])).flatten()
        tensor([-1.0000,  1.0000])
    """

    dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Each channel of each example standardised: (x - mean) / sqrt(var + eps) * weight + bias (Ulyanov et al. 2016).

    Args:
        num_features: the number of channels C.
        eps: added to the variance.
        momentum: the share of a batch in the running statistics.
        affine: whether to learn a scale and, with `bias`, a shift.
        track_running_stats: whether to keep statistics, and to use them in evaluation.
        device, dtype: of the parameters; the defaults when None.
        bias: whether to learn the shift.

    Attributes:
        weight, bias: (C), ones and zeros, or None.
        running_mean, running_var, num_batches_tracked: buffers (C), (C) and (), or None.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) -> the same shape.

    Raises:
        ValueError: in the call, another number of dimensions, a channel of a single value, or with `affine` another number of
            channels.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.InstanceNorm3d(1)(torch.tensor([[[[0., 2.]]]])).flatten()
        tensor([-1.0000,  1.0000])
    """

    dims = (4, 5)


class LayerNorm(Module):
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions (Ba et al. 2016).

    Args:
        normalized_shape: the extents of the dimensions that share a mean: a number, or several.
        eps: added to the variance.
        elementwise_affine: whether to learn a scale, and with `bias` a shift, for each element.
        bias: whether to learn the shift.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight, bias: of normalized_shape, ones and zeros, or None.

    Shape:
        (*, *normalized_shape) -> the same shape.

    Raises:
        RuntimeError: in the call, other extents.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.LayerNorm(2, elementwise_affine=False)(torch.tensor([[0., 2.], [3., 1.]]))
        tensor([[-1.0000,  1.0000],
                [ 1.0000, -1.0000]])
    """

    def __init__(self, normalized_shape, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True, device=None,
                 dtype=None) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        for name, wanted in (("weight", elementwise_affine), ("bias", elementwise_affine and bias)):
            self.register_parameter(name, Parameter(fill.empty(self.normalized_shape, device=device, dtype=dtype)) if wanted
                                    else None)
        if elementwise_affine:
            expect_example(self, 64, *self.normalized_shape)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Give all parameters first values anew."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
                f"bias={self.bias is not None}")


class RMSNorm(Module):
    """x / sqrt(mean(x^2) + eps) * weight over the last dimensions (Zhang and Sennrich 2019).

    Args:
        normalized_shape: the extents of the dimensions that share a mean: a number, or several.
        eps: added to the mean; None for the dtype's distance of 1 and the next number.
        elementwise_affine: whether to learn a scale for each element.
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight: of normalized_shape, ones, or None.

    Shape:
        (*, *normalized_shape) -> the same shape.

    Raises:
        RuntimeError: in the call, other extents.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.RMSNorm(2, elementwise_affine=False)(torch.tensor([[1., 7.]]))
        tensor([[0.2000, 1.4000]])
    """

    def __init__(self, normalized_shape, eps=None, elementwise_affine: bool = True, device=None, dtype=None) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.register_parameter("weight", Parameter(fill.empty(self.normalized_shape, device=device, dtype=dtype))
                                if elementwise_affine else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Give all parameters first values anew."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """(x - mean) / sqrt(var + eps) * weight + bias over each group of channels of each example (Wu and He 2018).

    Args:
        num_groups: how many, of neighbouring channels.
        num_channels: C, a multiple of it.
        eps: added to the variance.
        affine: whether to learn a scale and, with `bias`, a shift, for each channel.
        device, dtype: of the parameters; the defaults when None.
        bias: whether to learn the shift.

    Attributes:
        weight, bias: (C), ones and zeros, or None.

    Shape:
        (N, C, *) -> the same shape.

    Raises:
        ValueError: groups that do not divide the channels, or in the call a group of a single value.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.GroupNorm(2, 4, affine=False)(torch.tensor([[0., 2., 3., 1.]]))
        tensor([[-1.0000,  1.0000,  1.0000, -1.0000]])
    """

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device=None, dtype=None, *,
                 bias: bool = True) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, Parameter(fill.empty(num_channels, device=device, dtype=dtype)) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Give all parameters first values anew."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"
