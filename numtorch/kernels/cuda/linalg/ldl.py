"""LDL on a GPU: of symmetric matrices by cuSOLVER where it is installed (lapack.py), else, of Hermitian ones, and where launches
are captured, by the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.linalg import ldl as host
from ..libraries import SOLVERS, either
from ..serial import on_device


def _factored(dtype, matrices, n, hermitian, device):
    from . import lapack
    if hermitian and dtype.startswith("complex"):
        return None
    return lapack.in_rows(lapack.plan_sytrf(dtype, matrices, n, device), dtype, matrices, n, n, device)


def _solved(dtype, matrices, n, k, hermitian, device):
    from . import lapack
    return None if hermitian and dtype.startswith("complex") else lapack.plan_sytrs(dtype, matrices, n, k, device)


plan_ldl = either(SOLVERS, _factored, on_device(host.plan_ldl))
plan_ldl_solve = either(SOLVERS, _solved, on_device(host.plan_ldl_solve))
