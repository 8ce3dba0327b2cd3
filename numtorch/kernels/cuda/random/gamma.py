"""Gamma draws and slopes on a GPU: a thread an element."""
from __future__ import annotations

from ...cpu.random import gamma as host
from .each import draw_by_one, of_each, slope_of_three, slope_of_two

plan_gamma = of_each(host.plan_gamma, host.draw_each, draw_by_one)
plan_log_gamma = of_each(host.plan_log_gamma, host.draw_each, draw_by_one)
plan_gamma_slope = of_each(host.plan_gamma_slope, host.gamma_slope_each, slope_of_two)
plan_beta_slope = of_each(host.plan_beta_slope, host.beta_slope_each, slope_of_three)
