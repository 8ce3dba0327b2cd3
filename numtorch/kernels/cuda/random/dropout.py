"""Dropout on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.random import dropout as host
from ..serial import STATE, on_device

plan_dropout = on_device(host.plan_dropout, {3: STATE})
