"""Forward mode without a function: dual tensors inside of a level (PyTorch has this as `torch.autograd.forward_ad`)."""
from __future__ import annotations

from typing import Any, NamedTuple

from ..autograd.modes import _Switch
from ..tensor import Tensor
from . import pushing  # noqa: F401
from .dual import check_known, dual_of, parts_at
from .levels import running
from .tangents import DualLevel, fitting_tangent

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

_NO_LEVEL = "no level exists, make sure to enter_dual_level() first."


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, which is None where it has none."""

    primal: Tensor
    tangent: Tensor | None


class _Open(DualLevel):
    """A level that is open until it is left by name."""


def _open_level():
    return next((level for level in reversed(running()) if isinstance(level, _Open)), None)


def enter_dual_level() -> int:
    """Begin a level, in which tensors may have tangents. `dual_level` is the same as a context.

    Raises:
        RuntimeError: there is a level already.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.func import forward_ad
        >>> level = forward_ad.enter_dual_level()
        >>> forward_ad.make_dual(torch.ones(2), torch.tensor([1., 2.])).exp().sum()
        tensor(5.4366, tangent=tensor(8.1548))
        >>> forward_ad.exit_dual_level(level=level)
    """
    if _open_level() is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _Open().__enter__()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: tangents are gone.

    Args:
        level: what `enter_dual_level` returned; may be left out.

    Raises:
        RuntimeError: there is no level.
    """
    innermost = _open_level()
    if innermost is None:
        raise RuntimeError("Trying to exit a forward AD level but " + _NO_LEVEL)
    innermost.__exit__(None, None, None)


class dual_level(_Switch):
    """A context in which tensors may have tangents.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.func import forward_ad
        >>> with forward_ad.dual_level():
        ...     x = forward_ad.make_dual(torch.tensor([1., 2.]), torch.ones(2))
        ...     forward_ad.unpack_dual((x ** 3).sum()).tangent
        tensor(15.)
    """

    def __enter__(self) -> Any:
        return enter_dual_level()

    def __exit__(self, *exception: Any) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor with a tangent: what is computed from it has one too.

    Args:
        tensor: of floats or complex numbers.
        tangent: of the same shape, cast to the dtype.
        level: what `enter_dual_level` returned; may be left out.

    Raises:
        RuntimeError: there is no level, or the tangent does not fit.
        ValueError: integers.
    """
    result = _open_level()
    if result is None:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but " + _NO_LEVEL)
    return dual_of(tensor, fitting_tangent(tensor, tangent), result)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor and its tangent.

    Args:
        tensor: with or without a tangent.
        level: what `enter_dual_level` returned; may be left out.
    """
    result = _open_level()
    if result is None:
        while isinstance(getattr(tensor.layout, "handler", None), DualLevel) and tensor.layout.handler.over:
            tensor = tensor.layout.value                 # of a level that has ended
        return UnpackedDualTensor(tensor, None)
    check_known(tensor)
    return UnpackedDualTensor(*parts_at(tensor, result))
