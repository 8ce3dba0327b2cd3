"""Floating-point numbers as mantissa and exponent, and the number next to another; places in a tensor from flat ones."""
from __future__ import annotations

from collections import namedtuple

from ..autograd.graph import GraphNode, recording
from ..dtypes import int16, int32, int64
from ..layout import as_shape
from ..tensor import Tensor
from .arithmetic import floor_divide, remainder
from .copy import contiguous
from .numbers import ldexp
from .op import method, result_dtype
from .operators import where
from .query import broadcast_tensors
from .resize import into, into_all

Frexp = namedtuple("frexp", ["mantissa", "exponent"])


def _float_only(name, x):
    if not x.layout.dtype.is_floating_point:
        raise RuntimeError(f"{name} only supports floating-point dtypes, got {x.layout.dtype.title}")


_FORMS = {                                               # a word of as many bits, bits of the fraction, bias
    "bfloat16": (int16, 7, 127), "float16": (int16, 10, 15), "float32": (int32, 23, 127), "float64": (int64, 52, 1023),
}


@method
def frexp(input, *, out=None):
    """mantissa * 2**exponent, elementwise: the mantissa of magnitude in [0.5, 1) or 0, the exponent an int32.

    Infinities and NaN are their own mantissas, with an exponent of 0.

    Example:
        >>> import numtorch as torch
        >>> torch.frexp(torch.tensor([8.0])).exponent
        tensor([4], dtype=torch.int32)
    """
    _float_only("torch.frexp()", input)
    word, fraction, bias = _FORMS[input.layout.dtype.name]
    field = 2 * bias + 1
    x = contiguous(input.detach())
    small = abs(x) < 2.0 ** (1 - bias)                   # subnormal numbers get an exponent by a factor
    bits = where(small, x * 2.0 ** fraction, x).view(word)
    exponent = (bits >> fraction) & field
    plain = (x != 0) & (exponent != field)
    mantissa = where(plain, ((bits & ~(field << fraction)) | ((bias - 1) << fraction)).view(x.layout.dtype), x)
    results = [mantissa, where(plain, exponent.to(int32) - (bias - 1) - small * fraction, 0).to(int32)]
    if recording(input):
        results[0].node = GraphNode("frexp", (input.node,), (results[1],), _frexp_vjp)
    return into_all(out, Frexp(*results))


def _frexp_vjp(node, grad):
    return (ldexp(grad, -node.tensors()[0]),)


@method
def nextafter(input, other, *, out=None) -> Tensor:
    """The number of the dtype that comes after `input` on the way to `other`, elementwise.

    Numbers of one sign are in the order of their bits, so the next one is a bit more or less.
    """
    for x in (input, other):
        _float_only("nextafter", x)
    kind = result_dtype([input.layout, other.layout])
    x, y = (contiguous(t) for t in broadcast_tensors(input.detach().to(kind), other.detach().to(kind)))
    word = _FORMS[kind.name][0]
    bits = x.view(word)
    beyond = bits + where((x < y) == (x > 0), 1, -1).to(word)
    least = (y.view(word) & -(1 << 8 * kind.itemsize - 1)) | 1          # the smallest number, with the sign of y
    stepped = where(x == 0, least, beyond).view(kind)
    return into(out, where(x == y, y, where((x != x) | (y != y), x + y, stepped)))


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
