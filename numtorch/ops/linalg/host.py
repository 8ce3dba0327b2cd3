"""Factorisations on the host, by NumPy: functions of arrays under the names that `lapack.py` lists."""
from __future__ import annotations

import numpy as np

inv, det, slogdet = np.linalg.inv, np.linalg.det, np.linalg.slogdet
eig, eigvals = np.linalg.eig, np.linalg.eigvals


def _factor(array):
    """NumPy's factor, which it gives of NaN too."""
    factor = np.linalg.cholesky(array)
    if np.isnan(np.diagonal(factor, 0, -2, -1)).any():
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return factor


def cholesky(array, upper):
    return _factor(np.conj(np.swapaxes(array, -1, -2)) if upper else array)


def minors(array, upper):
    array = np.conj(np.swapaxes(array, -1, -2)) if upper else array
    each = [_first_minor(matrix) for matrix in array.reshape(-1, *array.shape[-2:])]
    return np.array(each, np.int32).reshape(array.shape[:-2])


def _first_minor(matrix):
    """The order of the first leading minor that is not positive definite, by halving; 0 where all are."""
    def factorises(order):
        try:
            _factor(matrix[:order, :order])
        except np.linalg.LinAlgError:
            return False
        return True
    if factorises(len(matrix)):
        return 0
    good, bad = 0, len(matrix)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if factorises(middle) else (good, middle)
    return bad


def qr(array, mode):
    return (np.empty(0), np.linalg.qr(array, mode)) if mode == "r" else np.linalg.qr(array, mode)


def geqrf(array):
    columns, tau = np.linalg.qr(array, "raw")
    return np.swapaxes(columns, -1, -2), tau


def eigh(array, upper):
    return np.linalg.eigh(array, "U" if upper else "L")


def eigvalsh(array, upper):
    return np.linalg.eigvalsh(array, "U" if upper else "L")


def svd(array, full):
    return _of_numbers(array, lambda matrices: np.linalg.svd(matrices, full))


def svdvals(array):
    return _of_numbers(array, lambda matrices: (np.linalg.svd(matrices, compute_uv=False),))[0]


def _of_numbers(array, function):
    """What a function gives of matrices, NaN for those that have infinities, of which LAPACK may not return. NaN is refused."""
    infinite = ~np.isfinite(array).all((-1, -2))
    if not infinite.any():
        return function(array)
    unknown = np.isnan(array).any((-1, -2))
    if unknown.any():
        where = f"(Batch element {np.flatnonzero(unknown)[0]}): " if array.ndim > 2 else ""
        raise np.linalg.LinAlgError(f"{where}The algorithm failed to converge because the input matrix contained non-finite "
                                    f"values.")
    array = array.copy()
    array[infinite] = 0
    results = function(array)
    for result in results:
        result[infinite] = np.nan
    return results


def solve(a, b, batch):
    return np.linalg.solve(a, b)
