"""The code for real GPUs against a driver made for tests (fakedriver.py), which does all work as late as it may.

Each body below runs in a process of its own, since an error of a device stays: this file as a script, with the body's name.
"""
from __future__ import annotations

import gc
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import bodies
import pytest

BODIES, ENVIRONMENT = {}, {}


def body(**environment):
    def add(function):
        BODIES[function.__name__], ENVIRONMENT[function.__name__] = function, environment
        return function
    return add


def raised(function):
    try:
        function()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("nothing was raised")


def launches_wait_for_nothing(fake, torch):
    """Python goes on: what was launched has not run, and no call but the launch was made."""
    x = torch.arange(4.0).cuda()
    (x + 1).mul_(2)
    fake.calls.clear()
    y = (x + 1).mul_(2)
    assert [c for c in fake.calls if c != "cuCtxSetCurrent"] == ["cuLaunchKernel", "cuLaunchKernel"], fake.calls
    assert len(fake.defaults[0].work) >= 2
    assert y.tolist() == [2, 4, 6, 8] and not fake.defaults[0].work


def memory_is_given_out_again(fake, torch):
    """A block that was freed is the next one's, with no call to the driver; one that another stream reads waits for that."""
    cuda = torch.cuda
    x = torch.zeros(1000, device="cuda")
    fake.calls.clear()
    place = x.data_ptr()
    del x
    y = torch.empty(900, device="cuda")
    assert y.data_ptr() == place and not {"cuMemAlloc_v2", "cuMemFree_v2", "cuCtxSynchronize"} & set(fake.calls)
    side = cuda.Stream()
    with cuda.stream(side):
        z = torch.empty(900, device="cuda")              # another stream has blocks of its own
        assert z.data_ptr() != place and abs(z.data_ptr() - place) >= 2 << 20
        (y + 1).mul_(2)
    y.record_stream(side)
    del y
    assert torch.empty(900, device="cuda").data_ptr() != place
    side.synchronize()
    assert torch.empty(900, device="cuda").data_ptr() == place
    whole = torch.empty(4 << 20, device="cuda")
    reserved = cuda.memory_reserved()
    assert reserved >= (16 << 20) + (4 << 20) and cuda.memory_stats()["reserved_bytes.all.current"] == reserved
    del whole
    assert cuda.memory_reserved() == reserved and cuda.memory_allocated() < 16 << 20
    cuda.empty_cache()
    assert cuda.memory_reserved() <= reserved - (16 << 20) and cuda.max_memory_reserved() >= reserved
    cuda.reset_peak_memory_stats()
    assert cuda.max_memory_reserved() == cuda.memory_reserved()
    parts = [torch.full((n,), float(n)).cuda() for n in (100, 70000, 3, 900000, 5000)]
    del parts[1], parts[2]
    parts += [torch.full((n,), float(n)).cuda() for n in (60000, 800000, 10)]
    assert all((part.cpu() == len(part)).all().item() for part in parts)


def out_of_memory_says_who_has_it(fake, torch):
    cuda = torch.cuda
    model = torch.nn.Linear(1024, 1024).cuda()
    model.weight.grad = torch.empty(1024, 1024, device="cuda")
    kept = [torch.empty(8 << 20, device="cuda") for _ in range(3)]
    cached = torch.empty(64 << 20, device="cuda")
    del cached
    half = torch.empty(180 << 20, device="cuda")         # fits only when the driver has what is cached back
    assert cuda.memory_stats()["num_alloc_retries"] == 1 and kept
    try:
        torch.empty(180 << 20, device="cuda")
    except cuda.OutOfMemoryError as error:
        text = str(error)
    assert half.numel() and cuda.memory_stats()["num_ooms"] == 1
    assert "Tried to allocate 720.00 MiB. GPU 0 has a total capacity of 1.00 GiB of which" in text
    assert re.search(r"720.00 MiB in +1 tensors of torch.float32 \[188743680\]", text), text
    assert re.search(r"96.00 MiB in +3 tensors of torch.float32 \[8388608\]", text), text
    assert re.search(r"4.00 MiB in +2 leaves that require gradients", text) and re.search(r"4.00 MiB in +1 gradients", text), text
    assert torch.ones(3, device="cuda").tolist() == [1, 1, 1]


