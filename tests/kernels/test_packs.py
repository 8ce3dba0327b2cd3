"""Packs of kernels for processors that share their instructions: made here, for other architectures too, and loaded elsewhere."""
from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.start import PROGRAMS
from numtorch.kernels import compiler, store
from numtorch.kernels.targets import processor

ROOT = Path(__file__).resolve().parents[2]
jit_only = pytest.mark.skipif(compiler.DISABLE_JIT, reason="NUMBA_DISABLE_JIT: nothing is stored when kernels run as Python")


def command(*args, directory, **environment):
    env = {**os.environ, "NUMTORCH_CACHE_DIR": str(directory), **environment}
    return subprocess.run([sys.executable, "-m", "numtorch", *args], env=env, capture_output=True, text=True, timeout=600)


def processors():
    return [name for name in processor.BASELINES if processor.runs(name)]


FROM_A_PACK = """
import sys
import numtorch as torch
from numtorch.kernels import compiler, store
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(a * 2 + a).sum().backward()
assert (a + 1).tolist() == [2.0, 3.0, 4.0] and a.grad.tolist() == [3.0, 3.0, 3.0]
print(compiler.statistics.compiled, "numba" in sys.modules, store.info()["loose kernels"])
"""


@jit_only
@pytest.mark.skipif(not processors(), reason="no baseline that this processor runs")
def test_kernels_of_an_installed_package_are_not_compiled(tmp_path):
    """Packed for the best baseline that this processor has, made a wheel, installed elsewhere, and found there; damaged, compiled."""
    best = processors()[0]
    done = command("cache", "pack", str(tmp_path / "packs"), "--for", best, "--family", "arithmetic", directory=tmp_path / "unused")
    assert done.returncode == 0, done.stderr
    assert [p.name for p in (tmp_path / "packs").iterdir()] == [store.pack_name(best)] and not (tmp_path / "unused").exists()
    made = subprocess.run([sys.executable, str(ROOT / "tools" / "kernels_wheel.py"), str(tmp_path / "packs"), str(tmp_path)],
                          capture_output=True, text=True, timeout=60)
    assert made.returncode == 0, made.stderr
    wheel, = tmp_path.glob("numtorch_kernels-*.whl")
    assert wheel.name.endswith(f"cp{sys.version_info.major}{sys.version_info.minor}-none-manylinux_2_17_{processor.machine()}.whl")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(tmp_path / "site"),
                    str(wheel)], check=True, timeout=120)
    path = os.pathsep.join([str(tmp_path / "site"), str(ROOT), os.environ.get("PYTHONPATH", "")])

    def run(home):
        env = {**os.environ, "NUMTORCH_CACHE_DIR": str(tmp_path / home), "PYTHONPATH": path}
        done = subprocess.run([sys.executable, "-c", FROM_A_PACK], env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert run("one") == ["0", "False", "0"]
    pack, = (tmp_path / "site" / "numtorch_kernels").glob("*.pack")
    shown = command("cache", "info", directory=tmp_path / "one", PYTHONPATH=path)
    assert str(pack) in shown.stdout
    pack.write_bytes(pack.read_bytes()[:-1])
    compiled, numba, kept = run("two")
    assert int(compiled) == int(kept) > 0 and numba == "True"


def test_a_baseline_is_what_the_processor_has(monkeypatch):
    processor.best_baseline.cache_clear()
    everything = frozenset("mmx fxsr pni cx16 sse sse2 ssse3 sse4_1 sse4_2 popcnt movbe xsave f16c lahf_lm abm bmi1 bmi2 avx avx2 fma".split())
    wide = everything | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
    for machine, flags, best in (("x86_64", wide, "x86-64-v4"), ("x86_64", everything, "x86-64-v3"),
                                 ("x86_64", everything - {"fma"}, None), ("x86_64", wide - {"avx512dq"}, "x86-64-v3"),
                                 ("aarch64", frozenset(), "armv8-a"), ("arm64", frozenset(), "armv8-a"), ("riscv64", wide, None)):
        with monkeypatch.context() as patch:
            patch.setattr(processor.platform, "machine", lambda machine=machine: machine)
            patch.setattr(processor, "_flags", lambda flags=flags: flags)
            assert processor.best_baseline() == best
        processor.best_baseline.cache_clear()


def test_an_unknown_baseline_is_refused(monkeypatch):
    monkeypatch.setenv("NUMTORCH_PROCESSOR", "x86-64-v9")
    with pytest.raises(ValueError, match="x86-64-v4, x86-64-v3"):
        processor.chosen()


# ---------------------------------------------------------------- another architecture
AARCH64, RELOCATABLE, RETURN = 183, 1, 0xD65F03C0


def elf(code):
    """The kind of an ELF object, its machine, its defined functions, and the words of the sections that run."""
    assert code[:6] == b"\x7fELF\x02\x01"
    kind, machine = struct.unpack_from("<HH", code, 16)
    start, = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", code, start + i * size) for i in range(count)]
    words = b"".join(code[h[4]:h[4] + h[5]] for h in headers if h[1] == 1 and h[2] & 4)
    table, = [h for h in headers if h[1] == 2]
    names, functions = headers[table[6]][4], set()
    for at in range(table[4], table[4] + table[5], 24):
        name, information, _, section = struct.unpack_from("<IBBH", code, at)
        if information & 15 == 2 and section:
            functions.add(code[names + name:code.index(b"\0", names + name)].decode())
    return kind, machine, functions, np.frombuffer(words, np.uint32)


@jit_only
@pytest.mark.skipif(processor.machine() == "aarch64", reason="this is no other architecture")
def test_kernels_for_arm_are_made_here(tmp_path):
    """What is packed is ELF for AArch64 under the keys' names, of whole instructions, and computes with vectors of NEON; here the
    same program ran, so that it was planned as there."""
    done = command("cache", "pack", str(tmp_path), "--for", "armv8-a", "--family", "arithmetic", directory=tmp_path / "unused")
    assert done.returncode == 0 and not (tmp_path / "unused").exists(), done.stderr
    pack = store._Pack(str(tmp_path / store.pack_name("armv8-a")), None)
    assert len(pack.index) > 20
    multiplied = 0
    for key in pack.index:
        kind, machine, functions, words = elf(store._unseal(pack.get(key)))
        symbol = compiler._symbol(key)
        assert (kind, machine) == (RELOCATABLE, AARCH64) and {symbol, symbol + "_py"} <= functions
        assert (words == RETURN).any()
        multiplied += bool(((words & 0xFFA0FC00) == 0x6E20DC00).any())             # FMUL of vectors, four lanes or two
    assert multiplied >= 2


@jit_only
@pytest.mark.skipif(processor.machine() != "x86_64", reason="the text is of x86-64")
def test_a_kernel_waits_as_the_other_architecture_waits():
    import llvmlite.binding as llvm

    from numtorch.kernels.targets.crosscompile import CrossCompiler
    other = CrossCompiler(llvm, processor.BASELINES["armv8-a"], opt=3)
    module = other.module('target triple = "x86_64-unknown-linux-gnu"\ndeclare void @llvm.x86.sse2.pause() #1\n'
                          'define void @"here"() {\n  call void @llvm.x86.sse2.pause()\n  ret void\n}\nattributes #1 = { nounwind }\n',
                          "here", "there")
    assert module.triple == "aarch64-unknown-linux-gnu" and str(other.target.target_data) == module.data_layout
    assembly = other.target.emit_assembly(module)
    assert "there:" in assembly and "yield" in assembly and "pause" not in assembly


def test_what_cannot_be_packed_here_is_said(tmp_path, capsys, monkeypatch):
    """Instructions of this architecture that this processor lacks, and those of x86-64 alone on another one."""
    from numtorch.commands import cachetool
    monkeypatch.setattr(processor, "_flags", frozenset)
    for machine, baseline in (("x86_64", "x86-64-v4"), ("aarch64", "x86-64-v4")):
        monkeypatch.setattr(processor.platform, "machine", lambda machine=machine: machine)
        assert cachetool.pack(tmp_path, [baseline]) == 1 and "does not run x86-64-v4" in capsys.readouterr().err
        assert processor.can_pack("armv8-a")


# ---------------------------------------------------------------- all of them
FIRST_STEP = """
import json, sys, time
start = began = time.time()
processor_seconds = time.process_time
report = lambda *seconds: None
{source}
from numtorch.kernels.progress import statistics
print(json.dumps([statistics.compiled, statistics.loaded, "numba" in sys.modules, time.time() - start]))
"""


@jit_only
@pytest.mark.skipif("NUMTORCH_TEST_PACKS" not in os.environ, reason="NUMTORCH_TEST_PACKS names no folder of packs, which take minutes")
@pytest.mark.parametrize("program", PROGRAMS, ids=[name for name, *_ in PROGRAMS])
def test_a_first_step_needs_no_compiler(program, tmp_path):
    """Of the benchmark's networks, with an empty store and the package of kernels installed."""
    package = tmp_path / "site" / "numtorch_kernels"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for pack in Path(os.environ["NUMTORCH_TEST_PACKS"]).glob("*.pack"):
        shutil.copy(pack, package)
    path = os.pathsep.join([str(package.parent), str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "NUMTORCH_CACHE_DIR": str(tmp_path / "store"), "PYTHONPATH": path}
    source = FIRST_STEP.format(source=program[1].replace("{module}", "numtorch"))
    done = subprocess.run([sys.executable, "-c", source], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    compiled, loaded, numba, seconds = json.loads(done.stdout)
    print(f"{program[0]}: {seconds:.2f} s, {loaded} kernels")
    assert (compiled, numba) == (0, False) and loaded > 5 and not (tmp_path / "store" / "objects").exists()
