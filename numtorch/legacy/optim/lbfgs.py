"""L-BFGS (Liu and Nocedal 1989): the recursion is that of `numtorch.optim.LBFGS`; where it ends is Torch7's."""
from __future__ import annotations

from ...optim.lbfgs import descent_direction, remember
from .firstorder import begun


def lbfgs(opfunc, x, config, state=None):
    """Steps of a quasi-Newton method that remembers the last steps and changes of the gradient.

    Args:
        opfunc: gives the function and its gradient at x.
        x: the point, a vector, changed in place.
        config: a dict of `maxIter` (20) and `maxEval` (1.25 times that), the most steps and calls; `tolFun` (1e-5) and `tolX`
            (1e-9): it ends where the gradient's elements sum up to less, or a step or what it changes is smaller; `nCorrection`
            (100), how many steps are remembered; `learningRate` (1); `lineSearch`, a function such as `lswolfe`, with its
            `lineSearchOptions`; `verbose`, to print why it ended.
        state: a dict that is changed: `funcEval`, `nIter` and what is remembered; in `config` when None.

    Returns:
        x, a list of the function at the beginning and after each step, and how often `opfunc` was called.

    Raises:
        ValueError: no dict.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.legacy import optim
        >>> x = torch.tensor([3.0, -2.0])
        >>> x, history, calls = optim.lbfgs(lambda x: ((x * x).sum().item(), 2 * x), x, {"lineSearch": optim.lswolfe})
        >>> history[0], x.abs().max().item() < 1e-4
        (13.0, True)
    """
    config, state = begun("lbfgs", config, state)
    limit, size, rate = config.get("maxIter", 20), config.get("nCorrection", 100), config.get("learningRate", 1)
    most, flat, small = config.get("maxEval", limit * 1.25), config.get("tolFun", 1e-5), config.get("tolX", 1e-9)
    search, point = config.get("lineSearch"), x.detach()
    f, g = opfunc(x)
    history, calls, end = [f], 1, None
    if g.abs().sum().item() <= flat:
        end = "optimality condition below tolFun"
    for step in range(1, limit + 1):
        if end:
            break
        state["nIter"] = state.get("nIter", 0) + 1
        if state["nIter"] == 1:
            state.update(d=g.neg(), old_dirs=[], old_stps=[], ro=[], H_diag=1)
            length = min(1.0, 1.0 / g.abs().sum().item()) * rate
        else:
            remember(g, state, size)
            state["d"], length = descent_direction(g, state, size), rate
        direction, before, slope, used = state["d"], f, g.dot(state["d"]).item(), 0
        state["prev_flat_grad"] = g.clone()
        if search is not None:
            f, g, x, length, used = search(opfunc, x, length, direction, f, g, slope, config.get("lineSearchOptions"))
            history.append(f)
        else:
            point.add_(direction, alpha=length)
            if step < limit:                             # after the last step there is no use for it
                f, g = opfunc(x)
                used = 1
                history.append(f)
        state["t"], calls = length, calls + used
        moved = direction.abs().sum().item() * abs(length)
        reasons = {"reached max number of iterations": step == limit, "max nb of function evals": calls >= most,
                   "optimality condition below tolFun": g.abs().sum().item() <= flat,
                   "no progress along the direction": slope > -small, "step size below tolX": moved <= small,
                   "function value changing less than tolX": abs(f - before) < small}
        end = next((reason for reason, met in reasons.items() if met), None)
    state["funcEval"] = state.get("funcEval", 0) + calls
    if config.get("verbose"):
        print("<optim.lbfgs>", end)
    return x, history, calls
