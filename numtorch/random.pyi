# Written by `python -m numtorch stubs` (numtorch/commands/stubs.py) from the functions: change those, not this.
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Callable as _Callable, Iterator as _Iterator, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal, NamedTuple as _NamedTuple, overload as _overload

from numpy import ndarray as _ndarray
from numtorch.dtypes import dtype as _dtype
from numtorch.tensor import Tensor as Tensor
from numtorch.ops.core.generator import Generator as _Generator
from numtorch.ops.core.generator import fork_rng as fork_rng

default_generator: _Generator
def get_rng_state() -> Tensor:
    """Where the default stream is: its seed and position, as 16 bytes."""
def initial_seed() -> _int:
    """The seed the default stream started from."""
def manual_seed(seed: _int) -> _Generator:
    """Start the default stream that belongs to a seed, and return it."""
def seed() -> _int:
    """Start the default stream from the system's randomness, and return the seed."""
def set_rng_state(state: Tensor) -> None:
    """Put the default stream back to where `get_rng_state` found it."""
