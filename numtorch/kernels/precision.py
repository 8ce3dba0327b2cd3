"""How precise products of float32 must be: a switch of the whole program, which plans of devices with other ways of computing
them look at in each call. The host has one way, which is exact to float32."""
from __future__ import annotations

PRECISIONS = ("highest", "high", "medium")               # the last two: operands may be rounded to tf32, eleven bits
_precision = ["highest"]


def float32_precision() -> str:
    """The precision that products of float32 must have now."""
    return _precision[0]


def set_float32_precision(precision: str) -> None:
    """One of `PRECISIONS`, from now on."""
    _precision[0] = precision


def tf32_allowed() -> bool:
    """Whether products of float32 may round their operands to tf32."""
    return _precision[0] != "highest"
