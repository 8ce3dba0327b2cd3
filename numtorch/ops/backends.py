"""Which kernels a device's plans are made of. Each device type has the same families under the same names."""
from __future__ import annotations

import importlib

_PACKAGES = {"cpu": "numtorch.kernels.cpu", "cuda": "numtorch.kernels.cuda"}


def kernels(device, family: str):
    """The module that plans `family` (such as `"pointwise"`) on a device.

    Raises:
        NotImplementedError: the family has no kernels for that kind of device.
    """
    name = f"{_PACKAGES[device.type]}.{family}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise NotImplementedError(f"{family} operations have no {device.type} kernels yet; move the tensors with .cpu()") from None
