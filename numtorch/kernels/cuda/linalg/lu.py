"""LU on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.linalg import lu as host
from ..serial import STATUS, on_device

plan_factor = on_device(host.plan_factor)
plan_order = on_device(host.plan_order, {2: STATUS})
