"""Vectors of length one on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.norm import unit_norm as host
from ..serial import on_device

plan_unit = on_device(host.plan_unit)
plan_unit_grad = on_device(host.plan_unit_grad)
