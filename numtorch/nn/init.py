"""Filling tensors in place with a layer's first values. Every function returns the tensor it fills."""
from __future__ import annotations

import math
import warnings

import numpy as np

from ..autograd.modes import no_grad
from ..exchange.construction import make
from ..ops.random.draws import randperm
from ..tensor import Tensor

_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid")


def calculate_gain(nonlinearity: str, param=None) -> float:
    """How much a nonlinearity shrinks its input's spread, to be made up for in the weights.

    Args:
        nonlinearity: a function's name: "linear", "conv1d" and its like, "sigmoid", "tanh", "relu", "leaky_relu" or "selu".
        param: the negative slope of "leaky_relu"; 0.01 when None.

    Returns:
        A factor of the weights' standard deviation.

    Raises:
        ValueError: an unknown name.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.init.calculate_gain("leaky_relu", 0.2)
        1.3867504905630728
    """
    if nonlinearity in _LINEAR:
        return 1.0
    if nonlinearity == "leaky_relu":
        if param is not None and (isinstance(param, bool) or not isinstance(param, (int, float))):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    gains = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75}
    if nonlinearity not in gains:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return gains[nonlinearity]


def _nothing_to_fill(tensor):
    if 0 not in tensor.layout.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return True


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.layout.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.layout.shape[2:])
    return tensor.layout.shape[1] * field, tensor.layout.shape[0] * field


