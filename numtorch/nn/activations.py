"""Activations with PyTorch's arguments: its `inplace`, its defaults, its warnings. What they compute is in
ops/pointwise/activation.py; softmax and its kind are in softmax.py."""
from __future__ import annotations

from ..exchange.scalars import check_fits
from ..layout import wrap_dim
from ..ops.core.arguments import truth
from ..ops.core.derived import formula_of, same_as
from ..ops.core.operands import layout_of
from ..ops.creation.fill import empty_like
from ..ops.pointwise import activation
from ..ops.pointwise.arithmetic import abs as abs_
from ..ops.pointwise.arithmetic import add, div
from ..ops.pointwise.bounds import clamp_both
from ..ops.shape.views import reshape
from ..tensor import Tensor
from ..tensor import view_of as _view_of
from ..viewalgebra import narrow as _narrow_layout


def _form(record, inplace):
    """The in-place one saves a copy of what it overwrites, where the gradient needs it."""
    return record.op.inplace if inplace else record


def _activation(function, shown):
    """`function` with PyTorch's `inplace` flag after its own arguments; `shown` is what it gives for -1, 0 and 2."""
    def wrapped(input, inplace: bool = False) -> Tensor:
        return _form(function, inplace)(input)
    name = wrapped.__name__ = wrapped.__qualname__ = function.__name__
    wrapped.__doc__ = f"""{function.__doc__.splitlines()[0]}

    Args:
        input: of any shape, and of floating point.
        inplace: write the result into the input.

    Returns:
        The input's shape and dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.{name}(torch.tensor([-1., 0., 2.]))
        tensor({shown})
    """
    return wrapped


def relu(input, inplace: bool = False) -> Tensor:
    """max(x, 0), elementwise.

    Args:
        input: of any shape and any real dtype.
        inplace: write the result into the input.

    Returns:
        The input's shape and dtype.

    Raises:
        NotImplementedError: bool or complex numbers.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.relu(torch.tensor([-1., 0., 2.]))
        tensor([0., 0., 2.])
    """
    return activation.relu.op.inplace(input) if inplace else activation.relu(input)


def relu_(input) -> Tensor:
    """In-place form of `relu`: writes the result into `input` and returns it.

    Args:
        input: of any shape and any real dtype.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([-1., 2.])
        >>> torch.nn.functional.relu_(x) is x
        True
    """
    return activation.relu.op.inplace(input)


selu = _activation(activation.selu, "[-1.1113,  0.0000,  2.1014]")
silu = _activation(activation.silu, "[-0.2689,  0.0000,  1.7616]")
mish = _activation(activation.mish, "[-0.3034,  0.0000,  1.9440]")
hardswish = _activation(activation.hardswish, "[-0.3333,  0.0000,  1.6667]")
hardsigmoid = _activation(activation.hardsigmoid, "[0.3333, 0.5000, 0.8333]")


