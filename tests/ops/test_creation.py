"""New tensors: filled, counted, like others, against NumPy and PyTorch's rules for dtypes."""
import math

import numpy as np
import pytest

import numtorch as torch


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (2, 0, 3)])
def test_filled(shape):
    for made, value in ((torch.zeros(shape), 0), (torch.ones(shape), 1), (torch.full(shape, 2.5), 2.5),
    (torch.zeros(*shape) if shape else torch.zeros(()), 0)):
        assert made.shape == shape and made.dtype is torch.float32 and made.is_contiguous()
        np.testing.assert_array_equal(made.numpy(), np.full(shape, value, np.float32))
    assert torch.empty(shape,
    dtype=torch.int8).shape == shape and torch.zeros(list(shape)).shape == shape and torch.ones(torch.Size(shape)).shape == shape
    for dtype in ("bool", "uint8", "int64", "float16", "float64", "complex64"):
        np.testing.assert_array_equal(torch.ones(shape, dtype=getattr(torch, dtype)).numpy(), np.ones(shape, dtype))


def test_full_takes_the_kind_of_its_value():
    assert torch.full((2,), True).dtype is torch.bool and torch.full((2,), 3).dtype is torch.int64 and torch.full((2,),
    3.0).dtype is torch.float32
    assert torch.full((2,), 1j).dtype is torch.complex64 and torch.full((2,), 7, dtype=torch.uint8).tolist() == [7, 7]
    assert torch.full((2,), torch.tensor(4)).tolist() == [4, 4] and torch.scalar_tensor(3).dtype is torch.float32
    assert torch.full((2,), float("nan")).isnan().all() and torch.full((1,), -0.0).signbit().item()
    assert torch.full([], 5).item() == 5


def test_like():
    source = torch.ones(3, 2, dtype=torch.int16).t()
    for made, value in ((torch.zeros_like(source), 0), (torch.ones_like(source), 1), (torch.full_like(source, 7), 7)):
        assert made.dtype is torch.int16 and made.stride() == source.stride() and made.tolist() == [[value] * 3] * 2
    assert torch.zeros_like(source, dtype=torch.float64).dtype is torch.float64 and torch.empty_like(source).shape == (2, 3)
    assert torch.ones_like(torch.ones(1, 3).expand(2, 3)).is_contiguous()
    x = torch.ones(2, dtype=torch.float64)
    for made in (x.new_zeros(3), x.new_ones(2, 2), x.new_full((2,), 3), x.new_tensor([1, 2]), x.new_empty((4,))):
        assert made.dtype is torch.float64
    assert x.new_zeros(3, dtype=torch.int8).dtype is torch.int8 and torch.zeros(2, requires_grad=True).requires_grad


@pytest.mark.parametrize("arguments", [(5,), (1, 5), (0, 10, 3), (5, 0, -1), (0, 1, 0.3), (1.0, 2.0, 0.25), (3, 3), (2.5,), (-3, 4,
2), (10, 0, -3), (0.5, 4)], ids=str)
def test_arange(arguments):
    found, wanted = torch.arange(*arguments), np.arange(*arguments)
    assert found.dtype is (torch.int64 if wanted.dtype.kind == "i" else torch.float32)
    np.testing.assert_allclose(found.numpy(), wanted.astype(found.numpy().dtype), rtol=1e-6)
    assert torch.arange(*arguments, dtype=torch.float64).dtype is torch.float64


def test_ranges():
    assert torch.range(0, 4).tolist() == [0, 1, 2, 3, 4] and torch.range(1, 2, 0.5).tolist() == [1, 1.5, 2]
    for start, end, steps in ((0, 1, 5), (3, -2, 7), (2, 2, 3), (0, 1, 1), (0, 1, 0), (-1e3, 1e3, 101)):
        np.testing.assert_allclose(torch.linspace(start, end, steps).numpy(), np.linspace(start, end, steps), rtol=1e-6, atol=1e-6)
        if steps and abs(end) < 10:
            np.testing.assert_allclose(torch.logspace(start, end, steps).numpy(), np.logspace(start, end, steps), rtol=1e-5)
    assert torch.linspace(0, 10, 5, dtype=torch.int64).tolist() == [0, 2, 5, 7, 10]
    powers = torch.logspace(-22, 22, 45, dtype=torch.float64).tolist()
    assert powers == [float(f"1e{k}") for k in range(-22, 23)]
    assert torch.logspace(0, 3, 4, base=2).tolist() == [1, 2, 4, 8] and torch.arange(torch.tensor(3)).tolist() == [0, 1, 2]
    assert torch.eye(3).tolist() == np.eye(3).tolist() and torch.eye(2, 3, dtype=torch.int64).tolist() == np.eye(2,
    3).tolist() and torch.eye(0).shape == (0, 0)


