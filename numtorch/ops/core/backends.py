"""Where a device's plans and memory come from. Each device type has the same kernel families under the same names, and all
but the host's are loaded on first use."""
from __future__ import annotations

import functools
import importlib

from ...devices import cpu, default
from ...devices import device as as_device

_PACKAGES = {"cpu": "numtorch.kernels.cpu", "cuda": "numtorch.kernels.cuda", "meta": "numtorch.kernels.cpu"}


class _OnDevice:
    """A family whose planners, `plan_...`, are told the index of the device that they plan for."""

    def __init__(self, module, family, device):
        self.module, self.family, self.device = module, family, device

    def __getattr__(self, name):
        planner = getattr(self.module, name, None)
        if planner is None:
            raise NotImplementedError(f"{self.family}: no {self.device.type} kernel for {name.removeprefix('plan_')} yet; move the "
                                      f"tensors with .cpu()")
        if not name.startswith("plan_"):
            return planner
        return functools.partial(planner, device=self.device.index)


@functools.cache
def kernels(device, family: str):
    """The module that plans `family` (room and file, such as `"pointwise.pointwise"`) on a device.

    Raises:
        NotImplementedError: the family has no kernels for that kind of device.
    """
    name = f"{_PACKAGES[device.type]}.{family}"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):
            raise
        raise NotImplementedError(f"{family} operations have no {device.type} kernels yet; move the tensors with .cpu()") from None
    if device.type == "meta":
        return importlib.import_module("numtorch.meta").Family(module)
    return module if device is cpu else _OnDevice(module, family, device)


@functools.cache
def device_with(device, family: str):
    """The device itself where it has a family's kernels, else the host, whose results are then moved."""
    try:
        kernels(device, family)
    except NotImplementedError:
        return cpu
    return device


@functools.cache
def has_kernels(device, family: str) -> bool:
    """Whether a device has a family's kernels. Where it has not, an op takes its formula over other ops."""
    try:
        kernels(device, family)
    except NotImplementedError:
        return False
    return True


@functools.cache
def has_planner(device, family: str, planner: str) -> bool:
    """Whether a device's kernels of a family have a planner."""
    try:
        return getattr(kernels(device, family), planner, None) is not None
    except NotImplementedError:
        return False


@functools.cache
def _module_of(kind):
    return importlib.import_module(f"numtorch.{kind}")


def placed(device):
    """The device that a caller means, with an index: `"cuda"` is the current CUDA device, None the default.

    Raises:
        AssertionError: the `cuda` extra is not installed.
        RuntimeError: there is no GPU, or none of that index.
    """
    if device is None:
        device = default[0]
    if device is cpu or device == "cpu":
        return cpu
    device = as_device(device)
    return cpu if device.type == "cpu" else _module_of(device.type).placed(device)
