"""What is particular to CUDA: bodies that test_cuda.py runs in the simulator, or on a GPU, alone."""
from __future__ import annotations

import functools

from cudacases import numbers

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
def numbers_fit_what_they_are_compared_with(torch):
    """As on the CPU: PyTorch refuses them, and they must not wrap around."""
    x, holds = torch.tensor([1, 0, 5], dtype=torch.int8).cuda(), torch.tensor([True, False, True]).cuda()
    for function in (lambda n: x.clamp(max=n), lambda n: x.clamp(n), lambda n: x.clone().clamp_(-1, n), lambda n: torch.clamp(x, n, n),
                     lambda n: torch.where(holds, x, n), lambda n: torch.where(holds, n, x)):
        for number in (300, -300, 1 << 40):
            raises(RuntimeError, "value cannot be converted to type int8_t without overflow", functools.partial(function, number))
        function(100)
    assert x.clamp(max=2).tolist() == [1, 0, 2] and torch.where(holds, x, 300.0).tolist() == [1, 300, 5]
    assert (x.long() << 40).clamp(max=1 << 40).tolist() == [1 << 40, 0, 1 << 40] and x.tolist() == [1, 0, 5]


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
    with cuda.device_of(x), cuda.device_of(x.cpu()), cuda.device_of(x.untyped_storage()):
        assert cuda.current_device() == 1
    assert cuda.current_device() == 0
    raises(RuntimeError, "cuda:1 and cuda:0", lambda: x + x.to("cuda:0"))


@check
def mixed_devices(torch):
    x, y = torch.ones(3, device="cuda"), torch.ones(3)
    text = "Expected all tensors to be on the same device, but found at least two devices"
    raises(RuntimeError, text, lambda: x + y)
    raises(RuntimeError, text, lambda: y.mul_(x))
    raises(RuntimeError, text, lambda: torch.where(x > 0, y, x))
    raises(RuntimeError, text, lambda: torch.tensor(1.0).add_(torch.tensor(2.0, device="cuda")))
    for function in (torch.exp, lambda x, out: torch.cumsum(x, 0, out=out), lambda x, out: torch.dot(x, x, out=out)):
        raises(RuntimeError, "Expected out tensor to have device cuda:0, but got cpu instead", lambda f=function: f(x, out=y))
        raises(RuntimeError, "Expected out tensor to have device cpu, but got cuda:0 instead", lambda f=function: f(y, out=x))
    raises(RuntimeError, "device cpu does not match device of out parameter (cuda:0)", lambda: torch.zeros(3, out=x, device="cpu"))
    assert torch.randperm(3, out=torch.empty(0, dtype=torch.int64, device="cuda")).is_cuda
    raises(RuntimeError, "on the same device as the indexed tensor (cpu), got one on cuda:0", lambda: y[x.long()])
    raises(RuntimeError, "on the same device as the indexed tensor (cpu), got one on cuda:0", lambda: y[x > 0])
    assert x[y > 0].tolist() == x[y.long() - 1].tolist() == [1, 1, 1]
    assert (x + torch.tensor(2.0)).tolist() == [3, 3, 3]  # a 0-dim CPU tensor goes along
    raises(TypeError, "can't convert cuda:0 device type tensor to numpy", x.numpy)


