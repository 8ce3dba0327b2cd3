"""Norms under the names that they had before `torch.linalg`."""
from __future__ import annotations

from ...layout import ints, wrap_dim
from ...tensor import Tensor
from ..core.arguments import numpy_keywords
from ..core.operands import layout_of
from ..memory.resize import into_exactly
from ..reduce.reductions import norm
from ..shape.views import reshape
from .matrices import matrix_norm, vector_norm


@numpy_keywords
def frobenius_norm(input, dim, keepdim: bool = False, *, out=None) -> Tensor:
    """`torch.linalg.vector_norm(input, 2, dim)` of at most two dimensions, under its older name.

    Args:
        input: (*), floating point or complex.
        dim: one dimension or two; none for all there are.
        keepdim: whether they stay, of extent 1.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: three dimensions, or an integer tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.frobenius_norm(torch.tensor([[3., 4.], [0., 0.]]), (0, 1))
        tensor(5.)
    """
    layout_of("frobenius_norm", input)
    dims = (dim,) if isinstance(dim, int) else ints(dim, "dim")
    if len(dims) > 2:
        raise RuntimeError(f"frobenius_norm: Expected at most 2 dimensions, but got {len(dims)} dimensions instead.")
    return into_exactly("frobenius_norm", out, vector_norm(input, 2, dims or None, keepdim))


@numpy_keywords
def nuclear_norm(input, dim=(-2, -1), keepdim: bool = False, *, out=None) -> Tensor:
    """`torch.linalg.matrix_norm(input, "nuc", dim)`, the sum of the singular values, under its older name.

    Args:
        input: (*, m, n), or with `dim` matrices in any two dimensions.
        dim: the two dimensions; a bool is taken for `keepdim`.
        keepdim: whether they stay, of extent 1.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: fewer than two dimensions, or one dimension twice.

    Example:
        >>> import numtorch as torch
        >>> torch.nuclear_norm(torch.tensor([[3., 0.], [0., 4.]]))
        tensor(7.)
    """
    if isinstance(dim, bool):
        dim, keepdim = (-2, -1), dim
    layout_of("nuclear_norm", input)
    return into_exactly("nuclear_norm", out, matrix_norm(input, "nuc", dim, keepdim))


def norm_except_dim(v, pow=2, dim: int = 0) -> Tensor:
    """The norms along all dimensions but one, which broadcast against the tensor.

    Args:
        v: (*), floating point or complex.
        pow: the order of the norm.
        dim: the dimension that stays; -1 for none, which gives the norm of all elements.

    Example:
        >>> import numtorch as torch
        >>> torch.norm_except_dim(torch.tensor([[3., 4.], [0., 1.]]))
        tensor([[5.],
                [1.]])
    """
    layout = layout_of("norm_except_dim", v, "v")
    if dim == -1:
        return norm(v, pow)
    kept = wrap_dim(dim, layout.ndim)
    others = tuple([d for d in range(layout.ndim) if d != kept])
    return norm(v, pow, others, True) if others else reshape(norm(reshape(v, -1, 1), pow, 1), layout.shape)
