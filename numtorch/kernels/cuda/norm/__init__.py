"""Norms on a GPU."""
