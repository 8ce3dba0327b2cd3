"""Training as it was in 2016, (dataset, model, optimizer) and plugins, with what is expected of it today (docs/training.md).

loop        `Trainer`: epochs, iterations, steps; stopping, Ctrl-C, saving and resuming
steps       what a step computes, and all of it as one function
state       the random state that a checkpoint holds
metrics     what is measured of a batch: accuracy and its kin
plugins     what watches a run: monitors, validation, loggers, progress bar, curves, early stopping, schedules, checkpoints
"""
from . import metrics, plugins
from .loop import Trainer

__all__ = ["Trainer", "metrics", "plugins"]
