"""Monitors: a number of every iteration, its running average and its mean over the epoch, in the trainer's `stats`."""
from __future__ import annotations

import time

from ....tensor import Tensor
from ..metrics import accuracy
from .plugin import Plugin


class Monitor(Plugin):
    """A number of every iteration. Subclasses have a `stat_name` and `_get_value(number, input, target, output, loss)`.

    In `stats[stat_name]` there are `last`, `running_avg` and, after an epoch, `epoch_mean`, in which a batch counts as many times
    as it has examples.

    Args:
        running_average: whether to have the first of these averages.
        epoch_average: whether to have the second.
        smoothing: how much of the running average a new value leaves.
        precision: digits behind the point; 4 when None.
        number_format: how loggers show it, `.4f` of the precision when None.
        unit: what they put behind it.

    Example:
        >>> from numtorch.utils.trainer import Trainer, plugins
        >>> class Size(plugins.Monitor):
        ...     stat_name = "size"
        ...     def _get_value(self, number, input, target, output, loss):
        ...         return input.abs().max().item()
        >>> trainer = Trainer()
        >>> trainer.register_plugin(Size(precision=2))
        >>> list(trainer.stats["size"])
        ['log_format', 'log_unit', 'log_iter_fields', 'log_epoch_fields', 'epoch_stats']
    """

    stat_name = "value"

    def __init__(self, running_average: bool = True, epoch_average: bool = True, smoothing: float = 0.7, precision=None,
                 number_format=None, unit: str = "") -> None:
        super().__init__([(1, "iteration"), (1, "epoch")])
        self.smoothing, self.with_running_average, self.with_epoch_average = smoothing, running_average, epoch_average
        self.log_format = f":{number_format or f'.{4 if precision is None else precision}f'}"
        self.log_unit = unit
        shown = self.log_format + "}" + unit
        self.log_iter_fields = ["{last" + shown] + (["({running_avg" + shown + ")"] if running_average else [])
        self.log_epoch_fields = ["{epoch_mean" + shown] if epoch_average else None

    def register(self, trainer) -> None:
        """Make room in the stats of a trainer.

        Args:
            trainer: which.
        """
        super().register(trainer)
        self.stats = trainer.stats.setdefault(self.stat_name, {})
        self.stats.update(log_format=self.log_format, log_unit=self.log_unit, log_iter_fields=self.log_iter_fields)
        if self.with_epoch_average:
            self.stats["log_epoch_fields"] = self.log_epoch_fields
            self.stats.setdefault("epoch_stats", (0, 0))

    def _get_value(self, *args):
        raise NotImplementedError(f"{type(self).__name__} has no _get_value, which a Monitor needs")

    def iteration(self, number, input, target, output, loss) -> None:
        """Take the value of an iteration.

        Args:
            number, input, target, output, loss: what the trainer says of it.
        """
        stats = self.stats
        value = stats["last"] = self._get_value(number, input, target, output, loss)
        if self.with_epoch_average:
            shape = target.layout.shape if type(target) is Tensor else ()
            count = shape[0] if shape else 1
            total, seen = stats["epoch_stats"]
            stats["epoch_stats"] = total + value * count, seen + count
        if self.with_running_average:
            before = stats.get("running_avg")
            stats["running_avg"] = value if before is None else before * self.smoothing + value * (1 - self.smoothing)

    def epoch(self, number) -> None:
        """Take the mean of an epoch.

        Args:
            number: of the epoch.
        """
        if self.with_epoch_average:
            total, seen = self.stats["epoch_stats"]
            self.stats["epoch_mean"] = total / max(seen, 1)
            self.stats["epoch_stats"] = (0, 0)


class LossMonitor(Monitor):
    """The loss of every iteration, as `training_loss`.

    Args:
        running_average, epoch_average, smoothing, precision, number_format, unit: as for `Monitor`.

    Example:
        >>> from numtorch.utils.trainer import plugins
        >>> plugins.LossMonitor(precision=2).log_iter_fields
        ['{last:.2f}', '({running_avg:.2f})']
    """

    stat_name = "training_loss"

    def _get_value(self, number, input, target, output, loss):
        return loss.item()


