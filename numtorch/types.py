"""What arguments are, for annotations: `torch.types.Number`, `Device` and so on. Stubs are written in these words (stubs.py)."""
from __future__ import annotations

from collections.abc import Sequence

from .devices import device
from .tensor import Tensor

Number = int | float | bool
Scalar = int | float | bool | complex
Operand = Tensor | Scalar
Device = device | str | int | None
Dims = int | Sequence[int]
TensorOrTensors = Tensor | Sequence[Tensor]

__all__ = ["Device", "Dims", "Number", "Operand", "Scalar", "TensorOrTensors"]