def test_as_tensor_shares():
    array = np.ones(3)
    assert torch.as_tensor(array).data_ptr() == array.ctypes.data and torch.as_tensor(array,
    dtype=torch.float32).dtype is torch.float32
    x = torch.ones(2)
    assert torch.as_tensor(x) is x and torch.asarray([1, 2]).dtype is torch.int64


def test_closeness():
    for values, others, wanted in (([1.0, 2.0], [1.0 + 1e-9, 2.1], [True, False]), ([True, False], [True, True], [True, False]), ([1, 5], [1, 6], [True, False]),
                                   ([float("inf"), float("nan")], [float("inf"), float("nan")], [True, False])):
        x, y = torch.tensor(values), torch.tensor(others)
        assert torch.isclose(x, y).tolist() == wanted and torch.allclose(x, y) == all(wanted)
    assert torch.isclose(torch.tensor(float("nan")), torch.tensor(float("nan")), equal_nan=True).item()
    assert torch.equal(torch.ones(2), torch.ones(2)) and not torch.equal(torch.ones(2), torch.ones(3))
    assert torch.polygamma(1, torch.tensor(1.0)).item() == pytest.approx(math.pi ** 2 / 6)


def test_out():
    for make, wanted in ((lambda out: torch.zeros(2, out=out), [0, 0]), (lambda out: torch.ones(2, out=out), [1, 1]),
    (lambda out: torch.full((2,), 3.0, out=out), [3, 3]),
                         (lambda out: torch.arange(2, out=out), [0, 1]), (lambda out: torch.linspace(1, 2, 2, out=out), [1, 2])):
        out = torch.full((2,), 9.0)
        assert make(out) is out and out.tolist() == wanted


@pytest.mark.parametrize("make, wanted", [
    (lambda out: torch.arange(4, out=out), [0, 1, 2, 3]), (lambda out: torch.range(0, 3, out=out), [0, 1, 2, 3]),
    (lambda out: torch.linspace(0, 3, 4, out=out), [0, 1, 2, 3]), (lambda out: torch.logspace(0, 3, 4, base=2, out=out), [1, 2, 4, 8]),
])
def test_ranges_fill_an_out_of_as_many_elements_in_its_shape(make, wanted):
    x = torch.zeros(2, 3)
    make(x.narrow(1, 1, 2))
    assert x.tolist() == [[0, *wanted[:2]], [0, *wanted[2:]]]


@pytest.mark.parametrize("attempt, error, message", [
    (lambda: torch.zeros(-1), RuntimeError, "negative dimension -1"), (lambda: torch.empty(2, -3), RuntimeError,
    "negative dimension"), (lambda: torch.zeros("a"), TypeError, None),
    (lambda: torch.ones(2.5), TypeError, "expected integers"), (lambda: torch.arange(0, 5, 0), RuntimeError,
    "step must be nonzero"),
    (lambda: torch.arange(0, 5, -1), RuntimeError, "inconsistent with step sign"), (lambda: torch.linspace(0, 1, -1), RuntimeError,
    "non-negative"),
    (lambda: torch.eye(-1), RuntimeError, "greater or equal to 0"), (lambda: torch.full((2,), "a"), TypeError, None),
    (lambda: torch.zeros(2, dtype="float32"), TypeError, "dtype"),
    (lambda: torch.zeros(2, device="nowhere"), RuntimeError, "device"), (lambda: torch.zeros(2, dtype=torch.int8,
    requires_grad=True), RuntimeError, "floating point and complex"),
    (lambda: torch.arange(math.inf), (RuntimeError, OverflowError), None), (lambda: torch.zeros(1 << 60), (RuntimeError,
    MemoryError), None),
], ids=lambda v: v if isinstance(v, str) else "")
def test_messages(attempt, error, message):
    with pytest.raises(error, match=message):
        attempt()


