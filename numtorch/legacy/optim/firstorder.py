"""Steps along the gradient, by the same formulas as `numtorch.optim` (`numtorch/optim/rule.py`): one kernel call each.

A state's tensors are made when they are first needed. `opfunc(x)` gives the function and its gradient at x; x is changed in place.
"""
from __future__ import annotations

from ...ops.creation.fill import full_like, zeros_like
from ...optim.adagrad import Adadelta, Adagrad, RMSprop, Rprop
from ...optim.adam import Adam, Adamax
from ...optim.rule import Rule, run_rule
from ...optim.sgd import ASGD, SGD


def begun(name, config, state):
    """The options and where the state is kept: with them, unless it is given apart.

    Args:
        name: the optimiser's.
        config, state: dicts or None.

    Raises:
        ValueError: neither is given.
    """
    if config is None and state is None:
        raise ValueError(f"{name} requires a dictionary to retain state between iterations")
    return {} if config is None else config, config if state is None else state


def _of(state, name, x):
    """A tensor of the state, zeros of x's layout at first."""
    if name not in state:
        state[name] = zeros_like(x)
    return state[name]


def _decayed_rate(config, state, rate):
    """The learning rate at this call, which is counted."""
    count = state.get("evalCounter", 0)
    state["evalCounter"] = count + 1
    return config.get("learningRate", rate) / (1 + count * config.get("learningRateDecay", 0))


def _rated(p, g, rates, lr):
    return p - lr * rates * g, rates


def _heavy_rated(p, g, buffer, rates, lr, momentum, kept):
    buffer = momentum * buffer + kept * g
    return p - lr * rates * buffer, buffer, rates


def _nesterov_rated(p, g, buffer, rates, lr, momentum, kept):
    buffer = momentum * buffer + kept * g
    return p - lr * rates * (g + momentum * buffer), buffer, rates


def _ahead(p, g, velocity, lr, momentum):
    return p - lr * g, momentum * velocity - lr * g


def _ahead_rated(p, g, velocity, rates, lr, momentum):
    return p - lr * rates * g, momentum * velocity - lr * rates * g, rates


# by what is asked: momentum or "ahead", and whether each element has a learning rate of its own
_DESCENTS = {
    (None, False): SGD.plain, ("heavy", False): SGD.heavy, ("nesterov", False): SGD.nesterov,
    ("ahead", False): Rule(_ahead, ("dfdx",)),
    (None, True): Rule(_rated, ("rates",)), ("heavy", True): Rule(_heavy_rated, ("dfdx", "rates")),
    ("nesterov", True): Rule(_nesterov_rated, ("dfdx", "rates")), ("ahead", True): Rule(_ahead_rated, ("dfdx", "rates")),
}


def _descend(name, kind, x, gradient, config, state, coefficients):
    """A step of `sgd` or `nag`, with decay and learning rates for all elements or for each."""
    decay, decays, rates = config.get("weightDecay", 0), config.get("weightDecays"), config.get("learningRates")
    if decays is not None:
        if decay:
            raise ValueError(f"{name}: only one of weightDecay and weightDecays can be specified")
        gradient = gradient + decays * x.detach()
    buffers = [_of(state, "dfdx", x)] if kind else []
    more = [] if rates is None else [rates.to(x.dtype)]
    run_rule(name, _DESCENTS[kind, rates is not None], x, gradient, [*buffers, *more], coefficients, decay=decay)


