"""Optimiser steps on a GPU: one launch for all parameters, the host's kernel, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.optim import optim as host
from ..serial import on_device


def _tables(formula, states, coefficients, dtype, numels):
    """The bytes of the tables of addresses and of coefficients."""
    return {0: 8 * (3 + states) * len(numels), 1: 8 * (3 + coefficients)}


plan_step = on_device(host.plan_step, _tables)
