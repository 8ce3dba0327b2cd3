"""Rates of each element's own, by the squares of its gradients: Adagrad, RMSprop and Adadelta; and Rprop, by their signs."""
from __future__ import annotations

from ..kernels.intrinsics import select, sqrt
from ..ops.creation.fill import full_like
from .check import not_negative
from .rows import RowBatch
from .rule import Rule, RuleOptimizer


def _both(value, parameter):
    """A number for a state of this parameter; a complex one is two numbers."""
    return complex(value, value) if parameter.layout.dtype.is_complex else value


def _adagrad(p, g, total, lr, eps):
    total = total + g * g
    return p - lr * g / (sqrt(total) + eps), total


class Adagrad(RuleOptimizer):
    """Steps divided by the root of the sum of all squared gradients so far (Duchi et al. 2011).

    Args:
        params: parameters, pairs of names and parameters, or dicts with "params" and options of their own.
        lr: the learning rate.
        lr_decay: at step t the rate is lr / (1 + (t - 1) lr_decay).
        weight_decay: its multiple of the parameter is added to the gradient.
        initial_accumulator_value: what the sums begin with.
        eps: added to the denominator.
        maximize: go up instead of down.
        foreach, fused: nothing here, where every step is one kernel call for all parameters.
        differentiable: record steps, to differentiate what they give by gradients, states, `lr` and decay. Parameters then are no
            leaves that require grad.

    State of a parameter: `step`, `sum`.

    Raises:
        ValueError: a negative option.
        NotImplementedError: a `differentiable` step of a sparse gradient.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.ones(2))
        >>> optimizer = torch.optim.Adagrad([p], lr=0.25)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.detach()
        tensor([0.7500, 0.7500])
    """

    adagrad = Rule(_adagrad, ("sum",))

    def __init__(self, params, lr=1e-2, lr_decay: float = 0, weight_decay: float = 0, initial_accumulator_value: float = 0,
                 eps: float = 1e-10, foreach=None, *, maximize: bool = False, differentiable: bool = False, fused=None) -> None:
        not_negative(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value,
                     eps=eps)
        super().__init__(params, dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
                                      initial_accumulator_value=initial_accumulator_value, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, fused=fused))
        for group in self.param_groups:                  # at once, as in PyTorch, whose saved state has those without gradients too
            for parameter in group["params"]:
                self.begin(parameter, group)

    def rule(self, group):
        return self.adagrad

    def of_rows(self, parameter, grad, group, rule):
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        self.begin(parameter, group)
        return RowBatch(self, rule, parameter, grad, self.state[parameter])

    def first(self, name, parameter, group):
        return full_like(parameter.detach(), _both(group["initial_accumulator_value"], parameter))

    def coefficients(self, group, batch):
        return self.number(group["lr"]) / (1 + (batch.next_step() - 1) * group["lr_decay"]), group["eps"]


def _rmsprop(p, g, square_avg, lr, eps, momentum, alpha, rest):
    square_avg = alpha * square_avg + rest * g * g
    return p - lr * g / (sqrt(square_avg) + eps), square_avg


def _rmsprop_momentum(p, g, square_avg, buffer, lr, eps, momentum, alpha, rest):
    square_avg = alpha * square_avg + rest * g * g
    buffer = momentum * buffer + g / (sqrt(square_avg) + eps)
    return p - lr * buffer, square_avg, buffer


def _centered(p, g, square_avg, grad_avg, lr, eps, momentum, alpha, rest):
    square_avg, grad_avg = alpha * square_avg + rest * g * g, grad_avg + rest * (g - grad_avg)
    return p - lr * g / (sqrt(square_avg - grad_avg * grad_avg) + eps), square_avg, grad_avg


def _centered_momentum(p, g, square_avg, grad_avg, buffer, lr, eps, momentum, alpha, rest):
    square_avg, grad_avg = alpha * square_avg + rest * g * g, grad_avg + rest * (g - grad_avg)
    buffer = momentum * buffer + g / (sqrt(square_avg - grad_avg * grad_avg) + eps)
    return p - lr * buffer, square_avg, grad_avg, buffer


