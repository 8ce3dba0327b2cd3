"""`numtorch.array_api` is the array API standard 2024.12: NumPy's main namespace, which follows it too, gives the same.

The consortium's own suite (data-apis/array-api-tests) runs by hand:
`ARRAY_API_TESTS_MODULE=numtorch.array_api pytest --disable-deadline --max-examples 5 array_api_tests`.
"""
from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import numtorch as torch
from numtorch import array_api as xp

X = np.array([[3.0, -1.5, 0.0], [2.0, 7.25, -4.0]])
Y = np.array([[1.0, 2.0, 0.5], [-3.0, 0.25, 2.0]])
I = np.array([[3, -1, 4], [1, 5, -9]], np.int16)
U = np.array([200, 100, 255], np.uint8)
M = np.array([[2.0, 1.0], [1.0, 3.0]])
Z = np.array([1 + 2j, -3j, 2.5])

# a call on each namespace: the arrays are of that library
CALLS = """
    xp.add(I, 2)
    xp.add(U, I)
    xp.multiply(xp.asarray(2.5, dtype=xp.float64), xp.astype(X, xp.float32))
    xp.divide(X, Y)
    xp.remainder(I, 4)
    xp.pow(X, 2)
    xp.atan2(X, 1.0)
    xp.hypot(X, Y)
    xp.maximum(X, 0.5)
    xp.logical_and(X > 0, Y > 0)
    xp.bitwise_invert(I)
    xp.bitwise_left_shift(U, 1)
    xp.abs(Z)
    xp.sign(Z)
    xp.sign(X)
    xp.round(xp.asarray([0.5, 1.5, -2.5]))
    xp.ceil(I)
    xp.floor(X)
    xp.clip(X, -1, Y)
    xp.reciprocal(Y)
    xp.sum(U)
    xp.sum(I, axis=(0, 1), keepdims=True)
    xp.sum(X, axis=())
    xp.prod(I, axis=1)
    xp.prod(U, dtype=xp.float64)
    xp.mean(X, axis=0)
    xp.var(X, axis=1, correction=1)
    xp.std(X)
    xp.max(X, axis=1)
    xp.min(X, axis=(0, 1))
    xp.all(X, axis=1)
    xp.any(X, axis=(0, 1))
    xp.count_nonzero(X, axis=1)
    xp.cumulative_sum(I, axis=1, include_initial=True)
    xp.cumulative_prod(X, axis=0)
    xp.diff(X, axis=1)
    xp.argmax(X)
    xp.argmin(X, axis=1, keepdims=True)
    xp.nonzero(X)
    xp.where(X > 0, X, 0.0)
    xp.searchsorted(xp.asarray([1.0, 2.0, 4.0]), X, side="right")
    xp.sort(X, axis=1)
    xp.argsort(X, axis=0)
    xp.unique_all(I)
    xp.unique_counts(U)
    xp.unique_values(X)
    xp.concat([I, I], axis=None)
    xp.concat([U, xp.asarray([-1], dtype=xp.int8)])
    xp.stack([X, Y], axis=1)
    xp.unstack(X, axis=1)
    xp.flip(X)
    xp.roll(X, (1, 2), axis=(0, 1))
    xp.roll(X, 2)
    xp.repeat(X, 2)
    xp.repeat(X, xp.asarray([1, 2, 0]), axis=1)
    xp.tile(X, (2, 1, 2))
    xp.take(X, xp.asarray([2, -1]), axis=1)
    xp.take_along_axis(X, xp.asarray([[2, 0], [1, -1]]), axis=1)
    xp.squeeze(xp.expand_dims(X, axis=1), axis=1)
    xp.permute_dims(X, (1, 0))
    xp.moveaxis(X, 0, 1)
    xp.reshape(X, (3, 2))
    xp.broadcast_to(X, (2, 2, 3))
    xp.matrix_transpose(X)
    xp.tril(X, k=-1)
    xp.triu(X, k=1)
    xp.eye(2, 3, k=1)
    xp.arange(5, 0, -2)
    xp.arange(0, 5, -1)
    xp.linspace(0.0, 1.0, 4, endpoint=False)
    xp.full((2,), 3)
    xp.full_like(I, 7)
    xp.meshgrid(xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0, 5.0]))
    xp.matmul(X, xp.matrix_transpose(Y))
    xp.vecdot(Z, Z)
    xp.tensordot(X, Y, axes=((0, 1), (0, 1)))
    xp.linalg.det(M)
    xp.linalg.inv(M)
    xp.linalg.cholesky(M, upper=True)
    xp.linalg.solve(M, xp.asarray([1.0, 2.0]))
    xp.linalg.solve(M, xp.zeros((3, 2, 0)))
    xp.linalg.solve(xp.stack([M, M]), M)
    xp.linalg.trace(X, offset=1)
    xp.linalg.trace(xp.stack([U[:2], U[1:]]))
    xp.linalg.diagonal(X)
    xp.linalg.vector_norm(X, axis=(0, 1), keepdims=True)
    xp.linalg.vector_norm(X, ord=1, axis=0)
    xp.linalg.matrix_norm(X, ord="nuc")
    xp.linalg.svdvals(X)
    xp.linalg.eigvalsh(M)
    xp.linalg.matrix_power(M, -2)
    xp.linalg.matrix_rank(X)
    xp.linalg.pinv(X)
    xp.linalg.outer(xp.asarray([1, 2]), xp.asarray([3, 4]))
    xp.linalg.cross(X, Y)
    xp.fft.fft(X, axis=0)
    xp.fft.rfft(X, n=4)
    xp.fft.irfft(Z, norm="ortho")
    xp.fft.fftfreq(4, d=0.5)
    xp.fft.fftshift(X, axes=1)
    xp.fft.ifftn(Z)
""".strip().splitlines()


