"""In-place draws: a tensor of any layout filled from a stream of random numbers."""
from __future__ import annotations

import math
from functools import partial

from ...autograd.graph import GraphNode
from ...autograd.modes import modes
from ...autograd.writes import mark_written
from ...dtypes import finfo, float64, integer_limits
from ...tensor import Tensor, empty
from ..core.arguments import real
from ..core.operands import layout_of, method
from ..core.primitive import Draw, derivative_of, miss
from ..creation.fill import zeros_like
from ..memory.writing import check_inplace_allowed, check_writable, rebase_history
from ..pointwise.complexparts import view_as_real
from .draws import bernoulli, check_range, check_std, drawn, plan_fill, probability, randint, run_fill

_REDRAWN = {name: Draw(f"{name}_", f"A tensor filled with {name} numbers.", ("self", "generator"), samples=f"T[2, 3]; {parameters}")
            for name, parameters in (("uniform", "0.0, 1.0"), ("normal", "0.0, 1.0"), ("bernoulli", "0.5"), ("exponential", "1.0"))}


def _plan_refill(kind, layout, *parameters):
    if kind != "bernoulli" and not layout.dtype.is_floating_point:
        raise NotImplementedError(f'"{kind}_" not implemented for \'{layout.dtype.title}\': expected floating point')
    check_writable(kind, layout, layout.dtype, layout.shape)
    return plan_fill(layout, kind, parameters)


def _redrawn(primitive, tensor, parameters, generator):
    plan = primitive.plans.get((tensor.layout, *parameters))
    if plan is None:
        return miss(primitive, (tensor,), (*parameters, generator))
    if tensor.node is None:
        mark_written(tensor.memory, primitive.name)
        run_fill(plan, tensor, generator)
        return tensor
    return _refill(primitive, plan, tensor, generator)


def _refill(primitive, plan, tensor, *call):
    """Fill a tensor of any layout in place."""
    recorded = tensor.node is not None and modes.grad
    if recorded:
        check_inplace_allowed(tensor, primitive.name[:-1])
    mark_written(tensor.memory, primitive.name)
    run_fill(plan, tensor, call[-1])
    if recorded:
        rebase_history(tensor, GraphNode(primitive, (tensor.node,), ()))
    return tensor


for _name, _primitive in _REDRAWN.items():
    _primitive.plan, _primitive.execute = partial(_plan_refill, _name), partial(_refill, _primitive)


def _of_parts(primitive, tensor, parameters, generator):
    """A tensor filled with draws; both parts of complex numbers."""
    if not layout_of(primitive.name, tensor).dtype.is_complex:
        return _redrawn(primitive, tensor, parameters, generator)
    numbers = empty(tensor.layout.dense())
    _redrawn(primitive, view_as_real(numbers), parameters, generator)
    return tensor.copy_(numbers)


@derivative_of(*_REDRAWN.values())
def _forgotten(node, grad):
    """Nothing of what was there before matters any more."""
    return zeros_like(grad),


@method
def uniform_(self, a: float = 0.0, b: float = 1.0, *, generator=None) -> Tensor:
    """Fill with uniform numbers in [a, b); returns this tensor.

    Args:
        a, b: the range, of both parts of complex numbers.
        generator: where the random numbers come from; the default one when None.

    Raises:
        RuntimeError: a is above b, or one of them or how far they are apart is more than the dtype holds.
        NotImplementedError: an integer tensor.

    Example:
        >>> import numtorch as torch
        >>> x = torch.zeros(100).uniform_(2, 3)
        >>> bool((x >= 2).all()), bool((x < 3).all())
        (True, True)
    """
    if a > b:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={a} > to={b}")
    most = finfo(self.layout.dtype).max if self.layout.dtype.category > 1 else math.inf
    for name, size in (("from", abs(a)), ("to", abs(b)), ("to - from", b - a)):
        if not size <= most:
            raise RuntimeError(f"uniform_: {name} is out of bounds for {self.layout.dtype.name}, got from={a} and to={b}")
    return _of_parts(_REDRAWN["uniform"], self, (float(a), float(b)), generator)


@method
def normal_(self, mean: float = 0.0, std: float = 1.0, *, generator=None) -> Tensor:
    """Fill with normal numbers; returns this tensor.

    Args:
        mean, std: of the distribution. Complex numbers have the mean in both parts and half of the variance in each.
        generator: where the random numbers come from; the default one when None.

    Raises:
        RuntimeError: a negative `std`.
        NotImplementedError: an integer tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2).normal_(5.0, 0.0)
        tensor([5., 5.])
    """
    check_std(std)
    mean, std = real("normal_", "mean", mean), real("normal_", "std", std)
    if self.layout.dtype.is_complex:
        std *= math.sqrt(0.5)
    return _of_parts(_REDRAWN["normal"], self, (float(mean), float(std)), generator)


