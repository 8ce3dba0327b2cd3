"""Sorting, medians, distinct values, counts, running sums and products, against NumPy."""
import numpy as np
import pytest

from numtorch import dtypes
from numtorch.autograd.api import grad as gradients
from numtorch.exchange import make as tensor
from numtorch.ops import index, operators, order  # noqa: F401  (they attach methods to tensors)
from numtorch.ops.creation import arange, ones, zeros

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


ORDERED = [lambda x: x.sort(0).values, lambda x: x.sort(1, True)[0], lambda x: x.topk(2, 1)[0], lambda x: x.kthvalue(2, 0)[0],
           lambda x: x.median(1).values]
RUNNING = [lambda x: x.cumsum(0), lambda x: x.cumsum(-1), lambda x: x.cumprod(0), lambda x: x.cumprod(1)]
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


@pytest.mark.parametrize("shape, dim", SHAPES)
@pytest.mark.parametrize("kind", ["float64", "int32", "bool"])
def test_cumsum_and_cumprod(shape, dim, kind):
    array = sample(shape, kind)
    for ours, numpys in (("cumsum", np.cumsum), ("cumprod", np.cumprod)):
        out = getattr(tensor(array), ours)(dim)
        expected = numpys(array, dim, dtype=np.float64 if kind == "float64" else np.int64)
        assert out.dtype is (dtypes.float64 if kind == "float64" else dtypes.int64)
        np.testing.assert_allclose(out.numpy(), expected)
    assert ones(3).cumsum(0, dtype=dtypes.float64).dtype is dtypes.float64
    half = ones(5, dtype=dtypes.bfloat16).cumsum(0)
    assert half.dtype is dtypes.bfloat16 and half.tolist() == [1, 2, 3, 4, 5]


def test_median():
    for shape, dim in [((7,), 0), ((4, 6), 1), ((5, 6), 0)]:
        array = RNG.normal(size=shape)
        middle = np.take(np.sort(array, dim), (shape[dim] - 1) // 2, dim)
        values, indices = tensor(array).median(dim)
        np.testing.assert_array_equal(values.numpy(), middle)
        np.testing.assert_array_equal(np.take_along_axis(array, np.expand_dims(indices.numpy(), dim), dim).squeeze(dim), middle)
        assert tensor(array).median(dim, keepdim=True).values.ndim == len(shape)
        assert tensor(array).median().item() == np.sort(array.ravel())[(array.size - 1) // 2]
    x = tensor([[1.0, float("nan"), 3.0, 2.0], [4.0, 1.0, 2.0, 3.0]])
    assert np.isnan(x.median(1).values.tolist()[0]) and x.median(1).values.tolist()[1] == 2
    assert x.nanmedian(1).values.tolist() == [2, 2] and x.nanmedian().item() == 2
    assert tensor([3, 1, 2]).median().item() == 2
    assert np.isnan(zeros(0).median().item())


@pytest.mark.parametrize("array", [np.array([3, 1, 1, 2, 3, 3]), np.array([[1.5, 0.0], [-0.0, 1.5]]), np.zeros(0), np.array([7]),
                                   RNG.integers(0, 50, 999), np.array([True, False, True])], ids=range(6))
def test_unique(array):
    values, inverse, counts = tensor(array).unique(return_inverse=True, return_counts=True)
    expected = np.unique(array, return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(values.numpy(), expected[0])
    np.testing.assert_array_equal(inverse.numpy(), expected[1].reshape(array.shape))
    np.testing.assert_array_equal(counts.numpy(), expected[2])
    np.testing.assert_array_equal(tensor(array).unique().numpy(), expected[0])


def test_unique_slices():
    array = RNG.integers(0, 2, (12, 3))
    for dim, a in ((0, array), (1, array.T), (-1, array.T)):
        values, inverse, counts = tensor(np.ascontiguousarray(a)).unique(return_inverse=True, return_counts=True, dim=dim)
        expected = np.unique(a, return_inverse=True, return_counts=True, axis=dim)
        np.testing.assert_array_equal(values.numpy(), expected[0])
        np.testing.assert_array_equal(inverse.numpy(), expected[1].ravel())
        np.testing.assert_array_equal(counts.numpy(), expected[2])
    assert len(tensor([1.0, float("nan"), float("nan")]).unique().tolist()) == 3


def test_unique_consecutive():
    x = tensor([1, 1, 2, 2, 2, 1])
    values, inverse, counts = x.unique_consecutive(True, True)
    assert values.tolist() == [1, 2, 1] and inverse.tolist() == [0, 0, 1, 1, 1, 2] and counts.tolist() == [2, 3, 1]
    assert tensor([[1, 2], [1, 2], [0, 2]]).unique_consecutive(dim=0).tolist() == [[1, 2], [0, 2]]


def test_bincount():
    array, weights = RNG.integers(0, 9, 50), RNG.normal(size=50)
    np.testing.assert_array_equal(tensor(array).bincount().numpy(), np.bincount(array))
    np.testing.assert_allclose(tensor(array).bincount(tensor(weights), 20).numpy(), np.bincount(array, weights, 20))
    assert tensor(array).bincount(tensor(weights.astype(np.float32))).dtype is dtypes.float32
    assert zeros(0, dtype=dtypes.int64).bincount(minlength=2).tolist() == [0, 0]


def test_out():
    values, indices = zeros(3), zeros(3, dtype=dtypes.int64)
    order.sort(tensor([3.0, 1.0, 2.0]), out=(values, indices))
    assert values.tolist() == [1, 2, 3] and indices.tolist() == [1, 2, 0]
    assert order.cumsum(arange(3), 0, out=indices) is indices and indices.tolist() == [0, 1, 3]


ERRORS = [
    (lambda: ones(2).sort(dim=3), IndexError, "Dimension out of range"),
    (lambda: ones(3).topk(4), RuntimeError, "selected index k out of range"),
    (lambda: ones(3).topk(-1), RuntimeError, "selected index k out of range"),
    (lambda: ones(3, dtype=dtypes.complex64).sort(), RuntimeError, "does not support complex"),
    (lambda: ones(3).kthvalue(0), RuntimeError, "selected number k out of range for dimension 0"),
    (lambda: ones(2, 0).median(1), IndexError, "non-zero size"),
    (lambda: ones(3).cumsum(1), IndexError, "Dimension out of range"),
    (lambda: tensor([-1]).bincount(), RuntimeError, "1-d non-negative integral"),
    (lambda: ones(2).bincount(), RuntimeError, "1-d non-negative integral"),
    (lambda: tensor([1]).bincount(ones(2)), RuntimeError, "same length"),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    call, kind, text = ERRORS[number]
    with pytest.raises(kind, match=text):
        call()
