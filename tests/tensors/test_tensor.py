"""Tensors and the outside world: data, NumPy, DLPack, buffers, pickle, Python numbers, attributes."""
import copy
import gc
import itertools
import math
import operator
import pickle
import weakref

import numpy as np
import pytest

import numtorch as torch
from numtorch.storage import _foreign, _HostAllocator

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "float32", "float64",
          "complex64",
          "complex128"]


# ---------------------------------------------------------------- construction
@pytest.mark.parametrize("data, dtype, shape", [
    (3, "int64", ()), (2.5, "float32", ()), (True, "bool", ()), (1 + 2j, "complex64", ()), ([1, 2], "int64", (2,)), ([1, 2.5],
                                                                                                                     "float32",
                                                                                                                     (2,)),
    ([True, False], "bool", (2,)), ([True, 2], "int64", (2,)), ([[1], [2]], "int64", (2, 1)), ((1.0, 2.0), "float32",
                                                                                               (2,)), ([], "float32", (0,)),
    ([[], []], "float32", (2, 0)), (range(3), "int64", (3,)), (np.float32(2), "float32", ()), (np.float64(2), "float64", ()),
    (np.int8(2), "int8", ()), (np.arange(3), "int64", (3,)), (np.ones((2, 2), np.float16), "float16", (2, 2)), ([np.float64(1),
                                                                                                                 2.0],
                                                                                                                 "float64", (2,)),
    ([np.arange(2), np.arange(2)], "int64", (2, 2)), (np.bool_(True), "bool", ()), ([1, 1j], "complex64", (2,)),
], ids=lambda v: repr(v)[:30])
def test_from_data(data, dtype, shape):
    made = torch.tensor(data)
    assert made.dtype is getattr(torch, dtype) and made.shape == shape and made.is_contiguous() and not made.requires_grad
    np.testing.assert_array_equal(made.numpy(), np.array(data if not isinstance(data, range) else list(data), dtype))


def test_from_tensors_and_nested_tensors():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    copied = torch.tensor(x)
    assert copied.data_ptr() != x.data_ptr() and not copied.requires_grad and copied.tolist() == [1.0, 2.0]
    assert torch.tensor([torch.tensor(1), torch.tensor(2)]).tolist() == [1, 2]
    assert torch.tensor([torch.tensor(1.5), 2.0]).dtype is torch.float32
    assert torch.tensor([torch.tensor(1, dtype=torch.int8), 2.5]).dtype is torch.float32
    assert torch.tensor([torch.tensor(1, dtype=torch.int8)] * 2).dtype is torch.int8
    assert torch.tensor([np.uint8(200), np.uint8(3)]).tolist() == [200, 3]
    assert torch.tensor([[torch.tensor([1]), 2]]).tolist() == [[1, 2]]
    with pytest.raises(ValueError, match="only one element tensors"):
        torch.tensor([[torch.tensor([1.0, 2.0])]])


@pytest.mark.parametrize("target", [*DTYPES, "bfloat16"])
def test_with_a_dtype(target):
    for data in ([0, 1, 2], [0.0, 1.5, 2.0], np.array([0, 1, 2], np.int16), torch.tensor([0, 1, 2]), np.array([0, 1, 2],
                                                                                                              np.float16)[::-1],
                 torch.tensor([0.0, 1.0, 2.0]).bfloat16(), torch.tensor([2.0, 1.0, 0.0])):
        made = torch.tensor(data, dtype=getattr(torch, target))
        assert made.dtype is getattr(torch, target)
        plain = data.float().numpy() if isinstance(data, torch.Tensor) else np.asarray(data)
        wanted = plain.astype("float32" if target == "bfloat16" else target)
        np.testing.assert_array_equal((made.float() if target == "bfloat16" else made).numpy(), wanted)


