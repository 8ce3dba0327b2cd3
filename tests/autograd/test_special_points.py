"""First and second derivatives where formulas change or lose their digits: zeros, ties, bounds, saturation, infinities and NaN.

Each row is run here, and in PyTorch where it is installed.
"""
import numpy as np
import pytest
from scipy import special

import numtorch

try:
    import torch as pytorch
except ImportError:
    pytorch = None

BOTH = [numtorch] + ([pytorch] if pytorch is not None else [])
INF, NAN = float("inf"), float("nan")


def both(function, *points, first, second=None, only=BOTH):
    """A function of the library and a tensor, where its sum is differentiated, and what that gives once and twice."""
    return function, points, first, second, only


ROWS = {
    # bends and bounds
    "elu": both(lambda t, x: t.nn.functional.elu(x), 0.0, 800.0, -1.0, first=[1, 1, np.exp(-1)], second=[0, 0, np.exp(-1)]),
    "celu": both(lambda t, x: t.nn.functional.celu(x, 0.5), 0.0, 800.0, -1.0, first=[1, 1, np.exp(-2)], second=[0, 0, 2 * np.exp(-2)]),
    "selu": both(lambda t, x: t.nn.functional.selu(x), 0.0, 800.0, first=[1.7580993408473766, 1.0507009873554805], second=[0, 0]),
    "hardtanh": both(lambda t, x: t.nn.functional.hardtanh(x), -1.0, 0.5, 1.0, NAN, first=[0, 1, 0, 1]),
    "hardswish": both(lambda t, x: t.nn.functional.hardswish(x), 2.0, 4.0, INF, first=[7 / 6, 1, 1], second=[1 / 3, 0, 0]),
    "huber_loss": both(lambda t, x: t.nn.functional.huber_loss(x, t.zeros_like(x), reduction="sum"), 0.5, 1.0, NAN, first=[0.5, 1, NAN]),
    "smooth_l1_loss": both(lambda t, x: t.nn.functional.smooth_l1_loss(x, t.zeros_like(x), reduction="sum"), 0.5, 1.0, NAN, first=[0.5, 1, NAN]),
    # zeros
    "prod": both(lambda t, x: x.prod(), 2.0, 0.0, 3.0, first=[0, 6, 0], second=[3, 5, 2]),
    "prod_of_two_zeros": both(lambda t, x: x.reshape(2, 2).prod(1), 0.0, 0.0, 3.0, 0.0, first=[0, 0, 0, 3], second=[1, 1, 1, 1]),
    "cumprod": both(lambda t, x: x.cumprod(0), 0.0, 0.0, 3.0, first=[1, 0, 0], second=[4, 4, 0]),
    "det_of_rank_2": both(lambda t, x: t.det(x.reshape(3, 3)), 1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, first=[0, 0, 0, 0, 0, 0, 0, 0, 2], second=[2, 0, -2, 0, 1, -1, -2, -1, 3]),
    "det_of_rank_0": both(lambda t, x: t.det(x.reshape(2, 2)), 0.0, 0.0, 0.0, 0.0, first=[0, 0, 0, 0], second=[1, -1, -1, 1], only=BOTH[:1]),
    "lp_pool1d": both(lambda t, x: t.nn.functional.lp_pool1d(x[None], 2, 2), 0.0, 0.0, 3.0, 4.0, first=[0, 0, 0.6, 0.8]),
    "cosine_embedding_loss": both(lambda t, x: t.nn.functional.cosine_embedding_loss(x[None], t.ones_like(x)[None], t.ones(1)), 0.0, 0.0, first=[-1e6 / 2 ** 0.5] * 2),
    "xlogy": both(lambda t, x: t.xlogy(x, t.full_like(x, 3)), 0.0, 1.0, first=[np.log(3)] * 2),
    "xlogy_of_0_and_0": both(lambda t, x: t.xlogy(x, x), 0.0, first=[NAN]),
    "xlog1py": both(lambda t, x: t.special.xlog1py(x, t.full_like(x, 2)), 0.0, 1.0, first=[np.log(3)] * 2),
    "copysign": both(lambda t, x: t.copysign(x, -t.ones_like(x)), 0.0, 2.0, -2.0, first=[0, -1, 1]),
    "i0e": both(lambda t, x: t.special.i0e(x), 0.0, first=[0], second=[0.5]),
    "i1e": both(lambda t, x: t.special.i1e(x), 0.0, 1e-310, first=[0.5, 0.5]),
    "sinc": both(lambda t, x: t.sinc(x), 0.0, 1e-9, 0.2, 0.25, 1.5, first=[0, -np.pi ** 2 * 1e-9 / 3, -0.6323614470684581, -0.7728381398822342, 0.14147106052612918],
                 second=[-np.pi ** 2 / 3, -np.pi ** 2 / 3, -2.9092946817677033, -2.703060757258859, 1.90576702169169], only=BOTH[:1]),
    "hypot": both(lambda t, x: t.hypot(x, t.zeros_like(x)), 0.0, -2.0, first=[0, -1], only=BOTH[:1]),
    "hardsigmoid": both(lambda t, x: t.nn.functional.hardsigmoid(x), 0.5, first=[1 / 6], only=BOTH[:1]),
    "logaddexp": both(lambda t, x: t.logaddexp(x, x > 5), 1.0, first=[1 / (1 + np.exp(-1))], only=BOTH[:1]),
    "pow": both(lambda t, x: t.pow(x, t.ones_like(x)), 0.0, 2.0, first=[1, 1], second=[0, 0]),
    # steps pass nothing on, whatever comes
    "sign": both(lambda t, x: t.sqrt(t.sign(x)), 0.0, first=[0]),
    "floor": both(lambda t, x: t.sqrt(t.floor(x)) + x, 0.5, first=[1]),
    # saturation, infinities, NaN
    "binary_cross_entropy": both(lambda t, x: t.nn.functional.binary_cross_entropy(x, t.tensor([0.0, 1.0, 1.0, 0.0], dtype=t.float64), reduction="sum"), 0.0, 1.0, 0.0, 1.0,
                                 first=[0, 0, -1e12, 1e12], second=[0, 0, 1e24, 1e24]),
    "log_ndtr": both(lambda t, x: t.special.log_ndtr(x), 0.0, 100.0, first=[(2 / np.pi) ** 0.5, 0], second=[-2 / np.pi, 0]),
    "logit": both(lambda t, x: t.logit(x), 0.5, 0.25, -1.0, first=[4, 16 / 3, NAN]),
    "max": both(lambda t, x: x.max() + x.max(0)[0], NAN, 1.0, NAN, first=[1.5, 0, 0.5]),
    "remainder": both(lambda t, x: t.remainder(t.full_like(x, 1), x), 0.1, -INF, first=[-9, 1]),
}


