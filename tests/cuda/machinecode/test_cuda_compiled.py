"""CUDA kernels compiled for real GPUs, without one: the code of each capability, and where it is kept."""
from __future__ import annotations

import os
import re
import struct
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from cudacalls import calls
from daily import todays

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench.device.code import busiest

CAPABILITIES = [(8, 0), (9, 0)]
PARTS = 16                                               # of the planners' table, of which one is compiled each day; all with NUMTORCH_TEST_ALL=1
LOCAL_BYTES = 48 << 10                                   # a thread's memory of its own that no kernel exceeds
KEPT = 96                                                # the same of products and attention by tensor cores, on sm_80
STACK_BYTES = 32                                         # the same of kernels written for GPUs: libdevice's sine of huge angles takes 28
SPILLED = 136                                            # the same of attention in exact float32, two blocks of which share a multiprocessor's registers
READ_OR_HUGE = r"\.reg|ld\.|cvt\.rn\.f32\.f64|cvt\.rn\.f64\.s64|0d3BF921FB54442D19"        # or libdevice's, of huge angles
OWN = ("softmax.softmax", "softmax.cross_entropy", "norm.norm", "norm.channel_norm", "norm.unit_norm", "norm.response_norm", "linalg.distances", "sparse", "optim", "index.gather", "index.equal", "index.bags", "pool",
       "random.philox", "random.dropout", "scan.scan.cum", "scan.scan.log",
       "sort.sort", "sort.topk", "move.words", "move.pad", "move.rearrange", "rnn.rnn.forward", "reduce.argreduce", "index.mask", "sort.runs")
FLOAT32_OPS = ["add", "div", "exp", "sigmoid", "log", "tanh", "erf", "pow", "fmod", "where", "maximum", "gelu"]


@pytest.fixture(scope="module")
def compiler():
    for package in ("numba-cuda", "cuda-core", "nvidia-nvvm", "nvidia-nvjitlink"):
        try:
            version(package)
        except PackageNotFoundError:
            pytest.skip(f"the cuda extra is not installed ({package} is missing): pip install numtorch[cuda]")
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
        pytest.skip("the simulator is on")
    import numtorch  # noqa: F401
    from numtorch.kernels.cuda import compiler
    return compiler


def operator_kernel(name, dtype, pattern="c"):
    from numtorch.kernels.cuda.pointwise.pointwise import pointwise_kernel
    from numtorch.ops.core.primitive import registry
    op = registry[name]
    computes = tuple("bool" if p in op.bool_operands else dtype for p in op.parameters)
    return pointwise_kernel(op.scalar(dtype), computes, (dtype,), pattern * (len(computes) + 1), computes)


def assert_cubin(kernel, capability):
    code = kernel.cubin(capability)
    assert code[:4] == b"\x7fELF" and kernel.symbol.encode() in code


@pytest.mark.parametrize("name", FLOAT32_OPS)
def test_float32_stays_float32(name, compiler):
    """A float literal that Numba promoted would show as 64-bit arithmetic; a helper that was not inlined as a call."""
    for pattern in "cs":
        text = operator_kernel(name, "float32", pattern).ptx((9, 0))
        assert ".f32" in text and ".f64" not in text and "call" not in text


def test_float64_would_be_seen(compiler):
    assert ".f64" in operator_kernel("exp", "float64").ptx((9, 0))


def test_code_is_what_all_of_numba_cuda_makes(compiler, monkeypatch):
    from numtorch.kernels.cuda import frontend
    from numtorch.kernels.cuda.reduce.reduce import cuda_kernels
    kernels = operator_kernel("exp", "float32"), operator_kernel("mul", "complex64", "s"), \
        *walks(cuda_kernels("sum", "float32", "float32"), "whole")

    def texts():
        """Without the numbers that numba-cuda gives to functions and shared arrays as they come."""
        compiler._ptx.cache_clear()
        compiler._targets.clear()
        return [re.sub(r"_Z\w+|_cudapy_smem_\d+", "name", kernel.ptx((9, 0))) for kernel in kernels]

    few = texts()
    monkeypatch.setattr(frontend, "KernelCompiler", frontend.compiler.CUDACompiler)
    monkeypatch.setattr(frontend, "_shortcuts", [])
    assert few == texts()


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("name, dtype", [("add", "float32"), ("sigmoid", "float32"), ("exp", "float64"), ("sin", "float64"),
                                         ("mul", "complex64"), ("floor_divide", "int64"),
                                         ("remainder", "int32"), ("fmod", "int64")])
