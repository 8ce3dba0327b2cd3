"""Whom rows on a GPU are measured beside: PyTorch, which runs the same calls, and CuPy, whose words for them are here."""
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

TITLES = {"torch": "PyTorch", "cupy": "CuPy"}


class Peer(NamedTuple):
    """Another library.

    Attributes:
        title: its name. cuda: what has `Event` and `synchronize` as `torch.cuda` does.
        call: `call(name, make)`, the call of a row, whose name and function of PyTorch's words are given; None where it has none.
    """
    title: str
    cuda: Any
    call: Callable


def installed(names):
    """The peers of these names that are installed and see a GPU, and the titles of those that are not."""
    peers, absent = [], []
    for name in names:
        try:
            module = importlib.import_module(name)
            there = module.cuda.is_available()
        except ImportError:
            there = False
        if there:
            peers.append(Peer(TITLES[name], *((module.cuda, lambda name, make, module=module: make(module)) if name == "torch" else
                                              (Clock(module), lambda name, make, module=module: in_cupy(module, name)))))
        else:
            absent.append(TITLES[name])
    return peers, absent


# ---------------------------------------------------------------- CuPy
class Clock:
    """CuPy's events under the names of PyTorch's."""

    def __init__(self, cupy):
        self.cupy = cupy

    def synchronize(self):
        self.cupy.cuda.Device().synchronize()

    def Event(self, enable_timing):
        clock = self

        class Event:
            def __init__(self):
                self.event = clock.cupy.cuda.Event(disable_timing=not enable_timing)
                self.record, self.synchronize = self.event.record, self.event.synchronize

            def elapsed_time(self, other):
                return clock.cupy.cuda.get_elapsed_time(self.event, other.event)
        return Event()


def _of(function, *shapes, dtype="float32"):
    """A call on new arrays of normal numbers."""
    def make(cupy):
        draw = cupy.random.default_rng().standard_normal
        arrays = [draw(shape, dtype="float32").astype(dtype) for shape in shapes]
        return lambda: function(cupy, *arrays)
    return make


def _chosen(function, *shape):
    """A call on a table and on numbers of its rows."""
    def make(cupy):
        table, rows = cupy.random.default_rng().standard_normal(shape, dtype="float32"), cupy.random.randint(0, shape[0], 1 << 16)
        return lambda: function(cupy, table, rows)
    return make


def _softmax(cupy, a):
    return importlib.import_module(f"{cupy.__name__}x.scipy.special").softmax(a, axis=-1)


def _add_rows(cupy, table, rows):
    total = table.copy()
    importlib.import_module(f"{cupy.__name__}x").scatter_add(total, rows, table[0])
    return total


N, LINES, SIDE = 1 << 26, (1 << 14, 4096), 4096
MATRICES = (SIDE, SIDE), (SIDE, SIDE)

# By the names of the rows. What CuPy has no function for (bfloat16, layers, attention, gradients) it has no row for.
ROWS = {
    "copy of 2²⁶ float32": _of(lambda cupy, a: a.copy(), (N,)),
    "a + b, 2²⁶ float32": _of(lambda cupy, a, b: a + b, (N,), (N,)),
    "a + row, 2¹⁴ x 4096": _of(lambda cupy, a, b: a + b, LINES, (4096,)),
    "transposed copy, 8192 x 8192": _of(lambda cupy, a: cupy.ascontiguousarray(a.T), (8192, 8192)),
    "sum of 2²⁶ float32": _of(lambda cupy, a: a.sum(), (N,)),
    "sum along lines, 2¹⁴ x 4096": _of(lambda cupy, a: a.sum(1), LINES),
    "sum across lines, 2¹⁴ x 4096": _of(lambda cupy, a: a.sum(0), LINES),
    "argmax along lines, 2¹⁴ x 4096": _of(lambda cupy, a: a.argmax(1), LINES),
    "variance along lines, 2¹⁴ x 4096": _of(lambda cupy, a: a.var(1, ddof=1), LINES),
    "running sum along lines, 2¹⁴ x 4096": _of(lambda cupy, a: a.cumsum(1), LINES),
    "softmax, 2¹⁴ lines of 4096": _of(_softmax, LINES),
    "rows of an embedding, 2¹⁶ of 50000 x 512": _chosen(lambda cupy, table, rows: cupy.take(table, rows, axis=0), 50000, 512),
    "index_add, 2¹⁶ rows of 50000 x 64": _chosen(_add_rows, 50000, 64),
    "sort of 2²⁰ float32": _of(lambda cupy, a: cupy.argsort(a), (1 << 20,)),
    "Fourier transform of 2⁸ lines of 2¹⁶, complex64": _of(lambda cupy, a: cupy.fft.fft(a), (1 << 8, 1 << 16), dtype="complex64"),
    "normal numbers, 2²⁶ float32": lambda cupy: lambda: cupy.random.default_rng(0).standard_normal(N, dtype="float32"),
    "product 4096³, float32": _of(lambda cupy, a, b: a @ b, *MATRICES),
    "product 4096³, float32, first transposed": _of(lambda cupy, a, b: a.T @ b, *MATRICES),
    "product 4096³, float32, second transposed": _of(lambda cupy, a, b: a @ b.T, *MATRICES),
    "product 1024³, float32": _of(lambda cupy, a, b: a @ b, (1024, 1024), (1024, 1024)),
    "product 4096³, float64": _of(lambda cupy, a, b: a @ b, *MATRICES, dtype="float64"),
    "64 products 512³, float32": _of(lambda cupy, a, b: a @ b, (64, 512, 512), (64, 512, 512)),
    "launch: a + 1 of 16": _of(lambda cupy, a: a + 1, (16,)),
}


def in_cupy(cupy, name):
    """The call of a row in CuPy's words."""
    return ROWS[name](cupy) if name in ROWS else None
