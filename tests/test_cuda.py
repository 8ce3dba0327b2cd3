"""CUDA: the same cases on the CPU and in Numba's CUDA simulator.

Which runtime there is gets decided when CUDA is first used, so the simulator runs in a process of its own: this file, run as
a script with NUMBA_ENABLE_CUDASIM=1, prints each case's outcome as JSON. Where a GPU is at hand, the same script runs on it.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

# ---------------------------------------------------------------- cases: one body, run on the device it is given
CASES = {}


def case(body):
    CASES[body.__name__] = body
    return body


def table(**bodies):
    CASES.update(bodies)


def numbers(torch, device, *shape, dtype="float32", seed=0, low=-2.0, high=2.0):
    values = np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)
    return torch.from_numpy(values).to(device)


def lifted(operation, *shapes, **options):
    """A case of one operation on random tensors."""
    return lambda torch, device: operation(torch, *[numbers(torch, device, *s, seed=i, **options) for i, s in enumerate(shapes)])


table(
    add=lifted(lambda torch, x, y: x + y, (13,), (13,)),
    multiply=lifted(lambda torch, x, y: x * y, (3, 5), (3, 5)),
    broadcast=lifted(lambda torch, x, y: x / (y + 3), (3, 1, 2), (4, 1)),
    transposed=lifted(lambda torch, x, y: x.t() - y, (3, 4), (4, 3)),
    both_transposed=lifted(lambda torch, x, y: (x.t() * y.t()).t(), (3, 4), (3, 4)),
    permuted=lifted(lambda torch, x: x.permute(2, 0, 1) + 1, (2, 3, 4)),
    sliced=lifted(lambda torch, x: x[1:, ::2].exp(), (3, 5)),
    expanded=lifted(lambda torch, x: x.expand(4, 3) * 2, (3,)),
    numbers=lifted(lambda torch, x: 2 - x * 3.5 + 1, (5,)),
    zero_dim=lifted(lambda torch, x, y: x + y.sum() * 2.0, (3,), (2,)),
    exponential=lifted(lambda torch, x: torch.exp(x * 20), (9,)),
    sigmoid=lifted(lambda torch, x: torch.sigmoid(x), (9,)),
    tanh_double=lifted(lambda torch, x: torch.tanh(x), (9,), dtype="float64"),
    logarithm=lifted(lambda torch, x: torch.log(x), (9,), low=0.0),
    sine_of_huge=lifted(lambda torch, x: torch.sin(x), (5,), low=1e8, high=1e9),
    remainder=lifted(lambda torch, x, y: x % y, (6,), (6,)),
    power=lifted(lambda torch, x, y: x ** y, (6,), (6,), low=0.5),
    where=lifted(lambda torch, x, y: torch.where(x > y, x, 0.0), (7,), (7,)),
    comparison=lifted(lambda torch, x, y: (x < y) | (x > 1), (7,), (7,)),
    clamp=lifted(lambda torch, x: x.clamp(-0.5, 0.5), (7,)),
    maximum_with_nan=lambda torch, device: torch.maximum(torch.tensor([1.0, float("nan"), 3.0], device=device),
                                                         torch.tensor([2.0, 2.0, float("nan")], device=device)),
    to_integer=lifted(lambda torch, x: (x * 10).to(torch.int32), (7,)),
    integers=lambda torch, device: torch.arange(-3, 4, device=device) // 2 * 5,
    small_integers=lambda torch, device: torch.arange(7, device=device).to(torch.int8) * 100,
    half=lifted(lambda torch, x: x.half() * 1.5 + x.bfloat16(), (7,)),
    complex=lifted(lambda torch, x, y: x.to(torch.complex64) * y.to(torch.complex64) + 1j, (3,), (3,)),
    zeros=lambda torch, device: torch.zeros(2, 3, device=device),
    full=lambda torch, device: torch.full((3,), 2.5, dtype=torch.float64, device=device),
    ones_like=lifted(lambda torch, x: torch.ones_like(x.t()), (2, 3)),
    empty=lambda torch, device: torch.zeros(0, 3, device=device) * 2,
    eye=lambda torch, device: torch.eye(3, device=device),
    clone=lifted(lambda torch, x: x.t().clone(), (2, 3)),
    contiguous=lifted(lambda torch, x: x.t().contiguous(), (2, 3)),
    reshaped=lifted(lambda torch, x: x.t().reshape(6), (2, 3)),
    total=lifted(lambda torch, x: x.sum(), (23,)),
    long_total=lifted(lambda torch, x: x.sum(), (300,)),
    long_rows=lifted(lambda torch, x: x.sum(1), (2, 150)),
    total_transposed=lifted(lambda torch, x: x.t().sum(0), (3, 4)),
    sum_over_two=lifted(lambda torch, x: x.sum((0, 2)), (2, 3, 4)),
    sum_kept=lifted(lambda torch, x: x.sum(1, keepdim=True), (3, 70)),
    mean=lifted(lambda torch, x: x.mean(0), (5, 3)),
    mean_double=lifted(lambda torch, x: x.mean(), (5, 3), dtype="float64"),
    amax=lifted(lambda torch, x: x.amax(1), (3, 4)),
    amin=lifted(lambda torch, x: x.amin(), (90,)),
    amax_with_nan=lambda torch, device: torch.tensor([[1.0, float("nan")], [2.0, 1.0]], device=device).amax(1),
    product=lifted(lambda torch, x: x.prod(1), (2, 5)),
    integer_sum=lambda torch, device: torch.arange(20, device=device).reshape(4, 5).sum(0),
    byte_sum=lambda torch, device: torch.full((100,), 200, dtype=torch.uint8, device=device).sum(),
    integer_product=lambda torch, device: torch.arange(1, 6, device=device).prod(),
    any=lifted(lambda torch, x: (x > 1.5).any(1), (3, 4)),
    all=lifted(lambda torch, x: (x > -2).all(), (90,)),
    nonzero=lifted(lambda torch, x: torch.count_nonzero(x > 0, 0), (5, 3)),
    norm=lifted(lambda torch, x: torch.norm(x), (7,)),
    variance=lifted(lambda torch, x: x.var(1) + x.std(), (3, 11)),
    variance_far_from_zero=lifted(lambda torch, x: (x + 1e4).var((0, 2), correction=0), (2, 3, 4), dtype="float64"),
    variance_of_one=lambda torch, device: torch.ones(1, 3, device=device).var(0),
    variance_of_half=lifted(lambda torch, x: x.half().var(), (40,)),
    nothing_summed=lambda torch, device: torch.zeros(2, 0, device=device).sum(1),
    next_number=lambda torch, device: torch.nextafter(torch.tensor([1.0, -2.5, 0.0], device=device), torch.ones(1, device=device)),
    distances=lifted(lambda torch, x, y: torch.cdist(x, y, 1.0), (3, 2), (2, 2)),
    complex_sum=lifted(lambda torch, x: (x.to(torch.complex64) * 1j).sum(), (5,)),
)


@case
def attention(torch, device):
    """Tiles of queries and keys with edges, causal or masked, heads that share keys, wider than registers; and the gradients."""
    results = []
    for shapes, options in ((((2, 2, 7, 5), (2, 2, 9, 5), (2, 2, 9, 3)), {}), (((1, 4, 6, 3), (1, 2, 6, 3), (1, 2, 6, 6)), dict(
            is_causal=True, enable_gqa=True)), (((3, 2, 3), (3, 5, 3), (3, 5, 2)), dict(mask=True))):
        q, k, v = (numbers(torch, device, *s, seed=i).requires_grad_() for i, s in enumerate(shapes))
        if options.pop("mask", None):
            options["attn_mask"] = numbers(torch, device, 2, 5, seed=7) > -0.5
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, **options)
        results += [out, *torch.autograd.grad((out * out).sum(), (q, k, v))]
    return tuple(results)


@case
def softmaxes(torch, device):
    """Long lines and short ones, side by side in memory and not, of each dtype, with what has no finite maximum; and the gradients."""
    results = []
    for shape, dim, dtype in (((3, 9), 1, "float32"), ((2, 3), 1, "float64"), ((2, 5, 3), 1, "float32"), ((7,), 0, "bfloat16")):
        x = numbers(torch, device, *shape).to(getattr(torch, dtype)).requires_grad_()
        for name in ("softmax", "log_softmax", "logsumexp"):
            out = getattr(torch, name)(x, dim)
            results += [out, *torch.autograd.grad((out * out).sum(), x)]
    edges = torch.tensor([[0.0, -float("inf")], [-float("inf")] * 2, [float("inf"), 1.0]], device=device)
    return (*results, edges.softmax(1), edges.logsumexp(1), torch.zeros(0, 3, device=device).softmax(1))


@case
def products(torch, device):
    """All dtypes, batches, transposed and strided operands, biases, sums onto others."""
    results = []
    for dtype in ("float32", "float64", "float16", "bfloat16", "int32", "complex64"):
        a, b, c = (numbers(torch, device, *s, seed=i).mul(3).to(getattr(torch, dtype)) for i, s in enumerate(((5, 7), (7, 9), (5, 9))))
        results += [a @ b, torch.addmm(c, a, b, beta=2, alpha=3), b.t() @ a.t()]
    x = numbers(torch, device, 2, 6, 8)
    return (*results, x @ x.mT, torch.bmm(x[:, ::2], x.mT), x[0, 0] @ x[1, 0], x[0] @ x[1, 1])


@case
def random_views(torch, device):
    """Permuted, sliced and broadcast operands, and sums over some of their dimensions."""
    rng, results = np.random.default_rng(5), []
    for seed in range(6):
        x, y = (numbers(torch, device, 3, 4, 2, seed=seed + s).permute(*rng.permutation(3).tolist()) for s in (0, 9))
        x = x[rng.integers(2):, ::int(rng.integers(1, 3))]
        y = y[:1, :1].expand(*x.shape[:2], y.shape[2])[:, :, :x.shape[2]]
        x = x[:, :, :y.shape[2]]
        dims = tuple(rng.permutation(3)[:rng.integers(1, 4)].tolist())
        results += [x * y - 1, (x + y).sum(dims), y.amax(dims)]
    return tuple(results)


@case
def random(torch, device):
    torch.manual_seed(3)
    return torch.randn(4, device=device), torch.rand(3, device=device)


@case
def in_place(torch, device):
    x = numbers(torch, device, 3, 4)
    x.add_(1).mul_(x.clone())
    x.t()[1].sub_(5.0)
    x[0].zero_()
    return x


@case
def fill(torch, device):
    x = torch.zeros(2, 5, device=device)
    x[:, 1::2].fill_(3)
    x[1, 0] = 7.5
    return x


@case
def copy_into(torch, device):
    x = torch.zeros(2, 3, dtype=torch.float64, device=device)
    x.copy_(torch.arange(3.0))                            # from the host, broadcast and cast
    x.t()[0].copy_(numbers(torch, device, 2))
    return x


@case
def out(torch, device):
    x, y = numbers(torch, device, 5), torch.zeros(5, device=device)
    torch.exp(x, out=y)
    return y


@case
def backward(torch, device):
    x = numbers(torch, device, 3, 4).requires_grad_()
    w = numbers(torch, device, 4, seed=1).requires_grad_()
    loss = (torch.sigmoid(x * w + 0.5).mean(0) ** 2).sum()
    loss.backward()
    (2 * (x * w).sum()).backward()
    return loss, x.grad, w.grad


@case
def backward_through_views(torch, device):
    x = numbers(torch, device, 3, 4).requires_grad_()
    (x.t()[1:].exp().amax(1) * x[0, 0]).sum().backward()
    return x.grad


@case
def double_backward(torch, device):
    x = numbers(torch, device, 5).requires_grad_()
    first, = torch.autograd.grad((x.tanh() * x).sum(), x, create_graph=True)
    first.square().sum().backward()
    return first, x.grad


@case
def backward_across_devices(torch, device):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x.to(device) * 3).square().sum().backward()
    assert x.grad.device.type == "cpu"
    return x.grad


@case
def user_defined(torch, device):
    @torch.pointwise(methods=False)
    def wobble(x, y, *, scale=2.0):
        return torch.maximum(torch.sin(x) * scale, x / 2) + y * x

    @wobble.derivative
    def _(grad, x, y, scale):
        rising = torch.cos(x) * scale
        return grad * (rising * (torch.sin(x) * scale > x / 2) + 0.5 * (torch.sin(x) * scale <= x / 2) + y), grad * x

    x, y = numbers(torch, device, 6).requires_grad_(), numbers(torch, device, 6, seed=1)
    result = wobble(x, y, scale=3.0)
    result.sum().backward()
    return result, x.grad


@case
def user_defined_twice(torch, device):
    @torch.pointwise(methods=False)
    def cube(x):
        return x * x * x

    @cube.derivative
    def _(grad, x):
        return 3 * grad * x * x

    x = numbers(torch, device, 4).requires_grad_()
    first, = torch.autograd.grad(cube(x).sum(), x, create_graph=True)
    first.sum().backward()
    return first, x.grad


@case
def descent(torch, device):
    x, y = numbers(torch, device, 8), torch.tensor(0.0, device=device, requires_grad=True)
    for _ in range(3):
        loss = ((x * y - 1) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            y -= 0.1 * y.grad
        y.grad = None
    return y, loss


# ---------------------------------------------------------------- what is particular to CUDA: run in the simulator only
CHECKS = {}


def check(body):
    CHECKS[body.__name__] = body
    return body


def raises(kind, text, function):
    try:
        function()
    except kind as error:
        assert text in str(error), f"{error} lacks {text!r}"
    else:
        raise AssertionError(f"{kind.__name__} with {text!r} was not raised")


@check
def devices(torch):
    cuda = torch.cuda
    assert cuda.is_available() and cuda.device_count() >= 1 and cuda.current_device() == 0
    assert str(torch.zeros(2, device="cuda").device) == "cuda:0" and torch.zeros(2).cuda(0).get_device() == 0
    assert torch.zeros(2, device=0).is_cuda and torch.zeros(1).to("cuda").type() == "torch.cuda.FloatTensor"
    assert isinstance(cuda.get_device_name(), str) and len(cuda.get_device_capability(0)) == 2
    cuda.synchronize()
    cuda.synchronize("cuda:0")
    x = torch.zeros(2, device="cuda")
    assert x.cuda() is x and x.to("cuda:0") is x and x.cpu().device.type == "cpu"
    count = cuda.device_count()
    raises(RuntimeError, "invalid device ordinal", lambda: torch.zeros(2, device=f"cuda:{count}"))
    raises(RuntimeError, "invalid device ordinal", lambda: cuda.set_device(count))
    raises(ValueError, "Expected a cuda device", lambda: cuda.set_device("cpu"))


@check
def the_current_device(torch):
    cuda = torch.cuda
    if cuda.device_count() < 2:
        return
    with cuda.device(1):
        assert cuda.current_device() == 1 and str(torch.zeros(1).cuda().device) == "cuda:1"
        with cuda.device("cuda:0"):
            assert torch.ones(1, device="cuda").get_device() == 0
        with cuda.device(-1):
            assert cuda.current_device() == 1
    assert cuda.current_device() == 0
    again = cuda.device(1)
    with again, again:
        pass
    assert cuda.current_device() == 0
    cuda.set_device(1)
    assert torch.zeros(1, device="cuda").get_device() == 1
    cuda.set_device(torch.device("cuda", 0))
    x = torch.arange(4.0, device="cuda:1")                # not the current device, and so is what comes of it
    assert (x * 2 + 1).sum().get_device() == 1
    assert x.to("cuda:0").get_device() == 0 and x.to("cuda:0").tolist() == [0, 1, 2, 3]
    raises(RuntimeError, "cuda:1 and cuda:0", lambda: x + x.to("cuda:0"))


@check
def mixed_devices(torch):
    x, y = torch.ones(3, device="cuda"), torch.ones(3)
    text = "Expected all tensors to be on the same device, but found at least two devices"
    raises(RuntimeError, text, lambda: x + y)
    raises(RuntimeError, text, lambda: y.mul_(x))
    raises(RuntimeError, text, lambda: torch.where(x > 0, y, x))
    assert (x + torch.tensor(2.0)).tolist() == [3, 3, 3]  # a 0-dim CPU tensor goes along
    raises(TypeError, "can't convert cuda:0 device type tensor to numpy", x.numpy)


@check
def numbers_keep_their_rank(torch):
    x = torch.tensor(2, device="cuda")
    assert (x + 1.5).dtype is torch.float32 and (x * 3).dtype is torch.int64
    assert (torch.tensor(1.0, device="cuda") * 2.0).dtype is torch.float32
    assert (torch.ones(2, dtype=torch.int8, device="cuda") + 1).dtype is torch.int8


@check
def printing(torch):
    assert repr(torch.tensor([1.0, 2.5], device="cuda")) == "tensor([1.0000, 2.5000], device='cuda:0')"
    x = torch.ones(2, device="cuda")
    assert x.tolist() == [1, 1] and x.sum().item() == 2.0 and bool(x[0] == 1)


@check
def what_has_no_kernels(torch):
    from numtorch.ops.core.backends import has_kernels, kernels
    device = torch.device("cuda:0")
    assert has_kernels(device, "gemm.gemm") and not has_kernels(device, "rnn.rnn")
    raises(NotImplementedError, ".cpu()", lambda: kernels(device, "rnn.rnn"))
    raises(NotImplementedError, "no cuda kernel for nothing", lambda: kernels(device, "gemm.gemm").plan_nothing)


@check
def what_numpy_computes(torch):
    """Factorisations and Fourier transforms go through the host, which is said once."""
    import warnings
    x = torch.tensor([[2.0, 1.0], [1.0, 3.0]], device="cuda")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        results = [torch.linalg.inv(x), torch.linalg.cholesky(x), *torch.linalg.eigh(x), torch.linalg.cholesky_ex(-x).info,
                   torch.fft.fft(x), torch.fft.irfft(x), torch.linalg.det(x)]
    assert [str(w.message).split(" for ")[0] for w in said] == ["linalg.inv is computed on the host"], said
    assert all(r.device.type == "cuda" for r in results) and abs(results[-1].item() - 5) < 1e-5


@check
def the_simulator_checks_addresses(torch):
    """A kernel given host memory, another device's, or too little of it would pass unnoticed without."""
    from numtorch.kernels.cuda.environment import SIMULATED
    if not SIMULATED:
        return
    from numtorch.ops.core.backends import kernels
    from numtorch.ops.core.primitive import registry

    def run(source, target, elements):
        plan = kernels(torch.device("cuda:0"), "pointwise.pointwise").plan_pointwise(
            registry["neg"].scalar("float32"), ("float32",), ("float32",), (elements,), [(1,), (1,)], compute=("float32",))
        plan.call(source.address, target.address, plan.descriptor)

    here, there = torch.ones(16, device="cuda:0"), torch.ones(16, device="cuda:1")
    run(here, here, 16)
    assert here.tolist() == [-1] * 16
    raises(IndexError, "is not in the memory of cuda:0", lambda: run(torch.ones(16), here, 16))
    raises(IndexError, "is not in the memory of cuda:0", lambda: run(here, there, 16))
    raises(IndexError, "went to byte 64 of a block of 64", lambda: run(here, here, 17))


