"""bfloat16 products in pairs: the forced forms on this processor, what the twin gives, and the instruction in machine code."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from llvmlite import binding as llvm
from llvmlite import ir
from test_kernel_gemm import check, from_words, sweep, to_words, workspace_for

from numtorch.kernels.cpu.gemm import gemm, half
from numtorch.kernels.cpu.micro import tile


@pytest.fixture(params=["halves", "dot"])
def form(request, monkeypatch):
    monkeypatch.setenv("NUMTORCH_PAIRS", request.param)
    if half.pair_form() != request.param:
        pytest.skip("this processor has no dot product of bfloat16")
    return request.param


def multiply(a, b):
    """The product of two matrices of words."""
    (m, k), n = a.shape, b.shape[1]
    out = np.zeros((m, n), np.uint16)
    prepared = gemm.plan_gemm(m, n, k, "bfloat16", (k, 1), (n, 1), (n, 1))
    _keep, workspace, _ = workspace_for(prepared)
    prepared.call(a.ctypes.data, b.ctypes.data, out.ctypes.data, 0, workspace, prepared.descriptor)
    return out


def test_pairs(form):
    sweep("bfloat16", (2, 15, 29), (2, 33, 64), (1, 16, 67))
    for a, b, c in (("strided", "reversed", "row"), ("reversed", "column", "strided"), ("repeated", "strided", "column")):
        check(17, 35, 19, "bfloat16", a, b, c, batch=3, bias="column", bias_stride=3, alpha=0.5, beta=1)
    check(75, 530, 1101, "bfloat16", "row", "column", bias="row", activation="relu", beta=-2)        # blocks, of odd depth too
    check(75, 530, 1101, "bfloat16", "column", "row")
    check(20, 1100, 301, "bfloat16", "column", "row", bias="row")                                     # thin slices of B


@pytest.mark.parametrize("vector_bytes", [16, 32])
def test_pairs_in_narrower_vectors(form, vector_bytes, monkeypatch):
    if vector_bytes > tile.host_vector()[0]:
        pytest.skip("wider than this processor's vectors")
    monkeypatch.setenv("NUMTORCH_VECTOR_BYTES", str(vector_bytes))
    for m, n, k in ((5, 8, 7), (13, 17, 33)):
        for a, b in (("row", "row"), ("column", "column"), ("strided", "reversed")):
            check(m, n, k, "bfloat16", a, b, bias="row", beta=1)


def test_special_values(form):
    for place in (4, 7, 8):                                         # first and second of a pair, and the pair without a second
        a, b = to_words(np.ones((3, 9)), "bfloat16"), to_words(np.ones((9, 40)), "bfloat16")
        a[0, place], a[1, place] = to_words([np.inf, np.nan], "bfloat16")
        b[place, 5] = to_words(-np.inf, "bfloat16")
        got = from_words(multiply(a, b), "bfloat16")
        assert (np.delete(got[0], 5) == np.inf).all() and got[0, 5] == -np.inf and np.isnan(got[1]).all()
        assert (np.delete(got[2], 5) == 9).all() and got[2, 5] == -np.inf


def test_sums_are_rounded_once():
    """1 + 2^-8 is no bfloat16: sums kept in 16 bits would stay at 1."""
    a, b = to_words(np.full((2, 513), 2.0 ** -8), "bfloat16"), to_words(np.ones((513, 3)), "bfloat16")
    a[:, 0] = to_words(1, "bfloat16")
    assert (from_words(multiply(a, b), "bfloat16") == 3).all()


def test_subnormal_words_count_without_the_instruction(monkeypatch):
    for form in ("0", "halves"):
        monkeypatch.setenv("NUMTORCH_PAIRS", form)
        tiny = np.full((2, 16), 3, np.uint16)
        assert (multiply(tiny, to_words(np.ones((16, 4)), "bfloat16")) == 48).all()


def test_the_twin_gives_the_same_bits(monkeypatch):
    monkeypatch.setenv("NUMTORCH_PAIRS", "halves")
    rng = np.random.default_rng(3)
    a, b = (to_words(rng.standard_normal(shape), "bfloat16") for shape in ((3, 5), (5, 34)))
    code = f"""
