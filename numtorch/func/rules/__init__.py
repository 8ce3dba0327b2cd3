"""Batching rules, of the primitives of one room of ops/ each: what a call on one sample is on all samples.

In import order: sizes (samples joined with a batch dimension that is there, and parted again), reductions, products, memory,
selection, counting, layers, sequences, spatial, factorisations.
"""
from . import reductions, products, memory, selection, counting, layers, sequences, spatial, factorisations  # noqa: F401, I001
