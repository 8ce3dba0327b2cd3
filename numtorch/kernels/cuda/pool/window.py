"""Pooling on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.pool import window as host
from ..serial import on_device

plan_max_pool2d = on_device(host.plan_max_pool2d)
plan_max_pool2d_values = on_device(host.plan_max_pool2d_values)
plan_max_pool_grad = on_device(host.plan_max_pool_grad)
plan_avg_pool2d = on_device(host.plan_avg_pool2d)
plan_avg_pool2d_grad = on_device(host.plan_avg_pool2d_grad)
