"""Schedules in cycles: warm restarts, cyclic rates and one cycle. The last two can change momentum against the rate."""
from __future__ import annotations

import math
import types

from .schedule import LRScheduler, check_optimizer, for_each_group, set_rate


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines from the initial rate to `eta_min`, each after a restart (Loshchilov and Hutter 2017).

    Args:
        optimizer: whose rates to set.
        T_0: epochs of the first.
        T_mult: how many times as long each next one is.
        eta_min: the lowest rate.
        last_epoch: the epoch to resume after; -1 to begin.

    `step` also takes fractions of epochs.

    Raises:
        ValueError: `T_0` or `T_mult` that is not a positive integer.

    Example:
        >>> import numtorch as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler, rates = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2), []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 4) for rate in rates]
        [1.0, 0.5, 1.0, 0.5]
    """

    _epoch_is_deprecated = False

    def __init__(self, optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def _update_lr(self, epoch=None):
        """To the next epoch, or to a given one, which may be a fraction: within a cycle the rate falls from batch to batch."""
        if epoch is None and self.last_epoch >= 0:
            self.last_epoch, self.T_cur = math.floor(self.last_epoch + 1), self.T_cur + 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        else:
            epoch = epoch or 0
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self.last_epoch, self.T_i, self.T_cur = math.floor(epoch), self.T_0, epoch
            if self.T_mult == 1:
                self.T_cur = epoch % self.T_0
            else:
                while self.T_cur >= self.T_i:
                    self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        self._set(self.get_lr())


class _WithMomentum(LRScheduler):
    """What schedules share that move momentum, or Adam's first beta, against the rate."""

    def _begin_momentum(self, optimizer, base_momentum, max_momentum, last_epoch):
        self.use_beta1 = "betas" in optimizer.defaults
        if not self.use_beta1 and "momentum" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.base_momentums = for_each_group("base_momentum", optimizer, base_momentum)
        self.max_momentums = for_each_group("max_momentum", optimizer, max_momentum)
        if last_epoch == -1:
            for group, most, least in zip(optimizer.param_groups, self.max_momentums, self.base_momentums):
                self._set_momentum(group, most)
                group["max_momentum"], group["base_momentum"] = most, least

    def _set_momentum(self, group, value):
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_WithMomentum):
    """Up and down between two rates along straight lines (Smith 2017).

    Args:
        optimizer: whose rates to set.
        base_lr, max_lr: the lowest and the highest rate, or a list of one for each group.
        step_size_up, step_size_down: steps of each half of a cycle; the second is as long as the first when None.
        mode: `"triangular"`, `"triangular2"` (each cycle half as high) or `"exp_range"` (height times gamma ** steps).
        gamma: for `"exp_range"`.
        scale_fn: the height instead, as a function of the cycle's number, or of the step's where `scale_mode` is `"iterations"`.
        cycle_momentum: move momentum (or Adam's first beta) between `base_momentum` and `max_momentum` the other way.
        last_epoch: the epoch to resume after; -1 to begin.

    Raises:
        ValueError: an unknown mode, or an optimiser without momentum.

    Example:
        >>> import numtorch as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1, momentum=0.9)
        >>> scheduler, rates = torch.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 0.5, step_size_up=2), []
        >>> for epoch in range(5):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 4) for rate in rates]
        [0.1, 0.3, 0.5, 0.3, 0.1]
    """

    def __init__(self, optimizer, base_lr, max_lr, step_size_up: int = 2000, step_size_down=None, mode: str = "triangular",
                 gamma: float = 1.0, scale_fn=None, scale_mode: str = "cycle", cycle_momentum: bool = True,
                 base_momentum=0.8, max_momentum=0.9, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        lowest = for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, lowest):
                set_rate(group, lr)
        self.max_lrs = for_each_group("max_lr", optimizer, max_lr)
        self.total_size = float(step_size_up) + float(step_size_up if step_size_down is None else step_size_down)
        self.step_ratio = step_size_up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lowest

    def scale_fn(self, x) -> float:
        """The height of a cycle, or at a step, relative to the first.

        Args:
            x: the number of the cycle, from 1, or of the step.
        """
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return 1.0 if self.mode == "triangular" else 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma ** x

    def get_lr(self):
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        share *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, least, most in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                self._set_momentum(group, most - (most - least) * share)
        return [base + (most - base) * share for base, most in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self):
        state, function = super().state_dict(), self._scale_fn_custom
        plain = function is None or isinstance(function, types.FunctionType)
        return {**state, "_scale_fn_custom": None if plain else dict(function.__dict__)}

    def load_state_dict(self, state_dict):
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if state_dict["_scale_fn_custom"] is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])


class OneCycleLR(_WithMomentum):
    """Up to `max_lr` and down to almost nothing, over `total_steps` calls of `step` (Smith and Topin 2018).

    Args:
        optimizer: whose rates to set.
        max_lr: the highest rate, or a list of one for each group.
        total_steps: how many, or `epochs` times `steps_per_epoch`.
        pct_start: the share of the steps that go up.
        anneal_strategy: `"cos"` or `"linear"`.
        cycle_momentum: move momentum (or Adam's first beta) between `base_momentum` and `max_momentum` the other way.
        div_factor, final_div_factor: the first rate is max_lr / div_factor, the last that / final_div_factor.
        three_phase: down as long as up, then on to the last.
        last_epoch: the epoch to resume after; -1 to begin.

    Raises:
        ValueError: an option out of range, an optimiser without momentum, or more steps than there are.

    Example:
        >>> import numtorch as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1, momentum=0.9)
        >>> scheduler, rates = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=5, pct_start=0.4), []
        >>> for epoch in range(5):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 4) for rate in rates]
        [0.04, 1.0, 0.75, 0.25, 0.0]
    """

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start: float = 0.3,
                 anneal_strategy: str = "cos", cycle_momentum: bool = True, base_momentum=0.85, max_momentum=0.95,
                 div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        lengths = dict(total_steps=total_steps) if total_steps is not None else dict(epochs=epochs, steps_per_epoch=steps_per_epoch)
        for name, value in lengths.items():
            if not isinstance(value, int) or value <= 0:
                raise ValueError(f"Expected positive integer {name}, but got {value}")
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self.total_steps, self._anneal_func_type = math.prod(lengths.values()), anneal_strategy
        names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        up, last = pct_start * self.total_steps - 1, self.total_steps - 1
        phases = [(up, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
        if three_phase:
            phases.append((2 * pct_start * self.total_steps - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"))
            phases.append((last, "initial_lr", "min_lr", "max_momentum", "max_momentum"))
        else:
            phases.append((last, "max_lr", "min_lr", "base_momentum", "max_momentum"))
        self._schedule_phases = [dict(zip(names, phase)) for phase in phases]
        highest = for_each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, most in zip(optimizer.param_groups, highest):
                first = most / div_factor
                group.update(initial_lr=first, max_lr=most, min_lr=first / final_div_factor)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _between(self, start, end, share):
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    def get_lr(self):
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        begin, phase = 0.0, self._schedule_phases[0]
        for following in self._schedule_phases[1:]:
            if step <= phase["end_step"]:
                break
            begin, phase = phase["end_step"], following
        share = (step - begin) / (phase["end_step"] - begin)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                self._set_momentum(group, self._between(group[phase["start_momentum"]], group[phase["end_momentum"]], share))
        return [self._between(group[phase["start_lr"]], group[phase["end_lr"]], share) for group in self.optimizer.param_groups]
