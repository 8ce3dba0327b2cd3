"""The progress bar, by tqdm or rich, in a terminal or a notebook."""
from __future__ import annotations

import importlib
import sys
import time

from .logger import scalars
from .monitor import length
from .plugin import Plugin

EVERY = 0.1                                              # seconds between two looks of the bar: drawing costs more than many steps


def in_notebook() -> bool:
    """Whether Python runs in a notebook, which shows bars as widgets."""
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"


class ProgressBar(Plugin):
    """A bar for each epoch with the newest numbers behind it. In a pipe or a file there is none.

    Args:
        fields: names of stats, or of single numbers such as "training_loss.running_avg"; all stats when None.
        backend: "tqdm" or "rich"; the first that is installed when None.
        shown: whether to have a bar; when None, in terminals and notebooks.

    Raises:
        ImportError: a bar is to be shown, and neither is installed.

    Example:
        >>> from numtorch.utils.trainer import plugins
        >>> plugins.ProgressBar(shown=False).shown
        False
    """

    priority = 1

    def __init__(self, fields=None, backend: str | None = None, shown: bool | None = None) -> None:
        super().__init__([(1, "iteration"), (1, "epoch")])
        self.fields = None if fields is None else list(fields)
        self.shown = (in_notebook() or sys.stderr.isatty()) if shown is None else shown
        self.bar = None
        self.time, self.done = 0.0, 0
        if self.shown:
            self.make = _backend(backend)

    def register(self, trainer) -> None:
        """Join a trainer, whose `print` then goes above the bar.

        Args:
            trainer: which.
        """
        super().register(trainer)
        if self.shown:
            trainer.print = self.write

    def write(self, text: str) -> None:
        """Show lines above the bar.

        Args:
            text: the lines.
        """
        if self.bar is None:
            print(text)
        else:
            self.bar.write(text)

    def iteration(self, *args) -> None:
        """Move the bar on.

        Args:
            args: not looked at.
        """
        if not self.shown:
            return
        self.done = self.trainer.batches
        now = time.perf_counter()
        if now - self.time >= EVERY:
            self._draw("iteration")
            self.time = now

    def _draw(self, unit):
        trainer = self.trainer
        if self.bar is None:
            self.bar = self.make(f"epoch {trainer.epochs + (unit == 'iteration')}", length(trainer.dataset),
                                 max(self.done - 1, 0))
        numbers = scalars(trainer, unit)
        if self.fields is not None:
            numbers = {field: trainer.value(field) if "." in field else numbers[field] for field in self.fields
                       if "." in field or field in numbers}
        self.bar.move(self.done, "  ".join(f"{name} {value:.4g}" for name, value in numbers.items()))

    def epoch(self, number) -> None:
        """Draw the bar as it is at the end, and leave it as the epoch's line.

        Args:
            number: not looked at.
        """
        if self.shown:
            self._draw("epoch")
            self.close()

    def close(self) -> None:
        """End the bar where it is."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None


def _backend(name):
    """What makes a bar of (text, total, first)."""
    made = {"tqdm": _Tqdm, "rich": _Rich}
    if name is not None and name not in made:
        raise ValueError(f"ProgressBar: expected backend 'tqdm' or 'rich', got {name!r}")
    for package in [name] if name else made:
        try:
            importlib.import_module(package)
        except ImportError:
            continue
        return made[package]
    raise ImportError(f"ProgressBar needs {name or 'tqdm or rich'}: pip install 'numtorch[training]'")


class _Tqdm:
    """A bar by tqdm, which knows notebooks."""

    def __init__(self, text, total, first):
        from tqdm.auto import tqdm
        self.tqdm = tqdm(total=total, initial=first, desc=text, mininterval=0, file=sys.stderr, dynamic_ncols=True)

    def move(self, done, text):
        self.tqdm.set_postfix_str(text, refresh=False)
        self.tqdm.update(done - self.tqdm.n)

    def write(self, text):
        self.tqdm.write(text)

    def close(self):
        self.tqdm.close()


class _Rich:
    """A bar by rich."""

    def __init__(self, text, total, first):
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        self.progress = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
                                 TextColumn("{task.fields[numbers]}"), console=Console(stderr=True), auto_refresh=False)
        self.task = self.progress.add_task(text, total=total, completed=first, numbers="")
        self.progress.start()

    def move(self, done, text):
        self.progress.update(self.task, completed=done, numbers=text, refresh=True)

    def write(self, text):
        self.progress.print(text)

    def close(self):
        self.progress.stop()
