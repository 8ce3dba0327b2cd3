"""`python -m bench cuda`: refused without a device; the model reads code as it is and keeps to its arithmetic."""
from __future__ import annotations

import os
import struct
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from bench.device import code, measured, model, peers, steps  # noqa: E402

PTX = """
.entry k(.param .u64 a)
{
$L__BB0_1:
	ld.global.u64 	%rd1, [%rd2];
	add.s64 	%rd2, %rd2, 8;
	@%p1 bra 	$L__BB0_1;
$L__BB0_2:
	ld.global.v4.f32 	{%f1, %f2, %f3, %f4}, [%rd3];
	ld.shared.f32 	%f5, [%r1];
	fma.rn.f32 	%f6, %f1, %f5, %f6;
	fma.rn.f32 	%f7, %f2, %f5, %f7;
	add.s64 	%rd3, %rd3, 16;
	@%p2 bra 	$L__BB0_2;
	st.global.f32 	[%rd4], %f6;
	ret;
}
"""


def elf(sections):
    """An ELF file of named sections: (kind, bytes in memory, content)."""
    names, bodies, headers = b"\0", b"", []
    for name, (kind, nbytes, content) in {**sections, ".shstrtab": (3, 0, b"")}.items():
        headers.append((len(names), kind, 64 + len(bodies), nbytes or len(content)))
        names, bodies = names + name.encode() + b"\0", bodies + content
    headers[-1] = (headers[-1][0], 3, 64 + len(bodies), len(names))
    start = 64 + len(bodies) + len(names)
    head = bytearray(64)
    head[:4] = b"\x7fELF"
    struct.pack_into("<Q", head, 0x28, start)
    struct.pack_into("<HHH", head, 0x3A, 64, len(headers), len(headers) - 1)
    table = b"".join(struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, at, size, 0, 0, 0, 0) for name, kind, at, size in headers)
    return bytes(head) + bodies + names + table


CUBIN = elf({".nv.info": (1, 0, struct.pack("<BBHI", 3, 0x1B, 8, 0)[:4] + struct.pack("<BBHII", 4, 0x2F, 8, 5, 96)),
             ".nv.shared.k": (8, 2048, b""), ".text.k": (1, 0, bytes(160))})


def test_code_is_read_from_the_busiest_loop_and_the_cubin():
    found = code.read(PTX, CUBIN)
    assert (found.registers, found.shared, found.instructions) == (96, 2048, 10)
    assert (found.issued, found.work, found.loads, found.loaded, found.shared_words, found.stores) == (6, 2, 1, 16, 1, 0)


@pytest.mark.parametrize("registers, shared, threads, expected", [
    (32, 0, 256, 1.0), (33, 0, 256, 0.75), (255, 0, 256, 0.125), (32, 100 << 10, 256, 0.25), (32, 0, 32, 0.5)])
def test_occupancy_is_what_registers_and_shared_memory_leave(registers, shared, threads, expected):
    found = code.read(PTX, CUBIN)._replace(registers=registers, shared=shared)
    assert model.occupancy(found, threads, model.MACHINES[1]) == expected


def test_shares_are_the_slowest_of_what_a_loop_needs():
    a100, h100 = model.MACHINES
    found = code.read(PTX, CUBIN)._replace(registers=32, shared=0, issued=100, work=64, shared_words=8)
    assert model.arithmetic_share(found, 256, h100) == 0.64 and model.arithmetic_share(found, 256, a100) == 1.0
    assert model.arithmetic_share(found._replace(shared_words=32), 256, h100) == 0.5
    assert model.arithmetic_share(found._replace(products=32), 256, h100) == pytest.approx(0.62)
    few = found._replace(loaded=4, registers=128)                    # a quarter of the threads, a word each
    assert model.memory_share(few, 256, h100) == pytest.approx(512 * 4 / (3350 / 132 * 650))
    assert model.memory_share(found._replace(loaded=16), 256, h100) == 1.0


def python(*words, **environment):
    environment = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900)


def command(*words, **environment):
    return python("-m", "bench", "cuda", *words, **environment)


def test_the_benchmark_refuses_without_a_device():
    done = command(NUMBA_ENABLE_CUDASIM="1")
    assert done.returncode == 2 and "the simulator measures nothing" in done.stderr and "--model" in done.stderr
    if find_spec("numba_cuda") is None:
        assert "there is none here" in command(NUMBA_ENABLE_CUDASIM="0").stderr
        done = command("--model", NUMBA_ENABLE_CUDASIM="0")
        assert done.returncode == 2 and "numtorch[cuda]" in done.stderr


