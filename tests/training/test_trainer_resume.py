"""Runs of the trainer that end in any way, by a kill, Ctrl-C or an error, and go on; and its checkpoints."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from trainers import classifier, examples, notes, parameters, trainer_of

import numtorch as torch
from numtorch.utils.trainer import plugins

# Makes runs one after the other, each in a forked process, which costs no imports, from one that has computed nothing yet. Says of each
# how it ended and what it printed.
SCRIPT = textwrap.dedent("""
    import json, os, signal, sys
    import numpy as np
    import numtorch as torch
    from numtorch.utils.trainer import Trainer, plugins
    sys.path.insert(0, {tests!r})
    from trainers import classifier, examples

    class Noisy(torch.data.Dataset):                     # draws from all streams as it is read
        def __len__(self):
            return 26
        def __getitem__(self, number):
            x = torch.randn(3) * 0.1 + float(np.random.rand()) + number / 26
            return x, int(x.sum().item() > 2)

    class Plain(Noisy):
        def __getitem__(self, number):
            return torch.full((3,), number / 26), number % 2

    def run(path, how, when):
        model = classifier()
        generator = torch.Generator().manual_seed(5) if how.startswith("own") else None
        kind = how.partition("-")[2]
        samplers = {{"weighted": lambda: torch.data.WeightedRandomSampler(np.arange(1.0, 27.0), 40),
                    "long": lambda: torch.data.RandomSampler(range(26), num_samples=60)}}
        np.random.seed(1)
        options = dict(sampler=samplers[kind]()) if kind in samplers else dict(shuffle=True, generator=generator)
        optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
        workers = kind == "workers"
        loader = torch.data.DataLoader(Plain() if workers else Noisy(), 4, num_workers=2 * workers, **options)
        trainer = Trainer(model, torch.nn.CrossEntropyLoss(), optimizer, loader, accumulate=2)
        trainer.register_plugin(plugins.LossMonitor())
        trainer.register_plugin(plugins.Validation(examples(seed=1)))
        trainer.register_plugin(plugins.Schedule(torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)))
        trainer.register_plugin(plugins.Saver(path, [(1, "update"), (1, "epoch")]))
        trainer.resume(path)

        def end(number, model):
            if number == when:
                os.kill(os.getpid(), signal.SIGKILL)
        trainer.register_plugin(plugins.PluginFactory(end, interval=[(1, "update")]))
        trainer.register_plugin(plugins.PluginFactory(lambda number: end(-number, None), interval=[(1, "epoch")]))
        trainer.run(until=3)
        return repr((torch.cat([p.detach().reshape(-1) for p in model.parameters()]).tolist(), trainer.value("training_loss"),
                     trainer.value("validation_loss"), trainer.iterations, torch.rand(2).tolist(), np.random.rand()))

    ended = []
    for path, when in json.loads(sys.argv[2]):
        child = os.fork()
        if not child:
            try:
                with open(path + ".txt", "w") as file:
                    file.write(run(path, sys.argv[1], when))
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            os._exit(0)
        ended.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(json.dumps(ended))