@pytest.mark.parametrize("data, error", [
    ([[1, 2], [3]], ValueError),
    ([[1], 2], (ValueError, TypeError)),
    ("text", TypeError),
    (["a"], ValueError),
    ([1, "a"], TypeError),
    ([None], (TypeError, RuntimeError)),
    (None, (TypeError, RuntimeError)),
    ({}, (TypeError, RuntimeError)),
    (print, (TypeError, RuntimeError)),
    (1 << 70, ValueError),
    ([1 << 70], ValueError),
], ids=lambda v: repr(v)[:30])
def test_bad_data(data, error):
    with pytest.raises(error):
        torch.tensor(data)


def test_bad_options():
    with pytest.raises(TypeError, match="dtype"):
        torch.tensor([1], dtype="float32")
    with pytest.raises(RuntimeError, match="floating point and complex"):
        torch.tensor([1], requires_grad=True)
    assert torch.tensor([1.0], requires_grad=True).requires_grad


def test_conversion_wraps_and_truncates_as_numpy():
    assert torch.tensor([-1.7, 1.7], dtype=torch.int32).tolist() == [-1, 1]
    assert torch.tensor([300], dtype=torch.int64).to(torch.uint8).item() == 44


def test_the_class_as_a_constructor():
    assert torch.Tensor().shape == (0,) and torch.Tensor(2, 3).shape == (2, 3) and torch.Tensor(torch.Size([4])).shape == (4,)
    assert torch.Tensor([1, 2]).tolist() == [1.0, 2.0] and torch.Tensor([1, 2]).dtype is torch.float32
    assert torch.Tensor(np.arange(3)).dtype is torch.float32
    x = torch.ones(2)
    assert torch.Tensor(x).data_ptr() == x.data_ptr()
    with pytest.raises(TypeError, match="expected data or a shape"):
        torch.Tensor(2, "text")
    with pytest.raises(RuntimeError, match="negative dimension"):
        torch.Tensor(-1)
    assert torch.FloatTensor(x).data_ptr() == x.data_ptr() and torch.FloatTensor(size=(2, 3)).shape == (2, 3)
    assert torch.LongTensor(np.int64(3)).shape == (3,)
    for data in (2.5, None, True, x.double(), x.long()):
        with pytest.raises(TypeError, match=r"sequence|expected data of dtype"):
            torch.FloatTensor(data)


