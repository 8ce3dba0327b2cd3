"""Random draws on a GPU: the host's kernels, a thread a part (../serial.py). The streams are the host's, so the numbers are."""
from __future__ import annotations

from ...cpu.random import philox as host
from ..serial import STATE, on_device

counters_used = host.counters_used
plan_uniform = on_device(host.plan_uniform, {1: STATE})
plan_normal = on_device(host.plan_normal, {1: STATE})
plan_exponential = on_device(host.plan_exponential, {1: STATE})
plan_bernoulli = on_device(host.plan_bernoulli, {1: STATE})
plan_randint = on_device(host.plan_randint, {1: STATE})
plan_randperm = on_device(host.plan_randperm, {1: STATE})
plan_philox = on_device(host.plan_philox, {1: STATE})
plan_bernoulli_each = on_device(host.plan_bernoulli_each, {2: STATE})
plan_multinomial = on_device(host.plan_multinomial, {2: STATE})