def slope(t, values, x):
    """The gradient of a sum, with its graph; zeros where there is none."""
    found, = t.autograd.grad(values.sum(), x, create_graph=True, allow_unused=True) if values.requires_grad else (None,)
    return t.zeros_like(x) if found is None else found


@pytest.mark.parametrize("t", BOTH, ids=lambda t: t.__name__)
@pytest.mark.parametrize("name", ROWS)
def test_derivatives(name, t):
    function, points, first, second, only = ROWS[name]
    if t not in only:
        pytest.skip("PyTorch's are not numbers there")
    x = t.tensor(points, dtype=t.float64, requires_grad=True)
    once = slope(t, function(t, x), x)
    np.testing.assert_allclose(once.detach().numpy(), first, rtol=1e-8, atol=1e-12)
    if second is not None:
        np.testing.assert_allclose(slope(t, once, x).detach().numpy(), second, rtol=1e-8, atol=1e-12)


# What a step leaves to be written, though it has been recorded: PyTorch saves nothing there that a backward would miss.
WRITTEN = {
    "div": lambda t, x, y: x / y, "div_": lambda t, x, y: (x * 1).div_(y), "logaddexp": lambda t, x, y: t.logaddexp(x, y), "logaddexp2": lambda t, x, y: t.logaddexp2(x, y),
}


@pytest.mark.parametrize("t", BOTH, ids=lambda t: t.__name__)
@pytest.mark.parametrize("name", WRITTEN)
def test_results_that_may_be_written(name, t):
    x, y = (t.tensor(v, dtype=t.float64, requires_grad=True) for v in ([1.0, 2.0], [4.0, 1.0]))
    expected = t.autograd.grad(WRITTEN[name](t, x, y).sum(), (x, y))
    out = WRITTEN[name](t, x, y)
    out += 1
    assert [g.tolist() for g in t.autograd.grad(out.sum(), (x, y))] == [g.tolist() for g in expected]


@pytest.mark.parametrize("t", BOTH, ids=lambda t: t.__name__)
@pytest.mark.parametrize("name", ["relu", "leaky_relu", "hardtanh", "relu6", "threshold", "softshrink", "hardshrink", "prelu"])
def test_second_derivatives_of_straight_pieces_are_0(name, t):
    """... and not missing: a network of them can be differentiated twice by its input."""
    more = {"threshold": (0.2, 0.0), "prelu": (t.full((1,), 0.25, dtype=t.float64),)}.get(name, ())
    x = t.tensor([0.3, -1.7], dtype=t.float64, requires_grad=True)
    once, = t.autograd.grad(getattr(t.nn.functional, name)(x, *more).sum(), x, create_graph=True)
    twice, = t.autograd.grad(once.sum(), x)
    assert twice.tolist() == [0.0, 0.0]


