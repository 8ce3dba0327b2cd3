"""Torch7's optimisers: each against the step of `numtorch.optim` on the same gradients, and all of them on Rosenbrock's valley."""
import math
import pickle

import numpy as np
import pytest

import numtorch as torch
from numtorch.legacy import nn, optim

ROSENBROCK = lambda x: ((1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2).item()


def rosenbrock(x):
    """The valley and its slope, as PyTorch's tests of 2017 write them."""
    a, b = x.tolist()
    return ROSENBROCK(x), torch.tensor([-400 * a * (b - a ** 2) - 2 * (1 - a), 200 * (b - a ** 2)], dtype=x.dtype)


# what 2017's tests tried: the function, its options, the optimiser of numtorch.optim (None: there is none)
STEPS = {
    "sgd": (optim.sgd, dict(learningRate=1e-3), lambda p: torch.optim.SGD(p, lr=1e-3)),
    "sgd, momentum": (optim.sgd, dict(learningRate=1e-3, momentum=0.9, dampening=0, weightDecay=1e-4), lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9, weight_decay=1e-4)),
    "sgd, dampening": (optim.sgd, dict(learningRate=1e-3, momentum=0.9), lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9, dampening=0.9)),
    "sgd, nesterov": (optim.sgd, dict(learningRate=1e-4, momentum=0.9, dampening=0, nesterov=True), lambda p: torch.optim.SGD(p, lr=1e-4, momentum=0.9, nesterov=True)),
    "adam": (optim.adam, dict(learningRate=1e-2), lambda p: torch.optim.Adam(p, lr=1e-2)),
    "adam, decay": (optim.adam, dict(learningRate=1e-2, weightDecay=1e-2), lambda p: torch.optim.Adam(p, lr=1e-2, weight_decay=1e-2)),
    "adamax": (optim.adamax, dict(learningRate=1e-1), lambda p: torch.optim.Adamax(p, lr=1e-1, eps=1e-38)),
    "adamax, betas": (optim.adamax, dict(learningRate=1e-1, beta1=0.95, beta2=0.998, weightDecay=1e-2), lambda p: torch.optim.Adamax(p, lr=1e-1, betas=(0.95, 0.998), eps=1e-38, weight_decay=1e-2)),
    "adagrad": (optim.adagrad, dict(learningRate=1e-1), lambda p: torch.optim.Adagrad(p, lr=1e-1)),
    "adagrad, decay": (optim.adagrad, dict(learningRate=1e-1, learningRateDecay=1e-3, weightDecay=1e-2), lambda p: torch.optim.Adagrad(p, lr=1e-1, lr_decay=1e-3, weight_decay=1e-2)),
    "adadelta": (optim.adadelta, {}, lambda p: torch.optim.Adadelta(p)),
    "adadelta, rho": (optim.adadelta, dict(rho=0.95, weightDecay=1e-2), lambda p: torch.optim.Adadelta(p, rho=0.95, weight_decay=1e-2)),
    "rmsprop": (optim.rmsprop, dict(learningRate=1e-2), lambda p: torch.optim.RMSprop(p, lr=1e-2)),
    "rmsprop, alpha": (optim.rmsprop, dict(learningRate=1e-2, alpha=0.95, weightDecay=1e-2), lambda p: torch.optim.RMSprop(p, lr=1e-2, alpha=0.95, weight_decay=1e-2)),
    "asgd": (optim.asgd, dict(eta0=1e-3), lambda p: torch.optim.ASGD(p, lr=1e-3, t0=1e6)),
    "asgd, t0": (optim.asgd, {"eta0": 1e-3, "alpha": 0.8, "t0": 10, "lambda": 1e-3}, lambda p: torch.optim.ASGD(p, lr=1e-3, alpha=0.8, t0=10, lambd=1e-3)),
    "rprop": (optim.rprop, dict(stepsize=1e-3), lambda p: torch.optim.Rprop(p, lr=1e-3)),
    "rprop, etas": (optim.rprop, dict(stepsize=1e-3, etaminus=0.6, etaplus=1.1, stepsizemin=1e-4, stepsizemax=3), lambda p: torch.optim.Rprop(p, lr=1e-3, etas=(0.6, 1.1), step_sizes=(1e-4, 3))),
    "lbfgs": (optim.lbfgs, dict(tolFun=1e-14), lambda p: torch.optim.LBFGS(p, tolerance_grad=1e-14)),
    "lbfgs, rate": (optim.lbfgs, dict(learningRate=5e-2, maxIter=5, tolFun=1e-14), lambda p: torch.optim.LBFGS(p, lr=5e-2, max_iter=5, tolerance_grad=1e-14)),
    "lbfgs, line search": (optim.lbfgs, dict(lineSearch=optim.lswolfe, lineSearchOptions=dict(maxIter=25), maxEval=100, tolFun=1e-14), lambda p: torch.optim.LBFGS(p, max_eval=100, tolerance_grad=1e-14, line_search_fn="strong_wolfe")),
    "nag": (optim.nag, dict(learningRate=1e-4), None),
    "cg": (optim.cg, {}, None),
}


