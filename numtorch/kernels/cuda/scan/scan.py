"""Running sums, products and extremes on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.scan import scan as host
from ..serial import on_device

plan_cumsum = on_device(host.plan_cumsum)
plan_cumprod = on_device(host.plan_cumprod)
plan_recurrence = on_device(host.plan_recurrence)
plan_logcumsumexp = on_device(host.plan_logcumsumexp)
plan_cummax = on_device(host.plan_cummax)
plan_cummin = on_device(host.plan_cummin)