@check
def gradients_are_where_their_tensors_are(torch):
    x = torch.linspace(0.1, 1, 3, dtype=torch.float64, device="cuda", requires_grad=True)
    elsewhere = "expected device cuda:0 but got cpu"
    raises(RuntimeError, elsewhere, lambda: (x * 2).backward(torch.ones(3, dtype=torch.float64)))
    raises(RuntimeError, elsewhere, lambda: torch.autograd.grad(x * 2, x, torch.ones(3, dtype=torch.float64)))
    torch.autograd.backward((x * x).sum(), torch.tensor(2.0, dtype=torch.float64))
    assert torch.equal(x.grad, 4 * x)

    class Halved(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

        @staticmethod
        def backward(ctx, grad):
            return grad.cpu() / 2
    raises(RuntimeError, elsewhere, lambda: Halved.apply(x).sum().backward())
    for fast in (False, True):
        assert torch.autograd.gradcheck(lambda x: x.exp() * x, (x,), fast_mode=fast)
    assert torch.autograd.gradgradcheck(lambda x: x.exp() * x, (x,))
    z = torch.complex(x, -x).detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda z: z * z, (z,))


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
    assert has_kernels(device, "gemm.gemm") and not has_kernels(device, "gemm.pack")
    raises(NotImplementedError, ".cpu()", lambda: kernels(device, "gemm.pack"))
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
    from numtorch.kernels.cuda.runtime import runtime
    if not hasattr(runtime(), "block_of"):
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
def new_tensors_are_on_their_own_device(torch):
    cuda = torch.cuda
    last = cuda.device_count() - 1
    x = torch.arange(4.0, device=f"cuda:{last}")
    for made in (x.new(2, 3), x.new_zeros(2), x.new_tensor([1.0]), torch.zeros_like(x), x.new_full((2,), 3.0), x[:2].clone()):
        assert made.get_device() == last and made.is_cuda
    assert torch.zeros(1).get_device() == -1 and x.type() == "torch.cuda.FloatTensor"
    raises(RuntimeError, "cuda", lambda: x + torch.zeros(4))


@check
def draws_are_the_cpus_and_seeded_by_either_name(torch):
    cuda = torch.cuda
    torch.manual_seed(5)
    here, normal = torch.rand(6), torch.randn(6)
    torch.manual_seed(5)
    assert torch.rand(6, device="cuda").tolist() == here.tolist() and cuda.initial_seed() == 5
    assert torch.allclose(torch.randn(6, device="cuda").cpu(), normal, atol=1e-5)
    for seed in (cuda.manual_seed, cuda.manual_seed_all):
        seed(5)
        assert torch.rand(6, device="cuda").tolist() == here.tolist()
    states = cuda.get_rng_state_all()
    first = torch.rand(3, device="cuda").tolist()
    cuda.set_rng_state_all(states)
    assert torch.rand(3, device="cuda").tolist() == first and len(states) == cuda.device_count()
    cuda.set_rng_state(cuda.get_rng_state())
    cuda.seed(), cuda.seed_all()
    assert torch.rand(3, device="cuda").tolist() != first


@check
def amp(torch):
    """Listed ops in 16 bits, both of them; a scaler that skips what overflows and goes on."""
    layer = torch.nn.Linear(3, 2).cuda()
    x = numbers(torch, "cuda", 4, 3)
    expected = layer(x)
    for kind in (torch.float16, torch.bfloat16):
        with torch.autocast("cuda", dtype=kind):
            result = layer(x)
            assert result.dtype is kind and result.exp().dtype is torch.float32 and torch.softmax(result, -1).dtype is torch.float32
        assert (result.float() - expected).abs().max().item() < 0.05
    optimizer, scaler = torch.optim.SGD(layer.parameters(), lr=0.5), torch.amp.GradScaler("cuda", init_scale=4.0)
    before = layer.weight.detach().cpu()
    for factor, moves in ((float("inf"), False), (1.0, True)):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = layer(x).float().square().mean() * factor
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        assert (not torch.equal(layer.weight.detach().cpu(), before)) == moves
    assert scaler.get_scale() == 2.0
    raises(RuntimeError, "unsafe to autocast", lambda: torch.autocast("cuda")(torch.nn.functional.binary_cross_entropy)(x.sigmoid(), x.sigmoid()))
    if torch.cuda.device_count() > 1:                     # a factor for each device, and an overflow on one of them is one
        for overflows in (0, 1):
            here, there = [torch.nn.Parameter(torch.ones(2, device=f"cuda:{i}")) for i in range(2)]
            optimizer, scaler = torch.optim.SGD([here, there], lr=1.0), torch.amp.GradScaler(init_scale=4.0)
            one, other = scaler.scale((here.sum(), (there * (float("inf") if overflows else 0.5)).sum()))
            assert other.get_device() == 1 and one.item() == 8.0
            one.backward()
            other.backward()
            scaler.step(optimizer)
            scaler.update()
            assert (here.tolist(), there.tolist()) == (([1, 1], [1, 1]) if overflows else ([0, 0], [0.5, 0.5]))
            assert scaler.get_scale() == (2.0 if overflows else 4.0)


