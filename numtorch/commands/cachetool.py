"""Looking after the kernel store: `info`, `clear`, `warm` and `pack` of `python -m numtorch cache`.

Warming runs a program, or small calculations that use the commonest kernels, so that they are compiled and stored, and gathers all
that is stored into one pack. Sizes do not matter much: they are never part of a kernel, but choose between kernels.
Packing warms for baselines of processors and architectures of GPUs, each in a process and a store of its own, and leaves a file for
each: what the packages numtorch-kernels and numtorch-kernels-cuda are made of (`tools/kernels_wheel.py`).
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time

import numtorch as torch

from ..kernels import compiler, program, store, threads
from ..kernels.cuda import launching
from ..kernels.progress import progress, statistics
from ..kernels.targets import architectures, crosscompile, processor


def _inputs(*shapes):
    return [torch.rand(*shape).requires_grad_() for shape in shapes]


def _backward(result):
    result.sum().backward()


def _arithmetic():
    a, b, row = _inputs((4, 5), (4, 5), (5,))
    for other in (b, row, 2.0, 2):
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


def _sorting():
    a, = _inputs((4, 500))
    for dim in (0, -1):
        _backward(a.sort(dim)[0])
        _backward(a.topk(3, dim)[0])
        _backward(a.cumsum(dim))
        a.detach().argsort(dim)
    a.detach().unique(), torch.arange(9).flip(0).sort()


def _doubles():
    a, b, c = [x.detach().double().requires_grad_() for x in _inputs((40, 50), (50, 60), (3, 4))]
    for result in (a @ b, torch.nn.functional.linear(a, b.t(), b[0]), c @ c.t(), a.exp() * a - a / 2, a.softmax(1), a.mean(0)):
        _backward(result)


def _train(model, optimizer, x, classes=10, pick=lambda result: result):
    """A training step on random classes."""
    logits = pick(model(x))
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, -2), torch.randint(0, classes, logits.shape[:-1]).flatten())
    loss.backward()
    optimizer(model.parameters()).step()


def _layers():
    """Networks as they are trained, of sizes that are shared by threads."""
    nn, functional = torch.nn, torch.nn.functional
    sgd = lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
    _train(nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 10)), sgd, torch.randn(64, 784))
    images = nn.Sequential(nn.Conv2d(1, 16, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(16, 50, 5), nn.BatchNorm2d(50), nn.ReLU(),
                           nn.AvgPool2d(2), nn.Flatten(), nn.Linear(800, 10))
    _train(images, torch.optim.Adam, torch.randn(64, 1, 28, 28))
    lenet = nn.Sequential(nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))
    _train(lenet, sgd, torch.randn(64, 1, 28, 28))
    functional.conv1d(torch.randn(4, 8, 100), torch.randn(16, 8, 3))


def _recurrent():
    nn = torch.nn
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        _train(kind(28, 64, batch_first=True), torch.optim.Adam, torch.randn(32, 28, 28), 64, lambda result: result[0][:, -1])
    words = nn.Sequential(nn.Embedding(50, 32), nn.LSTM(32, 64, 2, batch_first=True))
    _train(words, torch.optim.Adam, torch.randint(0, 50, (16, 20)), 64, lambda result: result[0])


def _transformers():
    nn, functional = torch.nn, torch.nn.functional
    for activation in ("relu", "gelu"):
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, activation=activation)
        _train(nn.Sequential(nn.TransformerEncoder(layer, 2), nn.Linear(64, 10)), torch.optim.AdamW, torch.randn(8, 32, 64))

    class Block(nn.Module):
        """A block of a decoder of text: one product for queries, keys and values, attention to what came before."""

        def __init__(self):
            super().__init__()
            self.word, self.norm, self.place = nn.Embedding(500, 128), nn.LayerNorm(128), nn.Embedding(64, 128)
            self.all, self.out, self.head = nn.Linear(128, 384), nn.Linear(128, 128), nn.Linear(128, 500, bias=False)
            self.perceptron = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128))

        def forward(self, numbers):
            x = self.word(numbers) + self.place(torch.arange(64))
            q, k, v = [y.view(8, 64, 4, 32).transpose(1, 2) for y in self.all(self.norm(x)).split(128, 2)]
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(8, 64, 128))
            return self.head(self.norm(x + self.perceptron(self.norm(x))))

    _train(Block(), torch.optim.AdamW, torch.randint(0, 500, (8, 64)), 500)


def _launches():
    """What shares kernels among threads and makes one call of several, by the number of words; what launches kernels on GPUs."""
    for count in range(3, 14):
        threads._launcher(count)
        launching.launcher(count)
    for count in range(3, 8):
        program.program_kernel(count, True)


def _tensor_cores():
    """Products and attention of 16-bit floats, in each tile that GPUs multiply these in."""
    functional = torch.nn.functional
    for dtype in (torch.float16, torch.bfloat16) if architectures.chosen() else ():
        for rows in (4096, 1024, 256, 64):
            x, weight, bias = [torch.empty(*shape, dtype=dtype, requires_grad=True)
                               for shape in ((rows, 256), (rows, 256), (rows,))]
            y = functional.linear(x, weight, bias)
            y.backward(y.detach())
        for causal in (True, False):
            q, k, v = [torch.empty(1, 2, 256, 64, dtype=dtype, requires_grad=True) for _ in range(3)]
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
            y.backward(y.detach())


GROUPS = {"arithmetic": _arithmetic, "elementary": _elementary, "activations": _activations, "reductions": _reductions,
          "products": _products, "losses": _losses, "convolutions": _convolutions, "indexing": _indexing, "random": _random,
          "optimisers": _optimisers, "sorting": _sorting, "doubles": _doubles, "layers": _layers, "recurrent": _recurrent,
          "transformers": _transformers, "launches": _launches, "tensor-cores": _tensor_cores}


# ---------------------------------------------------------------- commands
def show() -> int:
    """Print what the store holds."""
    facts = store.info(processor.best_baseline())
    width = max(map(len, facts))
    for name, value in facts.items():
        if isinstance(value, bool):
            value = "yes" if value else "no"
        print(f"{name:<{width}}  {value:,}" if isinstance(value, int) else f"{name:<{width}}  {value}")
    return 0


def clear() -> int:
    """Delete every stored kernel."""
    where = store.directory()
    print(f"deleted {store.clear()} files from {where}" if where else f"deleted nothing, since {store.trouble()}")
    return 0


def warm(what=()) -> int:
    """Compile kernels now, and pack the store.

    Args:
        what: names of families of kernels (see `GROUPS`; all of them by default); or a program and its arguments, which is run:
            a file that ends in `.py`, or "-m" and a module.

    Returns:
        0; 1 where nothing can be compiled or kept, or the program's own exit status; 2 for a name that is no family.
    """
    what = list(what)
    if compiler.DISABLE_JIT:
        print("NUMBA_DISABLE_JIT is set: there is nothing to compile", file=sys.stderr)
        return 1
    start, status = time.perf_counter(), 0
    if what[:1] == ["-m"] or (what and what[0].endswith(".py")):
        status = _run(what)
    else:
        for name in what:
            if name not in GROUPS:
                print(f"there is no family {name!r}; there are {', '.join(GROUPS)} (a program is a file that ends in .py, or -m "
                      "and a module)", file=sys.stderr)
                return 2
        names = what or list(GROUPS)
        for number, name in enumerate(names, 1):
            progress.begin(f"[{number}/{len(names)}] {name}: ")
            with torch.device("cuda" if architectures.chosen() else "cpu"):
                GROUPS[name]()
    packed = store.pack()
    if processor.foreign() or architectures.chosen():
        packed += store.pack(crosscompile.directory())
    print(f"compiled {statistics.compiled} and loaded {statistics.loaded} kernels in "
          f"{time.perf_counter() - start:.1f} s", end="; ")
    if not packed:
        print(f"none are kept, since {store.trouble()}")
        return status or 1
    print(f"{packed} packed in {store.directory()}")
    return status


def _run(program) -> int:
    """Run a program as `python -m numtorch run` does. Returns its exit status."""
    from ..alias.launch import run
    try:
        return run(program)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


PACKED = (*processor.BASELINES, *architectures.ARCHITECTURES)


def _can_pack(name):
    return architectures.can_pack() if name in architectures.ARCHITECTURES else processor.can_pack(name)


def _packing_for(name):
    """The environment of a process that packs for a baseline or an architecture."""
    if name in architectures.ARCHITECTURES:
        return {"NUMTORCH_CUDA_ARCHITECTURE": name, "NUMBA_ENABLE_CUDASIM": "0"}
    return {"NUMTORCH_PROCESSOR": name}


def pack(folder, baselines=(), families=()) -> int:
    """Build packs of kernels for baselines of processors and architectures of GPUs: a file each in a folder, which is made.

    Args:
        folder: where to.
        baselines: which; all that can be packed here by default: those of this architecture whose instructions this processor has,
            those of others, and GPUs where what compiles for them is installed.
        families: the families of kernels in them; all by default.

    Returns:
        0, or 1 where one of the baselines cannot be packed here (what is packed is run), or one failed.
    """
    wanted = list(baselines) or [name for name in PACKED if _can_pack(name)]
    os.makedirs(folder, exist_ok=True)
    status = 0
    for baseline in wanted:
        if not _can_pack(baseline):
            for_gpus = baseline in architectures.ARCHITECTURES
            why = "numtorch[cuda], which compiles for {}, is not installed" if for_gpus else "this processor does not run {}"
            print(f"{why.format(baseline)}: nothing is packed for it", file=sys.stderr)
            status = 1
            continue
        with tempfile.TemporaryDirectory() as home:
            environment = {**os.environ, "NUMTORCH_CACHE_DIR": home, "NUMTORCH_NUM_THREADS": "2", **_packing_for(baseline)}
            done = subprocess.run([sys.executable, "-m", "numtorch", "cache", "warm", *families], env=environment,
                                  stdout=subprocess.DEVNULL)
            here = baseline in processor.BASELINES and processor.machine() == processor.BASELINES[baseline].machine
            where = os.path.join(home, "packs") if here else os.path.join(home, "elsewhere", "packs")
            files = os.listdir(where) if done.returncode == 0 else []
            if len(files) != 1:
                print(f"{baseline}: warming ended with {done.returncode}", file=sys.stderr)
                status = 1
                continue
            path = os.path.join(folder, store.pack_name(baseline))
            shutil.copyfile(os.path.join(where, files[0]), path)
            print(f"{path}: {os.path.getsize(path):,} bytes")
    return status
