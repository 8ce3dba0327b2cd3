"""A linear layer and the cross entropy of what it gives, as one loss."""
from __future__ import annotations

import math

from ..linear_loss import LinearCrossEntropyOptions, linear_cross_entropy
from .linear import Linear
from .loss import _WeightedLoss

__all__ = ["LinearCrossEntropyLoss", "LinearCrossEntropyOptions"]


class LinearCrossEntropyLoss(_WeightedLoss):
    """The cross entropy of the logits of a linear layer, which need not all be in memory at once.

    Args:
        in_features: extent of the inputs.
        num_classes: C.
        out_features: extents of the places that have a loss each, () for one a row.
        bias: whether the layer has one.
        device, dtype: of its parameters; the defaults when None.
        reduction: "mean" (over the targets' weights), "sum" or "none".
        weight: a weight for each class, (C); 1 when None.
        ignore_index: targets with this index count for nothing; -100 when None.
        label_smoothing: how much of each target is spread evenly over all classes, from 0 to 1.
        options: `LinearCrossEntropyOptions` to take some rows at a time; None for all.

    Attributes:
        linear: the layer.

    Shape:
        Input (in_features) or (N, in_features) and targets as for `functional.linear_cross_entropy` -> a 0-dim tensor, or with
            "none" one of the indices' shape.

    Raises:
        RuntimeError: a weight of another shape, or smoothing out of range.

    Example:
        >>> import numtorch as torch
        >>> loss = torch.nn.LinearCrossEntropyLoss(3, 4, options=torch.nn.LinearCrossEntropyOptions(batch_chunk_size=2))
        >>> loss(torch.zeros(5, 3), torch.tensor([0, 1, 2, 3, 0]))
        tensor(1.3863, grad_fn=<DivBackward0>)
    """

    def __init__(self, in_features: int, num_classes: int, *, out_features=(), bias: bool = False, device=None, dtype=None,
                 reduction: str = "mean", weight=None, ignore_index=None, label_smoothing: float = 0.0, options=None) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, None, None, reduction)
        self.num_classes, self.out_features, self.ignore_index = num_classes, tuple(out_features), ignore_index
        self.label_smoothing, self.options = label_smoothing, options
        self.linear = Linear(in_features, math.prod(self.out_features, start=num_classes), bias=bias, device=device, dtype=dtype)

    def forward(self, input, target):
        shape = (self.num_classes, *self.out_features)
        weight, bias = self.linear.weight.reshape(*shape, self.linear.in_features), self.linear.bias
        return linear_cross_entropy(input, weight, target, linear_bias=None if bias is None else bias.reshape(shape),
                                    weight=self._buffers["weight"], reduction=self.reduction, ignore_index=self.ignore_index,
                                    label_smoothing=self.label_smoothing, options=self.options)

    def extra_repr(self) -> str:
        return (f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
                f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
                f"label_smoothing={self.label_smoothing}, options={self.options}")
