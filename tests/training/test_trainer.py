"""The trainer: the interface of 2016, what comes on top of it, and runs that end in any way and go on."""
from __future__ import annotations

import csv
import sys
import time
import types

import numpy as np
import pytest
from trainers import Calls, classifier, examples, parameters, trainer_of

import numtorch as torch
from bench.runner.networks import train_by_hand
from numtorch.kernels.debugmemory import MODE
from numtorch.utils.trainer import Trainer, metrics, plugins


# ---------------------------------------------------------------- the interface of 2016
def test_moments():
    calls = Calls([(2, "iteration"), (1, "epoch"), (3, "batch"), (6, "update")])
    trainer = trainer_of()
    trainer.register_plugin(calls)
    trainer.run(epochs=2)
    assert trainer.iterations == 12 and trainer.epochs == 2 and calls.closed == 1
    assert calls.calls == [("iteration", 2, 4), ("batch", 3, 2), ("iteration", 4, 4), ("batch", 6, 2), ("iteration", 6, 4), ("update", 6, 1),
                           ("epoch", 1, 0), ("iteration", 8, 4), ("batch", 9, 2), ("iteration", 10, 4), ("batch", 12, 2),
                           ("iteration", 12, 4), ("update", 12, 1), ("epoch", 2, 0)]


@pytest.mark.parametrize(("interval", "counts"), [
    ([(1, "iteration")], dict(iteration=20)), ([(1, "epoch")], dict(epoch=2)), ([(1, "batch")], dict(batch=20)), ([(1, "update")], dict(update=20)),
    ([(5, "iteration")], dict(iteration=4)), ([(2, "iteration"), (2, "epoch")], dict(iteration=10, epoch=1)), ((4, "batch"), dict(batch=5))])
def test_anything_that_is_called_like_them(interval, counts):
    """Models, criteria, optimizers and datasets of any kind, as in the test of the time: the optimizer asks as often as it likes."""
    output, calls, closures = torch.ones(1, 1, requires_grad=True), [], []

    class Optimizer:
        def zero_grad(self):
            pass

        def step(self, closure):
            for _ in range(len(closures) % 3 + 1):
                closures.append(closure())

    class Counter(plugins.Plugin):
        def iteration(self, number, input, target, output, loss):
            calls.append("iteration")

        def batch(self, number, input, target):
            calls.append("batch")

        def update(self, number, model):
            calls.append("update")

        def epoch(self, number):
            calls.append("epoch")

    def model(input):
        return output * 2

    trainer = Trainer(model, lambda output, target: output, Optimizer(), [(torch.ones(2, 10), torch.zeros(2))] * 10)
    trainer.register_plugin(Counter(interval))
    trainer.register_plugin(plugins.Validation([(torch.ones(1), torch.zeros(1))]))
    trainer.run(epochs=2)
    assert {unit: calls.count(unit) for unit in set(calls)} == counts
    assert output.grad.item() == 2 * len(closures) and len(closures) > 20 and trainer.value("validation_loss") == 2


def test_what_an_iteration_gives_is_not_recorded():
    seen = []
    trainer = trainer_of()
    trainer.register_plugin(plugins.PluginFactory(lambda *args: seen.append(args), interval=[(6, "iteration")]))
    trainer.run()
    number, input, target, output, loss = seen[0]
    assert input.shape == (4, 3) and target.shape == (4,) and output.shape == (4, 2) and loss.shape == ()
    assert not output.requires_grad and not loss.requires_grad


