"""Reading: where the storages of a file go, by the locations in it and by `map_location`."""
from __future__ import annotations

from ..devices import device
from ..layout import Layout
from ..ops.core.primitive import class_of
from ..ops.memory.untyped import UntypedStorage
from ..tensor import wrap


def located(base, location, map_location):
    """A storage that was read, or is to be, where it goes.

    Args:
        base: all of it, as a tensor of one dimension on the CPU.
        location: where it was saved from, by its device's name.
        map_location: that of `load`.

    Returns:
        A tensor of as many elements.

    Raises:
        TypeError: `map_location` is, or gives, something else than is expected.
        RuntimeError: a device that is not there, or a storage that is too small.
    """
    if map_location is None:
        return _moved(base, location)
    if isinstance(map_location, dict):
        return _moved(base, map_location.get(location, location))
    if isinstance(map_location, (str, bytes, device)):
        return _moved(base, str(map_location) if isinstance(map_location, device) else map_location)
    storage = UntypedStorage._over(base)
    result = map_location(storage, location)
    if result is None:
        return _moved(base, location)
    if not isinstance(result, UntypedStorage):
        raise TypeError(f"load: expected map_location to return an UntypedStorage or None, got {class_of(result)}")
    layout = base.layout
    if result.nbytes() < layout.nbytes:
        raise RuntimeError(f"load: expected map_location to return a storage of at least {layout.nbytes} bytes, got one of "
                           f"{result.nbytes()}")
    memory = result.memory
    return base if result is storage else wrap(memory, memory.address, Layout.of(layout.dtype, layout.shape, None, memory.device))


def _moved(base, location):
    if not isinstance(location, str):
        raise TypeError(f"load: expected map_location to name a device by a string, got {class_of(location)}")
    if not location.startswith(("cpu", "cuda", "meta")):
        raise RuntimeError(f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location}): "
                           f"name a device with map_location")
    if location.startswith("cpu"):
        return base
    try:
        return base.to(location)
    except (RuntimeError, AssertionError) as error:
        raise RuntimeError(f"Attempting to deserialize object on a CUDA device, which is not there. If you are running on a "
                           f"CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to "
                           f"the CPU. {error}") from error
