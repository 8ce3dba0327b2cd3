"""Launches and their memory: addresses, streams, and indices that a kernel finds to be wrong."""
from __future__ import annotations

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
def memory_is_counted_anew(torch):
    """What was allocated and freed, after a reset in the middle of it."""
    cuda = torch.cuda
    held, gone = torch.zeros(1000, device="cuda"), torch.zeros(500, device="cuda")
    cuda.reset_accumulated_memory_stats()
    stats = cuda.memory_stats()
    kinds = "allocated_bytes", "active_bytes", "reserved_bytes", "allocation", "segment"
    assert all(stats[f"{kind}.all.{what}"] == 0 for kind in kinds for what in ("allocated", "freed")), stats
    assert stats["num_ooms"] == stats["num_alloc_retries"] == 0 < stats["allocated_bytes.all.current"]
    del gone
    again = torch.zeros(1000, device="cuda")
    stats = cuda.memory_stats()
    assert stats["active_bytes.all.freed"] == 2048 and stats["active_bytes.all.allocated"] == 4096
    assert stats["allocation.all.freed"] == stats["allocation.all.allocated"] == 1 and held.numel() == again.numel()
    properties = cuda.get_device_properties()
    assert properties == cuda.get_device_properties(0) and properties.multi_processor_count > 0 and len(properties.uuid) >= 10
    assert (properties.major, properties.minor) == cuda.get_device_capability() and properties.max_threads_per_block > 0
    if cuda.device_count() > 1:
        assert properties != cuda.get_device_properties(1)


@check
def memory_is_pinned_where_it_is_asked_for(torch):
    """By functions that make tensors, by loaders, and by `pin_memory`, which keeps how dense tensors lie."""
    x, data = torch.arange(24.0).reshape(2, 3, 4), torch.utils.data
    made = [torch.empty(3, pin_memory=True), torch.zeros(2, dtype=torch.int32, pin_memory=True), torch.ones(2, pin_memory=True),
            torch.full((2,), 3.0, pin_memory=True), torch.tensor([1.0, 2.0], pin_memory=True), torch.rand(2, pin_memory=True),
            torch.randn(2, requires_grad=True, pin_memory=True), torch.randint(3, (2,), pin_memory=True), torch.eye(2, pin_memory=True),
            torch.arange(3, pin_memory=True), torch.linspace(0, 1, 3, pin_memory=True), torch.zeros_like(x, pin_memory=True),
            torch.rand_like(x, pin_memory=True), x.new_empty(2, pin_memory=True), x.new_tensor([1], pin_memory=True),
            x.new_full((2,), 1.0, pin_memory=True), torch.empty_strided((2, 3), (1, 2), pin_memory=True)]
    assert all(each.is_pinned() and each.is_leaf for each in made), [each.is_pinned() for each in made]
    assert made[6].requires_grad and made[4].tolist() == [1, 2] and made[-1].stride() == (1, 2)
    raises(RuntimeError, "only dense CPU tensors can be pinned", lambda: torch.zeros(2, device="cuda", pin_memory=True))
    for view, strides in ((x.transpose(0, 2), (1, 4, 12)), (x[:, ::2], (8, 4, 1)), (x[:, :1].expand(2, 3, 4), (12, 4, 1))):
        for moved in (view.pin_memory(), view.cuda(), view.cuda().cpu(), view.cuda().to("cpu", non_blocking=True)):
            torch.cuda.synchronize()
            assert moved.stride() == strides and torch.equal(moved.cpu(), view)

    class Own:
        def pin_memory(self):
            return "pinned"
    examples = [dict(x=torch.ones(2), name="a", more=(torch.ones(1), 2)) for _ in range(4)]
    for batch in data.DataLoader(examples, 2, pin_memory=True):
        assert batch["x"].is_pinned() and batch["more"][0].is_pinned() and batch["more"][1].is_pinned() and batch["name"] == ["a", "a"]
    assert list(data.DataLoader([1, 2], 2, collate_fn=lambda batch: (Own(), batch), pin_memory=True)) == [["pinned", [1, 2]]]
    assert not next(iter(data.DataLoader(examples, 2)))["x"].is_pinned()


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
    with mine as inside, mine:
        assert cuda.current_stream() == mine == inside
    assert cuda.current_stream() == first and start.device == torch.device("cuda:0") and cuda.Event().device is None
    with cuda.nvtx.range("step {}", 1):
        assert cuda.nvtx.range_push("inner") == 1 and cuda.nvtx.range_pop() == 1
    one, other = cuda.nvtx.range_start("one"), cuda.nvtx.range_start("other")
    assert one != other and cuda.nvtx.range_end(one) is cuda.nvtx.range_end(other) is None


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
