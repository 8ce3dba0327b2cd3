"""Sorting, medians, quantiles and search, against NumPy; gradients of these and of what runs along a dimension."""
import numpy as np
import pytest

import numtorch
from numtorch import dtypes
from numtorch.autograd.api import grad as gradients
from numtorch.exchange.construction import make as tensor
from numtorch.ops.creation.fill import ones, zeros
from numtorch.ops.creation.ranges import arange
from numtorch.ops.sort import order, scan, search

SHAPES = [((7,), 0), ((4, 5), 1), ((4, 5), 0), ((2, 33, 3), 1), ((3, 1, 2), 1), ((0, 3), 1), ((3, 0), 1), ((2, 100), -1)]
RNG = np.random.default_rng(0)


def sample(shape, kind):
    if kind == "nan":
        array = RNG.normal(size=shape)
        array[RNG.random(shape) < 0.2] = np.nan
        return array
    return RNG.integers(-4, 5, shape).astype(kind)


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "int8", "nan"])
@pytest.mark.parametrize("shape, dim", SHAPES)
def test_sort(shape, dim, kind):
    array = sample(shape, kind)
    x = tensor(array)
    values, indices = x.sort(dim)
    np.testing.assert_array_equal(values.numpy(), np.sort(array, dim))
    np.testing.assert_array_equal(indices.numpy(), np.argsort(array, dim, kind="stable"))
    np.testing.assert_array_equal(x.argsort(dim).numpy(), indices.numpy())
    down = x.sort(dim=dim, descending=True)
    np.testing.assert_array_equal(down.values.numpy(), np.flip(np.sort(array, dim), dim))
    np.testing.assert_array_equal(np.take_along_axis(array, down.indices.numpy(), dim), down.values.numpy())


@pytest.mark.parametrize("shape, dim", SHAPES)
def test_topk_and_kthvalue(shape, dim):
    array = sample(shape, "float32")
    x, size = tensor(array), shape[dim]
    for k in range(size + 1):
        expected = np.flip(np.sort(array, dim), dim)
        values, indices = x.topk(k, dim)
        np.testing.assert_array_equal(values.numpy(), np.take(expected, range(k), dim))
        np.testing.assert_array_equal(np.take_along_axis(array, indices.numpy(), dim), values.numpy())
        values, indices = x.topk(k, dim, largest=False)
        np.testing.assert_array_equal(values.numpy(), np.take(np.sort(array, dim), range(k), dim))
        if k:
            found = x.kthvalue(k, dim)
            np.testing.assert_array_equal(found.values.numpy(), np.take(np.sort(array, dim), k - 1, dim))
            kept = x.kthvalue(k, dim, keepdim=True)
            assert kept.values.ndim == x.ndim and kept.indices.shape == kept.values.shape


def test_topk_asks_what_it_is_given_each_time():
    x = tensor([[1.0, 5.0, 3.0]])
    for _ in range(2):
        assert x.topk(2).values.tolist() == [[5, 3]] and x.topk(2, largest=False).values.tolist() == [[1, 3]]
        assert x.t().topk(2, 0).values.tolist() == [[5], [3]] and tensor([[7.0, 2.0, 9.0]]).topk(2).indices.tolist() == [[2, 0]]
        for k, kind in ((2.0, TypeError), (4, RuntimeError)):
            with pytest.raises(kind):
                x.topk(k)


ORDERED = [lambda x: x.sort(0).values, lambda x: x.sort(1, True)[0], lambda x: x.topk(2, 1)[0], lambda x: x.kthvalue(2, 0)[0],
           lambda x: x.median(1).values, lambda x: x.median(), lambda x: x.quantile(0.3, 1), lambda x: x.nanquantile(0.6),
           lambda x: x.mode(1).values, lambda x: x.msort(), lambda x: x.cummax(1)[0], lambda x: x.cummin(0).values]
RUNNING = [lambda x: x.cumsum(0), lambda x: x.cumsum(-1), lambda x: x.cumprod(0), lambda x: x.cumprod(1), lambda x: x.diff(2, 1),
           lambda x: x.logcumsumexp(0), lambda x: x.logcumsumexp(1),
           lambda x: scan.trapezoid(x, dx=0.5), lambda x: scan.cumulative_trapezoid(x, dim=0)]
