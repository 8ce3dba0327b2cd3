"""The cross entropy of what a linear layer gives, without all of its logits at once."""
from __future__ import annotations

import dataclasses
import math
import warnings

from ..dtypes import dtype as dtype_type
from ..dtypes import float32, int64
from ..ops.core.operands import layout_of
from ..ops.loss.cross_entropy import cross_entropy
from ..ops.memory.conversion import to_dtype
from ..ops.nn.linear import linear
from ..ops.pointwise.arithmetic import div
from ..ops.pointwise.comparison import ne
from ..ops.pointwise.functions import where
from ..ops.reduce.reductions import sum as sum_of
from ..ops.shape.join import cat
from ..ops.shape.views import reshape, unsqueeze
from ..tensor import Tensor
from ..utils.checkpoint import checkpoint


@dataclasses.dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` works through its rows: some at a time, whose logits are computed again in backward.

    Attributes:
        batch_chunk_size: rows at a time; chosen by `chunking_method` when None.
        chunking_method: "auto", "aspect_ratio" (as many rows as give logits of the size of all inputs) or "aspect_ratio:N" (an
            N-th of these).
        acc_dtype: the dtype to compute 16-bit floats in; float32 when None.
        acc_policy, allow_retain_graph: taken for PyTorch's sake; sums are float32 at least, and graphs may be kept.

    Raises:
        ValueError: an option that there is not.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.LinearCrossEntropyOptions(batch_chunk_size=128).chunking_method
        'auto'
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: dtype_type | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        name, colon, factor = (self.chunking_method or "auto").partition(":")
        if name not in ("auto", "aspect_ratio") or (
                colon and not (name == "aspect_ratio" and factor.isdigit() and int(factor) > 0)):
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {self.batch_chunk_size!r}")
        if self.acc_dtype is not None and not self.acc_dtype.is_floating_point:
            raise ValueError(f"acc_dtype must be a floating-point dtype or None, got {self.acc_dtype!r}")

    def rows(self, batch: int, in_features: int, classes: int) -> int:
        """How many rows to take at a time.

        Args:
            batch, in_features, classes: the extents of the input and of the logits.

        Raises:
            ValueError: `batch_chunk_size` and `chunking_method` say two things.
        """
        method = self.chunking_method
        if method == "auto":
            method = "aspect_ratio:2" if self.batch_chunk_size is None else None
        chosen = min(self.batch_chunk_size or batch, batch)
        if method is not None:
            wanted = -(-batch // -(-classes // max(in_features, 1)))
            by_method = min((1 << (wanted - 1).bit_length()) // int(method.partition(":")[2] or 1), batch)
            if self.batch_chunk_size not in (None, by_method):
                raise ValueError(f"batch_chunk_size (={self.batch_chunk_size}) and chunking_method ('{method}') give different "
                                 f"chunk sizes ({self.batch_chunk_size} vs {by_method}); pass only one.")
            chosen = by_method
        return max(1, chosen)


def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction: str = "mean",
                         ignore_index=None, label_smoothing: float = 0.0, options=None) -> Tensor:
    """The cross entropy of `linear(input, linear_weight, linear_bias)`.

    Args:
        input: (in_features) or (N, in_features).
        linear_weight: (C, in_features), or (C, ..., in_features) for a loss at each of several places.
        target: class indices (), (N) or (N, ...), or probabilities of the logits' shape.
        linear_bias: (C) or (C, ...), or None.
        weight: a weight for each class, (C); 1 when None.
        reduction: "mean" (over the targets' weights), "sum" or "none".
        ignore_index: targets with this index count for nothing; -100 when None.
        label_smoothing: how much of each target is spread evenly over all classes.
        options: None computes all logits at once. `LinearCrossEntropyOptions` take some rows at a time and compute their
            logits again in backward, so that the memory is that of a few rows' logits. For class indices without smoothing.

    Returns:
        A 0-dim tensor, or with "none" one of the indices' shape.

    Raises:
        RuntimeError: shapes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> hidden, head = torch.ones(2, 3), torch.zeros(4, 3)
        >>> torch.nn.functional.linear_cross_entropy(hidden, head, torch.tensor([0, 3]))
        tensor(1.3863)
    """
    shape = layout_of("linear_cross_entropy", input).shape
    head = layout_of("linear_cross_entropy", linear_weight, "linear_weight", 2).shape
    if len(shape) not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {len(shape)}")
    if len(head) < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {len(head)}")
    if shape[-1] != head[-1]:
        raise RuntimeError(f"expected equal input and linear_weight last dimensions (in_features), got {shape[-1]} and {head[-1]}, "
                           f"respectively")
    classes, places = head[0], head[1:-1]
    for name, vector in (("linear_bias", linear_bias), ("weight", weight)):
        if vector is not None:
            layout_of("linear_cross_entropy", vector, name)
    if linear_bias is not None and linear_bias.layout.shape != (classes, *places):
        raise RuntimeError(f"expected linear_bias shape {(classes, *places)}, got {linear_bias.layout.shape}")
    if places and len(shape) == 1:
        raise RuntimeError(f"K-dimensional loss defined by linear_weight shape {head} requires batched input, (N, {shape[-1]}), "
                           f"got unbatched input with shape {shape}")
    logits_shape = (*shape[:-1], classes, *places)
    wanted = layout_of("linear_cross_entropy", target, "target", 3)
    if wanted.shape == logits_shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    if options is not None:
        if reduction in ("mean", "sum", "none") and not label_smoothing and wanted.dtype is int64 and not places:
            return _in_chunks(input, linear_weight, target, linear_bias, weight, reduction, ignored, options)
        warnings.warn("linear_cross_entropy: `options` ignored; rows are taken in chunks for class indices of dtype int64, without "
                      "label smoothing, and one loss a row", stacklevel=2)
    if places:
        linear_weight = reshape(linear_weight, math.prod(places, start=classes), head[-1])
        linear_bias = None if linear_bias is None else reshape(linear_bias, -1)
    logits = reshape(linear(input, linear_weight, linear_bias), logits_shape)
    return cross_entropy(logits, target, weight, ignored, reduction, label_smoothing)


def _in_chunks(input, linear_weight, target, linear_bias, weight, reduction, ignored, options):
    kind = input.layout.dtype
    if input.layout.ndim == 1:
        input, target = unsqueeze(input, 0), unsqueeze(target, 0)
        one = True
    else:
        one = False
    computed = options.acc_dtype or (float32 if kind.itemsize == 2 else kind)
    head, bias, factors = [None if t is None else to_dtype(t, computed) for t in (linear_weight, linear_bias, weight)]
    per_row = "none" if reduction == "none" else "sum"

    def loss_of(rows, wanted):
        return cross_entropy(linear(to_dtype(rows, computed), head, bias), wanted, factors, ignored, per_row)

    batch = input.layout.shape[0]
    size = options.rows(batch, input.layout.shape[1], linear_weight.layout.shape[0])
    losses = [checkpoint(loss_of, input[i:i + size], target[i:i + size], use_reentrant=False, preserve_rng_state=False)
              for i in range(0, batch, size)]
    if reduction == "none":
        out = cat(losses) if losses else loss_of(input, target)
        return to_dtype(out[0] if one else out, kind)
    total = sum(losses[1:], losses[0]) if losses else loss_of(input, target)
    if reduction == "mean":
        kept = ne(target, ignored)
        total = div(total, sum_of(kept if factors is None else where(kept, factors[where(kept, target, 0)], 0)))
    return to_dtype(total, kind)
