"""Padding: values against NumPy, gradients against finite differences, any layout, dtype and width."""
from __future__ import annotations

import numpy as np
import pytest

import numtorch as torch
import numtorch.nn.functional as F
from numtorch.autograd import gradcheck, gradgradcheck

RANDOM = np.random.default_rng(0)
NUMPY_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def values(*shape):
    return RANDOM.standard_normal(shape)


def padded(x, widths, mode, value=0):
    """The reference: NumPy's `pad`, after what negative widths cut off (which never reaches into what is added, unless that goes
    round)."""
    pairs = [(0, 0)] * (x.ndim - len(widths) // 2) + [(widths[i], widths[i + 1]) for i in range(len(widths) - 2, -1, -2)]
    pairs = [(int(b), int(a)) for b, a in pairs]
    if mode == "circular":
        x = x[tuple(slice(max(-b, 0), n - max(-a, 0)) for (b, a), n in zip(pairs, x.shape))]
        pairs = [(max(b, 0), max(a, 0)) for b, a in pairs]
    added = [(max(b, 0), max(a, 0)) for b, a in pairs]
    whole = np.pad(x, added, NUMPY_MODES[mode], **({"constant_values": value} if mode == "constant" else {}))
    return whole[tuple(slice(max(-b, 0), n - max(-a, 0)) for (b, a), n in zip(pairs, whole.shape))]


def test_circular_padding_goes_round_what_is_left():
    """Widths below 0 cut before others wrap, and so do their gradients."""
    x = torch.tensor([1., 2, 3, 4], requires_grad=True)
    for widths, expected in (((-1, 2), [2, 3, 4, 2, 3]), ((2, -1), [2, 3, 1, 2, 3]), ((-1, -1), [2, 3]), ((-2, 2), [3, 4, 3, 4])):
        out = F.pad(x, widths, "circular")
        assert out.tolist() == expected
        x.grad = None
        out.sum().backward()
        assert x.grad.tolist() == [expected.count(n) for n in (1, 2, 3, 4)]
    plane = values(3, 5, 4)
    expected = np.pad(plane[:, 2:, :3], ((0, 0), (0, 2), (3, 0)), "wrap")
    np.testing.assert_array_equal(F.pad(torch.tensor(plane), (3, -1, -2, 2), "circular").numpy(), expected)
    with pytest.raises(RuntimeError, match="Padding size should be less than"):
        F.pad(x, (-2, 3), "circular")


CASES = [                                                # shape, widths
    ((5,), (2, 1)), ((3, 4), (1, 0)), ((3, 4), (0, 0, 2, 1)), ((2, 3, 4, 5), (1, 2)), ((2, 3, 4, 5), (1, 0, 2, 3)),
    ((2, 3, 4, 5), (0, 0, 1, 1)), ((2, 2, 3, 4, 5), (2, 1, 1, 2, 1, 0)), ((1, 1, 4, 1), (0, 0, 3, 3)), ((2, 3, 4, 5), (-1, 2, 1, -2)),
    ((4, 5), (-2, -3)), ((4, 5), (-1, 0, 0, -1)), ((3, 4, 5), (0, 0)), ((0, 3, 4), (1, 1)), ((2, 1, 131), (130, 7)),
]


@pytest.mark.parametrize("mode", NUMPY_MODES)
@pytest.mark.parametrize(("shape", "widths"), CASES)
def test_values_and_gradients(shape, widths, mode):
    x = values(*shape)
    expected = padded(x, widths, mode)
    np.testing.assert_array_equal(F.pad(torch.tensor(x), widths, mode).numpy(), expected)
    # the gradient of sum(w * pad(x)): each w added to the element that was copied there
    places = padded(np.arange(x.size).reshape(shape), widths, mode, -1).ravel().astype(int)
    w = values(*expected.shape)
    total = np.zeros(x.size)
    np.add.at(total, places[places >= 0], w.ravel()[places >= 0])
    leaf = torch.tensor(x, requires_grad=True)
    (F.pad(leaf, widths, mode) * torch.tensor(w)).sum().backward()
    np.testing.assert_allclose(leaf.grad.numpy(), total.reshape(shape), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("mode", NUMPY_MODES)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float16", "bfloat16", "float32", "int64", "complex64", "complex128"])
def test_dtypes(dtype, mode):
    kind = getattr(torch, dtype)
    x = torch.tensor(values(2, 3, 4, 5) * 10).to(kind)
    out = F.pad(x, (2, 1, 1, 3), mode)
    assert out.dtype is kind
    expected = padded(np.arange(120).reshape(2, 3, 4, 5), (2, 1, 1, 3), mode, -1)
    flat = torch.cat([x.flatten(), torch.zeros(1, dtype=kind)])
    assert torch.equal(out, flat[torch.tensor(expected)])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64", "complex128"])
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_gradients_of_dtypes(dtype, mode):
    x = torch.ones(2, 4, 5, dtype=getattr(torch, dtype), requires_grad=True)
    F.pad(x, (2, 1, 1, 3), mode).backward(torch.ones(2, 8, 8, dtype=x.dtype))
    places = padded(np.arange(40).reshape(2, 4, 5), (2, 1, 1, 3), mode)
    np.testing.assert_array_equal(x.grad.to(torch.complex128).real.numpy().ravel(), np.bincount(places.ravel(), minlength=40))


@pytest.mark.parametrize("mode", NUMPY_MODES)
def test_any_strides(mode):
    x = values(4, 3, 6, 8)
    whole = torch.tensor(x)
    for view, expected in ((whole[1:3, :, ::2, 2:7], x[1:3, :, ::2, 2:7]), (whole.permute(0, 2, 3, 1), x.transpose(0, 2, 3, 1)),
                           (whole[:, :, :, ::2], x[:, :, :, ::2]),
                           (whole[:1, :1].expand(2, 3, 6, 8), np.broadcast_to(x[:1, :1], (2, 3, 6, 8)))):
        np.testing.assert_array_equal(F.pad(view, (2, 1, 1, 1), mode).numpy(), padded(expected, (2, 1, 1, 1), mode))
    for flip in (np.s_[::-1], np.s_[:, ::-1], np.s_[:, :, ::-1, ::-1], np.s_[::-1, ::-2, ::-1]):
        np.testing.assert_array_equal(F.pad(torch.from_numpy(x[flip]), (2, 1, 1, 1), mode).numpy(), padded(x[flip], (2, 1, 1, 1), mode))


@pytest.mark.parametrize("mode", NUMPY_MODES)
@pytest.mark.parametrize("shape", [(1, 1, 400, 500), (7, 5, 60, 60), (1, 200_000)])
def test_shared_among_threads(shape, mode):
    x = values(*shape)
    widths = (3, 2, 1, 2) if len(shape) == 4 else (3, 2)
    leaf = torch.tensor(x, requires_grad=True)
    out = F.pad(leaf, widths, mode)
    np.testing.assert_array_equal(out.detach().numpy(), padded(x, widths, mode))
    out.sum().backward()
    places = padded(np.arange(x.size).reshape(shape), widths, mode, x.size)
    np.testing.assert_array_equal(leaf.grad.numpy().ravel(), np.bincount(places.ravel(), minlength=x.size + 1)[:-1])


@pytest.mark.parametrize("value", [2.5, -0.0, float("inf"), float("nan"), 3, True])
def test_values_to_pad_with(value):
    for kind in (torch.float32, torch.bfloat16, torch.int32):
        if (kind is torch.int32 and value != value) or value in (float("inf"),):
            continue
        out = F.pad(torch.ones(2, 3, dtype=kind), (1, 0), value=value)[:, 0]
        assert repr(out) == repr(torch.full((2,), value, dtype=kind))
    assert str(F.pad(torch.ones(1), (0, 1), value=value)[1].item()) == str(float(value))


@pytest.mark.parametrize("mode", NUMPY_MODES)
def test_twice_differentiable(mode):
    x = torch.tensor(values(2, 3, 4), requires_grad=True)
    assert gradcheck(lambda x: F.pad(x, (1, 2), mode) ** 2, [x])
    assert gradgradcheck(lambda x: F.pad(x, (1, 2), mode) ** 2, [x])


def test_a_number_has_no_dimension_to_pad():
    x = torch.tensor(2.5, requires_grad=True)
    for mode in NUMPY_MODES:
        out = F.pad(x, (), mode)
        out.backward()
        assert out.item() == 2.5 and x.grad.item() == 1
        x.grad = None


def test_the_result_has_memory_of_its_own():
    x = torch.tensor(values(2, 3))
    for mode in NUMPY_MODES:
        assert F.pad(x, (0, 0), mode).data_ptr() != x.data_ptr()


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda x: F.pad(x, (1,)), RuntimeError, "Padding length must be divisible by 2"),
    (lambda x: F.pad(x, (1,) * 6), RuntimeError, "two times the input dimension"),
    (lambda x: F.pad(x, (4, 0), "reflect"), RuntimeError, "Padding size should be less than"),
    (lambda x: F.pad(x, (0, 5), "circular"), RuntimeError, "Padding size should be less than"),
    (lambda x: F.pad(x[:, :0], (1, 0), "replicate"), RuntimeError, "Padding size should be less than"),
    (lambda x: F.pad(x, (-3, -2)), RuntimeError, "resulted in a negative output size"),
    (lambda x: F.pad(x, (6, -5)), RuntimeError, "Check dimension 1"),
    (lambda x: F.pad(x[:, :0], (-1, 1), value=1), RuntimeError, "Check dimension 1"),
    (lambda x: F.pad(x, (1, 1), "mirror"), NotImplementedError, "Unrecognised padding mode mirror"),
    (lambda x: F.pad(x, (1, 1), (1, 2)), TypeError, "must be str, not tuple"),
    (lambda x: F.pad(x, (1.5, 1)), (TypeError, AttributeError), "float"),
    (lambda x: F.pad(x, (1, 1), value="a"), TypeError, "expected a Tensor or a number"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call(torch.zeros(3, 4))


def test_a_value_without_memory(torch):
    """It is read before a kernel is given its address, and has none."""
    with pytest.raises((RuntimeError, NotImplementedError)):
        torch.nn.functional.pad(torch.ones(3), (1, 1), value=torch.tensor(1.0, device="meta"))
