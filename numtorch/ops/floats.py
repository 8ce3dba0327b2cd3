"""Floating-point numbers as mantissa and exponent, and the number next to another; places in a tensor from flat ones."""
from __future__ import annotations

from collections import namedtuple

import numpy as np

from ..autograd.graph import GraphNode, recording
from ..dtypes import int32
from ..layout import as_shape
from ..tensor import Tensor
from . import lapack
from .arithmetic import floor_divide, remainder
from .numbers import ldexp
from .op import method, result_dtype
from .resize import into, into_all

Frexp = namedtuple("frexp", ["mantissa", "exponent"])


def _float_only(name, x):
    if x.layout.dtype.name not in ("float16", "float32", "float64"):
        raise RuntimeError(f"{name} only supports floating-point dtypes, got {x.layout.dtype.title}")


@method
def frexp(input, *, out=None):
    """mantissa * 2**exponent, elementwise: the mantissa of magnitude in [0.5, 1) or 0, the exponent an int32.

    Example:
        >>> import numtorch as torch
        >>> torch.frexp(torch.tensor([8.0])).exponent
        tensor([4], dtype=torch.int32)
    """
    _float_only("torch.frexp()", input)
    mantissa, exponent = np.frexp(lapack.array(input))
    results = [*lapack.tensors([mantissa], input.layout.dtype), *lapack.tensors([exponent], int32)]
    if recording(input):
        results[0].node = GraphNode("frexp", (input.node,), (results[1],), _frexp_vjp)
    return into_all(out, Frexp(*results))


def _frexp_vjp(node, grad):
    return (ldexp(grad, -node.tensors()[0]),)


@method
def nextafter(input, other, *, out=None) -> Tensor:
    """The number of the dtype that comes after `input` on the way to `other`, elementwise."""
    for x in (input, other):
        _float_only("nextafter", x)
    kind = result_dtype([input.layout, other.layout])
    values = np.nextafter(lapack.array(input.to(kind)), lapack.array(other.to(kind)))
    return into(out, lapack.tensors([values], kind)[0])


def unravel_index(indices, shape):
    """The places in a tensor of a shape that flat places stand for: a tensor of indices for each dimension.

    Raises:
        ValueError: a flat place beyond the shape.

    Example:
        >>> import numtorch as torch
        >>> torch.unravel_index(torch.tensor([5, 3]), (2, 3))
        (tensor([1, 1]), tensor([2, 0]))
    """
    shape = as_shape((shape,), "unravel_index")
    if indices.layout.dtype.category != 1:
        raise ValueError(f"expected 'indices' to be integer dtype, but got {indices.layout.dtype}")
    count = 1
    for n in shape:
        count *= n
    if indices.layout.numel and (indices.min().item() < 0 or indices.max().item() >= count):
        raise ValueError(f"'indices' must be in [0, {count}) for shape {tuple(shape)}")
    found = []
    for n in reversed(shape):
        found.append(remainder(indices, n))
        indices = floor_divide(indices, n)
    return tuple(reversed(found))
