"""Draws that take as many random bits as they happen to need: Poisson and binomial numbers, by NumPy's rejection methods.

The Philox stream they read belongs to the default stream's seed and to one counter of it, so the same seed gives the same numbers.
"""
from __future__ import annotations

import numpy as np

from ..dtypes import get_default_dtype
from ..layout import broadcast_shapes
from ..tensor import Tensor
from . import lapack
from .generator import default_generator


def _numpy_stream(generator):
    seed, counter, _ = (generator or default_generator)._advance(1)
    return np.random.Generator(np.random.Philox(key=int(seed) & (1 << 64) - 1 | (int(counter) & (1 << 64) - 1) << 64))


def poisson(input, generator=None) -> Tensor:
    """How many events there are, for each element the rate at which they come.

    Args:
        input: the rates (*), floating point, not negative.
        generator: where the random numbers come from; the default one when None.

    Returns:
        (*) of the input's dtype.

    Raises:
        RuntimeError: a negative rate.
        NotImplementedError: not floating point.

    Example:
        >>> import numtorch as torch
        >>> torch.poisson(torch.zeros(3))
        tensor([0., 0., 0.])
    """
    if not input.layout.dtype.is_floating_point:
        raise NotImplementedError(f'"poisson" not implemented for \'{input.layout.dtype.title}\'')
    rates = lapack.array(input.double())
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return lapack.tensors([_numpy_stream(generator).poisson(rates)], dtype_of(input))[0].to(input.layout.dtype)


def dtype_of(x):
    """A dtype that NumPy has and that holds what x's does."""
    return x.layout.dtype if x.layout.dtype.numpy is not None else get_default_dtype()


def binomial(count, prob, generator=None) -> Tensor:
    """How many of `count` trials succeed, each with probability `prob`, elementwise.

    Args:
        count: (*) whole numbers as floating point, not negative.
        prob: (*) of the same dtype, in [0, 1]; the shapes broadcast.
        generator: where the random numbers come from; the default one when None.

    Raises:
        RuntimeError: dtypes that differ, or numbers out of range.

    Example:
        >>> import numtorch as torch
        >>> torch.binomial(torch.tensor([10., 4.]), torch.tensor([1., 0.]))
        tensor([10.,  0.])
    """
    if count.layout.dtype is not prob.layout.dtype or not prob.layout.dtype.is_floating_point:
        raise RuntimeError(f"binomial: expected floating-point tensors of one dtype, got {count.layout.dtype} and "
                           f"{prob.layout.dtype}")
    shape = broadcast_shapes(count.layout.shape, prob.layout.shape)
    trials, chances = (lapack.array(t.double().expand(shape)) for t in (count, prob))
    if not ((trials >= 0) & (chances >= 0) & (chances <= 1)).all():
        raise RuntimeError("binomial: expected count >= 0 and 0 <= prob <= 1")
    return lapack.tensors([_numpy_stream(generator).binomial(trials.astype(np.int64), chances)], dtype_of(prob))[0].to(
        prob.layout.dtype)
