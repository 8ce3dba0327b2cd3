"""Averaged weights: a model whose parameters are the mean of another's over time (Izmailov et al. 2018), and its learning rate."""
from __future__ import annotations

import math
from copy import deepcopy
from itertools import chain

from ..autograd.modes import no_grad
from ..dtypes import int64
from ..nn.modules.module import Module
from ..nn.modules.normalization import _BatchNorm
from ..ops.creation.fill import tensor
from .schedule import LRScheduler, for_each_group

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
           "update_bn"]


def _check_decay(decay):
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay: float = 0.999):
    """A mean that forgets: decay * mean + (1 - decay) * value.

    Args:
        decay: how much of the mean is carried on, from 0 to 1.

    Returns:
        A function (mean, value, count), for `avg_fn` of `AveragedModel`.

    Raises:
        ValueError: a decay out of range.

    Example:
        >>> import numtorch as torch
        >>> update = torch.optim.swa_utils.get_ema_avg_fn(0.75)
        >>> update(torch.tensor(0.0), torch.tensor(8.0), 1)
        tensor(2.)
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param
    return ema_update


def get_swa_avg_fn():
    """A mean in which all values count alike.

    Returns:
        A function (mean, value, count), for `avg_fn` of `AveragedModel`; `count` values are in the mean already.

    Example:
        >>> import numtorch as torch
        >>> update = torch.optim.swa_utils.get_swa_avg_fn()
        >>> update(torch.tensor(0.0), torch.tensor(8.0), 1)
        tensor(4.)
    """
    @no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)
    return swa_update


def _for_all(update):
    """A function of lists of tensors that replaces each mean by `update` of it."""
    @no_grad()
    def update_all(averaged, current, num_averaged):
        for mean, value in zip(averaged, current):
            mean.copy_(update(mean, value, num_averaged))
    return update_all


def get_ema_multi_avg_fn(decay: float = 0.999):
    """As `get_ema_avg_fn`, for lists of tensors.

    Args:
        decay: how much of the means is carried on, from 0 to 1.

    Returns:
        A function (means, values, count) that writes the means in place, for `multi_avg_fn` of `AveragedModel`.

    Raises:
        ValueError: a decay out of range.

    Example:
        >>> import numtorch as torch
        >>> mean = torch.zeros(1)
        >>> torch.optim.swa_utils.get_ema_multi_avg_fn(0.75)([mean], [torch.tensor([8.0])], 1)
        >>> mean
        tensor([2.])
    """
    return _for_all(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn():
    """As `get_swa_avg_fn`, for lists of tensors.

    Returns:
        A function (means, values, count) that writes the means in place, for `multi_avg_fn` of `AveragedModel`.

    Example:
        >>> import numtorch as torch
        >>> mean = torch.zeros(1)
        >>> torch.optim.swa_utils.get_swa_multi_avg_fn()([mean], [torch.tensor([8.0])], 1)
        >>> mean
        tensor([4.])
    """
    return _for_all(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of a model that holds the means of its parameters (Izmailov et al. 2018).

    Args:
        model: what to copy.
        device: where to; None for where it is.
        avg_fn: `avg_fn(mean, value, count)`, a new mean; one in which all values count alike when None.
        multi_avg_fn: `multi_avg_fn(means, values, count)`, in place.
        use_buffers: take means of buffers too, which are else copied.

    Attributes:
        module: the copy.
        n_averaged: how many values are in the means, an int64 buffer.

    Raises:
        AssertionError: both functions.

    Example:
        >>> import numtorch as torch
        >>> model = torch.nn.Linear(1, 1, bias=False)
        >>> average = torch.optim.swa_utils.AveragedModel(model)
        >>> for value in (1.0, 2.0, 6.0):
        ...     _ = model.weight.detach().fill_(value)
        ...     average.update_parameters(model)
        >>> average.module.weight.item()
        3.0
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers: bool = False) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model) -> None:
        """Take a model's parameters into the means; the first are copied.

        Args:
            model: of the same parameters as the one that was copied.
        """
        averaged = chain(self.module.parameters(), self.module.buffers()) if self.use_buffers else self.module.parameters()
        current = chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()
        pairs = [(mean.detach(), value.detach().to(mean.device)) for mean, value in zip(averaged, current)]
        count = self.n_averaged.item()
        if count == 0:
            for mean, value in pairs:
                mean.copy_(value)
        elif self.multi_avg_fn is not None:
            self.multi_avg_fn(*map(list, zip(*pairs)), self.n_averaged)
        else:
            update = self.avg_fn or get_swa_avg_fn()
            for mean, value in pairs:
                mean.copy_(update(mean, value, self.n_averaged.to(mean.device)))
        if not self.use_buffers:
            for mean, value in zip(self.module.buffers(), model.buffers()):
                mean.detach().copy_(value.detach().to(mean.device))
        self.n_averaged += 1


@no_grad()
def update_bn(loader, model, device=None) -> None:
    """Compute the running statistics of a model's batch normalisation anew, over all batches of `loader` with equal weight.

    Args:
        loader: gives inputs, or sequences that begin with one.
        model: whose statistics.
        device: where inputs are moved to; None for nowhere.

    Example:
        >>> import numtorch as torch
        >>> model = torch.nn.BatchNorm1d(1)
        >>> torch.optim.swa_utils.update_bn([torch.tensor([[0.], [2.]]), torch.tensor([[4.], [6.]])], model)
        >>> model.running_mean
        tensor([3.])
    """
    momenta = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None
    for batch in loader:
        batch = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(batch if device is None else batch.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From the rate at the start to `swa_lr` over `anneal_epochs` epochs, then constant (Izmailov et al. 2018).

    Args:
        optimizer: whose rates to set.
        swa_lr: the last rate, or a list of one for each group.
        anneal_epochs: how many epochs the change takes.
        anneal_strategy: `"cos"` or `"linear"`.
        last_epoch: the epoch to resume after; -1 to begin.

    Raises:
        ValueError: an unknown strategy, or negative epochs.

    Example:
        >>> import numtorch as torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.2, anneal_epochs=2, anneal_strategy="linear")
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(rate, 4) for rate in rates]
        [1.0, 0.6, 0.2, 0.2]
    """

    def __init__(self, optimizer, swa_lr, anneal_epochs: int = 10, anneal_strategy: str = "cos", last_epoch: int = -1) -> None:
        for group, rate in zip(optimizer.param_groups, for_each_group("swa_lr", optimizer, swa_lr)):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step):
        """How much of the last rate is in that of a step."""
        done = max(0, min(1, step / max(1, self.anneal_epochs)))
        return done if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * done)) / 2

    def get_lr(self):
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now, rates = self._share(step - 1), self._share(step), []
        for group in self.optimizer.param_groups:
            last = group["swa_lr"]
            first = last if before == 1 else (group["lr"] - before * last) / (1 - before)
            rates.append(last * now + first * (1 - now))
        return rates
