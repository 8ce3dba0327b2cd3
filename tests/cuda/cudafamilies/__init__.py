"""Families that have kernels of their own on a GPU: what each computes, with sizes on both sides of the kernels' constants, which
are small in the simulator (four threads of a block). Run on the CPU and on CUDA by cuda/agreement/test_cuda_families.py, values and
gradients.

A row is (function of the device and its tensors, the shapes of these for each size, their dtypes and orders of memory). The first
shapes are tried in every order and dtype.
"""
from . import places, products, values  # noqa: F401
from .table import run, variants  # noqa: F401