# ---------------------------------------------------------------- NumPy, both ways
@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_shares_memory(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    tensor = torch.from_numpy(array)
    assert tensor.dtype is getattr(torch, dtype) and tensor.data_ptr() == array.ctypes.data and tensor.shape == array.shape
    array[1, 2] = 1
    assert tensor.numpy()[1, 2] == array[1, 2]
    tensor.fill_(1)
    np.testing.assert_array_equal(array, np.ones((2, 3), dtype))
    back = torch.ones(2, 3, dtype=getattr(torch, dtype))
    view = back.numpy()
    view[...] = 0
    assert back.tolist() == np.zeros((2, 3), dtype).tolist()


@pytest.mark.parametrize("slices", [(slice(None, None, -1),), (slice(None), slice(None, None, -2)), (slice(1, None, 2), slice(0,
    3)), (0,), (slice(3, 3),), (..., None),
                                    (slice(None, None, -1), slice(None, None, -1))], ids=str)
def test_any_strides(slices):
    array = np.arange(20.0).reshape(4, 5)
    part = array[slices]
    tensor = torch.from_numpy(part)
    assert tensor.shape == part.shape
    if part.size:
        assert tensor.stride() == tuple(s // 8 for s in part.strides) or tensor.is_contiguous()
    np.testing.assert_array_equal(tensor.numpy(), part)
    tensor.add_(1)
    np.testing.assert_array_equal(np.sort(array.ravel())[:1], [array.min()])
    np.testing.assert_array_equal(tensor.numpy(), part)
    assert torch.from_numpy(part.T).sum().item() == part.sum()
    again = torch.from_numpy(tensor.numpy())
    assert again.memory is tensor.memory or again.data_ptr() == tensor.data_ptr()


def test_memory_outlives_its_owner():
    array = np.arange(1000.0)
    died = weakref.ref(array)
    tensor = torch.from_numpy(array)[10:20]
    del array
    gc.collect()
    assert died() is not None and tensor[0].item() == 10.0
    view = torch.arange(5.0).numpy()
    gc.collect()
    for _ in range(50):
        torch.arange(5.0).add(1)
    assert view.tolist() == [0, 1, 2, 3, 4]
    del tensor
    gc.collect()
    assert died() is None


def test_a_tensor_that_came_back_is_in_the_same_storage():
    x = torch.zeros(4)
    y = torch.from_numpy(x.numpy()[1:])
    assert y.memory is x.memory and y.storage_offset() == 1
    y.add_(1)
    assert x.tolist() == [0, 1, 1, 1] and x._version == y._version == 1


def test_tensors_over_one_array_share_their_version():
    array = np.ones(3, np.float32)
    y = torch.from_numpy(array) * torch.ones(3, requires_grad=True)
    torch.from_numpy(array).add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_arrays_that_are_gone_are_forgotten():
    arrays = [np.zeros(1) for _ in range(3000)]
    for array in arrays:
        torch.from_numpy(array)
    assert len(_foreign) < 3000


def test_what_is_freed_is_kept_up_to_a_limit():
    """As much as was in use lately, whatever the sizes, and a little more."""
    block = 1 << 18
    host = _HostAllocator(slack=4 * block)
    held = [host.allocate(block) for _ in range(8)]
    assert host.used == host.peak == 8 * block and not any(host.bins.values())
    held.clear()
    for _ in range(20):                                  # a step that uses them again takes nothing from the system, and keeps all
        held = [host.allocate(block) for _ in range(8)]
        held.clear()
        assert unused(host) == 8 * block
    for number in range(1, 200):                         # each size occurs once
        host.allocate(block + 4096 * number)
        assert unused(host) <= 8 * block + 2 * host.slack
    for _ in range(200):                                 # what was in use once, and is no more, goes
        host.allocate(block)
    assert host.used == 0 and unused(host) <= host.slack + block
    kept = host.allocate(block)
    host.empty()
    del kept
    assert unused(host) == host.used == 0


def unused(host):
    return sum(b.size * len(b) for b in host.bins.values())


def test_array_protocol():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert np.asarray(x).ctypes.data == x.data_ptr() and np.array(x).ctypes.data != x.data_ptr()
    assert np.asarray(x, dtype=np.float64).dtype == np.float64 and np.sum(x.numpy()) == 10.0
    np.testing.assert_array_equal(x, [[1, 2], [3, 4]])
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        torch.ones(2, requires_grad=True).numpy()
    with pytest.raises(RuntimeError, match="requires grad"):
        np.asarray(torch.ones(2, requires_grad=True))
    assert torch.ones(2, requires_grad=True).numpy(force=True).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="unsupported ScalarType"):
        torch.ones(2).bfloat16().numpy()
    assert torch.tensor([1.5, -2.0]).bfloat16().tolist() == [1.5, -2.0]


def test_from_numpy_refuses():
    for wrong in ([1, 2], 3, torch.ones(2)):
        with pytest.raises(TypeError, match=r"expected np.ndarray"):
            torch.from_numpy(wrong)
    with pytest.raises(TypeError, match="only supported types"):
        torch.from_numpy(np.zeros(2, "datetime64[s]"))
    with pytest.raises(ValueError, match="byte order"):
        torch.from_numpy(np.zeros(2, ">f4" if np.little_endian else "<f4"))
    crooked = np.zeros(20, np.uint8)[1:9].view(np.float32)
    if crooked.ctypes.data % 4:
        with pytest.raises(ValueError, match="whole elements"):
            torch.from_numpy(crooked)
    record = np.zeros(3, [("a", "u1"), ("b", "f4")])["b"]
    with pytest.raises(ValueError, match="whole elements"):
        torch.from_numpy(record)


def test_read_only_arrays_are_shared_or_refused():
    array = np.arange(3.0)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        assert torch.from_numpy(array).tolist() == [0, 1, 2]


# ---------------------------------------------------------------- DLPack and buffers
def test_dlpack():
    x = torch.arange(6.0).reshape(2, 3)
    array = np.from_dlpack(x)
    assert array.ctypes.data == x.data_ptr() and array.shape == (2, 3)
    array[0] = 9
    assert x.tolist() == [[9, 9, 9], [3, 4, 5]]
    assert not np.shares_memory(np.from_dlpack(x, copy=True), array)
    y = torch.from_dlpack(np.arange(4, dtype=np.int32))
    assert y.dtype is torch.int32 and y.tolist() == [0, 1, 2, 3]
    assert torch.from_dlpack(x).memory is x.memory
    assert x.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="require gradient"):
        torch.ones(2, requires_grad=True).__dlpack__()
    with pytest.raises(BufferError, match="layout other than"):
        x.to_sparse().__dlpack__()
    with pytest.raises(RuntimeError, match="invalid capsule"):
        torch.from_dlpack([1, 2])


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.complex32, torch.bool])
@pytest.mark.parametrize("options", [{}, {"max_version": (1, 0)}, {"copy": True, "max_version": (1, 0)}])
def test_dlpack_by_its_capsule(kind, options):
    x = torch.tensor([[0, 1, 2], [3, 0, 5]]).to(kind)
    capsule = x.t().__dlpack__(**options)
    y = torch.from_dlpack(capsule)
    assert y.dtype is kind and torch.equal(y, x.t()) and (y.data_ptr() == x.data_ptr()) is ("copy" not in options)
    with pytest.raises(RuntimeError, match="only once"):
        torch.from_dlpack(capsule)


