"""Optimisers whose step looks at whole matrices, and so is no formula for one element: Adafactor and Muon."""
from __future__ import annotations

import math
from typing import Any

from ..autograd.modes import no_grad
from ..dtypes import finfo
from ..ops.creation.fill import tensor, zeros_like
from ..ops.linalg.addmm import addmm
from .check import one_rate
from .optimizer import Optimizer


class _Matrixwise(Optimizer):
    """What both share: one parameter after another."""

    @no_grad()
    def step(self, closure=None) -> Any:
        """Update all parameters that have gradients.

        Args:
            closure: computes the loss anew and its gradients; called first.

        Returns:
            What the closure returned, or None.
        """
        self._opt_called = True
        loss = self._loss(closure)
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    if parameter.is_complex():
                        raise RuntimeError(f"{type(self).__name__} does not support complex parameters")
                    self._update(group, parameter, parameter.grad, self.state[parameter])
        return loss

    def _update(self, group, parameter, grad, state):
        raise NotImplementedError


def _mean_square(grad, dim):
    """The mean of squares along a dimension, without an intermediate of the gradient's size."""
    return grad.norm(2, dim, keepdim=True).square_().div_(grad.shape[dim])


class Adafactor(_Matrixwise):
    """Steps scaled by a mean of squared gradients of which only the means of rows and columns are kept (Shazeer and Stern 2018).

    Args:
        params: parameters, pairs of names and parameters, or dicts with "params" and options of their own.
        lr: the largest learning rate; that of step t is min(lr, 1 / sqrt(t)) times the root mean square of the parameter.
        beta2_decay: at step t the running means take in t ** beta2_decay of the new squares.
        eps: the least mean of squares' root, the dtype's eps when None; and the least root mean square of a parameter.
        d: the largest root mean square of a step, before the learning rate.
        weight_decay: how much parameters shrink, times lr, in a step.
        foreach: nothing here; parameters are updated one after another.
        maximize: go up instead of down.

    State of a parameter: `step`, and `row_var` and `col_var`, or `variance` of one with fewer than two dimensions.

    Raises:
        ValueError: an option out of range.
        RuntimeError: in a step, complex parameters.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.ones(2, 2))
        >>> optimizer = torch.optim.Adafactor([p], lr=0.25)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.detach()
        tensor([[0.7500, 0.7500],
                [0.7500, 0.7500]])
    """

    def __init__(self, params, lr=1e-2, beta2_decay: float = -0.8, eps=(None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
                 foreach=None, maximize: bool = False) -> None:
        one_rate(lr)
        for text, value, fits in (("Learning rate should be >= 0", lr, lr >= 0), ("weight_decay should be >= 0", weight_decay,
                                  weight_decay >= 0), ("beta2_decay should be <= 0", beta2_decay, beta2_decay <= 0),
                                  ("epsilon1 should be >= 0", eps[0], eps[0] is None or eps[0] >= 0),
                                  ("epsilon2 should be >= 0", eps[1], eps[1] >= 0),
                                  ("Clipping threshold d should be >= 1", d, d >= 1)):
            if not fits:
                raise ValueError(f"{text} but is: {value}")
        super().__init__(params, dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay, foreach=foreach,
                                      maximize=maximize))

    def _update(self, group, parameter, grad, state):
        grad = -grad if group["maximize"] else grad
        if not state:
            state["step"] = tensor(0.0)
            if grad.dim() > 1:
                state["row_var"], state["col_var"] = [zeros_like(grad.narrow(dim, 0, 1).contiguous()) for dim in (-1, -2)]
            else:
                state["variance"] = zeros_like(grad)
        state["step"] += 1
        step, lr, (least, smallest) = state["step"].item(), float(group["lr"]), group["eps"]
        least = finfo(parameter.dtype).eps if least is None else least
        taken, count = step ** group["beta2_decay"], parameter.numel() ** 0.5
        rate = max(smallest, parameter.norm(2).item() / count) * min(lr, 1 / step ** 0.5)
        if group["weight_decay"]:
            parameter.mul_(1 - lr * group["weight_decay"])
        if grad.dim() > 1:
            rows, columns = state["row_var"], state["col_var"]
            rows.lerp_(_mean_square(grad, -1), taken)
            columns.lerp_(_mean_square(grad, -2), taken)
            squares = (rows @ columns).div_(rows.mean(-2, keepdim=True).clamp_(min=least))
        else:
            squares = state["variance"].lerp_(grad * grad, taken).clone()
        update = squares.clamp_(min=least * least).rsqrt_().mul_(grad)
        parameter.add_(update, alpha=-rate / max(1.0, update.norm(2).item() / (count * group["d"])))


