"""Adam and what grew out of it: AdamW, Adamax, NAdam, RAdam."""
from __future__ import annotations

from ..kernels.intrinsics import fabs, fmax, sqrt
from .check import betas_below_one, not_negative
from .rule import Rule, RuleOptimizer


def _means(g, exp_avg, exp_avg_sq, one_minus_beta1, beta2, one_minus_beta2):
    """The running means of the gradient and of its square."""
    return exp_avg + one_minus_beta1 * (g - exp_avg), beta2 * exp_avg_sq + one_minus_beta2 * g * g


def _adam(p, g, exp_avg, exp_avg_sq, lr, root, eps, one_minus_beta1, beta2, one_minus_beta2):
    m, v = _means(g, exp_avg, exp_avg_sq, one_minus_beta1, beta2, one_minus_beta2)
    return p - lr * m / (sqrt(v) * root + eps), m, v


def _amsgrad(p, g, exp_avg, exp_avg_sq, largest, lr, root, eps, one_minus_beta1, beta2, one_minus_beta2):
    m, v = _means(g, exp_avg, exp_avg_sq, one_minus_beta1, beta2, one_minus_beta2)
    top = fmax(largest, v)
    return p - lr * m / (sqrt(top) * root + eps), m, v, top


class _WithMeans(RuleOptimizer):
    """What the family shares: its options' checks, and the coefficients of the running means."""

    def __init__(self, params, lr, betas, eps, weight_decay, **options) -> None:
        not_negative(lr=lr, eps=eps, weight_decay=weight_decay)
        betas_below_one(betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, **options))

    def coefficients(self, group, batch):
        beta1, beta2 = group["betas"]
        beta1, beta2, step = self.number(beta1), self.number(beta2), batch.next_step()
        return *self.rates(group, batch, step, beta1, beta2), 1.0 - beta1, beta2, 1.0 - beta2

    def rates(self, group, batch, step, beta1, beta2) -> tuple:
        """The coefficients that change with the steps, and eps.

        Args:
            group, batch: as for `coefficients`.
            step: the number of the step, from 1.
            beta1, beta2: how much of the means is carried on.
        """
        raise NotImplementedError


class Adam(_WithMeans):
    """Steps scaled by running means of the gradient and of its square (Kingma and Ba 2015).

    Args:
        params: parameters, pairs of names and parameters, or dicts with "params" and options of their own.
        lr: the learning rate.
        betas: how much of each running mean is carried on.
        eps: added to the denominator.
        weight_decay: its multiple of the parameter is added to the gradient.
        amsgrad: scale by the largest running mean so far (Reddi et al. 2018).
        maximize: go up instead of down.
        decoupled_weight_decay: shrink the parameter instead, as `AdamW` does.
        foreach, capturable, fused: nothing here, where every step is one kernel call for all parameters.
        differentiable: record steps, to differentiate what they give by gradients, states, `lr` and decay. Parameters then are no
            leaves that require grad.

    State of a parameter: `step`, `exp_avg`, `exp_avg_sq`, and `max_exp_avg_sq` with amsgrad.

    Raises:
        ValueError: an option out of range.
        NotImplementedError: a `differentiable` step of a sparse gradient.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.ones(2))
        >>> optimizer = torch.optim.Adam([p], lr=0.25)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.detach()
        tensor([0.7500, 0.7500])
    """

    adam = Rule(_adam, ("exp_avg", "exp_avg_sq"))
    largest = Rule(_amsgrad, ("exp_avg", "exp_avg_sq", "max_exp_avg_sq"))

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *,
                 foreach=None, maximize: bool = False, capturable: bool = False, differentiable: bool = False, fused=None,
                 decoupled_weight_decay: bool = False) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad=amsgrad, maximize=maximize, foreach=foreach,
                         capturable=capturable, differentiable=differentiable, fused=fused,
                         decoupled_weight_decay=decoupled_weight_decay)

    def of_rows(self, parameter, grad, group, rule):
        raise RuntimeError("Adam does not support sparse gradients, please consider SparseAdam instead")

    def rule(self, group):
        return self.largest if group["amsgrad"] else self.adam

    def rates(self, group, batch, step, beta1, beta2):
        return self.number(group["lr"]) / (1.0 - beta1 ** step), (1.0 - beta2 ** step) ** -0.5, group["eps"]


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters apart from the gradient: p -= lr * weight_decay * p (Loshchilov and Hutter
    2019).

    Args:
        params: parameters, pairs of names and parameters, or dicts with "params" and options of their own.
        lr: the learning rate.
        betas: how much of each running mean is carried on.
        eps: added to the denominator.
        weight_decay: how much parameters shrink, times lr, in a step.
        amsgrad: scale by the largest running mean so far (Reddi et al. 2018).
        maximize: go up instead of down.
        foreach, capturable, fused: nothing here, where every step is one kernel call for all parameters.
        differentiable: record steps, to differentiate what they give by gradients, states, `lr` and decay. Parameters then are no
            leaves that require grad.

    State of a parameter: as of `Adam`.

    Raises:
        ValueError: an option out of range.
        NotImplementedError: a `differentiable` step of a sparse gradient.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.ones(2))
        >>> optimizer = torch.optim.AdamW([p], lr=0.25, weight_decay=0.4)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.detach()
        tensor([0.6500, 0.6500])
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *,
                 maximize: bool = False, foreach=None, capturable: bool = False, differentiable: bool = False, fused=None) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                         differentiable=differentiable, fused=fused, decoupled_weight_decay=True)