def test_dlpack_with_pytorch():
    peer = pytest.importorskip("torch", reason="PyTorch is not installed to compare with")
    theirs = peer.arange(6.0).reshape(2, 3)
    ours = torch.from_dlpack(theirs.t())
    assert ours.tolist() == theirs.t().tolist() and ours.stride() == (1, 3)
    ours.mul_(2)
    assert theirs[1, 2].item() == 10.0
    x = torch.arange(4.0)
    back = peer.from_dlpack(x)
    back.add_(1)
    assert x.tolist() == [1, 2, 3, 4]
    assert peer.from_dlpack(x[::2]).tolist() == [1, 3]


def test_frombuffer():
    raw = bytearray(np.arange(4, dtype=np.float32).tobytes())
    x = torch.frombuffer(raw, dtype=torch.float32)
    x[0] = 9
    assert np.frombuffer(raw, np.float32)[0] == 9 and x.tolist() == [9, 1, 2, 3]
    assert torch.frombuffer(raw, dtype=torch.float32, count=2, offset=4).tolist() == [1, 2]
    assert torch.frombuffer(raw, dtype=torch.bfloat16).shape == (8,)
    for options, message in (({"offset": 99}, "offset"), ({"offset": 2}, "multiple of element"), ({"count": 9},
                                                                                                  "greater than actual"),
                             ({"count": 0}, "greater")):
        with pytest.raises(ValueError, match=message):
            torch.frombuffer(raw, dtype=torch.float32, **options)
    with pytest.raises(ValueError):
        torch.frombuffer(b"", dtype=torch.float32)


# ---------------------------------------------------------------- pickle and copy
@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_pickle(dtype):
    x = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        y = pickle.loads(pickle.dumps(x.t(), protocol))
        assert y.dtype is x.dtype and y.shape == (3, 2) and y.tolist() == x.t().tolist()


def test_pickle_keeps_what_matters():
    leaf = torch.ones(2, requires_grad=True)
    leaf.label = "weight"
    again = pickle.loads(pickle.dumps(leaf))
    assert again.requires_grad and again.is_leaf and again.label == "weight"
    x = torch.arange(10.0)
    assert pickle.loads(pickle.dumps(x[::3])).tolist() == [0, 3, 6, 9]
    assert pickle.loads(pickle.dumps(torch.tensor(5))).shape == ()