@check
def sums_of_short_floats_at_indices(torch):
    """In float32, as PyTorch's are of embeddings and, on the CPU, of all of these: 300 ones in bfloat16 would end at 256. Those of
    `x[index]` are rounded one by one, as PyTorch's are on a GPU."""
    where = torch.zeros(300, dtype=torch.int64, device="cuda")
    ones, table = [torch.ones(n, 1, dtype=torch.bfloat16, device="cuda") for n in (300, 2)]
    table.requires_grad_()
    at = where[:, None]
    for found in (torch.autograd.grad(torch.nn.functional.embedding(where, table).sum(), table)[0],
                  torch.autograd.grad(torch.nn.functional.embedding_bag(where[None], table, mode="sum").sum(), table)[0],
                  torch.autograd.grad(table.index_select(0, where).sum(), table)[0],
                  torch.zeros_like(table).index_add(0, where, ones), torch.zeros_like(table).scatter_add(0, at, ones)):
        assert found.dtype is torch.bfloat16 and found.flatten().tolist() == [300, 0]
    assert torch.autograd.grad(table[where].sum(), table)[0].flatten().tolist() == [256, 0]


@check
def products_of_float32_are_exact_by_default(torch):
    """Otherwise they are products of operands rounded to tf32 by tensor cores, where lines are of whole 16 bytes: also of a plan
    that was made before."""
    rounded = lambda x: (x.view(torch.int32) + 0x1000 & ~0x1FFF).view(torch.float32)
    a, b = numbers(torch, "cpu", 20, 24, seed=1), numbers(torch, "cpu", 24, 36, seed=2)
    exact = lambda of: (of(a).double() @ of(b).double()).float()
    kinds = torch.backends.cuda.matmul
    assert torch.get_float32_matmul_precision() == "highest" and not kinds.allow_tf32 and kinds.fp32_precision != "tf32"
    few = torch.tensor([[1.0 + 2.0 ** -20]], device="cuda")
    try:
        for precision in ("highest", "high", "highest", "medium"):
            torch.set_float32_matmul_precision(precision)
            assert kinds.allow_tf32 == (precision != "highest")
            expected, other = exact(lambda x: x), exact(rounded)
            if kinds.allow_tf32:
                expected, other = other, expected
            got = (a.cuda() @ b.cuda()).cpu()
            assert (got - expected).abs().max() < 5e-6 < 1e-4 < (got - other).abs().max(), precision
            assert (few @ torch.ones(1, 1, device="cuda")).item() == 1.0 + 2.0 ** -20
        kinds.allow_tf32 = True
        assert torch.get_float32_matmul_precision() == "high"
        kinds.fp32_precision = "ieee"
        assert torch.get_float32_matmul_precision() == "highest"
    finally:
        torch.set_float32_matmul_precision("highest")


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
    """Products of 16-bit floats and tf32 with edges, batches, a shared depth and an epilogue; in the simulator by instructions'
    twins that have each element where the instructions have it, and tiles for addresses that are not of whole 16 bytes."""
    functional = torch.nn.functional
    far = lambda got, expected: ((got.cpu().float() - expected).abs().max() / expected.abs().max()).item()
    for kind in (torch.bfloat16, torch.float16):
        a, b, bias = (numbers(torch, "cpu", *s, seed=i).to(kind) for i, s in enumerate(((2, 24, 40), (2, 40, 48), (48,))))
        exact = a.float() @ b.float()
        for left in (a.cuda(), a.mT.contiguous().cuda().mT):
            for right in (b.cuda(), b.mT.contiguous().cuda().mT):
                assert far(left @ right, exact) < 0.005
                assert far(torch.baddbmm(bias.cuda(), left, right, beta=2, alpha=0.5), 0.5 * exact + 2 * bias.float()) < 0.005
        x, w = a[0].cuda(), b[0].t().contiguous().cuda()
        assert far(functional.linear(x, w, bias.cuda()).relu(), (exact[0] + bias.float()).relu()) < 0.005
        odd = torch.zeros(24 * 40 + 1, dtype=kind, device="cuda")[1:].view(24, 40)
        odd.copy_(x)
        assert far(odd @ b[0].cuda(), exact[0]) < 0.005
        a, b = (numbers(torch, "cpu", *s, seed=i).to(kind) for i, s in enumerate(((16, 64), (64, 24))))
        assert far(a.cuda() @ b.cuda(), a.float() @ b.float()) < 0.005