def test_the_page_has_the_models_rows():
    text = (ROOT / "docs" / "cuda.md").read_text()
    assert "Estimates, not measurements" in text
    for name, *_ in model.rows():
        for machine in model.MACHINES:
            assert f"| {name} | {machine.name} |" in text, name


    for name, *_ in measured.NETWORKS:
        for machine in model.MACHINES:
            assert f"| step, {name} | {machine.name} |" in text, name


needs_cuda = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="needs numtorch[cuda]")


@needs_cuda
def test_the_model_runs():
    done = command("--model", "--rows", "2²⁶", NUMBA_ENABLE_CUDASIM="0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Estimates, not measurements") and done.stdout.count("| H100 |") == 2


ONE_LAYER = """
import sys
from bench.device import command, measured
_, _, optimizer, _, loss = measured.NETWORKS[0]
inputs = lambda torch: (torch.randn(4, 12), torch.randint(0, 10, (4,)))
measured.NETWORKS[:] = [("one layer", lambda torch: torch.nn.Linear(12, 10), optimizer, inputs, loss)]
sys.exit(command.main(["--model", "--rows", "one layer"]))
"""


@needs_cuda
def test_a_step_is_estimated():
    """Of one layer: the benchmark's networks have dozens of kernels to compile, for two machines each."""
    done = python("-c", ONE_LAYER, NUMBA_ENABLE_CUDASIM="0")
    assert done.returncode == 0, done.stderr
    for machine in model.MACHINES:
        row, = (line for line in done.stdout.splitlines() if line.startswith(f"| step, one layer | {machine.name} |"))
        launches, megabytes, gigaflops, kernels, eager, graph = (float(cell.split()[0]) for cell in row.split("|")[3:-1])
        assert 5 <= launches <= 15 and 0 < kernels < graph < eager == launches * steps.HOST, row


# ---------------------------------------------------------------- steps
def kernel(name="kernel", kinds=("f4", "f4", "i8"), threads=256):
    return SimpleNamespace(name=name, kinds=[np.dtype(k) for k in kinds], threads=threads, names={"depth_of": None})


def memory(*arrays):
    """What says where an address lies among arrays."""
    spans = [(a.ctypes.data, a.ctypes.data + a.nbytes) for a in arrays]
    return lambda address: next(((start, end) for start, end in spans if start <= address < end), None)


def test_a_launch_has_to_do_with_the_memory_of_its_addresses():
    x, y, z = np.zeros(1 << 15, np.float32), np.zeros(1 << 15, np.float32), np.zeros(1 << 15, np.float32)
    table = np.array([5, z.ctypes.data, y.ctypes.data], np.int64)
    addresses = x.ctypes.data, y.ctypes.data + 1024, table.ctypes.data
    found = steps.launched(kernel(), 7, addresses, memory(x, y, table))
    assert found.nbytes == x.nbytes + y.nbytes - 1024 + table.nbytes + y.nbytes    # the table names y's first element as well
    assert steps.launched(kernel(), 7, addresses, memory(x, y, z, table)).nbytes == found.nbytes + z.nbytes


def test_a_product_reads_its_matrices():
    from numtorch.kernels.cuda.gemm import tiles
    a, words = np.zeros(1 << 20, np.float32), np.zeros(40, np.int64)
    words[[tiles.SIZE_M, tiles.SIZE_N, tiles.SIZE_K, tiles.TILES, tiles.ALL_TILES]] = 8, 16, 32, 1, 2
    made = kernel("product_tiles", ("f4", "f4", "f4", "f4", "i8"))
    found = steps.launched(made, 2, (*[a.ctypes.data + 65536 * i for i in range(3)], 0, words.ctypes.data), memory(a, words))
    assert found.operations == 2 * 2 * 8 * 16 * 32
    assert found.nbytes == 2 * 4 * (8 * 32 + 32 * 16 + 8 * 16) + words.nbytes


def test_a_launch_waits_for_memory_and_then_moves_or_computes():
    h100, read = model.MACHINES[1], code.read(PTX, CUBIN)._replace(registers=32, shared=0)
    took = lambda blocks, nbytes, operations=0: steps.microseconds(steps.Launch(kernel(), blocks, nbytes, operations), read, h100)
    assert took(1, 0) == pytest.approx(h100.latency / 1e3)
    assert took(1 << 20, 10 ** 9) == pytest.approx((650 + 10 ** 9 / 3350) / 1e3)
    assert took(1, 10 ** 6) == pytest.approx((650 + 10 ** 6 * 650 / (256 * 16)) / 1e3)         # the loads of one block are under way
    alone, all_of_them = (took(blocks, 0, 10 ** 9) - 0.65 for blocks in (1, 132))
    assert alone == pytest.approx(132 * all_of_them)