def break_a_kernel(fake, torch):
    """Launch a kernel on too little memory."""
    from numtorch.ops.core.backends import kernels
    from numtorch.ops.core.primitive import registry
    plan = kernels(torch.device("cuda:0"), "pointwise.pointwise").plan_pointwise(
        registry["neg"].scalar("float32"), ("float32",), ("float32",), (1 << 20,), [(1,), (1,)], compute=("float32",))
    x = torch.ones(4, device="cuda")
    plan.call(0, x.address, plan.descriptor)


def errors_come_with_the_next_wait(fake, torch):
    x = torch.ones(4, device="cuda")
    break_a_kernel(fake, torch)                          # says nothing
    text = raised(torch.cuda.synchronize)
    assert text.startswith("CUDA error: unspecified launch failure\nThe last launches on cuda:0 were <CUDA kernel"), text
    assert "NUMTORCH_CUDA_LAUNCH_BLOCKING=1" in text and "launch failure" in raised(x.tolist)


@body(NUMTORCH_CUDA_LAUNCH_BLOCKING="1")
def errors_come_at_once_when_asked_for(fake, torch):
    text = raised(lambda: break_a_kernel(fake, torch))
    assert text.startswith("CUDA error: unspecified launch failure\nThe last launch on cuda:0 was <CUDA kernel"), text


def refused_launches_raise(fake, torch):
    x = torch.ones(4, device="cuda")
    x.neg()
    fake.functions.clear()
    text = raised(x.neg)
    assert text.startswith("CUDA error: invalid resource handle") and "was not launched on cuda:0" in text


def threads_have_streams_of_their_own(fake, torch):
    import threading
    cuda, found = torch.cuda, {}
    x = torch.arange(3.0, device="cuda")
    side = cuda.Stream()

    def work():
        found["stream"], found["device"] = cuda.current_stream(), cuda.current_device()
        with cuda.device(1):
            found["there"] = str(torch.zeros(1, device="cuda").device)
        found["values"] = (x * 2).tolist()
    with cuda.stream(side):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert cuda.current_stream() == side
    assert found == {"stream": cuda.default_stream(), "device": 0, "there": "cuda:1", "values": [0, 2, 4]}, found


def graphs_are_one_launch(fake, torch):
    """What is captured goes to the driver's graph; replayed, it is one call."""
    cuda = torch.cuda
    x = torch.arange(4.0, device="cuda")
    (x * 2 + 1).exp().sum()
    g = cuda.CUDAGraph()
    with cuda.graph(g):
        y = (x * 2 + 1).exp().sum()
    fake.calls.clear()
    for value in (0.0, 1.0):
        x.fill_(value)
        fake.calls.clear()
        g.replay()
        assert [c for c in fake.calls if c != "cuCtxSetCurrent"] == ["cuGraphLaunch"], fake.calls
        assert abs(y.item() - 4 * torch.tensor(2 * value + 1).exp().item()) < 1e-4
    assert not fake.graphs and len(fake.executables) == 1
    g.reset()
    gc.collect()
    assert not fake.executables


def events_go_back(fake, torch):
    cuda = torch.cuda
    start, end, side = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True), cuda.Stream()
    with cuda.stream(side):
        start.record()
        x = torch.ones(3, device="cuda") * 2
        end.record()
    assert not end.query() and not side.query()
    cuda.current_stream().wait_event(end)
    assert (x + 1).tolist() == [3, 3, 3] and start.elapsed_time(end) > 0
    x.to("cuda:1").to("cpu")
    del start, end
    gc.collect()
    assert not fake.leaks(), fake.leaks()


def copies_between_devices_wait_in_order(fake, torch):
    """Neither device, nor the host, waits; each reads what was there when it was told."""
    x = torch.arange(3.0, device="cuda:0")
    x.mul_(2).zero_(), x.to("cuda:1").neg()
    x.copy_(torch.arange(3.0))
    fake.calls.clear()
    y = x.mul_(2).to("cuda:1").neg()
    x.zero_()
    assert not {"cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize"} & set(fake.calls), fake.calls
    assert y.tolist() == [0, -2, -4] and x.tolist() == [0, 0, 0]