""").format(tests=str(Path(__file__).resolve().parent))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot fork")
@pytest.mark.parametrize("how", ["default", "own", "default-weighted", "default-long", "default-workers"])
def test_a_killed_run_goes_on_exactly(how, tmp_path):
    whole, killed = str(tmp_path / "whole.pt"), str(tmp_path / "run.pt")
    # ended in the midst of an epoch, after its last step, in the midst of another
    runs = [(whole, 0), (killed, 2), (killed, -1), (killed, 10), (killed, 0)]
    done = subprocess.run([sys.executable, "-c", SCRIPT, how, json.dumps(runs)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and json.loads(done.stdout) == [0, *[-signal.SIGKILL] * 3, 0], done.stdout + done.stderr
    found = Path(killed + ".txt").read_text()
    assert found and found == Path(whole + ".txt").read_text()


def test_ctrl_c_ends_after_the_iteration_and_leaves_a_checkpoint(tmp_path):
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        pytest.skip("signals are somebody else's here")
    trainer, order = trainer_of(), []

    def interrupt(number, *args):
        if number == 2:
            os.kill(os.getpid(), signal.SIGINT)
        order.append(number)

    trainer.register_plugin(plugins.PluginFactory(interrupt, interval=[(1, "batch")]))
    trainer.register_plugin(plugins.Saver(tmp_path / "run.pt"))
    with pytest.raises(KeyboardInterrupt):
        trainer.run(epochs=2)
    assert trainer.iterations == 2 and order == [1, 2] and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    other = trainer_of(model=classifier(9))
    other.load(tmp_path / "run.pt")
    assert torch.equal(parameters(trainer), parameters(other)) and other.iterations == 2
    other.run(until=1)
    trainer.run(until=1)                                 # and this one goes on too
    assert other.iterations == trainer.iterations == 6


@pytest.mark.parametrize("moment", ["epoch", "close"])
def test_ctrl_c_late_in_a_run_is_not_lost(moment):
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        pytest.skip("signals are somebody else's here")
    trainer = trainer_of()

    class Late(plugins.Plugin):
        def epoch(self, number):
            if moment == "epoch":
                os.kill(os.getpid(), signal.SIGINT)

        def close(self):
            if moment == "close":
                os.kill(os.getpid(), signal.SIGINT)

    trainer.register_plugin(Late((1, "epoch")))
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert trainer.epochs == 1
    moment = "never"
    assert trainer.train() and trainer.epochs == 2


def test_a_second_ctrl_c_does_not_wait(tmp_path):
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        pytest.skip("signals are somebody else's here")
    trainer = trainer_of()

    def interrupt(*args):
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("went on")

    trainer.register_plugin(plugins.PluginFactory(interrupt, interval=[(1, "batch")]))
    with pytest.raises(KeyboardInterrupt):
        trainer.run()


def test_the_best_is_kept(tmp_path):
    trainer = trainer_of()
    scores = {1: 0.5, 2: 0.9, 3: 0.7}
    trainer.register_plugin(plugins.PluginFactory(lambda number: trainer.stats.update(score=scores[number]), interval=[(1, "epoch")]))
    trainer.register_plugin(plugins.Saver(tmp_path / "run.pt", best="score", mode="max"))
    trainer.run(epochs=3)
    assert torch.load(tmp_path / "run.pt")["epochs"] == 3 and torch.load(tmp_path / "run.best.pt")["epochs"] == 2
    assert sorted(os.listdir(tmp_path)) == ["run.best.pt", "run.pt"]


def test_plugins_that_come_later_have_their_state_too(tmp_path):
    trainer = trainer_of()
    trainer.register_plugin(plugins.LossMonitor())
    trainer.register_plugin(plugins.EarlyStopping("training_loss"))
    trainer.run()
    trainer.save(tmp_path / "run.pt")
    other = trainer_of()
    other.load(tmp_path / "run.pt")
    stopping = plugins.EarlyStopping("training_loss")
    other.register_plugin(stopping)
    assert stopping.best == trainer.value("training_loss")


def test_a_dataset_without_state_is_read_again():
    batches = list(examples())
    one, other = trainer_of(batches), trainer_of(iter(batches))
    one.register_plugin(plugins.PluginFactory(lambda *args: one.stop(), interval=[(2, "update")]))
    one.run()
    assert one.iterations == 2 and one.epochs == 0
    other.dataset = batches
    other.load_state_dict(one.state_dict())
    seen = []
    other.register_plugin(plugins.PluginFactory(lambda number, x, y: seen.append(x), interval=[(1, "batch")]))
    other.run()
    assert len(seen) == 4 and torch.equal(seen[0], batches[2][0])


def test_files_that_do_not_fit_are_named_and_change_nothing(tmp_path):
    trainer = trainer_of()
    trainer.run()
    trainer.save(tmp_path / "run.pt")
    (tmp_path / "damaged.pt").write_bytes((tmp_path / "run.pt").read_bytes()[:-100])
    other = trainer_of(model=torch.nn.Linear(3, 2))
    before, state = parameters(other).clone(), torch.get_rng_state()
    for path, words in (("run.pt", "Linear"), ("damaged.pt", "damaged")):
        with pytest.raises(RuntimeError, match=words) as raised:
            other.load(tmp_path / path)
        assert path in notes(raised.value)
    wrong = trainer_of(optimizer=lambda p, lr: torch.optim.SGD([dict(params=[q]) for q in p], lr))
    wrong_before = parameters(wrong).clone()
    with pytest.raises(ValueError, match="parameter groups"):
        wrong.load(tmp_path / "run.pt")
    ordered = trainer_of(examples(shuffle=False))
    ordered.run()
    ordered.save(tmp_path / "ordered.pt")
    random = trainer_of(model=classifier(1))
    random_before = parameters(random).clone()
    with pytest.raises(ValueError, match="of another order"):
        random.load(tmp_path / "ordered.pt")
    assert torch.equal(parameters(random), random_before) and random.iterations == random.batches == 0
    torch.set_rng_state(state)
    assert torch.equal(parameters(other), before) and other.iterations == 0 and torch.equal(parameters(wrong), wrong_before)
    with pytest.raises(FileNotFoundError):
        other.load(tmp_path / "none.pt")
