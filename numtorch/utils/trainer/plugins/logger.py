"""Loggers: what the stats say, as lines, as rows of a CSV file, and for TensorBoard."""
from __future__ import annotations

import csv
import os
import string
import time

from .plugin import Plugin


def scalars(trainer, unit: str) -> dict:
    """The numbers of all stats that there are at the end of an iteration or of an epoch, by name."""
    result = {}
    for name, stats in trainer.stats.items():
        if isinstance(stats, (int, float)):
            result[name] = stats
        elif isinstance(stats, dict) and (unit == "epoch" or stats.get("log_iter_fields")):
            value = stats.get("epoch_mean", stats.get("last")) if unit == "epoch" else stats.get("last")
            if value is not None:
                result[name] = value
    return result


class Logger(Plugin):
    """Prints what the stats say.

    Args:
        fields: names of stats, such as "training_loss", shown as their monitor says; or of one number, such as
            "training_loss.running_avg".
        interval: when; after each iteration and each epoch when None.

    Raises:
        ValueError: `fields` is no sequence of strings.

    Example:
        >>> from numtorch.utils.trainer import Trainer, plugins
        >>> trainer = Trainer()
        >>> trainer.register_plugin(plugins.ConstantMonitor("seed", 7, number_format="d"))
        >>> trainer.register_plugin(plugins.Logger(["seed", "seed.last"], [(2, "iteration")]))
        >>> trainer.call_plugins("iteration", 2, None, None, None, None)
        seed: 7     seed.last: 7
    """

    priority = 1
    separator = "#" * 80

    def __init__(self, fields, interval=None) -> None:
        if isinstance(fields, str) or not all(isinstance(field, str) for field in fields):
            raise ValueError(f"Logger: expected fields to be a sequence of strings, got {fields!r}")
        super().__init__([(1, "iteration"), (1, "epoch")] if interval is None else interval)
        self.fields = list(fields)
        self.widths: dict = {}

    def log(self, msg: str) -> None:
        """Show a line.

        Args:
            msg: the line.
        """
        self.trainer.print(msg)

    def _shown(self, field, kind):
        """The texts for one field: as the stat's own list of formats says, or the number that the field names."""
        parent, stat = None, self.trainer.stats
        for part in field.split("."):
            if part not in stat:
                raise KeyError(f"Logger: there is no {field!r} in the stats; there are {', '.join(self.trainer.stats) or 'none'}")
            parent, stat = stat, stat[part]
        if isinstance(stat, dict):
            formats = [f for f in stat.get(kind) or () if all(n in stat for _, n, *_ in string.Formatter().parse(f) if n)]
            return [text.format(**stat) for text in formats]
        return [("{" + parent.get("log_format", "") + "}" + parent.get("log_unit", "")).format(stat)]

    def _log_all(self, kind):
        parts = []
        for field in self.fields:
            if texts := self._shown(field, kind):
                part = f"{field}: {' '.join(texts)}"
                self.widths[field] = max(len(part), self.widths.get(field, 0))
                parts.append(part.ljust(self.widths[field]))
        if parts:
            self.log("     ".join(parts).rstrip())
        return parts

    def iteration(self, *args) -> None:
        """Show what there is of an iteration.

        Args:
            args: not looked at.
        """
        self._log_all("log_iter_fields")

    def epoch(self, epoch_idx) -> None:
        """Show what there is of an epoch.

        Args:
            epoch_idx: its number.
        """
        self.log(f"{self.separator}\nEpoch summary: {epoch_idx}")
        self._log_all("log_epoch_fields")
        self.log(self.separator)


class _Numbers(Plugin):
    """Writes the numbers of iterations and of epochs in one way, `_write(unit)`."""

    priority = 1

    def __init__(self, interval) -> None:
        super().__init__([(1, "epoch")] if interval is None else interval)

    def iteration(self, *args) -> None:
        """Write the numbers of an iteration.

        Args:
            args: not looked at.
        """
        self._write("iteration")

    def epoch(self, number) -> None:
        """Write the numbers of an epoch.

        Args:
            number: not looked at.
        """
        self._write("epoch")

    def _write(self, unit):
        raise NotImplementedError