def test_a_step_is_bound_by_the_host_or_the_device():
    class Small:
        threads, shared, ptx, cubin = 256, 0, staticmethod(lambda capability: PTX), staticmethod(lambda capability: CUBIN)
    launches = [steps.Launch(Small, 1, 0, 0)] * 10
    found = steps.estimate("a", launches, model.MACHINES[1])
    assert found.launches == 10 and found.eager == 10 * steps.HOST and found.graph == pytest.approx(10 * (0.65 + steps.IN_GRAPH))


def test_rows_are_timed_by_events():
    class Event:
        clock = 0.0

        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            self.at = Event.clock

        def synchronize(self):
            pass

        def elapsed_time(self, other):
            return other.at - self.at

    def function():
        Event.clock += 0.5
    assert measured.microseconds(SimpleNamespace(synchronize=lambda: None, Event=Event), function) == 500.0


# ---------------------------------------------------------------- beside CuPy
class Cupy(ModuleType):
    """Stands in for CuPy: NumPy on arrays of few elements, and a clock that each call moves on by a millisecond."""

    def __init__(self, there=True):
        super().__init__("cupy")
        self.now, rng = 0.0, np.random.default_rng(0)
        few = lambda shape: tuple(min(n, 4) for n in (shape if isinstance(shape, tuple) else (shape,)))
        normal = lambda shape, dtype: rng.standard_normal(few(shape), dtype=dtype)
        self.random = SimpleNamespace(default_rng=lambda seed=None: SimpleNamespace(standard_normal=normal),
                                      randint=lambda low, high, count: rng.integers(low, min(high, 4), few(count)))
        self.fft = np.fft
        self.cuda = SimpleNamespace(is_available=lambda: there, Device=lambda: SimpleNamespace(synchronize=lambda: None),
                                    Event=self.event, get_elapsed_time=lambda one, other: other.at - one.at)

    def event(self, disable_timing):
        assert not disable_timing
        made = SimpleNamespace(synchronize=lambda: None)
        made.record = lambda: setattr(made, "at", self.now)
        return made

    def __getattr__(self, name):
        def function(*args, **kwargs):
            self.now += 1.0
            return getattr(np, name)(*args, **kwargs)
        return function


@pytest.fixture
def cupy(monkeypatch):
    made, more, special = Cupy(), ModuleType("cupyx"), ModuleType("cupyx.scipy.special")
    more.scatter_add = np.add.at
    special.softmax = lambda a, axis: np.exp(a) / np.exp(a).sum(axis, keepdims=True)
    for module in (made, more, ModuleType("cupyx.scipy"), special):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return made


def test_rows_of_cupy_are_rows_and_run(cupy):
    assert set(peers.ROWS) <= {name for name, *_ in measured.cases()}
    for name in peers.ROWS:
        found = peers.in_cupy(cupy, name)()
        assert found is None or np.isfinite(np.abs(found)).all(), name
    table = np.ones((4, 2), np.float32)
    assert peers._add_rows(cupy, table, np.array([1, 1, 3])).tolist() == [[1, 1], [3, 3], [1, 1], [2, 2]] and table.sum() == 8


def test_cupy_is_timed_by_its_events(cupy):
    (found,), absent = peers.installed(["cupy"])
    assert found.title == "CuPy" and not absent and found.call("gelu, 2²⁶ float32", None) is None
    assert measured.microseconds(found.cuda, found.call("rows of an embedding, 2¹⁶ of 50000 x 512", None)) == 1000.0


def test_rows_stand_beside_those_that_have_them(cupy):
    """Of numtorch a device that runs nothing: what is measured is who is asked for what."""
    event = SimpleNamespace(record=lambda: None, synchronize=lambda: None, elapsed_time=lambda other: 1e3)
    ones = SimpleNamespace(to=lambda kind: SimpleNamespace(requires_grad_=lambda grad: np.ones(2)))
    ours = SimpleNamespace(randn=lambda *shape, device: ones, float32=None,
                           cuda=SimpleNamespace(Event=lambda enable_timing: event, synchronize=lambda: None))
    (found,), _ = peers.installed(["cupy"])
    row, = measured.measure(ours, [found], "sort of")
    assert list(row.theirs) == ["CuPy"] and row.ours > 0
    row, = measured.measure(ours, [found._replace(call=lambda name, make: cupy.nothing)], "sort of")
    assert np.isnan(row.theirs["CuPy"])


def test_peers_that_are_absent_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert peers.installed(["cupy"]) == ([], ["CuPy"])
    monkeypatch.setitem(sys.modules, "cupy", Cupy(there=False))
    assert peers.installed(["cupy"]) == ([], ["CuPy"])