def sgd(opfunc, x, config, state=None):
    """A step of stochastic gradient descent.

    Args:
        opfunc: gives the function and its gradient at x.
        x: the point, changed in place.
        config: a dict of `learningRate` (1e-3), `learningRateDecay` (0), `weightDecay` (0) or a vector `weightDecays`, `momentum`
            (0), `dampening` (the momentum), `nesterov` (False), and a vector `learningRates`.
        state: a dict that is changed: `evalCounter`, `dfdx`; in `config` when None.

    Returns:
        x, and the function before the step.

    Raises:
        ValueError: no dict, both kinds of weight decay, or nesterov without momentum or with dampening.

    Example:
        >>> import numtorch as torch
        >>> x = torch.ones(2)
        >>> torch.legacy.optim.sgd(lambda x: ((x * x).sum().item(), 2 * x), x, {"learningRate": 0.25})
        (tensor([0.5000, 0.5000]), 2.0)
    """
    config, state = begun("sgd", config, state)
    momentum = config.get("momentum", 0)
    dampening, nesterov = config.get("dampening", momentum), config.get("nesterov", False)
    if nesterov and (momentum <= 0 or dampening != 0):
        raise ValueError("Nesterov momentum requires a momentum and zero dampening")
    fx, gradient = opfunc(x)
    rate, kind = _decayed_rate(config, state, 1e-3), "nesterov" if nesterov else "heavy" if momentum else None
    kept = 1 - dampening if "dfdx" in state else 1       # the first buffer is the gradient itself
    _descend("sgd", kind, x, gradient, config, state, (rate, momentum, kept) if kind else (rate,))
    return x, fx


def nag(opfunc, x, config, state=None):
    """A step of Nesterov's accelerated gradient: along the momentum, then along the gradient there (Sutskever et al. 2013).

    Args:
        opfunc: gives the function and its gradient at x.
        x: the point, changed in place.
        config: a dict of `learningRate` (1e-3), `learningRateDecay` (0), `weightDecay` (0), `momentum` (0.9), and a vector
            `learningRates`.
        state: a dict that is changed: `evalCounter`, `dfdx`; in `config` when None.

    Returns:
        x, and the function where the gradient was taken.

    Raises:
        ValueError: no dict, or no momentum.

    Example:
        >>> import numtorch as torch
        >>> x = torch.ones(2)
        >>> torch.legacy.optim.nag(lambda x: ((x * x).sum().item(), 2 * x), x, {"learningRate": 0.25})
        (tensor([0.5000, 0.5000]), 2.0)
    """
    config, state = begun("nag", config, state)
    momentum = config.get("momentum", 0.9)
    if momentum <= 0:
        raise ValueError("Momentum must be positive for Nesterov Accelerated Gradient")
    if "dfdx" in state:
        x.detach().add_(state["dfdx"], alpha=momentum)
    fx, gradient = opfunc(x)
    _descend("nag", "ahead", x, gradient, config, state, (_decayed_rate(config, state, 1e-3), momentum))
    return x, fx


def asgd(opfunc, x, config, state=None):
    """A step of gradient descent with a falling rate, and the mean of the points (Polyak and Juditsky 1992).

    Args:
        opfunc: gives the function and its gradient at x.
        x: the point, changed in place.
        config: a dict of `eta0` (1e-4), the first rate; `lambda` (1e-4), the decay; `alpha` (0.75), the power with which the rate
            falls; `t0` (1e6), the step from which the mean is taken.
        state: a dict that is changed: `t`, `eta_t`, `mu_t`, `ax`; in `config` when None.

    Returns:
        x, the function before the step, and the mean.

    Raises:
        ValueError: no dict.

    Example:
        >>> import numtorch as torch
        >>> x = torch.ones(2)
        >>> torch.legacy.optim.asgd(lambda x: ((x * x).sum().item(), 2 * x), x, {"eta0": 0.25, "lambda": 0})
        (tensor([0.5000, 0.5000]), 2.0, tensor([0.5000, 0.5000]))
    """
    config, state = begun("asgd", config, state)
    first, decay = config.get("eta0", 1e-4), config.get("lambda", 1e-4)
    eta, mu = state.get("eta_t", first), state.get("mu_t", 1)
    fx, gradient = opfunc(x)
    mean = _of(state, "ax", x)
    run_rule("asgd", ASGD.averaged, x, gradient, [mean], (eta, mu), shrink=1 - decay * eta)
    state["t"] = t = state.get("t", 0) + 1
    state["eta_t"] = first / (1 + decay * first * t) ** config.get("alpha", 0.75)
    state["mu_t"] = 1 / max(1, t - config.get("t0", 1e6))
    return x, fx, mean


