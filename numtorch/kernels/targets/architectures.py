"""GPUs whose kernels are packed: machine code of an architecture runs on those of the same major version that are not older."""
from __future__ import annotations

import importlib.util
import os

ARCHITECTURES = {"sm_80": (8, 0), "sm_90": (9, 0)}       # compute capabilities by their names


def chosen() -> str | None:
    """The architecture that this process packs for, or None: then it runs on what GPUs there are.

    Raises:
        ValueError: `$NUMTORCH_CUDA_ARCHITECTURE` names none.
    """
    name = os.environ.get("NUMTORCH_CUDA_ARCHITECTURE") or None
    if name is not None and name not in ARCHITECTURES:
        raise ValueError(f"NUMTORCH_CUDA_ARCHITECTURE is {name!r}; there are {', '.join(ARCHITECTURES)}")
    return name


def packed_for(capability: tuple) -> str | None:
    """The newest architecture whose packed code a GPU of this compute capability runs, or None."""
    fitting = [name for name, (major, minor) in ARCHITECTURES.items() if major == capability[0] and minor <= capability[1]]
    return max(fitting, key=ARCHITECTURES.__getitem__, default=None)


def can_pack() -> bool:
    """Whether what compiles for GPUs is installed."""
    return importlib.util.find_spec("numba_cuda") is not None
