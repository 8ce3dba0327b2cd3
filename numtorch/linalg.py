"""`torch.linalg`: this file holds its names. What they compute is in ops/linalg/factorise.py, solve.py, lu.py and matrices.py."""
from .ops.linalg.factorise import cholesky, cholesky_ex, eig, eigh, eigvals, eigvalsh, qr
from .ops.linalg.householder import householder_product
from .ops.linalg.lapack import LinAlgError
from .ops.linalg.ldl import ldl_factor, ldl_factor_ex, ldl_solve
from .ops.linalg.lu import inv_ex, lu, lu_factor, lu_factor_ex, lu_solve, solve_ex
from .ops.linalg.matmul import matmul
from .ops.linalg.matrices import (
    cond,
    cross,
    diagonal,
    matrix_exp,
    matrix_norm,
    matrix_power,
    matrix_rank,
    multi_dot,
    tensorinv,
    tensorsolve,
    vander,
    vecdot,
    vector_norm,
)
from .ops.linalg.matrices import linalg_norm as norm
from .ops.linalg.solve import det, inv, lstsq, pinv, slogdet, solve
from .ops.linalg.svd import svd, svdvals
from .ops.linalg.triangular import solve_triangular

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor",
    "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm",
    "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander",
    "vecdot", "vector_norm",
]
