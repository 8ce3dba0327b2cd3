"""Gamma and Dirichlet numbers: their law, the same ones on any number of threads, and slopes to as many digits as their doubles have."""
import math

import mpmath
import numpy as np
import pytest
from scipy import stats

import numtorch as torch
from numtorch.kernels.cpu.random import gamma
from numtorch.ops.random.distributions import von_mises

N = 20_000


@pytest.mark.parametrize("dtype, shape", [("float32", 1e-3), ("float64", 0.03), ("float32", 0.7), ("float64", 1.0), ("float32", 1e3),
                                          ("float64", 1e9), ("float16", 4.0)])
def test_gamma_numbers(dtype, shape):
    torch.manual_seed(4)
    drawn = torch._standard_gamma(torch.full((N,), shape, dtype=getattr(torch, dtype))).double().numpy()
    least = torch.finfo(getattr(torch, dtype)).tiny
    assert (drawn >= (least if dtype != "float16" else 0)).all()
    inside = drawn > least
    shares = stats.gamma(shape).cdf(drawn[inside])
    low = stats.gamma(shape).cdf(least)
    assert abs(inside.mean() - (1 - low)) < 0.02
    if dtype != "float16":
        assert stats.kstest((shares - low) / (1 - low), "uniform").pvalue > 1e-3
    else:
        assert abs(drawn.mean() - shape) < 0.05
    edge = torch._standard_gamma(torch.tensor([0.0, math.inf, -1.0, math.nan]))
    assert edge[0] == torch.finfo(torch.float32).tiny and edge[1] == math.inf and edge[2:].isnan().all()
    assert torch._standard_gamma(torch.empty(0, 2)).shape == (0, 2)


def test_the_same_seed_gives_the_same_numbers_on_any_number_of_threads():
    shapes = torch.linspace(0.1, 30, 20_000)
    threads, found = torch.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            torch.manual_seed(5)
            found.append(torch._standard_gamma(shapes).tolist() + von_mises(shapes, shapes).tolist() +
                         torch._sample_dirichlet(shapes.reshape(-1, 4)).flatten().tolist())
            stream = torch.Generator().manual_seed(5)
            assert torch._standard_gamma(shapes, stream).tolist() == found[-1][:20_000]
    finally:
        torch.set_num_threads(threads)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("shapes", [[0.3, 2.0, 5.0], [0.02, 0.01, 0.5], [50.0, 30.0, 20.0]])
def test_dirichlet_numbers(shapes):
    torch.manual_seed(6)
    drawn = torch._sample_dirichlet(torch.tensor(shapes, dtype=torch.float64).expand(N, len(shapes)))
    assert torch.allclose(drawn.sum(-1), torch.ones(N, dtype=torch.float64)) and (drawn > 0).all() and (drawn < 1).all()
    for column, shape in enumerate(shapes):
        known = stats.beta(shape, sum(shapes) - shape)
        x = drawn[:, column].numpy()
        if min(shape, sum(shapes) - shape) > 0.1:        # otherwise many round to 0 or 1
            assert stats.kstest(x, known.cdf).pvalue > 1e-3
        assert abs(x.mean() - known.mean()) < 5 * known.std() / N**0.5
    tiny = torch._sample_dirichlet(torch.full((100, 4), 1e-6))
    assert (tiny.max(-1).values > 0.99).all() and (tiny > 0).all()


def slope_of_share(share, density, at):
    """-(d share / d parameter) / density, by a difference in 40 digits."""
    step = mpmath.mpf(10) ** -14 * at
    return -(share(at + step) - share(at - step)) / (2 * step) / density


@pytest.mark.parametrize("shape", [1e-3, 0.1, 0.9, 2, 15, 19.9, 20, 60, 1000])
def test_slopes_of_gamma_numbers(shape):
    """To 1e-11, between the shares 1e-6 and 1 - 1e-6: on both sides of where series end and integrals begin."""
    xs = np.array([x for u in (1e-6, 0.01, 0.2, 0.5, 0.8, 0.99, 1 - 1e-6) if (x := stats.gamma.ppf(u, shape)) > 0])
    found = torch._standard_gamma_grad(torch.full(xs.shape, float(shape), dtype=torch.float64), torch.tensor(xs)).numpy()
    with mpmath.workdps(40):
        for x, mine in zip(xs, found):
            a, x = mpmath.mpf(float(shape)), mpmath.mpf(float(x))
            density = mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a))
            wanted = slope_of_share(lambda q, x=x: mpmath.gammainc(q, 0, x, regularized=True), density, a)
            assert abs(mine / wanted - 1) < 1e-11, x


