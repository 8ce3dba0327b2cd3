"""Sampling of images at points on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.pool import grid_sample as host
from ..serial import on_device

plan_sample = on_device(host.plan_sample)
plan_sample_image_grad = on_device(host.plan_sample_image_grad)
plan_sample_grid_grad = on_device(host.plan_sample_grid_grad)
