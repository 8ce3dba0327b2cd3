"""L-BFGS: a quasi-Newton method that remembers the last steps and changes of the gradient (Liu and Nocedal 1989)."""
from __future__ import annotations

from ..autograd.modes import enable_grad, no_grad
from ..ops.creation.fill import zeros_like
from ..ops.pointwise.complexparts import view_as_real
from ..ops.shape.join import cat
from .check import not_negative
from .linesearch import strong_wolfe
from .optimizer import Optimizer


def _reals(x):
    """A tensor as real numbers, of complex ones both parts."""
    return view_as_real(x) if x.is_complex() else x


def descent_direction(gradient, state, size):
    """Minus the gradient times the inverse Hessian that the remembered steps imply: the two-loop recursion.

    Args:
        gradient: as a vector.
        state: with `old_stps`, `old_dirs`, `ro` and `H_diag`, as `remember` leaves them.
        size: how many steps may be remembered, for which PyTorch wants places in the state.
    """
    steps, changes, ro = state["old_stps"], state["old_dirs"], state["ro"]
    result, shares = gradient.neg(), [None] * size
    state["al"] = shares
    for i in range(len(steps) - 1, -1, -1):
        shares[i] = steps[i].dot(result) * ro[i]
        result.add_(changes[i], alpha=-shares[i].item())
    result = result * state["H_diag"]
    for i in range(len(steps)):
        result.add_(steps[i], alpha=(shares[i] - changes[i].dot(result) * ro[i]).item())
    return result


def remember(gradient, state, size) -> None:
    """Note how the gradient changed along the last step, where that says that the loss curves upwards.

    Args:
        gradient: as a vector.
        state: with the last `prev_flat_grad`, `d` and `t`.
        size: how many steps are remembered.
    """
    change, step = gradient - state["prev_flat_grad"], state["d"] * state["t"]
    curvature = change.dot(step)
    if curvature.item() > 1e-10:
        if len(state["old_dirs"]) == size:
            for name in ("old_dirs", "old_stps", "ro"):
                state[name].pop(0)
        state["old_dirs"].append(change)
        state["old_stps"].append(step)
        state["ro"].append(1.0 / curvature)
        state["H_diag"] = curvature / change.dot(change)


class LBFGS(Optimizer):
    """Minimise with a closure that is called several times a step: a quasi-Newton method (Liu and Nocedal 1989).

    Args:
        params: parameters, in a single group.
        lr: the length of a step where no line search finds it.
        max_iter: most iterations a step.
        max_eval: most calls of the closure a step; 1.25 times `max_iter` when None.
        tolerance_grad: end when no element of the gradient is larger.
        tolerance_change: end when the loss or no parameter changes by more.
        history_size: how many steps are remembered.
        line_search_fn: `"strong_wolfe"`, for steps that lower the loss and its slope enough, or None.

    Raises:
        ValueError: several groups, or a negative rate.

    Example:
        >>> import numtorch as torch
        >>> p = torch.nn.Parameter(torch.tensor([3.0]))
        >>> optimizer = torch.optim.LBFGS([p], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((p - 1) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure).item()
        4.0
        >>> round(p.item(), 4)
        1.0
    """

    def __init__(self, params, lr=1, max_iter: int = 20, max_eval=None, tolerance_grad: float = 1e-7,
                 tolerance_change: float = 1e-9, history_size: int = 100, line_search_fn=None) -> None:
        not_negative(lr=lr)
        super().__init__(params, dict(lr=lr, max_iter=max_iter, max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
                                      tolerance_grad=tolerance_grad, tolerance_change=tolerance_change, history_size=history_size,
                                      line_search_fn=line_search_fn))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    # ------------------------------------------------------------ all parameters as one vector
    def _parameters(self):
        return self.param_groups[0]["params"]

    def _gradient(self):
        return cat([_reals(zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in self._parameters()])

    def _move(self, length, direction):
        start = 0
        for parameter in self._parameters():
            numbers = _reals(parameter)
            count = numbers.numel()
            numbers.add_(direction[start:start + count].view_as(numbers), alpha=length)
            start += count

    def _probe(self, closure, places, length, direction):
        """Loss and gradient so far along a direction; the parameters return to their places."""
        self._move(length, direction)
        loss, gradient = float(closure()), self._gradient()
        for parameter, place in zip(self._parameters(), places):
            parameter.copy_(place)
        return loss, gradient

    # ------------------------------------------------------------ training
    @no_grad()
    def step(self, closure):
        """Go on until a tolerance or a limit is met.

        Args:
            closure: computes the loss anew and its gradients.

        Returns:
            The loss before the step.

        Raises:
            RuntimeError: an unknown line search.
        """
        self._opt_called = True
        group, state = self.param_groups[0], self.state[self._parameters()[0]]
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        evaluate = enable_grad()(closure)
        first = evaluate()
        self._iterate(evaluate, float(first), group, state)
        return first

    def _iterate(self, closure, loss, group, state):
        lr, limit, flat = float(group["lr"]), group["tolerance_change"], group["tolerance_grad"]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        state["func_evals"] += 1
        evaluations, gradient = 1, self._gradient()
        if gradient.abs().max().item() <= flat:
            return
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                state.update(d=gradient.neg(), old_dirs=[], old_stps=[], ro=[], H_diag=1)
                length = lr / max(1.0, gradient.abs().sum().item())
            else:
                remember(gradient, state, group["history_size"])
                state["d"], length = descent_direction(gradient, state, group["history_size"]), lr
            direction, before = state["d"], loss
            state.update(prev_flat_grad=gradient.clone(), prev_loss=loss, t=length)
            slope = gradient.dot(direction).item()
            if slope > -limit:
                return
            used = 0
            if group["line_search_fn"] is not None:
                places = [p.clone() for p in self._parameters()]
                loss, gradient, length, used = strong_wolfe(
                    lambda t, places=places, direction=direction: self._probe(closure, places, t, direction),
                    length, loss, gradient, slope, direction, most=group["max_eval"] - evaluations)
                self._move(length, direction)
            else:
                self._move(length, direction)
                if iteration != group["max_iter"]:
                    loss, gradient, used = float(closure()), self._gradient(), 1
            state["t"] = length
            evaluations += used
            state["func_evals"] += used
            if (iteration == group["max_iter"] or evaluations >= group["max_eval"] or gradient.abs().max().item() <= flat
                    or (direction * length).abs().max().item() <= limit or abs(loss - before) < limit):
                return
