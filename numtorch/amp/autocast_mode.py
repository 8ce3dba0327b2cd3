"""`autocast`: inside, ops run in the precision that suits each (casting.py has what they do)."""
from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..autograd.modes import kept_for_again
from ..devices import device as as_device
from ..dtypes import bfloat16, dtype, float16
from ..ops.memory.copies import to_dtype
from ..tensor import Tensor
from .casting import eligible, install, state
from .oplists import LISTS

__all__ = ["autocast", "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "custom_bwd",
           "custom_fwd", "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_available",
           "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled", "set_autocast_cache_enabled",
           "set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled",
           "set_autocast_gpu_dtype"]


# ---------------------------------------------------------------- state
def _known(device_type, caller) -> str:
    if not isinstance(device_type, str):
        raise TypeError(f"{caller}(): argument 'device_type' must be str, not {type(device_type).__name__}")
    if device_type in LISTS:
        return device_type
    kind = as_device(device_type).type
    if kind not in LISTS:
        raise RuntimeError(f"unknown device type for autocast: '{device_type}'; autocast knows {', '.join(LISTS)}")
    return kind


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast knows a kind of device.

    Args:
        device_type: such as `"cpu"`.

    Example:
        >>> import numtorch as torch
        >>> torch.amp.is_autocast_available("cpu"), torch.amp.is_autocast_available("meta")
        (True, False)
    """
    return device_type in LISTS or as_device(device_type).type in LISTS


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether this thread is in a region for a kind of device.

    Args:
        device_type: such as `"cpu"`.

    Example:
        >>> import numtorch as torch
        >>> with torch.autocast("cpu"):
        ...     torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda")
        (True, False)
    """
    return state.enabled[_known(device_type, "is_autocast_enabled")]


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Switch autocast on or off for a kind of device. `autocast` does it and switches back.

    Args:
        device_type: such as `"cpu"`.
        enabled: whether listed ops cast.

    Example:
        >>> import numtorch as torch
        >>> torch.set_autocast_enabled("cpu", True)
        >>> torch.ones(2, 2) @ torch.ones(2, 1)
        tensor([[2.],
                [2.]], dtype=torch.bfloat16)
        >>> torch.set_autocast_enabled("cpu", False)
    """
    state.enabled[_known(device_type, "set_autocast_enabled")] = bool(enabled)
    state.on = any(state.enabled.values())
    if state.on:
        install()


def get_autocast_dtype(device_type: str) -> dtype:
    """The dtype of regions for a kind of device.

    Args:
        device_type: such as `"cpu"`.

    Example:
        >>> import numtorch as torch
        >>> torch.get_autocast_dtype("cpu")
        torch.bfloat16
    """
    return state.dtypes[_known(device_type, "get_autocast_dtype")]


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set the dtype of regions for a kind of device that name none.

    Args:
        device_type: such as `"cpu"`.
        dtype: bfloat16 or float16.

    Example:
        >>> import numtorch as torch
        >>> torch.set_autocast_dtype("cpu", torch.float16)
        >>> torch.get_autocast_dtype("cpu")
        torch.float16
        >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    state.dtypes[_known(device_type, "set_autocast_dtype")] = dtype


def is_autocast_cpu_enabled() -> bool:
    """`is_autocast_enabled("cpu")`.

    Example:
        >>> import numtorch as torch
        >>> with torch.autocast("cpu"):
        ...     torch.is_autocast_cpu_enabled()
        True
    """
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """`set_autocast_enabled("cpu", enabled)`.

    Example:
        >>> import numtorch as torch
        >>> torch.set_autocast_cpu_enabled(True)
        >>> torch.is_autocast_cpu_enabled()
        True
        >>> torch.set_autocast_cpu_enabled(False)
    """
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> dtype:
    """`get_autocast_dtype("cpu")`.

    Example:
        >>> import numtorch as torch
        >>> torch.get_autocast_cpu_dtype()
        torch.bfloat16
    """
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: dtype) -> None:
    """`set_autocast_dtype("cpu", dtype)`.

    Example:
        >>> import numtorch as torch
        >>> torch.set_autocast_cpu_dtype(torch.float16)
        >>> torch.get_autocast_cpu_dtype()
        torch.float16
        >>> torch.set_autocast_cpu_dtype(torch.bfloat16)
    """
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> dtype:
    """`get_autocast_dtype("cuda")`.

    Example:
        >>> import numtorch as torch
        >>> torch.get_autocast_gpu_dtype()
        torch.float16
    """
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: dtype) -> None:
    """`set_autocast_dtype("cuda", dtype)`.

    Example:
        >>> import numtorch as torch
        >>> torch.set_autocast_gpu_dtype(torch.bfloat16)
        >>> torch.get_autocast_gpu_dtype()
        torch.bfloat16
        >>> torch.set_autocast_gpu_dtype(torch.float16)
    """
    set_autocast_dtype("cuda", dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters are kept until the outermost region ends.

    Example:
        >>> import numtorch as torch
        >>> torch.is_autocast_cache_enabled()
        True
    """
    return state.caching


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Keep casts of parameters until the outermost region ends, or do not.

    Args:
        enabled: whether they are kept.

    Example:
        >>> import numtorch as torch
        >>> torch.set_autocast_cache_enabled(False)
        >>> torch.is_autocast_cache_enabled()
        False
        >>> torch.set_autocast_cache_enabled(True)
    """
    state.caching = bool(enabled)


def clear_autocast_cache() -> None:
    """Forget the casts of parameters, as a program must that changes parameters inside of a region.

    Example:
        >>> import numtorch as torch
        >>> layer, x = torch.nn.Linear(2, 1, bias=False), torch.ones(1, 2)
        >>> with torch.no_grad(), torch.autocast("cpu"):
        ...     _ = layer(x)
        ...     _ = layer.weight.fill_(3.)
        ...     torch.clear_autocast_cache()
        ...     layer(x)
        tensor([[6.]], dtype=torch.bfloat16)
    """
    state.cache.clear()


def autocast_increment_nesting() -> int:
    """Enter a region deeper. Returns how deep this thread is then.

    Example:
        >>> import numtorch as torch
        >>> torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()
        (1, 0)
    """
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting() -> int:
    """Leave a region. Returns how deep this thread is then.

    Example:
        >>> import numtorch as torch
        >>> torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()
        (1, 0)
    """
    state.nesting -= 1
    return state.nesting


# ---------------------------------------------------------------- regions
class autocast:
    """Inside, ops run in the precision that suits each: products and convolutions in a short dtype, losses and factorisations in
    float32. A context manager, and a decorator. It holds for the thread that enters it.

    Args:
        device_type: `"cpu"` or `"cuda"`.
        dtype: the short dtype, bfloat16 or float16; the default is bfloat16 on the CPU and float16 on CUDA.
        enabled: False to run in the tensors' own dtypes inside of another region.
        cache_enabled: keep casts of parameters until the outermost region ends; None for as it is.

    Raises:
        RuntimeError: autocast does not know the device.
        ValueError: `device_type` is no string.

    Example:
        >>> import numtorch as torch
        >>> model, x = torch.nn.Linear(4, 2), torch.ones(3, 4)
        >>> with torch.autocast("cpu"):
        ...     y = model(x)
        ...     loss = torch.nn.functional.mse_loss(y, torch.zeros(3, 2))
        >>> y.dtype, loss.dtype
        (torch.bfloat16, torch.float32)
        >>> torch.autograd.grad(loss, model.weight)[0].dtype
        torch.float32
    """

    def __init__(self, device_type: str, dtype: dtype | None = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = _known(device_type, "autocast")
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = state.caching if cache_enabled is None else cache_enabled
        self._enabled = bool(enabled) and self._supported()
        self._before: list = []

    def _supported(self):
        if self.device == "cuda":
            from .. import cuda
            if not cuda.is_available():
                warnings.warn("CUDA is not available. Disabling autocast.", UserWarning, stacklevel=3)
                return False
        if self.fast_dtype not in (bfloat16, float16):
            name = self.device.upper()
            warnings.warn(f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} Autocast only "
                          f"supports dtypes of torch.bfloat16, torch.float16 currently.", UserWarning, stacklevel=3)
            return False
        return True

    def __enter__(self) -> autocast:
        device = self.device
        self._before.append((state.caching, state.enabled[device], state.dtypes[device]))
        state.enabled[device], state.dtypes[device], state.caching = self._enabled, self.fast_dtype, self._cache_enabled
        state.nesting += 1
        state.on = True in state.enabled.values()
        if state.on:
            install()
        return self

    def __exit__(self, *exception) -> None:
        state.nesting -= 1
        if state.nesting == 0:
            state.cache.clear()
        state.caching, state.enabled[self.device], state.dtypes[self.device] = self._before.pop()
        state.on = True in state.enabled.values()

    def __call__(self, function: Callable) -> Callable:
        if not callable(function):
            raise TypeError(f"autocast()(func) requires a callable, but got {type(function).__name__}. Did you mean to use "
                            f"autocast as a context manager? For example:\n    with torch.autocast(device_type=...):\n"
                            f"        output = model(input)")

        @functools.wraps(function)
        def inside(*args, **kwargs):
            with self:
                return function(*args, **kwargs)
        return inside


# ---------------------------------------------------------------- autograd.Function
def _cast_inputs(value, device_type, to):
    """A value with the tensors in it cast, whatever holds them."""
    if isinstance(value, Tensor):
        return to_dtype(value, to) if eligible(value, device_type) and value.layout.dtype is not to else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {_cast_inputs(k, device_type, to): _cast_inputs(v, device_type, to) for k, v in value.items()}
    if isinstance(value, Iterable):
        cast = [_cast_inputs(v, device_type, to) for v in value]
        return type(value)(cast) if isinstance(value, (list, tuple)) else cast
    return value


def custom_fwd(fwd: Callable | None = None, *, device_type: str, cast_inputs: dtype | None = None) -> Callable:
    """Decorator for the `forward` of an `autograd.Function` that is called in regions.

    Args:
        fwd: the static method.
        device_type: such as `"cpu"`.
        cast_inputs: cast floating-point tensors to it and run with autocast off, in regions; None to run as the region says.

    Raises:
        ValueError: `device_type` is no string.

    Example:
        >>> import numtorch as torch
        >>> class Twice(torch.autograd.Function):
        ...     @staticmethod
        ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     @torch.amp.custom_bwd(device_type="cpu")
        ...     def backward(ctx, grad):
        ...         return grad * 2
        >>> with torch.autocast("cpu"):
        ...     Twice.apply(torch.ones(1, dtype=torch.bfloat16)).dtype
        torch.float32
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx, *args: Any, **kwargs: Any):
        inside = is_autocast_enabled(device_type)
        ctx._dtype, ctx._fwd_used_autocast = get_autocast_dtype(device_type), inside and cast_inputs is None
        if cast_inputs is None or not inside:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast_inputs(args, device_type, cast_inputs), **_cast_inputs(kwargs, device_type, cast_inputs))
    return forward


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Callable:
    """Decorator for the `backward` beside a `custom_fwd`: it runs as forward did, in a region or not.

    Args:
        bwd: the static method.
        device_type: such as `"cpu"`.

    Raises:
        ValueError: `device_type` is no string.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx, *grads: Any):
        with autocast(device_type, dtype=ctx._dtype, enabled=ctx._fwd_used_autocast):
            return bwd(ctx, *grads)
    return backward


# ---------------------------------------------------------------- second runs of checkpointed functions
def _regions_now():
    """The regions that a second run has to be in, for each kind of device."""
    kept, caching = [(kind, state.dtypes[kind], state.enabled[kind]) for kind in LISTS], state.caching

    @contextlib.contextmanager
    def again():
        with contextlib.ExitStack() as stack:
            for kind, kind_dtype, enabled in kept:
                if enabled or state.enabled[kind]:
                    stack.enter_context(autocast(kind, kind_dtype, enabled, caching))
            yield
    return again


kept_for_again.append(_regions_now)
