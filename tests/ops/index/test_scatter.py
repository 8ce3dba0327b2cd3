"""Gradients of scatter_reduce and index_reduce, put, and index_reduce against NumPy."""
import numpy as np
import pytest

import numtorch
from numtorch import dtypes
from numtorch.autograd.api import grad as gradients
from numtorch.autograd.gradcheck import gradcheck, gradgradcheck
from numtorch.exchange.construction import make as tensor
from numtorch.ops.creation.fill import ones, zeros

RNG = np.random.default_rng(0)
KEY = tensor(np.array([[0, 2, 2], [1, 0, 2]]))
UFUNCS = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_scatter_reduce_gradients(reduce, include_self):
    def call(x, source):
        return x.scatter_reduce(1, KEY, source, reduce, include_self=include_self)

    x, source = (tensor(RNG.permutation(n).reshape(s) / 7 + 0.3, requires_grad=True) for n, s in ((12, (3, 4)), (15, (3, 5))))
    assert gradcheck(call, (x, source)) and gradgradcheck(call, (x, source))
    y = x * 1
    assert y.scatter_reduce_(1, KEY, source, reduce, include_self=include_self) is y
    np.testing.assert_allclose(y.detach().numpy(), call(x, source).detach().numpy())
    for ours, expected in zip(gradients((y * y).sum(), (x, source)), gradients((call(x, source) ** 2).sum(), (x, source))):
        np.testing.assert_allclose(ours.numpy(), expected.numpy())


@pytest.mark.parametrize("zeros_at", [((0, 0),), ((0, 1), (0, 2)), ((1, 1), (0, 2))])
def test_products_with_zeros(zeros_at):
    """By finite differences, which see through the zeros that a division would stumble over."""
    start, source = RNG.uniform(1, 2, (2, 4)), RNG.uniform(1, 2, (2, 3))
    start[1, 2] = 0
    for place in zeros_at:
        source[place] = 0
    x, y = tensor(start, requires_grad=True), tensor(source, requires_grad=True)
    weight = RNG.normal(size=(2, 4))
    found = gradients((x.scatter_reduce(1, KEY, y, "prod") * tensor(weight)).sum(), (x, y))

    def product(a, b):
        out = a.copy()
        for i, j in np.ndindex(2, 3):
            out[i, KEY[i, j].item()] *= b[i, j]
        return (out * weight).sum()

    for number, array in enumerate((start, source)):
        for place in np.ndindex(array.shape):
            moved = array.copy()
            moved[place] += 1
            pair = [start, source]
            pair[number] = moved
            np.testing.assert_allclose(found[number].numpy()[place], product(*pair) - product(start, source), 1e-9, 1e-9)


def test_ties_share_the_gradient():
    x, y = tensor([3.0, 1.0], requires_grad=True), tensor([3.0, 3.0, 0.0], requires_grad=True)
    by_x, by_y = gradients(x.scatter_reduce(0, tensor([0, 0, 1]), y, "amax").sum(), (x, y))
    np.testing.assert_allclose(by_x.numpy(), [1 / 3, 1])
    np.testing.assert_allclose(by_y.numpy(), [1 / 3, 1 / 3, 0])


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("reduce", ["prod", "amax", "amin", "mean"])
def test_index_reduce(reduce, dim):
    start, key = RNG.normal(size=(4, 5)), np.array([2, 0, 2])
    source = RNG.normal(size=(3, 5) if dim == 0 else (4, 3))
    for include_self in (True, False):
        wanted = np.moveaxis(start.copy(), dim, 0)
        for n in set(key.tolist()):
            parts = list(np.moveaxis(source, dim, 0)[key == n]) + ([wanted[n]] if include_self else [])
            wanted[n] = np.mean(parts, 0) if reduce == "mean" else UFUNCS[reduce].reduce(parts)
        found = tensor(start).index_reduce(dim, tensor(key), tensor(source), reduce, include_self=include_self)
        np.testing.assert_allclose(found.numpy(), np.moveaxis(wanted, 0, dim))
        x = tensor(start)
        assert x.index_reduce_(dim, tensor(key), tensor(source), reduce, include_self=include_self) is x
        np.testing.assert_allclose(x.numpy(), found.numpy())