def leaky_relu(input, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where positive, negative_slope * x elsewhere (Maas et al. 2013).

    Args:
        input: of any shape, and of floating point.
        negative_slope: below 0.
        inplace: write the result into the input.

    Returns:
        The input's shape and dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.leaky_relu(torch.tensor([-1., 0., 2.]), 0.1)
        tensor([-0.1000,  0.0000,  2.0000])
    """
    return _form(activation.leaky_relu, inplace)(input, negative_slope)


def elu(input, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, alpha * (exp(x) - 1) elsewhere (Clevert et al. 2016).

    Args:
        input: of any shape, and of floating point.
        alpha: what is approached below 0, with the other sign.
        inplace: write the result into the input.

    Returns:
        The input's shape and dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.elu(torch.tensor([-1., 0., 2.]))
        tensor([-0.6321,  0.0000,  2.0000])
    """
    return _form(activation.elu, inplace)(input, alpha)


def celu(input, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere, whose slope has no jump (Barron 2017).

    Args:
        input: of any shape, and of floating point.
        alpha: what is approached below 0, with the other sign.
        inplace: write the result into the input.

    Returns:
        The input's shape and dtype.

    Raises:
        RuntimeError: an alpha of 0.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.celu(torch.tensor([-1., 0., 2.]), alpha=2.0)
        tensor([-0.7869,  0.0000,  2.0000])
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _form(activation.celu, inplace)(input, alpha)


def gelu(input, approximate: str = "none", *, out=None) -> Tensor:
    """x * Phi(x), with the normal distribution function Phi (Hendrycks and Gimpel 2016).

    Args:
        input: of any shape, and of floating point.
        approximate: "none", or "tanh" for x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
        out: a tensor to write the result to.

    Returns:
        The input's shape and dtype.

    Raises:
        RuntimeError: another approximation.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.gelu(torch.tensor([-1., 0., 2.]))
        tensor([-0.1587,  0.0000,  1.9545])
    """
    if approximate == "none":
        return activation.gelu(input, out=out)
    if approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return activation.gelu_tanh(input, out=out)


def softsign(input) -> Tensor:
    """x / (1 + |x|), elementwise; of complex numbers, the same direction.

    Args:
        input: of any shape and dtype.

    Returns:
        The input's shape; of integers the default dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.softsign(torch.tensor([-1., 0., 3.]))
        tensor([-0.5000,  0.0000,  0.7500])
    """
    if layout_of("softsign", input).dtype.is_complex:
        return div(input, add(abs_(input), 1))
    return activation.softsign(input)


def softplus(input, beta: float = 1.0, threshold: float = 20.0, *, out=None) -> Tensor:
    """log(1 + exp(beta * x)) / beta: a relu without a corner.

    Args:
        input: of any shape, and of floating point.
        beta: how sharply it bends.
        threshold: where beta * x exceeds it, the result is x itself.
        out: a tensor to write the result to.

    Returns:
        The input's shape and dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.softplus(torch.tensor([-1., 0., 200.]))
        tensor([  0.3133,   0.6931, 200.0000])
    """
    return activation.softplus(input, beta, threshold, out=out)


def hardtanh(input, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x held between min_val and max_val.

    Args:
        input: of any shape and any real dtype but bool; of integers the bounds are cut to integers.
        min_val, max_val: the least and the largest result.
        inplace: write the result into the input.

    Returns:
        The input's shape and dtype.

    Raises:
        ValueError: min_val is greater than max_val.
        RuntimeError: bounds that integers of the input's dtype do not reach.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.hardtanh(torch.tensor([-3., 0., 2.]))
        tensor([-1.,  0.,  1.])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    dtype = layout_of("hardtanh", input).dtype
    if dtype.category == 1:                              # PyTorch keeps integers
        low, high = int(min_val), int(max_val)
        if low < 0 and not dtype.is_signed:
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
        check_fits(low, dtype)
        check_fits(high, dtype)
        return _form(clamp_both, inplace)(input, low, high)
    return _form(activation.hardtanh, inplace)(input, min_val, max_val)


def relu6(input, inplace: bool = False) -> Tensor:
    """x held between 0 and 6.

    Args:
        input: of any shape and any real dtype but bool.
        inplace: write the result into the input.

    Returns:
        The input's shape and dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.relu6(torch.tensor([-3., 1., 9.]))
        tensor([0., 1., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


def threshold(input, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it exceeds the threshold, else value.

    Args:
        input: of any shape and any real dtype.
        threshold, value: numbers.
        inplace: write the result into the input.

    Returns:
        The input's shape and dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.threshold(torch.tensor([0.5, 1., 2.]), 1.0, -1.0)
        tensor([-1., -1.,  2.])
    """
    return _form(activation.threshold, inplace)(input, threshold, value)


def _changing(function, options=""):
    """`function` that writes its result into its input. `options` are those that the example has to give."""
    def changing(input, *args, **kwargs) -> Tensor:
        return function(input, *args, inplace=True, **kwargs)
    name = changing.__name__ = changing.__qualname__ = function.__name__ + "_"
    changing.arguments_of = function
    changing.__doc__ = f"""In-place form of `{function.__name__}`: writes the result into `input` and returns it.

    Args:
        input: of any shape, and of floating point. The others are those of `{function.__name__}`.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([-1., 2.])
        >>> torch.nn.functional.{name}(x{options}) is x
        True
    """
    return changing


celu_, elu_, hardtanh_, leaky_relu_, selu_ = map(_changing, (celu, elu, hardtanh, leaky_relu, selu))
threshold_ = _changing(threshold, ", 0.0, 1.0")


def softshrink(input, lambd: float = 0.5, *, out=None) -> Tensor:
    """x moved towards 0 by lambd, and 0 where it is nearer.

    Args:
        input: of any shape, and of floating point.
        lambd: how far; not negative.
        out: a tensor to write the result to.

    Returns:
        The input's shape and dtype.

    Raises:
        RuntimeError: a negative lambd.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.softshrink(torch.tensor([-2., 0.3, 2.]))
        tensor([-1.5000,  0.0000,  1.5000])
    """
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return activation.softshrink(input, lambd, out=out)


def rrelu(input, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    """x where not negative, elsewhere a slope times x (Xu et al. 2015).

    Args:
        input: of any shape, and of floating point.
        lower, upper: the slope is drawn between them for each element while training, and is else their mean.
        training: whether to draw.
        inplace: write the result into the input.

    Returns:
        The input's shape and dtype.

    Raises:
        RuntimeError: lower is greater than upper.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.rrelu(torch.tensor([-1., 2.]), 0.25, 0.75)
        tensor([-0.5000,  2.0000])
    """
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not truth("rrelu", "training", training):
        return leaky_relu(input, (lower + upper) / 2, inplace)
    return _form(activation.prelu, inplace)(input, empty_like(input.detach()).uniform_(lower, upper))


rrelu_ = _changing(rrelu)


def hardshrink(input, lambd: float = 0.5, *, out=None) -> Tensor:
    """x, and 0 where |x| is at most lambd.

    Args:
        input: of any shape, and of floating point.
        lambd: the threshold.
        out: a tensor to write the result to.

    Returns:
        The input's shape and dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.hardshrink(torch.tensor([-2., 0.3, 2.]))
        tensor([-2.,  0.,  2.])
    """
    return activation.hardshrink(input, lambd, out=out)


def tanhshrink(input) -> Tensor:
    """x - tanh(x), elementwise.

    Args:
        input: of any shape.

    Returns:
        The input's shape, of floating point.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.tanhshrink(torch.tensor([-1., 0., 2.]))
        tensor([-0.2384,  0.0000,  1.0360])
    """
    return activation.tanhshrink(input)


def prelu(input, weight) -> Tensor:
    """x where positive, weight * x elsewhere (He et al. 2015).

    Args:
        input: of any shape, and of floating point; channels are dimension 1.
        weight: one slope, () or (1), or one for each channel, (C).

    Returns:
        The input's shape and dtype.

    Raises:
        RuntimeError: a weight of another length, or of more than one dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.prelu(torch.tensor([[-1., -1.]]), torch.tensor([0.25, 0.5]))
        tensor([[-0.2500, -0.5000]])
    """
    layout = layout_of("prelu", input)
    if layout_of("prelu", weight, "weight", 2).ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.layout.ndim}")
    if weight.layout.numel == 1:
        weight = reshape(weight, ())
    else:
        channels = layout.shape[1] if layout.ndim > 1 else 1
        if weight.layout.numel != channels:
            raise RuntimeError(f"Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                               f"{weight.layout.numel} and "
                               f"channel size = {channels}.")
        if input.layout.ndim > 1:
            weight = reshape(weight, (1, -1) + (1,) * (input.layout.ndim - 2))
    return activation.prelu(input, weight)


def glu(input, dim: int = -1) -> Tensor:
    """The first half of a dimension times the sigmoid of the second (Dauphin et al. 2017).

    Args:
        input: of any shape (*, 2 N, *), and of floating point.
        dim: which to halve; the last by default.

    Returns:
        (*, N, *).

    Raises:
        RuntimeError: an odd extent, or no dimensions.
        IndexError: `dim` is out of range.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.glu(torch.tensor([1., 2., 0., 200.]))
        tensor([0.5000, 2.0000])
    """
    if layout_of("glu", input).ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = wrap_dim(dim, input.layout.ndim)
    extent = input.layout.shape[dim]
    if extent % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {extent}")
    if input.node is not None or input.layout.handler is not None:
        return activation.gated(*input.chunk(2, dim))    # which are two of no elements, too
    (first, start), (second, middle) = [_narrow_layout(input.layout, dim, at, extent // 2) for at in (0, extent // 2)]
    return activation.gated(_view_of(input, first, start), _view_of(input, second, middle))


# ---------------------------------------------------------------- in formulas of elementwise ops
for _function in (selu, silu, mish, hardswish, hardsigmoid, leaky_relu, elu, celu, gelu, softsign, softplus, hardtanh, threshold,
                  softshrink, hardshrink, tanhshrink, prelu, relu):
    same_as(getattr(activation, _function.__name__), _function)


@formula_of(relu6)
def _relu6(input):
    return activation.hardtanh(input, 0.0, 6.0)
