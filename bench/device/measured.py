"""Rows measured on a GPU, by events around many calls, beside PyTorch and CuPy where they have that GPU too (peers.py)."""
from __future__ import annotations

from typing import NamedTuple

from ..networks import gpt
from ..runner.networks import language_model, lenet


class Row(NamedTuple):
    """A measured row: microseconds of a call here and of each peer's, by its title, and what the bytes or operations come to."""
    name: str
    ours: float
    theirs: dict
    rate: str


N, LINES, SIDE = 1 << 26, (1 << 14, 4096), 4096
HEADS = 4, 16, 2048, 64


# ---------------------------------------------------------------- what makes a row's call
def _of(function, *shapes, dtype="float32", grad=False):
    """A call on new tensors of normal numbers."""
    def make(torch):
        tensors = [torch.randn(*shape, device="cuda").to(getattr(torch, dtype)).requires_grad_(grad) for shape in shapes]
        return lambda: function(torch, *tensors)
    return make


def _backward(function, *shapes, dtype="float32"):
    """The gradients of a call, whose graph is kept."""
    def make(torch):
        tensors = [torch.randn(*shape, device="cuda").to(getattr(torch, dtype)).requires_grad_() for shape in shapes]
        out = function(torch, *tensors)
        slope = torch.randn(out.shape, device="cuda").to(out.dtype)
        return lambda: torch.autograd.grad(out, tensors, slope, retain_graph=True)
    return make


def training_step(model, optimizer, inputs, loss, compiled=False):
    """A training step; PyTorch's is never compiled."""
    def make(torch):
        torch.manual_seed(0)
        with torch.device("cuda"):
            net, given = model(torch), inputs(torch)
            opt = optimizer(torch, net.parameters())

            def step(x, y):
                opt.zero_grad()
                found = loss(torch, net(x), y)
                found.backward()
                opt.step()
                return found
        step = torch.compile(step) if compiled and torch.__name__ == "numtorch" else step
        return lambda: step(*given)
    return make