def test_put():
    x = tensor(np.arange(6.0).reshape(2, 3))
    key, source = tensor([[4, -6], [4, 1]]), tensor([[10.0, 20], [30, 40]], dtype=dtypes.float64)
    assert x.put(key, source).tolist() == [[20, 40, 2], [3, 30, 5]] and x.tolist()[0][0] == 0
    assert x.put(key, source, True).tolist() == [[20, 41, 2], [3, 44, 5]]
    transposed = x.t()
    assert transposed.put_(tensor([1]), tensor([-1.0], dtype=dtypes.float64)) is transposed and x.tolist()[1][0] == -1
    assert gradcheck(lambda a, b: a.put(key[0], b, True), (x.clone().requires_grad_(), source[0].clone().requires_grad_()))


ERRORS = [
    (lambda: ones(3).scatter_reduce(0, tensor([0]), ones(1), "median"), RuntimeError, "must be either sum, prod, mean"),
    (lambda: ones(3).index_reduce(0, tensor([0]), ones(1), "sum"), RuntimeError, "one of prod, mean, amax, or amin"),
    (lambda: ones(3).index_reduce(0, tensor([0, 1]), ones(1), "prod"), RuntimeError, "should be equal to source.size"),
    (lambda: ones(3).index_reduce(0, tensor([3]), ones(1), "prod"), IndexError, "index out of range in self"),
    (lambda: ones(3).put(tensor([0, 1]), ones(1)), IndexError, "same number of elements"),
    (lambda: ones(3).put(tensor([5]), ones(1)), IndexError, "out of range: tried to access index 5"),
    (lambda: zeros(2, 3).scatter_(0, KEY, ones(1, 3)), RuntimeError, "no larger than src"),
    (lambda: zeros(2, 3).scatter_(0, KEY, zeros(2, 3, dtype=dtypes.float64)), RuntimeError, "self.dtype to be equal to src.dtype"),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    call, kind, text = ERRORS[number]
    with pytest.raises(kind, match=text):
        call()


def _gradient(x, function, grad):
    return gradients(function(x.requires_grad_()), x, grad)[0]


@pytest.mark.parametrize("dtype", [numtorch.bfloat16, numtorch.float16], ids=str)
@pytest.mark.parametrize("add", [
    lambda x, index, source: x.index_add(0, index, source), lambda x, index, source: x.t().clone().index_add_(1, index, source.t()).t(),
    lambda x, index, source: x[:, 0].clone().index_add(0, index, source[:, 0])[:, None].expand(2, 3),
    lambda x, index, source: x.scatter_add(0, index[:, None].expand(-1, 3), source), lambda x, index, source: x.repeat(2, 1)[::2].scatter_add_(
        0, index[:, None].expand(-1, 3), source), lambda x, index, source: x.scatter(0, index[:, None].expand(-1, 3), source, reduce="add"),
    lambda x, index, source: x.scatter_reduce(0, index[:, None].expand(-1, 3), source, "sum"),
    lambda x, index, source: x.index_reduce(0, index, source, "mean", include_self=False) * (len(index) // 2),
    lambda x, index, source: _gradient(x, lambda x: x.gather(0, index[:, None].expand(-1, 3)), source),
    lambda x, index, source: _gradient(x, lambda x: x.index_select(0, index), source)])
def test_sums_of_16_bit_floats_are_rounded_once(dtype, add):
    x, index = numtorch.zeros(2, 3, dtype=dtype), numtorch.arange(2000) % 2
    source = numtorch.linspace(0.2, 0.4, 6000).reshape(2000, 3).to(dtype)
    exact = source.double().reshape(1000, 2, 3).sum(0)
    assert ((add(x, index, source).double() - exact).abs() / exact).max() < (0.009 if dtype is numtorch.bfloat16 else 0.0015)


def _gradient(x, function, grad):
    return numtorch.autograd.grad(function(x.requires_grad_()), x, grad)[0]


def test_products_of_16_bit_floats_are_rounded_once():
    source = numtorch.full((500,), 1.01, dtype=numtorch.bfloat16)
    exact = source[0].double().item() ** 500
    x, index = numtorch.ones(1, dtype=numtorch.bfloat16), numtorch.zeros(500, dtype=numtorch.int64)
    for product in (x.scatter_reduce(0, index, source, "prod"), x.index_reduce(0, index, source, "prod")):
        assert product.item() == pytest.approx(exact, rel=0.005)
