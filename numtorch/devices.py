"""Devices: where a tensor's memory lives. A `device` is a name and an index, nothing else."""
from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any


class device:
    """Where memory is: `device("cpu")`, `device("cuda")`, `device("cuda", 1)`, `device("cuda:1")`. Equal devices are one object.

    As a context manager, or as a decorator, it is where new tensors are made when no other device is named.

    Args:
        type: "cpu", "cuda", or "meta" (no memory: shapes and dtypes alone), with an index behind a colon if any; an int for a CUDA
            device; or a device.
        index: which of several.

    Raises:
        RuntimeError: another name, or an index twice or negative.

    Example:
        >>> import numtorch as torch
        >>> torch.device("cuda:1").index, torch.device("cuda", 1) is torch.device("cuda:1")
        (1, True)
    """

    __slots__ = ("type", "index")

    type: str
    index: int | None
    _interned: dict[tuple[str, int | None], device] = {}

    def __new__(cls, type, index=None):
        if isinstance(type, device):
            return type
        if isinstance(type, int) and not isinstance(type, bool):
            type, index = "cuda", type
        if not isinstance(type, str):
            raise TypeError(f"device: expected a string such as 'cpu' or 'cuda:0', got {type!r}")
        name = type
        if ":" in type:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
            type, _, number = type.partition(":")
            if not number.isdigit():
                raise RuntimeError(f"Invalid device string: '{name}'")
            index = int(number)
        if type not in ("cpu", "cuda", "meta"):
            raise RuntimeError(f"Expected one of cpu, cuda, meta device type at start of device string: {name}")
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must not be negative, got {index}")
        key = (type, index)
        known = cls._interned.get(key)
        if known is None:
            known = object.__new__(cls)
            known.type, known.index = key
            known = cls._interned.setdefault(key, known)
        return known

    def __enter__(self):
        """Inside, new tensors are made on this device where no other is named."""
        _entered.append(default[0])
        set_default_device(self)
        return self

    def __exit__(self, *exception):
        set_default_device(_entered.pop())

    def __call__(self, function):
        """A function inside of which new tensors are made on this device: `@torch.device("meta")`."""
        if inspect.isgeneratorfunction(function):
            @functools.wraps(function)
            def generator(*args, **kwargs):              # what runs between two of its values is outside
                values = function(*args, **kwargs)
                while True:
                    try:
                        with self:
                            value = next(values)
                    except StopIteration as stop:
                        return stop.value
                    yield value
            return generator

        @functools.wraps(function)
        def inside(*args, **kwargs):
            with self:
                return function(*args, **kwargs)
        return inside

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self):
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __reduce__(self):
        return device, (self.type, self.index)


cpu = device("cpu")
default = [cpu]                                          # where tensors are made when no device is named
_entered: list = []
_listeners: list = []


def set_default_device(device) -> None:
    """Make new tensors on a device where no other is named.

    Args:
        device: a device or its name; None for the CPU.

    Example:
        >>> import numtorch as torch
        >>> torch.set_default_device("cpu")
        >>> torch.zeros(2).device
        device(type='cpu')
    """
    wanted = cpu if device is None else type(cpu)(device)
    default[0] = cpu if wanted.type == "cpu" else wanted
    for changed in _listeners:
        changed()


def get_default_device() -> device:
    """Where new tensors are made when no device is named.

    Example:
        >>> import numtorch as torch
        >>> torch.get_default_device()
        device(type='cpu')
    """
    return default[0]


def on_default_device_change(listener) -> None:
    """Have `listener()` called whenever the default device changes."""
    _listeners.append(listener)


class OutOfMemoryError(RuntimeError):
    """A device has no memory left for a tensor. The message says how much was asked for, and how much tensors have.

    Example:
        >>> import numtorch as torch
        >>> issubclass(torch.OutOfMemoryError, RuntimeError)
        True
    """


def get_device_module(device=None) -> Any:
    """The module of a kind of device: `torch.cuda` or `torch.cpu`.

    Args:
        device: a device or its name; the accelerator when None, or the CPU where there is none.

    Raises:
        RuntimeError: something else, or a device without a module.

    Example:
        >>> import numtorch as torch
        >>> torch.get_device_module("cpu") is torch.cpu
        True
    """
    if device is None:
        device = "cuda" if importlib.import_module("numtorch.cuda").is_available() else "cpu"
    elif not isinstance(device, (str, _device)):
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    kind = _device(device).type
    if kind not in ("cpu", "cuda"):
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module: torch.cpu and torch.cuda are here")
    return importlib.import_module(f"numtorch.{kind}")


_device = device
