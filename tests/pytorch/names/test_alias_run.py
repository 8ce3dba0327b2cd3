"""`python -m numtorch run`, and packages that look for PyTorch: programs whose `import torch` is numtorch, and their children."""
from __future__ import annotations

import importlib.util
import os

import pytest
from aliased import after_install, python

PROGRAM = """
import sys, os, json
import torch, helper
print(json.dumps([sys.argv, __name__, os.path.basename(__file__), sys.path[0], torch.__name__, helper.NAME, __spec__ is None]))
"""


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


def test_run_is_what_python_does(tmp_path):
    write(tmp_path, helper="import torch; NAME = torch.__name__", program=PROGRAM, torch="__name__ = 'numtorch'")
    theirs = python("program.py", "-x", "3", folder=tmp_path)        # with a module of that name beside it, which run hides
    ours = python("-m", "numtorch", "run", "program.py", "-x", "3", folder=tmp_path)
    assert ours.stdout == theirs.stdout and ours.returncode == 0, ours.stderr
    theirs = python("-m", "program", "-x", folder=tmp_path)
    ours = python("-m", "numtorch", "run", "-m", "program", "-x", folder=tmp_path)
    assert ours.stdout.replace("numtorch", "torch") == theirs.stdout.replace("numtorch", "torch"), ours.stderr


@pytest.mark.parametrize("code", ["import sys; sys.exit(3)", "import sys; sys.exit('why')", "def f():\n    raise ValueError('bad')\nf()",
                                  "x = (", "raise KeyboardInterrupt", "import nothing_of_that_name"])
def test_run_ends_as_python_does(tmp_path, code):
    write(tmp_path, program=code)
    theirs, ours = python("program.py", folder=tmp_path), python("-m", "numtorch", "run", "program.py", folder=tmp_path)
    assert (ours.returncode, ours.stderr) == (theirs.returncode, theirs.stderr)


def test_run_without_a_program(tmp_path):
    ours, theirs = python("-m", "numtorch", "run", "none.py", folder=tmp_path), python("none.py", folder=tmp_path)
    assert (ours.returncode, ours.stderr) == (theirs.returncode, theirs.stderr)
    assert python("-m", "numtorch", "run").returncode == 2


CHILDREN = """
import multiprocessing, subprocess, sys
import torch

def child(_):
    import torch.nn as nn
    return torch.__name__ + nn.__name__

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(child, [0]))
    code = "import sys; assert 'numtorch' not in sys.modules; import torch.nn; print(torch.__name__, torch.nn.__name__)"
    print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True))
"""


def test_children_find_it_too(tmp_path):
    write(tmp_path, program=CHILDREN)
    ran = python("-m", "numtorch", "run", "program.py", folder=tmp_path)
    assert "numtorchnumtorch.nn" in ran.stdout and "numtorch numtorch.nn\\n" in ran.stdout, ran.stdout + ran.stderr


def test_children_run_their_own_sitecustomize(tmp_path):
    write(tmp_path, sitecustomize="print('mine')")
    ran = after_install(f"""
import os, subprocess, sys
env = dict(os.environ, PYTHONPATH=os.environ["PYTHONPATH"] + os.pathsep + {str(tmp_path)!r})
print(subprocess.run([sys.executable, "-c", "import torch; print(torch.__name__)"], env=env, capture_output=True, text=True))
""")
    assert "mine\\nnumtorch\\n" in ran.stdout, ran.stdout + ran.stderr


def test_a_program_trains(tmp_path):
    write(tmp_path, program="""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import StepLR
from torch.utils.data.dataloader import DataLoader
from torch.utils.data.dataset import TensorDataset
torch.manual_seed(0)
device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
model = nn.Linear(2, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = StepLR(optimizer, 1)
for x, in DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=2):
    loss = F.mse_loss(model(x), torch.zeros(2, 1))
    optimizer.zero_grad(); loss.backward(); optimizer.step()
scheduler.step()
assert isinstance(loss, torch.Tensor) and type(loss).__module__ == "numtorch.tensor"
""")
    ran = python("-m", "numtorch", "run", "program.py", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr


PACKAGES = {
    "safetensors": """
import safetensors.torch
file = os.path.join(folder, "file.safetensors")
safetensors.torch.save_file({"a": torch.arange(3.0), "b": torch.ones(2, dtype=torch.bfloat16)}, file)
loaded = safetensors.torch.load_file(file)
assert type(loaded["a"]) is torch.Tensor and loaded["a"].tolist() == [0, 1, 2] and loaded["b"].dtype is torch.bfloat16
assert safetensors.torch.load(safetensors.torch.save({"c": torch.ones(2)}))["c"].sum() == 2
""",
    "tensorboard": """
from torch.utils.tensorboard import SummaryWriter
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
with SummaryWriter(folder) as writer:
    writer.add_scalar("loss", torch.tensor(0.5), 3)
events = EventAccumulator(folder)
events.Reload()
assert [(e.step, e.value) for e in events.Scalars("loss")] == [(3, 0.5)]
""",
    "einops": """
from einops import rearrange, reduce, repeat
from einops.layers.torch import Rearrange
x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
assert rearrange(x, "b c w -> c (b w)").shape == Rearrange("b c w -> c (b w)")(x).shape == (3, 8)
reduce(repeat(x, "b c w -> b c w n", n=2), "b c w n -> b", "mean").sum().backward()
assert x.grad.sum().isclose(torch.tensor(2.0))
""",
    "torchinfo": """
import torchinfo
found = torchinfo.summary(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()), input_size=(2, 3), verbose=0)
assert found.total_params == 16 and found.summary_list[1].output_size == [2, 4]
""",
}


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_that_look_for_torch_see_this_one(package, tmp_path):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    ran = python("-c", f"import numtorch.alias; numtorch.alias.install()\nimport os, torch\nfolder = {str(tmp_path)!r}\n{PACKAGES[package]}",
                 more=os.environ.get("PYTHONPATH", ""))
    assert ran.returncode == 0, ran.stderr


VERSIONS = """
import torch, torch.version
from torch.torch_version import TorchVersion
v = torch.__version__
from torch import torch as again
assert again is torch
print(v.split("+")[1].startswith("numtorch.0"), torch.version.__version__ == v, isinstance(v, TorchVersion), torch.__config__.show().split()[5][0])
print(v >= "2.4", v > "2.9.1", v < "2.13.1", v >= "2.13", v >= (1, 8), v < (3,), v != "1.0", str(v).split(".")[0], f"{v}"[:4], hash(v) == hash(str(v)))
print([TorchVersion(a) < b for a, b in [("1.9", "1.10"), ("2.0.0a1", "2.0"), ("2.0.0rc2", "2.0.0rc10"), ("2.0", "2.0.0"), ("2.0.0", "2.0.0+cpu"),
                                        ("2.1.0.dev20230101+cpu", "2.1.0"), ("2.0.0.post1", "2.0.0"), ("unknown", "2.0")]], TorchVersion("1.0") == "1.0.0")
"""


def test_the_version_is_the_one_of_pytorch_that_programs_look_for(tmp_path):
    """Programs compare it to choose between old and new calls, and packages refuse what is old."""
    write(tmp_path, program=VERSIONS)
    ours = python("-m", "numtorch", "run", "program.py", folder=tmp_path)
    assert ours.stdout.splitlines() == [
        "True True True 0", "True True True True True True True 2 2.13 True",
        "[True, True, True, False, True, True, False, False] True"], ours.stdout + ours.stderr
