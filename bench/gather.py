"""Indexing, embeddings, scattering and masks: what moves elements to or from places known only at run time."""
from __future__ import annotations

from .runner.case import BOTH, Case, backward, integers, normal, permutation, uniform, with_backward

ROWS, WIDTH, PICKED = 10_000, 128, 8192
TABLE = normal(ROWS, WIDTH)
ONE_EACH = 2.0 * PICKED * WIDTH


def _gathering(name, inputs, expression, numpy=False, group="gather", **more):
    return Case(name, inputs, expression, numpy=numpy, group=group, **more)


EMBEDDING = _gathering("embedding, 8192 of 10⁴×128", (integers(PICKED, high=ROWS), TABLE),
                       lambda torch, i, w: torch.nn.functional.embedding(i, w), lambda np, i, w: w[i], moved=ONE_EACH, dtypes=BOTH)

CASES = [
    EMBEDDING, backward(EMBEDDING),
    backward(_gathering("embedding, 8192 of 100×128: many of each", (integers(PICKED, high=100), normal(100, WIDTH)),
                        lambda torch, i, w: torch.nn.functional.embedding(i, w))),
    _gathering("index_select(0), 8192 of 10⁴×128", (TABLE, integers(PICKED, high=ROWS)),
               lambda torch, x, i: torch.index_select(x, 0, i), lambda np, x, i: np.take(x, i, 0), moved=ONE_EACH),
    _gathering("index_select(1), 64 of 10⁴×128", (TABLE, permutation(64)), lambda torch, x, i: torch.index_select(x, 1, i),
               lambda np, x, i: np.take(x, i, 1), moved=2.0 * ROWS * 64),
    _gathering("x[i], 10⁶ of 10⁶", (normal(1_000_000), permutation(1_000_000)), lambda torch, x, i: x[i], True),
    _gathering("x[i, j], 10⁵ of 1000×1000", (normal(1000, 1000), integers(100_000, high=1000), integers(100_000, high=1000)),
               lambda torch, x, i, j: x[i, j], True, moved=2e5),
    _gathering("x[x > 0], 2²⁰", (normal(1 << 20),), lambda torch, x: x[x > 0], True),
    _gathering("nonzero of half of 2²⁰", (normal(1 << 20),), lambda torch, x: torch.nonzero(x > 0)[:, 0],
               lambda np, x: np.nonzero(x > 0)[0]),
    _gathering("gather(1), 1024×1024 by 1024×256", (normal(1024, 1024), integers(1024, 256, high=1024)),
               lambda torch, x, i: torch.gather(x, 1, i), lambda np, x, i: np.take_along_axis(x, i, 1), moved=2.0 * 1024 * 256),
    _gathering("scatter_add(0), 10⁶ into 1000", (normal(1000), integers(1_000_000, high=1000), normal(1_000_000)),
               lambda torch, x, i, v: torch.scatter_add(x, 0, i, v), lambda np, x, i, v: x + np.bincount(i, v, 1000),
               group="scatter", tolerance=1e-3),
    _gathering("scatter_add(0), 512×512 into 512×512", (normal(512, 512), integers(512, 512, high=512), normal(512, 512)),
               lambda torch, x, i, v: torch.scatter_add(x, 0, i, v), group="scatter"),
    _gathering("scatter_add(2), 64×1000×10: short rows",
               (normal(64, 1000, 10), integers(64, 1000, 10, high=10), normal(64, 1000, 10)),
               lambda torch, x, i, v: torch.scatter_add(x, 2, i, v), group="scatter"),
    _gathering("index_add(0), 8192 rows into 10⁴×128", (TABLE, integers(PICKED, high=ROWS), normal(PICKED, WIDTH)),
               lambda torch, x, i, v: torch.index_add(x, 0, i, v), group="scatter"),
    _gathering("x[i] = v, 10⁵ of 10⁶", (normal(1_000_000), permutation(100_000), normal(100_000)),
               lambda torch, x, i, v: torch.index_put(x, (i,), v), group="scatter"),
    _gathering("masked_fill, 2²⁰", (normal(1 << 20), uniform(1 << 20)), lambda torch, x, m: torch.masked_fill(x, m > 0.5, 0.0),
               lambda np, x, m: np.where(m > 0.5, np.float32(0), x), group="scatter"),
    _gathering("cat of two 1024×512, dim 1", (normal(1024, 512), normal(1024, 512)), lambda torch, a, b: torch.cat([a, b], 1),
               lambda np, a, b: np.concatenate([a, b], 1), group="joining"),
    _gathering("stack of four 256×256", (normal(256, 256),) * 4, lambda torch, *parts: torch.stack(parts),
               lambda np, *parts: np.stack(parts), group="joining"),
    _gathering("flip(1), 1024×1024", (normal(1024, 1024),), lambda torch, x: torch.flip(x, (1,)),
               lambda np, x: np.ascontiguousarray(np.flip(x, 1)), group="joining"),
    _gathering("flip(0), 262144×3: short rows", (normal(1 << 18, 3),), lambda torch, x: torch.flip(x, (0,)),
               lambda np, x: np.ascontiguousarray(np.flip(x, 0)), group="joining"),
    _gathering("roll(17, 1), 1024×1024", (normal(1024, 1024),), lambda torch, x: torch.roll(x, 17, 1),
               lambda np, x: np.roll(x, 17, 1), group="joining"),
    _gathering("repeat_interleave(3), 1024×256", (normal(1024, 256),), lambda torch, x: torch.repeat_interleave(x, 3, 0),
               lambda np, x: np.repeat(x, 3, 0), group="joining"),
    *[case for mode in ("constant", "reflect", "replicate", "circular") for case in with_backward(
        _gathering(f"pad by 1, {mode}, 8×32×64×64", (normal(8, 32, 64, 64),),
                   lambda torch, x, mode=mode: torch.nn.functional.pad(x, (1, 1, 1, 1), mode), group="joining"))],
    _gathering("rot90, 1024×1024", (normal(1024, 1024),), lambda torch, x: torch.rot90(x), lambda np, x: np.rot90(x).copy(),
               group="joining"),
    _gathering("tril, 1024×1024", (normal(1024, 1024),), lambda torch, x: torch.tril(x), True, group="joining"),
]