@pytest.mark.parametrize("make", [lambda: torch.zeros(5), lambda: torch.ones(5), lambda: torch.full((5,), 2.), lambda: torch.empty(5),
                                  lambda: torch.arange(5), lambda: torch.tensor([1., 2., 3., 4., 5.]), lambda: torch.zeros_like(
                                      torch.ones(5))])
def test_a_new_tensor_counts_writes_from_zero(make):
    for _ in range(4):                                   # memory that was written to before comes again
        x = make()
        assert x._version == 0
        x.add_(1)
        assert x._version == 1
        del x


def test_shapes_of_floats_are_refused_after_the_same_shape_of_ints():
    torch.zeros(3), torch.ones(6).view(3, 2)
    with pytest.raises(TypeError, match="integers"):
        torch.zeros(3.0)
    with pytest.raises(TypeError, match="integers"):
        torch.ones(6).view(3.0, 2)


@pytest.mark.parametrize("value", [0.0, -0.0, 0, False, 0j, complex(-0.0, 0.0), 1, True, 1.0, float("nan"), -(2 ** 63), 2 ** 63 - 1])
def test_numbers_that_are_equal_stay_apart(value):
    for _ in range(2):
        found = torch.full((2,), value)[0].item()
        assert type(found) is type(value) and (repr(found) == repr(value))


@pytest.mark.parametrize("data, dtype, values", [
    ([1., 2.], torch.float32, [1., 2.]), ([[1, 2], [3, 4]], torch.int64, [[1, 2], [3, 4]]), ([True, False], torch.bool, [True, False]),
    ([1, 2.5], torch.float32, [1., 2.5]), ([True, 2], torch.int64, [1, 2]), ([[]], torch.float32, [[]]), ([1e39], torch.float32, [math.inf]),
    ((1, 2), torch.int64, [1, 2]), ([[[1.]], [[2.]]], torch.float32, [[[1.]], [[2.]]]), (True, torch.bool, True)])
def test_tensor_of_lists(data, dtype, values):
    found = torch.tensor(data)
    assert found.dtype is dtype and found.tolist() == values
    assert torch.tensor(data, dtype=torch.float64).dtype is torch.float64


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("steps", [0, 1, 2, 5, 1000])
def test_counted_numbers_of_every_dtype(dtype, steps):
    kind = getattr(torch, dtype)
    counted = torch.arange(steps, dtype=kind).to(torch.float64).numpy()
    np.testing.assert_array_equal(counted, torch.tensor(np.arange(steps)).to(kind).to(torch.float64).numpy())
    spaced = torch.linspace(-3, 40, steps, dtype=kind).to(torch.float64).numpy()
    if dtype != "uint8":
        wanted = np.linspace(-3, 40, steps)
        np.testing.assert_allclose(spaced, np.trunc(wanted) if kind.category == 1 else wanted, rtol=1e-2, atol=1e-2)
    assert torch.arange(10 ** 17, 10 ** 17 + 3).tolist() == [10 ** 17, 10 ** 17 + 1, 10 ** 17 + 2]


# ---------------------------------------------------------------- memory formats
def test_memory_formats():
    x = torch.arange(24.0).reshape(1, 2, 3, 4)
    last = x.to(memory_format=torch.channels_last)
    assert last.stride() == (24, 1, 8, 2) and torch.equal(last, x)
    assert last.is_contiguous(memory_format=torch.channels_last) and not last.is_contiguous()
    assert not x.is_contiguous(memory_format=torch.channels_last)
    assert x.clone(memory_format=torch.channels_last).stride() == last.stride() == last.clone().stride()
    assert last.contiguous().stride() == x.stride() and last.contiguous(memory_format=torch.channels_last) is last
    assert torch.empty(1, 2, 3, 4, memory_format=torch.channels_last).stride() == last.stride()
    assert torch.empty_like(last, memory_format=torch.contiguous_format).stride() == x.stride()
    assert isinstance(torch.channels_last, torch.memory_format) and repr(torch.preserve_format) == "torch.preserve_format"
    with pytest.raises(RuntimeError, match="required rank 4"):
        torch.ones(2).contiguous(memory_format=torch.channels_last)