def pinned_copies_do_not_wait(fake, torch):
    """With `non_blocking`, from and to pinned memory; that memory is not given to others before; pageable memory is waited for."""
    waits = {"cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize"}
    source = torch.arange(4.0).pin_memory()
    assert source.is_pinned() and source.pin_memory() is source and not torch.zeros(2).is_pinned()
    assert source.untyped_storage().is_pinned() and source[1:].is_pinned() and source.detach().is_pinned()
    x = torch.zeros(4, device="cuda")
    x.neg(), x.copy_(torch.ones(4))
    fake.calls.clear()
    moved = source.to("cuda", non_blocking=True)
    back = moved.neg().to("cpu", non_blocking=True)
    assert back.is_pinned() and not waits & set(fake.calls), fake.calls
    place = source.data_ptr()
    del source
    other = torch.full((4,), 9.0).pin_memory()           # the device has not read the first one yet
    assert other.data_ptr() != place
    torch.cuda.synchronize()
    assert back.tolist() == [0, -1, -2, -3] and moved.tolist() == [0, 1, 2, 3]
    assert torch.zeros(4).pin_memory().data_ptr() == place
    x.copy_(other, non_blocking=True)
    assert (x + 1).tolist() == [10] * 4
    fake.calls.clear()
    torch.zeros(3).to("cuda", non_blocking=True)
    assert waits & set(fake.calls)                       # pageable
    layer = torch.nn.Linear(2, 2)
    layer.to("cuda", non_blocking=True)
    leaf = torch.ones(2, requires_grad=True)
    leaf.pin_memory().mul(3).sum().backward()
    assert leaf.grad.tolist() == [3, 3]


for _function in (pinned_copies_do_not_wait, launches_wait_for_nothing, memory_is_given_out_again, out_of_memory_says_who_has_it, errors_come_with_the_next_wait,
                  refused_launches_raise, threads_have_streams_of_their_own, graphs_are_one_launch, events_go_back,
                  copies_between_devices_wait_in_order):
    body()(_function)


@pytest.mark.parametrize("name", BODIES)
def test_on_a_driver_for_tests(name):
    bodies.run(__file__, name, NUMBA_ENABLE_CUDASIM="1", **ENVIRONMENT[name])


# ---------------------------------------------------------------- the header
def test_prototypes_are_those_of_the_header():
    """Every function that is used, against `cuda.h` where the toolkit is installed."""
    from numtorch.kernels.cuda.driver import FUNCTIONS
    spec = find_spec("nvidia")
    headers = [path for place in (spec.submodule_search_locations if spec else ()) for path in Path(place).glob("*/include/cuda.h")]
    if not headers:
        pytest.skip("cuda.h is not installed (nvidia-cuda-runtime)")
    text = headers[0].read_text()
    plain = {"unsigned int": "u", "int": "i", "size_t": "z", "unsigned long long": "q", "CUdeviceptr": "q", "CUdevice": "i",
             "CUdevice_attribute": "i", "CUfunction_attribute": "i", "CUresult": "i", "CUstreamCaptureMode": "i", "CUipcMemHandle": "h", "CUipcEventHandle": "h",
             "float": "f"}

    def kind(parameter):
        parameter = parameter.replace("const ", "").strip()
        return "[sp]" if parameter == "char *name" else "p" if "*" in parameter else plain.get(parameter.rsplit(" ", 1)[0], "p")
    for name, kinds in FUNCTIONS.items():
        bare = re.sub(r"_v\d$|WithFlags$", "", name)
        found = re.search(rf"CUresult CUDAAPI {bare}\(([^)]*)\);", text)
        assert found, f"{bare} is not in {headers[0]}"
        if name != bare:
            assert re.search(rf"#define {bare}\s+(?:__CUDA_API_PTSZ\()?{name}\b", text), f"{name} is not what cuda.h has"
        parameters = [p for p in found[1].split(",") if p.strip() != "void"]
        assert re.fullmatch("".join(map(kind, parameters)), kinds), f"{name}: {kinds} but cuda.h has {parameters}"


if __name__ == "__main__":
    import fakedriver
    fake = fakedriver.install()
    import numtorch
    name, = bodies.served()
    try:
        BODIES[name](fake, numtorch)
    except Exception:
        print(*fake.errors[:2], sep="\n", file=sys.stderr)
        raise
