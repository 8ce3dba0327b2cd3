"""Adam and AdamW."""
from __future__ import annotations

from ..ops.creation import zeros_like
from .optimizer import Optimizer, new_step


class Adam(Optimizer):
    """Steps scaled by running means of the gradient and of its square (Kingma and Ba 2015).

    Args:
        params: parameters or groups of them.
        lr: the learning rate.
        betas: how much of each running mean is carried on.
        eps: added to the denominator.
        weight_decay: added to the gradient times the parameter.
        amsgrad: scale by the largest running mean so far (Reddi et al. 2018).
        maximize: go up instead of down.
        decoupled_weight_decay: shrink the parameter instead, as `AdamW` does.

    Raises:
        ValueError: an option out of range.
    """

    planner = "plan_adam"

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *,
                 foreach=None, maximize: bool = False, capturable: bool = False, differentiable: bool = False, fused=None,
                 decoupled_weight_decay: bool = False):
        for name, value in (("learning rate", lr), ("epsilon value", eps), ("weight_decay value", weight_decay)):
            if value < 0:
                raise ValueError(f"Invalid {name}: {value}")
        for place, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {place}: {beta}")
        if differentiable:
            raise NotImplementedError(f"{type(self).__name__}: differentiable steps are not supported")
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize,
                                      foreach=foreach, capturable=capturable, differentiable=differentiable, fused=fused,
                                      decoupled_weight_decay=decoupled_weight_decay))

    def _key(self, parameter, state):
        return float(state["step"])

    def _start(self, parameter, group):
        state = self.state[parameter]
        if not state:
            state["step"] = new_step()
            state["exp_avg"], state["exp_avg_sq"] = zeros_like(parameter.detach()), zeros_like(parameter.detach())
        if group["amsgrad"] and "max_exp_avg_sq" not in state:
            state["max_exp_avg_sq"] = zeros_like(parameter.detach())
        return state

    def _columns(self, group, state):
        return [state["exp_avg"], state["exp_avg_sq"], state["max_exp_avg_sq"] if group["amsgrad"] else None]

    def step(self, closure=None):
        loss = self._loss(closure) if closure is not None or self._hooks is not None else None
        for number, group in enumerate(self.param_groups):
            beta1, beta2 = group["betas"]
            options = (group["lr"], beta1, beta2, group["eps"], group["weight_decay"], group["maximize"],
                       group["decoupled_weight_decay"])
            for batch in self._batches(number, group, group["amsgrad"]):
                if options != batch.options:
                    batch.options = options
                    batch.hyper[:7] = [float(o) for o in options]
                batch.steps += 1
                batch.hyper[7] = batch.steps[0]
                batch.run()
        return loss if self._hooks is None else self._done(loss)


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters apart from the gradient (Loshchilov and Hutter 2019).

    Arguments as for `Adam`, but for a weight decay of 0.01 by default.
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *,
                 maximize: bool = False, foreach=None, capturable: bool = False, differentiable: bool = False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                         differentiable=differentiable, fused=fused, decoupled_weight_decay=True)
