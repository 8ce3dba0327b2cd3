"""The program of a seed and a number."""
from __future__ import annotations

import functools
import random

from . import elementwise, losses, structure, views
from .grammar import PER_DIALECT, Dialect, Generator

RULES = elementwise.RULES + views.RULES + structure.RULES + losses.RULES


@functools.lru_cache(2)
def _dialect(seed, number):
    return Dialect(seed, number, RULES)


def program(seed, index):
    """The statements of program `index` of a seed, always the same ones."""
    length = random.Random(f"length {seed} {index}").choice([4, 8, 12, 16, 24, 32])
    return Generator(seed, index, _dialect(seed, index // PER_DIALECT), length).statements