@check
def pickles(torch):
    import pickle
    x = pickle.loads(pickle.dumps(torch.arange(3, device="cuda")))
    assert str(x.device) == "cuda:0" and x.tolist() == [0, 1, 2]


@check
def plans_hold_their_memory(torch):
    """Descriptors are device memory that must outlive the planner."""
    import gc
    x = torch.arange(12.0, device="cuda").reshape(3, 4)
    first = (x.t() + 1).tolist()
    gc.collect()
    blocks = [torch.full((40,), 1e9, device="cuda") for _ in range(50)]
    assert (x.t() + 1).tolist() == first and len(blocks) == 50


@check
def tensor_cores(torch):
    """The kernel for warps in the simulator, whose twins have each element where the instructions have it: operands that lie along
    the depth and across it, edges, a batch, the epilogue."""
    from numtorch.kernels.cuda import environment
    if not environment.SIMULATED:
        return
    from numtorch.kernels.cuda.gemm import gemm, tensorcores, tiles
    from numtorch.kernels.cuda.runtime import runtime, upload
    from numtorch.kernels.cuda.simulator import DevicePointer
    m, n, k, batch, machine = 20, 24, 40, 2, runtime()
    for dtype, warps, along in (("bfloat16", tensorcores.Warps(2, 1, 1, 2, 32), (True, True)),
                                ("float16", tensorcores.Warps(1, 1, 1, 2, 32), (False, False))):
        kind = getattr(torch, dtype)
        a, b, bias = (numbers(torch, "cpu", *s, seed=i).to(kind) for i, s in enumerate(((batch, m, k), (batch, k, n), (n,))))
        a_there, b_there = (a if along[0] else a.mT.contiguous()).cuda(), (b.mT.contiguous() if along[1] else b).cuda()
        out, bias_there = torch.zeros(batch, m, n, dtype=kind, device="cuda"), bias.cuda()
        m_there, n_there = (24, 24)                      # what lies across is in lines of whole chunks
        if not along[0]:
            a_there = torch.nn.functional.pad(a_there, (0, m_there - m))
        a_steps, b_steps = ((k, 1) if along[0] else (1, m_there)), ((1, k) if along[1] else (n_there, 1))
        strides = [*a_steps, a_there[0].numel(), *b_steps, b_there[0].numel(), n, 1, m * n]
        row, count = tensorcores.describe(m, n, k, batch, warps, tiles.COLUMN_BIAS | tiles.RECTIFIED | tiles.SCALED,
                                          tiles.bits(0.5, "float32"), (0, 0), 1)
        places = gemm.A_ROW if along[0] else gemm.A_COLUMN, gemm.A_STEP, gemm.B_COLUMN if along[1] else gemm.B_ROW, gemm.B_STEP
        kernel = tensorcores.warp_kernel(dtype, warps, along, gemm.strided_c, places)
        held, descriptor = upload(row + strides, 0)
        words = [a_there.data_ptr(), b_there.data_ptr(), out.data_ptr(), bias_there.data_ptr(), descriptor]
        pointers = [DevicePointer(w, kind, *machine.block_of(w, 0)) for w, kind in zip(words, kernel.kinds)]
        kernel.python[2, warps.threads](*pointers)
        expected = (0.5 * (a.float() @ b.float()) + bias.float()).relu()
        assert count == batch * -(-m // warps.tall) * 2 and held is not None
        assert (out.cpu().float() - expected).abs().max() < 0.05, (out, expected)


@check
def memory_is_counted(torch):
    cuda = torch.cuda
    before = cuda.memory_allocated()
    cuda.reset_peak_memory_stats()
    x = torch.zeros(1000, device="cuda")
    y = torch.zeros(10, device="cuda:0")
    assert cuda.memory_allocated() - before == 4096 + 512 and cuda.memory_reserved() == cuda.memory_allocated()
    del x
    assert cuda.memory_allocated() - before == 512 and cuda.max_memory_allocated() - before >= 4608
    stats, (free, total) = cuda.memory_stats(0), cuda.mem_get_info()
    assert stats["allocated_bytes.all.current"] == cuda.memory_allocated("cuda:0") and 0 < free <= total
    assert "MiB" in cuda.memory_summary() and cuda.get_device_properties(0).total_memory == total and y.numel() == 10
    if total <= 1 << 30:
        raises(cuda.OutOfMemoryError, "Tried to allocate 2.00 GiB. GPU 0 has a total capacity", lambda: torch.empty(1 << 29, device="cuda"))
    cuda.empty_cache()


@check
def streams_and_events(torch):
    cuda = torch.cuda
    first, mine = cuda.current_stream(), cuda.Stream()
    assert first == cuda.default_stream() and mine != first and len({first, mine, cuda.current_stream()}) == 2
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    with cuda.stream(mine) as inside:
        assert cuda.current_stream() == mine == inside
        start.record()
        x = torch.ones(3, device="cuda") * 2
        end.record()
        with cuda.stream(None):
            assert cuda.current_stream() == mine
    assert cuda.current_stream() == first
    first.wait_stream(mine)
    mine.synchronize()
    end.synchronize()
    assert end.query() and mine.query() and start.elapsed_time(end) >= 0 and x.tolist() == [2, 2, 2]
    raises(ValueError, "enable_timing=True", lambda: cuda.Event().elapsed_time(end))
    raises(ValueError, "must be recorded", lambda: cuda.Event(enable_timing=True).elapsed_time(end))
    assert cuda.Event().query()
    if cuda.device_count() > 1:
        with cuda.stream(cuda.Stream(1)):
            assert cuda.current_device() == 1 and cuda.current_stream().device == torch.device("cuda:1")
        assert cuda.current_device() == 0
    with cuda.nvtx.range("step {}", 1):
        assert cuda.nvtx.range_push("inner") == 1 and cuda.nvtx.range_pop() == 1


@check
def between_devices(torch):
    comm = torch.cuda.comm
    if torch.cuda.device_count() < 2:
        return
    assert torch.cuda.can_device_access_peer(0, 1) in (True, False) and not torch.cuda.can_device_access_peer(0, 0)
    x = torch.arange(6.0, device="cuda").reshape(3, 2).requires_grad_()
    here, there = comm.broadcast(x, (0, 1))
    assert here is x and str(there.device) == "cuda:1" and there.tolist() == x.tolist()
    pieces = comm.scatter(x, ["cuda:1", 0], [1, 2])
    assert [str(p.device) for p in pieces] == ["cuda:1", "cuda:0"] and pieces[0].tolist() == [[0, 1]]
    assert len(comm.scatter(x, (0, 1), dim=1)) == 2
    whole = comm.gather([p * 2 for p in pieces], destination=1)
    assert str(whole.device) == "cuda:1" and comm.gather(pieces, destination="cpu").device.type == "cpu"
    total = comm.reduce_add([there, x])
    assert str(total.device) == "cuda:1" and total.tolist() == (2 * x).tolist()
    assert comm.reduce_add_coalesced([[x, x], [there, there]])[1].tolist() == total.tolist()
    (whole.sum() + total.sum() * 3).backward()
    assert x.grad.tolist() == [[8, 8]] * 3 and str(x.grad.device) == "cuda:0"
    raises(RuntimeError, "that sum to 3", lambda: comm.scatter(x, (0, 1), [1, 1]))
    raises(RuntimeError, "cuda:1 and cuda:0", lambda: there + x)


@check
def modules_on_devices(torch):
    """A module moved to a device, and one on two of them, which gives what it gives on one, gradients too."""
    nn, parallel = torch.nn, torch.nn.parallel
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    expected = model(torch.ones(5, 3))
    expected.sum().backward()
    slopes = [p.grad.clone() for p in model.parameters()]
    moved = model.cuda()
    assert moved is model and all(p.is_cuda and isinstance(p, nn.Parameter) for p in model.parameters())
    model.zero_grad()
    if torch.cuda.device_count() > 1:
        both = nn.DataParallel(model)
        result = both(torch.ones(5, 3))
        assert str(result.device) == "cuda:0" and torch.allclose(result.cpu(), expected)
        result.sum().backward()
        assert all(torch.allclose(p.grad.cpu(), s) for p, s in zip(model.parameters(), slopes))
        assert both(torch.ones(1, 3)).shape == (1, 2)
        assert str(nn.DataParallel(model, [0, 1], output_device=1)(torch.ones(4, 3)).device) == "cuda:1"
        model.zero_grad()
        devices = ["cuda:0", "cuda:1"]
        copies, pieces = parallel.Replicate(devices)(model), parallel.Split(devices)(torch.ones(5, 3, device="cuda"))
        assert [str(next(iter(c[0]._parameters.values())).device) for c in copies] == devices
        result = parallel.Join()(parallel.ParallelApply(devices)(copies, pieces))
    else:
        result = model(torch.ones(5, 3, device="cuda"))
    result.sum().backward()
    assert all(torch.allclose(p.grad.cpu(), s) for p, s in zip(model.parameters(), slopes))
    before = [p.detach().cpu() for p in model.parameters()]
    torch.optim.Adam(model.parameters(), lr=0.5).step()
    assert all((p.detach().cpu() - b).abs().max() > 0.1 for p, b in zip(model.parameters(), before))
    assert not next(model.cpu().parameters()).is_cuda


@check
def graphs(torch):
    """Launches are noted and not made; replayed, they read what was written to their inputs meanwhile."""
    cuda = torch.cuda
    x, w = torch.arange(4.0, device="cuda"), torch.ones(4, device="cuda")
    (x * 2 + w).exp()                                    # plans are made before
    g = cuda.CUDAGraph()
    raises(RuntimeError, "without a preceding successful capture", g.replay)
    with cuda.graph(g):
        assert cuda.is_current_stream_capturing()
        y = (x * 2 + w).exp()
        w.add_(1)
    assert w.tolist() == [1] * 4 and not cuda.is_current_stream_capturing()
    for step in range(3):
        x.fill_(step)
        g.replay()
        assert torch.allclose(y.cpu(), torch.full((4,), 2.0 * step + step + 1).exp(), rtol=1e-5) and w.tolist() == [step + 2] * 4
    raises(RuntimeError, "not permitted when stream is capturing", lambda: captured(torch, x))
    assert not cuda.is_current_stream_capturing()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).cuda()
    data = [numbers(torch, "cuda", 5, 3, seed=s).requires_grad_() for s in range(3)]
    expected = [model(d) for d in data]
    slopes = [torch.autograd.grad(e.square().sum(), [d, *model.parameters()]) for e, d in zip(expected, data)]
    sample = torch.zeros(5, 3, device="cuda", requires_grad=True)
    assert cuda.make_graphed_callables(model, (sample,)) is model
    for d, e, known in zip(data, expected, slopes):
        result = model(d)
        assert torch.allclose(result, e)
        found = torch.autograd.grad(result.square().sum(), [d, *model.parameters()])
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(found, known))
    raises(RuntimeError, "captured for arguments of shapes", lambda: model(torch.zeros(4, 3, device="cuda")))