def test_monitors_and_logger(capsys):
    trainer = trainer_of(examples(10, 4, shuffle=False))
    losses = []
    trainer.register_plugin(plugins.Logger(["training_loss", "accuracy", "progress", "training_loss.running_avg", "time"],
                                           [(2, "iteration"), (1, "epoch")]))
    trainer.register_plugin(plugins.LossMonitor())
    trainer.register_plugin(plugins.AccuracyMonitor())
    trainer.register_plugin(plugins.TimeMonitor())
    trainer.register_plugin(plugins.ProgressMonitor())
    trainer.register_plugin(plugins.PluginFactory(lambda *args: losses.append(args[-1].item()), interval=[(1, "iteration")]))
    trainer.run()
    stats = trainer.stats["training_loss"]
    assert stats["last"] == losses[-1] and stats["epoch_mean"] == pytest.approx((4 * losses[0] + 4 * losses[1] + 2 * losses[2]) / 10)
    assert stats["running_avg"] == pytest.approx((losses[0] * 0.7 + losses[1] * 0.3) * 0.7 + losses[2] * 0.3)
    assert 0 <= trainer.value("accuracy") <= 100 and trainer.value("time") > 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"training_loss: {losses[1]:.4f} ({losses[0] * 0.7 + losses[1] * 0.3:.4f})") and "2/3 (66.67%)" in lines[0]
    assert lines[2] == "Epoch summary: 1" and f"training_loss: {stats['epoch_mean']:.4f}" in lines[3] and "ms" in lines[3]


def test_the_steps_are_those_of_a_plain_loop():
    trainer = trainer_of(examples(shuffle=False), optimizer=torch.optim.SGD)
    trainer.run(epochs=2)
    model = classifier()
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    for _ in range(2):
        for x, y in examples(shuffle=False):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    assert torch.equal(parameters(trainer), torch.cat([p.detach().reshape(-1) for p in model.parameters()]))


# ---------------------------------------------------------------- steps
def test_accumulated_batches_are_one_large_batch():
    whole, parts = (trainer_of(examples(20, size, shuffle=False), torch.nn.Linear(3, 2), torch.optim.SGD, accumulate=times)
                    for size, times in ((8, 1), (4, 2)))
    parts.model.load_state_dict(whole.model.state_dict())
    calls = Calls([(1, "iteration"), (1, "update")])
    parts.register_plugin(calls)
    for trainer in (whole, parts):
        trainer.run()
    assert torch.allclose(parameters(whole), parameters(parts), atol=1e-6)
    assert (whole.iterations, parts.iterations, whole.updates, parts.updates) == (3, 5, 3, 3)
    assert [c[:2] for c in calls.calls] == [("iteration", 1), ("iteration", 2), ("update", 1), ("iteration", 3), ("iteration", 4), ("update", 2),
                                            ("iteration", 5), ("update", 3)]


@pytest.mark.parametrize(("options", "largest"), [(dict(clip_norm=0.01), lambda g: g.norm()), (dict(clip_value=0.003), lambda g: g.abs().max())])
def test_clipping(options, largest):
    trainer = trainer_of(optimizer=torch.optim.SGD, **options)
    gradients = []
    trainer.register_plugin(plugins.PluginFactory(
        lambda number, model: gradients.append(torch.cat([p.grad.reshape(-1) for p in model.parameters()])), interval=[(1, "update")]))
    trainer.run()
    limit, = options.values()
    assert all(largest(g).item() <= limit * 1.001 for g in gradients) and largest(gradients[0]).item() > limit * 0.99


def test_an_optimizer_that_asks_more_than_once():
    losses = []
    trainer = trainer_of(examples(16, 16, shuffle=False), torch.nn.Linear(3, 2), torch.optim.LBFGS)
    trainer.register_plugin(plugins.PluginFactory(lambda *args: losses.append(args[-1].item()), interval=[(1, "iteration")]))
    trainer.run(epochs=4)
    assert trainer.iterations == len(losses) == 4 and losses[-1] < losses[0] / 2


def test_outputs_may_be_structures():
    model = torch.nn.GRU(3, 2, batch_first=True)
    seen = []
    trainer = Trainer(model, lambda output, target: output[0].square().mean(), torch.optim.SGD(model.parameters(), 0.1),
                      [(torch.ones(2, 4, 3), torch.zeros(2))])
    trainer.register_plugin(plugins.PluginFactory(lambda *args: seen.append(args[3]), interval=[(1, "iteration")]))
    trainer.run()
    assert isinstance(seen[0], tuple) and not seen[0][0].requires_grad


