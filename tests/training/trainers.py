"""What the tests of the trainer share: examples, a classifier, a trainer of both, and a plugin that writes down its calls."""
from __future__ import annotations

import numpy as np

import numtorch as torch
from numtorch.data import DataLoader, TensorDataset
from numtorch.utils.trainer import Trainer, plugins


def examples(count=24, batch_size=4, shuffle=True, seed=0):
    x = torch.tensor(np.random.default_rng(seed).normal(size=(count, 3)).astype(np.float32))
    return DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=batch_size, shuffle=shuffle)


def classifier(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Dropout(0.2), torch.nn.Linear(8, 2))


def trainer_of(dataset=None, model=None, optimizer=torch.optim.Adam, **options):
    model = classifier() if model is None else model
    return Trainer(model, torch.nn.CrossEntropyLoss(), optimizer(model.parameters(), 0.05), examples() if dataset is None else dataset,
                   **options)


def parameters(trainer):
    return torch.cat([p.detach().reshape(-1) for p in trainer.model.parameters()])


class Calls(plugins.Plugin):
    """Writes down what it is called with."""

    def __init__(self, interval):
        super().__init__(interval)
        self.calls, self.closed = [], 0

    def __getattr__(self, unit):
        if unit in ("iteration", "epoch", "batch", "update"):
            return lambda number, *args: self.calls.append((unit, number, len(args)))
        raise AttributeError(unit)

    def close(self):
        self.closed += 1


def notes(error):
    return "\n".join([str(error), *getattr(error, "__notes__", ())])
