"""Distinct values, histograms and places on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.sort import runs as host
from ..serial import STATUS, on_device

plan_count_runs = on_device(host.plan_count_runs, {1: STATUS})
plan_write_runs = on_device(host.plan_write_runs)
plan_longest_run = on_device(host.plan_longest_run)
plan_limits = on_device(host.plan_limits, {1: 2 * STATUS})
plan_count_integers = on_device(host.plan_count_integers)
plan_count_bytes = on_device(host.plan_count_bytes)
plan_rank_bytes = on_device(host.plan_rank_bytes)
plan_add_weights = on_device(host.plan_add_weights)
plan_count_bins = on_device(host.plan_count_bins)
plan_places = on_device(host.plan_places)
