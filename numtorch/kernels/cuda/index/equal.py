"""Equality and bounds on a GPU: the host's kernels, a thread a part (../serial.py).

What each part has found is a word of the host's, so parts are few.
"""
from __future__ import annotations

from ...cpu.index import equal as host
from ..serial import TABLE, on_device

plan_among = on_device(host.plan_among)
plan_differs = on_device(host.plan_differs, {2: TABLE}, threads=host.MOST_PARTS)
plan_beyond = on_device(host.plan_beyond, {1: TABLE}, threads=host.MOST_PARTS)
plan_outside_unit = on_device(host.plan_outside_unit, {1: TABLE}, threads=host.MOST_PARTS)
