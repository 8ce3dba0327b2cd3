"""Curves: a picture of what was measured, drawn by matplotlib."""
from __future__ import annotations

import importlib.util
import os

from .logger import scalars
from .plugin import Plugin


class Curves(Plugin):
    """Draws the stats over the iterations: what an iteration measures as thin lines, what an epoch does as points.

    Stats that end alike (`training_loss`, `validation_loss`) share axes.

    Args:
        path: the picture, in a format of its ending; written after each epoch. Nothing is written when None.
        fields: which stats; all but time and progress when None.
        interval: when numbers are taken; each iteration and each epoch when None.
        log: names of axes with a logarithmic scale.

    Raises:
        ImportError: matplotlib is not installed.

    Example:
        >>> from numtorch.utils.trainer import Trainer, plugins
        >>> trainer, curves = Trainer(), plugins.Curves(None)
        >>> trainer.register_plugin(plugins.ConstantMonitor("seed", 7))
        >>> trainer.register_plugin(curves)
        >>> trainer.call_plugins("epoch", 1)
        >>> curves.rows["epoch"]
        {'seed': [(0, 7)]}
    """

    priority = 1

    def __init__(self, path, fields=None, interval=None, log=("loss",)) -> None:
        super().__init__([(1, "iteration"), (1, "epoch")] if interval is None else interval)
        if importlib.util.find_spec("matplotlib") is None:
            raise ImportError("Curves needs matplotlib: pip install 'numtorch[training]'")
        self.path, self.fields, self.log = None if path is None else os.fspath(path), fields, log
        self.rows: dict[str, dict[str, list]] = {"iteration": {}, "epoch": {}}

    def iteration(self, *args) -> None:
        """Take the numbers of an iteration.

        Args:
            args: not looked at.
        """
        self._take("iteration")

    def epoch(self, number) -> None:
        """Take the numbers of an epoch, and draw.

        Args:
            number: not looked at.
        """
        self._take("epoch")
        self.draw()

    def _take(self, unit):
        for name, value in scalars(self.trainer, unit).items():
            if name in self.fields if self.fields is not None else name != "time":
                self.rows[unit].setdefault(name, []).append((self.trainer.iterations, value))

    def state_dict(self) -> dict:
        """The numbers so far."""
        return {unit: {name: [list(p) for p in points] for name, points in rows.items()} for unit, rows in self.rows.items()}

    def load_state_dict(self, state_dict: dict) -> None:
        """Go on with the numbers of another run.

        Args:
            state_dict: what `state_dict()` gave.
        """
        self.rows = {unit: {name: [tuple(p) for p in points] for name, points in rows.items()} for unit, rows in state_dict.items()}

    def figure(self):
        """The picture, as a figure of matplotlib, which notebooks show."""
        from matplotlib.figure import Figure
        kinds: dict[str, list] = {}
        for name in {**self.rows["iteration"], **self.rows["epoch"]}:
            kinds.setdefault(name.rpartition("_")[2], []).append(name)
        figure = Figure(figsize=(4.5 * max(len(kinds), 1), 3.2), layout="constrained")
        for axes, (kind, names) in zip(figure.subplots(1, max(len(kinds), 1), squeeze=False)[0], kinds.items()):
            for number, name in enumerate(names):
                thin, points = self.rows["iteration"].get(name, ()), self.rows["epoch"].get(name, ())
                if thin:
                    axes.plot(*zip(*thin), color=f"C{number}", linewidth=0.6, alpha=0.5, label=None if points else name)
                if points:
                    axes.plot(*zip(*points), color=f"C{number}", marker=".", label=name)
            positive = all(value > 0 for unit in self.rows.values() for name in names for _, value in unit.get(name, ()))
            axes.set(xlabel="iteration", title=kind, yscale="log" if kind in self.log and positive else "linear")
            axes.spines[["top", "right"]].set_visible(False)
            axes.legend(frameon=False, fontsize=8)
        return figure

    def draw(self) -> None:
        """Write the picture."""
        if self.path is not None and any(self.rows.values()):
            self.figure().savefig(self.path, dpi=110)

    def close(self) -> None:
        """Write the picture as it is at the end of a run."""
        self.draw()
