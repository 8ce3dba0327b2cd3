"""Padding on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.move import pad as host
from ..serial import on_device

plan_pad = on_device(host.plan_pad, lambda mode, size, *geometry: {1: size})        # the value is a number of the host's
plan_pad_grad = on_device(host.plan_pad_grad)
