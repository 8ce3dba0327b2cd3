"""What all schedules of learning rates share."""
from __future__ import annotations

import warnings

from ..tensor import Tensor
from .optimizer import Optimizer


def for_each_group(name, optimizer, value) -> list:
    """A value for each parameter group, from one or a list. Raises ValueError for a list of another length."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * groups
    if len(value) != groups:
        raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
                         f"param_groups has {groups}.")
    return list(value)


def set_rate(group, lr):
    """Set a parameter group's rate. One that is a tensor is written, so that whoever holds it has the new one."""
    held = group["lr"]
    if not isinstance(held, Tensor):
        group["lr"] = lr
    elif held is not lr:
        held.copy_(lr.reshape(held.layout.shape)) if isinstance(lr, Tensor) else held.fill_(lr)


def _kept(lr):
    """A rate as it is now, whatever is written to it."""
    return lr.clone() if isinstance(lr, Tensor) else lr


def check_optimizer(optimizer):
    """Raise TypeError for what is no optimiser."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


class LRScheduler:
    """Base of all schedulers. Subclasses implement `get_lr`, one rate for each parameter group.

    Args:
        optimizer: whose rates to set.
        last_epoch: the epoch to resume after; -1 to begin.

    Raises:
        TypeError: not an Optimizer.
        KeyError: resuming with an optimiser that no scheduler has seen.

    Example:
        >>> import numtorch as torch
        >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [base / 2 ** self.last_epoch for base in self.base_lrs]
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler = Halving(optimizer)
        >>> optimizer.step(), scheduler.step(), scheduler.get_last_lr()
        (None, None, [0.5])
    """

    _epoch_is_deprecated = True

    def __init__(self, optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _kept(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with "
                               f"last_epoch >= 0")
        self.optimizer, self.last_epoch = optimizer, last_epoch
        self.base_lrs = [_kept(group["initial_lr"]) for group in optimizer.param_groups]
        self._initial_step()

    def _initial_step(self):
        self._step_count, self._is_initial = 0, True
        self._get_lr_called_within_step = False          # what users' schedules warn by, whose rates depend on those set last
        self.step()
        self._is_initial = False

    def get_lr(self) -> list:
        """The rates of epoch `self.last_epoch`, from those that are set now."""
        raise NotImplementedError

    def _get_closed_form_lr(self) -> list:
        """The rates of epoch `self.last_epoch`, from the initial ones."""
        return self.get_lr()

    def get_last_lr(self) -> list:
        """The rates that were set last."""
        return self._last_lr

    def step(self, epoch=None) -> None:
        """Go on to the next epoch and set its rates. Warns where the optimiser has not stepped yet.

        Args:
            epoch: go to this one instead, of which PyTorch warns.
        """
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", True):
            warnings.warn("Detected call of `lr_scheduler.step()` before `optimizer.step()`. You should call them in the opposite "
                          "order: `optimizer.step()` before `lr_scheduler.step()`. Otherwise the first value of the schedule is "
                          "skipped.", UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None and self._epoch_is_deprecated:
            warnings.warn("The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. "
                          "Please use `scheduler.step()` to step the scheduler.", UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr() if epoch is None else self._get_closed_form_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set(rates)

    def _set(self, rates):
        for group, lr in zip(self.optimizer.param_groups, rates):
            set_rate(group, lr)
        self._last_lr = self._now()

    def state_dict(self) -> dict:
        """Everything but the optimiser, as a dict."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict) -> None:
        """Take back what `state_dict` gave.

        Args:
            state_dict: that dict.
        """
        self.__dict__.update(state_dict)

    def _now(self):
        return [_kept(group["lr"]) for group in self.optimizer.param_groups]

    def _scaled(self, factor):
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _of_base(self, factor):
        return [base * factor for base in self.base_lrs]
