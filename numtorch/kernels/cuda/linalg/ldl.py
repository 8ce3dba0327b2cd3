"""LDL on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.linalg import ldl as host
from ..serial import on_device

plan_ldl = on_device(host.plan_ldl)
plan_ldl_solve = on_device(host.plan_ldl_solve)
