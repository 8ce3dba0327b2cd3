"""What changes a run: early stopping and learning-rate schedules."""
from __future__ import annotations

import inspect
import math

from .plugin import Plugin


class EarlyStopping(Plugin):
    """Ends the run when a number of the stats has not improved for some time, or is not finite.

    Args:
        field: which number: see `Trainer.value`.
        patience: how many times in a row it may fail to improve.
        mode: "min" where less is better, "max" where more is.
        min_delta: by how much it must improve.
        interval: when it is looked at; after each epoch when None.

    Raises:
        ValueError: another mode.

    Example:
        >>> from numtorch.utils.trainer import Trainer, plugins
        >>> trainer = Trainer()
        >>> trainer.register_plugin(plugins.EarlyStopping("score", patience=2, mode="max"))
        >>> for number, score in enumerate([0.1, 0.5, 0.4, 0.5]):
        ...     trainer.stats["score"] = score
        ...     trainer.call_plugins("epoch", number)
        >>> trainer.stop_reason
        'score has not improved on 0.5 in 2 epochs'
    """

    priority = 1

    def __init__(self, field: str = "validation_loss", patience: int = 3, mode: str = "min", min_delta: float = 0.0,
                 interval=None) -> None:
        super().__init__([(1, "epoch")] if interval is None else interval)
        if mode not in ("min", "max"):
            raise ValueError(f"EarlyStopping: expected mode 'min' or 'max', got {mode!r}")
        self.field, self.patience, self.mode, self.min_delta = field, patience, mode, min_delta
        self.best, self.waited = None, 0

    def epoch(self, number) -> None:
        """Look at the number.

        Args:
            number: not looked at.
        """
        self._look("epochs")

    def iteration(self, *args) -> None:
        """Look at the number.

        Args:
            args: not looked at.
        """
        self._look("looks")

    def _look(self, unit):
        value = self.trainer.value(self.field)
        if not math.isfinite(value):
            self.trainer.stop(f"{self.field} is {value}")
        elif self.best is None or (self.best - value if self.mode == "min" else value - self.best) > self.min_delta:
            self.best, self.waited = value, 0
        else:
            self.waited += 1
            if self.waited >= self.patience:
                self.trainer.stop(f"{self.field} has not improved on {self.best:.6g} in {self.waited} {unit}")

    def state_dict(self) -> dict:
        """The best number, and how long ago it was."""
        return {"best": self.best, "waited": self.waited}

    def load_state_dict(self, state_dict: dict) -> None:
        """Go on as another run left it.

        Args:
            state_dict: what `state_dict()` gave.
        """
        self.best, self.waited = state_dict["best"], state_dict["waited"]


class Schedule(Plugin):
    """Steps a learning-rate scheduler, and shows the rate of the first group as `lr` in the stats.

    Args:
        scheduler: one of `numtorch.optim.lr_scheduler`.
        interval: when; after each epoch when None. `[(1, "update")]` for those that count steps.
        field: for `ReduceLROnPlateau`: the number it watches (`Trainer.value`).

    Example:
        >>> import numtorch as torch
        >>> from numtorch.utils.trainer import Trainer, plugins
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        >>> trainer = Trainer(optimizer=optimizer)
        >>> trainer.register_plugin(plugins.Schedule(torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)))
        >>> optimizer.step()
        >>> trainer.call_plugins("epoch", 1)
        >>> trainer.stats["lr"]
        0.5
    """

    priority = 1

    def __init__(self, scheduler, interval=None, field: str = "validation_loss") -> None:
        super().__init__([(1, "epoch")] if interval is None else interval)
        self.scheduler, self.field = scheduler, field
        self.watches = "metrics" in inspect.signature(scheduler.step).parameters

    def register(self, trainer) -> None:
        """Show the rate in the stats of a trainer.

        Args:
            trainer: which.
        """
        super().register(trainer)
        self._show()

    def _show(self):
        self.trainer.stats["lr"] = float(self.scheduler.optimizer.param_groups[0]["lr"])

    def epoch(self, *args) -> None:
        """Step the scheduler.

        Args:
            args: not looked at.
        """
        if self.watches:
            self.scheduler.step(self.trainer.value(self.field))
        else:
            self.scheduler.step()
        self._show()

    iteration = update = epoch

    def state_dict(self) -> dict:
        """That of the scheduler."""
        return self.scheduler.state_dict()

    def load_state_dict(self, state_dict: dict) -> None:
        """Load that of the scheduler.

        Args:
            state_dict: what `state_dict()` gave.
        """
        self.scheduler.load_state_dict(state_dict)