def _calculate_correct_fan(tensor, mode):
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode.lower() == "fan_out"]


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator=None) -> Tensor:
    """Fill with uniform numbers in [a, b).

    Args:
        tensor: of any shape, filled in place and returned.
        a, b: the bounds.
        generator: whose random numbers to use; the default one's when None.

    Example:
        >>> import numtorch as torch
        >>> x = torch.nn.init.uniform_(torch.empty(1000), 2.0, 3.0)
        >>> bool((x >= 2).all() & (x < 3).all())
        True
    """
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator=None) -> Tensor:
    """Fill with normal numbers.

    Args:
        tensor: of any shape, filled in place and returned.
        mean, std: of the numbers.
        generator: whose random numbers to use; the default one's when None.

    Example:
        >>> import numtorch as torch
        >>> x = torch.nn.init.normal_(torch.empty(1000), mean=100.0)
        >>> bool((x > 50).all())
        True
    """
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator=None) -> Tensor:
    """Fill with normal numbers, but only those in [a, b]: uniform numbers sent through the inverse of the distribution function.

    Args:
        tensor: of any shape, filled in place and returned.
        mean, std: of the numbers before they are cut.
        a, b: the bounds.
        generator: whose random numbers to use; the default one's when None.

    Example:
        >>> import numtorch as torch
        >>> x = torch.nn.init.trunc_normal_(torch.empty(1000), std=5.0)
        >>> bool((x.abs() <= 2).all())
        True
    """
    def below(x):
        return (1 + math.erf((x - mean) / (std * math.sqrt(2)))) / 2

    tensor.uniform_(2 * below(a) - 1, 2 * below(b) - 1, generator=generator)
    tensor.erfinv_().mul_(std * math.sqrt(2)).add_(mean)
    return tensor.clamp_(a, b)


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with a value.

    Args:
        tensor: of any shape, filled in place and returned.
        val: the value.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.init.constant_(torch.empty(2), 0.3)
        tensor([0.3000, 0.3000])
    """
    return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1.

    Args:
        tensor: of any shape, filled in place and returned.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.init.ones_(torch.empty(2))
        tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0.

    Args:
        tensor: of any shape, filled in place and returned.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.init.zeros_(torch.empty(2))
        tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Fill with the identity matrix.

    Args:
        tensor: of two dimensions, filled in place and returned.

    Raises:
        ValueError: another number of dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.init.eye_(torch.empty(2, 3))
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    if tensor.layout.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    tensor.fill_(0).diagonal().fill_(1)
    return tensor


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill with a convolution that passes its input channels on, in each of `groups` blocks of output channels.

    Args:
        tensor: of three, four or five dimensions, filled in place and returned.
        groups: of the convolution.

    Raises:
        ValueError: another number of dimensions, or groups that do not divide the first.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.init.dirac_(torch.empty(2, 2, 3))
        tensor([[[0., 1., 0.],
                 [0., 0., 0.]],
        <BLANKLINE>
                [[0., 0., 0.],
                 [0., 1., 0.]]])
    """
    shape = tensor.layout.shape
    if not 3 <= len(shape) <= 5:
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    tensor.fill_(0)
    block = shape[0] // groups
    for group in range(groups):
        for channel in range(min(block, shape[1])):
            place = (group * block + channel, channel, *[n // 2 for n in shape[2:]])
            tensor[place] = 1
    return tensor


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator=None) -> Tensor:
    """Fill with uniform numbers of standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010).

    Args:
        tensor: of two or more dimensions, filled in place and returned. fan_in is its second extent, fan_out the first, times all
            others.
        gain: see `calculate_gain`.
        generator: whose random numbers to use; the default one's when None.

    Raises:
        ValueError: fewer than two dimensions.

    Example:
        >>> import numtorch as torch
        >>> x = torch.nn.init.xavier_uniform_(torch.empty(3, 3))
        >>> bool((x.abs() <= 1).all())
        True
    """
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator=None) -> Tensor:
    """Fill with normal numbers of standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010).

    Args:
        tensor: of two or more dimensions, filled in place and returned. fan_in is its second extent, fan_out the first, times all
            others.
        gain: see `calculate_gain`.
        generator: whose random numbers to use; the default one's when None.

    Raises:
        ValueError: fewer than two dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.init.xavier_normal_(torch.empty(3, 5)).shape
        torch.Size([3, 5])
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator=None) -> Tensor:
    """Fill with uniform numbers of standard deviation gain / sqrt(fan) (He et al. 2015).

    Args:
        tensor: of two or more dimensions, filled in place and returned. fan_in is its second extent, fan_out the first, times all
            others.
        a: the negative slope, for leaky_relu.
        mode: "fan_in" keeps the spread of activations, "fan_out" that of gradients.
        nonlinearity: whose gain; see `calculate_gain`.
        generator: whose random numbers to use; the default one's when None.

    Raises:
        ValueError: fewer than two dimensions, an unknown mode or nonlinearity.

    Example:
        >>> import numtorch as torch
        >>> x = torch.nn.init.kaiming_uniform_(torch.empty(5, 6))
        >>> bool((x.abs() <= 1).all())
        True
    """
    if _nothing_to_fill(tensor):
        return tensor
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator=None) -> Tensor:
    """Fill with normal numbers of standard deviation gain / sqrt(fan) (He et al. 2015).

    Args:
        tensor: of two or more dimensions, filled in place and returned. fan_in is its second extent, fan_out the first, times all
            others.
        a: the negative slope, for leaky_relu.
        mode: "fan_in" keeps the spread of activations, "fan_out" that of gradients.
        nonlinearity: whose gain; see `calculate_gain`.
        generator: whose random numbers to use; the default one's when None.

    Raises:
        ValueError: fewer than two dimensions, an unknown mode or nonlinearity.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.init.kaiming_normal_(torch.empty(3, 5), nonlinearity="relu").shape
        torch.Size([3, 5])
    """
    if _nothing_to_fill(tensor):
        return tensor
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode)), generator)


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator=None) -> Tensor:
    """Fill with a matrix of orthonormal rows or columns, whichever are fewer, times `gain` (Saxe et al. 2014).

    Args:
        tensor: of two or more dimensions, those after the first taken as one; filled in place and returned.
        gain: the factor.
        generator: whose random numbers to use; the default one's when None.

    Raises:
        ValueError: fewer than two dimensions.

    Example:
        >>> import numtorch as torch
        >>> x = torch.nn.init.orthogonal_(torch.empty(2, 3))
        >>> torch.allclose(x @ x.mT, torch.eye(2), atol=1e-6)
        True
    """
    if tensor.layout.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    rows = tensor.layout.shape[0]
    flat = tensor.new_empty(rows, tensor.layout.numel // max(rows, 1)).normal_(0, 1, generator=generator)
    if not flat.layout.numel:
        return tensor
    values = flat.double().cpu().numpy()
    wide = values.shape[0] < values.shape[1]
    q, r = np.linalg.qr(values.T if wide else values)
    q = q * np.sign(np.diagonal(r))
    return tensor.copy_(make((q.T if wide else q) * gain).reshape(tensor.layout.shape))


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator=None) -> Tensor:
    """Fill with normal numbers, of which every column has the fraction `sparsity` set to 0 (Martens 2010).

    Args:
        tensor: of two dimensions, filled in place and returned.
        sparsity: the fraction, from 0 to 1; rounded up.
        std: of the numbers.
        generator: whose random numbers to use; the default one's when None.

    Raises:
        ValueError: another number of dimensions.

    Example:
        >>> import numtorch as torch
        >>> (torch.nn.init.sparse_(torch.empty(4, 2), 0.75) == 0).sum(0)
        tensor([3, 3])
    """
    if tensor.layout.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.layout.shape
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        for row in randperm(rows, generator=generator)[:math.ceil(sparsity * rows)].tolist():
            tensor[row, column] = 0
    return tensor


def _older(function, more=""):
    """A function under the name it had without the underscore. `more` is what its example needs besides a tensor."""
    name = function.__name__[:-1]

    def older(*args, **kwargs):
        warnings.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)
    older.__name__ = older.__qualname__ = name
    shape = (2, 2, 3) if name == "dirac" else (2, 3)
    older.__doc__ = f"""`{name}_` under its older name, with a warning.

    Args:
        args, kwargs: those of `{name}_`.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.init.{name}(torch.empty{shape}{more}).shape
        torch.Size({list(shape)})
    """
    return older


uniform, normal, eye, dirac, xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal, orthogonal = map(
    _older, (uniform_, normal_, eye_, dirac_, xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_, orthogonal_))
constant, sparse = _older(constant_, ", 0.5"), _older(sparse_, ", 0.5")
