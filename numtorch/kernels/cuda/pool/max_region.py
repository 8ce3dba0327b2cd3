"""The largest of regions on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.pool import max_region as host
from ..serial import on_device

plan_max_region = on_device(host.plan_max_region)
