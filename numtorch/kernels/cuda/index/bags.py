"""Sums of bags on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.index import bags as host
from ..serial import STATUS, on_device

plan_sum_bags = on_device(host.plan_sum_bags, {4: STATUS})
