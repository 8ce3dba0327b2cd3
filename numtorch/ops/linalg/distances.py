"""Distances: of two tensors, and of all pairs of points."""
from __future__ import annotations

from math import inf, prod

from ...autograd.graph import recording
from ...kernels.threads import NOTHING
from ...layout import Layout
from ...tensor import Tensor, empty
from ..core.arguments import expect_dtypes, expect_layout, real
from ..core.backends import device_with, kernels
from ..core.operands import class_of, layout_of, method
from ..core.primitive import Primitive
from ..creation.fill import zeros_like
from ..index.triangles import triu_indices
from ..memory.copies import contiguous
from ..pointwise.functions import where
from ..reduce.reductions import norm
from ..shape.join import cat
from .matmul import matmul

CDIST = Primitive("cdist", samples="T[2, 3], T[4, 3]; 2.0")
PDIST = Primitive("pdist", samples="T[4, 3]; 2.0")
PDIST_GRAD = Primitive("pdist_grad", samples="T[4, 3], T[6], T[6]; 2.0")

_MODES = {"use_mm_for_euclid_dist_if_necessary": 25, "use_mm_for_euclid_dist": 0}  # more points: by a product
_DIFFERENCES = 1 << 22                                   # that are in memory at once
_PAIRS = 1 << 16                                         # numbers of few points, whose differences are one operation


