"""Floating-point dtypes of eight bits by name. No tensor here has them; programs ask whether a tensor's dtype is one of them."""
from __future__ import annotations

from .dtypes import _limits, finfo

__all__ = ["ShortFloat", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]


class ShortFloat:
    """A name that no tensor's dtype equals. It is no `dtype`, and so every function refuses it.

    Example:
        >>> import numtorch as torch
        >>> torch.ones(2).dtype == torch.float8_e5m2, torch.finfo(torch.float8_e5m2).max
        (False, 57344.0)
    """

    itemsize, is_floating_point, is_complex = 1, True, False

    def __init__(self, name: str, eps: float, greatest: float, least: float, tiny: float) -> None:
        self.name, self.is_signed = name, least < 0
        limits = _limits[self] = object.__new__(finfo)
        limits.dtype, limits.bits, limits.resolution, limits.eps = name, 8, 1.0, eps
        limits.max, limits.min, limits.tiny, limits.smallest_normal = greatest, least, tiny, tiny

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return self.name

    def to_real(self) -> ShortFloat:
        """Itself."""
        return self


float8_e4m3fn = ShortFloat("float8_e4m3fn", 0.125, 448.0, -448.0, 2.0 ** -6)
float8_e4m3fnuz = ShortFloat("float8_e4m3fnuz", 0.125, 240.0, -240.0, 2.0 ** -7)
float8_e5m2 = ShortFloat("float8_e5m2", 0.25, 57344.0, -57344.0, 2.0 ** -14)
float8_e5m2fnuz = ShortFloat("float8_e5m2fnuz", 0.125, 57344.0, -57344.0, 2.0 ** -15)
float8_e8m0fnu = ShortFloat("float8_e8m0fnu", 1.0, 2.0 ** 127, 2.0 ** -127, 2.0 ** -127)