def captured(torch, x):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return x.sum().item()


def outcome(value):
    values = value if isinstance(value, tuple) else (value,)
    values = [v.detach().cpu() for v in values]
    wide = [v.float() if "float16" in str(v.dtype) else v for v in values]
    return [(str(v.dtype), list(v.shape), [str(e) for e in w.numpy().ravel().tolist()]) for v, w in zip(values, wide)]


def run_all(device):
    """Every case's outcome on a device, or its traceback."""
    import numtorch as torch
    found = {}
    for name, body in CASES.items():
        try:
            value = body(torch, device)
            one = value[0] if isinstance(value, tuple) else value
            assert name == "backward_across_devices" or one.device.type == device, f"the result is on {one.device}"
            found[name] = outcome(value)
        except Exception:
            found[name] = traceback.format_exc(limit=-4)
    if device == "cuda":
        for name, body in CHECKS.items():
            try:
                body(torch)
                found[name] = "fine"
            except Exception:
                found[name] = traceback.format_exc(limit=-4)
    return found


# ---------------------------------------------------------------- the simulator
def script(code, **environment):
    environment = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent),
                                                                               os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, *code], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def has_gpu():
    code = ["-c", "import numtorch; print(numtorch.cuda.is_available())"]
    return script(code, NUMBA_ENABLE_CUDASIM="0").strip() == "True"


