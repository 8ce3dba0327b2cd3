"""Looking after the kernel store: `info`, `clear` and `warm` of `python -m numtorch cache`.

Warming runs small calculations that use the commonest kernels, so that they are compiled and stored, and gathers all that is
stored into one pack. Sizes do not matter: they are never part of a kernel.
"""
from __future__ import annotations

import sys
import time

import numtorch as torch

from .kernels import compiler, store


def _inputs(*shapes):
    return [torch.rand(*shape).requires_grad_() for shape in shapes]


def _backward(result):
    result.sum().backward()


def _arithmetic():
    a, b, row = _inputs((4, 5), (4, 5), (5,))
    for other in (b, row, 2.0):
        for result in (a + other, a - other, a * other, a / other, 2.0 - a, 1.0 / a):
            _backward(result)
    _backward(-a.t() + b.t())
    _backward((a.detach() * 2).requires_grad_() ** 2)
    c = a.detach().clone()
    c.add_(b.detach()).mul_(0.5).sub_(1).div_(2).zero_()
    (c > 0.5), (c == c), (c < row.detach())


def _elementary():
    a, = _inputs((4, 5))
    for name in ("exp", "log", "sqrt", "tanh", "sigmoid", "sin", "cos", "abs", "neg", "square", "rsqrt", "erf", "log1p", "expm1"):
        _backward(getattr(a, name)())
    _backward(a.clamp(0.2, 0.8))


def _activations():
    a, = _inputs((4, 5))
    for name in ("relu", "leaky_relu", "gelu", "silu", "elu", "softplus", "hardtanh"):
        _backward(getattr(torch.nn.functional, name)(a))


def _reductions():
    a, = _inputs((4, 5, 6))
    for dim in (None, 0, -1, (0, 2)):
        for name in ("sum", "mean", "var"):
            _backward(getattr(a, name)(dim))
    for dim in (0, -1):
        a.detach().max(dim), a.detach().argmax(dim), a.detach().amin(dim)
    (a.detach() > 0).any(), a.detach().norm()


def _products():
    a, b, w, bias, batch = _inputs((8, 16), (16, 8), (4, 16), (4,), (3, 16, 8))
    for result in (a @ b, torch.nn.functional.linear(a, w, bias), a @ batch, a.t().contiguous().t() @ b):
        _backward(result)


def _losses():
    functional = torch.nn.functional
    a, b = _inputs((8, 10), (8, 10))
    target = torch.arange(8) % 10
    for result in (functional.softmax(a, 1), functional.log_softmax(a, 1), functional.cross_entropy(a, target),
                   functional.nll_loss(functional.log_softmax(a, 1), target), functional.mse_loss(a, b)):
        _backward(result)


def _convolutions():
    functional = torch.nn.functional
    x, w, bias = _inputs((2, 3, 12, 12), (8, 3, 3, 3), (8,))
    y = functional.conv2d(x, w, bias, padding=1)
    _backward(functional.max_pool2d(y, 2))
    _backward(functional.avg_pool2d(functional.conv2d(x, w), 2))


def _indexing():
    a, table = _inputs((6, 7), (9, 4))
    index = torch.tensor([1, 0, 3])
    for result in (a[1:4, ::2], a[index], a[:, index], a.t().contiguous(), a.index_select(0, index), torch.cat([a, a]),
                   torch.nn.functional.embedding(index, table), a.gather(1, index.reshape(3, 1))):
        _backward(result)
    a.detach()[a.detach() > 0.5], a.detach().to(torch.float64), a.detach().to(torch.int64)


def _random():
    torch.rand(5), torch.randn(5), torch.randint(0, 9, (5,)), torch.randperm(5), torch.bernoulli(torch.rand(5))
    _backward(torch.nn.functional.dropout(_inputs((4, 5))[0], 0.5))


def _optimisers():
    for make in (lambda p: torch.optim.SGD(p, lr=0.1), lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
                 lambda p: torch.optim.Adam(p), lambda p: torch.optim.AdamW(p)):
        parameters = _inputs((4, 5), (5,))
        optimiser = make(parameters)
        for _ in range(2):
            optimiser.zero_grad()
            for parameter in parameters:
                _backward(parameter * parameter)
            optimiser.step()


GROUPS = {"arithmetic": _arithmetic, "elementary": _elementary, "activations": _activations, "reductions": _reductions,
          "products": _products, "losses": _losses, "convolutions": _convolutions, "indexing": _indexing, "random": _random,
          "optimisers": _optimisers}


# ---------------------------------------------------------------- commands
def show() -> int:
    """Print what the store holds."""
    found = store.info()
    width = max(map(len, found))
    for name, value in found.items():
        if isinstance(value, bool):
            value = "yes" if value else "no"
        print(f"{name:<{width}}  {value:,}" if isinstance(value, int) else f"{name:<{width}}  {value}")
    return 0


def clear() -> int:
    """Delete every stored kernel."""
    where = store.directory()
    print(f"deleted {store.clear()} files from {where}" if where else f"deleted nothing, since {store.trouble()}")
    return 0


def warm(only=None) -> int:
    """Compile the commonest kernels (of the groups in `only`, or of all) and pack the store."""
    if compiler.DISABLE_JIT:
        print("NUMBA_DISABLE_JIT is set: there is nothing to compile", file=sys.stderr)
        return 1
    compiler.statistics.announced = True                 # the progress below says it already
    terminal = sys.stderr.isatty()
    start = time.perf_counter()
    names = only or list(GROUPS)
    for number, name in enumerate(names, 1):
        if terminal:
            print(f"\r\033[K[{number}/{len(names)}] {name}: {compiler.statistics.compiled} kernels compiled", end="",
                  file=sys.stderr, flush=True)
        GROUPS[name]()
    if terminal:
        print("\r\033[K", end="", file=sys.stderr)
    packed = store.pack()
    print(f"compiled {compiler.statistics.compiled} and loaded {compiler.statistics.loaded} kernels in "
          f"{time.perf_counter() - start:.1f} s", end="; ")
    if not packed:
        print(f"none are kept, since {store.trouble()}")
        return 1
    print(f"{packed} packed in {store.directory()}")
    return 0
