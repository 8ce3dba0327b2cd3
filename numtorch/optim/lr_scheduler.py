"""Learning rates that change with the epochs. A scheduler sets its optimiser's rates at once, and anew at every `step()`.

Most work from the rate that is set now, so that several can be chained; such a one also has a closed form, for jumps to an epoch.
Schedules in cycles, which change momentum too, are in `cycles.py`, the one by a metric in `plateau.py`, and those that are made of
others in `combined.py`.
"""
from __future__ import annotations

import math
import types
from bisect import bisect_right
from collections import Counter

from .combined import ChainedScheduler, SequentialLR
from .cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from .plateau import ReduceLROnPlateau
from .schedule import LRScheduler

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
           "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
           "ReduceLROnPlateau", "SequentialLR", "StepLR"]

_LRScheduler = LRScheduler                               # its name before PyTorch 2.0


class _ByFunctions(LRScheduler):
    """A schedule by functions of the epoch, one for each group. Their state is saved where they are objects."""

    def __init__(self, optimizer, lr_lambda, last_epoch: int = -1) -> None:
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
    """The initial rate times a function of the epoch.

    Args:
        optimizer: whose rates to set.
        lr_lambda: `lr_lambda(epoch)`, a factor; or a list of one for each parameter group.
        last_epoch: the epoch to resume after; -1 to begin.

    Raises:
        ValueError: another number of functions than of groups.
        TypeError: something that cannot be called.

    Example:
        >>> import numtorch as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler, rates = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5 ** epoch), []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 4) for rate in rates]
        [1.0, 0.5, 0.25, 0.125]
    """

    def get_lr(self):
        return [base * scale(self.last_epoch) for base, scale in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(_ByFunctions):
    """The rate times a function of the epoch, every epoch.

    Args:
        optimizer: whose rates to set.
        lr_lambda: `lr_lambda(epoch)`, a factor of the rate before; or a list of one for each parameter group.
        last_epoch: the epoch to resume after; -1 to begin.

    Raises:
        ValueError: another number of functions than of groups.
        TypeError: something that cannot be called.

    Example:
        >>> import numtorch as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler, rates = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 1 / epoch), []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 4) for rate in rates]
        [1.0, 1.0, 0.5, 0.1667]
    """

    def get_lr(self):
        if self._is_initial:
            return self._now()
        return [lr * scale(self.last_epoch) for lr, scale in zip(self._now(), self.lr_lambdas)]


class StepLR(LRScheduler):
    """The rate times `gamma` every `step_size` epochs.

    Args:
        optimizer: whose rates to set.
        step_size: epochs between changes.
        gamma: the factor.
        last_epoch: the epoch to resume after; -1 to begin.

    Example:
        >>> import numtorch as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler, rates = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2), []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 4) for rate in rates]
        [1.0, 1.0, 0.1, 0.1]
    """

    def __init__(self, optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._scaled(self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1)

    def _get_closed_form_lr(self):
        return self._of_base(self.gamma ** (self.last_epoch // self.step_size))


class MultiStepLR(LRScheduler):
    """The rate times `gamma` at given epochs.

    Args:
        optimizer: whose rates to set.
        milestones: the epochs; one that is named twice counts twice.
        gamma: the factor.
        last_epoch: the epoch to resume after; -1 to begin.

    Example:
        >>> import numtorch as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler, rates = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3]), []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 4) for rate in rates]
        [1.0, 0.1, 0.1, 0.01]
    """

    def __init__(self, optimizer, milestones, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self):
        return self._of_base(self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch))


class ConstantLR(LRScheduler):
    """`factor` times the initial rate for `total_iters` epochs, then the initial rate.

    Args:
        optimizer: whose rates to set.
        factor: from 0 to 1.
        total_iters: epochs of the smaller rate.
        last_epoch: the epoch to resume after; -1 to begin.

    Raises:
        ValueError: a factor that is not between 0 and 1.

    Example:
        >>> import numtorch as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler, rates = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2), []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 4) for rate in rates]
        [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(self, optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._scaled(self.factor if self.last_epoch == 0 else 1 / self.factor if self.last_epoch == self.total_iters else 1)

    def _get_closed_form_lr(self):
        return self._of_base(1 if self.last_epoch >= self.total_iters else self.factor)


class LinearLR(LRScheduler):
    """From `start_factor` to `end_factor` times the initial rate along a line.

    Args:
        optimizer: whose rates to set.
        start_factor: above 0, up to 1.
        end_factor: from 0 to 1.
        total_iters: after how many epochs it has arrived.
        last_epoch: the epoch to resume after; -1 to begin.

    Raises:
        ValueError: factors out of range.

    Example:
        >>> import numtorch as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler, rates = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=3), []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 4) for rate in rates]
        [0.25, 0.5, 0.75, 1.0]
    """

    def __init__(self, optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
                 last_epoch: int = -1) -> None:
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

    def _get_closed_form_lr(self):
        return self._of_base(self._factor(self.last_epoch))


class ExponentialLR(LRScheduler):
    """The rate times `gamma` every epoch.

    Args:
        optimizer: whose rates to set.
        gamma: the factor.
        last_epoch: the epoch to resume after; -1 to begin.

    Example:
        >>> import numtorch as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler, rates = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5), []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 4) for rate in rates]
        [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return self._scaled(1 if self._is_initial else self.gamma)

    def _get_closed_form_lr(self):
        return self._of_base(self.gamma ** self.last_epoch)


class PolynomialLR(LRScheduler):
    """The initial rate times (1 - epoch / total_iters) ** power, down to 0.

    Args:
        optimizer: whose rates to set.
        total_iters: after how many epochs it is 0.
        power: 1 for a line.
        last_epoch: the epoch to resume after; -1 to begin.

    Example:
        >>> import numtorch as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler, rates = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4, power=2.0), []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 4) for rate in rates]
        [1.0, 0.5625, 0.25, 0.0625]
    """

    def __init__(self, optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._now()
        now, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return self._scaled((now / before) ** self.power)

    def _get_closed_form_lr(self):
        return self._of_base((1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power)


class CosineAnnealingLR(LRScheduler):
    """Down from the initial rate to `eta_min` along half a cosine, and up again after (Loshchilov and Hutter 2017).

    Args:
        optimizer: whose rates to set.
        T_max: epochs of the half.
        eta_min: the lowest rate.
        last_epoch: the epoch to resume after; -1 to begin.

    Example:
        >>> import numtorch as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler, rates = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2), []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 4) for rate in rates]
        [1.0, 0.5, 0.0, 0.5]
    """

    def __init__(self, optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch):
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self):
        if self._is_initial:
            return self._now()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:       # up from the lowest point, which is no multiple of it
            return [lr + (base - self.eta_min) * self._height(self.T_max - 1) / 2 for base, lr in zip(self.base_lrs, self._now())]
        ratio = self._height(self.last_epoch) / self._height(self.last_epoch - 1)
        return [self.eta_min + (lr - self.eta_min) * ratio for lr in self._now()]

    def _get_closed_form_lr(self):
        return [self.eta_min + (base - self.eta_min) * self._height(self.last_epoch) / 2 for base in self.base_lrs]