@pytest.mark.parametrize("name", STEPS)
def test_rosenbrock(name):
    """In place, downhill, and by the same steps as the optimiser's."""
    function, config, make = STEPS[name]
    x, state = torch.tensor([1.5, 1.5], dtype=torch.float64), {}
    p = torch.tensor([1.5, 1.5], dtype=torch.float64, requires_grad=True)
    optimizer = make([p]) if make else None
    first = ROSENBROCK(x)

    def closure():
        fx, p.grad = rosenbrock(p.detach())
        return torch.tensor(fx)

    for step in range(100 if "lbfgs" in name or name == "cg" else 300):
        result = function(rosenbrock, x, config, state)
        assert result[0] is x
        if optimizer:
            optimizer.step(closure)
            np.testing.assert_allclose(x.numpy(), p.detach().numpy(), rtol=1e-6, atol=1e-6, err_msg=f"step {step}")
    assert ROSENBROCK(x) < first / 20
    if name in ("cg", "lbfgs, line search"):
        np.testing.assert_allclose(x.numpy(), [1, 1], atol=1e-5)


@pytest.mark.parametrize("name", ["sgd, nesterov", "adam", "rprop", "lbfgs", "nag"])
def test_state_goes_on(name):
    """A state that was pickled goes on where it was, and `config` may be the state."""
    function, config, _ = STEPS[name]
    x, state, both = torch.tensor([1.5, 1.5]), {}, dict(config)
    y, z = x.clone(), x.clone()
    for step in range(6):
        function(rosenbrock, x, config, state)
        function(rosenbrock, z, both)
    other = {}
    for step in range(6):
        function(rosenbrock, y, config, other)
        other = pickle.loads(pickle.dumps(other))
    assert x.equal(y) and x.equal(z)


@pytest.mark.parametrize("function", [optim.sgd, optim.nag])
@pytest.mark.parametrize("options", [{}, dict(momentum=0.5), dict(momentum=0.5, dampening=0, nesterov=True)], ids=["plain", "momentum", "nesterov"])
def test_rates_for_each_element(function, options):
    """Vectors of rates and of decays do to each element what numbers do to all."""
    if function is optim.nag:
        options = {"momentum": options.get("momentum", 0.9)}
    rates, decays = torch.tensor([1.0, 0.5]), torch.tensor([0.0, 0.25])
    square = lambda x: ((x * x).sum().item(), 2 * x)
    x, state, apart = torch.tensor([1.0, 2.0]), {}, [torch.tensor([1.0]), torch.tensor([2.0])]
    states = [{}, {}]
    for step in range(4):
        function(square, x, dict(learningRate=0.1, learningRateDecay=0.5, learningRates=rates, weightDecays=decays, **options), state)
        for y, kept, rate, decay in zip(apart, states, rates.tolist(), decays.tolist()):
            function(square, y, dict(learningRate=0.1 * rate, learningRateDecay=0.5, weightDecay=decay, **options), kept)
    np.testing.assert_allclose(x.numpy(), [y.item() for y in apart], rtol=1e-6)
    assert state["evalCounter"] == 4
    with pytest.raises(ValueError, match="only one of weightDecay"):
        function(square, x, dict(weightDecay=1.0, weightDecays=decays))


def test_what_comes_back():
    square = lambda x: ((x * x).sum().item(), 2 * x)
    x = torch.tensor([3.0])
    assert optim.rprop(square, x, dict(stepsize=1.0, niter=3), {})[1] == [9.0, 4.0, pytest.approx(0.64)]
    _, fx, mean = optim.asgd(square, torch.tensor([3.0]), dict(eta0=0.25, t0=0))
    assert fx == 9 and mean.item() == pytest.approx(1.5, rel=1e-3)
    x, history, calls = optim.lbfgs(square, torch.zeros(1), {})
    assert history == [0.0] and calls == 1


def test_gradients_by_the_tape():
    """What `opfunc` computes is recorded as usual, and the point may be a leaf."""
    x = torch.tensor([2.0, -1.0], requires_grad=True)

    def opfunc(x):
        loss = x.square().sum()
        return loss.item(), *torch.autograd.grad(loss, x)

    for step in range(50):
        assert optim.sgd(opfunc, x, dict(learningRate=0.1, momentum=0.5))[0] is x and x.is_leaf
    assert optim.lbfgs(opfunc, x, dict(lineSearch=optim.lswolfe))[1][-1] < 1e-6


