"""`Plugin`: when it is called, and in which order. Subclasses have a method for each unit of their interval."""
from __future__ import annotations


class Plugin:
    """What a `Trainer` calls at given moments.

    A plugin may have `state_dict` and `load_state_dict`, which checkpoints keep, and `close`, which is called however a run ends.

    Args:
        interval: every how many of what it is called, such as `[(10, "iteration"), (1, "epoch")]` or `(1, "epoch")`.

    Attributes:
        priority: 0 for what measures, 1 for what reads `stats`, 2 for what saves; smaller ones are called first.

    Example:
        >>> from numtorch.utils.trainer import plugins
        >>> class Greeting(plugins.Plugin):
        ...     def epoch(self, number):
        ...         print("epoch", number)
        >>> Greeting([(1, "epoch")]).trigger_interval
        [(1, 'epoch')]
    """

    priority = 0

    def __init__(self, interval=None) -> None:
        if isinstance(interval, tuple) and interval and isinstance(interval[0], int):
            interval = [interval]
        self.trigger_interval = [] if interval is None else list(interval)

    def register(self, trainer) -> None:
        """Called when the plugin joins a trainer, which it keeps.

        Args:
            trainer: which.
        """
        self.trainer = trainer


class PluginFactory(Plugin):
    """A plugin of a function.

    Args:
        fn: called with what the unit's moment gives: see `Trainer`.
        register_fn: called with the trainer that the plugin joins.
        interval: every how many of what `fn` is called.

    Example:
        >>> from numtorch.utils.trainer import Trainer, plugins
        >>> trainer = Trainer()
        >>> trainer.register_plugin(plugins.PluginFactory(lambda number: print("epoch", number), interval=[(2, "epoch")]))
        >>> for number in range(1, 5):
        ...     trainer.call_plugins("epoch", number)
        epoch 2
        epoch 4
    """

    def __init__(self, fn, register_fn=None, interval=None) -> None:
        super().__init__(interval)
        self.register_fn = register_fn
        for _, unit in self.trigger_interval:
            setattr(self, unit, fn)

    def register(self, trainer) -> None:
        """Keep a trainer, and tell `register_fn`.

        Args:
            trainer: which.
        """
        super().register(trainer)
        if self.register_fn is not None:
            self.register_fn(trainer)
