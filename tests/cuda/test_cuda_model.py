"""`python -m bench cuda`: refused without a device; the model reads code as it is and keeps to its arithmetic."""
from __future__ import annotations

import os
import struct
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.device import code, measured, model  # noqa: E402

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


def command(*words, **environment):
    environment = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run([sys.executable, "-m", "bench", "cuda", *words], cwd=ROOT, env=environment, capture_output=True, text=True,
                          timeout=300)


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


@pytest.mark.skipif(find_spec("numba_cuda") is None, reason="needs numtorch[cuda]")
def test_the_model_runs():
    done = command("--model", NUMBA_ENABLE_CUDASIM="0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Estimates, not measurements") and done.stdout.count("| H100 |") == len(model.rows())


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

    class Torch:
        class cuda:
            synchronize = staticmethod(lambda: None)
    Torch.cuda.Event = Event

    def function():
        Event.clock += 0.5
    assert measured.microseconds(Torch, function) == 500.0
