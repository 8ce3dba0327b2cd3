"""Triangular systems on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.linalg import triangular as host
from ..serial import on_device

plan_substitute = on_device(host.plan_substitute)
