"""A learning rate that falls when a metric no longer becomes better."""
from __future__ import annotations

import math

from .schedule import LRScheduler, check_optimizer, for_each_group


class ReduceLROnPlateau(LRScheduler):
    """The rate times `factor` when the metric given to `step` has not become better for more than `patience` epochs.

    Args:
        optimizer: whose rates to set.
        mode: whether less is better ("min") or more ("max").
        factor: below 1.
        patience: how many bad epochs are waited.
        threshold: by how much a metric must be better to count.
        threshold_mode: whether that is a share ("rel") or an amount ("abs").
        cooldown: epochs after a change in which nothing is counted.
        min_lr: rates do not go below; one, or one for each group.
        eps: rates that would change by less stay.

    Raises:
        ValueError: an unknown mode, or a factor that is not below 1.
        TypeError: not an Optimizer.

    Example:
        >>> import numtorch as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
        >>> for loss in (3.0, 2.0, 2.5, 2.5):
        ...     scheduler.step(loss)
        >>> scheduler.get_last_lr()
        [0.1]
    """

    def __init__(self, optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
                 threshold_mode: str = "rel", cooldown: int = 0, min_lr=0, eps: float = 1e-8) -> None:
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
        """Note the epoch's metric, and lower the rates when it has been bad for too long.

        Args:
            metrics: a number, or a tensor of one.
            epoch: the epoch's number; one more than the last when None.
        """
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