INFINITE = {"maximum": lambda t, x: t.maximum(x, t.zeros_like(x)), "minimum": lambda t, x: t.minimum(x, t.zeros_like(x)), "max": lambda t, x: x.max()}


@pytest.mark.parametrize("t", BOTH, ids=lambda t: t.__name__)
@pytest.mark.parametrize("name", INFINITE)
def test_infinite_gradients_stay_where_they_go(name, t):
    x = t.tensor([1.0, -1.0], dtype=t.float64, requires_grad=True)
    out = INFINITE[name](t, x)
    out.backward(t.full_like(out, INF))
    assert sorted(x.grad.tolist()) == [0.0, INF]


def test_sources_in_the_memory_that_is_written():
    """A source is read as it was before, however its elements lie: the copy that is made of it lies otherwise than it did."""
    t = numtorch
    for write in (lambda x, s: x.index_put_((t.tensor([0, 0]),), s, accumulate=True), lambda x, s: x.index_add_(0, t.tensor([0, 0]), s.expand(2, 3, 2)),
                  lambda x, s: x.scatter_add_(0, t.zeros(2, 3, 1, dtype=t.int64), s), lambda x, s: x.index_copy_(0, t.tensor([1, 0]), s.expand(2, 3, 2))):
        shared, alone = t.arange(12.0).reshape(2, 3, 2), t.arange(12.0).reshape(2, 3, 2)
        assert t.equal(write(shared, shared.narrow(-1, 0, 1)), write(alone, alone.narrow(-1, 0, 1).clone()))


@pytest.mark.parametrize("t", BOTH, ids=lambda t: t.__name__)
def test_checks_of_what_has_no_gradient(t):
    """A function that is flat passes, and one that hides its slope does not; other outputs do not stand in the way of one that has it."""
    x = t.tensor([0.3, 1.6], dtype=t.float64, requires_grad=True)
    for check in (t.autograd.gradcheck, t.autograd.gradgradcheck):
        assert check(t.floor, (x,)) and check(lambda x: (x.detach().floor(), x * x), (x,))
    with pytest.raises(RuntimeError, match="expected to be zero"):
        t.autograd.gradcheck(lambda x: x.detach() * 2, (x,))


def test_third_derivatives_of_a_singular_det_are_refused():
    x = numtorch.zeros(2, 2, dtype=numtorch.float64, requires_grad=True)
    once, = numtorch.autograd.grad(x.det(), x, create_graph=True)
    twice, = numtorch.autograd.grad(once.sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match="up to the second"):
        twice.sum().backward()


# ---------------------------------------------------------------- left of 0
LEFT = np.array([-0.25, -1e-2, -3.7, -7.5, -8.125, -9.3, -20.0625, -100.5, -1000.75, -0.5])


@pytest.mark.parametrize("dtype, tolerance", [(numtorch.float64, 1e-13), (numtorch.float32, 2e-6)])
@pytest.mark.parametrize("s", [2, 3, 4, 7, 12])
def test_zeta_left_of_0(s, dtype, tolerance):
    """As the sum of its terms, of which thousands may have a negative base; so are polygamma's, which are multiples of it."""
    x = LEFT.astype(np.float32).astype(np.float64)
    wanted, largest = special.zeta(float(s), x), np.abs(x - np.rint(x)) ** -float(s)
    found = numtorch.special.zeta(numtorch.tensor(float(s), dtype=dtype), numtorch.tensor(x, dtype=dtype)).numpy()
    assert np.all(np.abs(found - wanted) <= tolerance * s * largest)
    scale = (-1.0) ** s * special.gamma(s)
    slopes = numtorch.polygamma(s - 1, numtorch.tensor(x, dtype=dtype)).numpy()
    assert np.all(np.abs(slopes - scale * wanted) <= 2 * tolerance * s * np.abs(scale * largest))


@pytest.mark.parametrize("library", BOTH)
def test_zeta_at_poles(library):
    s, q = library.tensor([2.0, 2.5, 2.5, 3.0, 1.0, 0.5, 1.0, 2.0]), library.tensor([-2.0, -3.0, -3.5, 0.0, -0.5, -1.0, 2.0, -INF])
    np.testing.assert_array_equal(library.special.zeta(s, q).numpy(), [INF, INF, NAN, INF, INF, NAN, INF, INF])
