"""Losses of classes and of probabilities on a GPU: the host's kernels, a thread a part (../serial.py)."""
from __future__ import annotations

from ...cpu.softmax import cross_entropy as host
from ..serial import on_device

plan_class_loss = on_device(host.plan_class_loss)
plan_class_loss_grad = on_device(host.plan_class_loss_grad)
plan_probability_loss = on_device(host.plan_probability_loss)
plan_probability_loss_grad = on_device(host.plan_probability_loss_grad)
plan_likelihood_loss = on_device(host.plan_likelihood_loss)
plan_likelihood_grad = on_device(host.plan_likelihood_grad)
plan_loss_total = on_device(host.plan_loss_total)
