"""`torch.backends`, and the switches of whole programs that PyTorch has beside it: scripts set them in their first lines.

None of PyTorch's libraries is here, and there is one way of computing: what threads add up they add in a fixed order, so results
are the same in every run with as many threads. So the switches are kept, say what they were set to, and change nothing. One does:
on a GPU products of float32 may round their operands to tf32 where `set_float32_matmul_precision` or `cuda.matmul.allow_tf32`
says so.
"""
from __future__ import annotations

import contextlib
import functools
from types import SimpleNamespace
from typing import Any

from .kernels.precision import PRECISIONS, float32_precision, set_float32_precision, tf32_allowed

__all__ = ["are_deterministic_algorithms_enabled", "cpu", "cuda", "cudnn", "get_deterministic_debug_mode",
           "get_float32_matmul_precision", "get_num_interop_threads", "is_deterministic_algorithms_warn_only_enabled",
           "is_warn_always_enabled", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum", "set_deterministic_debug_mode",
           "set_float32_matmul_precision", "set_flush_denormal", "set_num_interop_threads", "set_warn_always",
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

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"numtorch.backends has no {name}: PyTorch's libraries are not here; there is one way of computing")

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


class _Products:
    """Switches of products on a GPU. `allow_tf32` and `fp32_precision` are `set_float32_matmul_precision` by other words."""

    __slots__ = ("allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction")

    def __init__(self):
        self.allow_fp16_reduced_precision_reduction = self.allow_bf16_reduced_precision_reduction = True

    @property
    def allow_tf32(self) -> bool:
        return tf32_allowed()

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        set_float32_precision("high" if allowed else "highest")

    @property
    def fp32_precision(self) -> str:
        return "tf32" if tf32_allowed() else "ieee"

    @fp32_precision.setter
    def fp32_precision(self, precision: str) -> None:
        if precision not in ("ieee", "tf32", "none"):
            raise RuntimeError(f"Unknown precision: {precision}; expected ieee, tf32 or none")
        self.allow_tf32 = precision == "tf32"


cuda = Library(matmul=_Products())


@contextlib.contextmanager
def _sdp_kernel(enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True):
    """A choice of kernels of attention inside, which changes nothing."""
    before = dict(_kernels_of_attention)
    _kernels_of_attention.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _kernels_of_attention.update(before)


cuda.sdp_kernel = _sdp_kernel
_kernels_of_attention = dict.fromkeys(("flash", "mem_efficient", "math", "cudnn"), True)
for _kernel in _kernels_of_attention:
    setattr(cuda, f"enable_{_kernel}_sdp", functools.partial(_kernels_of_attention.__setitem__, _kernel))
    setattr(cuda, f"{_kernel}_sdp_enabled", functools.partial(_kernels_of_attention.get, _kernel))
cuda.is_flash_attention_available = cuda.is_available


def _cpu_capability() -> str:
    """What vectors the processor has, in PyTorch's words: `"AVX512"`, `"AVX2"` or `"DEFAULT"`."""
    from .kernels.targets.processor import runs
    return next((word for baseline, word in (("x86-64-v4", "AVX512"), ("x86-64-v3", "AVX2")) if runs(baseline)), "DEFAULT")


mps, mkl, openmp, cpu, nnpack = Library(), Library(), Library(), Library(), Library()
cpu.get_cpu_capability = _cpu_capability
opt_einsum = Library(enabled=True, strategy="auto")
mkldnn = Library(enabled=True, deterministic=False, allow_tf32=True)

__path__: list = []                                      # so that cudnn and its like can be imported as modules
_program = SimpleNamespace(deterministic=False, warn_only=False, warn_always=False, interop_threads=1)
_DEBUG_MODES = ("default", "warn", "error")


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
    """Say how precise products of float32 must be: matrix products and attention. On the CPU they have float32's precision whatever
    it is; on a GPU its tensor cores round operands to tf32, eleven bits, unless it is "highest", and add up in float32.

    Args:
        precision: "highest", "high" or "medium", which is as "high".

    Raises:
        ValueError: another word.

    Example:
        >>> import numtorch as torch
        >>> torch.set_float32_matmul_precision("high")
        >>> torch.get_float32_matmul_precision()
        'high'
        >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in PRECISIONS:
        raise ValueError(f"set_float32_matmul_precision: expected one of {', '.join(PRECISIONS)}, got {precision!r}")
    set_float32_precision(precision)


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was given.

    Example:
        >>> import numtorch as torch
        >>> torch.get_float32_matmul_precision()
        'highest'
    """
    return float32_precision()


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by a word or its number.

    Args:
        debug_mode: "default" or 0, "warn" or 1, "error" or 2.

    Raises:
        RuntimeError: another one.

    Example:
        >>> import numtorch as torch
        >>> torch.set_deterministic_debug_mode("warn")
        >>> torch.get_deterministic_debug_mode()
        1
        >>> torch.set_deterministic_debug_mode(0)
    """
    level = _DEBUG_MODES.index(debug_mode) if debug_mode in _DEBUG_MODES else debug_mode
    if level not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as `set_deterministic_debug_mode` was told.

    Example:
        >>> import numtorch as torch
        >>> torch.get_deterministic_debug_mode()
        0
    """
    return (2 - _program.warn_only) * _program.deterministic


def set_warn_always(b: bool) -> None:
    """Ask for warnings at every occasion; Python's own filters decide here.

    Args:
        b: kept for `is_warn_always_enabled`.

    Example:
        >>> import numtorch as torch
        >>> torch.set_warn_always(False)
        >>> torch.is_warn_always_enabled()
        False
    """
    _program.warn_always = bool(b)


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was given; False before.

    Example:
        >>> import numtorch as torch
        >>> torch.is_warn_always_enabled()
        False
    """
    return _program.warn_always


def set_flush_denormal(mode: bool) -> bool:
    """Ask that numbers below the least normal one be taken as 0. They never are.

    Args:
        mode: whether to.

    Returns:
        Whether it can be had: False.

    Example:
        >>> import numtorch as torch
        >>> torch.set_flush_denormal(True)
        False
    """
    return False


def set_num_interop_threads(num: int) -> None:
    """Say how many ops may run beside one another; one does.

    Args:
        num: kept for `get_num_interop_threads`.

    Raises:
        RuntimeError: none, or fewer.

    Example:
        >>> import numtorch as torch
        >>> torch.set_num_interop_threads(1)
        >>> torch.get_num_interop_threads()
        1
    """
    if num < 1:
        raise RuntimeError("expected positive number of threads")
    _program.interop_threads = int(num)


def get_num_interop_threads() -> int:
    """What `set_num_interop_threads` was given; 1 before.

    Example:
        >>> import numtorch as torch
        >>> torch.get_num_interop_threads()
        1
    """
    return _program.interop_threads


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    from .alias import attribute
    return attribute(__name__, name)
