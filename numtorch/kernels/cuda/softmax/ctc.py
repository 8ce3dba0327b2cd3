"""Connectionist temporal classification on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.softmax import ctc as host
from ..serial import on_device

plan_ctc_loss = on_device(host.plan_ctc_loss)
plan_ctc_loss_grad = on_device(host.plan_ctc_loss_grad)