def test_pointwise_compiles(name, dtype, capability, compiler):
    assert_cubin(operator_kernel(name, dtype), capability)


def walks(kernels, stage):
    """The kernels of a stage for whole lines, short ones, and columns."""
    from numtorch.kernels.cpu.reduce.traversal import nest
    from numtorch.kernels.cuda.reduce.reduce import Walk
    nests = nest((8, 65536), (65536, 1), (1,), (1, 0)), nest((65536, 30), (30, 1), (1,), (1, 0)), nest((64, 30), (30, 1), (0,), (0, 1))
    return [kernels(stage, Walk(each, kernels.vector(stage))) for each in nests]


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_variance_compiles(capability, compiler):
    from numtorch.kernels.cuda.reduce.reduce import moment_kernels
    for walk in walks(moment_kernels("var", "float32", "float32"), "whole"):
        assert_cubin(walk, capability)


# No kernel of theirs asks for the capability: sums are compiled for each, other kinds in turns (every family for each: below).
@pytest.mark.parametrize("kind, dtype, out, capability", [("sum", "float32", "float32", (8, 0)), ("sum", "float32", "float32", (9, 0)),
                                                          ("max", "float64", "float64", (8, 0)), ("prod", "int32", "int64", (9, 0)),
                                                          ("mean", "bfloat16", "bfloat16", (8, 0)), ("any", "float16", "bool", (9, 0))])
def test_reductions_compile(kind, dtype, out, capability, compiler):
    from numtorch.kernels.cuda.reduce.reduce import cuda_kernels
    kernels = cuda_kernels(kind, dtype, out)
    for stage in ("whole", "first", "last") if kind == "sum" else ("whole",):
        for kernel in walks(kernels, stage):
            assert_cubin(kernel, capability)


class Machine:
    """Takes the place of a GPU while kernels are planned: they are kept and not run."""

    count, capability = 1, (8, 0)

    def __init__(self):
        self.kernels = []

    def allocate(self, nbytes, index):
        return self, 4096

    def copy(self, target, source, nbytes, index):
        pass

    def describe(self, index):
        return "any", self.capability

    def launcher(self, kernel, index, grid):
        self.kernels.append(kernel)


@pytest.fixture
def planned(compiler, monkeypatch):
    """The kernels that a planner plans."""
    from numtorch.devices import device
    from numtorch.kernels.cuda import runtime
    from numtorch.ops.core.backends import kernels
    machine = Machine()
    monkeypatch.setattr(runtime, "runtime", lambda: machine)
    monkeypatch.setattr(compiler, "runtime", lambda: machine)

    def plan(family, name, *arguments, **options):
        machine.kernels.clear()
        getattr(kernels(device("cuda:0"), family), name)(*arguments, **options)
        return list(machine.kernels)
    return plan


def local_bytes(text):
    return sum(int(n) for n in re.findall(r"\.local .*\[(\d+)\]", text))


def test_calls_are_of_planners(compiler):
    """All of them, since only some are compiled each day."""
    from numtorch.devices import device
    from numtorch.ops.core.backends import kernels
    for name, (family, planner, *_) in calls().items():
        assert hasattr(kernels(device("cuda:0"), family).module, planner), name


