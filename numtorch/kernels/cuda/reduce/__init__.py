"""Reductions and variances."""
