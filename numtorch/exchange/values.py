"""A tensor's elements for Python: as numbers and lists, as a NumPy array, as a buffer and as a DLPack capsule.

The other way is in `construction.py`.
"""
from __future__ import annotations

import ctypes
from struct import Struct
from typing import Any

from numpy import ndarray

from ..devices import cpu
from ..dtypes import dtype
from ..tensor import Tensor
from . import dlpack
from .arrays import array_over, readable_array

READERS = {"float32": ctypes.c_float, "float64": ctypes.c_double, "int64": ctypes.c_int64, "int32": ctypes.c_int32,
           "int16": ctypes.c_int16, "int8": ctypes.c_int8, "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16,
           "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64, "bool": ctypes.c_bool}
_LETTERS = {"float16": "e", "float32": "f", "float64": "d", "int64": "q", "int32": "i", "int16": "h", "int8": "b", "uint8": "B",
            "uint16": "H", "uint32": "I", "uint64": "Q", "bool": "?"}
_READ = {dtype.by_name[name]: reader.from_address for name, reader in READERS.items()}


class _Tape:
    """What the tape says, put here by its floor: whether what happens now is recorded."""
    records = None


tape = _Tape()


# ---------------------------------------------------------------- NumPy, lists, numbers
def numpy(self, *, force: bool = False) -> ndarray:
    """A NumPy array over the same memory.

    Args:
        force: detach and copy to the CPU first where that is needed, instead of raising.

    Raises:
        TypeError: the tensor is on another device, or its dtype is bfloat16 or complex32, which NumPy lacks.
        RuntimeError: the tensor requires grad, and what happens is recorded: `no_grad` lets it pass.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2.])
        >>> x.numpy()[0] = 7
        >>> x
        tensor([7., 2.])
    """
    layout = self.layout
    if layout.device is not cpu:
        if not force:
            raise TypeError(f"can't convert {self.layout.device} device type tensor to numpy. Use Tensor.cpu() to copy the "
                            f"tensor to host memory first.")
        return self.cpu().numpy(force=True)
    if layout.kind != "strided":
        raise TypeError(f"can't convert {layout} tensor to numpy. Use Tensor.to_dense() first.")
    if self.node is not None and not force and tape.records():
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if layout.handler is not None:
        return layout.handler.values(self).numpy(force=True)
    return array_over(self, layout.dtype.numpy)


def _as_array(self, dtype=None, copy=None) -> ndarray:
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        return array.astype(dtype)
    return array.copy() if copy else array


def _as_buffer(self, flags) -> memoryview:
    """The buffer protocol (Python 3.12 and later): a memoryview of the elements."""
    return memoryview(self.numpy())


def tolist(self):
    """Nested lists of Python numbers (a number for a 0-dim tensor).

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
    """
    if self.layout.device is not cpu:
        return self.cpu().tolist()
    layout = self.layout
    if layout.handler is not None:
        return layout.handler.values(self).tolist()
    reader = layout.views.get("tolist")
    if reader is None:
        few = layout.ndim == 1 and layout.contiguous and 0 < layout.numel < 256 and layout.dtype.name in _LETTERS
        words = f"{layout.numel}{_LETTERS[layout.dtype.name]}" if few else ""
        reader = layout.views["tolist"] = (Struct(words).unpack, ctypes.c_char * layout.nbytes) if few else ()
    if not reader:
        return readable_array(self).tolist()
    unpack, block = reader                               # a vector of few needs no array
    return list(unpack(block.from_address(self.address)))


def item(self) -> bool | int | float:
    """The one element as a Python number.

    Raises:
        RuntimeError: there is not exactly one.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1.5]]).item()
        1.5
    """
    layout = self.layout
    if layout.numel != 1:
        raise RuntimeError(f"a Tensor with {layout.numel} elements cannot be converted to Scalar")
    if layout.device is not cpu:
        return self.cpu().item()
    read = _READ.get(layout.dtype)
    try:
        return readable_array(self).item() if read is None else read(self.address).value
    except AttributeError:                               # a special layout that is of tensors
        pass
    return layout.handler.values(self).item()


def _as_bool(self) -> bool:
    if self.layout.numel == 1:
        return bool(self.item())
    if self.layout.numel == 0:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
    raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")


def _only(self):
    if self.layout.numel != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return self.item()


def _real(self, kind):
    """The one element, of which nothing imaginary gets lost."""
    value = _only(self)
    if type(value) is not complex:
        return value
    if value.imag:
        raise RuntimeError(f"value cannot be converted to type {kind} without overflow: it is {value}")
    return value.real


def _as_float(self) -> float:
    return float(_real(self, "double"))


def _as_int(self) -> int:
    return int(_real(self, "int64_t"))


def _as_complex(self) -> complex:
    return complex(_only(self))


def _as_index(self) -> int:
    if self.layout.numel != 1 or self.layout.dtype.category > 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self.item())


def _format(self, spec) -> str:
    if self.layout.ndim == 0 and (spec or self.layout.device.type != "meta"):
        return self.item().__format__(spec)
    return object.__format__(self, spec)


# ---------------------------------------------------------------- DLPack
def _dlpack_device(self) -> tuple[int, int]:
    return (1, 0) if self.layout.device is cpu else (2, self.layout.device.index or 0)


def _dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None) -> Any:
    """A DLPack capsule over the same memory. Raises BufferError when the tensor requires grad, is sparse or is not on the CPU.

    Args:
        stream: taken for the protocol's sake.
        max_version: who asks with (1, 0) or more gets a capsule that says whether it may be written.
        dl_device: where the memory is to be, which must be the CPU's.
        copy: whether the memory is a copy.

    Example:
        >>> import numpy, numtorch as torch
        >>> x = torch.zeros(2)
        >>> numpy.from_dlpack(x.fill_(3.)), type(x.__dlpack__()).__name__
        (array([3., 3.], dtype=float32), 'PyCapsule')
    """
    if self.node is not None:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self.layout.device is not cpu:
        raise BufferError(f"DLPack export is for CPU tensors; this one is on {self.layout.device}")
    if self.layout.kind != "strided":
        raise BufferError("Can't export tensors with layout other than torch.strided")
    kind = self.layout.dtype
    asked = {"max_version": max_version, "dl_device": dl_device, "copy": copy}
    options = {name: value for name, value in asked.items() if value is not None}
    if kind.numpy is None:
        return dlpack.as_elements(self.view(dtype.by_name[f"int{8 * kind.itemsize}"]).numpy().__dlpack__(**options), kind.name)
    return self.numpy().__dlpack__(**options)


Tensor.numpy, Tensor.tolist, Tensor.item = numpy, tolist, item
Tensor.__array__, Tensor.__buffer__, Tensor.__format__ = _as_array, _as_buffer, _format
Tensor.__bool__, Tensor.__float__, Tensor.__int__ = _as_bool, _as_float, _as_int
Tensor.__complex__, Tensor.__index__ = _as_complex, _as_index
Tensor.__dlpack__, Tensor.__dlpack_device__ = _dlpack, _dlpack_device
