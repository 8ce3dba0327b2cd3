"""Eleven programs and two modules of many features: as Python, as scripts, from files in a process without their source, frozen, and as PyTorch's
scripts."""
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import scriptprobes as probes

import numtorch as torch
from numtorch.kernels.debugmemory import MODE

try:
    import torch as reference
except ImportError:
    reference = None

ROWS = {                                                 # arguments; `t` makes a tensor
    "bisect": [lambda t: (t(5), 0.0, 1.0), lambda t: (t(5) * 9, 0.0, 1.0, 3)], "histogram": [lambda t: (["A", "b ", " a", "", "B"], t(5) * 4)],
    "texts": [lambda t: (["a-b-c", "Two Words", "12", "_x1\ty", "-", ""], "-")],
    "queue": [lambda t: (t(6, 3), 2), lambda t: (t(9, 2), 3)], "welford": [lambda t: (t(4, 3),)],
    "smoothing": [lambda t: (t(5, 2), 2), lambda t: (t(3, 2), 5)], "ignoring": [lambda t: (t(3), 3)],
    "checking": [lambda t: (t(2, 3), 4), lambda t: (t(2, 3), 1, "q"), lambda t: (t(2), 1), lambda t: (t(2, 2), -1)],
    "tuples": [lambda t: (t(3, 2), [(1, 0.5), (2, 0.9), (3, 0.1)]), lambda t: (t(3, 2), [])], "comprehension": [lambda t: (t(3, 2), 4)],
    "numbers": [lambda t: (7, 0.55), lambda t: (3, 2.5), lambda t: (-9, 0.05)], "slices": [lambda t: (t(3, 5), 1), lambda t: (t(3, 5), 2)],
    "Stack": [lambda t: (t(2, 4),), lambda t: (t(2, 4), t(2, 4) > 0.5, 1)], "Derived": [lambda t: (t(4, 3),)]}
MODULES = ("Stack", "Derived")
CHILD = """
import json, sys
sys.path.insert(0, sys.argv[2])
import numtorch as torch
import test_script_probes as here
assert "scriptprobes" in sys.modules and sys.modules["scriptprobes"].__file__ is None
print(json.dumps({name: here.outcomes(torch.jit.load(f"{sys.argv[1]}/{name}.pt"), name, torch) for name in here.ROWS if name != "ignoring"}))
"""


def tensor(library):
    def make(*shape):
        size = 1
        for n in shape:
            size *= n
        return (library.arange(size, dtype=library.float32).reshape(shape) * 0.37) % 1.0
    return make


def plain(value, library):
    """A result as what json writes."""
    if isinstance(value, library.Tensor):
        return [str(value.dtype).rpartition(".")[2], list(value.shape), value.detach().double().flatten().tolist()]
    if isinstance(value, dict):
        return [[key, plain(each, library)] for key, each in value.items()]
    return [plain(each, library) for each in value] if isinstance(value, (list, tuple)) else value


def outcomes(function, name, library):
    """What a program gives for each of its arguments, one call after the other."""
    results = []
    for args in ROWS[name]:
        try:
            results.append(plain(function(*args(tensor(library))), library))
        except Exception as error:
            results.append("raises" if library is reference else f"{type(error).__name__}: {error}")
    return results


def made(programs, name, library):
    """A program, or a module in eval mode whose parameters are the same in each library."""
    if name not in MODULES:
        return getattr(programs, name)
    module = getattr(programs, name)().eval()
    with library.no_grad():
        for number, parameter in enumerate(module.parameters()):
            parameter.copy_(tensor(library)(*parameter.shape) - 0.3 + number * 0.01)
    return module


@pytest.fixture(scope="module")
def from_files(tmp_path_factory):
    """What the scripts give in a process that has files of them alone."""
    folder = tmp_path_factory.mktemp("files")
    for name in ROWS:
        if name != "ignoring":
            torch.jit.save(torch.jit.script(made(probes, name, torch)), str(folder / f"{name}.pt"))
    script = "import sys, types\nsys.modules['scriptprobes'] = types.ModuleType('scriptprobes')\nsys.modules['scriptprobes'].__file__ = None\n" + CHILD
    home = str(Path(torch.__file__).resolve().parents[1])
    done = subprocess.run([sys.executable, "-c", script, str(folder), str(Path(__file__).parent)], capture_output=True, text=True, cwd=folder,
                          env={**os.environ, "PYTHONPATH": home}, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ROWS)
def test_a_script_computes_what_its_source_does(name):
    script = torch.jit.script(made(probes, name, torch))
    expected = outcomes(made(probes, name, torch), name, torch)
    assert outcomes(script, name, torch) == expected
    assert script.code and str(script.graph)


@pytest.mark.skipif(bool(MODE), reason="a process of its own takes minutes when memory is watched")
@pytest.mark.parametrize("name", [name for name in ROWS if name != "ignoring"])
def test_a_script_from_a_file_needs_no_source(name, from_files):
    assert from_files[name] == json.loads(json.dumps(outcomes(made(probes, name, torch), name, torch)))


@pytest.mark.parametrize("prepare", [torch.jit.freeze, torch.jit.optimize_for_inference])
@pytest.mark.parametrize("name", MODULES)
def test_a_frozen_script_computes_the_same(name, prepare):
    frozen = prepare(torch.jit.script(made(probes, name, torch)))
    assert outcomes(frozen, name, torch) == outcomes(made(probes, name, torch), name, torch) and not list(frozen.parameters())


@pytest.mark.skipif(reference is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("name", ROWS)
def test_a_script_computes_what_that_of_pytorch_does(name, tmp_path):
    path = tmp_path / f"their_{name}.py"
    path.write_text(Path(probes.__file__).read_text().replace("import numtorch as torch", "import torch").replace("from numtorch", "from torch"))
    spec = importlib.util.spec_from_file_location(f"their_{name}", path)
    theirs = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = theirs
    spec.loader.exec_module(theirs)
    expected = outcomes(reference.jit.script(made(theirs, name, reference)), name, reference)
    found = outcomes(torch.jit.script(made(probes, name, torch)), name, torch)
    for a, b in zip(found, expected, strict=True):
        assert (isinstance(a, str) and ": " in a) if b == "raises" else same(a, b), (a, b)


def same(a, b):
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return a == pytest.approx(b, rel=1e-5, abs=1e-6) if isinstance(a, float) else type(a) is type(b) and a == b


def test_a_script_that_calls_python_is_not_saved(tmp_path):
    with pytest.raises(RuntimeError, match=r"the script calls outside, which is Python \(torch.jit.ignore\)"):
        torch.jit.save(torch.jit.script(probes.ignoring), str(tmp_path / "script.pt"))
