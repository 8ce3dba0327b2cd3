"""Batch and group norm on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.norm import channel_norm as host
from ..serial import on_device

plan_group_norm = on_device(host.plan_group_norm)
plan_group_norm_grad = on_device(host.plan_group_norm_grad)
plan_batch_norm = on_device(host.plan_batch_norm)
plan_batch_norm_grad = on_device(host.plan_batch_norm_grad)
