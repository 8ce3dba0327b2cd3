"""The older names of amp, which say the device by their place: `torch.cpu.amp` and `torch.cuda.amp`."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..dtypes import bfloat16, dtype, float16
from .autocast_mode import autocast
from .autocast_mode import custom_bwd as _custom_bwd
from .autocast_mode import custom_fwd as _custom_fwd
from .grad_scaler import GradScaler


class CpuAutocast(autocast):
    """`autocast("cpu", ...)`."""

    def __init__(self, enabled: bool = True, dtype: dtype = bfloat16, cache_enabled: bool = True) -> None:
        super().__init__("cpu", dtype, enabled, cache_enabled)


class CudaAutocast(autocast):
    """`autocast("cuda", ...)`."""

    def __init__(self, enabled: bool = True, dtype: dtype = float16, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class CpuGradScaler(GradScaler):
    """`GradScaler("cpu", ...)`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("cpu", *args, **kwargs)


class CudaGradScaler(GradScaler):
    """`GradScaler("cuda", ...)`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("cuda", *args, **kwargs)


def custom_fwd(fwd: Callable | None = None, *, cast_inputs: dtype | None = None) -> Callable:
    """`amp.custom_fwd(..., device_type="cuda")`."""
    return functools.partial(_custom_fwd, device_type="cuda", cast_inputs=cast_inputs)(fwd)


custom_bwd = functools.partial(_custom_bwd, device_type="cuda")
