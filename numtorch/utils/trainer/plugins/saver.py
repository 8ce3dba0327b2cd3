"""Checkpoints: the newest one, the best one, and one however a run ends."""
from __future__ import annotations

import os
import shutil

from .plugin import Plugin


class Saver(Plugin):
    """Writes a checkpoint of all that a run needs to go on (`Trainer.save`), and another when a run ends: by Ctrl-C or an error
    too, unless the optimizer was stopped in the midst of a step.

    A file is replaced when the new one is complete, so that there is a usable one at any time.

    Args:
        path: the file.
        interval: when: updates or epochs; after each epoch when None.
        best: a number of the stats (`Trainer.value`); whenever it is better than ever, the checkpoint is also kept as `best_path`.
        mode: "min" where less is better, "max" where more is.

    Attributes:
        best_path: the path with `.best` before its ending.

    Raises:
        ValueError: another mode, or other units.

    Example:
        >>> import os, tempfile, numtorch as torch
        >>> from numtorch.utils.trainer import Trainer, plugins
        >>> model, path = torch.nn.Linear(2, 1), os.path.join(tempfile.mkdtemp(), "run.pt")
        >>> batches = [(torch.ones(1, 2), torch.ones(1, 1))]
        >>> trainer = Trainer(model, torch.nn.MSELoss(), torch.optim.SGD(model.parameters(), 0.1), batches)
        >>> trainer.register_plugin(plugins.Saver(path))
        >>> trainer.resume(path)
        False
        >>> trainer.run(until=2)
        >>> trainer.resume(path), trainer.epochs
        (True, 2)
    """

    priority = 2

    def __init__(self, path, interval=None, best: str | None = None, mode: str = "min") -> None:
        super().__init__([(1, "epoch")] if interval is None else interval)
        if mode not in ("min", "max"):
            raise ValueError(f"Saver: expected mode 'min' or 'max', got {mode!r}")
        if any(unit not in ("update", "epoch") for _, unit in self.trigger_interval):
            raise ValueError(f"Saver: expected an interval of updates or epochs, after which a step is whole, got {interval}")
        self.path, self.best, self.mode, self.best_value = os.fspath(path), best, mode, None
        root, ending = os.path.splitext(self.path)
        self.best_path = f"{root}.best{ending}"
        self.saved = None

    def _place(self):
        trainer = self.trainer
        return trainer.iterations, trainer.epochs

    def _save(self):
        self.trainer.save(self.path)
        self.saved = self._place()

    def update(self, number, model) -> None:
        """Write the checkpoint.

        Args:
            number, model: not looked at.
        """
        self._save()

    def epoch(self, number) -> None:
        """Write the checkpoint, and keep it if it is the best.

        Args:
            number: not looked at.
        """
        value = None if self.best is None else self.trainer.value(self.best)
        better = value is not None and (self.best_value is None or (value < self.best_value if self.mode == "min"
                                                                    else value > self.best_value))
        if better:
            self.best_value = value
        self._save()
        if better:
            shutil.copyfile(self.path, self.best_path + ".new")
            os.replace(self.best_path + ".new", self.best_path)

    def close(self) -> None:
        """Write what is newer than the file."""
        if self.trainer.is_whole and self.trainer.iterations and self.saved != self._place():
            self._save()

    def state_dict(self) -> dict:
        """The best number."""
        return {"best": self.best_value}

    def load_state_dict(self, state_dict: dict) -> None:
        """Go on with the best number of another run.

        Args:
            state_dict: what `state_dict()` gave.
        """
        self.best_value, self.saved = state_dict["best"], self._place()
