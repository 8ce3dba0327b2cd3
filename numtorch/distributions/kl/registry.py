"""Which function computes the divergence of two classes: the one registered for them or for the nearest classes above them."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ...tensor import Tensor
from ..distribution import Distribution

_KL_REGISTRY: dict[tuple[type, type], Callable[..., Any]] = {}
_looked_up: dict[tuple[type, type], Any] = {}            # what was looked up before


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Decorator: the divergence of two classes of distributions.

    `kl_divergence` takes it for their subclasses too, unless there is one for a nearer pair.

    Args:
        type_p, type_q: subclasses of Distribution.

    Raises:
        TypeError: another class.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.distributions import Normal, kl_divergence, register_kl
        >>> class Wide(Normal):
        ...     pass
        >>> @register_kl(Wide, Normal)
        ... def _(p, q):
        ...     return torch.tensor(7.)
        >>> kl_divergence(Wide(0.0, 1.0), Normal(0.0, 1.0))
        tensor(7.)
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def decorator(function):
        _KL_REGISTRY[type_p, type_q] = function
        _looked_up.clear()
        return function
    return decorator


def _nearest(matches):
    """Of pairs of classes above a pair, the one whose first class is nearest, then its second."""
    best = matches[0]
    for pair in matches[1:]:
        first, second = (issubclass(a, b) and a is not b for a, b in zip(pair, best))
        if first or (pair[0] is best[0] and second):
            best = pair
    return best


def _dispatch_kl(type_p, type_q):
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return NotImplemented
    left = _nearest(matches)
    right = _nearest([pair[::-1] for pair in matches])[::-1]
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warnings.warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({left[0].__name__}, "
                      f"{right[1].__name__})", RuntimeWarning, stacklevel=3)
    return _KL_REGISTRY[left]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence: the mean under p of log p(x) - log q(x).

    Args:
        p, q: distributions whose batches broadcast.

    Returns:
        Of the batches' shape.

    Raises:
        NotImplementedError: no formula is registered for their classes.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.distributions import Normal, kl_divergence
        >>> kl_divergence(Normal(torch.tensor(1.), 1.0), Normal(0.0, 1.0))
        tensor(0.5000)
    """
    pair = type(p), type(q)
    function = _looked_up.get(pair)
    if function is None:
        function = _looked_up[pair] = _dispatch_kl(*pair)
    if function is NotImplemented:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {pair[0].__name__} and q type {pair[1].__name__}")
    return function(p, q)