class RMSprop(RuleOptimizer):
    """Steps divided by the root of a running mean of squared gradients (Tieleman and Hinton 2012).

    Args:
        params: parameters, pairs of names and parameters, or dicts with "params" and options of their own.
        lr: the learning rate.
        alpha: how much of the running mean is carried on.
        eps: added to the denominator.
        weight_decay: its multiple of the parameter is added to the gradient.
        momentum: how much of the last update is carried on.
        centered: divide by the deviation from the running mean of the gradient instead (Graves 2013).
        maximize: go up instead of down.
        capturable, foreach: nothing here, where every step is one kernel call for all parameters.
        differentiable: record steps, to differentiate what they give by gradients, states, `lr` and decay. Parameters then are no
            leaves that require grad.

    State of a parameter: `step`, `square_avg`, `momentum_buffer` with momentum, `grad_avg` where centered.

    Raises:
        ValueError: a negative option.
        NotImplementedError: a `differentiable` step of a sparse gradient.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.ones(2))
        >>> optimizer = torch.optim.RMSprop([p], lr=0.05)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.detach()
        tensor([0.5000, 0.5000])
    """

    rules = {(False, False): Rule(_rmsprop, ("square_avg",)),
             (False, True): Rule(_rmsprop_momentum, ("square_avg", "momentum_buffer")),
             (True, False): Rule(_centered, ("square_avg", "grad_avg")),
             (True, True): Rule(_centered_momentum, ("square_avg", "grad_avg", "momentum_buffer"))}

    def __init__(self, params, lr=1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0, momentum: float = 0,
                 centered: bool = False, capturable: bool = False, foreach=None, maximize: bool = False,
                 differentiable: bool = False) -> None:
        not_negative(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered, weight_decay=weight_decay,
                                      capturable=capturable, foreach=foreach, maximize=maximize, differentiable=differentiable))

    def rule(self, group):
        return self.rules[bool(group["centered"]), group["momentum"] > 0]

    def coefficients(self, group, batch):
        batch.next_step()
        return self.number(group["lr"]), group["eps"], group["momentum"], group["alpha"], 1 - group["alpha"]


def _adadelta(p, g, square_avg, acc_delta, lr, rho, rest, eps):
    square_avg = rho * square_avg + rest * g * g
    delta = sqrt(acc_delta + eps) / sqrt(square_avg + eps) * g
    return p - lr * delta, square_avg, rho * acc_delta + rest * delta * delta


class Adadelta(RuleOptimizer):
    """Steps as long as the last ones were, by running means of squared steps and gradients (Zeiler 2012).

    Args:
        params: parameters, pairs of names and parameters, or dicts with "params" and options of their own.
        lr: a factor of every step.
        rho: how much of the running means is carried on.
        eps: added below both roots.
        weight_decay: its multiple of the parameter is added to the gradient.
        maximize: go up instead of down.
        foreach, capturable: nothing here, where every step is one kernel call for all parameters.
        differentiable: record steps, to differentiate what they give by gradients, states, `lr` and decay. Parameters then are no
            leaves that require grad.

    State of a parameter: `step`, `square_avg`, `acc_delta`.

    Raises:
        ValueError: a negative option, or a rho above 1.
        NotImplementedError: a `differentiable` step of a sparse gradient.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.ones(2))
        >>> optimizer = torch.optim.Adadelta([p], lr=100.0)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.detach()
        tensor([0.6838, 0.6838])
    """

    adadelta = Rule(_adadelta, ("square_avg", "acc_delta"))

    def __init__(self, params, lr=1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0, foreach=None, *,
                 capturable: bool = False, maximize: bool = False, differentiable: bool = False) -> None:
        not_negative(lr=lr, eps=eps, weight_decay=weight_decay)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize, capturable=capturable,
                                      foreach=foreach, differentiable=differentiable))

    def rule(self, group):
        return self.adadelta

    def coefficients(self, group, batch):
        batch.next_step()
        return self.number(group["lr"]), group["rho"], 1 - group["rho"], group["eps"]


def _rprop(p, g, prev, step_size, shrinking, growing, smallest, largest):
    agreed = g * prev
    size = step_size * select(agreed > 0, growing, select(agreed < 0, shrinking, 1.0))
    size = select(size < smallest, smallest, select(size > largest, largest, size))
    g = select(agreed < 0, 0.0, g)
    return p - select(g > 0, size, select(g < 0, -size, g)), g, size


class Rprop(RuleOptimizer):
    """Steps by the gradient's sign alone, longer while it stays the same and shorter after it has changed (Riedmiller and Braun
    1993).

    Args:
        params: parameters, pairs of names and parameters, or dicts with "params" and options of their own.
        lr: the first steps' size.
        etas: factors of a step's size after a changed sign and after the same.
        step_sizes: the smallest and the largest.
        maximize: go up instead of down.
        capturable, foreach: nothing here, where every step is one kernel call for all parameters.
        differentiable: record steps, to differentiate what they give by gradients, states, `lr` and decay. Parameters then are no
            leaves that require grad.

    State of a parameter: `step`, `prev` (the last gradient), `step_size`.

    Raises:
        ValueError: a negative rate, or etas that are not below and above 1.
        NotImplementedError: a `differentiable` step of a sparse gradient.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.ones(2))
        >>> optimizer = torch.optim.Rprop([p], lr=0.25)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.detach()
        tensor([0.7500, 0.7500])
    """

    rprop = Rule(_rprop, ("prev", "step_size"))

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable: bool = False, foreach=None,
                 maximize: bool = False, differentiable: bool = False) -> None:
        not_negative(lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))

    def rule(self, group):
        return self.rprop

    def first(self, name, parameter, group):
        return full_like(parameter.detach(), _both(float(group["lr"]) if name == "step_size" else 0.0, parameter))

    def coefficients(self, group, batch):
        batch.next_step()
        return *map(float, group["etas"]), *map(float, group["step_sizes"])
