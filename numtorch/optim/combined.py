"""Schedules that are made of others: one after another, or all at once."""
from __future__ import annotations

from bisect import bisect_right
from typing import Any

from .plateau import ReduceLROnPlateau
from .schedule import LRScheduler, set_rate


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
        optimizer: whose rates to set.
        schedulers: of the same optimiser.
        milestones: the epochs at which the second and the following begin.
        last_epoch: the epoch to resume after; -1 to begin.

    Raises:
        ValueError: no schedulers, another number of milestones than of changes, schedulers of other optimisers.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.optim.lr_scheduler import ConstantLR, ExponentialLR, SequentialLR
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> parts = [ConstantLR(optimizer, factor=0.1, total_iters=2), ExponentialLR(optimizer, gamma=0.5)]
        >>> scheduler, rates = SequentialLR(optimizer, parts, milestones=[2]), []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [0.1, 0.1, 1.0, 0.5]
    """

    def __init__(self, optimizer, schedulers, milestones, last_epoch: int = -1) -> None:
        self._check(schedulers, optimizer, "")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(f"Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                             f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to "
                             f"be equal to {len(milestones)}")
        self._milestones, self.last_epoch = list(milestones), last_epoch + 1
        for group in optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        _undo_first_step(self)
        begins = self._schedulers[bisect_right(self._milestones, 0)]
        begins._initial_step()
        self._last_lr = begins.get_last_lr()

    def step(self, epoch=None) -> Any:
        """Go on to the next epoch, of the scheduler whose turn it is.

        Args:
            epoch: nothing here.
        """
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

    Args:
        schedulers: of one optimiser.
        optimizer: that one; the first scheduler's when None.

    Raises:
        ValueError: no schedulers, or schedulers of several optimisers.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.optim.lr_scheduler import ChainedScheduler, ConstantLR, ExponentialLR
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> parts = [ConstantLR(optimizer, factor=0.5, total_iters=2), ExponentialLR(optimizer, gamma=0.5)]
        >>> scheduler, rates = ChainedScheduler(parts), []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [0.5, 0.25, 0.25, 0.125]
    """

    def __init__(self, schedulers, optimizer=None) -> None:
        self._check(schedulers, optimizer, " to be chained")
        self._last_lr = self._now()

    def step(self, epoch=None) -> Any:
        """Let all schedulers step.

        Args:
            epoch: nothing here.
        """
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._now()
