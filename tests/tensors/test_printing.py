"""The text of tensors: literal strings, and the same table against PyTorch's where it is installed."""
from __future__ import annotations

import numpy as np
import pytest

import numtorch as torch
from numtorch import printing

LITERAL = [
    (lambda: torch.tensor([1.0, 2.0, 3.0]), "tensor([1., 2., 3.])"),
    (lambda: torch.tensor([[1, -2], [30, 4]]), "tensor([[ 1, -2],\n        [30,  4]])"),
    (lambda: torch.tensor(3.5), "tensor(3.5000)"),
    (lambda: torch.tensor(7), "tensor(7)"),
    (lambda: torch.tensor([True, False]), "tensor([ True, False])"),
    (lambda: torch.tensor([0.1, 100.0]), "tensor([  0.1000, 100.0000])"),
    (lambda: torch.tensor([0.01, 100.0]), "tensor([1.0000e-02, 1.0000e+02])"),
    (lambda: torch.tensor([float("nan"), float("inf"), 1.0]), "tensor([nan, inf, 1.])"),
    (lambda: torch.tensor([1.5], dtype=torch.float64), "tensor([1.5000], dtype=torch.float64)"),
    (lambda: torch.tensor([1, 2], dtype=torch.int32), "tensor([1, 2], dtype=torch.int32)"),
    (lambda: torch.zeros(0, 3), "tensor([], size=(0, 3))"),
    (lambda: torch.zeros(0), "tensor([])"),
    (lambda: torch.zeros(0, dtype=torch.int64), "tensor([], dtype=torch.int64)"),
    (lambda: torch.tensor([1 + 2j, -1.5 - 0.25j]), "tensor([ 1.0000+2.0000j, -1.5000-0.2500j])"),
    (lambda: torch.tensor([1.0], dtype=torch.bfloat16), "tensor([1.], dtype=torch.bfloat16)"),
    (lambda: torch.tensor([1.0], requires_grad=True), "tensor([1.], requires_grad=True)"),
    (lambda: torch.tensor([1.0], requires_grad=True) + 1, "tensor([2.], grad_fn=<AddBackward0>)"),
    (lambda: torch.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    (lambda: torch.ones(1, 2, 2), "tensor([[[1., 1.],\n         [1., 1.]]])"),
]


@pytest.mark.parametrize("make, expected", LITERAL, ids=[e.replace("\n", " ")[:40] for _, e in LITERAL])
def test_literal(make, expected):
    assert repr(make()) == expected
    assert str(make()) == expected


def _arrays():
    rng = np.random.default_rng(0)
    yield "wide row", rng.standard_normal(40).astype(np.float32)
    yield "matrix", rng.standard_normal((7, 9))
    yield "deep", rng.standard_normal((3, 2, 4, 5)).astype(np.float32)
    yield "summarised matrix", rng.standard_normal((60, 50)).astype(np.float32)
    yield "summarised, one long dim", rng.standard_normal((2, 3, 400)).astype(np.float32)
    yield "summarised, one short dim", rng.standard_normal((500, 3)).astype(np.float32)
    yield "scientific", (rng.standard_normal(9) * 10.0 ** np.arange(-4, 5)).astype(np.float32)
    yield "huge", np.array([1e9, 2e9, 0.0], np.float32)
    yield "tiny", np.array([1e-5, 2e-5], np.float64)
    yield "denormal", np.array([5e-324, 1.0])
    yield "whole with nan", np.array([1.0, np.nan, -np.inf, 123456.0], np.float32)
    yield "fractions with inf", np.array([[0.5, np.inf], [-np.inf, np.nan]], np.float32)
    yield "negative zero", np.array([-0.0, 0.0, 1.0], np.float32)
    yield "only nan", np.array([np.nan, np.nan], np.float32)
    yield "zeros", np.zeros((2, 3), np.float32)
    yield "ratio of a thousand", np.array([0.1, 100.0], np.float32)
    yield "just under a thousand", np.array([0.1, 99.99], np.float64)
    yield "half", rng.standard_normal((3, 4)).astype(np.float16)
    yield "half, huge", np.array([60000.0, 6e-5], np.float16)
    yield "int8", rng.integers(-100, 100, (4, 5)).astype(np.int8)
    yield "int64 long", rng.integers(-10 ** 12, 10 ** 12, (40,))
    yield "uint16", np.arange(5, dtype=np.uint16)
    yield "bool", rng.random((5, 30)) > 0.5
    yield "complex64", (rng.standard_normal((3, 5)) + 1j * rng.standard_normal((3, 5))).astype(np.complex64)
    yield "complex128 whole", np.array([1 + 0j, -2 - 3j])
    yield "complex nan", np.array([complex(np.nan, 1), complex(-1, np.inf)], np.complex64)
    yield "complex summarised", (rng.standard_normal(1200) + 1j).astype(np.complex64)
    yield "0-dim", np.array(1234.5678, np.float32)
    yield "0-dim complex", np.array(1 - 1j, np.complex64)
    yield "0-dim bool", np.array(True)
    yield "empty 3-d", np.zeros((2, 0, 3), np.int32)
    yield "empty complex", np.zeros((0,), np.complex64)
    yield "transposed", rng.standard_normal((4, 3)).T


ARRAYS = list(_arrays())


@pytest.mark.parametrize("options", [{}, {"precision": 2}, {"threshold": 5, "edgeitems": 1}, {"linewidth": 40}, {"sci_mode": True},
                                     {"sci_mode": False}, {"profile": "short"}, {"profile": "full", "linewidth": 120}],
                         ids=lambda o: " ".join(f"{k}={v}" for k, v in o.items()) or "default")
def test_as_pytorch_prints(options):
    peer = pytest.importorskip("torch", reason="PyTorch is not installed to compare with")
    with peer._tensor_str.printoptions(**options), printing.printoptions(**options):
        for name, array in ARRAYS:
            assert repr(torch.from_numpy(array)) == repr(peer.from_numpy(array)), name
        for name, array in ARRAYS:
            if array.dtype.kind == "f" and array.size:
                ours, theirs = torch.from_numpy(array.copy()), peer.from_numpy(array.copy())
                assert repr(ours.to(torch.bfloat16)) == repr(theirs.to(peer.bfloat16)), f"{name} as bfloat16"
                ours.requires_grad_()
                theirs.requires_grad_()
                assert repr(ours) == repr(theirs), f"{name} with requires_grad"
                assert repr(ours * 2) == repr(theirs * 2), f"{name} with grad_fn"


def test_options_are_checked_and_restored():
    before = printing.get_printoptions()
    with pytest.raises(ValueError, match="profile"):
        torch.set_printoptions(profile="long")
    with printing.printoptions(edgeitems=0, threshold=1):
        assert repr(torch.ones(3, 3)) == "tensor([...], size=(3, 3))"
    assert printing.get_printoptions() == before


def test_default_dtype_decides_the_suffix():
    torch.set_default_dtype(torch.float64)
    try:
        assert repr(torch.tensor([1.0])) == "tensor([1.])"
        assert repr(torch.tensor([1.0], dtype=torch.float32)) == "tensor([1.], dtype=torch.float32)"
    finally:
        torch.set_default_dtype(torch.float32)