def test_layouts_are_strided():
    x = torch.ones(2)
    assert x.layout == torch.strided and isinstance(x.layout, torch.layout) and str(x.layout) == "torch.strided"
    assert torch.empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    with pytest.raises(RuntimeError, match="empty_strided"):
        torch.empty_strided((2,), (1, 2))


def test_size_by_name_and_orders_in_memory():
    assert torch.zeros(size=(2, 3)).shape == torch.rand(size=(2, 3)).shape == torch.ones(1).new_zeros(size=(2, 3)).shape == (2, 3)
    x = torch.ones(1, 2, 3, 4)
    for like in (torch.zeros_like, torch.ones_like, torch.empty_like, torch.rand_like):
        assert like(x, memory_format=torch.channels_last).is_contiguous(memory_format=torch.channels_last)


def test_asarray_shares_copies_and_records():
    x, array = torch.ones(2), np.ones(2)
    assert torch.asarray(x) is x and torch.asarray(array).data_ptr() == array.ctypes.data
    assert torch.asarray(x, copy=True) is not x and torch.asarray(array, copy=True).data_ptr() != array.ctypes.data
    for obj, arguments in (([1.0], {}), (array, {"dtype": torch.float32})):
        with pytest.raises(ValueError, match="can't alias"):
            torch.asarray(obj, copy=False, **arguments)
    assert torch.asarray([1.0], requires_grad=True).requires_grad and torch.scalar_tensor(2, requires_grad=True).requires_grad
    x.requires_grad_()
    assert not torch.asarray(x, copy=True, requires_grad=True).is_leaf


HUGE = 1 << 62


@pytest.mark.parametrize("make, message", [
    (lambda: torch.empty(HUGE), "Storage size calculation overflowed with sizes=.4611686018427387904."),
    (lambda: torch.zeros(1 << 32, 1 << 32), "Storage size calculation overflowed"),
    (lambda: torch.empty(0, HUGE, HUGE), "Stride calculation overflowed"),
    (lambda: torch.empty(1).expand(HUGE, HUGE), "numel: integer multiplication overflow"),
    (lambda: torch.empty(1).expand(HUGE).contiguous(), "Storage size calculation overflowed"),
    (lambda: torch.empty(1 << 50, dtype=torch.uint8), "can't allocate memory: you tried to allocate 1125899906842624 bytes"),
    (lambda: torch.empty(3).resize_(HUGE), "Storage size calculation overflowed"),
    (lambda: torch.arange(0, 1, 1e-300), "Storage size calculation overflowed"),
    (lambda: torch.tensor([1, 2]).repeat_interleave(torch.tensor([HUGE, HUGE])), "Storage size calculation overflowed"),
    (lambda: torch.tensor([1, 2, 3, 4]).repeat_interleave(torch.tensor([HUGE] * 4)), "Storage size calculation overflowed"),
    (lambda: torch.ones(2, 2).tril(1 << 70), "does not fit 64 bits"),
], ids=range(11))
def test_more_than_can_be_counted_or_had_raises_what_pytorch_raises(make, message):
    """Four counts of 2^62 add up to 0: the positions were written behind the end of nothing."""
    with pytest.raises(RuntimeError, match=message):
        make()


def test_what_is_filled_in_is_a_number():
    """A tensor with dimensions was read as far as the result is long; a bool as the end of a range as eight bytes."""
    for value in (torch.ones(3), torch.ones(1, 1)):
        with pytest.raises(TypeError, match="must be Number, not Tensor"):
            torch.full((120,), value)
    assert torch.full((2,), torch.tensor(3.0)).tolist() == [3, 3]
    assert torch.arange(0, True).tolist() == [0] and torch.arange(True, 3, True).tolist() == [1, 2]
