"""The examples run, their first losses are PyTorch's from the same weights, and the gallery shows them."""
from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import math
import os
import re
import runpy
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from daily import DAY
from test_datasets import idx

import numtorch
from numtorch.kernels.binding import DISABLE_JIT

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples"
SHARED = {"harness", "environments"}
NAMES = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in SHARED)
STEPPING = [name for name in NAMES if "def step(task)" in (FOLDER / f"{name}.py").read_text()]
CHAOTIC = {"time_series": 2e-2}                          # a line search makes much of the last bits

pytestmark = pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None or importlib.util.find_spec("tqdm") is None,
                                reason="the examples draw with matplotlib and tqdm")


@pytest.fixture(autouse=True)
def in_the_folder(monkeypatch):
    """Examples import what they share from their folder; the methods that they add to Tensor go with the test."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = set(vars(numtorch.Tensor))
    yield
    for name in set(vars(numtorch.Tensor)) - before:
        delattr(numtorch.Tensor, name)
    for name in SHARED:
        sys.modules.pop(name, None)


def loaded(name, library):
    """An example as a module, whose imports of numtorch lead to `library`."""
    source = (FOLDER / f"{name}.py").read_text()
    source = re.sub(r"^import numtorch\b", f"import {library}", source, flags=re.MULTILINE)
    source = re.sub(r"^from numtorch\b", f"from {library}", source, flags=re.MULTILINE).replace(f"import {library} as torch", f"import {library}\ntorch = {library}")
    module = types.ModuleType(f"{name}_on_{library}")
    exec(compile(source, str(FOLDER / f"{name}.py"), "exec"), vars(module))
    return module


class Terminal(io.StringIO):
    """Where bars are shown."""

    def isatty(self):
        return True


@pytest.mark.parametrize("name", NAMES)
def test_runs(name, tmp_path, monkeypatch, capsys):
    """With a bar on a terminal, to a picture."""
    picture, terminal = tmp_path / "picture.png", Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    options = ["--steps", "2", "--small"] if name in STEPPING else ["--epochs", "1", *(["--small"] if name != "digits" else [])]
    monkeypatch.setattr(sys, "argv", [str(FOLDER / f"{name}.py"), *options, "--out", str(picture)])
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert picture.read_bytes().startswith(b"\x89PNG") and str(picture) in capsys.readouterr().out
    assert re.search(r"\d%\|", terminal.getvalue())


def test_the_convnet_takes_mnists_files_and_goes_on_where_it_was(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    for part in ("train", "t10k"):
        for name, array in (("images-idx3", rng.integers(0, 256, (60, 28, 28))), ("labels-idx1", rng.integers(0, 10, 60))):
            (tmp_path / f"{part}-{name}-ubyte").write_bytes(idx(array.astype(np.uint8)))
    monkeypatch.chdir(tmp_path)
    for epochs in ("1", "2"):
        monkeypatch.setattr(sys, "argv", ["convnet.py", "--data", str(tmp_path), "--small", "--epochs", epochs, "--checkpoint", "run.pt"])
        runpy.run_path(str(FOLDER / "convnet.py"), run_name="__main__")
        assert f"of 60 test images right after {epochs} epochs" in capsys.readouterr().out
    assert numtorch.load("run.pt")["iterations"] == 4 and Path("convnet.png").exists()


# The real size of one of them each day, and of all with NUMTORCH_TEST_EXAMPLES=all.
@pytest.mark.parametrize("name", NAMES if os.environ.get("NUMTORCH_TEST_EXAMPLES") == "all" else
                         [NAMES[DAY % len(NAMES)]])
def test_takes_less_than_a_minute_of_two_cores(name, tmp_path):
    resource = pytest.importorskip("resource")           # the processor's time: others use the machine
    if DISABLE_JIT:
        pytest.skip("kernels that run as Python take longer")

    def seconds():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = seconds()
    done = subprocess.run([sys.executable, str(FOLDER / f"{name}.py"), "--out", "picture.png"], cwd=tmp_path, capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert re.search(r"[\d.]+ s\b", done.stdout), "it says how long it took"
    assert seconds() - before < 120


# ---------------------------------------------------------------- first steps, on either library
# Examples without `build` and `step`: how a task of them is made, and what one step of it does.
def trained(module, model, optimizer, images, labels):
    """A step as most examples write it."""
    loss = module.F.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def convnet(module):
    images, labels = module.images()
    model = module.Net(2)
    return types.SimpleNamespace(models=[model], optimizers=[module.optim.Adam(model.parameters(), 2e-3)], images=images[:20],
                                 labels=labels[:20])


def digits(module):
    models = [module.perceptron().eval(), module.convnet().eval()]       # dropout draws other numbers there
    images, labels, *_ = module.digits_split()
    return types.SimpleNamespace(models=models, optimizers=[module.optim.Adam(model.parameters(), lr=3e-3) for model in models],
                                 images=images[:64], labels=labels[:64])


def hogwild(module):
    model = module.network(True)
    images, labels, *_ = module.digits_split()
    return types.SimpleNamespace(models=[model], optimizers=[module.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)],
                                 images=images, labels=labels)


def one_process(module, task):
    """A batch of what each process does, and the loss after it."""
    counter = types.SimpleNamespace(value=0, get_lock=contextlib.nullcontext)
    module.train(task.models[0], task.optimizers[0], task.images, task.labels, 1, 0, counter)
    return module.F.cross_entropy(task.models[0](task.images), task.labels).item()


def torch7(module):
    """On PyTorch, which has no such modules any more, what they are in `nn`."""
    if module.torch is numtorch:
        task = module.build(small=True)
        task.models = [task.net]
        return task
    nn, task = module.torch.nn, loaded("torch7", "numtorch").build(small=True)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 10))
    task.models, task.optimizers = [model], [module.torch.optim.Adam(model.parameters(), lr=3e-3)]
    task.images, task.labels = module.torch.tensor(task.images.numpy()), module.torch.tensor(task.labels.numpy())
    return task


def torch7_step(module, task):
    if module.torch is numtorch:
        return module.step(task)
    module.F = module.torch.nn.functional
    return trained(module, task.models[0], task.optimizers[0],
                   *module.harness.batch_of(task, task.images[:1500], task.labels[:1500]))


def each_trained(module, task):
    return sum(trained(module, model, optimizer, task.images, task.labels) for model, optimizer in zip(task.models, task.optimizers))


WHOLE = {"convnet": (convnet, each_trained), "digits": (digits, each_trained), "hogwild": (hogwild, one_process),
         "torch7": (torch7, torch7_step)}


def built(name, module):
    task = WHOLE[name][0](module) if name in WHOLE else module.build(small=True)
    if not hasattr(task, "models"):
        task.models = [task.model]
    elif isinstance(task.models, dict):
        return task, list(task.models.values())
    return task, task.models


def stepped(name, module, task):
    return WHOLE[name][1](module, task) if name in WHOLE else module.step(task)


def parameters_of(model):
    return model.parameters()[0] if isinstance(model, numtorch.legacy.nn.Module) else model.state_dict().values()


@pytest.fixture
def pytorch(monkeypatch):
    """PyTorch with what examples use of numtorch beside it: digits, a formula as a function, and the same choices of a batch."""
    torch = pytest.importorskip("torch")

    def pointwise(formula):
        formula.derivative = lambda derivative: None     # the tape has it
        return formula

    numbers, loading = numtorch.data, importlib.import_module("torch.utils.data")
    data = types.ModuleType("torch.data")
    data.DataLoader, data.TensorDataset = loading.DataLoader, loading.TensorDataset
    data.digits_split = lambda: [torch.tensor(tensor.numpy()) for tensor in numbers.digits_split()]
    monkeypatch.setitem(sys.modules, "torch.data", data)
    monkeypatch.setattr(torch, "pointwise", pointwise, raising=False)
    for library in (torch, numtorch):
        monkeypatch.setattr(library, "randint", lambda high, size, library=library: library.arange(size[0]) * 7 % high)
    return torch


@pytest.mark.parametrize("name", NAMES)
def test_first_losses_are_pytorchs(name, pytorch):
    ours = loaded(name, "numtorch")
    theirs = loaded(name, "torch") if name != "torch7" else types.SimpleNamespace(torch=pytorch, harness=ours.harness)
    (mine, models), (other, others) = built(name, ours), built(name, theirs)
    with pytorch.no_grad():
        for model, same in zip(models, others):
            for value, ready in zip(parameters_of(model), parameters_of(same)):
                ready.copy_(pytorch.tensor(value.numpy()))
    pairs = [(stepped(name, ours, mine), stepped(name, theirs, other)) for _ in range(3)]
    np.testing.assert_allclose(*zip(*pairs), rtol=CHAOTIC.get(name, 1e-3), atol=1e-5)
    assert all(math.isfinite(a) for a, _ in pairs) and len({a for a, _ in pairs}) > 1


def test_processes_without_locks_learn():
    """What is lost in races depends on who runs when; of a busy machine it may be most, but not each time."""
    curves = (loaded("hogwild", "numtorch").run(2, 20, small=True, seed=seed) for seed in range(4))
    assert any(curve[0][1] < 0.3 and curve[-1][1] > 0.8 for curve in curves)


# ---------------------------------------------------------------- the gallery
def test_the_gallery_shows_each_example():
    page = (ROOT / "docs" / "gallery.md").read_text()
    assert [name for name in NAMES if f"examples/{name}.py" not in page] == []
    pictures = re.findall(r"!\[[^]]+\]\((gallery/[\w.]+)\)", page)
    assert len(pictures) >= len(NAMES) and not [p for p in pictures if not (ROOT / "docs" / p).exists()]
    assert {f"gallery/{p.name}" for p in (ROOT / "docs" / "gallery").iterdir()} == set(pictures)
    assert max(p.stat().st_size for p in (ROOT / "docs" / "gallery").iterdir()) < 80_000
