"""The meta device: tensors that have a shape, a dtype and strides, and no memory.

    with torch.device("meta"):
        model = Network()                                # takes no memory, whatever its size
    model(torch.empty(8, 3, 224, 224, device="meta")).shape

Its kernel families are the host's, whose planners run and whose kernels do not: every check is made and every result laid out as if
it were computed. What must read values (`item`, `nonzero`, a mask as an index, NumPy) raises.
"""
from __future__ import annotations

import functools

from . import storage as _storage
from .kernels.planning import without_memory
from .ops.core.late import provide
from .ops.core.status import NoValues


class Family:
    """A kernel family of the host, whose plans do nothing."""

    def __init__(self, module):
        self.module = module

    def __getattr__(self, name):
        result = getattr(self.module, name)
        if not name.startswith("plan_"):
            return result

        @functools.wraps(result)
        def plan(*args, **kwargs):
            with without_memory():
                return result(*args, **kwargs)
        return plan


def placed(device):
    """`device` itself: there is one."""
    return device


class _Allocator:
    """Storages that have a size and no memory."""

    @staticmethod
    def allocate(nbytes, device):
        return _storage.Storage(0, nbytes, None, device)


@provide
def transfer_meta(source, target, wait=True) -> None:
    """What is copied to a meta tensor is forgotten. Raises NoValues for a copy of one elsewhere: it has no elements."""
    if target.layout.device.type != "meta":
        raise NoValues("Cannot copy out of meta tensor; no data!")


@provide
def read_status_meta(tensor) -> int:
    """0: nothing has run that could complain."""
    return 0


@provide
def clear_status_meta(tensor) -> None:
    """There is no word to clear."""


_storage.register_allocator("meta", _Allocator())