def _adamax(p, g, exp_avg, exp_inf, lr, eps, one_minus_beta1, beta2, one_minus_beta2):
    m, largest = exp_avg + one_minus_beta1 * (g - exp_avg), fmax(beta2 * exp_inf, fabs(g) + eps)
    return p - lr * m / largest, m, largest


class Adamax(_WithMeans):
    """Adam scaled by a fading maximum of the gradient (Kingma and Ba 2015, section 7).

    Args:
        params: parameters, pairs of names and parameters, or dicts with "params" and options of their own.
        lr: the learning rate.
        betas: how much of the running mean and of the maximum is carried on.
        eps: added to the gradient's magnitude.
        weight_decay: its multiple of the parameter is added to the gradient.
        maximize: go up instead of down.
        foreach, capturable: nothing here, where every step is one kernel call for all parameters.
        differentiable: record steps, to differentiate what they give by gradients, states, `lr` and decay. Parameters then are no
            leaves that require grad.

    State of a parameter: `step`, `exp_avg`, `exp_inf`.

    Raises:
        ValueError: an option out of range.
        NotImplementedError: a `differentiable` step of a sparse gradient.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.ones(2))
        >>> optimizer = torch.optim.Adamax([p], lr=0.25)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.detach()
        tensor([0.7500, 0.7500])
    """

    adamax = Rule(_adamax, ("exp_avg", "exp_inf"))

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0, foreach=None, *,
                 maximize: bool = False, differentiable: bool = False, capturable: bool = False) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, foreach=foreach, maximize=maximize, differentiable=differentiable,
                         capturable=capturable)

    def rule(self, group):
        return self.adamax

    def rates(self, group, batch, step, beta1, beta2):
        return self.number(group["lr"]) / (1.0 - beta1 ** step), group["eps"]


def _nadam(p, g, exp_avg, exp_avg_sq, by_gradient, by_mean, root, eps, one_minus_beta1, beta2, one_minus_beta2):
    m, v = _means(g, exp_avg, exp_avg_sq, one_minus_beta1, beta2, one_minus_beta2)
    return p - (by_gradient * g + by_mean * m) / (sqrt(v) * root + eps), m, v


