"""Products of compressed rows on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.sparse import product as host
from ..serial import on_device

plan_multiply_rows = on_device(host.plan_multiply_rows)
plan_sample_products = on_device(host.plan_sample_products)