@method
def bernoulli_(self, p=0.5, *, generator=None) -> Tensor:
    """Fill with 1 with probability p, else 0; returns this tensor.

    Args:
        p: a probability, or a tensor of them that broadcasts to this one.
        generator: where the random numbers come from; the default one when None.

    Raises:
        RuntimeError: a probability outside [0, 1].

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(3).bernoulli_(1.0)
        tensor([1., 1., 1.])
    """
    if isinstance(p, Tensor):
        return self.copy_(bernoulli(p.expand(self.layout.shape), generator=generator))
    return _redrawn(_REDRAWN["bernoulli"], self, (probability(p),), generator)


@method
def exponential_(self, lambd: float = 1.0, *, generator=None) -> Tensor:
    """Fill with exponential numbers of density lambd exp(-lambd x); returns this tensor.

    Args:
        lambd: above 0; the mean is 1 / lambd.
        generator: where the random numbers come from; the default one when None.

    Raises:
        RuntimeError: a `lambd` of 0 or less.
        NotImplementedError: an integer tensor.

    Example:
        >>> import numtorch as torch
        >>> bool((torch.zeros(100).exponential_() > 0).all())
        True
    """
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return _redrawn(_REDRAWN["exponential"], self, (float(real("exponential_", "lambd", lambd)),), generator)


def _new(like, kind, parameters, generator, dtype=None):
    """A new tensor of another's shape, drawn."""
    layout = like.layout
    return drawn(layout.shape, kind, parameters, dtype or layout.dtype, layout.device, generator)


@method
def cauchy_(self, median: float = 0.0, sigma: float = 1.0, *, generator=None) -> Tensor:
    """Fill with Cauchy numbers of density sigma / (pi (sigma^2 + (x - median)^2)); returns this tensor.

    Args:
        median: where half of them lie below.
        sigma: half the width at half the height, above 0.
        generator: where the random numbers come from; the default one when None.

    Raises:
        RuntimeError: a `sigma` of 0 or less, or integers.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2).cauchy_().shape
        torch.Size([2])
    """
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    if self.layout.dtype.category < 2:
        raise RuntimeError(f"Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you "
                           f"specified {self.layout.dtype}")
    uniform = _new(self, "uniform", (0.0, 1.0), generator)
    return self.copy_((uniform - 0.5).mul_(math.pi).tan_().mul_(sigma).add_(median))


@method
def log_normal_(self, mean: float = 1.0, std: float = 2.0, *, generator=None) -> Tensor:
    """Fill with numbers whose logarithms are normal; returns this tensor.

    Args:
        mean, std: of the logarithms.
        generator: where the random numbers come from; the default one when None.

    Raises:
        RuntimeError: an `std` that is not above 0.
        NotImplementedError: integers.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2).log_normal_(0.0, 1e-9)
        tensor([1., 1.])
    """
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    if self.layout.dtype.category < 2:
        raise NotImplementedError(f'"log_normal" not implemented for \'{self.layout.dtype.title}\': expected floating point')
    mean, std = real("log_normal_", "mean", mean), real("log_normal_", "std", std)
    return self.copy_(_new(self, "normal", (float(mean), float(std)), generator).exp_())


@method
def geometric_(self, p, *, generator=None) -> Tensor:
    """Fill with the number of trials up to the first success, from 1 on; returns this tensor.

    Args:
        p: the probability of each trial's success, in (0, 1).
        generator: where the random numbers come from; the default one when None.

    Raises:
        RuntimeError: a p outside (0, 1).

    Example:
        >>> import numtorch as torch
        >>> bool((torch.zeros(100).geometric_(0.5) >= 1).all())
        True
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    waits = _new(self, "exponential", (-math.log1p(-p),), generator, float64)
    return self.copy_(waits.ceil_())


@method
def random_(self, *range, to=None, generator=None) -> Tensor:
    """Fill with integers in [from, to); returns this tensor.

    Args:
        range: `from` and `to`, or `to` alone, or neither: from 0 then. Up to the dtype's greatest, of floats to where all integers
            are exact, without `to`, or where it is None behind `from`.
        to: by name.
        generator: where the random numbers come from; the default one when None.

    Raises:
        RuntimeError: an empty range, or one that the dtype cannot hold.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(3).random_(5, 6)
        tensor([5., 5., 5.])
    """
    kind = self.layout.dtype
    if kind.is_complex:
        raise RuntimeError(f"random_ handles integers, floating-point numbers and bools, not {kind.name}")
    low, high = _ends(*range) if to is None else _ends(*range, to)
    if high is None and kind.category == 2:              # up to where the dtype's numbers are one apart
        high = round(2 / finfo(kind).eps) + 1
    elif high is None:                                   # a draw has 63 bits
        high = min(integer_limits(kind)[1] + 1, (1 << 63) - 1) if kind.category else 2
    if kind.category < 2:
        check_range(low, high, kind)
    return self.copy_(randint(low, high, self.layout.shape, generator=generator))


def _ends(*range):
    """The two ends of a range that is given by two, one or no numbers."""
    if len(range) > 2 or (len(range) == 1 and range[0] is None):
        raise TypeError(f"random_(): expected at most two integers, got {', '.join(type(end).__name__ for end in range)}")
    return range if len(range) == 2 else (0, *range) if range else (0, None)