import numpy as np
from test_kernel_gemmwords import multiply, check
a, b = (np.array(x, np.uint16) for x in ({a.tolist()}, {b.tolist()}))
assert multiply(a, b).tolist() == {multiply(a, b).tolist()}
check(2, 34, 4, "bfloat16", "column", "column", "strided", bias="column", beta=1)
"""
    path = os.pathsep.join([*map(str, Path(__file__).resolve().parents[:4]), os.environ.get("PYTHONPATH", "")])
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path})


@pytest.mark.parametrize("name, features, asked, expected", [
    ("znver4", {"avx512bf16": True}, "", "dot"), ("cooperlake", {"avx512bf16": True}, "", "dot"),
    ("sapphirerapids", {"avx512bf16": True}, "", ""), ("sapphirerapids", {"avx512bf16": True}, "dot", "dot"),
    ("znver3", {"avx512bf16": False}, "", ""), ("znver3", {}, "dot", "halves"), ("znver3", {}, "halves", "halves"),
    ("znver4", {"avx512bf16": True}, "0", ""), ("apple-m4", {}, "", "dot"), ("neoverse-v2", {"bf16": False}, "", ""),
    ("apple-m1", {"neon": True}, "", ""), ("apple-m2", {"neon": True}, "", "dot"),
    ("neoverse-n1", {"neon": True, "bf16": True}, "", "dot")])
def test_where_pairs_are_used(name, features, asked, expected, monkeypatch):
    monkeypatch.setattr(half, "name_and_features", lambda: (name, features))
    monkeypatch.setenv("NUMTORCH_PAIRS", asked)
    assert half.pair_form() == expected


# ---------------------------------------------------------------- machine code for processors that have the instruction
def target_of(triple, processor, features):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        return llvm.Target.from_triple(triple).create_target_machine(cpu=processor, features=features, opt=3)
    except RuntimeError as error:
        pytest.skip(f"this llvmlite has no such target: {error}")


@pytest.mark.parametrize("triple, processor, features, instruction, shape", [
    ("x86_64-unknown-linux-gnu", "sapphirerapids", "", "vdpbf16ps", (14, 2, 16, True)),
    ("x86_64-unknown-linux-gnu", "znver4", "", "vdpbf16ps", (6, 2, 8, False)),
    ("aarch64-unknown-linux-gnu", "neoverse-n1", "+bf16", "bfdot", (8, 3, 4, False)),
    ("arm64-apple-macosx", "apple-m2", "", "bfdot", (8, 3, 4, False))])
def test_a_tile_is_the_instruction(triple, processor, features, instruction, shape):
    from numtorch.kernels.cpu.gemm.half_tile_ir import _DotTile
    from numtorch.kernels.cpu.micro.microkernel import _TALL
    machine = target_of(triple, processor, features)
    rows, vectors, width, masked = shape
    module = ir.Module()
    module.triple = triple
    number, pointer, scalar = ir.IntType(64), ir.FloatType().as_pointer(), ir.FloatType()
    kinds = [number, number, pointer, number, number, pointer, number, pointer, number, number, scalar, scalar, pointer, number]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), "tile")
    builder = ir.IRBuilder(function.append_basic_block())
    _DotTile(builder, scalar, rows, vectors, width, masked, list(function.args)).emit()
    builder.ret_void()
    code = machine.emit_assembly(llvm.parse_assembly(str(module)))
    loops = 2 if rows >= _TALL else 1                    # the last steps have one of their own
    assert code.count(instruction) == loops * rows * vectors, code


WHOLE_KERNEL = """
import llvmlite.binding as llvm
features = llvm.get_host_cpu_features()
features["avx512bf16"] = True
llvm.get_host_cpu_features, llvm.get_host_cpu_name = lambda: features, lambda: "znver4"
from numtorch.kernels import compiler
from numtorch.kernels.cpu.gemm import gemm

class Asked(Exception):
    pass

def keep(*given):
    raise Asked(given)

compiler.compile_kernel = keep
try:
    gemm.plan_gemm(64, 64, 64, "bfloat16", (64, 1), (64, 1), (64, 1))
except Asked as asked:
    module = llvm.parse_assembly(compiler.inspect_ir(*asked.args[0]))
    print(compiler.machine().target.emit_assembly(module).count("vdpbf16ps"))
"""


@pytest.mark.skipif(tile.host_vector()[0] != 64, reason="a processor without AVX-512 is taken for one that has it and the instruction")
def test_the_whole_kernel_has_the_instruction():
    """In a process of its own, which believes to be on a Zen 4 and runs nothing."""
    path = os.pathsep.join([str(Path(__file__).resolve().parents[3]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, "-c", WHOLE_KERNEL], check=True, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": path, "NUMTORCH_PAIRS": ""})
    assert int(done.stdout) >= 2 * sum(range(2, 15, 2))
