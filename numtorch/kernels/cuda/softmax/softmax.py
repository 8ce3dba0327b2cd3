"""Softmax, log-softmax and logsumexp on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.softmax import softmax as host
from ..serial import on_device

plan_softmax = on_device(host.plan_softmax)
plan_log_softmax = on_device(host.plan_log_softmax)
plan_softmax_grad = on_device(host.plan_softmax_grad)
plan_log_softmax_grad = on_device(host.plan_log_softmax_grad)
plan_logsumexp = on_device(host.plan_logsumexp)
plan_logsumexp_grad = on_device(host.plan_logsumexp_grad)
