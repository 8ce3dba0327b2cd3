"""Gamma draws on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.random import gamma as host
from ..serial import STATE, on_device

plan_gamma = on_device(host.plan_gamma, {2: STATE})
plan_log_gamma = on_device(host.plan_log_gamma, {2: STATE})
plan_gamma_slope = on_device(host.plan_gamma_slope)
plan_beta_slope = on_device(host.plan_beta_slope)
