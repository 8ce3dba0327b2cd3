"""Learning rates that change with the epochs. A scheduler sets its optimiser's rates at once, and anew at every `step()`.

Most work from the rate that is set now, so that several can be chained; such a one also has a closed form, for jumps to an epoch.
Schedules in cycles, which change momentum too, are in `cycles.py`.
"""
from __future__ import annotations

import math
import types
from bisect import bisect_right
from collections import Counter

from .cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from .schedule import LRScheduler, check_optimizer, for_each_group

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
           "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
           "ReduceLROnPlateau", "SequentialLR", "StepLR"]


class _ByFunctions(LRScheduler):
    """A schedule by functions of the epoch, one for each group. Their state is saved where they are objects."""

    def __init__(self, optimizer, lr_lambda, last_epoch: int = -1):
        groups = optimizer.param_groups
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * len(groups)
        if len(self.lr_lambdas) != len(groups):
            raise ValueError(f"Expected {len(groups)} lr_lambdas, but got {len(self.lr_lambdas)}")
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        state = super().state_dict()
        state["lr_lambdas"] = [None if isinstance(f, types.FunctionType) else dict(f.__dict__) for f in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict):
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if saved is not None:
                function.__dict__.update(saved)


class LambdaLR(_ByFunctions):
    """The initial rate times `lr_lambda(epoch)`; a list gives each group its own function."""

    def get_lr(self):
        return [base * scale(self.last_epoch) for base, scale in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(_ByFunctions):
    """The rate times `lr_lambda(epoch)`, every epoch; a list gives each group its own function."""

    def get_lr(self):
        if self._is_initial:
            return self._now()
        return [lr * scale(self.last_epoch) for lr, scale in zip(self._now(), self.lr_lambdas)]


class StepLR(LRScheduler):
    """Times `gamma` every `step_size` epochs."""

    def __init__(self, optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._scaled(self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1)

    def closed_form(self):
        return self._of_base(self.gamma ** (self.last_epoch // self.step_size))


class MultiStepLR(LRScheduler):
    """Times `gamma` at each of the epochs `milestones`."""

    def __init__(self, optimizer, milestones, gamma: float = 0.1, last_epoch: int = -1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])

    def closed_form(self):
        return self._of_base(self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch))


class ConstantLR(LRScheduler):
    """`factor` times the initial rate for `total_iters` epochs, then the initial rate.

    Raises:
        ValueError: a factor that is not between 0 and 1.
    """

    def __init__(self, optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1):
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._scaled(self.factor if self.last_epoch == 0 else 1 / self.factor if self.last_epoch == self.total_iters else 1)

    def closed_form(self):
        return self._of_base(1 if self.last_epoch >= self.total_iters else self.factor)


class LinearLR(LRScheduler):
    """From `start_factor` to `end_factor` times the initial rate over `total_iters` epochs.

    Raises:
        ValueError: factors that are not between 0 and 1.
    """

    def __init__(self, optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
                 last_epoch: int = -1):
        if not 0 < start_factor <= 1:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch):
        return self.start_factor + (self.end_factor - self.start_factor) * min(epoch, self.total_iters) / self.total_iters

    def get_lr(self):
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._now()
        return self._scaled(self._factor(self.last_epoch) / self._factor(self.last_epoch - 1))

    def closed_form(self):
        return self._of_base(self._factor(self.last_epoch))


class ExponentialLR(LRScheduler):
    """Times `gamma` every epoch."""

    def __init__(self, optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._scaled(1 if self._is_initial else self.gamma)

    def closed_form(self):
        return self._of_base(self.gamma ** self.last_epoch)


class PolynomialLR(LRScheduler):
    """The initial rate times (1 - epoch / total_iters) ** power, down to 0."""

    def __init__(self, optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._now()
        now, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return self._scaled((now / before) ** self.power)

    def closed_form(self):
        return self._of_base((1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power)


class CosineAnnealingLR(LRScheduler):
    """Down from the initial rate to `eta_min` along half a cosine of `T_max` epochs, and up again after (Loshchilov and Hutter
    2017)."""

    def __init__(self, optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch):
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self):
        if self._is_initial:
            return self._now()
        if self._step_count == 1 and self.last_epoch > 0:
            return self.closed_form()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:       # up from the lowest point, which is no multiple of it
            return [lr + (base - self.eta_min) * self._height(self.T_max - 1) / 2 for base, lr in zip(self.base_lrs, self._now())]
        ratio = self._height(self.last_epoch) / self._height(self.last_epoch - 1)
        return [self.eta_min + (lr - self.eta_min) * ratio for lr in self._now()]

    def closed_form(self):
        return [self.eta_min + (base - self.eta_min) * self._height(self.last_epoch) / 2 for base in self.base_lrs]


class ReduceLROnPlateau(LRScheduler):
    """Times `factor` when the metric given to `step` has not become better for more than `patience` epochs.

    Args:
        mode: whether less is better ("min") or more ("max").
        threshold: by how much a metric must be better to count.
        threshold_mode: whether that is a share ("rel") or an amount ("abs").
        cooldown: epochs after a change in which nothing is counted.
        min_lr: rates do not go below; one, or one for each group.
        eps: rates that would change by less stay.

    Raises:
        ValueError: an unknown mode, or a factor that is not below 1.
    """

    def __init__(self, optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
                 threshold_mode: str = "rel", cooldown: int = 0, min_lr=0, eps: float = 1e-8):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        check_optimizer(optimizer)
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        self.min_lrs = for_each_group("min_lr", optimizer, min_lr)
        self.best, self.num_bad_epochs, self.cooldown_counter = math.inf if mode == "min" else -math.inf, 0, 0
        self.last_epoch, self._last_lr = 0, self._now()

    @property
    def in_cooldown(self) -> bool:
        """Whether epochs after a change are still not counted."""
        return self.cooldown_counter > 0

    def _is_better(self, value):
        sign = -1 if self.mode == "min" else 1
        limit = self.best + sign * self.threshold if self.threshold_mode == "abs" else self.best * (1 + sign * self.threshold)
        return value < limit if self.mode == "min" else value > limit

    def step(self, metrics, epoch=None) -> None:  # type: ignore[override]  # it needs what the others do not
        """Note the epoch's metric, and lower the rates when it has been bad for too long."""
        value, self.last_epoch = float(metrics), self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            lower = [max(float(lr) * self.factor, least) for lr, least in zip(self._now(), self.min_lrs)]
            self._set([new if lr - new > self.eps else lr for lr, new in zip(self._now(), lower)])
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._now()


# ---------------------------------------------------------------- schedulers of schedulers
class _OfSeveral(LRScheduler):
    """What schedulers that are made of others share."""

    def _check(self, schedulers, optimizer, wanted):
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler{wanted}, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        for place, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {place} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                                 f"specified when calling `step`, but got one at index {place} in the given schedulers sequence.")
            if scheduler.optimizer is not optimizer:
                raise ValueError(f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                                 f"{type(scheduler).__name__} at index {place}, whose optimizer is another "
                                 f"{type(optimizer).__name__}.")
        self._schedulers, self.optimizer = list(schedulers), optimizer

    def state_dict(self):
        return {**super().state_dict(), "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict):
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, saved in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(saved)


class SequentialLR(_OfSeveral):
    """One scheduler after another, each from its milestone on.

    Args:
        schedulers: of the same optimiser.
        milestones: the epochs at which the second and the following begin.

    Raises:
        ValueError: no schedulers, another number of milestones than of changes, schedulers of other optimisers.
    """

    def __init__(self, optimizer, schedulers, milestones, last_epoch: int = -1):
        self._check(schedulers, optimizer, "")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(f"Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                             f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to "
                             f"be equal to {len(milestones)}")
        self._milestones, self.last_epoch = list(milestones), last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        _undo_first_step(self)
        begins = self._schedulers[bisect_right(self._milestones, 0)]
        begins._initial_step()
        self._last_lr = begins.get_last_lr()

    def step(self, epoch=None):
        self.last_epoch += 1
        place = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[place]
        if place > 0 and self._milestones[place - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _undo_first_step(scheduler):
    """Take back the step that each scheduler within did when it was made."""
    for inner in scheduler._schedulers:
        if isinstance(inner, _OfSeveral):
            _undo_first_step(inner)
        else:
            inner.last_epoch -= 1


class ChainedScheduler(_OfSeveral):
    """Several schedulers that all step at every step.

    Raises:
        ValueError: no schedulers, or schedulers of several optimisers.
    """

    def __init__(self, schedulers, optimizer=None):
        self._check(schedulers, optimizer, " to be chained")
        self._last_lr = self._now()

    def step(self, epoch=None):
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._now()
