"""What tab completion knows: `dir` lists what is loaded late, and everything that it lists is there."""
from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

MODULES = ["numtorch", "numtorch.nn", "numtorch.nn.modules", "numtorch.nn.utils", "numtorch.optim", "numtorch.utils", "numtorch.autograd",
           "numtorch.distributions", "numtorch.multiprocessing", "numtorch.jit", "numtorch.cuda"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODULES)
def test_everything_that_is_listed_is_there(name):
    module = importlib.import_module(name)
    missing = [n for n in dir(module) if not hasattr(module, n)]
    assert missing == []
    assert set(getattr(module, "__all__", ())) <= set(dir(module))


def test_a_fresh_interpreter_lists_what_it_has_not_loaded():
    program = """
import numtorch as torch
names = set(dir(torch))
assert {"nn", "optim", "linalg", "fft", "compile", "load", "save", "draw", "autocast", "sqrt_", "batch_norm", "summary"} <= names, names
assert "DataParallel" in dir(torch.nn) and {"data", "checkpoint"} <= set(dir(torch.utils)) and "lr_scheduler" in dir(torch.optim)
import sys
assert "numtorch.jit.compiling.compiled" not in sys.modules and "numtorch.nn.parallel" not in sys.modules
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
