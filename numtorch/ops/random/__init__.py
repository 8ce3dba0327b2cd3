"""Draws: draws (rand, randn, randint, multinomial), distributions (poisson, binomial), redraw (in place). The streams they take
from are in core/generator.py."""
