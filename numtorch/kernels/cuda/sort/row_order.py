"""The order of rows on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.sort import row_order as host
from ..serial import on_device

plan_order_rows = on_device(host.plan_order_rows)
