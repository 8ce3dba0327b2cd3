"""Covariances and correlations."""
from __future__ import annotations

from ...dtypes import get_default_dtype
from ...tensor import Tensor
from ..core.arguments import integer
from ..core.operands import layout_of, method
from ..memory.copies import to_dtype
from ..pointwise import arithmetic, bounds, comparison, complexparts, elementary
from ..shape.slicing import diagonal
from ..shape.views import reshape, transpose, unsqueeze
from . import reductions


def _weights(name, weights, count):
    if layout_of("cov", weights, name).ndim > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.layout.ndim} "
                           f"dimensions")
    if (weights.layout.dtype.category == 1) != (name == "fweights") or weights.layout.dtype.category == 3:
        raise RuntimeError(f"cov(): expected {name} to have {'integral' if name == 'fweights' else 'floating point'} dtype but got "
                           f"{name} with {weights.layout.dtype.title} dtype")
    if weights.layout.numel != count:
        raise RuntimeError(f"cov(): expected {name} to have the same numel as there are observations in the input, but got "
                           f"{weights.layout.numel} != {count}")
    if bool(reductions.any(comparison.lt(weights, 0))):
        raise RuntimeError(f"cov(): {name} cannot be negative")
    return reshape(weights, -1)


@method
def cov(input, *, correction: int = 1, fweights=None, aweights=None) -> Tensor:
    """The covariance matrix of variables (rows) from observations (columns); a vector is one variable.

    Args:
        input: (variables, observations); integers are computed in the default dtype.
        correction: what is taken from the number of observations to give the divisor.
        fweights: (observations,) how often each observation occurred.
        aweights: (observations,) how much each observation counts.

    Returns:
        (variables, variables); of a single variable a 0-dim tensor.

    Raises:
        RuntimeError: more than two dimensions, or weights that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1., 2., 3.], [3., 2., 1.]]).cov()
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    correction = integer("cov", "correction", correction)
    if layout_of("cov", input).ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {input.layout.ndim} "
                           f"dimensions")
    x = to_dtype(input, get_default_dtype()) if input.layout.dtype.category < 2 else input
    x = reshape(x, 1, -1) if x.layout.ndim < 2 else x
    count = x.layout.shape[1]
    weights = None                                       # of a dtype of their own, which promotes with that of the data
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is not None:
            checked = _weights(name, given, count)
            weights = checked if weights is None else weights * checked
    if weights is None:
        centred = x - reductions.mean(x, 1, True)
        weighted, divisor = centred, max(count - correction, 0)
    else:
        total = reductions.sum(weights)
        centred = x - unsqueeze(reductions.sum(x * weights, 1) / total, 1)
        weighted = centred * weights
        lost = correction if aweights is None else correction * reductions.sum(weights * reshape(aweights, -1)) / total
        divisor = bounds.clamp_low(total - lost, 0)
    result = (centred @ arithmetic.conj(transpose(weighted, 0, 1))) / divisor
    return reshape(result, ()) if result.layout.numel == 1 else result


@method
def corrcoef(input) -> Tensor:
    """Pearson's correlation coefficients of variables (rows) from observations (columns): covariances over standard deviations.

    Args:
        input: (variables, observations), or a vector, whose coefficient is 1.

    Raises:
        RuntimeError: more than two dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1., 2., 3.], [3., 2., 1.]]).corrcoef()
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    if layout_of("corrcoef", input).ndim > 2:
        raise RuntimeError(f"corrcoef(): expected input to have two or fewer dimensions but got an input with "
                           f"{input.layout.ndim} dimensions")
    matrix = cov(input)
    if not matrix.layout.ndim:
        return matrix / matrix
    deviation = elementary.sqrt(diagonal(matrix))
    result = matrix / unsqueeze(deviation, 1) / unsqueeze(deviation, 0)
    if result.layout.dtype.category == 3:
        return complexparts.complex(_clipped(complexparts.real(result)), _clipped(complexparts.imag(result)))
    return _clipped(result)


def _clipped(x):
    """Coefficients that rounding took beyond their bounds, back."""
    return bounds.clamp_low(bounds.clamp_high(x, 1), -1)
