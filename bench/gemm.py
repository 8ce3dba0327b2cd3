"""Matrix products: square in every transpose, small, skinny, batched, fused, and in other dtypes."""
from __future__ import annotations

import numpy as np

from .runner.case import BOTH, Case, backward, integers, normal

ORDERS = {"": lambda torch, a, b: a @ b,
          ", A transposed": lambda torch, a, b: a.t() @ b,
          ", B transposed": lambda torch, a, b: a @ b.t()}
NUMPY = {"": True, ", A transposed": lambda np, a, b: a.T @ b, ", B transposed": lambda np, a, b: a @ b.T}


def _square(size, order, dtypes=BOTH):
    return Case(f"{size}³{order}", (normal(size, size), normal(size, size)), ORDERS[order], budget=1.0 if size >= 32 else 0.7,
                dtypes=dtypes, flops=2.0 * size ** 3, numpy=NUMPY[order], tolerance=1e-3, group="square")


def _product(rows, columns, depth, order="", **more):
    a = (depth, rows) if "A" in order else (rows, depth)
    b = (columns, depth) if "B" in order else (depth, columns)
    return Case(f"{rows}×{columns}×{depth}{order}", (normal(*a), normal(*b)), ORDERS[order], flops=2.0 * rows * columns * depth,
                numpy=NUMPY[order], tolerance=1e-3, group="skinny", **more)


def _fused(name, shapes, flops, expression, **more):
    return Case(name, tuple(normal(*s) for s in shapes), expression, flops=flops, tolerance=1e-3, group="fused and batched", **more)


LINEAR = _fused("linear 64×784→128", ((64, 784), (128, 784), (128,)), 2.0 * 64 * 784 * 128,
                lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), dtypes=BOTH)

CASES = [
    *[_square(size, "") for size in (8, 16, 24)],
    *[_square(size, order) for size in (32, 64, 128, 256, 512, 1024, 2048) for order in ORDERS],

    _product(64, 128, 784), _product(64, 128, 784, ", B transposed"),
    _product(128, 784, 64, ", A transposed"), _product(512, 128, 8, ", A transposed"), _product(784, 128, 16, ", A transposed"),
    _product(64, 1000, 1000, dtypes=BOTH), _product(128, 512, 1024, dtypes=BOTH),
    _product(4, 4096, 1024), _product(4096, 4, 1024), _product(256, 4, 1024), _product(8, 512, 512, ", B transposed"),
    _product(16, 16, 65536), _product(4096, 4096, 16), _product(1000, 1000, 16), _product(65536, 64, 64),
    _product(1000, 1001, 997),
    *[Case(f"matrix × vector, {m}×{n}{', transposed' if t else ''}", (normal(m, n), normal(m if t else n)),
           (lambda torch, a, x: a.t() @ x) if t else (lambda torch, a, x: a @ x), dtypes=BOTH, flops=2.0 * m * n,
           numpy=(lambda np, a, x: a.T @ x) if t else True, tolerance=1e-3, group="skinny")
      for m, n in ((128, 128), (1024, 1024), (4096, 1024)) for t in (False, True)],

    LINEAR, backward(LINEAR),
    _fused("linear and relu 64×784→128", ((64, 784), (128, 784), (128,)), 2.0 * 64 * 784 * 128,
           lambda torch, x, w, b: torch.relu(torch.nn.functional.linear(x, w, b))),
    _fused("addmm(c, a, b, beta=0.5, alpha=2), 512³", ((512, 512),) * 3, 2.0 * 512 ** 3,
           lambda torch, c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2)),
    _fused("bmm 64×(32×32×32)", ((64, 32, 32), (64, 32, 32)), 64 * 2.0 * 32 ** 3, lambda torch, a, b: torch.bmm(a, b),
           numpy=lambda np, a, b: a @ b),
    _fused("bmm 16×(128×64×128), B transposed", ((16, 128, 128), (16, 64, 128)), 16 * 2.0 * 128 * 64 * 128,
           lambda torch, a, b: torch.bmm(a, b.transpose(1, 2)), numpy=lambda np, a, b: a @ b.transpose(0, 2, 1)),
    _fused("(8, 12, 128, 64) @ (8, 12, 64, 128)", ((8, 12, 128, 64), (8, 12, 64, 128)), 96 * 2.0 * 128 * 64 * 128,
           lambda torch, a, b: a @ b, numpy=True),
    _fused("strided: a[:, ::2] @ b, 512×512×1024", ((512, 1024), (512, 512)), 2.0 * 512 ** 3, lambda torch, a, b: a[:, ::2] @ b),

    *[Case(f"{size}³", (normal(size, size), normal(size, size)), ORDERS[""], dtypes=("bfloat16", "float16"), flops=2.0 * size ** 3,
           group="other dtypes") for size in (128, 256, 512, 1024)],
    *[Case(f"{size} of {kind.__name__}{order}",
           (integers(rows, depth, low=-9, high=9, kind=kind),
            integers(*((columns, depth) if order else (depth, columns)), low=-9, high=9, kind=kind)),
           ORDERS[order], numpy=NUMPY[order], group="other dtypes")
      for kind in (np.int8, np.int32, np.int64)
      for size, rows, columns, depth, order in (("256³", 256, 256, 256, ""), ("4×1024×4096", 4, 1024, 4096, ", B transposed"))],
]
