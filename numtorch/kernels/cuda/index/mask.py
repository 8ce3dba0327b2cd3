"""Masks on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.index import mask as host
from ..serial import STATUS, on_device

plan_count_nonzero = on_device(host.plan_count_nonzero, {1: STATUS})
plan_nonzero = on_device(host.plan_nonzero)
plan_masked_select = on_device(host.plan_masked_select)
plan_masked_scatter = on_device(host.plan_masked_scatter)