@pytest.mark.parametrize("name", todays(sorted(calls()), PARTS))
def test_every_family_compiles(name, planned):
    """Machine code for each architecture from one PTX text each, with a bound on what a thread keeps outside of registers."""
    family, planner, arguments, options = calls()[name]
    made = planned(family, planner, *arguments, **options)
    assert made
    for kernel in dict.fromkeys(made):
        assert local_bytes(kernel.ptx((9, 0))) <= LOCAL_BYTES
        for capability, variant in (((8, 0), ""), ((9, 0), ""), ((9, 0), "a")):
            code = kernel.cubin(capability, variant)
            assert code[:4] == b"\x7fELF" and kernel.symbol.encode() in code


@pytest.mark.parametrize("dtype, instruction", [("float32", "atom.add.f32"), ("complex128", "atom.add.f64"), ("bfloat16", "atom.cas"),
                                                ("bool", "atom.")])
def test_sums_of_shared_places_are_atomic(dtype, instruction, planned):
    """The simulator, whose threads wait for each other, would give the same without."""
    kernel, = planned("move.overlap", "plan_add_overlapping", dtype, (3, 2), (1, 1), (2, 1))
    assert instruction in kernel.ptx((9, 0))


@pytest.mark.parametrize("dtype, sizes", [("float32", (4096, 4096, 4096)), ("float16", (60, 60, 60)), ("complex64", (64, 64, 8))])
def test_products_keep_their_sums_in_registers(dtype, sizes, planned):
    """No memory of a thread's own, no float64, and two loads of shared memory for each row or column of a thread's sums."""
    kernel, = planned("gemm.gemm", "plan_gemm", *sizes, dtype, (sizes[2], 1), (sizes[1], 1), (sizes[1], 1))
    text = kernel.ptx((9, 0))
    assert not local_bytes(text) and ".f64" not in text and "fma.rn.f32" in text


def test_float32_products_issue_little_but_multiply_adds(planned):
    """A place in shared memory that might count from the end is compared with 0 before each load: three instructions for one."""
    kernel, = planned("gemm.gemm", "plan_gemm", 4096, 4096, 4096, "float32", (4096, 1), (4096, 1), (4096, 1))
    for capability in CAPABILITIES:
        loop = busiest(kernel.ptx(capability))
        assert len(loop) <= 1.2 * sum(line.startswith("fma.rn.f32") for line in loop)


def test_long_depths_are_cut(planned):
    """Of a product with few tiles: pieces of the depth by tiles, then their sum."""
    pieces, total = planned("gemm.gemm", "plan_gemm", 64, 64, 65536, "float32", (65536, 1), (64, 1), (64, 1), bias="column", beta=0.5)
    assert (pieces.name, total.name) == ("product_tiles", "add_pieces")
    assert_in_registers(pieces, total)


def assert_in_registers(*kernels, kept=0):
    """Nothing in memory of a thread's own, in the code that each capability runs, and no float64. `kept`: bytes that sm_80 may keep
    there, of what is used once a tile."""
    for kernel in kernels:
        text = kernel.ptx((9, 0))
        assert not local_bytes(text) and ".f64" not in text
        for capability in CAPABILITIES:
            assert stack_bytes(kernel.cubin(capability)) <= (kept if capability == (8, 0) else 0)


@pytest.mark.parametrize("b_strides", [(1, 64), (640, 1)])
def test_products_in_tf32_round_both_operands(b_strides, compiler):
    from numtorch.kernels.cuda.gemm import gemm, tensorcores
    along = True, b_strides[0] == 1
    places = (gemm.A_ROW, gemm.A_STEP, gemm.B_COLUMN if along[1] else gemm.B_ROW, gemm.B_STEP, gemm.C_ROW, gemm.C_COLUMN, gemm.C_STEP)
    kernel = tensorcores.warp_kernel("float32", "float32", tensorcores.LARGEST, along, gemm.strided_c, places)
    loop = busiest(kernel.ptx((9, 0)))
    products = [line for line in loop if line.startswith("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")]
    words = {word for line in products for operand in line.split("{")[2:4] for word in re.findall(r"%r\d+", operand)}
    rounded = {word for line in loop for word in re.findall(r"cvt\.rna\.tf32\.f32 (%r\d+)", line)}
    assert len(products) == 128 and words and words <= rounded
    assert_in_registers(kernel, kept=KEPT)


