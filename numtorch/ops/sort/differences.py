"""Estimated slopes of samples: `torch.gradient`."""
from __future__ import annotations

from ...layout import wrap_dims
from ...tensor import Tensor
from ..core.arguments import integer, numpy_keywords, scalar
from ..core.operands import layout_of
from ..memory.copies import to_dtype
from ..shape.join import cat
from ..shape.slicing import narrow
from ..shape.views import reshape


def _slope(x, dim, spacing, edge_order):
    """The slope along a dimension by second-order differences inside and one-sided ones at both ends (Fornberg 1988)."""
    n = x.layout.shape[dim]
    before, here, after = narrow(x, dim, 0, n - 2), narrow(x, dim, 1, n - 2), narrow(x, dim, 2, n - 2)
    shape = [1] * x.layout.ndim
    if isinstance(spacing, Tensor):
        step = narrow(spacing, 0, 1, n - 1) - narrow(spacing, 0, 0, n - 1)
        shape[dim] = n - 1
        step = reshape(step, shape)
        left, right = narrow(step, dim, 0, n - 2), narrow(step, dim, 1, n - 2)
        weighted = left * left * after + (right * right - left * left) * here - right * right * before
        inside = weighted / (left * right * (left + right))
        ends = [(narrow(step, dim, i, 1), narrow(step, dim, j, 1)) for i, j in ((0, min(1, n - 2)), (n - 2, max(n - 3, 0)))]
    else:
        inside = (after - before) / (2 * spacing)
        ends = [(spacing, spacing)] * 2
    if edge_order == 1:
        first = (narrow(x, dim, 1, 1) - narrow(x, dim, 0, 1)) / ends[0][0]
        last = (narrow(x, dim, n - 1, 1) - narrow(x, dim, n - 2, 1)) / ends[1][0]
    else:
        first = _end([narrow(x, dim, i, 1) for i in (0, 1, 2)], *ends[0])
        last = -_end([narrow(x, dim, n - 1 - i, 1) for i in (0, 1, 2)], *ends[1])
    return cat([first, inside, last], dim)


def _end(values, near, far):
    """The slope at the first of three samples that are `near` and `far` apart."""
    a, b, c = values
    return ((near + far) / (near * far)) * b - ((2 * near + far) / (near * (near + far))) * a - (near / (far * (near + far))) * c


@numpy_keywords
def gradient(input, *, spacing=1, dim=None, edge_order: int = 1) -> tuple:
    """The slopes of samples along each dimension, or those of `dim`: second-order differences inside (Fornberg 1988).

    Args:
        input: at least `edge_order` + 1 samples along each dimension.
        spacing: how far samples are apart, 1 when None: a number, one for each dimension, or for each a vector of places.
        dim: an int or several; all when None.
        edge_order: 1 or 2, the order of the differences at both ends.

    Returns:
        A tuple with a tensor of the input's shape for each dimension.

    Raises:
        RuntimeError: another order, too few samples, or spacings that do not go with the dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.gradient(torch.tensor([1., 2., 4., 7.]))
        (tensor([1.0000, 1.5000, 2.5000, 3.0000]),)
    """
    edge_order = integer("gradient", "edge_order", edge_order)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    if dim is not None and not isinstance(dim, (list, tuple)):
        dim = integer("gradient", "dim", dim)
    dims = wrap_dims(tuple(dim) if isinstance(dim, list) else dim, layout_of("gradient", input).ndim)
    if isinstance(spacing, Tensor) and not spacing.layout.ndim:
        spacing = scalar("gradient", "spacing", spacing)
    if isinstance(spacing, (list, tuple)):
        given = list(spacing)
        if len(given) != len(dims):
            raise RuntimeError("torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
                               f"{len(dims)}, one for each dimension, but got a list of length {len(given)}")
    else:
        given = [1 if spacing is None else spacing] * len(dims)
    x = input
    if input.layout.dtype.category < 2:
        x = to_dtype(input, (input / 1).layout.dtype)
    for d, each in zip(dims, given):
        n = input.layout.shape[d]
        if n < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
        if isinstance(each, Tensor) and (each.layout.ndim != 1 or each.layout.shape[0] != n):
            raise RuntimeError("torch.gradient expected each element of the coordinates to have the size of its dimension, "
                               f"{n}, but got {list(each.layout.shape)}")
    return tuple([_slope(x, d, each, edge_order) for d, each in zip(dims, given)])