ZEROS = [(), ((0, 1),), ((1, 1), (2, 1), (1, 3))]


@pytest.mark.parametrize("call, zeros_at", [(c, ()) for c in ORDERED] + [(c, z) for c in RUNNING for z in ZEROS])
def test_gradients_along_a_direction(call, zeros_at):
    rng = np.random.default_rng(1)
    array = rng.normal(size=(3, 5))
    for place in zeros_at:
        array[place] = 0
    direction, step = rng.normal(size=array.shape), 1e-6
    x = tensor(array, requires_grad=True)
    out = call(x)
    weight = tensor(rng.normal(size=out.shape))
    grad, = gradients((out * weight).sum(), x, create_graph=True)
    sides = [(call(tensor(array + s * direction)) * weight).sum().item() for s in (step, -step)]
    np.testing.assert_allclose((grad.detach().numpy() * direction).sum(), (sides[0] - sides[1]) / (2 * step), 1e-6, 1e-8)
    if zeros_at or grad.node is None:
        return
    probe = tensor(rng.normal(size=array.shape))
    second, = gradients((grad * probe).sum() + (x * 0).sum(), x)
    sides = []
    for s in (step, -step):
        moved = tensor(array + s * direction, requires_grad=True)
        found, = gradients((call(moved) * weight).sum(), moved)
        sides.append((found * probe).sum().item())
    np.testing.assert_allclose((second.numpy() * direction).sum(), (sides[0] - sides[1]) / (2 * step), 1e-5, 1e-7)


def test_scalars():
    x = tensor(3.0, requires_grad=True)
    assert x.sort().values.shape == () and x.topk(1).indices.item() == 0 and x.kthvalue(1).values.item() == 3
    assert x.cumsum(0).shape == () and x.cumprod(-1).item() == 3 and x.median(0).indices.item() == 0
    assert gradients(x.sort().values * 2, x)[0].item() == 2


def test_median():
    for shape, dim in [((7,), 0), ((4, 6), 1), ((5, 6), 0)]:
        array = RNG.normal(size=shape)
        middle = np.take(np.sort(array, dim), (shape[dim] - 1) // 2, dim)
        values, indices = tensor(array).median(dim)
        np.testing.assert_array_equal(values.numpy(), middle)
        np.testing.assert_array_equal(np.take_along_axis(array, np.expand_dims(indices.numpy(), dim), dim).squeeze(dim), middle)
        assert tensor(array).median(dim, keepdim=True).values.ndim == len(shape)
        assert tensor(array).median().item() == np.sort(array.ravel())[(array.size - 1) // 2]
        assert tensor(array).t().median().item() == tensor(array).median().item()
    x = tensor([[1.0, float("nan"), 3.0, 2.0], [4.0, 1.0, 2.0, 3.0]])
    assert np.isnan(x.median(1).values.tolist()[0]) and x.median(1).values.tolist()[1] == 2
    assert x.nanmedian(1).values.tolist() == [2, 2] and x.nanmedian().item() == 2
    assert tensor([3, 1, 2]).median().item() == 2
    assert np.isnan(zeros(0).median().item())


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("shape, dim", [((7,), 0), ((4, 6), 1), ((5, 6), 0), ((3, 4, 5), None)])
def test_quantile(shape, dim, interpolation):
    array, qs = RNG.normal(size=shape), [0.0, 0.21, 0.5, 1.0]
    options = dict(interpolation=interpolation)
    for keepdim in (False, True):
        for q in (0.37, np.array(qs)):
            expected = np.quantile(array, q, axis=dim, keepdims=keepdim, method=interpolation)
            found = tensor(array).quantile(tensor(q) if isinstance(q, np.ndarray) else q, dim, keepdim, **options)
            np.testing.assert_allclose(found.numpy(), expected)
            assert found.shape == expected.shape
    array.ravel()[1] = np.nan
    assert np.isnan(tensor(array).quantile(0.5, dim, **options).numpy()).any()
    expected = np.nanquantile(array, 0.5, axis=dim, method=interpolation)
    np.testing.assert_allclose(tensor(array).nanquantile(0.5, dim, **options).numpy(), expected)


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "uint8", "float16"])
@pytest.mark.parametrize("right", [False, True])
def test_search(kind, right):
    edges, array = np.sort(RNG.integers(0, 9, 20)).astype(kind), RNG.integers(0, 11, (4, 5)).astype(kind)
    expected = np.searchsorted(edges, array, "right" if right else "left")
    np.testing.assert_array_equal(search.searchsorted(tensor(edges), tensor(array), right=right).numpy(), expected)
    np.testing.assert_array_equal(search.bucketize(tensor(array), tensor(edges), right=right, out_int32=True).numpy(), expected)
    assert search.bucketize(tensor(array), tensor(edges), out_int32=True).dtype is dtypes.int32
    rows = np.sort(RNG.integers(0, 9, (4, 6)), 1).astype(kind)
    found = search.searchsorted(tensor(rows), tensor(array), side="right" if right else "left")
    expected = [np.searchsorted(r, a, "right" if right else "left") for r, a in zip(rows, array)]
    np.testing.assert_array_equal(found.numpy(), expected)
    mixed = RNG.permutation(20)
    unsorted = np.empty_like(edges)
    unsorted[mixed] = edges
    found = search.searchsorted(tensor(unsorted), tensor(array), sorter=tensor(mixed), right=right)
    np.testing.assert_array_equal(found.numpy(), np.searchsorted(edges, array, "right" if right else "left"))
    assert search.searchsorted(tensor([1, 3]), 3).item() == 1


