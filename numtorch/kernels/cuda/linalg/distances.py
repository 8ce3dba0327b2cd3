"""Distances on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.linalg import distances as host
from ..serial import on_device

goes_along = host.goes_along
plan_pairs = on_device(host.plan_pairs)
plan_every_two = on_device(host.plan_every_two)
plan_slopes_of_every_two = on_device(host.plan_slopes_of_every_two)
