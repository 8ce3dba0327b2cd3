"""Reductions over any axes, scans, and what sorts."""
from __future__ import annotations

from .runner.case import BOTH, Case, integers, normal, with_backward

FLAT, SQUARE, MIDDLE = normal(1 << 20), normal(1024, 1024), normal(32, 1024, 64)
FAST = 0.6                                               # the budget of what PyTorch computes slowly


def _reduction(name, inputs, expression, numpy=True, budget=1.0, dtypes=BOTH):
    return Case(name, (inputs,), expression, numpy=numpy, budget=budget, dtypes=dtypes, group="reductions")


def _sorting(name, inputs, expression, numpy=True, **more):
    return Case(name, inputs, expression, numpy=numpy, group="scans, sorting and counting", **more)


def _equality(torch, x):
    same = x.clone()
    return lambda: torch.equal(x, same)


CASES = [
    _reduction("sum, 2²⁰", FLAT, lambda torch, x: x.sum()),
    Case("dot, 2²⁰", (FLAT, FLAT), lambda torch, x, y: torch.dot(x, y), numpy=True, dtypes=BOTH, tolerance=1e-3,
         group="reductions"),
    Case("equal, 2²⁰", (FLAT,), setup=_equality, moved=2.0 * (1 << 20), group="reductions"),
    _reduction("sum(1), 1024×1024", SQUARE, lambda torch, x: x.sum(1)),
    _reduction("sum(0), 1024×1024", SQUARE, lambda torch, x: x.sum(0)),
    _reduction("sum(1), 32×1024×64", MIDDLE, lambda torch, x: x.sum(1)),
    _reduction("sum((0, 2, 3)), 32×64×28×28", normal(32, 64, 28, 28), lambda torch, x: x.sum((0, 2, 3)), dtypes=("float32",)),
    _reduction("mean(1) of a transposed 1024×1024", SQUARE, lambda torch, x: x.t().mean(1), lambda np, x: x.T.mean(1),
               dtypes=("float32",)),
    _reduction("max, 2²⁰", FLAT, lambda torch, x: x.max()),
    _reduction("amax(1), 1024×1024", SQUARE, lambda torch, x: torch.amax(x, 1)),
    _reduction("max(0) with indices, 1024×1024", SQUARE, lambda torch, x: x.max(0), False, dtypes=("float32",)),
    _reduction("max(0) with indices, 100000×8", normal(100_000, 8), lambda torch, x: x.max(0), False, dtypes=("float32",)),
    _reduction("argmax(1), 100000×8", normal(100_000, 8), lambda torch, x: x.argmax(1), dtypes=("float32",)),
    _reduction("argmax, 2²⁰", FLAT, lambda torch, x: x.argmax(), budget=FAST),
    _reduction("argmax(1), 1024×1024", SQUARE, lambda torch, x: x.argmax(1), budget=FAST),
    _reduction("var, 2²⁰", FLAT, lambda torch, x: x.var(), lambda np, x: x.var(ddof=1), FAST),
    _reduction("var(0), 1024×1024", SQUARE, lambda torch, x: x.var(0), lambda np, x: x.var(0, ddof=1), FAST),
    _reduction("std(1), 1024×1024", SQUARE, lambda torch, x: x.std(1), lambda np, x: x.std(1, ddof=1), FAST),
    _reduction("logsumexp(1), 1024×1024", SQUARE, lambda torch, x: torch.logsumexp(x, 1), False),
    _reduction("linalg norm, 2²⁰", FLAT, lambda torch, x: torch.norm(x), lambda np, x: np.linalg.norm(x)),
    _reduction("prod(1), 1024×1024", SQUARE, lambda torch, x: torch.prod(x, 1), lambda np, x: np.prod(x, 1), dtypes=("float32",)),
    _reduction("(x > 0).all(1), 1024×1024", SQUARE, lambda torch, x: (x > 0).all(1), dtypes=("float32",)),
    *[Case(f"sum, 2²⁰, {dtype}", (FLAT,), lambda torch, x: x.sum(), dtypes=(dtype,), group="reductions")
      for dtype in ("float16", "bfloat16")],

    _sorting("cumsum, 2²⁰", (FLAT,), lambda torch, x: torch.cumsum(x, 0), lambda np, x: np.cumsum(x), dtypes=BOTH, tolerance=1e-3),
    _sorting("cumsum(1), 1024×1024", (SQUARE,), lambda torch, x: torch.cumsum(x, 1), lambda np, x: np.cumsum(x, 1)),
    _sorting("cumsum(0), 1024×1024", (SQUARE,), lambda torch, x: torch.cumsum(x, 0), lambda np, x: np.cumsum(x, 0)),
    _sorting("cumsum(0), 262144×3", (normal(262_144, 3),), lambda torch, x: torch.cumsum(x, 0), lambda np, x: np.cumsum(x, 0),
             tolerance=1e-3),
    _sorting("sort, 10⁵", (normal(100_000),), lambda torch, x: torch.sort(x)[0], lambda np, x: np.sort(x), dtypes=BOTH),
    _sorting("argsort(1), 1024×256", (normal(1024, 256),), lambda torch, x: torch.argsort(x, 1), lambda np, x: np.argsort(x, 1)),
    _sorting("sort(1), 1024×32", (normal(1024, 32),), lambda torch, x: torch.sort(x, 1)[0], lambda np, x: np.sort(x, 1),
             dtypes=BOTH),
    _sorting("median(1), 64×64", (normal(64, 64),), lambda torch, x: x.median(1)[0], False),
    _sorting("topk(10), 128×10⁴", (normal(128, 10_000),), lambda torch, x: torch.topk(x, 10)[0], False),
    _sorting("median(1), 1024×256", (normal(1024, 256),), lambda torch, x: x.median(1)[0], False),
    _sorting("unique of 10⁵ integers below 1000", (integers(100_000, high=1000),), lambda torch, x: torch.unique(x),
             lambda np, x: np.unique(x)),
    _sorting("bincount of 10⁶ below 1000", (integers(1_000_000, high=1000),), lambda torch, x: torch.bincount(x),
             lambda np, x: np.bincount(x)),

    *[c for case in (Case("logsumexp(1), 1024×1024", (SQUARE,), lambda torch, x: torch.logsumexp(x, 1), group="gradients"),
                     Case("var(1), 1024×1024", (SQUARE,), lambda torch, x: x.var(1), group="gradients"))
      for c in with_backward(case)[1:]],
]
