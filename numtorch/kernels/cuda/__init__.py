"""Kernels for NVIDIA GPUs, and for Numba's simulator of one. The families have the file names that kernels/cpu/ has.

compiler.py is all that knows numba-cuda, runtime.py says which machine there is: gpu.py (the driver), simulator.py, or packing.py,
which compiles for GPUs elsewhere. Nothing here is imported before the first tensor on a CUDA device.
"""
