"""NumPy arrays over the memory of tensors."""
from __future__ import annotations

import ctypes

import numpy as np


def raw_array(tensor):
    """A NumPy array of the stored words, over the same memory, whatever the tape says."""
    return array_over(tensor, tensor.layout.dtype.storage)


def array_over(tensor, kind):
    """A NumPy array of a dtype over a tensor's memory, which it keeps alive. Raises TypeError where NumPy has no such dtype."""
    layout = tensor.layout
    if kind is None:
        raise TypeError(f"Got unsupported ScalarType {layout.dtype.name}")
    if not layout.contiguous or not layout.numel:
        return np.asarray(_StridedMemory(tensor, kind))
    memory = _blocks[layout.nbytes].from_address(tensor.address)
    memory.storage = tensor.memory
    return np.ndarray(layout.shape, kind, memory)


class SharedMemory:
    """What a NumPy array over a tensor's memory has as its base: it keeps `storage` alive."""

    __slots__ = ()


class _Blocks(dict):
    """Types of buffers by their bytes. NumPy takes a buffer in a quarter of a microsecond, and a description in words in three."""

    def __missing__(self, nbytes):
        if len(self) >= 1024:
            self.clear()
        result = self[nbytes] = type("Block", (SharedMemory, ctypes.Array), {"_length_": nbytes, "_type_": ctypes.c_char})
        return result


_blocks = _Blocks()


class _StridedMemory(SharedMemory):
    """What NumPy needs to see elements of any strides as an array."""

    __slots__ = ("storage", "__array_interface__")

    def __init__(self, tensor, kind):
        layout = tensor.layout
        self.storage = tensor.memory
        key = ("elements", kind)
        form = layout.views.get(key)
        if form is None:
            strides = None if layout.contiguous else tuple([s * layout.dtype.itemsize for s in layout.strides])
            form = layout.views[key] = {"shape": layout.shape, "typestr": kind.str, "version": 3, "strides": strides}
        self.__array_interface__ = {**form, "data": (tensor.address, False)}


def host_array(tensor):
    """A NumPy array over the same memory. Raises TypeError for bfloat16."""
    return array_over(tensor, tensor.layout.dtype.numpy)


def readable_array(tensor):
    """Like `host_array`, with bfloat16 widened into a float32 copy: for printing and `tolist`."""
    if tensor.layout.dtype.numpy is not None:
        return host_array(tensor)
    words = raw_array(tensor).astype(np.uint32) << 16
    return words.view(np.float32)
