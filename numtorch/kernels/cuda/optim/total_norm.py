"""The norm of many tensors, and their scaling, on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.optim import total_norm as host
from ..serial import on_device, staged


def plan_total_norm(dtype: str, numels, order: float, device: int = 0):
    """The host's, whose two kernels take other addresses from it."""
    first, last = on_device(host.plan_total_norm)(dtype, numels, order, device=device)
    return staged(first, {0: 16 * len(numels), 1: 8}, device), staged(last, {1: 8}, device)


plan_scale_all = on_device(host.plan_scale_all, lambda dtype, numels: {0: 16 * len(numels), 2: 8})
