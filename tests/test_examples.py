"""The examples run, their first losses are PyTorch's from the same weights, and the gallery shows them."""
from __future__ import annotations

import importlib.util
import math
import re
import runpy
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import numtorch

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "examples"
SHARED = {"harness", "environments"}
NAMES = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in SHARED)
STEPPING = [name for name in NAMES if "def step(task)" in (FOLDER / f"{name}.py").read_text()]
OURS_ALONE = {"own_activation", "torch7"}                # what PyTorch has not, or no more
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


@pytest.mark.parametrize("name", NAMES)
def test_runs(name, tmp_path, monkeypatch, capsys):
    picture = tmp_path / "picture.png"
    options = ["--steps", "2", "--small"] if name in STEPPING else ["--epochs", "1", *(["--small"] if name != "digits" else [])]
    monkeypatch.setattr(sys, "argv", [str(FOLDER / f"{name}.py"), *options, "--out", str(picture)])
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert picture.read_bytes().startswith(b"\x89PNG") and str(picture) in capsys.readouterr().out


def steps_of(module, task):
    if module.__name__.startswith("convnet"):            # it is trained by the Trainer: here are its steps by hand
        images, labels = task.images[:20], task.labels[:20]
        loss = module.F.cross_entropy(task.model(images), labels)
        task.optimizer.zero_grad()
        loss.backward()
        task.optimizer.step()
        return loss.item()
    return module.step(task)


def built(module):
    if module.__name__.startswith("convnet"):
        images, labels = module.images()
        model = module.Net(2)
        return types.SimpleNamespace(model=model, optimizer=module.optim.Adam(model.parameters(), 2e-3), images=images, labels=labels)
    return module.build(small=True)


@pytest.mark.parametrize("name", [*(n for n in STEPPING if n not in OURS_ALONE), "convnet"])
def test_first_losses_are_pytorchs(name):
    pytorch = pytest.importorskip("torch")
    ours, theirs = loaded(name, "numtorch"), loaded(name, "torch")
    mine, other = built(ours), built(theirs)
    with pytorch.no_grad():
        for key, value in other.model.state_dict().items():
            value.copy_(pytorch.tensor(mine.model.state_dict()[key].numpy()))
    pairs = [(steps_of(ours, mine), steps_of(theirs, other)) for _ in range(3)]
    np.testing.assert_allclose(*zip(*pairs), rtol=CHAOTIC.get(name, 1e-3), atol=1e-5)
    assert all(math.isfinite(a) for a, _ in pairs) and len({a for a, _ in pairs}) > 1


# ---------------------------------------------------------------- the gallery
def test_the_gallery_shows_each_example():
    page = (ROOT / "docs" / "gallery.md").read_text()
    assert [name for name in NAMES if f"examples/{name}.py" not in page] == []
    pictures = re.findall(r"!\[[^]]+\]\((gallery/[\w.]+)\)", page)
    assert len(pictures) >= len(NAMES) and not [p for p in pictures if not (ROOT / "docs" / p).exists()]
    assert {f"gallery/{p.name}" for p in (ROOT / "docs" / "gallery").iterdir()} == set(pictures)
    assert max(p.stat().st_size for p in (ROOT / "docs" / "gallery").iterdir()) < 80_000
