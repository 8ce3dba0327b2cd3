"""How many floating-point operations a call takes, from the shapes of its arguments and of its result.

A multiplication and an addition are two. Only what decides a network's cost is counted: products, convolutions, attention, and the
arithmetic of elements.
"""
from __future__ import annotations

from math import prod

ELEMENTWISE = frozenset("add sub mul div rsub truediv pow sqrt exp log tanh sigmoid relu gelu silu".split())


def _shape(shapes, place):
    result = shapes[place] if len(shapes) > place else None
    return result if result and not isinstance(result[0], list) else None


def flops_of(name: str, shapes: list, out: list | None) -> int:
    """The floating-point operations of a call; 0 where they are not known.

    Args:
        name: of the op, such as `"matmul"`.
        shapes: of its positional arguments, [] for what is no tensor.
        out: of its result.

    Example:
        >>> from numtorch.profiler.flops import flops_of
        >>> flops_of("matmul", [[2, 3], [3, 4]], [2, 4])
        48
    """
    if out is None:
        return 0
    if name in ("matmul", "mm", "bmm", "mv", "dot", "linear"):
        first = _shape(shapes, 0)
        return 2 * prod(out) * first[-1] if first and _shape(shapes, 1) else 0
    if name in ("addmm", "baddbmm", "addmv"):
        second = _shape(shapes, 1)
        return 2 * prod(out) * second[-1] if second else 0
    if name.startswith("conv"):
        weight, moved = _shape(shapes, 1), _shape(shapes, 0) if name.startswith("conv_transpose") else out
        return 2 * prod(moved) * prod(weight[1:]) if weight and moved else 0
    if name == "scaled_dot_product_attention":
        query, key, value = (_shape(shapes, i) for i in range(3))
        return 2 * prod(query[:-1]) * key[-2] * (query[-1] + value[-1]) if query and key and value else 0
    if name in ELEMENTWISE:
        return prod(out)
    return 0
