"""Running sums, products, extremes and log-sums, differences and areas, against NumPy."""
import numpy as np
import pytest
from test_order import RNG, SHAPES, sample

import numtorch
from numtorch import dtypes
from numtorch.autograd import gradcheck, gradgradcheck
from numtorch.exchange.construction import make as tensor
from numtorch.ops.creation.fill import ones
from numtorch.ops.sort import scan


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
    running = tensor(sample((4,), "float64"))
    expected = running.cumsum(0)
    assert running.cumsum_(0) is running and running.tolist() == expected.tolist()


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "nan", "bool"])
@pytest.mark.parametrize("shape, dim", [*SHAPES, ((2, 300, 3), 1)])   # few columns, in more than one block
def test_cummax_and_cummin(shape, dim, kind):
    array = sample(shape, kind)
    for name, ufunc, reaches in (("cummax", np.maximum, np.greater_equal), ("cummin", np.minimum, np.less_equal)):
        values, indices = getattr(tensor(array), name)(dim)
        expected = ufunc.accumulate(array, dim)
        np.testing.assert_array_equal(values.numpy(), expected)
        if array.size:                                   # the last place that reaches the extreme so far
            places = np.expand_dims(np.arange(shape[dim]), [d for d in range(len(shape)) if d != dim % len(shape)])
            hit = np.isnan(array) | reaches(array, expected) if kind == "nan" else reaches(array, expected)
            np.testing.assert_array_equal(indices.numpy(), np.maximum.accumulate(np.where(hit, places, 0), dim))
    assert tensor(3.0).cummax(0).indices.item() == 0


@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("shape, dim", [*SHAPES, ((2, 9, 300), 1)])
def test_logcumsumexp(shape, dim, kind):
    array = RNG.normal(size=shape).astype(kind) * 300
    if array.size:
        array[RNG.random(shape) < 0.2] = -np.inf
    expected = np.logaddexp.accumulate(array.astype(np.float64), dim)
    np.testing.assert_allclose(tensor(array).logcumsumexp(dim).numpy(), expected, 2e-6 if kind == "float32" else 1e-13)
    special = tensor([-np.inf, 1.0, np.inf, 2.0, np.nan, 3.0]).logcumsumexp(0).tolist()
    assert special[:4] == [-np.inf, 1, np.inf, np.inf] and np.isnan(special[4:]).all()


def test_log_sums_of_long_rows():
    """Blocks of near elements, of far ones, and what is no number in the middle of them."""
    x = RNG.normal(size=(6, 700)) * [[1], [3], [40], [1], [1], [1]]
    x[3, 200], x[4, 130], x[5, [0, 300]] = np.inf, np.nan, -np.inf
    for rows, transposed in ((x, tensor(x)), (x.astype(np.float32), tensor(x.astype(np.float32)))):
        with np.errstate(invalid="ignore"):
            expected = np.logaddexp.accumulate(rows, 1, np.float64)
        expected[3, 200:] = np.inf
        np.testing.assert_allclose(transposed.logcumsumexp(1).numpy(), expected, 20 * np.finfo(rows.dtype).eps, 20 * np.finfo(rows.dtype).eps)


def test_complex_log_sums():
    rng = np.random.default_rng(3)
    z = rng.standard_normal((3, 6)) + 1j * rng.standard_normal((3, 6))
    x = numtorch.tensor(z, requires_grad=True)
    for dim in (0, 1):
        found = numtorch.logcumsumexp(x, dim)
        np.testing.assert_allclose(np.exp(found.detach().numpy()), np.cumsum(np.exp(z), dim), rtol=1e-12)
    assert gradcheck(lambda x: x.logcumsumexp(1), (x,), fast_mode=True)
    far = numtorch.logcumsumexp(numtorch.tensor([complex(-np.inf, 0), 800 + 1j, 800 + 1j]), 0)     # neither NaN nor infinite
    assert far[0].isinf() and abs(far[2].item() - (800 + np.log(2) + 1j)) < 1e-4


@pytest.mark.parametrize("zeros", [[], [2], [0, 5], [4, 5]])
def test_gradients_of_products_with_zeros(zeros):
    x = tensor(RNG.uniform(0.5, 1.5, (7, 2)))
    x[zeros, 1] = 0.0
    x.requires_grad_()
    assert gradcheck(lambda x: x.cumprod(0), (x,)) and gradgradcheck(lambda x: x.cumprod(0), (x,))


def test_neighbours():
    array = RNG.normal(size=(4, 5))
    for n in (0, 1, 3, 6):
        for dim in (0, 1):
            np.testing.assert_allclose(tensor(array).diff(n, dim).numpy(), np.diff(array, n, dim))
    ends = RNG.normal(size=(4, 2))
    found = scan.diff(tensor(array), prepend=tensor(ends), append=tensor(ends))
    np.testing.assert_allclose(found.numpy(), np.diff(array, prepend=ends, append=ends))
    assert tensor([True, True, False]).diff().tolist() == [False, True]
    x = np.sort(RNG.normal(size=5))
    area = ((array[:, 1:] + array[:, :-1]) / 2 * np.diff(x))
    np.testing.assert_allclose(scan.trapezoid(tensor(array), tensor(x)).numpy(), area.sum(1))
    np.testing.assert_allclose(scan.cumulative_trapezoid(tensor(array), tensor(x)).numpy(), area.cumsum(1))
    np.testing.assert_allclose(scan.trapezoid(tensor(array), dx=0.5, dim=0).numpy(), (array[1:] + array[:-1]).sum(0) / 4)


ERRORS = [
    (lambda: ones(3, dtype=dtypes.int64).logcumsumexp(0), NotImplementedError, "not implemented for"),
    (lambda: ones(3).cummax(1), IndexError, "Dimension out of range"),
    (lambda: ones(3, dtype=dtypes.complex64).cummin(0), NotImplementedError, "no order"),
    (lambda: tensor(1.0).diff(), RuntimeError, "at least one-dimensional"),
    (lambda: ones(3).diff(-1), RuntimeError, "non-negative"),
    (lambda: scan.trapezoid(ones(3), ones(2)), RuntimeError, "one `x` value"),
    (lambda: ones(3).cumsum_(0, dtype=dtypes.float64), RuntimeError, "should match"),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    call, kind, text = ERRORS[number]
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"])
def test_the_dimension_has_two_names(name):
    x = numtorch.tensor([[3.0, 1.0], [2.0, 4.0]])
    for found in (getattr(numtorch, name)(x, axis=1), getattr(x, name)(dim=1)):
        for a, b in zip(found, getattr(numtorch, name)(x, 1)):
            assert numtorch.equal(a, b)
    with pytest.raises(TypeError, match="missing the argument 'dim'"):
        getattr(x, name)()
