"""complex32: pairs of float16. What PyTorch computes with them on a CPU; each test's body runs on PyTorch too, but where it says so."""
from __future__ import annotations

import io

import numpy as np
import pytest

pytestmark = [pytest.mark.filterwarnings(f"ignore:{text}") for text in (
    "ComplexHalf support is experimental", "TypedStorage is deprecated", "Casting complex values to real")]
VALUES = [1 + 2j, 3.5 - 1j, -0.25 + 0j, 0j]


@pytest.fixture
def z(torch):
    return torch.tensor(VALUES).chalf()


def test_the_dtype(torch, z):
    kind = torch.complex32
    assert z.dtype is kind is torch.chalf and z.element_size() == kind.itemsize == 4 and kind.is_complex and not kind.is_floating_point
    assert kind.to_real() is torch.float16 and torch.float16.to_complex() is kind and torch.bfloat16.to_complex() is torch.complex64
    assert torch.result_type(torch.ones(2).half(), 1j) is kind and (torch.ones(2).bfloat16() * 1j).dtype is torch.complex64
    assert torch.finfo(kind).max == 65504.0 and z.is_complex() and z.type() == "torch.ComplexHalfTensor"
    assert z.storage().dtype is kind and z.untyped_storage().nbytes() == 16
    with pytest.raises(TypeError, match="unsupported ScalarType"):
        z.numpy()


def test_numbers_go_in_and_come_out(torch, z):
    assert z.tolist() == VALUES and z[1].item() == VALUES[1] and z[:0].tolist() == []
    assert z[::2].tolist() == VALUES[::2] and z.reshape(2, 2).t().tolist() == [[1 + 2j, -0.25], [3.5 - 1j, 0]]
    assert torch.tensor(VALUES, dtype=torch.complex32).tolist() == torch.tensor(np.array(VALUES), dtype=torch.complex32).tolist() == VALUES
    assert torch.tensor(1 / 3 + 70000j, dtype=torch.complex32).item() == complex(np.float16(1 / 3), float("inf"))
    assert torch.tensor(z.tolist()).chalf().cfloat().numpy().tolist() == VALUES
    assert repr(z[:2]) == "tensor([1.0000+2.j, 3.5000-1.j], dtype=torch.complex32)"
    assert torch.zeros(2, dtype=torch.complex32).tolist() == [0, 0] and torch.full((2,), 2j, dtype=torch.complex32).tolist() == [2j, 2j]
    for draw in (torch.rand, torch.randn):
        assert draw(3, dtype=torch.complex32).shape == (3,)


@pytest.mark.parametrize("name", ["complex64", "complex128", "float16", "float32", "float64", "bfloat16", "int64", "uint8", "bool"])
def test_casts(torch, z, name):
    kind = getattr(torch, name)
    assert z[:2].to(kind).tolist() == torch.tensor(VALUES[:2]).to(kind).tolist()
    assert torch.tensor([2, 0], dtype=kind).chalf().tolist() == torch.tensor([2, 0], dtype=kind).cfloat().tolist()


def test_arithmetic(torch, z):
    exact = torch.tensor(VALUES)
    for f in (lambda x: x + x, lambda x: x * x, lambda x: x - 1, lambda x: x * 2j, lambda x: -x, lambda x: x.conj(), torch.sgn,
              lambda x: x.addcmul(x, x), lambda x: x.clone().mul_(1j), lambda x: torch.where(x == 0, 1j, x), lambda x: x.clone().fill_(2j),
              lambda x: torch.outer(x, x), lambda x: x.index_add(0, torch.tensor([0, 0]), x[1:3]), lambda x: x.clone().zero_(),
              lambda x: torch.cat([x, x]), lambda x: x[torch.tensor([2, 0])], lambda x: x.masked_fill(x == 0, 3),
              lambda x: x.reshape(2, 2).tril(), lambda x: x.roll(1)):
        found = f(z)
        assert found.dtype is torch.complex32 and torch.allclose(found.cfloat(), f(exact), 1e-3, 1e-3)
    assert (z + torch.ones(4)).dtype is torch.complex64 and (z + torch.ones(4).half()).dtype is torch.complex32
    assert (z == exact).all() and not (z != z).any() and z.nonzero().tolist() == [[0], [1], [2]] and z.isfinite().all()
    assert z.count_nonzero().item() == 3 and z.any() and not z.all()
    assert torch.tensor([-0.0 + 0j, 1j]).chalf().count_nonzero().item() == 1
    found = z.reshape(2, 2).norm(dim=1)
    assert found.dtype is torch.float16 and torch.allclose(found.float(), exact.reshape(2, 2).norm(dim=1), 1e-3)
    assert z.abs().dtype is torch.float16 and torch.allclose(z.abs().float(), exact.abs(), 1e-3)
    torch.testing.assert_close(z, z.clone())


