"""Stochastic gradient descent."""
from __future__ import annotations

from ..ops.creation import empty_like
from .optimizer import Optimizer


class SGD(Optimizer):
    """p -= lr * g, with momentum and weight decay as PyTorch has them.

    Args:
        params: parameters or groups of them.
        lr: the learning rate.
        momentum: how much of the last update is carried on.
        dampening: how much of the gradient is left out of the momentum buffer.
        weight_decay: added to the gradient times the parameter.
        nesterov: look ahead (Sutskever et al. 2013); wants momentum and no dampening.
        maximize: go up instead of down.

    Raises:
        ValueError: a negative rate, momentum or decay, or nesterov without what it wants.
    """

    planner = "plan_sgd"

    def __init__(self, params, lr=1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0, nesterov: bool = False,
                 *,
                 maximize: bool = False, foreach=None, differentiable: bool = False, fused=None):
        for name, value in (("learning rate", lr), ("momentum value", momentum), ("weight_decay value", weight_decay)):
            if value < 0:
                raise ValueError(f"Invalid {name}: {value}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        if differentiable:
            raise NotImplementedError("SGD: differentiable steps are not supported")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
                                      maximize=maximize, foreach=foreach, differentiable=differentiable, fused=fused))

    def _key(self, parameter, state):
        return state.get("momentum_buffer") is None

    def _start(self, parameter, group):
        if not group["momentum"]:
            return {}
        self.state[parameter].setdefault("momentum_buffer", None)
        return self.state[parameter]

    def _columns(self, group, state):
        return [state["momentum_buffer"] if group["momentum"] else None]

    def step(self, closure=None):
        loss = self._loss(closure) if closure is not None or self._hooks is not None else None
        for number, group in enumerate(self.param_groups):
            momentum = group["momentum"]
            for batch in self._batches(number, group, bool(momentum)):
                if momentum and batch.options is None and batch.states[0]["momentum_buffer"] is None:
                    self._make_buffers(batch)
                options = (group["lr"], momentum, group["dampening"], group["weight_decay"], group["nesterov"], group["maximize"],
                           batch.first)
                if options != batch.options:
                    batch.options = options
                    batch.hyper[:7] = [float(o) for o in options]
                batch.run()
                batch.first = False
        return loss if self._hooks is None else self._done(loss)

    def _make_buffers(self, batch):
        """Momentum buffers, which the first step fills without reading."""
        for parameter, state in zip(batch.parameters, batch.states):
            state["momentum_buffer"] = empty_like(parameter.detach())
        batch.table[:, 2] = [s["momentum_buffer"].address for s in batch.states]
        batch.first = True