def test_model_and_criterion_run_in_the_context():
    class Context:
        inside = 0

        def __enter__(self):
            self.inside += 1

        def __exit__(self, *exception):
            self.inside -= 1

    context, seen = Context(), []
    trainer = trainer_of(autocast=context)
    criterion = trainer.criterion
    trainer.criterion = lambda *args: (seen.append(context.inside), criterion(*args))[1]
    trainer.register_plugin(plugins.PluginFactory(lambda *args: seen.append(context.inside), interval=[(1, "update")]))
    trainer.run()
    assert seen == [1, 0] * 6


def test_mixed_precision():
    """In bfloat16 the loss falls as it does in float32; the outputs are what autocast makes them."""
    dtypes = set()
    losses = []
    for autocast in (None, torch.autocast("cpu", torch.bfloat16)):
        trainer = trainer_of(autocast=autocast)
        trainer.register_plugin(plugins.LossMonitor())
        trainer.register_plugin(plugins.PluginFactory(lambda *args: dtypes.add(args[3].dtype), interval=[(1, "iteration")]))
        trainer.run(epochs=10)
        losses.append(trainer.value("training_loss"))
    assert dtypes == {torch.float32, torch.bfloat16} and losses[1] == pytest.approx(losses[0], abs=0.1)


def test_scaled_gradients_are_clipped_and_stepped_as_they_are(tmp_path):
    plain, scaled = trainer_of(clip_norm=0.1), trainer_of(clip_norm=0.1, scaler=torch.amp.GradScaler("cpu", growth_interval=4))
    for trainer in (plain, scaled):
        trainer.dataset = examples(shuffle=False)
        trainer.model.eval()
        trainer.model.train = lambda mode=True: None     # no dropout
        trainer.run(epochs=2)
    assert torch.allclose(parameters(plain), parameters(scaled), atol=1e-4) and scaled.scaler.get_scale() == 2.0 ** 19
    scaled.save(tmp_path / "run.pt")
    other = trainer_of(examples(shuffle=False), scaler=torch.amp.GradScaler("cpu"))
    other.load(tmp_path / "run.pt")
    assert other.scaler.get_scale() == 2.0 ** 19
    with pytest.raises(ValueError, match="LBFGS needs a closure"):
        trainer_of(optimizer=torch.optim.LBFGS, scaler=torch.amp.GradScaler("cpu")).run()


@pytest.mark.parametrize("options", [{}, dict(accumulate=2, clip_norm=0.5)])
def test_compiled_steps_are_the_same(options, tmp_path):
    """Bit for bit, over validation, a schedule and a resumed run too."""
    ends = []
    for compile, broken in ((False, False), (True, False), (True, True)):
        def made(compile=compile):
            trainer = trainer_of(compile=compile, **options)
            for plugin in (plugins.LossMonitor(), plugins.Validation(examples(seed=1)),
                           plugins.Schedule(torch.optim.lr_scheduler.StepLR(trainer.optimizer, 1, 0.7))):
                trainer.register_plugin(plugin)
            return trainer
        trainer = made()
        if broken:
            trainer.run(2)
            trainer.save(tmp_path / "run.pt")
            trainer = made()
            trainer.load(tmp_path / "run.pt")
        trainer.run(until=5)
        ends.append((parameters(trainer).tolist(), trainer.value("training_loss"), trainer.value("validation_loss"), trainer.iterations))
    assert ends[0] == ends[1] == ends[2]


@pytest.mark.skipif(bool(MODE), reason="nothing is captured with NUMTORCH_DEBUG_MEMORY: a replay's memory would not be watched")
def test_compiled_steps_are_replayed():
    trainer = trainer_of(examples(48, 4), compile=True)
    trainer.run(2)
    step = trainer._compiled()
    trainer.run(1)
    assert trainer._compiled() is step
    told = torch.compile.explain(trainer_of(compile=True)._compiled())(*next(iter(trainer.dataset)))
    assert "launches" in str(told), told
    with pytest.raises(ValueError, match="no autocast"):
        trainer_of(compile=True, autocast=torch.autocast("cpu")).run()
    with pytest.raises(ValueError, match="cannot be compiled"):
        trainer_of(compile=True, optimizer=torch.optim.LBFGS).run()


