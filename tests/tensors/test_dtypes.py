"""Dtypes: promotion against PyTorch's whole table, limits, the default, and what arithmetic makes of numbers."""
import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import numtorch as torch
from numtorch.dtypes import ALL, as_dtype, can_cast, from_numpy
from numtorch.dtypes import dtype as dtype_class
from numtorch.kernels.cpu.pointwise.pointwise import VECTOR

# The corners of the table, so that it holds without PyTorch too.
PROMOTIONS = [
    ("bool", "bool", "bool"), ("bool", "uint8", "uint8"), ("uint8", "int8", "int16"), ("uint8", "int16", "int16"), ("uint8",
                                                                                                                    "int64",
                                                                                                                    "int64"),
    ("int8", "int32", "int32"), ("int64", "float16", "float16"), ("int64", "bfloat16", "bfloat16"), ("float16", "bfloat16",
                                                                                                     "float32"),
    ("float16", "float32", "float32"), ("float32", "float64", "float64"), ("float64", "complex64", "complex128"),
    ("float32", "complex64", "complex64"), ("int64", "complex64", "complex64"), ("complex64", "complex128", "complex128"),
    ("uint16", "uint32", "uint32"), ("uint8", "uint64", "uint64"), ("bool", "uint16", "uint16"), ("uint64", "float32", "float32"),
]


@pytest.mark.parametrize("a, b, wanted", PROMOTIONS)
def test_promotion(a, b, wanted):
    names = dtype_class.by_name
    assert torch.promote_types(names[a], names[b]) is names[wanted]
    assert torch.promote_types(names[b], names[a]) is names[wanted]


def test_every_promotion_is_pytorchs():
    peer = pytest.importorskip("torch", reason="PyTorch is not installed to compare with")
    for a in ALL:
        for b in ALL:
            first, second = getattr(peer, a.name), getattr(peer, b.name)
            try:
                wanted = str(peer.promote_types(first, second))
            except RuntimeError:
                if not (a.category == b.category == 1 and (a.is_signed or b.is_signed)):    # with other kinds we let them through
                    continue
                with pytest.raises(RuntimeError, match="Promotion for uint16, uint32, uint64 types is not supported"):
                    torch.promote_types(a, b)
                continue
            assert str(torch.promote_types(a, b)) == wanted, (a, b)
            assert can_cast(a, b) == peer.can_cast(first, second), (a, b)


def test_what_a_dtype_says():
    assert repr(torch.float32) == "torch.float32" and torch.float is torch.float32 and torch.long is torch.int64
    assert torch.half is torch.float16 and torch.cdouble is torch.complex128 and torch.bool.itemsize == 1
    for kind in ALL:
        assert pickle.loads(pickle.dumps(kind)) is kind and copy.deepcopy(kind) is kind and copy.copy(kind) is kind
        assert torch.empty(3, dtype=kind).element_size() == kind.itemsize
        assert kind.is_floating_point == (kind.name.startswith(("float",
                                                                "bfloat"))) and kind.is_complex == kind.name.startswith("complex")
        assert kind.is_signed == (not kind.name.startswith(("uint", "bool")))
        if kind.numpy is not None:
            assert from_numpy(kind.numpy) is kind and from_numpy(kind.name) is kind
    assert torch.complex64.to_real() is torch.float32 and torch.float64.to_complex() is torch.complex128
    assert torch.zeros(1).type() == "torch.FloatTensor" and torch.zeros(1, dtype=torch.int16).type() == "torch.ShortTensor"


def test_what_is_no_dtype():
    for wrong in ("float32", 3, np.float32, None):
        with pytest.raises(TypeError):
            as_dtype(wrong)
    with pytest.raises(TypeError, match="only supported types"):
        torch.from_numpy(np.array(["text"]))
    with pytest.raises(TypeError, match="only supported types"):
        torch.from_numpy(np.array([object()]))
    assert as_dtype(float) is torch.float64 and as_dtype(int) is torch.int64 and as_dtype(bool) is torch.bool


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_finfo(name):
    ours = torch.finfo(getattr(torch, name))
    if name in ("float32", "float64"):
        limits = np.finfo(name)
        assert (ours.eps, ours.max, ours.min, ours.tiny, ours.bits) == (limits.eps, limits.max, limits.min, limits.tiny,
                                                                        limits.bits)
    peer = pytest.importorskip("torch", reason="PyTorch is not installed to compare with")
    theirs = peer.finfo(getattr(peer, name))
    for field in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
        assert getattr(ours, field) == getattr(theirs, field), field
    assert repr(ours) == repr(theirs)