ATTENTION = [(name, dtype, size) for dtype, size in (("bfloat16", 64), ("float16", 128), ("float32", 64))
             for name in ("forward", "grad_q", *(("grad_kv",) if dtype == "bfloat16" else ("grad_k", "grad_v")))]


@pytest.mark.parametrize("name, dtype, size", todays(ATTENTION, 6))
def test_attention_keeps_scores_in_registers(name, dtype, size, compiler):
    """And its products are by tensor cores: of scores and of what is added up, and twice of either where there are slopes too."""
    from numtorch.kernels.cuda.attention import tensorcores
    shape = tensorcores.PASSES[name]
    sizes = tensorcores.sizes_for(dtype, size, size, shape)
    kernel = tensorcores.attention_kernel(name, dtype, sizes, False)
    products = sum(line.startswith("mma.sync") for line in busiest(kernel.ptx((9, 0))))
    count = 1 + (shape.slopes > 0) + (shape.probabilities > 0) + (shape.slopes > 0)
    assert products == count * sizes.rows * sizes.tile // 8 * sizes.steps(size)
    assert_in_registers(kernel, kept=KEPT)


@pytest.mark.parametrize("name", todays(["attention", "attention_grad_q", "attention_grad_kv"], 3))
def test_exact_attention_keeps_scores_in_registers(name, compiler):
    """But for what is used once a tile."""
    from numtorch.kernels.cuda.attention import tiles
    kernel = tiles.attention_kernel(name, "float32", 64, False)
    text = kernel.ptx((9, 0))
    assert not local_bytes(text) and ".f64" not in text
    assert max(stack_bytes(kernel.cubin(capability)) for capability in ((8, 0), (9, 0))) <= SPILLED


def test_attention_of_16_bit_floats_is_by_tensor_cores(planned):
    """Where rows are of whole 16 bytes, and of sizes that registers hold."""
    def names(size, pitch):
        steps = [(2 * 40 * pitch, 40 * pitch, pitch)]
        made = planned("attention.attention", "plan_attention_grad", "bfloat16", 1, 2, 1, 40, 40, size, size, 0.5, True, steps * 8)
        return [kernel.name for kernel in made]
    threads = ["attention_grad_q", "attention_grad_kv"]
    assert names(64, 64) == threads + ["grad_dots"] + ["attend"] * 2
    assert names(128, 128) == threads + ["grad_dots"] + ["attend"] * 3
    assert names(64, 68) == names(192, 192) == names(63, 64) == threads


def test_long_depths_of_16_bit_floats_are_cut(planned):
    """By tensor cores into sums of float32, which a second launch adds up and rounds."""
    pieces, total = planned("gemm.gemm", "plan_gemm", 64, 64, 65536, "bfloat16", (65536, 1), (64, 1), (64, 1), bias="column", beta=0.5)
    assert (pieces.name, total.name, pieces.signature[2], total.signature[:2]) == (
        "product_warps", "add_pieces", "float32*", ("float32*", "bfloat16*"))
    assert_in_registers(pieces, total, kept=KEPT)


@pytest.mark.parametrize("dtype, b_strides", [("bfloat16", (1, 64)), ("float16", (640, 1))])
def test_products_of_16_bit_floats_are_by_tensor_cores(dtype, b_strides, planned):
    """Where lines are of whole 16 bytes; tiles for addresses that are not are planned when one comes."""
    kernel, = planned("gemm.gemm", "plan_gemm", 640, 640, 64, dtype, (64, 1), b_strides, (640, 1))
    text = kernel.ptx((9, 0))
    assert f"m16n8k16.row.col.f32.{'bf16' if dtype == 'bfloat16' else 'f16'}" in text
    assert "ldmatrix.sync" in text and "cp.async.cg" in text
    assert_in_registers(kernel, kept=KEPT)


