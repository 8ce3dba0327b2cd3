"""Coordinates in order on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.sparse import coalesce as host
from ..serial import TABLE, on_device

plan_keys = on_device(host.plan_keys, {2: TABLE}, threads=32)     # what each part has found is a word of the host's
plan_sum_segments = on_device(host.plan_sum_segments)
plan_pointers = on_device(host.plan_pointers)
plan_rows = on_device(host.plan_rows)
