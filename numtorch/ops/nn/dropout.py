"""Dropout: elements or whole channels set to a constant at random, the others scaled so that the expectation stays."""
from __future__ import annotations

import warnings
from functools import partial

from ...autograd.graph import GraphNode, recording
from ...dtypes import bool_
from ...layout import Layout
from ...tensor import Tensor, empty
from ..core.arguments import refusal
from ..core.backends import kernels
from ..core.generator import default_generator
from ..core.operands import layout_of
from ..core.primitive import Primitive, derivative_of
from ..memory.assign import copy_
from ..memory.copies import contiguous
from ..pointwise.arithmetic import add, mul, sub
from ..pointwise.pointwise import pointwise
from ..random.draws import drawn

DROPOUT = Primitive("dropout", samples="T[2, 3]; 0.5")
ALPHA_DROPOUT = Primitive("alpha_dropout", samples="T[2, 3]; 0.5")

SELU_LIMIT = -1.7580993408473766                         # what selu tends to at -infinity: -alpha * scale


@pointwise(methods=False)
def masked_scale(x, mask, *, scale):
    """x * mask * scale"""
    return x * mask * scale


@masked_scale.derivative
def _(grad, x, mask, scale):
    return grad * mask * scale, grad * x * scale


def scaling(primitive, p):
    """The scale and shift of what is kept, and what stands in the place of the rest."""
    if p == 1.0:
        return 0.0, 0.0, 0.0
    if primitive is ALPHA_DROPOUT:
        scale, shift = _alpha_affine(p)
        return scale, shift, SELU_LIMIT * scale + shift
    return 1.0 / (1.0 - p), 0.0, 0.0


def _plan(primitive, layout, p):
    """The layouts of result and mask, the kernel, how far it moves the stream, and the kept elements' scale."""
    scale, shift, dropped = scaling(primitive, p)
    prepared = kernels(layout.device, "random.dropout").plan_dropout(
        layout.dtype.kernel, layout.numel, 1.0 - p, scale, shift, dropped)
    mask = Layout.of(bool_, layout.shape, None, layout.device)
    return layout.dense(), mask, prepared, kernels(layout.device, "random.philox").counters_used(layout.numel), scale


def _alpha_affine(p):
    """a and b such that a * x + b has mean 0 and variance 1 again (Klambauer et al. 2017)."""
    scale = ((1.0 - p) * (1.0 + p * SELU_LIMIT * SELU_LIMIT)) ** -0.5
    return scale, -SELU_LIMIT * scale * p


def _elementwise(primitive):
    primitive.planned(partial(_plan, primitive))

    @primitive.run
    def drop(plan, input: Tensor, p):
        dense, mask_layout, prepared, counters, scale = plan
        out, mask = empty(dense), empty(mask_layout)
        if dense.numel:
            x = input if input.layout.contiguous else contiguous(input.detach())
            state = default_generator._advance(counters)
            prepared.call(x.address, out.address, mask.address, state.ctypes.data, prepared.descriptor)
        if recording(input):
            out.node = GraphNode(primitive, (input.node,), (mask,), scale)
        return out
    return drop


_dropout, _alpha_dropout = _elementwise(DROPOUT), _elementwise(ALPHA_DROPOUT)


@derivative_of(DROPOUT, ALPHA_DROPOUT)
def _vjp(node, grad, mask):
    return (masked_scale(grad, mask, node.attributes),)


def _drops(name, input, p, training) -> bool:
    """Whether anything is dropped. Raises for what is no probability, training or input."""
    if training is not True and training is not False:
        raise refusal(name, "training", "bool", training)
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p} ({name})")
    kind = layout_of(name, input).dtype
    if kind.category < 2 and training and p:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {kind.title} ({name}: expected a floating "
                           f"point input)")
    if not kind.is_floating_point and training and p:
        raise NotImplementedError(f"{name}: expected a floating point input, got {input.layout.dtype}")
    return training and p != 0.0


def _finish(input, out, inplace):
    return copy_(input, out) if inplace else out


