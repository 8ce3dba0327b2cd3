"""The bytes of memory, wherever it is: read, written, and waited for."""
from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterable

from ...devices import cpu
from ...kernels.cuda import capture
from ...kernels.cuda.runtime import runtime


def bytes_of(address: int, nbytes: int, device) -> bytes:
    """What memory of a device holds, once all is done that the device was told.

    Args:
        address, nbytes, device: the memory.
    """
    if device is cpu or not nbytes:
        return ctypes.string_at(address, nbytes)
    content = ctypes.create_string_buffer(nbytes)
    runtime().copy(ctypes.addressof(content), address, nbytes, device.index)
    return content.raw


def put_bytes(address: int, content: bytes, device) -> None:
    """Write bytes to memory of a device, after what the device was told before.

    Args:
        address, device: the memory.
        content: what it holds then.
    """
    if device is cpu or not content:
        ctypes.memmove(address, content, len(content))
    else:
        runtime().copy(address, ctypes.cast(ctypes.c_char_p(content), ctypes.c_void_p).value, len(content), device.index)


def unsaid(devices: Iterable) -> contextlib.AbstractContextManager:
    """Inside, nobody is told of what kernels of devices find wrong: calls are made for what they leave, and put back, or on copies.

    Args:
        devices: them, the host perhaps among them.
    """
    return contextlib.nullcontext() if set(devices) <= {cpu} else capture.unsaid(runtime())


def wait_for(devices: Iterable) -> None:
    """Wait until devices have done what they were told: a call of theirs has not ended when it returns.

    Args:
        devices: them, the host perhaps among them.
    """
    for device in devices:
        if device is not cpu:
            runtime().synchronize(device.index)