# ---------------------------------------------------------------- validation, stopping, schedules
def test_validation():
    trainer = trainer_of()
    held_out = examples(10, 4, shuffle=False, seed=1)
    trainer.register_plugin(plugins.Validation(held_out, {"accuracy": metrics.accuracy, "top": metrics.TopK(2), "f1": metrics.Confusion(2)}))
    modes = []
    trainer.register_plugin(plugins.PluginFactory(lambda *args: modes.append(trainer.model.training), interval=[(1, "iteration")]))
    trainer.run(epochs=2)
    trainer.model.eval()
    x, y = held_out.dataset.tensors
    output = trainer.model(x)
    assert trainer.value("validation_loss") == pytest.approx(torch.nn.functional.cross_entropy(output, y).item(), rel=1e-5)
    guess, truth = output.argmax(1).numpy(), y.numpy()
    assert trainer.value("validation_accuracy") == pytest.approx((guess == truth).mean()) and trainer.value("validation_top") == 1
    scores = [2 * ((guess == k) & (truth == k)).sum() / ((guess == k).sum() + (truth == k).sum()) for k in (0, 1)]
    assert trainer.value("validation_f1") == pytest.approx(np.mean(scores), rel=1e-5)
    assert all(modes)


def test_early_stopping():
    trainer = trainer_of()
    scores = iter([3.0, 2.0, 2.5, 2.0, 1.0, 0.5])
    trainer.register_plugin(plugins.EarlyStopping("score", patience=2))
    trainer.register_plugin(plugins.PluginFactory(lambda number: trainer.stats.update(score=next(scores)), interval=[(1, "epoch")]))
    trainer.run(epochs=6)
    assert trainer.epochs == 4 and "not improved on 2 in 2" in trainer.stop_reason
    trainer.run(until=5)
    assert trainer.epochs == 5 and trainer.stop_reason is None


def test_what_is_not_finite_stops():
    trainer = trainer_of()
    trainer.criterion = lambda output, target: output.sum() * float("nan")
    trainer.register_plugin(plugins.LossMonitor())
    trainer.register_plugin(plugins.EarlyStopping("training_loss.last", interval=[(1, "iteration")]))
    trainer.run()
    assert trainer.iterations == 1 and "nan" in trainer.stop_reason and trainer.epochs == 0


def test_schedules():
    trainer = trainer_of(optimizer=torch.optim.SGD)
    trainer.register_plugin(plugins.Schedule(torch.optim.lr_scheduler.StepLR(trainer.optimizer, 6, 0.1), [(1, "update")]))
    trainer.run()
    assert trainer.stats["lr"] == pytest.approx(0.005)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(trainer.optimizer, patience=0)
    trainer.register_plugin(plugins.Schedule(plateau, field="score"))
    trainer.stats["score"] = 1.0
    trainer.run(epochs=2)
    assert trainer.optimizer.param_groups[0]["lr"] < 1e-4


