"""PyTorch's `torch._foreach_add_` and its like: one op on each tensor of a list, as optimisers outside of PyTorch are written.

Names come from tables: `_foreach_exp` gives new tensors, `_foreach_exp_` writes into those of the list.
"""
from __future__ import annotations

import importlib
from collections.abc import Callable
from numbers import Number

from .tensor import Tensor

_UNARY = frozenset("""abs acos asin atan ceil clone cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg
    reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc""".split())
_BINARY = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "pow": "pow", "maximum": "maximum", "minimum": "minimum",
           "clamp_min": "maximum", "clamp_max": "minimum"}
_TERNARY = frozenset(("addcmul", "addcdiv"))
_BOUNDS = {"maximum": "clamp_min", "minimum": "clamp_max"}      # what they are beside numbers


def _spread(name, other, count) -> list:
    """An argument for each of a list of tensors: those of another list, or the same for all."""
    if not isinstance(other, (list, tuple)):
        return [other] * count
    if len(other) != count:
        raise RuntimeError(f"{name}: Tensor lists must have the same number of tensors, got {count} and {len(other)}")
    return list(other)


def _call(tensor, operation, other, suffix, **options):
    """An op on a tensor and another, or a number."""
    bound = _BOUNDS.get(operation) if isinstance(other, Number) else None
    return getattr(tensor, (bound or operation) + suffix)(other, **options)


def _function(name: str, base: str, suffix: str) -> Callable | None:
    """The function of a name."""
    if base in _UNARY and (base, suffix) != ("clone", "_"):
        def unary(tensors):
            return [getattr(x, base + suffix)() for x in tensors]
        return unary
    if base in _BINARY:
        def binary(tensors, other, *, alpha=1):
            if isinstance(tensors, Number):              # a number to the power of each
                return [tensors ** x for x in other]
            options = {} if alpha == 1 else {"alpha": alpha}
            return [_call(x, _BINARY[base], y, suffix, **options) for x, y in zip(tensors, _spread(name, other, len(tensors)))]
        return binary
    if base in _TERNARY:
        def ternary(tensors, tensor1, tensor2, value=1, *, scalars=None, tensor=None):
            values = next(v for v in (scalars, tensor, value) if v is not None)
            values = values.tolist() if isinstance(values, Tensor) else values
            count = len(tensors)
            return [getattr(x, base + suffix)(a, b, value=v) for x, a, b, v in zip(
                tensors, _spread(name, tensor1, count), _spread(name, tensor2, count), _spread(name, values, count))]
        return ternary
    return None


def _lerp(suffix):
    def lerp(tensors, tensors1, weight=None, *, weights=None):
        weights = _spread("_foreach_lerp", weight if weights is None else weights, len(tensors))
        ends = _spread("_foreach_lerp", tensors1, len(tensors))
        return [getattr(x, "lerp" + suffix)(y, w) for x, y, w in zip(tensors, ends, weights)]
    return lerp


def _copy_(tensors, src, non_blocking=False):
    return [x.copy_(y) for x, y in zip(tensors, _spread("_foreach_copy_", src, len(tensors)))]


def _zero_(tensors):
    return [x.zero_() for x in tensors]


def _norm(tensors, ord=2, dtype=None):
    norm = importlib.import_module("numtorch.linalg").vector_norm
    return [norm(x, ord, dtype=dtype) for x in tensors]


def _max(tensors):
    return [x.max() for x in tensors]


_OTHERS = {"copy_": _copy_, "zero_": _zero_, "norm": _norm, "max": _max, "lerp": _lerp(""), "lerp_": _lerp("_")}


def __getattr__(name: str):
    inside = name.removeprefix("_foreach_")
    if inside == name:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    suffix = "_" if inside.endswith("_") else ""
    function = _OTHERS.get(inside) or _function(name, inside.removesuffix("_"), suffix)
    if function is None:
        return importlib.import_module("numtorch.alias").attribute("numtorch", name)
    function.__name__ = function.__qualname__ = name
    globals()[name] = function
    return function
