"""Triangular systems on a GPU: by cuBLAS where it is installed (lapack.py), else, and where launches are captured, by the host's
kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.linalg import triangular as host
from ..libraries import SOLVERS, either, installed
from ..serial import on_device

HALVED = 1 << 40 if installed(*SOLVERS) else host.HALVED


def _by_library(*arguments):
    from . import lapack
    return lapack.plan_trsm(*arguments)


plan_substitute = either(SOLVERS, _by_library, on_device(host.plan_substitute))
