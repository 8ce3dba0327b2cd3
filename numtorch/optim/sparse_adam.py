"""Adam for sparse gradients."""
from __future__ import annotations

from ..kernels.intrinsics import sqrt
from ..sparse.layouts import is_sparse
from ..tensor import Tensor
from .check import one_rate
from .rows import RowBatch
from .rule import Rule, RuleOptimizer
from .states import keep


def _lazy_adam(p, g, exp_avg, exp_avg_sq, step_size, one_minus_beta1, one_minus_beta2, eps):
    exp_avg = exp_avg + one_minus_beta1 * (g - exp_avg)
    exp_avg_sq = exp_avg_sq + one_minus_beta2 * (g * g - exp_avg_sq)
    return p - step_size * exp_avg / (sqrt(exp_avg_sq) + eps), exp_avg, exp_avg_sq


class SparseAdam(RuleOptimizer):
    """Adam that takes sparse gradients, and moves the rows that they name and their means alone: as lazy Adam.

    Args:
        params: dense parameters, pairs of names and parameters, or dicts with "params" and options of their own.
        lr: the learning rate.
        betas: how much of the means of the gradient and of its square is kept in a step.
        eps: added to the denominator.
        maximize: go up instead of down.

    State of a parameter: `step`, `exp_avg`, `exp_avg_sq`.

    Raises:
        ValueError: a rate or `eps` that is not positive, betas outside [0, 1), or sparse or complex parameters.
        RuntimeError: in a step, a dense gradient.

    Example:
        >>> import numtorch as torch
        >>> table = torch.nn.Embedding(3, 1, sparse=True, _weight=torch.ones(3, 1))
        >>> optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.25)
        >>> table(torch.tensor([1])).sum().backward()
        >>> optimizer.step()
        >>> table.weight.detach().T
        tensor([[1.0000, 0.7500, 1.0000]])
    """

    counts = {}
    lazy = Rule(_lazy_adam, ("exp_avg", "exp_avg_sq"))

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps: float = 1e-8, maximize: bool = False) -> None:
        one_rate(lr)
        if not 0.0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for place, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {place}: {beta}")
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))
        for kind, refused, why in (("Sparse", is_sparse, "requires dense parameter tensors"),
                                   ("Complex", Tensor.is_complex, "does not support complex parameters")):
            found = [[i, j] for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"]) if refused(p)]
            if found:
                raise ValueError(f"{kind} params at indices {found}: SparseAdam {why}")

    def rule(self, group):
        return self.lazy

    def begin(self, parameter, group):
        raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")

    def of_rows(self, parameter, grad, group, rule):
        super().begin(parameter, group)
        state = self.state[parameter]
        keep(state, "step", state.get("step", 0) + 1)
        return RowBatch(self, rule, parameter, grad, state)

    def coefficients(self, group, batch):
        (beta1, beta2), step = group["betas"], batch.states[0]["step"]
        rate = float(group["lr"]) * (1 - beta2 ** step) ** 0.5 / (1 - beta1 ** step)
        return rate, 1 - beta1, 1 - beta2, group["eps"]
