"""How factorisations reach LAPACK: through NumPy, on the tensor's own memory, with PyTorch's checks and errors."""
from __future__ import annotations

import numpy as np

from ...arrays import host_array
from ...devices import cpu
from ...exchange import copy_of, from_numpy
from ...tensor import Tensor
from ..core.primitive import not_a_tensor
from ..memory.copies import contiguous


class LinAlgError(RuntimeError):
    """What a factorisation raises that does not exist, such as that of a matrix that is singular or not positive definite.

    Example:
        >>> import numtorch as torch
        >>> try:
        ...     torch.linalg.inv(torch.zeros(2, 2))
        ... except torch.linalg.LinAlgError:
        ...     print("singular")
        singular
    """


def matrices(name, x, square=False):
    """Check that a tensor holds matrices of floating-point or complex numbers.

    Raises:
        TypeError: not a tensor.
        RuntimeError: another dtype, fewer than two dimensions, or (where `square`) two extents that differ.
    """
    if not isinstance(x, Tensor):
        raise not_a_tensor(f"linalg_{name}", x)
    layout = x.layout
    if layout.ndim < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if square and layout.shape[-1] != layout.shape[-2]:
        raise RuntimeError(f"linalg.{name}: A must be batches of square matrices, but they are {layout.shape[-2]} by "
                           f"{layout.shape[-1]} matrices")
    if layout.dtype.category < 2 or layout.dtype.itemsize < 4:
        raise RuntimeError(f"linalg.{name}: Expected a floating point or complex tensor as input. Got {layout.dtype.title}")
    if layout.device is not cpu:
        raise NotImplementedError(f"linalg.{name} runs on the CPU; move the tensor with .cpu()")


def right_hand_side(name, A, B):
    """Check that B is a tensor of A's dtype with dimensions. Raises TypeError and RuntimeError."""
    if not isinstance(B, Tensor):
        raise not_a_tensor(f"linalg_{name}", B, "B", 2)
    if not B.layout.ndim:
        raise RuntimeError(f"linalg.{name}: The input tensor B must have at least 2 dimensions.")
    if B.layout.dtype is not A.layout.dtype:
        raise RuntimeError(f"linalg.{name}: Expected A and B to have the same dtype, but found A of type {A.layout.dtype.title} "
                           f"and B of type {B.layout.dtype.title} instead")


def array(x):
    """A tensor's elements as a NumPy array, whatever the tape says of it."""
    return host_array(x if x.layout.contiguous else contiguous(x.detach()))


SHARED = 1 << 16                                         # bytes from which copying takes longer than a storage over NumPy's memory


def tensors(arrays, dtype):
    """Results of NumPy as new tensors of a dtype: copies of small ones, which take a third of the time, and others' memory."""
    found = []
    for array in arrays:
        if type(array) is not np.ndarray or array.dtype != dtype.numpy or not array.flags.c_contiguous:
            array = np.array(array, dtype.numpy, order="C")
        found.append(from_numpy(array) if array.nbytes >= SHARED or not array.nbytes else copy_of(array))
    return found


def run(name, function, *arguments):
    """Call a function of `numpy.linalg`; what it refuses is a LinAlgError here."""
    try:
        return function(*arguments)
    except np.linalg.LinAlgError as error:
        what = str(error)
        if "Singular" in what:
            what = "The diagonal element of U is zero, the solve could not be completed because the input matrix is singular."
        elif "positive definite" in what:
            what = "The factorization could not be completed because the input is not positive-definite."
        raise LinAlgError(f"linalg.{name}: {what}") from None


def svd(name, x, full=True):
    """U, the singular values and V^H of a tensor's matrices, as new tensors the tape knows nothing of."""
    u, s, vh = run(name, np.linalg.svd, array(x), full)
    kind = x.layout.dtype
    return (*tensors([u], kind), *tensors([s], kind.to_real()), *tensors([vh], kind))
