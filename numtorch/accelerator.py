"""`torch.accelerator`: the device that computes beside the processor, whatever it is; here CUDA or none."""
from __future__ import annotations

from . import cuda
from .devices import device

__all__ = ["current_accelerator", "current_device_idx", "current_device_index", "device_count", "device_index", "empty_cache",
           "is_available", "set_device_idx", "set_device_index", "synchronize"]


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


def empty_cache() -> None:
    """Taken for PyTorch's sake: memory goes back to the driver as soon as nothing refers to it.

    Example:
        >>> import numtorch as torch
        >>> torch.accelerator.empty_cache()
    """


current_device_idx, set_device_idx = current_device_index, set_device_index


class device_index(cuda.device):
    """Context manager: another accelerator is in use inside.

    Args:
        device: its index; None changes nothing.
    """