def test_iinfo():
    for name in ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"):
        ours, limits = torch.iinfo(getattr(torch, name)), np.iinfo(name)
        assert (ours.max, ours.min, ours.bits, ours.dtype) == (limits.max, limits.min, limits.bits, name)
    for wrong in (torch.float32, torch.bool):
        with pytest.raises(TypeError, match=r"Use torch.finfo" if wrong is torch.float32 else "integer"):
            torch.iinfo(wrong)
    with pytest.raises(TypeError, match=r"Use torch.iinfo"):
        torch.finfo(torch.int32)
    assert torch.finfo().bits == 32


def test_default_dtype():
    assert torch.get_default_dtype() is torch.float32
    try:
        torch.set_default_dtype(torch.float64)
        assert torch.tensor(1.0).dtype is torch.float64 and torch.zeros(1).dtype is torch.float64
        assert torch.tensor(1j).dtype is torch.complex128 and torch.arange(0, 1, 0.5).dtype is torch.float64
        assert (torch.tensor([1]) / 2).dtype is torch.float64 and (torch.tensor([1]) * 1.0).dtype is torch.float64
        assert torch.exp(torch.tensor([1])).dtype is torch.float64 and torch.rand(1).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert (torch.tensor([1]) / 2).dtype is torch.float32 and torch.exp(torch.tensor([1])).dtype is torch.float32
    for wrong in (torch.int64, "float64", float):
        with pytest.raises(TypeError, match=r"only floating-point types are supported"):
            torch.set_default_dtype(wrong)


@pytest.mark.parametrize("operands, wanted", [
    ((torch.int32, 1), torch.int32), ((torch.int32, 1.0), torch.float32), ((torch.uint8, True), torch.uint8), ((torch.bool, 1),
                                                                                                               torch.int64),
    ((torch.bool, 1.0), torch.float32), ((torch.float16, 1.0), torch.float16), ((torch.bfloat16, 1 << 40), torch.bfloat16),
    ((torch.float64, 1j), torch.complex128), ((torch.float32, 1j), torch.complex64), ((torch.int64, 1j), torch.complex64),
    ((torch.complex64, 1.0), torch.complex64), ((2, 1.0), torch.float32), ((2, 3), torch.int64),
], ids=str)
def test_result_type_of_a_tensor_and_a_number(operands, wanted):
    made = [torch.ones(2, dtype=o) if isinstance(o, dtype_class) else o for o in operands]
    assert torch.result_type(*made) is wanted
    if isinstance(made[0], torch.Tensor):
        assert (made[0] * made[1]).dtype is wanted


def test_zero_dim_tensors_give_way_to_tensors_with_dimensions():
    many, one = torch.ones(2, dtype=torch.float32), torch.tensor(1.0, dtype=torch.float64)
    assert torch.result_type(many, one) is torch.float32 and (many * one).dtype is torch.float32
    assert torch.result_type(torch.ones(2, dtype=torch.int8), torch.tensor(1 << 20)) is torch.int8
    assert torch.result_type(torch.ones(2, dtype=torch.int8), one) is torch.float64
    assert torch.result_type(one, torch.tensor(1.0)) is torch.float64
    assert torch.result_type(torch.ones(2), torch.tensor(1j, dtype=torch.complex128)) is torch.complex64


CASTS = ["bool", "uint8", "int16", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]


@pytest.mark.parametrize("source", CASTS)
def test_casts(source):
    """Every pair, through the copy kernel; bfloat16 rounds to even."""
    values = torch.tensor([0.0, 1.0, 2.5, 100.3125, 3.0], dtype=torch.float64).to(getattr(torch, source))
    plain = values.float().numpy() if source == "bfloat16" else values.numpy()
    for target in CASTS:
        found = values.to(getattr(torch, target))
        assert found.dtype is getattr(torch, target)
        if target == "bfloat16":
            np.testing.assert_allclose(found.float().numpy(), np.real(plain).astype(np.float32), rtol=2 ** -8)
        else:
            wanted = np.real(plain).astype(target) if target != "complex64" else plain.astype(target)
            np.testing.assert_array_equal(found.numpy(), wanted)
    assert torch.tensor([1 + 2 ** -8, 1 + 3 * 2 ** -8]).bfloat16().float().tolist() == [1.0, 1 + 2 ** -6]
    assert torch.tensor([float("nan")]).bfloat16().isnan().item() and torch.tensor([3e38]).bfloat16().float().item() > 2.9e38