class CSVLogger(_Numbers):
    """Writes all stats as rows of a CSV file: epoch, iteration, seconds, and a column for each stat.

    A resumed run goes on in its file: rows of what is trained again are taken out. A stat that comes later gets a column then.

    Args:
        path: the file.
        interval: when; after each epoch when None.

    Example:
        >>> import os, tempfile
        >>> from numtorch.utils.trainer import Trainer, plugins
        >>> trainer, path = Trainer(), os.path.join(tempfile.mkdtemp(), "log.csv")
        >>> trainer.register_plugin(plugins.ConstantMonitor("seed", 7))
        >>> trainer.register_plugin(plugins.CSVLogger(path))
        >>> trainer.call_plugins("epoch", 1)
        >>> open(path).readline().strip()
        'epoch,iteration,seconds,seed'
    """

    FIRST = ("epoch", "iteration", "seconds")

    def __init__(self, path, interval=None) -> None:
        super().__init__(interval)
        self.path, self.columns = os.fspath(path), None
        self.start, self.before = time.perf_counter(), 0.0

    def _seconds(self):
        return self.before + time.perf_counter() - self.start

    def _write(self, unit):
        trainer = self.trainer
        row = {"epoch": trainer.epochs, "iteration": trainer.iterations, "seconds": f"{self._seconds():.3f}",
               **scalars(trainer, unit)}
        if self.columns is None or not set(row) <= set(self.columns):
            rows = [] if self.columns is None else self._rows()
            self.columns = list(dict.fromkeys([*self.FIRST, *(k for r in rows for k in r), *row]))
            self._replace([*rows, row])
        else:
            with open(self.path, "a", newline="") as file:
                csv.DictWriter(file, self.columns, restval="").writerow(row)

    def _rows(self):
        if not os.path.exists(self.path):
            return []
        with open(self.path, newline="") as file:
            try:
                rows = list(csv.DictReader(file))
                for row in rows:
                    row["iteration"] = int(row["iteration"])
            except (csv.Error, ValueError, KeyError, TypeError) as error:
                raise ValueError(f"CSVLogger: {self.path} is no log that a run can go on in: expected rows with the number of an "
                                 f"iteration ({type(error).__name__}: {error})") from None
        return rows

    def _replace(self, rows):
        with open(self.path + ".new", "w", newline="") as file:
            writer = csv.DictWriter(file, self.columns, restval="")
            writer.writeheader()
            writer.writerows(rows)
        os.replace(self.path + ".new", self.path)

    def state_dict(self) -> dict:
        """The seconds so far."""
        return {"seconds": self._seconds(), "iterations": self.trainer.iterations}

    def load_state_dict(self, state_dict: dict) -> None:
        """Go on in the file, without the rows of what comes again.

        Args:
            state_dict: what `state_dict()` gave.
        """
        self.before, self.start = state_dict["seconds"], time.perf_counter()
        rows = [row for row in self._rows() if row["iteration"] <= state_dict["iterations"]]
        if rows:
            self.columns = list(rows[0])
            self._replace(rows)


class TensorBoardLogger(_Numbers):
    """Writes all stats for TensorBoard, by iteration.

    Args:
        folder: where its files go; or a `SummaryWriter`, or whatever has its `add_scalar`.
        interval: when; after each epoch when None.

    Raises:
        ImportError: TensorBoard is not installed.

    Example:
        >>> from numtorch.utils.trainer import Trainer, plugins
        >>> class Shown:
        ...     def add_scalar(self, tag, value, step):
        ...         print(tag, value, step)
        >>> trainer = Trainer()
        >>> trainer.register_plugin(plugins.ConstantMonitor("seed", 7))
        >>> trainer.register_plugin(plugins.TensorBoardLogger(Shown()))
        >>> trainer.call_plugins("epoch", 1)
        seed 7 0
    """

    def __init__(self, folder, interval=None) -> None:
        super().__init__(interval)
        self.writer = folder
        if not hasattr(folder, "add_scalar"):
            from ...tensorboard import SummaryWriter  # only here, so that the others need no TensorBoard
            self.writer = SummaryWriter(os.fspath(folder))

    def _write(self, unit):
        for name, value in scalars(self.trainer, unit).items():
            self.writer.add_scalar(name, value, self.trainer.iterations)

    def close(self) -> None:
        """Have all of it written."""
        if hasattr(self.writer, "flush"):
            self.writer.flush()