def dropout(input, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element set to 0 with probability p, the others divided by 1 - p (Srivastava et al. 2014).

    Args:
        input: of any shape, and of floating point.
        p: the probability.
        training: otherwise the input itself is given back.
        inplace: write the result into the input.

    Returns:
        The input's shape and dtype.

    Raises:
        ValueError: p is outside [0, 1].
        RuntimeError, NotImplementedError: another dtype.

    Example:
        >>> import numtorch as torch
        >>> sorted(set(torch.nn.functional.dropout(torch.ones(1000), 0.5).tolist()))
        [0.0, 2.0]
    """
    if not _drops("dropout", input, p, training):
        return input
    return _finish(input, _dropout(input, p), inplace)


def alpha_dropout(input, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Elements set to selu's negative limit with probability p, then all scaled and shifted so that mean 0 and variance 1 stay
    (Klambauer et al. 2017).

    Args:
        input: of any shape, and of floating point.
        p: the probability.
        training: otherwise the input itself is given back.
        inplace: write the result into the input.

    Returns:
        The input's shape and dtype.

    Raises:
        ValueError: p is outside [0, 1].
        RuntimeError, NotImplementedError: another dtype.

    Example:
        >>> import numtorch as torch
        >>> len(set(torch.nn.functional.alpha_dropout(torch.ones(1000), 0.5, training=True).tolist()))
        2
    """
    if not _drops("alpha_dropout", input, p, training):
        return input
    return _finish(input, _alpha_dropout(input, p), inplace)


# ---------------------------------------------------------------- whole channels
def _channel_mask(input, p, unbatched=False):
    """1 for each channel that is kept: one draw for each (n, c) of (N, C, ...), or for each c of (C, ...) where `unbatched`."""
    shape = input.layout.shape
    if len(shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    own = 1 if unbatched else 2
    size = (*shape[:own], *(1,) * (len(shape) - own))
    return drawn(size, "bernoulli", (1.0 - p,), input.layout.dtype, input.layout.device, None)


def feature_dropout(input, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels set to 0 with probability p, the others divided by 1 - p: one draw for each (n, c).

    Args:
        input: (N, C, *), of floating point.
        p: the probability.
        training: otherwise the input itself is given back.
        inplace: write the result into the input.

    Returns:
        The input's shape and dtype.

    Raises:
        ValueError: p is outside [0, 1].
        RuntimeError, NotImplementedError: another dtype.
        RuntimeError: fewer than two dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.feature_dropout(torch.ones(1, 50, 3), 0.5).std(-1).max()
        tensor(0.)
    """
    if not _drops("feature_dropout", input, p, training):
        return input
    return _finish(input, _channels(input, p), inplace)


def _channels(input, p, unbatched=False):
    if p == 1.0:                                         # without a draw, as in PyTorch
        return mul(input, 0.0)
    return masked_scale(input, _channel_mask(input, p, unbatched), 1.0 / (1.0 - p))


def feature_alpha_dropout(input, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels: one draw for each (n, c).

    Args:
        input: (N, C, *), of floating point.
        p: the probability.
        training: otherwise the input itself is given back.
        inplace: write the result into the input.

    Returns:
        The input's shape and dtype.

    Raises:
        ValueError: p is outside [0, 1].
        RuntimeError, NotImplementedError: another dtype.
        RuntimeError: fewer than two dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.feature_alpha_dropout(torch.ones(1, 50, 3), 0.5, training=True).std(-1).max()
        tensor(0.)
    """
    if not _drops("feature_alpha_dropout", input, p, training):
        return input
    if p == 1.0:
        return _finish(input, mul(input, 0.0), inplace)
    scale, shift = _alpha_affine(p)
    mask = _channel_mask(input, p)
    dropped = add(mul(sub(1.0, mask), SELU_LIMIT * scale), shift)
    return _finish(input, add(masked_scale(input, mask, scale), dropped), inplace)


def _of_dims(name, batched):
    """Dropout of channels for inputs of `batched` dimensions, or one less where the batch is missing."""
    def function(input, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        drops = _drops(name, input, p, training)
        ndim = input.layout.ndim
        if batched == 3 and ndim not in (2, 3):          # the youngest of the three: PyTorch never took others
            raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. Note that dropout1d exists to "
                               f"provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an "
                               f"optional batch dimension (i.e. 2D or 3D inputs).")
        if ndim not in (batched - 1, batched):
            warnings.warn(f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an error in a "
                          f"future release. To retain the behavior and silence this warning, please use dropout instead. Note that "
                          f"{name} exists to provide channel-wise dropout on inputs with {batched - 2} spatial dimensions, a "
                          f"channel dimension, and an optional batch dimension (i.e. {batched - 1}D or {batched}D inputs).",
                          stacklevel=2)
        unbatched = ndim == batched - 1
        if unbatched and batched == 4:                   # PyTorch took (N, C, L) before it had dropout1d, and still does
            warnings.warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
                          "desired - input is interpreted as shape (N, C, L), where C is the channel dim. To silence this "
                          "warning, please use dropout1d instead.", stacklevel=2)
            unbatched = False
        if not drops:
            return input
        return _finish(input, _channels(input, p, unbatched), inplace)
    function.__name__ = function.__qualname__ = name
    without = f", or of {batched - 1} without N" if batched != 4 else ""
    function.__doc__ = f"""Whole channels set to 0 with probability p, the others divided by 1 - p (Tompson et al. 2015).

    Args:
        input: (N, C, *) of {batched} dimensions{without}, and of floating point.
        p: the probability.
        training: otherwise the input itself is given back.
        inplace: write the result into the input.

    Returns:
        The input's shape and dtype.{" Other numbers of dimensions are taken with a warning, as in PyTorch." if batched > 3 else ""}

    Raises:
        ValueError: p is outside [0, 1].
        RuntimeError: another dtype, or {"fewer than two" if batched > 3 else "other"} dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.{name}(torch.ones(1, 50, {'1, ' * (batched - 3)}3), 0.5).std(-1).max()
        tensor(0.)
    """
    return function


dropout1d, dropout2d, dropout3d = _of_dims("dropout1d", 3), _of_dims("dropout2d", 4), _of_dims("dropout3d", 5)