def _attend(torch, q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def _attend_causally(torch, q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def _rounded_product(torch, a, b):
    torch.set_float32_matmul_precision("high")
    try:
        return a @ b
    finally:
        torch.set_float32_matmul_precision("highest")


def _classes(torch, logits, target):
    return torch.nn.functional.cross_entropy(logits, target)


def _words(torch, logits, target):
    return torch.nn.functional.cross_entropy(logits.flatten(0, -2), target.flatten())


def _momentum(torch, parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


def _adamw(torch, parameters):
    return torch.optim.AdamW(parameters, lr=1e-3)


def _numbers(high, *shape):
    return lambda torch: torch.randint(0, high, shape)


def _both(one, other):
    return lambda torch: (one(torch), other(torch))


NETWORKS = [("LeNet, 64 images", lenet, _momentum, _both(lambda torch: torch.randn(64, 1, 28, 28), _numbers(10, 64)), _classes),
            ("GPT of 2 layers of 128, 8 x 64", lambda torch: gpt(torch, 500, 128, 4, 2, 64), _adamw,
             _both(_numbers(500, 8, 64), _numbers(500, 8, 64)), _words),
            ("GPT of 4 layers of 512, 16 x 256", lambda torch: gpt(torch, 5000, 512, 8, 4, 256), _adamw,
             _both(_numbers(5000, 16, 256), _numbers(5000, 16, 256)), _words),
            ("language model, LSTM of 128, 16 x 32", lambda torch: language_model(torch, 1000, 128), _adamw,
             _both(_numbers(1000, 16, 32), _numbers(1000, 16, 32)), _words)]


def _optimizer(torch):
    parameters = [torch.randn(256, 256, device="cuda", requires_grad=True) for _ in range(50)]
    for each in parameters:
        each.grad = torch.randn(256, 256, device="cuda")
    opt = _adamw(torch, parameters)
    return opt.step


def _chosen(function, *shape, high):
    """A call on a table and on numbers of its rows."""
    def make(torch):
        table, rows = torch.randn(*shape, device="cuda"), torch.randint(0, high, (1 << 16,), device="cuda")
        return lambda: function(torch, table, rows)
    return make


def cases():
    """(name, bytes, operations, function of a library that makes the call)."""
    numel, product = LINES[0] * LINES[1], 2 * SIDE ** 3
    attention = 4 * HEADS[0] * HEADS[1] * HEADS[2] ** 2 * HEADS[3]
    image, kernel = (32, 64, 56, 56), (64, 64, 3, 3)
    convolution = 2 * 32 * 56 * 56 * 64 * 64 * 9
    functional = lambda name, *args: lambda torch, x: getattr(torch.nn.functional, name)(x, *args)
    rows = [
        ("copy of 2²⁶ float32", 8 * N, 0, _of(lambda torch, a: a.clone(), (N,))),
        ("a + b, 2²⁶ float32", 12 * N, 0, _of(lambda torch, a, b: a + b, (N,), (N,))),
        ("a + b, 2²⁶ bfloat16", 6 * N, 0, _of(lambda torch, a, b: a + b, (N,), (N,), dtype="bfloat16")),
        ("gelu, 2²⁶ float32", 8 * N, 0, _of(functional("gelu"), (N,))),
        ("a + row, 2¹⁴ x 4096", 8 * numel, 0, _of(lambda torch, a, b: a + b, LINES, (4096,))),
        ("transposed copy, 8192 x 8192", 8 * N, 0, _of(lambda torch, a: a.t().contiguous(), (8192, 8192))),
        ("sum of 2²⁶ float32", 4 * N, 0, _of(lambda torch, a: a.sum(), (N,))),
        ("sum along lines, 2¹⁴ x 4096", 4 * numel, 0, _of(lambda torch, a: a.sum(1), LINES)),
        ("sum across lines, 2¹⁴ x 4096", 4 * numel, 0, _of(lambda torch, a: a.sum(0), LINES)),
        ("argmax along lines, 2¹⁴ x 4096", 4 * numel, 0, _of(lambda torch, a: a.argmax(1), LINES)),
        ("variance along lines, 2¹⁴ x 4096", 4 * numel, 0, _of(lambda torch, a: a.var(1), LINES)),
        ("running sum along lines, 2¹⁴ x 4096", 8 * numel, 0, _of(lambda torch, a: a.cumsum(1), LINES)),
        ("softmax, 2¹⁴ lines of 4096", 8 * numel, 0, _of(lambda torch, a: a.softmax(-1), LINES)),
        ("softmax backward, 2¹⁴ lines of 4096", 12 * numel, 0, _backward(lambda torch, a: a.softmax(-1), LINES)),
        ("layer norm, 2¹⁴ lines of 4096", 8 * numel, 0, _of(functional("layer_norm", (4096,)), LINES)),
        ("layer norm backward, 2¹⁴ lines of 4096", 12 * numel, 0,
         _backward(lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (4096,), w, b), LINES, (4096,), (4096,))),
        ("batch norm, 64 x 64 x 112 x 112", 12 * 64 * 64 * 112 * 112, 0,
         _of(lambda torch, x: torch.nn.functional.batch_norm(x, None, None, training=True), (64, 64, 112, 112))),
        ("max pool 2 of 64 x 64 x 112 x 112", 5 * 64 * 64 * 112 * 112, 0, _of(functional("max_pool2d", 2), (64, 64, 112, 112))),
        ("rows of an embedding, 2¹⁶ of 50000 x 512", 8 * 512 << 16, 0,
         _chosen(lambda torch, table, rows: torch.nn.functional.embedding(rows, table), 50000, 512, high=50000)),
        ("index_add, 2¹⁶ rows of 50000 x 64", 12 * 64 << 16, 0,
         _chosen(lambda torch, table, rows: table.index_add(0, rows, table[:1].expand(1 << 16, 64)), 50000, 64, high=50000)),
        ("sort of 2²⁰ float32", 0, 0, _of(lambda torch, a: a.sort(), (1 << 20,))),
        ("largest 10 of 4096, 2¹⁰ lines", 0, 0, _of(lambda torch, a: a.topk(10), (1 << 10, 4096))),
        ("Fourier transform of 2⁸ lines of 2¹⁶, complex64", 16 << 24, 0,
         _of(lambda torch, a: torch.fft.fft(a), (1 << 8, 1 << 16), dtype="complex64")),
        ("dropout of 2²⁶ float32", 8 * N, 0, _of(lambda torch, a: torch.nn.functional.dropout(a, 0.1), (N,))),
        ("normal numbers, 2²⁶ float32", 4 * N, 0, lambda torch: lambda: torch.randn(N, device="cuda")),
        ("AdamW on 50 matrices of 256 x 256", 28 * 50 * 256 * 256, 0, _optimizer),
        ("product 4096³, float32", 0, product, _of(lambda torch, a, b: a @ b, (SIDE, SIDE), (SIDE, SIDE))),
        ("product 4096³, float32, first transposed", 0, product, _of(lambda torch, a, b: a.t() @ b, (SIDE, SIDE), (SIDE, SIDE))),
        ("product 4096³, float32, second transposed", 0, product, _of(lambda torch, a, b: a @ b.t(), (SIDE, SIDE), (SIDE, SIDE))),
        ("product 4096³, float32 rounded to tf32", 0, product, _of(_rounded_product, (SIDE, SIDE), (SIDE, SIDE))),
        ("product 1024³, float32", 0, 2 << 30, _of(lambda torch, a, b: a @ b, (1024, 1024), (1024, 1024))),
        ("product 4096³, float64", 0, product, _of(lambda torch, a, b: a @ b, (SIDE, SIDE), (SIDE, SIDE), dtype="float64")),
        ("product 4096³, bfloat16", 0, product, _of(lambda torch, a, b: a @ b, (SIDE, SIDE), (SIDE, SIDE), dtype="bfloat16")),
        ("product 4096³, bfloat16, first transposed", 0, product,
         _of(lambda torch, a, b: a.t() @ b, (SIDE, SIDE), (SIDE, SIDE), dtype="bfloat16")),
        ("product 4096³, bfloat16, second transposed", 0, product,
         _of(lambda torch, a, b: a @ b.t(), (SIDE, SIDE), (SIDE, SIDE), dtype="bfloat16")),
        ("product 1024³, bfloat16", 0, 2 << 30, _of(lambda torch, a, b: a @ b, (1024, 1024), (1024, 1024), dtype="bfloat16")),
        ("64 products 512³, float32", 0, 64 << 28, _of(lambda torch, a, b: a @ b, (64, 512, 512), (64, 512, 512))),
        ("convolution 32 x 64 x 56 x 56, 3 x 3", 0, convolution,
         _of(lambda torch, x, w: torch.nn.functional.conv2d(x, w, padding=1), image, kernel)),
        ("its gradients", 0, 2 * convolution,
         _backward(lambda torch, x, w: torch.nn.functional.conv2d(x, w, padding=1), image, kernel)),
        ("attention, 4 x 16 heads of 2048 x 64, bfloat16", 0, attention, _of(_attend, HEADS, HEADS, HEADS, dtype="bfloat16")),
        ("its gradients, bfloat16", 0, attention * 5 // 2, _backward(_attend, HEADS, HEADS, HEADS, dtype="bfloat16")),
        ("attention, causal, bfloat16", 0, attention // 2, _of(_attend_causally, HEADS, HEADS, HEADS, dtype="bfloat16")),
        ("attention, 4 x 16 heads of 2048 x 64, float32", 0, attention, _of(_attend, HEADS, HEADS, HEADS)),
        ("launch: a + 1 of 16", 0, 0, _of(lambda torch, a: a + 1, (16,))),
        ("launch: (a * b).sum().backward()", 0, 0, _of(lambda torch, a, b: (a * b).sum().backward(), (16,), (16,), grad=True)),
    ]
    for name, *parts in NETWORKS:
        rows += [(f"step, {name}", 0, 0, training_step(*parts)),
                 (f"step, {name}, compiled", 0, 0, training_step(*parts, compiled=True))]
    return rows


def microseconds(cuda, function, seconds=0.1) -> float:
    """What a call takes on the device, or on the host where that takes longer. `cuda`: a library's `torch.cuda`."""
    for _ in range(25):                                  # what is compiled is compiled by then
        function()
        cuda.synchronize()
    count, taken = 4, 0.0
    while taken < seconds * 1e3:
        count *= 2
        first, last = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        first.record()
        for _ in range(count):
            function()
        last.record()
        last.synchronize()
        taken = first.elapsed_time(last)
    return taken / count * 1e3


def measure(ours, peers=(), chosen=""):
    """A Row for each case whose name has `chosen` in it. What raises says so in the place of its rate; of a peer it is a NaN."""
    for name, nbytes, operations, make in cases():
        if chosen not in name:
            continue
        taken, rate = float("nan"), ""
        try:
            taken = microseconds(ours.cuda, make(ours))
            rate = f"{nbytes / taken / 1e3:.0f} GB/s" if nbytes else f"{operations / taken / 1e6:.1f} TFLOP/s" if operations else ""
        except Exception as error:
            rate = f"{type(error).__name__}: {error}"[:120]
        yield Row(name, taken, {peer.title: found for peer in peers if (found := _beside(peer, name, make)) is not None}, rate)


def _beside(peer, name, make):
    """What a peer's call takes; None where it has none."""
    try:
        call = peer.call(name, make)
        return None if call is None else microseconds(peer.cuda, call)
    except Exception:
        return float("nan")
