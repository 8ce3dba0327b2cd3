"""Subfunction: what a formula may call beside other ops."""
from __future__ import annotations

from ...kernels.binding import ScalarBody


class Subfunction:
    """A function of scalars that formulas call, with loops that a formula may not have; its literals take the compute type too."""

    def __init__(self, function):
        self.function = function

    def scalar(self, compute):
        return ScalarBody(self.function, compute)