def cdist(x1, x2, p: float = 2.0, compute_mode="use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The p-norms of the differences of all points of one set and all of another.

    Args:
        x1: (*, P, M). x2: (*, R, M), whose leading dimensions broadcast with those of x1.
        compute_mode: Euclidean distances of more than 25 points are computed as |x|² + |y|² - 2 x·y, one matrix product, which is
            less exact for points that are close to each other; "use_mm_for_euclid_dist" asks for it always,
            "donot_use_mm_for_euclid_dist" never.

    Returns:
        (*, P, R).

    Raises:
        RuntimeError: fewer than two dimensions, no floating-point numbers, points of two sizes, or a negative p.
        ValueError: another compute_mode.

    Example:
        >>> import numtorch as torch
        >>> torch.cdist(torch.tensor([[0.0, 0.0], [3.0, 4.0]]), torch.tensor([[0.0, 0.0]]))
        tensor([[0.],
                [5.]])
    """
    for position, x in enumerate((x1, x2), 1):
        if layout_of("cdist", x, f"x{position}", position).ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, X{position} got: {x.layout.ndim}D")
        if not x.layout.dtype.is_floating_point:
            raise RuntimeError(f"cdist only supports floating-point dtypes, X{position} got: {x.layout.dtype.title}")
    if x1.layout.shape[-1] != x2.layout.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.layout.shape[-1]} X2: "
                           f"{x2.layout.shape[-1]}")
    p = real("cdist", "p", p)
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode not in _MODES and compute_mode != "donot_use_mm_for_euclid_dist":
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    points, others, features = x1.layout.shape[-2], x2.layout.shape[-2], x1.layout.shape[-1]
    if p == 2 and compute_mode in _MODES and max(points, others) > _MODES[compute_mode]:
        return _euclidean(x1, x2)
    if not recording(x1, x2) and x1.layout.dtype is x2.layout.dtype and x1.layout.shape[:-2] == x2.layout.shape[:-2] \
            and _has_kernel(x1.layout) and x2.layout.device is x1.layout.device:
        return _pairs(contiguous(x1), contiguous(x2), float(p))
    some = max(1, _DIFFERENCES // max(1, others * features))
    parts = [norm(part.unsqueeze(-2) - x2.unsqueeze(-3), p, -1) for part in x1.split(some, -2)]
    return parts[0] if len(parts) == 1 else cat(parts, -2)


_KERNELS = ("float32", "float64")                        # what they take; others, and what is recorded, are differences in memory
_COLUMNS = 2048                                          # differences from which turning a set over pays


def _has_kernel(layout):
    return layout.dtype.name in _KERNELS and device_with(layout.device, "linalg.distances") is layout.device


def _by_columns(layout, features, p):
    """Whether the kernel takes the second set with its points as columns."""
    return layout.numel * features >= _COLUMNS and not kernels(layout.device, "linalg.distances").goes_along(features, p)


@CDIST.planned
def _plan_pairs(first, second, p):
    expect_dtypes("cdist", first.dtype, *_KERNELS)
    expect_layout("cdist", "x2", second, (*first.shape[:-2], *second.shape[-2:-1], first.shape[-1]), first.dtype)
    (*batch, rows, features), others = first.shape, second.shape[-2]
    layout = Layout.of(first.dtype, (*batch, rows, others), None, first.device)
    columns = _by_columns(layout, features, p)
    return layout, columns, kernels(first.device, "linalg.distances").plan_pairs(
        first.dtype.kernel, rows, others, features, prod(batch), p, columns) if layout.numel else NOTHING


@CDIST.run
def _pairs(plan, x1: Tensor, x2: Tensor, p: float):
    """Of contiguous sets of one dtype."""
    layout, columns, prepared = plan
    out, others = empty(layout), contiguous(x2.mT) if columns else x2        # whose memory a name keeps until the kernel is done
    prepared.call(x1.address, others.address, out.address, prepared.descriptor)
    return out


def _euclidean(x1, x2):
    squares = (x1 * x1).sum(-1, keepdim=True) + (x2 * x2).sum(-1).unsqueeze(-2) - matmul(x1, x2.transpose(-1, -2)) * 2
    apart = squares > 0                                  # a distance of 0 has no slope; rounding may leave less
    return where(apart, where(apart, squares, 1.0).sqrt(), 0.0)


def pdist(input, p: float = 2.0) -> Tensor:
    """The p-norms of the differences of every two rows of a matrix.

    Args:
        input: (N, M).
        p: 0 or more, as for `norm`.

    Returns:
        (N (N - 1) / 2,), in the order of `triu_indices(N, N, 1)`.

    Raises:
        RuntimeError: not a matrix of floating-point numbers, or a negative p.

    Example:
        >>> import numtorch as torch
        >>> torch.pdist(torch.tensor([[0., 0.], [3., 4.], [0., 1.]]))
        tensor([5.0000, 1.0000, 4.2426])
    """
    if layout_of("pdist", input).ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.layout.ndim}D")
    if not input.layout.dtype.is_floating_point:
        raise RuntimeError(f"pdist only supports floating-point dtypes, got: {input.layout.dtype.title}")
    p = real("pdist", "p", p)
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    count, features = input.layout.shape
    if _has_kernel(input.layout):
        return _every_two(contiguous(input), float(p))
    if count > 1 and count * count * features > _PAIRS:
        return cat([norm(input[i + 1:] - input[i], p, -1) for i in range(count - 1)])
    first, second = triu_indices(count, count, 1, device=input.layout.device).unbind()
    return norm(input.index_select(0, first) - input.index_select(0, second), p, -1)


@PDIST.planned
def _plan_every_two(layout, p):
    expect_dtypes("pdist", layout.dtype, *_KERNELS)
    rows, features = layout.shape
    out = Layout.of(layout.dtype, (rows * (rows - 1) // 2,), None, layout.device)
    columns = _by_columns(out, features, p)
    return out, columns, kernels(layout.device, "linalg.distances").plan_every_two(
        layout.dtype.kernel, rows, features, p, columns) if out.numel else NOTHING


@PDIST.run
def _every_two(plan, input: Tensor, p: float):
    """Of a contiguous matrix."""
    layout, columns, prepared = plan
    out, others = empty(layout), contiguous(input.detach().mT) if columns else input
    prepared.call(input.address, others.address, out.address, prepared.descriptor)
    return PDIST.recorded(out, (input,), (input,), p, saves_result=True)


@PDIST.derivative
def _every_two_vjp(node, grad, x, distances):
    p = node.attributes
    if p == 0 or not x.layout.numel or not distances.layout.numel:
        return (zeros_like(x),)
    if recording(x, grad):
        return (_slopes(x, grad, distances, p),)
    return (_every_two_grad(x, contiguous(grad), distances, p),)


@PDIST_GRAD.planned
def _plan_every_two_grad(layout, grad, distances, p):
    expect_dtypes("pdist_grad", layout.dtype, *_KERNELS)
    if layout.ndim != 2:
        raise RuntimeError(f"pdist_grad: expected input of 2 dimensions, got {list(layout.shape)}")
    pairs = (layout.shape[0] * (layout.shape[0] - 1) // 2,)
    expect_layout("pdist_grad", "grad", grad, pairs, layout.dtype)
    expect_layout("pdist_grad", "distances", distances, pairs, layout.dtype)
    return kernels(layout.device, "linalg.distances").plan_slopes_of_every_two(layout.dtype.kernel, *layout.shape, p)


@PDIST_GRAD.run
def _every_two_grad(prepared, input: Tensor, grad: Tensor, distances: Tensor, p):
    out = empty(input.layout)
    prepared.call(input.address, grad.address, distances.address, out.address, prepared.descriptor)
    return out


def _slopes(x, grad, distances, p):
    """The gradient as ops, which have gradients in turn."""
    first, second = triu_indices(len(x), len(x), 1, device=x.layout.device).unbind()
    differences = x.index_select(0, first) - x.index_select(0, second)
    same, distances = (distances == 0).unsqueeze(1), distances.unsqueeze(1)
    share = where(same, 0.0, grad.unsqueeze(1) / where(same, 1.0, distances) ** (0.0 if p in (1, inf) else p - 1))
    if p == inf:
        slope = where(abs(differences) == distances, differences.sign(), 0.0)
    elif p == 2:
        slope = differences
    else:
        size = where(differences == 0, 1.0, abs(differences))
        slope = differences.sign() * size ** (p - 1)
    result = share * slope
    return zeros_like(x).index_add(0, first, result).index_add(0, second, -result)


@method
def dist(input, other, p: float = 2) -> Tensor:
    """The p-norm of the difference of two tensors.

    Args:
        input, other: of shapes that broadcast.
        p: any number, as for `norm`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([3., 4.]).dist(torch.tensor([0., 0.]))
        tensor(5.)
    """
    if not isinstance(other, Tensor):
        raise TypeError(f"dist(): argument 'other' must be Tensor, not {class_of(other)}")
    return norm(input - other, p)