class AccuracyMonitor(Monitor):
    """The share of a batch whose class is right, in percent, as `accuracy`.

    Args:
        args, kwargs: as for `Monitor`; `unit` is "%" and `precision` 2 unless others are given.

    Example:
        >>> from numtorch.utils.trainer import plugins
        >>> plugins.AccuracyMonitor().log_epoch_fields
        ['{epoch_mean:.2f}%']
    """

    stat_name = "accuracy"

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **{"unit": "%", "precision": 2, **kwargs})

    def _get_value(self, number, input, target, output, loss):
        return 100 * accuracy(output, target).item()


class TimeMonitor(Monitor):
    """Milliseconds from iteration to iteration, as `time`.

    Args:
        args, kwargs: as for `Monitor`; `unit` is "ms" and `precision` 2 unless others are given.

    Example:
        >>> from numtorch.utils.trainer import plugins
        >>> plugins.TimeMonitor().log_unit
        'ms'
    """

    stat_name = "time"

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **{"unit": "ms", "precision": 2, **kwargs})
        self.last_time: float | None = None

    def _get_value(self, *args):
        before, self.last_time = self.last_time, time.perf_counter()
        return 0.0 if before is None else 1000 * (self.last_time - before)

    def close(self) -> None:
        """Do not count the time between runs."""
        self.last_time = None


class ConstantMonitor(Monitor):
    """A number that iterations do not change, to have it among the others in logs.

    Args:
        name: in the stats.
        value: the number.
        kwargs: as for `Monitor`.

    Example:
        >>> from numtorch.utils.trainer import Trainer, plugins
        >>> trainer = Trainer()
        >>> trainer.register_plugin(plugins.ConstantMonitor("seed", 7, number_format="d"))
        >>> trainer.value("seed.last")
        7
    """

    def __init__(self, name: str, value, **kwargs) -> None:
        super().__init__(**{"running_average": False, "epoch_average": False, **kwargs})
        self.stat_name, self.constant = name, value

    def register(self, trainer) -> None:
        """Put the number into the stats of a trainer.

        Args:
            trainer: which.
        """
        super().register(trainer)
        self.stats["last"] = self.constant

    def _get_value(self, *args):
        return self.constant


class ProgressMonitor(Plugin):
    """How many batches of the epoch are done, as `progress`.

    Example:
        >>> from numtorch.utils.trainer import Trainer, plugins
        >>> trainer = Trainer(dataset=[1, 2, 3])
        >>> trainer.register_plugin(plugins.ProgressMonitor())
        >>> trainer.stats["progress"]["epoch_size"]
        3
    """

    stat_name = "progress"

    def __init__(self) -> None:
        super().__init__([(1, "iteration"), (1, "epoch")])

    def register(self, trainer) -> None:
        """Make room in the stats of a trainer.

        Args:
            trainer: which.
        """
        super().register(trainer)
        self.stats = trainer.stats.setdefault(self.stat_name, {})
        self.stats.update(samples_used=0, epoch_size=length(trainer.dataset), percent=0.0,
                          log_iter_fields=["{samples_used}/{epoch_size}", "({percent:.2f}%)"])

    def iteration(self, number, *args) -> None:
        """Count an iteration.

        Args:
            number: of it.
            args: not looked at.
        """
        stats = self.stats
        used = stats["samples_used"] = stats["samples_used"] + 1
        stats["percent"] = 100.0 * used / (stats["epoch_size"] or used)

    def epoch(self, number) -> None:
        """Begin anew.

        Args:
            number: of the epoch.
        """
        self.stats.update(samples_used=0, percent=0.0)


def length(dataset):
    """How many batches there are, or None where that is not known."""
    try:
        return len(dataset)
    except TypeError:
        return None
