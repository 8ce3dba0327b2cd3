"""Evenly spaced numbers and powers on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.shared import ranges as host
from ..serial import on_device

plan_powers = on_device(host.plan_powers, {0: 8})         # the base, and where numbers start, end and step: the host's
plan_count = on_device(host.plan_count, {0: 8, 1: 8, 2: 8})
