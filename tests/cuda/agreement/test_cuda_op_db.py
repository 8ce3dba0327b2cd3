"""CUDA: PyTorch's own table of operations in the simulator, beside PyTorch on the CPU: of each entry a small sample in each dtype,
results and gradients of first and second order; all samples with NUMTORCH_TEST_ALL=1. Its lists of what autocast does, too."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed to compare with")
if not torch.__version__.startswith("2.13."):
    pytest.skip("what is known to differ was noted with PyTorch 2.13", allow_module_level=True)
pytest.importorskip("expecttest", reason="PyTorch's table of operations needs expecttest")


def run(*arguments, timeout):
    done = subprocess.run([sys.executable, "-m", *arguments], env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
                          cwd=Path(__file__).resolve().parents[3], capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def test_autocast():
    """Each op of PyTorch's lists gives the dtype that they say."""
    assert int(run("tests.autocastlists", "cuda", timeout=300).split()[-2]) > 300


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex64", "int64", "bool", "bfloat16"])
def test_entries(dtype):
    samples = [] if os.environ.get("NUMTORCH_TEST_ALL") == "1" else ["--samples", "1", "--elements", "1000"]
    run("tests.opdb", "--device", "cuda", "--aspects", "values", "--dtypes", dtype, *samples, timeout=1200 if samples else None)