def names(namespace):
    return {"xp": namespace, **{n: namespace.asarray(v.copy()) for n, v in
                                (("X", X), ("Y", Y), ("I", I), ("U", U), ("M", M), ("Z", Z))}}


def results(value):
    return [part for each in value for part in results(each)] if isinstance(value, (tuple, list)) else [value]


@pytest.fixture(autouse=True)
def doubles():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("line", CALLS)
def test_as_numpy(line):
    found, wanted = results(eval(line, names(xp))), results(eval(line, names(np)))
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted):
        assert isinstance(one, torch.Tensor) and str(one.dtype) == f"torch.{np.asarray(other).dtype}"
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-12, atol=1e-12)


def test_every_name_is_there():
    """What NumPy has of the standard's functions stands here with as many positional arguments."""
    functions = [n for n in xp.__all__ if inspect.isfunction(getattr(xp, n))]
    assert len(functions) > 130
    assert not [n for n in functions if not hasattr(np, n) and n not in ("__array_namespace_info__",)]
    for name in ("abs", "exp", "add", "sum", "argmax", "sort"):
        first = next(iter(inspect.signature(getattr(xp, name)).parameters.values()))
        assert first.kind is first.POSITIONAL_ONLY


def test_the_namespace_of_a_tensor():
    assert torch.ones(2).__array_namespace__() is xp
    assert torch.ones(2).__array_namespace__(api_version="2024.12").__array_api_version__ == "2024.12"
    with pytest.raises(ValueError, match="standard"):
        torch.ones(2).__array_namespace__(api_version="2030.12")
    assert torch.ones(2).to_device("cpu").device.type == "cpu"


PROMOTED = [("int8", "uint8", "int16"), ("uint8", "uint16", "uint16"), ("int8", "uint32", "int64"), ("int64", "uint8", "int64"),
            ("float32", "float64", "float64"), ("float64", "complex64", "complex128"), ("bool", "bool", "bool")]
REFUSED = [("int8", "float32"), ("int64", "uint64"), ("bool", "int8"), ("bool", "float32")]


@pytest.mark.parametrize("one, other, common", PROMOTED)
def test_promotion(one, other, common):
    one, other, common = (getattr(xp, n) for n in (one, other, common))
    assert xp.result_type(one, other) is xp.result_type(other, one) is common
    assert xp.add(xp.ones((2,), dtype=one), xp.ones((), dtype=other)).dtype is common     # dimensions do not count
    assert xp.can_cast(one, common) and (one is common or not xp.can_cast(common, one))


@pytest.mark.parametrize("one, other", REFUSED)
def test_kinds_do_not_mix(one, other):
    with pytest.raises(TypeError):
        xp.result_type(getattr(xp, one), getattr(xp, other))
    with pytest.raises(TypeError):
        xp.add(xp.ones(2, dtype=getattr(xp, one)), xp.ones(2, dtype=getattr(xp, other)))


@pytest.mark.parametrize("dtype, number", [("int8", 1.5), ("bool", 1), ("float32", True), ("int64", 1j)])
def test_numbers_of_other_kinds(dtype, number):
    with pytest.raises(TypeError):
        xp.add(xp.ones(2, dtype=getattr(xp, dtype)), number)
    with pytest.raises(TypeError):
        xp.add(1, 2)


