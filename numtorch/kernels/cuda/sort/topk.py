"""The largest k, the k-th and the median on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.sort import topk as host
from ..serial import on_device

plan_topk = on_device(host.plan_topk)
plan_kth = on_device(host.plan_kth)
plan_median = on_device(host.plan_median)
