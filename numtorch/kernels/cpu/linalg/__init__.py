"""Factorisations that NumPy lacks: lu, ldl; triangular systems; distances of points."""
