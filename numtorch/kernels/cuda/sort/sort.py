"""Sorting on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.sort import sort as host
from ..serial import on_device

plan_sort = on_device(host.plan_sort)