def test_deepcopy():
    leaf = torch.ones(3, requires_grad=True)
    leaf.tag = ["shared"]
    (leaf * 2).sum().backward()
    twin = copy.deepcopy(leaf)
    assert twin.requires_grad and twin.is_leaf and twin.data_ptr() != leaf.data_ptr() and twin.tolist() == [1.0] * 3
    assert twin.grad.tolist() == [2.0] * 3 and twin.grad is not leaf.grad and twin.tag == ["shared"] and twin.tag is not leaf.tag
    with torch.no_grad():
        twin.add_(1)
    assert leaf.tolist() == [1.0] * 3
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(leaf * 2)
    pair = copy.deepcopy([leaf, leaf])
    assert pair[0] is pair[1]
    x = torch.arange(6.0)
    both = copy.deepcopy({"whole": x, "part": x[2:4]})
    both["whole"][2] = 9.0
    assert both["part"].tolist() == [9.0, 3.0] and x[2].item() == 2.0        # what shared memory shares it again
    transposed = copy.deepcopy(torch.arange(6.0).reshape(2, 3).t())
    assert transposed.stride() == (1, 3) and transposed.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_shallow_copy_shares():
    x = torch.ones(2, requires_grad=True)
    y = copy.copy(x)
    assert y.data_ptr() == x.data_ptr() and y.requires_grad


# ---------------------------------------------------------------- Python numbers and protocols
def test_numbers():
    assert torch.tensor(3).item() == 3 and isinstance(torch.tensor(3).item(), int) and isinstance(torch.tensor([[2.5]]).item(),
                                                                                                  float)
    assert torch.tensor(True).item() is True and torch.tensor(1 + 2j).item() == 1 + 2j
    assert torch.tensor(1.5, dtype=torch.float16).item() == 1.5 and torch.tensor(1.5).bfloat16().item() == 1.5
    assert float(torch.tensor(2)) == 2.0 and int(torch.tensor(2.9)) == 2 and complex(torch.tensor(1.0)) == 1
    assert bool(torch.tensor([0.1]))
    assert not torch.tensor(0) and [10, 20, 30][torch.tensor(1)] == 20 and list(range(5))[torch.tensor(1):torch.tensor(3)] == [1, 2]
    assert math.sqrt(torch.tensor(4.0)) == 2.0 and range(torch.tensor(3)) == range(3)
    for empty_or_many in (torch.ones(2), torch.ones(0)):
        for attempt in (lambda x: x.item(), bool, float, int):
            error = ValueError if attempt in (float, int) else RuntimeError
            with pytest.raises(error, match=r"ambiguous|cannot be converted to Scalar|converted to Python scalars"):
                attempt(empty_or_many)
    for wrong in (torch.tensor(1.0), torch.tensor([1, 2])):
        with pytest.raises(TypeError, match="only integer tensors of a single element"):
            [1, 2, 3][wrong]


def test_length_iteration_and_lists():
    x = torch.arange(6).reshape(3, 2)
    assert len(x) == 3 and [row.tolist() for row in x] == [[0, 1], [2, 3], [4, 5]] and x.tolist() == [[0, 1], [2, 3], [4, 5]]
    for attempt, message in ((len, "len()"), (iter, "iteration over a 0-d tensor")):
        with pytest.raises(TypeError, match=message.replace("(", r"\(").replace(")", r"\)")):
            attempt(torch.tensor(1))
    first, second, third = x
    assert third.tolist() == [4, 5] and torch.tensor(3).tolist() == 3 and torch.zeros(2, 0).tolist() == [[], []]
    assert reversed(x)[0].tolist() == [4, 5]
    assert 3 in x and 9 not in x
    with pytest.raises(RuntimeError, match="__contains__"):
        assert "text" in x