def test_nan_is_behind_everything():
    x = tensor([1.0, 2.0, float("nan")])
    assert search.searchsorted(x, x).tolist() == [0, 1, 3] and search.searchsorted(x, x, right=True).tolist() == [1, 3, 3]


def test_out():
    values, indices = zeros(3), zeros(3, dtype=dtypes.int64)
    order.sort(tensor([3.0, 1.0, 2.0]), out=(values, indices))
    assert values.tolist() == [1, 2, 3] and indices.tolist() == [1, 2, 0]
    assert scan.cumsum(arange(3), 0, out=indices) is indices and indices.tolist() == [0, 1, 3]


ERRORS = [
    (lambda: ones(2).sort(dim=3), IndexError, "Dimension out of range"),
    (lambda: ones(3).topk(4), RuntimeError, "selected index k out of range"),
    (lambda: ones(3).topk(-1), RuntimeError, "selected index k out of range"),
    (lambda: ones(3, dtype=dtypes.complex64).sort(), RuntimeError, "does not support complex"),
    (lambda: ones(3).kthvalue(0), RuntimeError, "selected number k out of range for dimension 0"),
    (lambda: ones(2, 0).median(1), IndexError, "non-zero size"),
    (lambda: ones(3).cumsum(1), IndexError, "Dimension out of range"),
    (lambda: ones(3).quantile(1.5), RuntimeError, "q must be in the range"),
    (lambda: ones(3, dtype=dtypes.int64).quantile(0.5), RuntimeError, "either float or double"),
    (lambda: zeros(0).quantile(0.5), RuntimeError, "non-empty"),
    (lambda: ones(3).quantile(0.5, interpolation="cubic"), RuntimeError, "interpolation must be one of"),
    (lambda: search.searchsorted(ones(3), ones(3), side="left", right=True), RuntimeError, "opposites"),
    (lambda: search.searchsorted(ones(2, 3), ones(3, 3)), RuntimeError, "must match"),
    (lambda: search.bucketize(ones(3), ones(3, 1)), RuntimeError, "must be 1 dimension"),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    call, kind, text = ERRORS[number]
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize("dim", [0.0, False, [0]])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "sort", "topk", "kthvalue", "median", "mode"])
def test_what_equals_a_dimension_is_none(name, dim):
    """A call with an int before it leaves a plan that such a key would find."""
    call, count = getattr(numtorch, name), (1,) if name in ("topk", "kthvalue") else ()
    call(ones(3), *count, 0)
    with pytest.raises(TypeError, match=r"'dim' must be int|expected an int"):
        call(ones(3), *count, dim)