def _moments(name, config, state, opfunc, x, rate, epsilon):
    """What `adam` and `adamax` begin with: the function, the gradient, the count, the rate and the options."""
    config, state = begun(name, config, state)
    fx, gradient = opfunc(x)
    state["t"] = state.get("t", 0) + 1
    beta1, beta2 = config.get("beta1", 0.9), config.get("beta2", 0.999)
    rate = config.get("learningRate", rate) / (1 - beta1 ** state["t"])
    return fx, gradient, state, rate, beta1, beta2, config.get("epsilon", epsilon), config.get("weightDecay", 0)


def adam(opfunc, x, config, state=None):
    """A step scaled by running means of the gradient and of its square (Kingma and Ba 2015).

    `epsilon` is added where Torch7 adds it, to the root before its bias is corrected.

    Args:
        opfunc: gives the function and its gradient at x.
        x: the point, changed in place.
        config: a dict of `learningRate` (1e-3), `beta1` (0.9), `beta2` (0.999), `epsilon` (1e-8), `weightDecay` (0).
        state: a dict that is changed: `t`, `m`, `v`; in `config` when None.

    Returns:
        x, and the function before the step.

    Raises:
        ValueError: no dict.

    Example:
        >>> import numtorch as torch
        >>> x = torch.ones(2)
        >>> torch.legacy.optim.adam(lambda x: ((x * x).sum().item(), 2 * x), x, {"learningRate": 0.25})
        (tensor([0.7500, 0.7500]), 2.0)
    """
    fx, gradient, state, rate, beta1, beta2, epsilon, decay = _moments("adam", config, state, opfunc, x, 1e-3, 1e-8)
    root = (1 - beta2 ** state["t"]) ** -0.5
    run_rule("adam", Adam.adam, x, gradient, [_of(state, "m", x), _of(state, "v", x)],
             (rate, root, epsilon * root, 1 - beta1, beta2, 1 - beta2), decay=decay)
    return x, fx


def adamax(opfunc, x, config, state=None):
    """A step scaled by a fading maximum of the gradient (Kingma and Ba 2015, section 7).

    Args:
        opfunc: gives the function and its gradient at x.
        x: the point, changed in place.
        config: a dict of `learningRate` (2e-3), `beta1` (0.9), `beta2` (0.999), `epsilon` (1e-38), `weightDecay` (0).
        state: a dict that is changed: `t`, `m`, `u`; in `config` when None.

    Returns:
        x, and the function before the step.

    Raises:
        ValueError: no dict.

    Example:
        >>> import numtorch as torch
        >>> x = torch.ones(2)
        >>> torch.legacy.optim.adamax(lambda x: ((x * x).sum().item(), 2 * x), x, {"learningRate": 0.25})
        (tensor([0.7500, 0.7500]), 2.0)
    """
    fx, gradient, state, rate, beta1, beta2, epsilon, decay = _moments("adamax", config, state, opfunc, x, 2e-3, 1e-38)
    run_rule("adamax", Adamax.adamax, x, gradient, [_of(state, "m", x), _of(state, "u", x)],
             (rate, epsilon, 1 - beta1, beta2, 1 - beta2), decay=decay)
    return x, fx


def adagrad(opfunc, x, config, state=None):
    """A step over the root of the sum of all squared gradients so far (Duchi et al. 2011).

    Args:
        opfunc: gives the function and its gradient at x.
        x: the point, changed in place.
        config: a dict of `learningRate` (1e-3), `learningRateDecay` (0), `weightDecay` (0).
        state: a dict that is changed: `evalCounter`, `paramVariance`; in `config` when None.

    Returns:
        x, and the function before the step.

    Raises:
        ValueError: no dict.

    Example:
        >>> import numtorch as torch
        >>> x = torch.ones(2)
        >>> torch.legacy.optim.adagrad(lambda x: ((x * x).sum().item(), 2 * x), x, {"learningRate": 0.25})
        (tensor([0.7500, 0.7500]), 2.0)
    """
    config, state = begun("adagrad", config, state)
    fx, gradient = opfunc(x)
    run_rule("adagrad", Adagrad.adagrad, x, gradient, [_of(state, "paramVariance", x)],
             (_decayed_rate(config, state, 1e-3), 1e-10), decay=config.get("weightDecay", 0))
    return x, fx