def _orthogonalised(matrix, coefficients, steps, eps):
    """A matrix near the orthogonal one that is nearest to a given one: a Newton-Schulz iteration of fifth degree, in bfloat16."""
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = (matrix.mT if tall else matrix).bfloat16()
    x = x / x.norm().clamp(min=eps)                      # its singular values are then at most 1
    for _ in range(steps):
        gram = x @ x.mT
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x


class Muon(_Matrixwise):
    """Steps along the orthogonal matrix nearest to the momentum, for the matrices of hidden layers (Jordan et al. 2024).

    Args:
        params: matrices, pairs of names and matrices, or dicts with "params" and options of their own. Other parameters want
            another optimiser.
        lr: the learning rate.
        weight_decay: how much parameters shrink, times lr, in a step.
        momentum: how much of the running mean of gradients is carried on.
        nesterov: look ahead: step along momentum times that mean and 1 - momentum times the gradient.
        ns_coefficients: of the Newton-Schulz iteration x -> a x + (b x x^T + c (x x^T)^2) x.
        eps: the least norm that is divided by.
        ns_steps: iterations.
        adjust_lr_fn: how the rate depends on the shape (A, B): "original", as is None, times sqrt(max(1, A / B)), or
            "match_rms_adamw", times 0.2 sqrt(max(A, B)), for rates as of `AdamW` (Liu et al. 2025).

    State of a parameter: `momentum_buffer`.

    Raises:
        ValueError: an option out of range, or a parameter that is no matrix.
        RuntimeError: in a step, complex parameters.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.tensor([[3., 0.], [0., 1.]]))
        >>> optimizer = torch.optim.Muon([p], lr=0.5, weight_decay=0.0)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> bool((p.detach().diagonal() < torch.tensor([2.75, 0.75])).all())
        True
    """

    def __init__(self, params, lr=1e-3, weight_decay: float = 0.1, momentum: float = 0.95, nesterov: bool = True,
                 ns_coefficients=(3.4445, -4.775, 2.0315), eps: float = 1e-7, ns_steps: int = 5, adjust_lr_fn=None) -> None:
        one_rate(lr)
        for text, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0:
                raise ValueError(f"{text} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov,
                                      ns_coefficients=ns_coefficients, eps=eps, ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn))
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.dim() != 2:
                    raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: "
                                     f"{parameter.shape}")

    def _update(self, group, parameter, grad, state):
        if group["ns_steps"] >= 100:
            raise ValueError("Number of steps must be less than 100 for computational efficiency")
        if len(group["ns_coefficients"]) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = zeros_like(grad)
        lr, momentum, (rows, columns) = float(group["lr"]), group["momentum"], parameter.shape
        mean = state["momentum_buffer"].lerp_(grad, 1 - momentum)
        update = grad.lerp(mean, momentum) if group["nesterov"] else mean
        update = _orthogonalised(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        ratio = 0.2 * math.sqrt(max(rows, columns)) if group["adjust_lr_fn"] == "match_rms_adamw" else math.sqrt(
            max(1, rows / columns))
        parameter.mul_(1 - lr * group["weight_decay"])
        parameter.add_(update.to(parameter.dtype), alpha=-lr * ratio)
