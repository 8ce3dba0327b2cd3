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
    """Types of buffers by their bytes. NumPy takes a buffer in a twelfth of the time of a description in words."""

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
    """A NumPy array over the same memory. Raises TypeError for bfloat16 and complex32."""
    return array_over(tensor, tensor.layout.dtype.numpy)


def readable_array(tensor):
    """Like `host_array`, with what NumPy lacks widened into a copy: for printing and `tolist`."""
    kind = tensor.layout.dtype
    return host_array(tensor) if kind.numpy is not None else widened(raw_array(tensor), kind.is_complex)


def widened(words, halves):
    """Numbers of words of a dtype that NumPy lacks: of complex32, where they are `halves`, or of bfloat16."""
    if not halves:
        return (words.astype(np.uint32) << 16).view(np.float32)
    parts = np.ascontiguousarray(words)[..., None].view(np.float16).astype(np.float32)
    return parts.view(np.complex64).reshape(words.shape)


def narrowed(values, halves):
    """Such words of numbers, rounded to the nearest."""
    if halves:
        parts = np.ascontiguousarray(values, np.complex64)[..., None].view(np.float32).astype(np.float16)
        return parts.view(np.uint32).reshape(np.shape(values))
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return np.where(np.isnan(values), 0x7FC0, (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
