"""CUDA kernels compiled for real GPUs, without one: the code of each capability, and where it is kept."""
from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version

import pytest

CAPABILITIES = [(8, 0), (9, 0)]
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
    assert ".f64" in operator_kernel(name, "float64").ptx((9, 0)), "the test would not see float64"


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("name, dtype", [("add", "float32"), ("sigmoid", "float32"), ("exp", "float64"), ("sin", "float64"),
                                         ("mul", "complex64"), ("floor_divide", "int64"),
                                         ("remainder", "int32"), ("fmod", "int64")])
def test_pointwise_compiles(name, dtype, capability, compiler):
    assert_cubin(operator_kernel(name, dtype), capability)


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_variance_compiles(capability, compiler):
    from numtorch.kernels.cuda.reduce.moments import variance_kernel
    assert_cubin(variance_kernel("float32", "float32"), capability)


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("kind, dtype, out", [("sum", "float32", "float32"), ("max", "float64", "float64"),
                                              ("prod", "int32", "int64"), ("mean", "bfloat16", "bfloat16"),
                                              ("any", "float16", "bool")])
def test_reductions_compile(kind, dtype, out, capability, compiler):
    from numtorch.kernels.cuda.reduce.reduce import cuda_kernels
    kernels = cuda_kernels(kind, dtype, out)
    for stage, blocks in [("whole", True)] + [("whole", False), ("first", True), ("last", True)] * (kind == "sum"):
        assert_cubin(kernels(stage, blocks), capability)


def test_cubins_come_from_the_store(compiler, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMTORCH_CACHE_DIR", str(tmp_path))
    kernel = operator_kernel("sub", "float32")
    first = kernel.cubin((9, 0))
    monkeypatch.setattr(type(kernel), "ptx", lambda *a: pytest.fail("compiled again"))
    assert kernel.cubin((9, 0)) == first
    monkeypatch.setattr(type(kernel), "ptx", lambda self, capability: (_ for _ in ()).throw(KeyError(capability)))
    with pytest.raises(KeyError):                         # another capability is another cubin
        kernel.cubin((8, 0))
