"""Poisson, binomial and von Mises draws on a GPU: a thread an element."""
from __future__ import annotations

from ...cpu.random import rejection as host
from .each import draw_by_one, draw_by_two, of_each

plan_poisson = of_each(host.plan_poisson, host.poisson_each, draw_by_one)
plan_binomial = of_each(host.plan_binomial, host.binomial_each, draw_by_two)
plan_von_mises = of_each(host.plan_von_mises, host.von_mises_each, draw_by_two)