# ---------------------------------------------------------------- logs
def test_csv_goes_on_where_the_run_does(tmp_path):
    def one(until):
        trainer = trainer_of()
        for plugin in (plugins.LossMonitor(), plugins.CSVLogger(tmp_path / "log.csv")):
            trainer.register_plugin(plugin)
        trainer.resume(tmp_path / "run.pt")
        trainer.run(until=until)
        return trainer

    one(2).save(tmp_path / "run.pt")
    one(3)                                               # is not saved: its third epoch comes again
    trainer = one(4)
    with open(tmp_path / "log.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["epoch"], row["iteration"]) for row in rows] == [("1", "6"), ("2", "12"), ("3", "18"), ("4", "24")]
    assert float(rows[-1]["training_loss"]) == pytest.approx(trainer.value("training_loss"))
    assert all(float(a["seconds"]) <= float(b["seconds"]) for a, b in zip(rows, rows[1:]))


def test_csv_gets_columns_later(tmp_path):
    trainer = trainer_of()
    trainer.register_plugin(plugins.CSVLogger(tmp_path / "log.csv"))
    trainer.run()
    trainer.register_plugin(plugins.LossMonitor())
    trainer.run()
    rows = (tmp_path / "log.csv").read_text().splitlines()
    assert rows[0] == "epoch,iteration,seconds,training_loss" and rows[1].endswith(",") and not rows[2].endswith(",")


def test_tensorboard():
    class Writer:
        written, flushed = [], 0

        def add_scalar(self, tag, value, step):
            self.written.append((tag, value, step))

        def flush(self):
            self.flushed += 1

    trainer, writer = trainer_of(), Writer()
    trainer.register_plugin(plugins.LossMonitor())
    trainer.register_plugin(plugins.TensorBoardLogger(writer, [(3, "iteration"), (1, "epoch")]))
    trainer.run()
    assert [(tag, step) for tag, _, step in writer.written] == [("training_loss", 3), ("training_loss", 6), ("training_loss", 6)]
    assert writer.written[-1][1] == trainer.value("training_loss") and writer.flushed == 1


def test_tensorboard_reads_it(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    trainer = trainer_of()
    trainer.register_plugin(plugins.LossMonitor())
    trainer.register_plugin(plugins.TensorBoardLogger(tmp_path))
    trainer.run(epochs=2)
    events = EventAccumulator(str(tmp_path)).Reload().Scalars("training_loss")
    assert [event.step for event in events] == [6, 12] and events[1].value == pytest.approx(trainer.value("training_loss"))


def test_curves(tmp_path):
    pytest.importorskip("matplotlib")
    trainer = trainer_of()
    curves = plugins.Curves(tmp_path / "curves.svg")
    for plugin in (plugins.LossMonitor(), plugins.Validation(examples(seed=1), {"accuracy": metrics.accuracy}), plugins.TimeMonitor(), curves):
        trainer.register_plugin(plugin)
    trainer.run(epochs=2)
    assert (tmp_path / "curves.svg").read_text().startswith("<?xml")
    figure = curves.figure()
    assert [axes.get_title() for axes in figure.axes] == ["loss", "accuracy"] and len(figure.axes[0].lines) == 3
    assert len(curves.rows["iteration"]["training_loss"]) == 12 and "time" not in curves.rows["epoch"]


@pytest.mark.parametrize("backend", ["tqdm", "rich"])
def test_progress_bar(backend, capsys):
    pytest.importorskip(backend)
    trainer = trainer_of()
    for plugin in (plugins.LossMonitor(), plugins.ProgressBar(backend=backend, shown=True), plugins.Logger(["training_loss"], [(1, "epoch")])):
        trainer.register_plugin(plugin)
    trainer.run(epochs=2)
    said = capsys.readouterr()
    assert "epoch 2" in said.err and "6/6" in said.err and "training_loss" in said.err
    assert "Epoch summary: 2" in said.out + said.err


def test_a_notebook_has_a_bar(monkeypatch, capsys):
    pytest.importorskip("rich")

    class ZMQInteractiveShell:
        pass

    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=ZMQInteractiveShell))
    trainer = trainer_of()
    trainer.register_plugin(plugins.ProgressBar(backend="rich"))           # tqdm shows a widget, which only a real one has
    trainer.run()
    assert "epoch 1" in capsys.readouterr().err


def test_a_pipe_has_no_bar(capsys):
    trainer = trainer_of()
    trainer.register_plugin(plugins.ProgressBar())
    trainer.run()
    assert capsys.readouterr() == ("", "")


# ---------------------------------------------------------------- cost
def test_a_step_costs_little_more_than_one_by_hand():
    model = torch.nn.Linear(4, 2)
    optimizer, criterion, batches = torch.optim.SGD(model.parameters(), 0.01), torch.nn.MSELoss(), [(torch.randn(8, 4), torch.randn(8, 2))] * 2000

    trainer = Trainer(model, criterion, optimizer, batches)
    trainer.register_plugin(plugins.LossMonitor())

    def by_hand():
        train_by_hand(model, criterion, optimizer, batches)

    def seconds(run):
        start = time.process_time()
        run()
        return time.process_time() - start

    def overhead():                                      # in turns, because others use the machine
        pairs = [(seconds(trainer.run), seconds(by_hand)) for _ in range(5)]
        return (min(a for a, _ in pairs) - min(b for _, b in pairs)) / len(batches) * 1e6

    assert any(overhead() < 15 for _ in range(5))
