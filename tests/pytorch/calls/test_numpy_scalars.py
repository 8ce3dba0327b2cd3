"""NumPy's scalars where tensors meet numbers: results, dtypes and refusals are PyTorch's."""
from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest

import numtorch

torch = pytest.importorskip("torch", reason="PyTorch is not installed to compare with")

NUMPYS = [np.bool_(True), np.uint8(3), np.int64(-2), np.float16(2.5), np.float32(2.5), np.float64(2.5), np.longdouble(2.5),
          np.complex128(1 - 2j)]
ON_BOTH_SIDES = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift", "lt", "le", "gt",
                 "ge", "eq", "ne")
IN_ITSELF = ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor", "ilshift", "irshift")


def with_scalar(library, name, kind, shape, scalar, on_left, device="cpu"):
    x = library.full(shape, 3).to(getattr(library, kind)).to(device)
    try:
        found = getattr(operator, name)(*((scalar, x) if on_left else (x, scalar)))
    except Exception:
        return "refused"
    return type(found).__name__, str(found.dtype), tuple(found.shape), None if found.is_meta else found.tolist()


KINDS = ("bool", "uint8", "int64", "float32", "complex64")
OPERATORS = ON_BOTH_SIDES + IN_ITSELF


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPERATORS)
def test_numpy_scalars_beside_tensors(name):
    """Dtypes of operators' results, or refusals: NumPy's bools are floats to PyTorch, its extended floats Python's. What has values is
    planned alike, and a kernel for each kind."""
    for kind, scalar, shape, on_left in itertools.product(KINDS, NUMPYS, ((2,), ()), (False, True)[:1 + (name in ON_BOTH_SIDES)]):
        found = with_scalar(numtorch, name, kind, shape, scalar, on_left, "meta")
        assert found[:3] == with_scalar(torch, name, kind, shape, scalar, on_left)[:3], (kind, scalar, shape, on_left, found)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, kind", [(name, kind) for turn, name in enumerate(OPERATORS) for place, kind in enumerate(KINDS)
                                        if name in ("add", "pow") or place == turn % 5])
def test_values_of_numpy_scalars_beside_tensors(name, kind):
    for scalar, on_left in itertools.product(NUMPYS, (False, True)[:1 + (name in ON_BOTH_SIDES)]):
        found, wanted = (with_scalar(library, name, kind, (2,), scalar, on_left) for library in (numtorch, torch))
        assert found[:3] == wanted[:3], (scalar, on_left, found, wanted)
        if wanted != "refused":
            np.testing.assert_allclose(found[3], wanted[3], rtol=1e-5)


TAKEN = ("T.full((2,), s)", "x.new_full((2,), s)", "x.clone().fill_(s)", "x.masked_fill(x > 1, s)", "T.where(x > 1, x, s)", "T.clamp(x, s)",
         "T.result_type(x, s)", "T.scalar_tensor(s)", "T.arange(s)", "T.linspace(0, s, 3)", "T.tensor(s)", "x == s",
         "T.addcmul(x, x, x, value=s)", "T.nn.functional.threshold(x, s, s)", "T.nn.functional.hardtanh(x, -9, s)")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", TAKEN)
def test_numpy_scalars_as_arguments(line):
    """Where an argument is a number: integers stay integers beside fractions where the number is one of the formula."""
    for scalar in NUMPYS[:6]:
        for kind in ("int64", "float32"):
            found, wanted = (eval(line, {"T": library, "s": abs(scalar), "x": library.arange(4).to(getattr(library, kind))})
                             for library in (numtorch, torch))
            if line.startswith("T.result_type"):
                assert str(found) == str(wanted)
                continue
            assert str(found.dtype) == str(wanted.dtype), (scalar, kind)
            np.testing.assert_allclose(found.tolist(), wanted.tolist(), rtol=1e-5)


def test_a_complex_number_of_numpy_keeps_its_imaginary_part():
    """PyTorch takes complex64 for a real number, and warns."""
    assert (numtorch.ones(2) * np.complex64(1 + 2j)).tolist() == [1 + 2j, 1 + 2j]
    assert (numtorch.ones(2) + np.clongdouble(2j)).dtype is numtorch.complex64


def test_a_bool_of_numpy_is_written():
    x = numtorch.zeros(3, dtype=numtorch.int64)
    x[1] = np.bool_(True)
    assert x.tolist() == [0, 1, 0]
