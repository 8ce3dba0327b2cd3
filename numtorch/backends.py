"""`torch.backends`, and the switches of whole programs that PyTorch has beside it: scripts set them in their first lines.

None of PyTorch's libraries is here, and there is one way of computing: float32 products keep float32's precision, and what threads
add up they add in a fixed order, so results are the same in every run with as many threads. So the switches are kept, say what they
were set to, and change nothing.
"""
from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

__all__ = ["are_deterministic_algorithms_enabled", "cpu", "cuda", "cudnn", "get_float32_matmul_precision",
           "is_deterministic_algorithms_warn_only_enabled", "mkl", "mkldnn", "mps", "openmp", "set_float32_matmul_precision",
           "use_deterministic_algorithms"]


class Library(SimpleNamespace):
    """A library that PyTorch may use, and its switches, which are kept and change nothing here.

    Args:
        switches: their names and first values.

    Example:
        >>> import numtorch as torch
        >>> torch.backends.cudnn.benchmark = True
        >>> torch.backends.cudnn.benchmark, torch.backends.cudnn.is_available()
        (True, False)
    """

    @staticmethod
    def is_available() -> bool:
        """Whether it is there: never.

        Example:
            >>> import numtorch as torch
            >>> torch.backends.mps.is_available()
            False
        """
        return False

    is_built = is_available

    @staticmethod
    def version() -> None:
        """Its version: None.

        Example:
            >>> import numtorch as torch
            >>> torch.backends.cudnn.version() is None
            True
        """

    @contextlib.contextmanager
    def flags(self, **switches: Any):
        """Inside, switches are set otherwise.

        Args:
            switches: their names and values.

        Example:
            >>> import numtorch as torch
            >>> with torch.backends.cudnn.flags(deterministic=True):
            ...     torch.backends.cudnn.deterministic
            True
        """
        before = dict(vars(self))
        vars(self).update(switches)
        try:
            yield
        finally:
            vars(self).clear()
            vars(self).update(before)


cudnn = Library(enabled=True, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True, fp32_precision="none")
cuda = Library(matmul=SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True,
                                      allow_bf16_reduced_precision_reduction=True, fp32_precision="none"))
mps, mkl, openmp, cpu = Library(), Library(), Library(), Library()
mkldnn = Library(enabled=True, deterministic=False, allow_tf32=True)

__path__: list = []                                      # so that cudnn and its like can be imported as modules
_PRECISIONS = ("highest", "high", "medium")
_program = SimpleNamespace(deterministic=False, warn_only=False, precision="highest")


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for the same results in every run; they are in any case, with as many threads.

    Args:
        mode: whether to ask for it.
        warn_only: kept for `is_deterministic_algorithms_warn_only_enabled`.

    Example:
        >>> import numtorch as torch
        >>> torch.use_deterministic_algorithms(True)
        >>> torch.are_deterministic_algorithms_enabled()
        True
        >>> torch.use_deterministic_algorithms(False)
    """
    _program.deterministic, _program.warn_only = bool(mode), bool(mode and warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms` asked for them.

    Example:
        >>> import numtorch as torch
        >>> torch.are_deterministic_algorithms_enabled()
        False
    """
    return _program.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether `use_deterministic_algorithms` was called with `warn_only`.

    Example:
        >>> import numtorch as torch
        >>> torch.is_deterministic_algorithms_warn_only_enabled()
        False
    """
    return _program.warn_only


def set_float32_matmul_precision(precision: str) -> None:
    """Say how precise products of float32 must be; they have float32's precision whatever it is.

    Args:
        precision: "highest", "high" or "medium".

    Raises:
        ValueError: another word.

    Example:
        >>> import numtorch as torch
        >>> torch.set_float32_matmul_precision("high")
        >>> torch.get_float32_matmul_precision()
        'high'
        >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in _PRECISIONS:
        raise ValueError(f"set_float32_matmul_precision: expected one of {', '.join(_PRECISIONS)}, got {precision!r}")
    _program.precision = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was given.

    Example:
        >>> import numtorch as torch
        >>> torch.get_float32_matmul_precision()
        'highest'
    """
    return _program.precision
