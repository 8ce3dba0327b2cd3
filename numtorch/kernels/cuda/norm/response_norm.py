"""Local response norm on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.norm import response_norm as host
from ..serial import on_device

plan_response_norm = on_device(host.plan_response_norm)
plan_response_norm_grad = on_device(host.plan_response_norm_grad)
