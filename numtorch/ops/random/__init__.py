"""Draws: draws (rand, randn, randint, multinomial), like (rand_like and its kin), distributions (poisson, binomial, von Mises),
gamma (with gradients; Dirichlet too), redraw (in place). The streams they take from are in core/generator.py."""
