"""A trainer that compiles its steps, through what people change in the middle of a run."""
from __future__ import annotations

import functools

import numpy as np
import pytest

import numtorch as torch
from numtorch import nn
from numtorch.data import DataLoader, TensorDataset
from numtorch.jit.compiling import improving
from numtorch.kernels.binding import DISABLE_JIT
from numtorch.kernels.debugmemory import MODE
from numtorch.utils.trainer import Trainer, plugins

pytestmark = pytest.mark.skipif(DISABLE_JIT or bool(MODE), reason="nothing is captured with NUMBA_DISABLE_JIT and NUMTORCH_DEBUG_MEMORY")


def examples(count, seed):
    x = torch.tensor(np.random.default_rng(seed).normal(size=(count, 3)).astype(np.float32))
    return DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=4)


def network():
    return nn.Sequential(nn.Linear(3, 8, bias=False), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))


def frozen(trainer):
    trainer.model[0].weight.requires_grad_(False)


def frozen_statistics(trainer):
    norm = trainer.model[1].eval()
    norm.train = lambda mode=True: norm


def another_criterion(trainer):
    trainer.criterion = nn.CrossEntropyLoss(label_smoothing=0.3)


def weights_of_classes(trainer):
    trainer.criterion.weight = torch.tensor([1.0, 3.0])


def learning_rate(trainer):
    trainer.optimizer.param_groups[0]["lr"] *= 0.3


def schedule(trainer):
    scheduler = torch.optim.lr_scheduler.OneCycleLR(trainer.optimizer, 0.1, total_steps=200)
    trainer.register_plugin(plugins.PluginFactory(lambda *args: scheduler.step(), interval=[(1, "update")]))


def parameter_group(trainer):
    torch.manual_seed(1)
    trainer.model.append(nn.Linear(2, 2))
    trainer.optimizer.add_param_group({"params": list(trainer.model[-1].parameters()), "lr": 0.01})


def replaced_parameter(trainer):
    torch.manual_seed(1)
    trainer.model[0].weight = trainer.optimizer.param_groups[0]["params"][0] = nn.Parameter(torch.randn(8, 3))


def another_optimizer(trainer):
    trainer.optimizer = torch.optim.SGD(trainer.model.parameters(), 0.1)


def forward_hook(trainer):
    trainer.model[0].register_forward_hook(lambda module, inputs, output: output * 0.5)


def gradient_hook(trainer):
    trainer.model[0].weight.register_hook(lambda grad: grad * 0.5)


def step_hook(trainer):
    trainer.optimizer.register_step_post_hook(lambda *args: trainer.model[1].bias.data.mul_(0.5))


def dropout(trainer):
    trainer.model[3].p = 0.6


def another_layer(trainer):
    trainer.model[2] = nn.Sigmoid()


def loaded(trainer):
    trainer.model.load_state_dict({name: value * 1.5 if value.is_floating_point() else value
                                   for name, value in trainer.model.state_dict().items()})


def clipping(trainer):
    trainer.clip_norm = 0.1


def accumulation(trainer):
    trainer.accumulate = 2


def kept_results(trainer):
    kept = trainer.stats["kept"] = []
    trainer.register_plugin(plugins.PluginFactory(lambda *args: kept.extend(args[-2:]), interval=[(1, "iteration")]))
    trainer.register_plugin(plugins.PluginFactory(lambda *args: kept.extend(p.grad for p in trainer.model.parameters()), interval=[(1, "update")]))


CHANGES = (frozen, frozen_statistics, another_criterion, weights_of_classes, learning_rate, schedule, parameter_group, replaced_parameter,
           another_optimizer, forward_hook, gradient_hook, step_hook, dropout, another_layer, loaded, clipping, accumulation, kept_results)


def run(change, compile, wins):
    """49 steps with validation between, the last batch of an epoch shorter. The change comes after the 25th, when graphs may run.

    Returns what was measured and what is left, and how many graphs took a replay's place.
    """
    torch.manual_seed(0)
    model = network()
    trainer = Trainer(model, nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters(), 0.05), examples(27, 0), compile=compile)
    trainer.register_plugin(plugins.Validation(examples(11, 1)))
    losses, replaced = [], set()

    def iteration(number, input, target, output, loss):
        losses.append(loss.item())
        if number == 25:
            change(trainer)

    def hurry(*args):                                    # no waiting for the compiler, and the clock decides nothing
        for kind in trainer._whole_step[1]._kinds.values() if compile else ():
            for replay in kind.replays:
                found = replay.better
                if found is not None and found.stage.__name__ == "_compiled":
                    found.thread.join()
                elif found is not None and found.stage.__name__ == "_contest":
                    found.calls, found.times = improving.TURNS, ([0.0], [-1.0 if wins else 1.0])
                if replay.stays == "it was replaced" or getattr(replay, "passes", None):
                    replaced.add(id(replay))

    trainer.register_plugin(plugins.PluginFactory(iteration, interval=[(1, "iteration")]))
    trainer.register_plugin(plugins.PluginFactory(hurry, interval=[(1, "update")]))
    trainer.run(7)
    return losses, [*trainer.model.state_dict().values(), *trainer.stats.get("kept", ())], trainer.value("validation_loss"), len(replaced)


@functools.cache
def eager_run(change):
    return run(change, False, False)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("wins", [False, True], ids=["replays", "graphs"])
def test_changes_in_the_middle_of_a_run(change, wins, monkeypatch):
    """Replays are eager steps to the last bit, and graphs but for rounding, whatever is changed."""
    monkeypatch.setattr(improving, "PATIENCE", 2)
    eager, compiled = eager_run(change), run(change, True, wins)
    assert len(compiled[0]) == 49 and (compiled[3] > 0) == wins
    for a, b in zip((eager[0], eager[2], *eager[1]), (compiled[0], compiled[2], *compiled[1]), strict=True):
        if wins:
            np.testing.assert_allclose(np.asarray(b), np.asarray(a), rtol=1e-3, atol=1e-5)
        else:
            np.testing.assert_array_equal(np.asarray(b), np.asarray(a))
