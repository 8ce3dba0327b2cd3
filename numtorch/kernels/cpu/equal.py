"""Whether two tensors hold the same elements: looked at until the first block that differs."""
from __future__ import annotations

from numpy import int32

from ..intrinsics import offset
from .elements import itemsize, prepare_parts, same, shares, typed

load = same
BLOCK = 512                                              # elements between two looks at the answer
GRAIN = 50_000


def differs(x, y, out, walk):
    """walk: elements. `out` is 1 where some differ, else 0."""
    n = walk[0]
    out[0] = 0
    for start in range(0, n, BLOCK):
        a, b = offset(x, start), offset(y, start)
        unlike = int32(0)
        for i in range(min(n - start, BLOCK)):
            unlike = int32(unlike + int32(load(a[i]) != load(b[i])))
        if unlike != 0:
            out[0] = 1
            return


def plan_differs(dtype: str, n: int):
    """Addresses: x and y (n each, dense), an int64 for each part. Returns the kernel and how many parts it has."""
    parts = shares(n, n, GRAIN, BLOCK)
    kernel = typed(differs, dtype, ("element*", "element*", "int64*", "int64*"))
    size = itemsize(dtype)
    return prepare_parts(kernel, [(stop - start,) for start, stop in parts],
                         [(start * size, start * size, 8 * place) for place, (start, _) in enumerate(parts)], n), len(parts)
