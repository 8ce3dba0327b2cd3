"""How factorisations reach LAPACK, with PyTorch's checks and errors.

One interface, two ways: `columns.py` has its functions for tensors of a device that has LAPACK's routines (the family
`linalg.lapack`, on CUDA by cuSOLVER), `host.py` has them for arrays, by NumPy, on the tensor's own memory or a copy. `compute` asks
the device. Each takes matrices (*, m, n), or (*, n, n), of one dtype and gives new ones:

    cholesky(A, upper)      L (*, n, n), of the triangle that is named; not positive definite: raises
    minors(A, upper)        (*) int32, the order of the first leading minor that is not positive definite, or 0
    qr(A, mode)             Q, R, as `torch.linalg.qr` has its modes
    geqrf(A)                R with the reflections below it (*, m, n), and their factors (*, min(m, n))
    eigh(A, upper)          values (*, n), real and rising, and vectors (*, n, n), of the triangle that is named
    eigvalsh(A, upper)      values
    eig(A)                  values (*, n) and vectors (*, n, n); on the host real where all are
    eigvals(A)              values
    svd(A, full)            U, S, Vh
    svdvals(A)              S (*, min(m, n)), real and falling
    solve(A, B, batch)      X (*batch, n, k) with A X = B (*, n, k); singular: raises
    inv(A)                  (*, n, n); singular: raises
    det(A)                  (*)
    slogdet(A)              (*), and (*) real; 0 and -inf where A is singular
"""
from __future__ import annotations

import warnings

import numpy as np

from ...autograd.graph import GraphNode, attach_outputs, recording
from ...devices import cpu
from ...exchange.arrays import host_array
from ...exchange.construction import copy_of, from_numpy
from ...layout import Layout
from ...tensor import Tensor, empty
from ..core.backends import has_kernels
from ..core.primitive import not_a_tensor
from ..core.status import has_values
from ..memory.copies import contiguous, to_device
from . import columns, host


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


def matrices(name, x, square=False, floats=True):
    """Check that a tensor holds matrices, and where `floats`, of floating-point or complex numbers.

    Raises:
        TypeError: not a tensor.
        RuntimeError: another dtype, fewer than two dimensions, or (where `square`) two extents that differ.
    """
    if not isinstance(x, Tensor):
        raise not_a_tensor(f"linalg_{name}", x)
    check(name, x.layout, square, floats)


def check(name, layout, square=False, floats=True):
    """Check that a layout is that of matrices, and where `floats`, of floating-point or complex numbers that NumPy can read."""
    if layout.ndim < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if square and layout.shape[-1] != layout.shape[-2]:
        raise RuntimeError(f"linalg.{name}: A must be batches of square matrices, but they are {layout.shape[-2]} by "
                           f"{layout.shape[-1]} matrices")
    if floats and (layout.dtype.category < 2 or layout.dtype.to_real().itemsize < 4):
        raise RuntimeError(f"linalg.{name}: Expected a floating point or complex tensor as input. Got {layout.dtype.title}")


def right_hand_side(name, A, B):
    """Check that B is a tensor of A's dtype with dimensions. Raises TypeError and RuntimeError."""
    if not isinstance(B, Tensor):
        raise not_a_tensor(f"linalg_{name}", B, "B", 2)
    if not B.layout.ndim:
        raise RuntimeError(f"linalg.{name}: The input tensor B must have at least 2 dimensions.")
    if B.layout.dtype is not A.layout.dtype:
        raise RuntimeError(f"linalg.{name}: Expected A and B to have the same dtype, but found A of type {A.layout.dtype.title} "
                           f"and B of type {B.layout.dtype.title} instead")


def computed_on(device):
    """Where NumPy computes for a device: on the host, and on meta nothing."""
    return device if device.type == "meta" else cpu


def on_host(name, x):
    """The tensor where NumPy computes; warns once where that is a copy."""
    if computed_on(x.layout.device) is x.layout.device:
        return x
    if not _warned:
        _warned.append(name)
        warnings.warn(f"{name} is computed on the host for {x.layout.device}: its operands and results are copied. So are all "
                      f"factorisations and Fourier transforms that no library of the device's computes (numtorch[nvmath])",
                      stacklevel=2)
    return to_device(x.detach(), cpu)


_warned: list = []


def array(x):
    """A tensor's elements as a NumPy array, whatever the tape says of it."""
    return host_array(x if x.layout.contiguous else contiguous(x.detach()))


SHARED = 1 << 16                                         # bytes from which copying takes longer than a storage over NumPy's memory


def _tensor(array, dtype):
    """A result of NumPy as a tensor: a copy of a small one, which takes a third of the time, or over the other's memory."""
    if type(array) is not np.ndarray or array.dtype != dtype.numpy or not array.flags.c_contiguous:
        array = np.array(array, dtype.numpy, order="C")
    return from_numpy(array) if array.nbytes >= SHARED or not array.nbytes else copy_of(array)


def compute(name, layouts, function, *tensors, **options):
    """What a function of the interface gives of tensors, as new tensors of these layouts; without elements, these laid out.

    Raises:
        LinAlgError: factors that do not exist, or that were not found.
    """
    if not has_values(tensors[0]):
        return [empty(layout) for layout in layouts]
    device = layouts[0].device
    if has_kernels(device, "linalg.lapack") and all(x.layout.numel for x in tensors):
        try:
            return getattr(columns, function)(*[x.detach() for x in tensors], **options)
        except columns.Failed as error:
            raise LinAlgError(str(error)) from None
        except (columns.Undecided, NotImplementedError):
            pass                                         # the host looks at it, and says so
    try:
        results = getattr(host, function)(*[array(on_host(f"linalg.{name}", x)) for x in tensors], **options)
    except np.linalg.LinAlgError as error:
        what = str(error)
        if "infs or NaNs" in what:
            raise RuntimeError(f"torch.linalg.{name}: input tensor should not contain infs or NaNs.") from None
        if "Singular" in what:
            what = "The diagonal element of U is zero, the solve could not be completed because the input matrix is singular."
        elif "positive definite" in what:
            what = "The factorization could not be completed because the input is not positive-definite."
        raise LinAlgError(f"linalg.{name}: {what}") from None
    if len(layouts) == 1:
        return [to_device(_tensor(results, layouts[0].dtype), device)]
    return [to_device(_tensor(result, layout.dtype), device) for result, layout in zip(results, layouts)]


def record(primitive, x, results, attributes=None, saved=()):
    """Put the results of a factorisation of x behind it; its derivative needs them, and what is `saved`."""
    if recording(x):
        node = GraphNode(primitive, (x.node,), saved, attributes, outputs=len(results))
        node.save_results(results)
        if len(results) == 1:
            results[0].node = node
        else:
            attach_outputs(node, results)
    return results


def each(layout, *shape, dtype=None):
    """The layout of a result that stands for each matrix of a batch."""
    return Layout.of(dtype or layout.dtype, (*layout.shape[:-2], *shape), None, layout.device)
