"""Poisson, binomial and von Mises draws on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.random import rejection as host
from ..serial import STATE, on_device

plan_poisson = on_device(host.plan_poisson, {2: STATE})
plan_binomial = on_device(host.plan_binomial, {3: STATE})
plan_von_mises = on_device(host.plan_von_mises, {3: STATE})