def test_gradients_of_another_order():
    """A gradient in another layout or dtype, and one buffer that `opfunc` writes anew each time."""
    x, buffer = torch.ones(3, 2), torch.zeros(2, 3, dtype=torch.float64)
    optim.sgd(lambda x: (0.0, buffer.copy_(x.t()).t()), x, dict(learningRate=0.5))
    assert x.tolist() == [[0.5, 0.5]] * 3
    x, buffer = torch.tensor([1.5, 1.5], dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    for function in (optim.cg, optim.lbfgs):
        y, z = x.clone(), x.clone()
        config = {"lineSearch": optim.lswolfe}
        function(rosenbrock, y, config, {})
        function(lambda x: (rosenbrock(x)[0], buffer.copy_(rosenbrock(x)[1])), z, config, {})
        assert y.equal(z) and ROSENBROCK(y) < ROSENBROCK(x)


@pytest.mark.parametrize("function", [getattr(optim, name) for name in optim.__all__ if name not in ("lswolfe", "polyinterp")])
def test_wrong(function):
    x = torch.ones(2)
    with pytest.raises(ValueError, match=f"{function.__name__} requires a dictionary to retain state"):
        function(rosenbrock, x, None)
    if function not in (optim.cg, optim.lbfgs):
        with pytest.raises(RuntimeError, match=f"{function.__name__}: expected a gradient of shape"):
            function(lambda x: (0.0, torch.ones(3)), x, {})
        with pytest.raises(RuntimeError, match=f"{function.__name__}: expected parameters of a floating-point"):
            function(lambda x: (0.0, x), torch.ones(2, dtype=torch.int64), {})
        with pytest.raises(RuntimeError, match=f"{function.__name__}: expected parameters whose elements fill"):
            function(lambda x: (0.0, x), torch.ones(4)[::2], {})


def test_momentum_is_asked_for():
    with pytest.raises(ValueError, match="Nesterov momentum requires"):
        optim.sgd(rosenbrock, torch.ones(2), dict(nesterov=True))
    with pytest.raises(ValueError, match="Nesterov momentum requires"):
        optim.sgd(rosenbrock, torch.ones(2), dict(nesterov=True, momentum=0.9))
    with pytest.raises(ValueError, match="Momentum must be positive"):
        optim.nag(rosenbrock, torch.ones(2), dict(momentum=0))


# ---------------------------------------------------------------- line searches
def test_wolfe():
    """Armijo's condition and the curvature condition hold at the end, and the point is there."""
    for start in ([1.5, 1.5], [-1.2, 1.0], [0.0, 3.0]):
        x = torch.tensor(start, dtype=torch.float64)
        before, (f, g) = x.clone(), rosenbrock(x)
        d = -g
        found, gradient, point, t, calls = optim.lswolfe(rosenbrock, x, 1e-3, d, f, g, g.dot(d).item())
        assert point is x and calls > 0 and x.allclose(before + t * d)
        assert found == pytest.approx(ROSENBROCK(x)) and gradient.allclose(rosenbrock(x)[1])
        assert found <= f + 1e-4 * t * g.dot(d).item() and abs(gradient.dot(d).item()) <= 0.9 * abs(g.dot(d).item())


POLYNOMIALS = {                                          # factors from that of 1, known places, where it is least
    "parabola": ([1., -2., 1.], [(0, 1, 1), (3, 1, 0)], 1.0),
    "cubic": ([0., -3., 0., 1.], [(0, 1, 1), (2, 1, 1)], 1.0),
    "quartic": ([0., 0., 0., -4 / 3, 1.], [(-1, 1, 1), (0, 1, 1), (2, 1, 0)], 1.0),
    "values only": ([2., -3., 1.], [(0, 1, 0), (1, 1, 0), (4, 1, 0)], 1.5),
    "an end": ([0., 1.], [(0, 1, 0), (3, 1, 0)], 0.0),
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name):
    factors, places, least = POLYNOMIALS[name]
    value = np.polynomial.Polynomial(factors)
    points = [[x, value(x) if f else math.nan, value.deriv()(x) if g else math.nan] for x, f, g in places]
    assert optim.polyinterp(torch.tensor(points, dtype=torch.float64)) == pytest.approx(least, abs=1e-6)
    low = least + 0.25
    assert optim.polyinterp(torch.tensor(points, dtype=torch.float64), low, low + 0.5) == pytest.approx(low, abs=1e-6)
    with pytest.raises(ValueError, match="expected values or slopes"):
        optim.polyinterp(torch.full((1, 3), math.nan))


# ---------------------------------------------------------------- training
@pytest.mark.parametrize("function, config, steps", [
    (optim.adam, dict(learningRate=0.05), 150), (optim.lbfgs, dict(lineSearch=optim.lswolfe), 5), (optim.cg, {}, 5)])
def test_a_network_learns(function, config, steps):
    """The loop of 2016: two flat vectors, a closure, a criterion."""
    torch.manual_seed(0)
    x = torch.randn(64, 2)
    target = (x[:, 0] * x[:, 1] > 0).long()
    net, criterion = nn.Sequential().add(nn.Linear(2, 16)).add(nn.Tanh()).add(nn.Linear(16, 2)).add(nn.LogSoftMax()), nn.ClassNLLCriterion()
    weights, gradients = net.flattenParameters()

    def opfunc(_):
        net.zeroGradParameters()
        loss = criterion.forward(net.forward(x), target)
        net.backward(x, criterion.backward(net.output, target))
        return loss, gradients

    state, first = {}, opfunc(weights)[0]
    for step in range(steps):
        function(opfunc, weights, config, state)
    assert opfunc(weights)[0] < 0.4 * first
