"""Learning rates that change with the epochs. A scheduler sets its optimiser's rates at once, and anew at every `step()`."""
from __future__ import annotations

import math
from collections import Counter

from .optimizer import Optimizer


class LRScheduler:
    """Base of all schedulers. Subclasses implement `get_lr`, one rate for each parameter group.

    Args:
        optimizer: whose rates to set.
        last_epoch: the epoch to resume after; -1 to begin.

    Raises:
        TypeError: not an Optimizer.
        KeyError: resuming with an optimiser that no scheduler has seen.
    """

    def __init__(self, optimizer, last_epoch: int = -1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{number}] when resuming an optimizer")
        self.optimizer, self.last_epoch = optimizer, last_epoch
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.step()

    def get_lr(self) -> list:
        """The rates of epoch `self.last_epoch`, from those that are set now."""
        raise NotImplementedError

    def get_last_lr(self) -> list:
        """The rates that were set last."""
        return self._last_lr

    def step(self, epoch=None) -> None:
        """Go on to the next epoch (or to a given one) and set its rates."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        for group, lr in zip(self.optimizer.param_groups, self.get_lr()):
            group["lr"] = lr
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict:
        """Everything but the optimiser."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict) -> None:
        """Take back what `state_dict` gave."""
        self.__dict__.update(state_dict)

    def _scaled(self, factor):
        return [group["lr"] * factor for group in self.optimizer.param_groups]


class LambdaLR(LRScheduler):
    """The initial rate times `lr_lambda(epoch)`; a list gives each group its own function."""

    def __init__(self, optimizer, lr_lambda, last_epoch: int = -1):
        groups = optimizer.param_groups
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * len(groups)
        if len(self.lr_lambdas) != len(groups):
            raise ValueError(f"Expected {len(groups)} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [base * scale(self.last_epoch) for base, scale in zip(self.base_lrs, self.lr_lambdas)]

    def state_dict(self):
        return {key: value for key, value in super().state_dict().items() if key != "lr_lambdas"}


class StepLR(LRScheduler):
    """Times `gamma` every `step_size` epochs."""

    def __init__(self, optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._scaled(self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1)


class MultiStepLR(LRScheduler):
    """Times `gamma` at each of the epochs `milestones`."""

    def __init__(self, optimizer, milestones, gamma: float = 0.1, last_epoch: int = -1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])


class ExponentialLR(LRScheduler):
    """Times `gamma` every epoch."""

    def __init__(self, optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._scaled(self.gamma if self.last_epoch else 1)


class LinearLR(LRScheduler):
    """From `start_factor` to `end_factor` times the initial rate over `total_iters` epochs."""

    def __init__(self, optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
                 last_epoch: int = -1):
        if not 0 < start_factor <= 1:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        done = min(self.last_epoch, self.total_iters) / self.total_iters
        return [base * (self.start_factor + (self.end_factor - self.start_factor) * done) for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Down from the initial rate to `eta_min` along half a cosine of `T_max` epochs, and up again after (Loshchilov and Hutter
    2017)."""

    def __init__(self, optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class OneCycleLR(LRScheduler):
    """Up to `max_lr` and down to almost nothing along cosines, over `total_steps` calls of `step` (Smith and Topin 2018).

    Args:
        pct_start: the share of the steps that go up.
        div_factor, final_div_factor: the first rate is max_lr / div_factor, the last that / final_div_factor.
    """

    def __init__(self, optimizer, max_lr: float, total_steps=None, epochs=None, steps_per_epoch=None, pct_start: float = 0.3,
                 div_factor: float = 25.0, final_div_factor: float = 1e4, last_epoch: int = -1):
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        self.total_steps = total_steps or epochs * steps_per_epoch
        self.max_lr, self.pct_start = max_lr, pct_start
        self.first, self.final = max_lr / div_factor, max_lr / div_factor / final_div_factor
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch > self.total_steps:
            raise ValueError(f"Tried to step {self.last_epoch} times. The total number of steps is {self.total_steps}")
        peak = self.pct_start * self.total_steps - 1
        if self.last_epoch <= peak:
            start, end, done = self.first, self.max_lr, self.last_epoch / peak if peak > 0 else 1.0
        else:
            start, end, done = self.max_lr, self.final, (self.last_epoch - peak) / (self.total_steps - 1 - peak)
        return [end + (start - end) / 2 * (1 + math.cos(math.pi * done)) for _ in self.base_lrs]


class ReduceLROnPlateau(LRScheduler):
    """Times `factor` when the metric given to `step` has not become better for more than `patience` epochs.

    Args:
        mode: whether less is better ("min") or more ("max").
        threshold: by what share a metric must be better to count.
        cooldown: epochs after a change in which nothing is counted.
        min_lr: rates do not go below.
    """

    def __init__(self, optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
                 cooldown: int = 0,
                 min_lr: float = 0.0):
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer, self.mode, self.factor, self.patience, self.threshold = optimizer, mode, factor, patience, threshold
        self.cooldown, self.min_lr, self.last_epoch = cooldown, min_lr, 0
        self.best, self.num_bad_epochs, self.waiting = math.inf if mode == "min" else -math.inf, 0, 0
        self._last_lr = [group["lr"] for group in optimizer.param_groups]

    def _is_better(self, value):
        slack = self.threshold * abs(self.best) if math.isfinite(self.best) else 0.0
        return value < self.best - slack if self.mode == "min" else value > self.best + slack

    def step(self, metrics, epoch=None) -> None:  # type: ignore[override]  # it needs what the others do not
        """Note the epoch's metric, and lower the rates when it has been bad for too long."""
        value, self.last_epoch = float(metrics), self.last_epoch + 1
        if self._is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.waiting:
            self.waiting, self.num_bad_epochs = self.waiting - 1, 0
        if self.num_bad_epochs > self.patience:
            for group in self.optimizer.param_groups:
                group["lr"] = max(group["lr"] * self.factor, self.min_lr)
            self.waiting, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]
