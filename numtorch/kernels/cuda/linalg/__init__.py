"""LU, LDL, triangles and distances on a GPU."""
