"""LU on a GPU: by cuSOLVER where it is installed (lapack.py), else, and where launches are captured, by the host's kernels, a
thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.linalg import lu as host
from ..libraries import SOLVERS, either
from ..serial import STATUS, on_device

_plan_serially = on_device(host.plan_factor)
plan_order = on_device(host.plan_order, {2: STATUS})


def _by_library(dtype, matrices, rows, columns, device):
    from . import lapack
    return lapack.in_rows(lapack.plan_getrf(dtype, matrices, rows, columns, device), dtype, matrices, rows, columns, device)


plan_factor = either(SOLVERS, _by_library, _plan_serially)
