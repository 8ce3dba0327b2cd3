"""Resampling on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.pool import resample as host
from ..serial import on_device, staged


def plan_resample(dtype, planes, sizes, maps, device: int = 0) -> host.Resampling:
    """The host's, whose tables are in the host's memory."""
    plan = on_device(host.plan_resample)(dtype, planes, sizes, maps, device=device)
    plan.prepared = staged(plan.prepared, {2: plan.indices.nbytes, 3: plan.weights.nbytes}, device)
    return plan
