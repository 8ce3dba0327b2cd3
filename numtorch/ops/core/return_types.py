"""Values and where they were: what max, sort and their like return along a dimension, each under its own name."""
from __future__ import annotations

from typing import NamedTuple

from ...tensor import Tensor


class Pair(NamedTuple):
    """The values that an op chose along a dimension, and their places in it."""

    values: Tensor
    indices: Tensor


_pairs: dict[str, type] = {}


def _pair_of(name, parts):
    return _pairs[name](*parts)


def pair(name):
    """The type of pairs that one op returns: they show its name, by which they are pickled."""
    made = _pairs[name] = type(name, (Pair,), {"__slots__": (), "__reduce__": lambda self: (_pair_of, (name, tuple(self)))})
    return made
