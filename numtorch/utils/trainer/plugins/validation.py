"""Validation: loss and metrics on examples that are not trained on."""
from __future__ import annotations

from ....autograd.modes import no_grad
from ....data.notes import add_note
from ....tensor import Tensor
from ..steps import described
from .plugin import Plugin


class Validation(Plugin):
    """Runs the model over another dataset, in evaluation mode and without gradients.

    Args:
        dataset: batches (input, target).
        metrics: what to measure, by name: functions of (output, target) of one batch, whose mean over the examples is taken; or
            objects with `reset()`, `update(output, target)` and `compute()`.
        interval: when; after each epoch when None.
        name: what stands before the names in the stats: `validation_loss` and the like.
        criterion: for the loss; the trainer's when None.
        precision: digits behind the point in logs.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.utils.trainer import Trainer, metrics, plugins
        >>> model = torch.nn.Linear(3, 2)
        >>> batches = [(torch.eye(3), torch.tensor([0, 1, 0]))]
        >>> trainer = Trainer(model, torch.nn.functional.cross_entropy, torch.optim.SGD(model.parameters(), 1.0), batches)
        >>> trainer.register_plugin(plugins.Validation(batches, {"accuracy": metrics.accuracy}))
        >>> trainer.run(epochs=9)
        >>> trainer.value("validation_accuracy")
        1.0
    """

    def __init__(self, dataset, metrics=None, interval=None, name: str = "validation", criterion=None, precision: int = 4) -> None:
        super().__init__([(1, "epoch")] if interval is None else interval)
        self.dataset, self.metrics, self.name, self.criterion = dataset, dict(metrics or {}), name, criterion
        self.shown = f":.{precision}f"
        for _, unit in self.trigger_interval:
            if unit != "epoch":
                setattr(self, unit, self.epoch)

    def epoch(self, number, *args) -> None:
        """Validate, and put the results into the trainer's stats.

        Args:
            number: of the epoch, or whatever the interval names.
            args: not looked at.
        """
        for name, value in self.run().items():
            self.trainer.stats.setdefault(f"{self.name}_{name}", {}).update(
                last=value, log_format=self.shown, log_unit="", log_iter_fields=[], log_epoch_fields=["{last" + self.shown + "}"])

    def run(self) -> dict:
        """Validate now.

        Returns:
            `{"loss": ..., **metrics}` as numbers.
        """
        trainer, totals, seen = self.trainer, dict.fromkeys(("loss", *self.metrics), 0.0), 0
        criterion, training = self.criterion or trainer.criterion, getattr(trainer.model, "training", None)
        measures = {"loss": criterion, **{n: m for n, m in self.metrics.items() if not hasattr(m, "update")}}
        gathering = {name: metric for name, metric in self.metrics.items() if hasattr(metric, "update")}
        if training is not None:
            trainer.model.eval()
        at = _Place(self.name)
        try:
            with no_grad(), at:
                for name, metric in gathering.items():
                    at.what = f"the metric {name!r}"
                    metric.reset()
                at.what = "the dataset at batch 1"
                for place, (input, target) in enumerate(self.dataset, 1):
                    at.what, at.pair = f"the model at batch {place}", (input, target)
                    output = trainer.model(input)
                    count = target.shape[0] if type(target) is Tensor and target.shape else 1
                    seen += count
                    for name, function in measures.items():
                        at.what = f"the metric {name!r} at batch {place}"
                        totals[name] += float(function(output, target)) * count
                    for name, metric in gathering.items():
                        at.what = f"the metric {name!r} at batch {place}"
                        metric.update(output, target)
                    at.what, at.pair = f"the dataset at batch {place + 1}", None
                results = {name: total / max(seen, 1) for name, total in totals.items()}
                for name, metric in gathering.items():
                    at.what = f"the metric {name!r}"
                    results[name] = float(metric.compute())
        finally:
            if training is not None:
                trainer.model.train(training)
        return results


class _Place:
    """What is at work, on which pair (input, target): an error inside says so."""

    def __init__(self, plugin):
        self.plugin, self.what, self.pair = plugin, "", None

    def __enter__(self):
        pass

    def __exit__(self, kind, error, traceback):
        if isinstance(error, Exception):
            given = "" if self.pair is None else f", with {described([self.pair])}"
            add_note(error, f"{self.plugin}: raised by {self.what}{given}")
