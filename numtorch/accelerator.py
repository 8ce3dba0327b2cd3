"""`torch.accelerator`: the device that computes beside the processor, whatever it is; here CUDA or none."""
from __future__ import annotations

import importlib

from . import cuda
from .devices import device
from .dtypes import dtype

__all__ = ["Graph", "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
           "device_index", "empty_cache", "empty_host_cache", "get_device_capability", "get_memory_info", "is_available",
           "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats",
           "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream",
           "synchronize"]


_device = device


def is_available() -> bool:
    """Whether there is an accelerator to put tensors on.

    Example:
        >>> import numtorch as torch
        >>> torch.accelerator.is_available() == torch.cuda.is_available()
        True
    """
    return cuda.is_available()


def device_count() -> int:
    """The number of accelerators; 0 where there is none.

    Example:
        >>> import numtorch as torch
        >>> torch.accelerator.device_count() == torch.cuda.device_count()
        True
    """
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> device | None:
    """The accelerator as a device without an index, or None where there is none.

    Args:
        check_available: PyTorch is built for an accelerator that may not be there; here it is always looked for.

    Example:
        >>> import numtorch as torch
        >>> device = torch.accelerator.current_accelerator() or torch.device("cpu")
    """
    return device("cuda") if cuda.is_available() else None


def _present() -> None:
    if not cuda.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")


def current_device_index() -> int:
    """The index of the accelerator in use in this thread.

    Raises:
        RuntimeError: there is none.
    """
    _present()
    return cuda.current_device()


def set_device_index(device) -> None:
    """Use another accelerator in this thread.

    Args:
        device: an index, or a device or its name.

    Raises:
        RuntimeError: there is none, or not that one.
    """
    _present()
    cuda.set_device(device)


def synchronize(device=None) -> None:
    """Wait until an accelerator has done what it was told.

    Args:
        device: an index, or a device or its name; the current one when None.

    Raises:
        RuntimeError: there is none, or not that one.
    """
    _present()
    cuda.synchronize(device)


def get_device_capability(device=None, /) -> dict:
    """What an accelerator can do, by name: `supported_dtypes` is the set of dtypes of its tensors.

    Args:
        device: an index, or a device or its name; the current one when None.

    Raises:
        RuntimeError: there is none, or not that one.
    """
    _present()
    cuda.get_device_capability(device)
    return {"supported_dtypes": set(dtype.by_name.values())}


def current_stream(device=None, /) -> cuda.Stream:
    """The stream that launches on an accelerator go to in this thread.

    Args:
        device: an index, or a device or its name; the current one when None.

    Raises:
        RuntimeError: there is none, or not that one.
    """
    _present()
    return cuda.current_stream(device)


def set_stream(stream) -> None:
    """Have launches in this thread go to a stream from now on, on its device.

    Args:
        stream: the stream.

    Raises:
        RuntimeError: there is no accelerator.
    """
    _present()
    cuda.set_stream(stream)


# ---------------------------------------------------------------- memory
def empty_cache() -> None:
    """Give memory that no tensor has back to the driver, of every accelerator.

    Raises:
        RuntimeError: there is none.
    """
    _present()
    cuda.empty_cache()


def empty_host_cache() -> None:
    """Give pinned memory that no tensor has back to the driver.

    Raises:
        RuntimeError: there is no accelerator.
    """
    empty_cache()


def _index(device) -> int | None:
    """What the functions of torch.cuda take. Raises RuntimeError where there is no accelerator."""
    _present()
    return device


def memory_stats(device_index=None, /) -> dict:
    """What tensors have of an accelerator's memory, under PyTorch's names, such as `allocated_bytes.all.current`.

    Args:
        device_index: an index, or a device or its name; the current one when None.

    Raises:
        RuntimeError: there is none, or not that one.
    """
    return cuda.memory_stats(_index(device_index))


def memory_allocated(device_index=None, /) -> int:
    """The bytes that tensors have on an accelerator.

    Args:
        device_index: an index, or a device or its name; the current one when None.

    Raises:
        RuntimeError: there is none, or not that one.
    """
    return cuda.memory_allocated(_index(device_index))


def max_memory_allocated(device_index=None, /) -> int:
    """The most bytes that tensors had at a time, since `reset_peak_memory_stats`.

    Args:
        device_index: an index, or a device or its name; the current one when None.

    Raises:
        RuntimeError: there is none, or not that one.
    """
    return cuda.max_memory_allocated(_index(device_index))


def memory_reserved(device_index=None, /) -> int:
    """The bytes that the driver has given: what tensors have, and what is kept for the next ones.

    Args:
        device_index: an index, or a device or its name; the current one when None.

    Raises:
        RuntimeError: there is none, or not that one.
    """
    return cuda.memory_reserved(_index(device_index))


def max_memory_reserved(device_index=None, /) -> int:
    """The most bytes that the driver had given at a time, since `reset_peak_memory_stats`.

    Args:
        device_index: an index, or a device or its name; the current one when None.

    Raises:
        RuntimeError: there is none, or not that one.
    """
    return cuda.max_memory_reserved(_index(device_index))


def reset_accumulated_memory_stats(device_index=None, /) -> None:
    """Count what was allocated altogether anew from 0.

    Args:
        device_index: an index, or a device or its name; the current one when None.

    Raises:
        RuntimeError: there is none, or not that one.
    """
    cuda.reset_accumulated_memory_stats(_index(device_index))


def reset_peak_memory_stats(device_index=None, /) -> None:
    """Count the most bytes anew from what is allocated now.

    Args:
        device_index: an index, or a device or its name; the current one when None.

    Raises:
        RuntimeError: there is none, or not that one.
    """
    cuda.reset_peak_memory_stats(_index(device_index))


def get_memory_info(device_index=None, /) -> tuple[int, int]:
    """The bytes of an accelerator that are free, and all that it has.

    Args:
        device_index: an index, or a device or its name; the current one when None.

    Raises:
        RuntimeError: there is none, or not that one.
    """
    return cuda.mem_get_info(_index(device_index))


current_device_idx, set_device_idx = current_device_index, set_device_index


class device_index(cuda.device):
    """Context manager: another accelerator is in use inside.

    Args:
        device: its index; None changes nothing.
    """


class Graph(cuda.CUDAGraph):
    """Captured launches, which `replay` makes again; as a context manager, those inside.

    Args:
        keep_graph, pool, capture_error_mode: accepted; a graph keeps its own memory.

    Raises:
        RuntimeError: there is no accelerator.
    """

    def __init__(self, keep_graph: bool = False, *, pool=None, capture_error_mode: str = "default") -> None:
        _present()
        super().__init__(keep_graph)

    def __enter__(self) -> None:
        self.capture_begin()

    def __exit__(self, *error) -> None:
        self.capture_end()
        if error[0] is not None:
            self.reset()


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    return importlib.import_module("numtorch.alias").attribute(__name__, name)
