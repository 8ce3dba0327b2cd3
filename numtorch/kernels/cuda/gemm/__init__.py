"""Products on a GPU: tiles of threads that share what they read.

gemm         planners
tiles        kernels for every dtype
tensorcores  16-bit floats and float32 rounded to tf32; warpgroups, 16-bit floats on Hopper
choice       where 16 bytes may be copied at once
depth        few tiles and a long depth, which blocks share
"""
