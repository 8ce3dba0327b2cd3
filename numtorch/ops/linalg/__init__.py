"""Matrices.

matmul, addmm, einsum, products: products. lapack: how factorisations reach LAPACK, by host (NumPy) or by columns (a
device's routines). factorise, svd, solve, triangular, lu, ldl,
householder, lowrank, lobpcg: factorisations and systems. matrices: norms, powers, ranks. distances: cdist, pdist. oldnames: gesv,
symeig and their like. oldnorms: norms by their older names.
"""
