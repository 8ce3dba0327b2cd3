"""CUDA devices: how many there are, which one is current, and waiting for them. `torch.cuda` in PyTorch.

Importing this gives tensors their memory on CUDA devices and the way there and back; `x.cuda()` and `device="cuda"` import
it. Whether the devices are real or Numba's simulator (`NUMBA_ENABLE_CUDASIM=1`) is decided in kernels/cuda/runtime.py and
shows nowhere else. A device does what it is told in order, on one stream; there are no others.
"""
from __future__ import annotations

import ctypes
import importlib as _importlib
import threading

from .. import storage as _storage
from ..devices import device as _device
from ..kernels.cuda.environment import Unavailable
from ..kernels.cuda.runtime import runtime
from ..ops.core.late import provide

__all__ = ["current_device", "device", "device_count", "empty_cache", "get_device_capability", "get_device_name", "init",
           "is_available", "is_initialized", "manual_seed", "manual_seed_all", "set_device", "synchronize"]


class _Current(threading.local):
    """Every thread has a current device of its own."""
    index = 0


_current = _Current()


def _machine():
    """The runtime. Raises what PyTorch raises where there is none."""
    try:
        return runtime()
    except Unavailable as error:
        if error.missing:
            raise AssertionError(f"Torch not compiled with CUDA enabled: {error}") from None
        raise RuntimeError(str(error)) from None


def _index(which, optional=True) -> int:
    """The index that a device, a string, an int or None (the current device) stands for."""
    if which is None and optional:
        return _current.index
    found = _device(which)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    return _current.index if found.index is None else found.index


def _existing(index) -> int:
    count = _machine().count
    if not 0 <= index < count:
        raise RuntimeError(f"CUDA error: invalid device ordinal (asked for cuda:{index}, there are {count})")
    return index


# ---------------------------------------------------------------- devices
def is_available() -> bool:
    """Whether tensors can be put on a CUDA device, real or simulated. Never raises."""
    return device_count() > 0


def device_count() -> int:
    """The number of CUDA devices; 0 where there are none or the `cuda` extra is missing."""
    try:
        return runtime().count
    except Unavailable:
        return 0


def current_device() -> int:
    """The index of the device that `"cuda"` means in this thread."""
    return _existing(_current.index)


def set_device(device) -> None:
    """Make a device the one that `"cuda"` means in this thread; a negative index changes nothing.

    Args:
        device: an index, or a device or string such as "cuda:1".

    Raises:
        RuntimeError: no such device.
        ValueError: not a CUDA device.
    """
    if isinstance(device, int) and device < 0:
        return
    _current.index = _existing(_index(device, optional=False))


class device:
    """Context manager: another device is the current one inside.

    Args:
        device: an index, a device or a string; a negative index or None changes nothing.

    Example:
        with torch.cuda.device(1):
            x = torch.zeros(2, device="cuda")            # on cuda:1
    """

    def __init__(self, device):
        self.idx = -1 if device is None or (isinstance(device, int) and device < 0) else _index(device)
        self.previous = []                               # one entry for each time it is entered

    def __enter__(self):
        self.previous.append(_current.index)
        set_device(self.idx)
        return self

    def __exit__(self, *error):
        _current.index = self.previous.pop()
        return False


def synchronize(device=None) -> None:
    """Wait until a device, the current one when None, has done what it was told."""
    _machine().synchronize(_existing(_index(device)))


def get_device_name(device=None) -> str:
    """What a device is called."""
    return _machine().describe(_existing(_index(device)))[0]


def get_device_capability(device=None) -> tuple[int, int]:
    """A device's compute capability, such as (9, 0); (0, 0) in the simulator."""
    return _machine().describe(_existing(_index(device)))[1]


def init() -> None:
    """Start CUDA now instead of on first use. Raises where there is none."""
    _machine()


def is_initialized() -> bool:
    """Whether CUDA has been started."""
    return runtime.cache_info().currsize > 0


def manual_seed(seed: int) -> None:
    """Taken for PyTorch's sake, with or without CUDA: random numbers are drawn on the CPU, from what `torch.manual_seed` seeds.

    Args:
        seed: changes nothing.

    Example:
        >>> import numtorch as torch
        >>> torch.cuda.manual_seed(0)
    """
    int(seed)


manual_seed_all = manual_seed


def empty_cache() -> None:
    """Taken for PyTorch's sake: a device's memory goes back to the driver's pool as soon as nothing refers to it.

    Example:
        >>> import numtorch as torch
        >>> torch.cuda.empty_cache()
    """


# ---------------------------------------------------------------- for the floors below
def placed(device):
    """`device` with an index, the current one's unless it has one. Raises as `numtorch.ops.core.backends.placed` says."""
    return _device("cuda", _existing(_current.index if device.index is None else device.index))


class _Allocator:
    """Storages on CUDA devices."""

    @staticmethod
    def allocate(nbytes, device):
        owner, address = runtime().allocate(max(nbytes, 1), device.index)     # no runtime has blocks of nothing
        return _storage.Storage(address, nbytes, owner, device)


@provide
def transfer_cuda(source, target) -> None:
    """Write a tensor into one of the same dense layout, where at least one of the two is on a CUDA device."""
    if source.layout.nbytes:
        where = (target if target.layout.device.type == "cuda" else source).layout.device
        if source.layout.device.type == target.layout.device.type == "cuda":
            runtime().synchronize(source.layout.device.index)
        runtime().copy(target.address, source.address, source.layout.nbytes, where.index)


@provide
def read_status_cuda(tensor) -> int:
    """The first word of a tensor on a CUDA device."""
    word = ctypes.c_int64()
    runtime().copy(ctypes.addressof(word), tensor.address, 8, tensor.layout.device.index)
    return word.value


@provide
def clear_status_cuda(tensor) -> None:
    """Write 0 there."""
    word = ctypes.c_int64()
    runtime().copy(tensor.address, ctypes.addressof(word), 8, tensor.layout.device.index)


_storage.register_allocator("cuda", _Allocator())


def __getattr__(name):
    """PyTorch's modules that are elsewhere here, and why others are not (alias)."""
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)
