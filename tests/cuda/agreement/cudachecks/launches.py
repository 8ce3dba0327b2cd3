"""Launches and their memory: addresses, streams, graphs, and indices that a kernel finds to be wrong."""
from __future__ import annotations

from cudacases import numbers

from .table import check, raises


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
def plans_hold_their_memory(torch):
    """Descriptors are device memory that must outlive the planner."""
    import gc
    x = torch.arange(12.0, device="cuda").reshape(3, 4)
    first = (x.t() + 1).tolist()
    gc.collect()
    blocks = [torch.full((40,), 1e9, device="cuda") for _ in range(50)]
    assert (x.t() + 1).tolist() == first and len(blocks) == 50


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
