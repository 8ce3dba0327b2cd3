"""Mistakes in a trainer's run: each is named where it was made, and nothing is lost."""
from __future__ import annotations

import pytest
from trainers import Calls, examples, notes, parameters, trainer_of

import numtorch as torch
from numtorch.data import DataLoader, Dataset, TensorDataset
from numtorch.utils.trainer import Trainer, metrics, plugins


class Damaged(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, number):
        if number == 7:
            raise OSError("cannot read picture")
        return torch.ones(3), 1


def test_a_bad_sample_is_named_and_nothing_is_lost(tmp_path):
    trainer = trainer_of(DataLoader(Damaged(), batch_size=4))
    trainer.register_plugin(plugins.Saver(tmp_path / "run.pt"))
    with pytest.raises(OSError, match="cannot read picture") as raised:
        trainer.run()
    assert "example 7 of Damaged" in notes(raised.value) and "batch 2 of epoch 1" in notes(raised.value)
    assert torch.load(tmp_path / "run.pt")["iterations"] == trainer.iterations == 1
    trainer.dataset = DataLoader(TensorDataset(torch.ones(12, 3), torch.ones(12).long()), batch_size=4)
    trainer.load(tmp_path / "run.pt")
    trainer.run()
    assert trainer.iterations == 3 and trainer.epochs == 1


def broken(*args):
    raise ZeroDivisionError("nothing to divide by")


class Gathered(metrics.Confusion):
    compute = broken

    def __init__(self):
        super().__init__(2)


class Leaving(Calls):
    load_state_dict = close = broken

    def state_dict(self):
        return {}


@pytest.mark.parametrize(("make", "kind", "words"), [
    (lambda: trainer_of([(torch.ones(4, 5), torch.ones(4).long())]), RuntimeError,
     ["iteration 1 (batch 1 of epoch 1)", "Sequential and CrossEntropyLoss", "input (4, 5) float32; target (4,) int64"]),
    (lambda: trainer_of([*examples(), (torch.ones(4, 5), torch.ones(4).long())], compile=True), RuntimeError,
     ["iteration 7 (batch 7 of epoch 1)", "input (4, 5) float32; target (4,) int64"]),
    (lambda: trainer_of([*examples(120), (torch.ones(4, 3), torch.full((4,), 7))], compile=True), IndexError, ["iteration 31"]),
    (lambda: trainer_of([torch.ones(3)]), ValueError, ["batch 1 of epoch 1", "pair (input, target)"]),
    (lambda: trainer_of([3]), TypeError, ["batch 1 of epoch 1"]),
    (lambda: (t := trainer_of(), t.register_plugin(plugins.PluginFactory(broken, interval=[(3, "iteration")])))[0], ZeroDivisionError,
     ["plugin PluginFactory at iteration 3"]),
    (lambda: (t := trainer_of(), t.register_plugin(plugins.Validation(examples(), {"odd": broken})))[0], ZeroDivisionError,
     ["metric 'odd' at batch 1", "plugin Validation at epoch 1"]),
    (lambda: (t := trainer_of(), t.register_plugin(plugins.Validation([(torch.ones(4, 5), torch.ones(4).long())])))[0], RuntimeError,
     ["validation: raised by the model at batch 1, with input (4, 5) float32; target (4,) int64", "plugin Validation at epoch 1"]),
    (lambda: (t := trainer_of(), t.register_plugin(plugins.Validation([*examples(), 3])))[0], TypeError, ["the dataset at batch 7"]),
    (lambda: (t := trainer_of(), t.register_plugin(plugins.Validation(DataLoader(Damaged(), 4))))[0], OSError,
     ["example 7 of Damaged", "the dataset at batch 2"]),
    (lambda: (t := trainer_of(), t.register_plugin(plugins.Validation(examples(), {"odd": Gathered()})))[0], ZeroDivisionError,
     ["validation: raised by the metric 'odd'\n"]),
    (lambda: (t := trainer_of(), t.register_plugin(Leaving([(1, "epoch")])))[0], ZeroDivisionError, ["plugin Leaving as the run ended"]),
    (lambda: (t := trainer_of(), t.register_plugin(plugins.EarlyStopping("nowhere")))[0], KeyError, ["'nowhere'", "plugin EarlyStopping"]),
    (lambda: trainer_of([(torch.ones(4, 3), torch.full((4,), 7))]), IndexError, ["iteration 1"])],
    ids=["shapes", "compiled shapes", "compiled class", "no pair", "no sequence", "plugin", "metric", "validation's shapes", "validation's pair",
         "validation's sample", "gathered", "end", "field", "class"])