OUTSIDE = [-2.0, -1.5, 255.9, 256.0, 300.0, 4e4, -4e4, 7e4, 3e9, -3e9, 5e9, 2.0 ** 31, -2.0 ** 31, 2.0 ** 32 + 2 ** 10 + 7, 1e10, -1e10, 2.0 ** 62,
           2.0 ** 63, 1e19, -1e19, 2.0 ** 64, 1e30, -1e30, np.inf, -np.inf, np.nan]


def truncated(x, name):
    """What an integer dtype makes of a float: the low bits of an int32, or of an int64 for uint8, uint32 and uint64, which of what it
    cannot hold is the least number. From 2**63 a uint64 is the number itself, or 0."""
    if name == "uint64" and x >= 2.0 ** 63:
        return int(x) if x < 2.0 ** 64 else 0
    wide = 64 if name in ("uint8", "uint32", "int64", "uint64") else 32
    whole = int(x) if -2.0 ** (wide - 1) <= x < 2.0 ** (wide - 1) else -2 ** (wide - 1)
    bits = np.iinfo(name).bits
    low = whole % 2 ** bits
    return low - 2 ** bits if name.startswith("i") and low >= 2 ** (bits - 1) else low


@pytest.mark.parametrize("name, source", [
    *[(name, "float32") for name in ("uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64")],
    ("uint8", "float64"), ("int16", "float64"), ("int8", "bfloat16"), ("uint16", "complex64"), ("uint32", "float64"),
    ("uint64", "float64")])
def test_floats_that_an_integer_cannot_hold(name, source):
    """The same at every position: alone, in vectors and behind them, strided or not. PyTorch agrees, but where it does not with
    itself, which is so for uint32."""
    numbers = torch.tensor(OUTSIDE, dtype=torch.float64).to(getattr(torch, source))
    held = (numbers.real if source == "complex64" else numbers).double().tolist()
    expected = [truncated(x, name) for x in held]
    kind = getattr(torch, name)
    for count in (1, VECTOR - 1, VECTOR, 2 * VECTOR + 1, 4 * VECTOR + 3):
        block = numbers.view(-1, 1).expand(-1, count).contiguous()
        for each in (block, block.t().contiguous().t()):
            assert each.to(kind).tolist() == [[n] * count for n in expected]
    for x, n in zip(numbers, expected):
        assert x.to(kind).item() == n
        assert torch.zeros(3, dtype=kind).copy_(x).tolist() == [n] * 3
    reference = pytest.importorskip("torch")
    if name != "uint32" and source != "complex64":
        there = reference.tensor(held, dtype=reference.float64).to(getattr(reference, source))
        for count in (1, 2 * VECTOR + 1):
            assert there.view(-1, 1).repeat(1, count).to(getattr(reference, name)).tolist() == [[n] * count for n in expected]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_copies_keep_every_bit(dtype):
    """Of signalling NaNs too, in each way elements may lie."""
    words = torch.arange(-1 << 15, 1 << 15, dtype=torch.int16)
    every = words.view(getattr(torch, dtype))
    for see in (lambda x: x, lambda x: x[::2], lambda x: x[::5], lambda x: x.view(256, 256).t(), lambda x: x.view(-1, 4)[:, :3]):
        assert torch.equal(see(every).clone(memory_format=torch.contiguous_format).view(torch.int16), see(words).contiguous())
        assert torch.equal(torch.zeros(see(every).shape, dtype=every.dtype).copy_(see(every)).view(torch.int16), see(words))


def test_a_complex_number_is_true_where_a_part_is():
    x = torch.tensor([1j, 0j, 1 + 0j, complex("nan")])
    assert x.bool().tolist() == [True, False, True, True] and torch.zeros(4, dtype=torch.bool).copy_(x).tolist() == x.bool().tolist()
    assert x[::2].bool().tolist() == [True, True]


def test_other_packages_may_add_types_to_numpy():
    """As ml_dtypes does, which JAX imports: a bfloat16 of its own, before or after numtorch is imported."""
    program = """
import numpy as np
np.sctypeDict["bfloat16"] = type("bfloat16", (np.void,), {"__module__": "another"})
import numtorch as torch
assert torch.bfloat16.numpy is None and torch.float16.numpy == np.float16
assert torch.finfo(torch.bfloat16).eps == 2.0 ** -7 and torch.ones(3, dtype=torch.bfloat16).sum().item() == 3
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