def test_what_may_be_asked():
    info = xp.__array_namespace_info__()
    assert info.default_dtypes()["real floating"] is torch.float64 and info.capabilities()["boolean indexing"]
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}
    assert info.default_device() in info.devices()
    assert xp.isdtype(xp.int8, ("bool", "integral")) and not xp.isdtype(xp.float32, xp.float64)
    assert xp.finfo(xp.complex64).dtype is xp.float32 and xp.iinfo(xp.asarray([1])).max == 2**63 - 1
    for call in (lambda: xp.isdtype(xp.int8, "numbers"), lambda: info.dtypes(kind="numbers")):
        with pytest.raises(ValueError, match="kind"):
            call()


def test_where_numpy_does_not_follow():
    """Quotients of infinities, and descending order."""
    endless = xp.asarray(xp.inf)
    assert xp.floor_divide(endless, xp.asarray(2.0)).item() == xp.inf
    assert str(xp.floor_divide(xp.asarray(-1.0), endless).item()) == "-0.0"
    assert xp.sort(xp.asarray([2, 3, 1]), descending=True).tolist() == [3, 2, 1]
    assert xp.argsort(xp.asarray([2, 3, 1]), descending=True).tolist() == [1, 0, 2]


INFINITE, NOT = float("inf"), float("nan")
SPECIAL = [("expm1", (-INFINITE, INFINITE), (-1, 0)), ("expm1", (-INFINITE, NOT), (-1, 0)), ("expm1", (INFINITE, INFINITE), (INFINITE, NOT)),
           ("expm1", (INFINITE, NOT), (INFINITE, NOT)), ("expm1", (INFINITE, 0.0), (INFINITE, 0)), ("expm1", (0.5, 1.0), None),
           ("tanh", (INFINITE, 2.0), (1, 0.0)), ("tanh", (-INFINITE, -2.0), (-1, -0.0)), ("tanh", (INFINITE, INFINITE), (1, 0)), ("tanh", (0.5, 1.0), None),
           ("sign", (-0.0, -0.0), (0.0, 0.0)), ("sign", (3.0, -4.0), (0.6, -0.8)), ("sign", (NOT, 1.0), (NOT, NOT))]


@pytest.mark.parametrize("name, given, wanted", SPECIAL)
def test_special_values_of_complex_numbers(name, given, wanted):
    """The standard's table; where it leaves a sign open, the absolute value."""
    found = getattr(xp, name)(xp.asarray([complex(*given)]))[0].item()
    wanted = wanted or getattr(np, name)(complex(*given))
    if not isinstance(wanted, tuple):
        wanted = wanted.real, wanted.imag
    for part, other in zip((found.real, found.imag), wanted):
        np.testing.assert_allclose(abs(part), abs(other), 1e-14)
        assert (isinstance(other, int) and other == 0) or np.isnan(other) or np.signbit(part) == np.signbit(other)


REFUSALS = [("xp.squeeze(X, axis=0)", ValueError), ("xp.take(X, xp.asarray([0]))", ValueError), ("xp.cumulative_sum(X)", ValueError),
            ("xp.nonzero(xp.asarray(1))", ValueError), ("xp.reshape(xp.permute_dims(X, (1, 0)), (6,), copy=False)", ValueError),
            ("xp.astype(Z, xp.float64)", TypeError), ("xp.asarray([1], copy=False)", ValueError), ("xp.abs(x=X)", TypeError),
            ("xp.linalg.cross(M, M)", ValueError), ("xp.matrix_transpose(xp.asarray([1]))", ValueError)]


@pytest.mark.parametrize("line, error", REFUSALS, ids=[r[0] for r in REFUSALS])
def test_refusals(line, error):
    with pytest.raises(error):
        eval(line, names(xp))


def test_scipy_takes_tensors():
    """Where SciPy looks for namespaces of arrays (SCIPY_ARRAY_API=1, set before it is imported), it computes with tensors."""
    pytest.importorskip("scipy")
    code = ("import numtorch as torch, scipy.special as s, scipy.stats as st\n"
            "x = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)\n"
            "print(type(s.logsumexp(x)).__name__, float(s.logsumexp(x)), type(st.zmap(x, x)).__name__)")
    root = str(Path(torch.__file__).parent.parent)
    found = subprocess.run([sys.executable, "-c", code], env={**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": root},
                           capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr[-600:]
    assert found.stdout.split()[0] == found.stdout.split()[2] == "Tensor"
    assert abs(float(found.stdout.split()[1]) - np.log(np.exp([0.5, 1.0, 2.0]).sum())) < 1e-12