def test_parts_share_memory(torch, z):
    assert z.real.dtype is torch.float16 and z.imag.tolist() == [2, -1, 0, 0]
    z.real[1] = 8
    pairs = torch.view_as_real(z)
    assert pairs.dtype is torch.float16 and pairs[1].tolist() == [8, -1]
    pairs[0, 1] = 5
    back = torch.view_as_complex(pairs)
    assert back.dtype is torch.complex32 and back.data_ptr() == z.data_ptr() and z[0].item() == 1 + 5j
    assert torch.complex(torch.ones(1).half(), torch.zeros(1).half()).tolist() == [1] and z.view(torch.int32).shape == (4,)


def test_gradients_pass(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.chalf() * torch.tensor([1 + 1j, 2j]).chalf()
    y.real.float().sum().backward()
    assert x.grad.tolist() == [1, 0]
    w = torch.tensor([1 + 2j]).chalf().requires_grad_()
    (w * w).abs().float().sum().backward()
    assert w.grad.dtype is torch.complex32 and abs(w.grad.item() - (2 + 4j)) < 0.01


def test_saved_and_loaded(torch, z):
    file = io.BytesIO()
    torch.save({"z": z, "view": z[1::2]}, file)
    found = torch.load(io.BytesIO(file.getvalue()))
    assert found["z"].dtype is torch.complex32 and found["z"].tolist() == VALUES and found["view"].tolist() == VALUES[1::2]


@pytest.mark.parametrize("call", [lambda t, z: z @ z, lambda t, z: t.mm(z.reshape(2, 2), z.reshape(2, 2)), lambda t, z: t.fft.fft(z),
                                  lambda t, z: t.linalg.inv(z.reshape(2, 2)), lambda t, z: t.sort(z)])
def test_what_it_refuses(torch, z, call):
    with pytest.raises(RuntimeError):                    # a NotImplementedError is one
        call(torch, z)


def test_across_libraries():
    peer, ours = pytest.importorskip("torch"), pytest.importorskip("numtorch")
    theirs = peer.tensor(VALUES).chalf()
    found = ours.from_dlpack(theirs)
    assert found.dtype is ours.complex32 and found.tolist() == VALUES and found.data_ptr() == theirs.data_ptr()
    back = peer.from_dlpack(found * 1)
    assert back.dtype is peer.complex32 and back.tolist() == VALUES


def test_sums_and_functions_beyond_pytorchs():
    """PyTorch refuses these on a CPU: they are what complex64 gives, rounded."""
    import numtorch as torch
    exact = torch.randn(7, 33, dtype=torch.complex64).chalf().cfloat()
    z = exact.chalf()
    for name, call in {"sum": lambda x: x.sum(1), "mean": lambda x: x.mean(), "prod": lambda x: x[:, :3].prod(1), "exp": torch.exp,
                       "sqrt": torch.sqrt, "div": lambda x: x / (x + 3), "cumsum": lambda x: x.cumsum(1), "flip": lambda x: x.flip(0),
                       "angle": torch.angle, "gather": lambda x: x.gather(0, torch.zeros(1, 33, dtype=torch.int64))}.items():
        found, wanted = call(z), call(exact)
        assert found.dtype is (torch.complex32 if wanted.is_complex() else torch.float16), name
        assert torch.allclose(found.to(wanted.dtype), wanted, 5e-3, 5e-3), name
