"""Tensors of given data, which share its memory where they can."""
from __future__ import annotations

import numpy as np

from ...dtypes import as_dtype, get_default_dtype
from ...exchange.construction import from_dlpack, from_numpy, frombuffer, make
from ...tensor import Tensor
from ..memory.copies import clone


def as_tensor(data, dtype=None, device=None) -> Tensor:
    """`data` as a tensor, sharing its memory where it can: a tensor is returned, a NumPy array wrapped, the rest copied.

    Args:
        data: what `tensor` takes, or an object that gives its memory by DLPack.
        dtype, device: what to convert to, with a copy where that changes something; those of `data` when None.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2.])
        >>> torch.as_tensor(x) is x
        True
    """
    data = _over_memory(data)
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(device=device, dtype=dtype)
    return make(data, dtype=dtype, device=device)


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad: bool = False) -> Tensor:
    """`obj` as a tensor, sharing its memory where it can; gradients flow through it to a tensor.

    Args:
        obj: what `as_tensor` takes; of an object with the buffer protocol, such as a bytearray, the bytes, read as by `frombuffer`.
        dtype, device: what to convert to; those of `obj` when None. Bytes are read as elements of `dtype`, or of the default one.
        copy: True for memory of its own, False never to copy, None to copy where it must.
        requires_grad: whether to record what is computed from it.

    Raises:
        ValueError: `copy=False` where only a copy will do.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2.])
        >>> torch.asarray(x) is x, torch.asarray(x, copy=True) is x
        (True, False)
    """
    given = _over_memory(obj)
    if not isinstance(given, Tensor):
        if _has_bytes(obj):
            dtype = get_default_dtype() if dtype is None else as_dtype(dtype)
            return asarray(frombuffer(obj, dtype=dtype), device=device, copy=copy, requires_grad=requires_grad)
        if copy is False:
            raise ValueError("asarray(): can't alias arbitrary sequence into a tensor.")
        return as_tensor(obj, dtype, device).requires_grad_(requires_grad)
    made = as_tensor(given, dtype, device)
    if copy is False and made is not given:
        raise ValueError(f"asarray(): can't alias tensor of {given.layout.dtype} on {given.layout.device} as one of "
                         f"{made.layout.dtype} on {made.layout.device}")
    if copy and made is given:
        made = clone(made)
    return made if made.node is not None or not requires_grad else made.requires_grad_()


def _over_memory(obj):
    """A tensor over the memory of an array, or of what gives its memory by DLPack; anything else as it is."""
    if isinstance(obj, np.ndarray):
        return from_numpy(obj)
    is_producer = hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule"
    return from_dlpack(obj) if is_producer and not isinstance(obj, Tensor) else obj


def _has_bytes(obj) -> bool:
    """Whether an object has the buffer protocol; NumPy's scalars, which do, are numbers."""
    try:
        memoryview(obj)
    except TypeError:
        return False
    return not isinstance(obj, np.generic)
