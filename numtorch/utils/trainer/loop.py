"""`Trainer`: one loop over epochs and batches, and the moments at which plugins are called."""
from __future__ import annotations

import inspect
import os
import signal
import sys
import threading
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any

from ...data.notes import add_note
from ...serialization import load, save
from .state import random_state, set_random_state
from .steps import described, gradients, in_gradients, whole_step

UNITS = ("iteration", "epoch", "batch", "update")


class Trainer:
    """Trains a model: `criterion(model(input), target)` of each batch goes backward, and the optimizer steps.

    What watches and steers a run are plugins (`numtorch.utils.trainer.plugins`). Each says how often it is called, and when:

    - `"batch"`, with (number, input, target), before a batch is used;
    - `"iteration"`, with (number, input, target, output, loss), after it, without gradients;
    - `"update"`, with (number of the update, model), after a step of the optimizer;
    - `"epoch"`, with (number,), after a pass over the dataset.

    Numbers count from 1 over all runs. At each moment monitors come first, then what reads their `stats`, then what saves.

    Args:
        model: called with the input of a batch.
        criterion: called with the model's output and the target; returns one number.
        optimizer: any; one whose `step` needs a closure, as that of LBFGS, is given one.
        dataset: batches (input, target), such as a `DataLoader`.
        accumulate: batches whose mean gradient makes one step.
        clip_norm: largest norm of all gradients together.
        clip_value: largest absolute value of a gradient's element; what exceeds it is cut off, before `clip_norm`.
        autocast: a context in which model and criterion run, such as `torch.autocast("cpu", torch.bfloat16)`.
        scaler: a `torch.amp.GradScaler`, which float16 needs; its state is part of checkpoints.
        compile: whether steps are replayed (`torch.compile`), with the same results but for rounding; for small models several
            times as fast.

    Attributes:
        iterations, updates, epochs: how many there were, in all runs.
        batches: how many of the epoch under way are done.
        stats: what plugins measured, a dict of dicts.
        stop_reason: why a plugin ended the last run, or None.

    Raises:
        ValueError: `accumulate` is no positive integer.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.utils.trainer import Trainer, plugins
        >>> _ = torch.manual_seed(0)
        >>> x = torch.rand(64, 2)
        >>> data = torch.data.TensorDataset(x, x.sum(1, keepdim=True))
        >>> model = torch.nn.Linear(2, 1)
        >>> trainer = Trainer(model, torch.nn.MSELoss(), torch.optim.Adam(model.parameters(), 0.1),
        ...                   torch.data.DataLoader(data, batch_size=16, shuffle=True))
        >>> trainer.register_plugin(plugins.LossMonitor())
        >>> trainer.run(epochs=20)
        >>> trainer.iterations, trainer.stats["training_loss"]["epoch_mean"] < 0.01
        (80, True)
    """

    def __init__(self, model=None, criterion=None, optimizer=None, dataset=None, *, accumulate: int = 1, clip_norm=None,
                 clip_value=None, autocast=None, scaler=None, compile: bool = False) -> None:
        if not isinstance(accumulate, int) or accumulate < 1:
            raise ValueError(f"Trainer: expected accumulate to be a positive integer, got {accumulate!r}")
        self.model, self.criterion, self.optimizer, self.dataset = model, criterion, optimizer, dataset
        self.accumulate, self.clip_norm, self.clip_value, self.autocast = accumulate, clip_norm, clip_value, autocast
        self.scaler, self.compile = scaler, compile
        self._whole_step: tuple | None = None            # what a compiled step was made of, and the step
        self.iterations = self.updates = self.epochs = self.batches = 0
        self.stats: dict[str, Any] = {}
        self.plugins: list = []
        self.plugin_queues: dict[str, list] = {unit: [] for unit in UNITS}
        self.stop_reason: str | None = None
        self.print = print                               # a progress bar puts what prints above itself
        self._skipped = 0                                # batches that an epoch which is resumed leaves out
        self._pass: dict | None = None                   # the dataset's state when this epoch's first batch was read
        self._interrupted = self._between = False        # Ctrl-C came; the optimizer has begun a step and not ended it
        self._loaded: dict = {}                          # state of plugins that are not registered yet

    # ---------------------------------------------------------------- plugins
    def register_plugin(self, plugin) -> None:
        """Call a plugin at the moments that its `trigger_interval` lists.

        Args:
            plugin: with `trigger_interval`, a list of (every how many, unit), a method for each of these units, and `register`.

        Raises:
            ValueError: an interval that is no positive integer, or an unknown unit.
            TypeError: the plugin lacks the method for a unit.
        """
        for duration, unit in plugin.trigger_interval:
            if unit not in UNITS:
                raise ValueError(f"register_plugin: {_name(plugin)} is to be called by {unit!r}; expected one of "
                                 f"{', '.join(UNITS)}")
            if not isinstance(duration, int) or duration < 1:
                raise ValueError(f"register_plugin: {_name(plugin)} is to be called every {duration!r} {unit}; expected a positive "
                                 "integer")
            if not callable(getattr(plugin, unit, None)):
                raise TypeError(f"register_plugin: {_name(plugin)} has no method {unit}, which its trigger_interval names")
        with _blamed(plugin, "when it was registered"):
            plugin.register(self)
        self.plugins.append(plugin)
        for duration, unit in plugin.trigger_interval:
            queue = self.plugin_queues[unit]
            queue.append((duration, len(queue), plugin))
            queue.sort(key=lambda entry: (getattr(entry[2], "priority", 0), entry[1]))
        self._load_plugin(plugin)

    def call_plugins(self, queue_name: str, time: int, *args) -> None:
        """Call the plugins whose turn it is.

        Args:
            queue_name: the unit.
            time: its number, the plugins' first argument.
            args: their other arguments.
        """
        for duration, _, plugin in self.plugin_queues[queue_name]:
            if time % duration == 0:
                try:
                    getattr(plugin, queue_name)(time, *args)
                except Exception as error:
                    _blame(plugin, f"at {queue_name} {time}", error)
                    raise

    def _load_plugin(self, plugin):
        """Give a plugin the state that was loaded for it."""
        state = self._loaded.pop(self._key(plugin), None)
        if state is not None:
            with _blamed(plugin, "when its state was loaded"):
                plugin.load_state_dict(state)

    def _key(self, plugin):
        """The name of a plugin's state: its class, and which of that class it is."""
        kind = type(plugin).__name__
        alike = [p for p in self.plugins if type(p).__name__ == kind]
        return f"{kind} {alike.index(plugin)}"

    # ---------------------------------------------------------------- running
    def run(self, epochs: int | None = None, *, until: int | None = None) -> None:
        """Train for a number of epochs. An epoch that was resumed in its middle is ended first, and counts.

        Ctrl-C ends the run after the present iteration, so that nothing is half done, and then raises KeyboardInterrupt; a second
        one does not wait. However a run ends, plugins are told: checkpoints are written, files closed.

        Args:
            epochs: how many more; 1 when neither is given.
            until: run until there were so many in all, which is what a script that resumes wants.

        Raises:
            ValueError: both are given.
        """
        if epochs is not None and until is not None:
            raise ValueError("Trainer.run: expected epochs or until, got both")
        goal = self.epochs + (1 if epochs is None else epochs) if until is None else until
        self.stop_reason, self._interrupted = None, False
        with self._deferring_interrupts(), ExitStack() as closing:
            for plugin in self.plugins:
                if hasattr(plugin, "close"):
                    closing.callback(_close, plugin)
            while self.epochs < goal and self.stop_reason is None and not self._interrupted:
                if self.train():
                    self.call_plugins("epoch", self.epochs)
        if self._interrupted:
            self._interrupted = False
            raise KeyboardInterrupt

    def stop(self, reason: str = "asked to") -> None:
        """End the run after the present step, or what is left of the epoch's end.

        Args:
            reason: for `stop_reason`.
        """
        self.stop_reason = reason

    def train(self) -> bool:
        """One pass over the dataset, or what is left of it.

        Returns:
            Whether it came to its end.
        """
        if hasattr(self.model, "train"):                 # any function may be trained, whatever its parameters are
            self.model.train()
        self._asks = _needs_closure(self.optimizer)
        if self._asks and (self.scaler is not None or self.compile):
            raise ValueError(f"Trainer: {type(self.optimizer).__name__} needs a closure, which goes with no GradScaler and cannot "
                             "be compiled")
        if self.compile and (self.autocast is not None or self.scaler is not None):
            raise ValueError("Trainer: compile goes with no autocast and no GradScaler")
        batches = self._rest_of_epoch()
        try:
            while self.stop_reason is None and not self._interrupted:
                group = self._next_batches(batches)
                if not group:
                    self.epochs += 1
                    self.batches = 0
                    return True
                self._step(group)
            return False
        finally:
            if self.batches:                             # the next run goes on from here
                self._go_to(self._place())

    def _rest_of_epoch(self):
        skipped, self._skipped = self._skipped, 0
        if skipped and not hasattr(self.dataset, "load_state_dict"):
            state = random_state()                       # reading the batches again may draw
            rest = iter(self.dataset)
            for _ in islice(rest, skipped):
                pass
            set_random_state(state)
            return rest
        if not skipped:
            self._pass = None
        return iter(self.dataset)

    def _next_batches(self, batches):
        """What one step is made of: [(input, target), ...], empty at the end."""
        group: list = []
        try:
            for batch in islice(batches, self.accumulate):
                if self._pass is None and hasattr(self.dataset, "state_dict"):
                    self._pass = self.dataset.state_dict()
                input, target = batch
                group.append((input, target))
            return group
        except Exception as error:
            add_note(error, f"Trainer: at batch {self.batches + len(group) + 1} of epoch {self.epochs + 1}, which is to be a pair "
                            "(input, target)")
            raise

    def _step(self, group):
        first = self.iterations + 1
        if self.plugin_queues["batch"]:
            for number, (input, target) in enumerate(group, first):
                self.call_plugins("batch", number, input, target)
        results: list = []

        def closure():
            loss, outputs = gradients(group, self.model, self.criterion, self.optimizer, self.clip_value, self.clip_norm,
                                      self.autocast, self.scaler)
            results.extend([] if results else outputs)   # those of the parameters before the step
            self._between = True
            return loss

        try:
            self._run_step(closure, group, results)
        except Exception as error:
            if self.compile and in_gradients(error):
                self._between = False
            add_note(error, f"Trainer: in iteration {first} (batch {self.batches + 1} of epoch {self.epochs + 1}) of "
                            f"{type(self.model).__name__} and {_called(self.criterion)}, with {described(group)}")
            raise
        self._between = False
        self.batches += len(group)
        self.iterations += len(group)
        self.updates += 1
        if self.plugin_queues["iteration"]:
            for number, (pair, result) in enumerate(zip(group, results), first):
                self.call_plugins("iteration", number, *pair, *result)
        if self.plugin_queues["update"]:
            self.call_plugins("update", self.updates, self.model)

    def _run_step(self, closure, group, results):
        if self._asks:
            self.optimizer.step(closure)
        elif self.compile:
            self._between = True                         # a replay is one launch of all, and nobody knows where it was stopped
            results.extend(self._compiled()(*[value for pair in group for value in pair]))
        elif self.scaler is not None:
            closure()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:                                            # a fifth of a small step less than with a closure
            closure()
            self.optimizer.step()

    def _compiled(self):
        """The step as a function of tensors alone, made anew only where something of it was exchanged."""
        parts = self.model, self.criterion, self.optimizer, self.clip_value, self.clip_norm
        if self._whole_step is None or any(a is not b for a, b in zip(parts, self._whole_step[0])):
            self._whole_step = parts, whole_step(*parts)
        return self._whole_step[1]

    @contextmanager
    def _deferring_interrupts(self):
        """Inside, a first Ctrl-C waits until the present iteration is done."""
        if threading.current_thread() is not threading.main_thread() \
                or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield                                        # somebody else has a say in it
            return

        def remember(number, frame):
            if self._interrupted:
                self._interrupted = False
                raise KeyboardInterrupt
            self._interrupted = True
            if sys.stderr.isatty():
                os.write(2, b"\nCtrl-C: the run ends after this iteration; once more, and it does not wait\n")

        signal.signal(signal.SIGINT, remember)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    # ---------------------------------------------------------------- checkpoints
    @property
    def is_whole(self) -> bool:
        """Whether the parameters are what a whole step left, as they are not where the optimizer was stopped in its midst."""
        return not self._between

    def value(self, name: str) -> float:
        """A number of `stats`, by the plugin's name: the mean of the last epoch, or the last value where there is none.

        Args:
            name: such as "training_loss" or "training_loss.running_avg".

        Raises:
            KeyError: no plugin measures it, or not yet.
        """
        result: Any = self.stats
        for part in name.split("."):
            if not isinstance(result, dict) or part not in result:
                raise KeyError(f"Trainer: there is no {name!r} in the stats; there are {', '.join(self.stats) or 'none'}")
            result = result[part]
        return result if not isinstance(result, dict) else result["epoch_mean"] if "epoch_mean" in result else result["last"]

    def _place(self):
        """Where in the dataset the run is. A loader may be ahead of what was trained on, at its end too: it counts how its pass
        began, and how many batches were used."""
        if self.batches and self._pass is not None and "taken" in self._pass:
            return {**self._pass, "taken": self.batches}
        return self.dataset.state_dict() if hasattr(self.dataset, "state_dict") else None

    def _go_to(self, place):
        self._skipped, self._pass = self.batches, place
        if place is not None and hasattr(self.dataset, "load_state_dict"):
            self.dataset.load_state_dict(place)

    def state_dict(self) -> dict:
        """All that a run needs to go on as if it had not ended: model, optimizer, place in the dataset, random state, plugins."""
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "dataset": self._place(),
                "batches": self.batches, "scaler": None if self.scaler is None else self.scaler.state_dict(),
                "iterations": self.iterations, "updates": self.updates, "epochs": self.epochs, "stats": self.stats,
                "random": random_state(),
                "plugins": {self._key(p): p.state_dict() for p in self.plugins if hasattr(p, "state_dict")}}

    def load_state_dict(self, state_dict: dict) -> None:
        """Go on from where another trainer was. What does not fit leaves this one as it is. Plugins get their state, also when they
        are registered later.

        Args:
            state_dict: what `state_dict()` gave.

        Raises:
            RuntimeError: the model is another.
            KeyError, ValueError: the optimizer is another, or the dataset's order is of another kind, or something is missing.
        """
        mine, theirs = self.model.state_dict(), state_dict["model"]
        shapes = [{name: tuple(getattr(value, "shape", ())) for name, value in state.items()} for state in (mine, theirs)]
        if shapes[0] != shapes[1]:
            names = sorted(n for n in {*mine, *theirs} if shapes[0].get(n) != shapes[1].get(n))
            raise RuntimeError(f"Trainer.load_state_dict: expected the state of this {type(self.model).__name__}, got another at " +
                               ", ".join(f"{n} ({shapes[0].get(n, 'not here')} here, {shapes[1].get(n, 'none')} there)"
                                         for n in names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else ""))
        stats, streams, counts = state_dict["stats"], state_dict["random"], [state_dict[name] for name in
                                                                             ("iterations", "updates", "epochs", "batches")]
        before = self._place(), self.batches
        try:
            self.batches = counts[-1]
            self._go_to(state_dict["dataset"])
            self.optimizer.load_state_dict(state_dict["optimizer"])      # which checks first
        except Exception:
            place, self.batches = before
            self._go_to(place)
            raise
        self.model.load_state_dict(theirs)
        self._between = False
        if self.scaler is not None and state_dict["scaler"] is not None:
            self.scaler.load_state_dict(state_dict["scaler"])
        self.iterations, self.updates, self.epochs, _ = counts
        for name, values in stats.items():
            if isinstance(values, dict):
                self.stats.setdefault(name, {}).update(values)               # plugins hold on to these
            else:
                self.stats[name] = values
        self._loaded = dict(state_dict["plugins"])
        for plugin in self.plugins:
            self._load_plugin(plugin)
        set_random_state(streams)

    def save(self, path) -> None:
        """Write a checkpoint; a file that is there is replaced when all is written.

        Args:
            path: the file.
        """
        save(self.state_dict(), path)

    def load(self, path) -> None:
        """Go on from a checkpoint, which runs nothing that the file says.

        Args:
            path: a file that `save` wrote.

        Raises:
            OSError, RuntimeError, ValueError, KeyError: the file is not there, damaged, or of another model or optimizer; this
                trainer is as it was.
        """
        try:
            self.load_state_dict(load(path))
        except Exception as error:
            add_note(error, f"Trainer: while {os.fspath(path)} was loaded")
            raise

    def resume(self, path) -> bool:
        """`load` if the file is there.

        Args:
            path: a file that `save` wrote, or will write.

        Returns:
            Whether it was there.
        """
        if not os.path.exists(path):
            return False
        self.load(path)
        return True


def _needs_closure(optimizer):
    """Whether its step takes a closure that it cannot do without, as that of LBFGS."""
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    return closure is not None and closure.default is inspect.Parameter.empty


def _name(plugin):
    return type(plugin).__name__


def _blame(plugin, when, error):
    add_note(error, f"Trainer: raised by the plugin {_name(plugin)} {when}")


@contextmanager
def _blamed(plugin, when):
    """An error inside says which plugin raised it."""
    try:
        yield
    except Exception as error:
        _blame(plugin, when, error)
        raise


def _close(plugin):
    with _blamed(plugin, "as the run ended"):
        plugin.close()


def _called(criterion):
    return getattr(criterion, "__name__", type(criterion).__name__)


__all__ = ["Trainer"]
