"""Norms of rows on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.norm import norm as host
from ..serial import on_device

plan_row_norm = on_device(host.plan_row_norm)
plan_row_norm_grad = on_device(host.plan_row_norm_grad)
plan_merge_sums = on_device(host.plan_merge_sums)
