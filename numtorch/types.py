"""What arguments are, for annotations: `torch.types.Number`, `Device` and so on. Stubs are written in these words (stubs.py)."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO

from .devices import device
from .dtypes import dtype
from .layout import memory_layout
from .tensor import Tensor

Number = int | float | bool
Scalar = int | float | bool | complex
Operand = Tensor | Scalar
Device = device | str | int | None
Dims = int | Sequence[int]
TensorOrTensors = Tensor | Sequence[Tensor]
FileLike = str | os.PathLike[str] | IO[bytes]

_TensorOrTensors, _size, _device, _dtype, _layout = TensorOrTensors, Dims, device, dtype, memory_layout     # as PyTorch names them

__all__ = ["Device", "Dims", "FileLike", "Number", "Operand", "Scalar", "TensorOrTensors"]


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    from .alias import attribute
    return attribute(__name__, name)