@check
def attention_of_float32_is_exact_by_default(torch):
    """Where the program allows tf32, its products and those of its gradients are by tensor cores."""
    def attended(device):
        tensors = [numbers(torch, device, 1, 2, length, size, seed=i).requires_grad_()
                   for i, (length, size) in enumerate(((24, 16), (40, 16), (40, 8)))]
        out = torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=True)
        return [t.detach().cpu() for t in (out, *torch.autograd.grad(out.square().sum(), tensors))]
    exact = attended("cpu")
    for precision in ("highest", "high"):
        torch.set_float32_matmul_precision(precision)
        try:
            found = attended("cuda")
        finally:
            torch.set_float32_matmul_precision("highest")
        for ours, theirs in zip(found, exact):
            far = ((ours - theirs).abs().max() / theirs.abs().max()).item()
            assert far < 3e-6 if precision == "highest" else 1e-5 < far < 3e-3, (precision, far)


@check
def memory_is_counted(torch):
    cuda = torch.cuda
    before = cuda.memory_allocated()
    cuda.reset_peak_memory_stats()
    x = torch.zeros(1000, device="cuda")
    y = torch.zeros(10, device="cuda:0")
    assert cuda.memory_allocated() - before == 4096 + 512 and cuda.memory_reserved() >= cuda.memory_allocated()
    del x
    assert cuda.memory_allocated() - before == 512 and cuda.max_memory_allocated() - before >= 4608
    stats, (free, total) = cuda.memory_stats(0), cuda.mem_get_info()
    assert stats["allocated_bytes.all.current"] == cuda.memory_allocated("cuda:0") and 0 < free <= total
    assert "MiB" in cuda.memory_summary() and cuda.get_device_properties(0).total_memory == total and y.numel() == 10
    if total <= 1 << 30:
        raises(cuda.OutOfMemoryError, "Tried to allocate 2.00 GiB. GPU 0 has a total capacity", lambda: torch.empty(1 << 29, device="cuda"))
    cuda.empty_cache()


@check
def types_and_the_accelerator(torch):
    """`torch.cuda.FloatTensor` and its like make what is there, and `torch.accelerator` is CUDA."""
    x, place = torch.cuda.FloatTensor([1.0, 2.0]), torch.accelerator
    assert isinstance(x, torch.cuda.FloatTensor) and not isinstance(x, torch.FloatTensor) and x.type() == "torch.cuda.FloatTensor"
    assert x.type(torch.LongTensor).device.type == "cpu" and isinstance(x.cpu().type("torch.cuda.IntTensor"), torch.cuda.IntTensor)
    assert isinstance(x.storage(), torch.cuda.FloatStorage) and x.storage().type() == "torch.cuda.FloatStorage"
    assert torch.cuda.LongTensor(2, 3).shape == (2, 3) and x.storage_type() is torch.cuda.FloatStorage
    assert place.memory_allocated() == torch.cuda.memory_allocated() > 0 and place.memory_reserved(0) >= place.memory_allocated()
    place.reset_peak_memory_stats(), place.reset_accumulated_memory_stats()
    assert place.max_memory_allocated("cuda") == place.memory_allocated() <= place.max_memory_reserved()
    assert place.memory_stats()["allocated_bytes.all.current"] == place.memory_allocated() and len(place.get_memory_info()) == 2
    assert torch.float32 in place.get_device_capability()["supported_dtypes"] and torch.get_device_module() is torch.cuda
    place.set_stream(place.current_stream())
    place.empty_host_cache()
    with place.Graph() as graph_of_nothing:
        x.add_(1)
    assert graph_of_nothing is None and x.tolist() == [1.0, 2.0]


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
def a_recurrent_layer_is_captured(torch):
    layer, x, g = torch.nn.LSTM(2, 3).cuda(), numbers(torch, "cuda", 3, 2, 2), torch.cuda.CUDAGraph()
    with torch.no_grad():
        first = layer(x)[0].tolist()
        with torch.cuda.graph(g):
            out, _ = layer(x)
        x.mul_(2)
        g.replay()
        assert out.tolist() == layer(x)[0].tolist() != first


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


