"""Rows joined, rolled and cut to triangles on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.move import rearrange as host
from ..serial import STATUS, TABLE, on_device

plan_join = on_device(host.plan_join, {0: TABLE})
plan_roll = on_device(host.plan_roll)
plan_triangle = on_device(host.plan_triangle)
plan_triangle_places = on_device(host.plan_triangle_places)
plan_one_hot = on_device(host.plan_one_hot, {2: STATUS})
plan_total = on_device(host.plan_total, {1: STATUS})
plan_repeated_positions = on_device(host.plan_repeated_positions)