@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 4), (1, 1, 1), (2, 0), (0, 2), (), (4, 1), (300,), (20, 20)])
def test_lists_of_few_and_of_many(shape):
    for dtype in (np.float32, np.int64, np.bool_):
        array = (np.arange(int(np.prod(shape))) % 3).astype(dtype).reshape(shape)
        found = torch.tensor(array).tolist()
        assert found == array.tolist()
        assert not shape or type(array.tolist()) is type(found)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("count", [1, 511, 512, 513, 200_000])
def test_equal_sees_any_element(dtype, count):
    kind = getattr(torch, dtype)
    x = torch.zeros(count, dtype=kind)
    assert torch.equal(x, x.clone())
    for place in {0, count // 2, count - 1}:
        y = x.clone()
        y[place] = 1j if kind.is_complex else 1
        assert not torch.equal(x, y) and not torch.equal(y, x)
    assert not torch.equal(x, torch.zeros(count + 1, dtype=kind)) and not torch.equal(x, x[None])
    if kind.is_floating_point:
        assert torch.equal(x, -x)                        # 0 and -0
        y[0] = float("nan")
        assert not torch.equal(y, y)


def test_an_array_over_a_tensor_keeps_its_memory():
    for make in (lambda: torch.arange(40.0), lambda: torch.arange(40.0).reshape(5, 8).t(), lambda: torch.arange(100_000.0)):
        arrays = [make().numpy() for _ in range(50)]
        expected = make().tolist()
        for _ in range(50):
            make().add_(1000)
        assert all(array.tolist() == expected for array in arrays)
        array = arrays[0]
        again = torch.from_numpy(array)
        assert again.untyped_storage() is torch.from_numpy(array[1:]).untyped_storage()
        again.mul_(2)
        assert array.ravel()[-1] == 2 * np.ravel(expected)[-1]


def test_equality_hash_and_format():
    x, y = torch.ones(2), torch.ones(2)
    assert (x == y).tolist() == [True, True] and (x != y).tolist() == [False, False]
    assert (x == None) is False and (x != "text") is True                       # noqa: E711
    assert len({x, y}) == 2 and {x: 1}[x] == 1 and hash(x) == hash(x)
    assert any(x is e for e in [y, x]) and [x].index(x) == 0
    assert f"{torch.tensor(3.14159):.2f}" == "3.14" and f"{torch.tensor(7):03d}" == "007" and "tensor" in f"{x}"
    assert f"{torch.tensor(1.5)}" == "1.5" and str(torch.tensor(1.5)) == "tensor(1.5000)"
    with pytest.raises(TypeError):
        f"{x:.2f}"


def test_attributes_and_queries():
    x = torch.zeros(2, 3, dtype=torch.int16)
    x.anything = 1
    assert x.anything == 1 and x.dim() == x.ndim == x.ndimension() == 2 and x.numel() == x.nelement() == x.size().numel() == 6
    assert x.size() == torch.Size([2, 3]) and x.size(-1) == 3 and x.stride(0) == 3 and x.itemsize == 2 and x.nbytes == 12
    assert str(x.device) == "cpu" and x.layout is not None and not x.is_cuda and x.get_device() == -1 and x.is_signed()
    assert repr(x.shape) == "torch.Size([2, 3])" and isinstance(x.shape[1:], torch.Size) and x.shape + (4,) == (2, 3, 4)
    with pytest.raises(AttributeError):
        x.no_such_method
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.size(2)
    assert isinstance(x, torch.Tensor) and torch.is_tensor(x) and not torch.is_tensor(1)


def test_data_detach_and_versions():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    assert y.detach().data_ptr() == y.data_ptr() and not y.detach().requires_grad and y.requires_grad
    assert x._version == 0
    x.data.add_(1)
    assert x._version == 0 and x.tolist() == [2.0] * 3                           # .data hides its writes
    x.detach().add_(1)
    assert x._version == 1
    z = torch.zeros(2)
    z[0].add_(5)
    assert z._version == 1 and z.view(2)._version == 1
    x.data = torch.zeros(5)
    assert x.shape == (5,) and x.requires_grad
    with pytest.raises(TypeError, match="data has to be a tensor"):
        x.data = 3


ARRAY_SIGNS = ("add sub mul truediv floordiv mod pow lt le gt ge eq and_ or_ xor lshift rshift matmul "
               "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift").split()


@pytest.mark.parametrize("sign", ARRAY_SIGNS)
def test_operators_beside_arrays(sign):
    """What PyTorch does: with an array on the right NumPy computes, by its rules, and nothing is written in place; with one on the left,
    and for an order, a TypeError, but for quotients and ==. (`!=` is elementwise too, where PyTorch gives True.)"""
    theirs = pytest.importorskip("torch")

    def outcome(library, kind, array_kind, flipped, shape):
        x = library.tensor([[1, 2], [3, 1]], dtype=getattr(library, kind))
        array = np.full(shape, 2, array_kind)
        try:
            made = getattr(operator, sign)(*((array, x) if flipped else (x, array)))
        except (TypeError, ValueError, RuntimeError) as error:
            return type(error), x.tolist()
        return type(made).__name__, str(made.dtype), made.tolist(), x.tolist()

    for kind, array_kind, flipped, shape in itertools.product(
            ("float32", "int64", "bool", "bfloat16"), ("float32", "float64", "int64", "bool"), (False, True), ((2, 2), (2,), ())):
        wanted = outcome(theirs, kind, array_kind, flipped, shape)
        assert outcome(torch, kind, array_kind, flipped, shape) == wanted, (kind, array_kind, flipped, shape)


def test_arrays_beside_what_is_recorded():
    x, array = torch.ones(2, requires_grad=True), np.array([2.0, 3.0], np.float32)
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        x * array
    assert (torch.tensor([1, 2]) == np.array([1, 3])).tolist() == [True, False]
    assert (torch.tensor([1, 2]) != np.array([1, 3])).tolist() == [False, True]
    loss = torch.mul(x, array).sum()                     # by name it is a tensor's copy
    array[:] = 0
    loss.backward()
    assert x.grad.tolist() == [2.0, 3.0]


# ---------------------------------------------------------------- the order in memory of what is made of what has gaps
@pytest.mark.parametrize("name", ["clone", "empty_like", "ones_like", "to", "plus"])
def test_what_has_gaps_keeps_its_order(torch, name):
    make = {"clone": lambda x: x.clone(), "empty_like": torch.empty_like, "ones_like": torch.ones_like,
            "to": lambda x: x.to(torch.float64), "plus": lambda x: x + 1}[name]
    base = torch.zeros(8, 6, 10)
    assert make(base[::2, :, ::2].mT).stride() == (30, 1, 5)
    assert make(base[::2, :, ::2].permute(2, 0, 1)).stride() == (1, 30, 5)
    assert make(torch.zeros(3, 1).expand(3, 4).t()).stride() == (3, 1)


def test_a_memory_format_is_a_copy_where_strides_leave_it_open(torch):
    x, y = torch.zeros(1, 1, 1, 1), torch.zeros(2, 3, 4, 5)
    last = y.to(memory_format=torch.channels_last)
    same = [a.to(memory_format=m).data_ptr() == a.data_ptr() for a in (x, y, last) for m in (torch.channels_last, torch.contiguous_format)]
    assert same == [False, True, False, True, True, False]


def test_angles_of_complex_numbers_lie_row_major(torch):
    assert torch.angle(torch.zeros(2, 3, dtype=torch.complex64).t()).stride() == (2, 1)


@pytest.mark.parametrize("order", ["reversed", "stepped", "contiguous"])
def test_variances_of_what_lies_in_steps_are_as_precise(order):
    """Halves, whose deviations round the same way each time when they are summed one after another in float32."""
    halves = np.random.default_rng(1).integers(-4, 5, 512).astype(np.float32) / 2
    array = {"reversed": halves[::-1], "stepped": np.repeat(halves, 2)[::2], "contiguous": halves}[order]
    assert torch.from_numpy(array).var().item() == pytest.approx(array.astype(float).var(ddof=1), rel=3e-7)