def adadelta(opfunc, x, config, state=None):
    """A step as long as the last ones were, by running means of squared steps and gradients (Zeiler 2012).

    Args:
        opfunc: gives the function and its gradient at x.
        x: the point, changed in place.
        config: a dict of `rho` (0.9), `eps` (1e-6), `weightDecay` (0).
        state: a dict that is changed: `evalCounter`, `paramVariance`, `accDelta`; in `config` when None.

    Returns:
        x, and the function before the step.

    Raises:
        ValueError: no dict.

    Example:
        >>> import numtorch as torch
        >>> x = torch.ones(2)
        >>> torch.legacy.optim.adadelta(lambda x: ((x * x).sum().item(), 2 * x), x, {"eps": 1e-2})
        (tensor([0.6877, 0.6877]), 2.0)
    """
    config, state = begun("adadelta", config, state)
    rho = config.get("rho", 0.9)
    fx, gradient = opfunc(x)
    run_rule("adadelta", Adadelta.adadelta, x, gradient, [_of(state, "paramVariance", x), _of(state, "accDelta", x)],
             (1.0, rho, 1 - rho, config.get("eps", 1e-6)), decay=config.get("weightDecay", 0))
    state["evalCounter"] = state.get("evalCounter", 0) + 1
    return x, fx


def rmsprop(opfunc, x, config, state=None):
    """A step over the root of a running mean of squared gradients (Tieleman and Hinton 2012).

    Args:
        opfunc: gives the function and its gradient at x.
        x: the point, changed in place.
        config: a dict of `learningRate` (1e-2), `alpha` (0.99), `epsilon` (1e-8), `weightDecay` (0).
        state: a dict that is changed: `m`; in `config` when None.

    Returns:
        x, and the function before the step.

    Raises:
        ValueError: no dict.

    Example:
        >>> import numtorch as torch
        >>> x = torch.ones(2)
        >>> torch.legacy.optim.rmsprop(lambda x: ((x * x).sum().item(), 2 * x), x, {"learningRate": 0.05})
        (tensor([0.5000, 0.5000]), 2.0)
    """
    config, state = begun("rmsprop", config, state)
    rate, epsilon, alpha = config.get("learningRate", 1e-2), config.get("epsilon", 1e-8), config.get("alpha", 0.99)
    fx, gradient = opfunc(x)
    run_rule("rmsprop", RMSprop.rules[False, False], x, gradient, [_of(state, "m", x)], (rate, epsilon, 0, alpha, 1 - alpha),
             decay=config.get("weightDecay", 0))
    return x, fx


def rprop(opfunc, x, config, state=None):
    """Steps by the gradient's sign alone, longer while it stays and shorter after it has changed (Riedmiller and Braun 1993).

    Args:
        opfunc: gives the function and its gradient at x.
        x: the point, changed in place.
        config: a dict of `stepsize` (0.1), the first steps' size; `etaplus` (1.2) and `etaminus` (0.5), its factors;
            `stepsizemax` (50) and `stepsizemin` (1e-6); `niter` (1), how many steps.
        state: a dict that is changed: `delta`, the last gradient, and `stepsize`; in `config` when None.

    Returns:
        x, and a list of the function before each step.

    Raises:
        ValueError: no dict.

    Example:
        >>> import numtorch as torch
        >>> x = torch.ones(2)
        >>> torch.legacy.optim.rprop(lambda x: ((x * x).sum().item(), 2 * x), x, {"stepsize": 0.25}, {})
        (tensor([0.7500, 0.7500]), [2.0])
    """
    config, state = begun("rprop", config, state)
    factors = [config.get(name, default) for name, default in
               (("etaminus", 0.5), ("etaplus", 1.2), ("stepsizemin", 1e-6), ("stepsizemax", 50.0))]
    history = []
    for _ in range(config.get("niter", 1)):
        fx, gradient = opfunc(x)
        if "delta" not in state:
            state["stepsize"] = full_like(x, config.get("stepsize", 0.1))
        run_rule("rprop", Rprop.rprop, x, gradient, [_of(state, "delta", x), state["stepsize"]], factors)
        history.append(fx)
    return x, history
