"""The wheel: it is built, the package index would take it, and in a fresh environment of each Python it trains on the digits.

Installing needs a package index. `NUMTORCH_TEST_PYTHONS=all` tries every Python of this machine, and not the one alone that runs
the tests: four times two hundred megabytes."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
UNREACHABLE = re.compile(r"Could not find a version|No matching distribution|NewConnectionError|ProxyError|Temporary failure in name")
OWN = f"{sys.version_info.major}.{sys.version_info.minor}"
CHOSEN = VERSIONS if os.environ.get("NUMTORCH_TEST_PYTHONS") == "all" else (OWN,)

PROGRAM = """
import importlib.metadata, sys
import numtorch as torch
from numtorch.data import digits_split

assert "site-packages" in torch.__file__ and importlib.metadata.version("numtorch") == torch.__version__
assert "torch" not in sys.modules
torch.manual_seed(0)
images, labels, test_images, test_labels = digits_split()
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for step in range(150):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
right = (model(test_images).argmax(1) == test_labels).float().mean().item()
print("accuracy", right)
assert right > 0.85
"""


def run(*words, **options):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=900, **options)


def pythons():
    """Executables by version: those on the path that run, and pyenv's."""
    found = {OWN: getattr(sys, "_base_executable", None) or sys.executable}
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in VERSIONS:
        for candidate in (shutil.which(f"python{version}"), *sorted(home.glob(f"{version}.*/bin/python"))):
            if version not in found and candidate and run(candidate, "-c", "import ensurepip, venv").returncode == 0:
                found[version] = str(candidate)
    return found


PYTHONS = pythons() if CHOSEN is VERSIONS else {OWN: getattr(sys, "_base_executable", None) or sys.executable}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """sdist and wheel of the files that git knows, or of all where there is no git: building leaves things where it builds."""
    pytest.importorskip("build")
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    known = run("git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard")
    for name in known.stdout.splitlines():
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    if known.returncode:
        pytest.skip("this is no checkout")
    done = run(sys.executable, "-m", "build", "--outdir", folder, source)
    if done.returncode and UNREACHABLE.search(done.stdout + done.stderr):
        pytest.skip("no package index is in reach, which building in isolation needs for setuptools")
    assert done.returncode == 0, done.stdout + done.stderr
    return {path.suffix: path for path in folder.iterdir()}


def test_the_package_index_would_take_both(built):
    pytest.importorskip("twine")
    assert set(built) == {".gz", ".whl"} and built[".whl"].name.endswith("-py3-none-any.whl")
    done = run(sys.executable, "-m", "twine", "check", "--strict", *built.values())
    assert done.returncode == 0 and done.stdout.count("PASSED") == 2, done.stdout + done.stderr
    assert built[".whl"].stat().st_size < 4e6


@pytest.mark.parametrize("version", CHOSEN)
def test_a_fresh_environment_trains_the_digits(built, version, tmp_path):
    if version not in PYTHONS:
        pytest.skip(f"Python {version} is not on this machine")
    assert run(PYTHONS[version], "-m", "venv", "--without-pip", tmp_path / "venv").returncode == 0
    python = tmp_path / "venv" / "bin" / "python"
    done = run(sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "install", "--no-compile", "--only-binary", ":all:",
               built[".whl"])
    if done.returncode and UNREACHABLE.search(done.stdout + done.stderr):
        pytest.skip(f"no package index has what numtorch needs for Python {version}: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stdout + done.stderr
    home = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = run(python, "-I", "-c", PROGRAM, cwd=tmp_path, env=home)        # -I: nothing of this checkout is in reach
    assert done.returncode == 0, done.stdout + done.stderr
    refused = run(python, "-I", "-m", "numtorch", "stubs", cwd=tmp_path, env=home)
    assert refused.returncode == 1 and "is installed" in refused.stderr
    assert run(python, "-I", "-m", "numtorch.bench", "--help", cwd=tmp_path, env=home).returncode == 0


# ---------------------------------------------------------------- extras
def test_each_extra_is_there_for_something():
    """An extra without code that imports what it brings would be a promise."""
    text = (ROOT / "pyproject.toml").read_text()
    table = text.split("[project.optional-dependencies]")[1].split("\n[")[0]
    wanted = {"cuda": "numba_cuda|numba.cuda|cuda.core", "nvmath": "nvmath", "simulator": "greenlet", "safetensors": "safetensors", "tensorboard": "tensorboard", "bench": "rich",
              "training": "tqdm", "examples": "matplotlib", "release": "twine", "docs": "myst_parser", "dev": "pytest"}
    assert set(re.findall(r"^(\w+) = \[", table, re.MULTILINE)) == set(wanted)
    files = [p for folder in ("numtorch", "bench", "examples", "tools", "docs", "tests") for p in (ROOT / folder).rglob("*.py")]
    sources = "\n".join(p.read_text() for p in files if p.name != "test_wheel.py")
    assert [extra for extra, words in wanted.items() if not re.search(rf"\b({words})\b", sources)] == []