@pytest.fixture(scope="module", params=["simulator", "gpu"])
def on_cuda(request):
    if request.param == "gpu" and not has_gpu():
        pytest.skip("no GPU here, or the cuda extra is not installed")
    return json.loads(script([__file__], NUMBA_ENABLE_CUDASIM="1" if request.param == "simulator" else "0"))


@pytest.fixture(scope="module")
def on_cpu():
    return run_all("cpu")


@pytest.mark.parametrize("name", CASES)
def test_cuda_says_what_the_cpu_says(name, on_cpu, on_cuda):
    expected, got = on_cpu[name], on_cuda[name]
    assert isinstance(expected, list), expected
    assert isinstance(got, list), got
    for (dtype, shape, values), (dtype_got, shape_got, values_got) in zip(expected, got, strict=True):
        assert (dtype_got, shape_got) == (dtype, shape)
        kind = complex if "complex" in dtype else float if "float" in dtype else str
        # a few roundings: machine code on the CPU contracts a * b + c, and each sums in an order of its own
        tolerance = {"float64": 1e-11, "float16": 2e-3, "bfloat16": 1e-2}.get(dtype.removeprefix("torch."), 2e-6)
        if kind is str:
            assert values_got == values
        else:
            np.testing.assert_allclose([kind(v) for v in values_got], [kind(v) for v in values], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", CHECKS)
def test_in_cuda(name, on_cuda):
    assert on_cuda[name] == "fine", on_cuda[name]


# ---------------------------------------------------------------- without the simulator
def test_without_cuda():
    """What PyTorch raises, by whether the extra or only the GPU is missing, and nothing of CUDA is imported before."""
    if has_gpu():
        pytest.skip("there is a GPU")
    code = """
import sys, numtorch as torch
early = {"cuda", "numba.cuda", "numtorch.cuda", "numtorch.kernels.cuda"} & set(sys.modules)
assert not early, early
assert not torch.cuda.is_available() and torch.cuda.device_count() == 0
for attempt in (lambda: torch.zeros(2, device="cuda"), lambda: torch.zeros(2).cuda(), lambda: torch.zeros(2).to("cuda:0"),
                lambda: torch.cuda.set_device(0), torch.cuda.synchronize):
    try:
        attempt()
    except (AssertionError, RuntimeError) as error:
        assert str(error).startswith({AssertionError: "Torch not compiled with CUDA enabled",
                                      RuntimeError: "No CUDA GPUs are available"}[type(error)]), error
    else:
        sys.exit("nothing was raised")
assert torch.zeros(2).to("cpu").tolist() == [0, 0]
"""
    script(["-c", code], NUMBA_ENABLE_CUDASIM="0")


if __name__ == "__main__":
    json.dump(run_all("cuda"), sys.stdout)