class NAdam(_WithMeans):
    """Adam with Nesterov's momentum (Dozat 2016).

    Args:
        params: parameters, pairs of names and parameters, or dicts with "params" and options of their own.
        lr: the learning rate.
        betas: how much of each running mean is carried on.
        eps: added to the denominator.
        weight_decay: its multiple of the parameter is added to the gradient.
        momentum_decay: how fast momentum warms up: at step t it is beta1 (1 - 0.96^(t momentum_decay) / 2).
        decoupled_weight_decay: shrink the parameter instead, as `AdamW` does.
        maximize: go up instead of down.
        foreach, capturable: nothing here, where every step is one kernel call for all parameters.
        differentiable: record steps, to differentiate what they give by gradients, states, `lr` and decay. Parameters then are no
            leaves that require grad.

    State of a parameter: `step`, `mu_product`, `exp_avg`, `exp_avg_sq`.

    Raises:
        ValueError: an option out of range.
        NotImplementedError: a `differentiable` step of a sparse gradient.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.ones(2))
        >>> optimizer = torch.optim.NAdam([p], lr=0.25)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.detach()
        tensor([0.7359, 0.7359])
    """

    counts = {"step": 0.0, "mu_product": 1.0}
    nadam = Rule(_nadam, ("exp_avg", "exp_avg_sq"))

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
                 momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *, foreach=None,
                 maximize: bool = False, capturable: bool = False, differentiable: bool = False) -> None:
        not_negative(momentum_decay=momentum_decay)
        super().__init__(params, lr, betas, eps, weight_decay, momentum_decay=momentum_decay,
                         decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach, capturable=capturable,
                         differentiable=differentiable)

    def rule(self, group):
        return self.nadam

    def rates(self, group, batch, step, beta1, beta2):
        lr, decay, products = self.number(group["lr"]), group["momentum_decay"], batch.counts["mu_product"]
        mu, following = (beta1 * (1.0 - 0.5 * 0.96 ** (s * decay)) for s in (step, step + 1))
        products *= mu
        product = float(products[0])
        return (lr * (1.0 - mu) / (1.0 - product), lr * following / (1.0 - product * following),
                (1.0 - beta2 ** step) ** -0.5, group["eps"])


def _radam(p, g, exp_avg, exp_avg_sq, scaled, plain, eps, one_minus_beta1, beta2, one_minus_beta2):
    m, v = _means(g, exp_avg, exp_avg_sq, one_minus_beta1, beta2, one_minus_beta2)
    return p - m * (scaled / (sqrt(v) + eps) + plain), m, v


class RAdam(_WithMeans):
    """Adam whose first steps are not scaled, while the mean of squares is too uncertain (Liu et al. 2020).

    Args:
        params: parameters, pairs of names and parameters, or dicts with "params" and options of their own.
        lr: the learning rate.
        betas: how much of each running mean is carried on.
        eps: added to the denominator.
        weight_decay: its multiple of the parameter is added to the gradient.
        decoupled_weight_decay: shrink the parameter instead, as `AdamW` does.
        maximize: go up instead of down.
        foreach, capturable: nothing here, where every step is one kernel call for all parameters.
        differentiable: record steps, to differentiate what they give by gradients, states, `lr` and decay. Parameters then are no
            leaves that require grad.

    State of a parameter: `step`, `exp_avg`, `exp_avg_sq`.

    Raises:
        ValueError: an option out of range.
        NotImplementedError: a `differentiable` step of a sparse gradient.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.ones(2))
        >>> optimizer = torch.optim.RAdam([p], lr=0.25)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.detach()
        tensor([0.5000, 0.5000])
    """

    radam = Rule(_radam, ("exp_avg", "exp_avg_sq"))

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
                 decoupled_weight_decay: bool = False, *, foreach=None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, maximize=maximize, foreach=foreach, capturable=capturable,
                         decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable)

    def rule(self, group):
        return self.radam

    def rates(self, group, batch, step, beta1, beta2):
        rate, left = self.number(group["lr"]) / (1.0 - beta1 ** step), 1.0 - beta2 ** step
        most = 2.0 / (1.0 - beta2) - 1.0                 # rho of the paper: how many squares a long mean stands for
        now = most - 2.0 * step * beta2 ** step / left
        if now <= 5.0:
            return 0.0, rate, group["eps"]
        certain = ((now - 4) * (now - 2) * most / ((most - 4) * (most - 2) * now)) ** 0.5
        return rate * certain * left ** 0.5, 0.0, group["eps"]
