"""How cost grows with size: the same operation over several decades. `--plot` draws each group as a line."""
from __future__ import annotations

from .runner.case import Case, normal

DECADES = [10 ** e for e in (2, 3, 4, 5, 6, 7)]


def _elements(group, expression, sizes=DECADES, inputs=1):
    return [Case(f"{group}, {size:,} elements", (normal(size),) * inputs, expression, group=group, size=size)
            for size in sizes]


def _rows(group, expression, width=128):
    return [Case(f"{group}, {rows}×{width}", (normal(rows, width),), expression, group=group, size=rows * width)
            for rows in (8, 64, 512, 4096, 32768)]


def _square(size):
    return Case(f"matrix product, {size}³", (normal(size, size), normal(size, size)), lambda torch, a, b: a @ b,
                flops=2.0 * size ** 3, tolerance=1e-3, group="matrix product", size=2.0 * size ** 3)


def _batch(count):
    flops = 2.0 * count * 28 * 28 * 32 * 32 * 9
    return Case(f"conv2d, {count}×32×28×28 ∗ 32×32×3×3", (normal(count, 32, 28, 28), normal(32, 32, 3, 3)),
                lambda torch, x, w: torch.nn.functional.conv2d(x, w, None, 1, 1), flops=flops, tolerance=1e-3, group="conv2d",
                size=flops)


CASES = [
    *_elements("a + b", lambda torch, a, b: a + b, inputs=2),
    *_elements("exp", lambda torch, a: torch.exp(a)),
    *_elements("sum", lambda torch, a: a.sum()),
    *_elements("cumsum", lambda torch, a: torch.cumsum(a, 0), DECADES[:-1]),
    *_rows("softmax", lambda torch, x: torch.softmax(x, 1)),
    *[_square(size) for size in (16, 64, 256, 512, 1024)],
    *[_batch(count) for count in (1, 4, 16, 64)],
]