@pytest.mark.parametrize("a, b", [(0.05, 0.05), (0.3, 5.9), (0.3, 40.0), (5.9, 6.0), (40.0, 0.3), (7.0, 6.5), (2.0, 300.0), (300.0, 2.0)])
def test_slopes_of_beta_numbers(a, b):
    xs = np.array([x for u in (1e-6, 0.01, 0.2, 0.5, 0.8, 0.99) if 1e-200 < (x := stats.beta.ppf(u, a, b)) < 1])
    full = torch.full(xs.shape, a, dtype=torch.float64)
    found = torch._dirichlet_grad(torch.tensor(xs), full, full + b).numpy()
    with mpmath.workdps(40):
        for x, mine in zip(xs, found):
            p, x = mpmath.mpf(a), mpmath.mpf(float(x))
            q = mpmath.mpf(float(np.float64(a) + np.float64(b))) - p
            density = x ** (p - 1) * (1 - x) ** (q - 1) / mpmath.beta(p, q)
            wanted = slope_of_share(lambda s, q=q, x=x: mpmath.betainc(s, q, 0, x, regularized=True), density, p) / (1 - x)
            assert abs(mine / wanted - 1) < 1e-9, x


def test_slopes_far_out():
    """For great shapes a number moves as their normal law says; where there is nothing to move, not at all."""
    great = torch.tensor([1e10, 1e15, 1e17, 1e300], dtype=torch.float64)
    assert torch.allclose(torch._standard_gamma_grad(great, great * (1 + 1e-6)), torch.ones(4, dtype=torch.float64), rtol=1e-5)
    zero = torch._standard_gamma_grad(torch.tensor([1.0, 0.0, -1.0]), torch.tensor([0.0, 1.0, 1.0]))
    assert zero.tolist() == [0, 0, 0] and torch._dirichlet_grad(*torch.tensor([[0.0], [1.0], [2.0]])).item() == 0
    close = torch._dirichlet_grad(torch.tensor([1.0, 1.0]), torch.tensor([2.0, 8.0]), torch.tensor([5.0, 16.0]))
    assert torch.allclose(close, (torch.tensor([5.0, 16.0]).digamma() - torch.tensor([2.0, 8.0]).digamma()) / torch.tensor([3.0, 8.0]))
    assert torch._standard_gamma_grad(torch.ones(2, 1), torch.ones(3)).shape == (2, 3) and torch._dirichlet_grad(
        *torch.ones(3, 0).unbind()).shape == (0,)


def test_slopes_and_draws_as_python():
    """The kernels run without the compiler, too."""
    nodes, terms = [0.0] * 48, [0.0] * 24
    gamma.place_nodes(nodes)
    for shape, x in ((30.0, 29.0), (1.0, 0.5), (1.0, 3.0)):
        compiled = torch._standard_gamma_grad(*torch.tensor([[shape], [x]], dtype=torch.float64)).item()
        assert gamma.gamma_slope(shape, x, nodes, terms) == pytest.approx(compiled, rel=1e-12)
    for x, a, b in ((0.5, 1.0, 1.0), (0.3, 9.0, 9.0), (0.9, 0.5, 0.7)):
        compiled = torch._dirichlet_grad(*torch.tensor([[x], [a], [a + b]], dtype=torch.float64)).item()
        assert gamma.beta_slope(x, a, b, nodes, terms) == pytest.approx(compiled, rel=1e-12)


def test_errors_and_second_derivatives():
    shapes = torch.tensor([0.5, 2.0], requires_grad=True)
    for draw in (torch._standard_gamma, torch._sample_dirichlet):
        slope, = torch.autograd.grad(draw(shapes)[0], shapes, create_graph=True)
        with pytest.raises(NotImplementedError, match=r"the derivative for '_\w+_grad' is not implemented"):
            slope.sum().backward()
        with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
            draw(torch.tensor([1, 2]))
        with pytest.raises(TypeError, match="must be Tensor, not float"):
            draw(1.0)
    with pytest.raises(RuntimeError, match="Found dtype Double but expected Float"):
        torch._standard_gamma_grad(torch.ones(2), torch.ones(2, dtype=torch.float64))
    assert type(torch._standard_gamma(shapes).grad_fn).__name__ != "" and torch._standard_gamma(shapes).grad_fn.name() == "StandardGammaBackward0"
