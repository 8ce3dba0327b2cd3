"""Stochastic gradient descent, and its running mean."""
from __future__ import annotations

from .check import not_negative
from .rows import AddedRows, MomentumRows
from .rule import Rule, RuleOptimizer


def _plain(p, g, lr):
    return p - lr * g


def _with_momentum(p, g, buffer, lr, momentum, kept):
    buffer = momentum * buffer + kept * g
    return p - lr * buffer, buffer


def _nesterov(p, g, buffer, lr, momentum, kept):
    buffer = momentum * buffer + kept * g
    return p - lr * (g + momentum * buffer), buffer


class SGD(RuleOptimizer):
    """p -= lr * g, with momentum and weight decay as PyTorch has them.

    Args:
        params: parameters, pairs of names and parameters, or dicts with "params" and options of their own.
        lr: the learning rate.
        momentum: how much of the last update is carried on.
        dampening: how much of the gradient is left out of the momentum buffer.
        weight_decay: its multiple of the parameter is added to the gradient.
        nesterov: look ahead (Sutskever et al. 2013); wants momentum and no dampening.
        maximize: go up instead of down.
        foreach, fused: nothing here, where every step is one kernel call for all parameters.
        differentiable: record steps, to differentiate what they give by gradients, states, `lr` and decay. Parameters then are no
            leaves that require grad.

    State of a parameter: `momentum_buffer`, with momentum.

    Raises:
        ValueError: a negative rate, momentum or decay, or nesterov without what it wants.
        NotImplementedError: a `differentiable` step of a sparse gradient.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.ones(2))
        >>> optimizer = torch.optim.SGD([p], lr=0.25)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.detach()
        tensor([0.5000, 0.5000])
    """

    counts = {}
    plain, heavy, nesterov = Rule(_plain), Rule(_with_momentum, ("momentum_buffer",)), Rule(_nesterov, ("momentum_buffer",))

    def __init__(self, params, lr=1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0, nesterov: bool = False,
                 *, maximize: bool = False, foreach=None, differentiable: bool = False, fused=None) -> None:
        not_negative(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
                                      maximize=maximize, foreach=foreach, differentiable=differentiable, fused=fused))

    def of_rows(self, parameter, grad, group, rule):
        if group["weight_decay"]:
            raise RuntimeError("SGD: weight_decay option is not compatible with sparse gradients")
        if rule is self.plain:
            return AddedRows(parameter, grad)
        return MomentumRows(parameter, grad, self.state[parameter], group["nesterov"])

    def rule(self, group):
        return self.plain if not group["momentum"] else self.nesterov if group["nesterov"] else self.heavy

    def coefficients(self, group, batch):
        lr, momentum = self.number(group["lr"]), group["momentum"]
        if not momentum:
            return (lr,)
        return lr, momentum, 1.0 if batch.fresh else 1.0 - group["dampening"]     # the first step's buffer is the gradient itself


def _averaged(p, g, ax, eta, mu):
    p = p - eta * g
    return p, p if mu == 1 else ax + mu * (p - ax)


class ASGD(RuleOptimizer):
    """SGD with a falling rate and a running mean of the parameters, in the state as `ax` (Polyak and Juditsky 1992).

    Args:
        params: parameters, pairs of names and parameters, or dicts with "params" and options of their own.
        lr: the first learning rate.
        lambd: decay of the parameters, and of the rate.
        alpha: the power with which the rate falls.
        t0: the step from which the mean is taken.
        weight_decay: its multiple of the parameter is added to the gradient.
        maximize: go up instead of down.
        foreach, capturable: nothing here, where every step is one kernel call for all parameters.
        differentiable: record steps, to differentiate what they give by gradients, states, `lr` and decay. Parameters then are no
            leaves that require grad.

    State of a parameter: `step`, `eta` (the rate), `mu` (the share of a step in the mean), `ax`.

    Raises:
        ValueError: a negative rate or decay.
        NotImplementedError: a `differentiable` step of a sparse gradient.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.ones(2))
        >>> optimizer = torch.optim.ASGD([p], lr=0.25)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.detach()
        tensor([0.5000, 0.5000])
    """

    counts = {"step": 0.0, "eta": 0.0, "mu": 1.0}
    averaged = Rule(_averaged, ("ax",))

    def __init__(self, params, lr=1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6, weight_decay: float = 0,
                 foreach=None, maximize: bool = False, differentiable: bool = False, capturable: bool = False) -> None:
        not_negative(lr=lr, weight_decay=weight_decay)
        super().__init__(params, dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach,
                                      maximize=maximize, differentiable=differentiable, capturable=capturable))

    def rule(self, group):
        return self.averaged

    def first_count(self, name, group):
        return float(group["lr"]) if name == "eta" else super().first_count(name, group)

    def shared(self, group):
        return super().shared(group)[:2]                 # the third changes with the steps: the first of the coefficients

    def coefficients(self, group, batch):
        step, lr, lambd = batch.next_step(), float(group["lr"]), group["lambd"]            # a number, as the state keeps it
        etas, mus = batch.counts["eta"], batch.counts["mu"]
        eta, mu = float(etas[0]), float(mus[0])
        etas[:], mus[:] = lr / (1 + lambd * lr * step) ** group["alpha"], 1 / max(1, step - group["t0"])
        return 1 - lambd * eta, eta, mu