@check
def graphs_draw_anew(torch):
    """A replay draws what the calls would draw then; a capture draws nothing."""
    cuda, F = torch.cuda, torch.nn.functional
    x = torch.arange(8.0, device="cuda", requires_grad=True)

    def step():
        y = F.dropout(x, 0.5) * torch.rand(8, device="cuda") + torch.randn(8, device="cuda")
        return y.detach(), torch.autograd.grad(y.sum(), x)[0]
    step()
    before, g = torch.get_rng_state(), cuda.CUDAGraph()
    with cuda.graph(g):
        y, slope = step()
        assert torch.equal(torch.get_rng_state(), before)
        here = torch.rand(3)                             # the host's is made at once
    torch.set_rng_state(before)
    assert torch.equal(torch.rand(3), here)
    found = []
    for seed in (0, 1, 0):
        torch.manual_seed(seed)
        for _ in range(2):
            g.replay()
            found.append(y.tolist() + slope.tolist())
        torch.manual_seed(seed)
        assert [[v for t in step() for v in t.tolist()] for _ in range(2)] == found[-2:]
    assert found[0] == found[4] and len(set(map(tuple, found))) == 4
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.5)).cuda()
    expected = model(x)
    cuda.make_graphed_callables(model, (torch.zeros(8, device="cuda", requires_grad=True),))
    torch.manual_seed(3)
    out = model(x)
    slope, = torch.autograd.grad(out.sum(), x)
    torch.manual_seed(3)
    expected = F.dropout(F.linear(x, model[0].weight, model[0].bias), 0.5)
    known, = torch.autograd.grad(expected.sum(), x)
    assert torch.allclose(out, expected) and torch.allclose(slope, known, atol=1e-6)
    for draw in (lambda: torch.multinomial(x + 1, 1), lambda: torch.poisson(x.detach())):
        def capture(draw=draw):
            with cuda.graph(cuda.CUDAGraph()):
                draw()
        draw()
        raises(RuntimeError, "not permitted when stream is capturing", capture)
    assert torch.rand(2, device="cuda").tolist() != torch.rand(2, device="cuda").tolist()


def captured(torch, x):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return x.sum().item()


@check
def a_bad_index_is_found_among_many_calls(torch):
    """More than there are words for what calls report, and on two streams; what comes after it is right again."""
    lookup, x, good = torch.nn.functional.embedding, torch.arange(8.0, device="cuda").reshape(4, 2), torch.tensor([3, 0], device="cuda")
    bad, side = torch.tensor([0, 4], device="cuda"), torch.cuda.Stream()
    torch.cuda.synchronize()

    def calls(before, after):
        for k in range(before + after + 1):
            if k == before:
                with torch.cuda.stream(side):
                    lookup(bad, x)
            lookup(good, x)
        torch.cuda.synchronize()
    for before, after in ((0, 300), (255, 1), (300, 0)):
        raises(IndexError, "out of range", lambda before=before, after=after: calls(before, after))
        assert lookup(good, x).tolist() == [[6, 7], [0, 1]]
    with torch.cuda.stream(side):
        raises(IndexError, "out of range", lambda: (lookup(bad, x), side.synchronize()))
    assert lookup(good, x).tolist() == [[6, 7], [0, 1]]


@check
def bad_indices_leave_everything(torch):
    """They are looked at before anything is written, and said as on the CPU, by what waits for the device next."""
    x, values = torch.zeros(4, 3, device="cuda"), torch.ones(2, 3, device="cuda")
    bad = torch.tensor([1, 7], device="cuda")
    calls = [(IndexError, "index 7 is out of bounds", lambda: x.index_put_((bad,), values, accumulate=True)),
             (RuntimeError, "out of bounds", lambda: x.scatter_add_(0, bad.reshape(2, 1), values)),
             (IndexError, "out of range", lambda: torch.nn.functional.embedding(bad, x)),
             (IndexError, "Target 7 is out of bounds", lambda: torch.nn.functional.cross_entropy(values, bad))]
    for error, text, call in calls:
        for wait in (torch.cuda.synchronize, torch.cuda.current_stream().synchronize, values.tolist):
            raises(error, text, lambda call=call, wait=wait: (call(), wait()))
    assert not x.any().item()
