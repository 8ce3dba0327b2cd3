"""LU, LDL, triangles and distances on a GPU.

lapack      LAPACK's routines by cuSOLVER, where it is installed
lu          LU
ldl         LDL
triangular  triangular systems
distances   distances of points
"""
