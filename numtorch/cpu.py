"""`torch.cpu`: the processor asked as if it were an accelerator, for programs that take a device's module by its name."""
from __future__ import annotations

from typing import Any

__all__ = ["current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]
__path__: list = []                                      # so that `cpu.amp` can be imported as a module


def is_available() -> bool:
    """Whether there is a processor: yes."""
    return True


def is_initialized() -> bool:
    """Whether it is ready: yes."""
    return True


def device_count() -> int:
    """How many there are: all together count as one."""
    return 1


def current_device() -> str:
    """What new tensors are on here: `"cpu"`."""
    return "cpu"


def set_device(device: Any) -> None:
    """Choose it: there is nothing to choose.

    Args:
        device: the only one.
    """


def synchronize(device: Any = None) -> None:
    """Wait until all is done: calls return when it is.

    Args:
        device: the only one.
    """


def __getattr__(name):
    """PyTorch's modules that are elsewhere here, and why others are not (alias)."""
    from .alias import attribute
    return attribute(__name__, name)
