"""Distinct values, modes, counts and membership, against NumPy."""
import numpy as np
import pytest

from numtorch import dtypes
from numtorch.exchange.construction import make as tensor
from numtorch.ops.creation.fill import ones, zeros
from numtorch.ops.sort import unique

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("array", [np.array([3, 1, 1, 2, 3, 3]), np.array([[1.5, 0.0], [-0.0, 1.5]]), np.zeros(0), np.array([7]),
                                   RNG.integers(0, 50, 999), np.array([True, False, True]), RNG.integers(3, 90, 2001).astype(np.uint8),
                                   RNG.integers(-128, 128, (40, 53)).astype(np.int8).T, RNG.random(3000) < 0.5,
                                   np.full(1000, -1, np.int8)], ids=range(10))
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


def test_unique_of_no_rows():
    none = tensor(np.zeros((0, 3)))
    values, inverse, counts = none.unique(return_inverse=True, return_counts=True, dim=0)
    assert values.shape == (0, 3) and inverse.shape == counts.shape == (0,)
    assert none.t().unique(dim=1).shape == (3, 0) and none.unique_consecutive(dim=0).shape == (0, 3)


def test_bincount():
    array, weights = RNG.integers(0, 9, 50), RNG.normal(size=50)
    np.testing.assert_array_equal(tensor(array).bincount().numpy(), np.bincount(array))
    np.testing.assert_allclose(tensor(array).bincount(tensor(weights), 20).numpy(), np.bincount(array, weights, 20))
    assert tensor(array).bincount(tensor(weights.astype(np.float32))).dtype is dtypes.float32
    assert zeros(0, dtype=dtypes.int64).bincount(minlength=2).tolist() == [0, 0]
    for kind in ("uint8", "int32"):
        assert tensor(array.astype(kind)).bincount(minlength=12).tolist() == np.bincount(array, minlength=12).tolist()


def test_mode():
    array = RNG.integers(0, 4, (6, 9)).astype(float)
    for dim in (0, 1):
        values, indices = tensor(array).mode(dim)
        for value, place, row in zip(values.tolist(), indices.tolist(), np.moveaxis(array, dim, -1)):
            counts = np.bincount(row.astype(int))
            assert value == counts.argmax() and place == np.flatnonzero(row == value)[-1]
        assert tensor(array).mode(dim, keepdim=True).indices.ndim == 2
    assert tensor(4).mode().values.item() == 4
    nan = float("nan")
    for row, value, place in (([nan, 2.0, nan, 2.0, nan], 2.0, 3), ([nan, 1.0], 1.0, 1), ([1.0, nan, nan], 1.0, 0)):
        assert [found.item() for found in tensor(row).mode()] == [value, place]
    values, indices = tensor([nan, nan]).mode()
    assert np.isnan(values.item()) and indices.item() in (0, 1)


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_histograms(kind):
    array = RNG.normal(size=(30, 40)).astype(kind)
    array[0, 0] = np.nan
    finite = array[np.isfinite(array)]
    expected, edges = np.histogram(finite, 7, (-1, 2))
    assert np.abs(tensor(array).histc(7, -1, 2).numpy() - expected).sum() <= 2       # a value beside an edge may round
    found = tensor(finite).histc(5)
    assert found.numpy().sum() == finite.size and found.shape == (5,) and found.numpy()[-1] >= 1
    hist, bin_edges = tensor(finite).histogram(7, range=(-1, 2))
    np.testing.assert_allclose(bin_edges.numpy(), edges, 1e-6, 1e-6)
    assert np.abs(hist.numpy() - expected).sum() <= 2
    own = np.array([-1, 0, 0.5, 3], kind)
    weight = RNG.random(finite.size).astype(kind)
    hist, _ = tensor(finite).histogram(tensor(own), weight=tensor(weight), density=True)
    np.testing.assert_allclose(hist.numpy(), np.histogram(finite, own, weights=weight, density=True)[0], 1e-4)


def test_isin():
    array, tests = RNG.integers(0, 30, (5, 6)), RNG.integers(0, 30, 9)
    np.testing.assert_array_equal(unique.isin(tensor(array), tensor(tests)).numpy(), np.isin(array, tests))
    np.testing.assert_array_equal(unique.isin(tensor(array), tensor(tests), invert=True).numpy(), ~np.isin(array, tests))
    assert unique.isin(tensor(array), 3).numpy().tolist() == (array == 3).tolist()
    assert unique.isin(2, tensor([1.5, 2.0])).item() and not unique.isin(tensor([1]), zeros(0)).any()


ERRORS = [
    (lambda: tensor([-1]).bincount(), RuntimeError, "1-d non-negative integral"),
    (lambda: ones(2).bincount(), RuntimeError, "1-d non-negative integral"),
    (lambda: tensor([1]).bincount(ones(2)), RuntimeError, "same length"),
    (lambda: tensor([1]).bincount(minlength=-1), RuntimeError, "minlength"),
    (lambda: ones(2).histc(0), RuntimeError, "bins must be > 0"),
    (lambda: ones(2).histc(2, 3, 1), RuntimeError, "max must be larger than min"),
    (lambda: tensor([np.inf]).histc(2), RuntimeError, "not finite"),
    (lambda: tensor([1]).histc(2), NotImplementedError, "not implemented"),
    (lambda: zeros(2, 0).mode(1), IndexError, "non-zero size"),
    (lambda: ones(3, dtype=dtypes.complex64).unique(), NotImplementedError, "no order"),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    call, kind, text = ERRORS[number]
    with pytest.raises(kind, match=text):
        call()
