"""Kernels for NVIDIA GPUs, and for Numba's simulator of one. The families have the file names that kernels/cpu/ has.

compiler.py makes them by numba-cuda, with the passes in frontend.py and the intrinsics in lowering.py and in the files that end
in _ir. runtime.py says which machine there is: gpu.py (the driver), simulator.py, or packing.py, which compiles for GPUs
elsewhere. Before the first tensor on a CUDA device nothing here is imported but runtime.py and capture.py, which
numtorch.compile asks whether there is one.
"""