@pytest.mark.parametrize("dtype, b_strides", [("bfloat16", (1, 64)), ("float16", (640, 1))])
def test_products_of_16_bit_floats_are_by_warp_groups_on_hopper(dtype, b_strides, planned, monkeypatch):
    """Their sums stay in registers, and the code is that architecture's alone."""
    monkeypatch.setattr(Machine, "capability", (9, 0))
    kernel, = planned("gemm.gemm", "plan_gemm", 640, 640, 64, dtype, (64, 1), b_strides, (640, 1))
    text = kernel.ptx((9, 0))
    assert (kernel.name, kernel.variant) == ("product_groups", "a") and kernel.shared > 48 << 10
    assert text.count("wgmma.mma_async") == 4 and ".local" not in text and ".f64" not in text
    assert stack_bytes(kernel.cubin((9, 0))) == 0


@pytest.mark.parametrize("kind", ["total", "rnn_tanh", "rnn_relu_grad", "lstm", "lstm_grad", "gru", "gru_grad"])
def test_gates_of_recurrent_layers(kind, planned):
    """A unit's gates stay in registers, and in float32."""
    kernel, = planned("rnn.gates", "plan_gates", kind, "float32", 3, 5)
    assert_in_registers(kernel)


def stack_bytes(code):
    """What each thread of a cubin's kernels keeps outside of registers, spilled ones too: attribute FRAME_SIZE of its .nv.info."""
    table, size, count, names_at = (int.from_bytes(code[a:b], "little") for a, b in ((40, 48), (58, 60), (60, 62), (62, 64)))
    sections = [struct.unpack_from("<IIQQQQ", code, table + size * k) for k in range(count)]
    names = sections[names_at][4]
    largest = 0
    for name, _, _, _, start, length in sections:
        if code[names + name:code.index(b"\0", names + name)] == b".nv.info":
            at = start
            while at < start + length:
                form, attribute, value = struct.unpack_from("<BBH", code, at)
                if attribute == 0x11:
                    largest = max(largest, struct.unpack_from("<I", code, at + 8)[0])
                at += 4 + (value if form == 4 else 0)
    return largest


@pytest.mark.parametrize("name", todays(sorted(name for name in calls() if name.startswith(OWN)), 4))
def test_kernels_of_their_own(name, planned):
    """Next to nothing outside of registers in the machine code that each capability runs, and no float64 in kernels of float32 but where a
    number of the host's is read, and where libdevice takes huge angles."""
    family, planner, arguments, options = calls()[name]
    for kernel in dict.fromkeys(planned(family, planner, *arguments, **options)):
        text = kernel.ptx((9, 0))
        assert local_bytes(text) <= STACK_BYTES
        if "float32" in arguments:
            wide = [line for line in text.splitlines() if ".f64" in line and not re.search(READ_OR_HUGE, line)]
            assert not wide, wide[:4]
        for capability in CAPABILITIES:
            assert stack_bytes(kernel.cubin(capability)) <= STACK_BYTES, (kernel, capability)


def test_what_lies_on_the_stack_is_seen(compiler):
    from numpy import float32

    from numtorch.kernels.intrinsics import local_array

    def kept(x, descriptor):
        cells = local_array(float32, 64)
        for i in range(64):
            cells[i] = x[i]
        x[0] = cells[descriptor[0]]

    kernel = compiler.compile_kernel(kept, ("float32*", "int64*"), dict(float32=float32, local_array=local_array))
    assert stack_bytes(kernel.cubin((9, 0))) == 256 == local_bytes(kernel.ptx((9, 0)))


def test_cubins_come_from_the_store(compiler, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMTORCH_CACHE_DIR", str(tmp_path))
    kernel = operator_kernel("sub", "float32")
    first = kernel.cubin((9, 0))
    monkeypatch.setattr(type(kernel), "ptx", lambda *a: pytest.fail("compiled again"))
    assert kernel.cubin((9, 0)) == first
    monkeypatch.setattr(type(kernel), "ptx", lambda self, capability: (_ for _ in ()).throw(KeyError(capability)))
    with pytest.raises(KeyError):                         # another capability is another cubin
        kernel.cubin((8, 0))
