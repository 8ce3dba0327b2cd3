"""Places of extremes on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.reduce import argreduce as host
from ..serial import on_device

plan_argreduce = on_device(host.plan_argreduce)
plan_extreme_with_index = on_device(host.plan_extreme_with_index)