def test_mistakes_are_named(make, kind, words, tmp_path):
    trainer = make()
    trainer.register_plugin(plugins.Saver(tmp_path / "run.pt"))
    with pytest.raises(kind) as raised:
        trainer.run()
    assert all(word in notes(raised.value) for word in words), notes(raised.value)
    assert (tmp_path / "run.pt").exists() == (trainer.iterations > 0) and trainer.is_whole


def test_a_compiled_step_that_fails_changes_nothing():
    ends = []
    for compile in (False, True):
        trainer = trainer_of([*examples(120, shuffle=False), (torch.ones(4, 3), torch.full((4,), 7))], compile=compile)
        with pytest.raises(IndexError, match="Target 7"):
            trainer.run()
        ends.append([trainer.iterations, parameters(trainer).tolist(), [[value.tolist() for value in state.values()]
                                                                        for state in trainer.optimizer.state_dict()["state"].values()]])
    assert ends[0] == ends[1] and ends[0][0] == 30


def test_plugins_that_raise_as_they_join_or_go_on_are_named(tmp_path):
    with pytest.raises(ZeroDivisionError) as raised:
        Trainer().register_plugin(plugins.PluginFactory(None, broken))
    assert "plugin PluginFactory when it was registered" in notes(raised.value)
    trainer = trainer_of()
    trainer.register_plugin(Leaving([(1, "epoch")]))
    trainer.save(tmp_path / "run.pt")
    with pytest.raises(ZeroDivisionError) as raised:
        trainer.load(tmp_path / "run.pt")
    assert "plugin Leaving when its state was loaded" in notes(raised.value) and "run.pt" in notes(raised.value)


@pytest.mark.parametrize("content", [b"name,age\nAda,36\n", b"epoch,iteration\n1,\n", b"epoch,iteration\n1\n", b"\xff\xfe,\n", b"iteration\nmany\n"])
def test_a_csv_file_that_is_no_log_is_named_and_stays(content, tmp_path):
    trainer = trainer_of()
    logger = plugins.CSVLogger(tmp_path / "log.csv")
    trainer.register_plugin(logger)
    (tmp_path / "log.csv").write_bytes(content)
    with pytest.raises(ValueError, match=r"CSVLogger: .*log\.csv is no log"):
        logger.load_state_dict(logger.state_dict())
    assert (tmp_path / "log.csv").read_bytes() == content


def test_metrics_that_raise_leave_the_model_training():
    trainer = trainer_of()
    trainer.register_plugin(plugins.Validation(examples(), {"odd": broken}))
    with pytest.raises(ZeroDivisionError):
        trainer.run()
    assert trainer.model.training


@pytest.mark.parametrize(("interval", "kind", "message"), [
    ([(0, "epoch")], ValueError, "positive integer"), ([(1.5, "epoch")], ValueError, "positive integer"),
    ([(1, "minute")], ValueError, "'minute'; expected one of iteration"), ([(1, "update")], TypeError, "has no method update")])
def test_bad_intervals(interval, kind, message):
    plugin = plugins.LossMonitor()
    plugin.trigger_interval = interval
    with pytest.raises(kind, match=message):
        Trainer().register_plugin(plugin)


@pytest.mark.parametrize(("make", "message"), [
    (lambda: Trainer(accumulate=0), "positive integer"), (lambda: Trainer().run(1, until=2), "got both"),
    (lambda: plugins.Saver("x", [(1, "iteration")]), "updates or epochs"), (lambda: plugins.Saver("x", mode="least"), "mode"),
    (lambda: plugins.EarlyStopping(mode="least"), "mode"), (lambda: plugins.Logger("loss"), "sequence of strings"),
    (lambda: plugins.ProgressBar(backend="curses", shown=True), "backend")])
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
