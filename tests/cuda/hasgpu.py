"""Whether tests find a GPU here, which a process of its own looks for: in this one the simulator may be chosen."""
from __future__ import annotations

import functools
import os
import subprocess
import sys

import pytest


@functools.cache
def has_gpu() -> bool:
    code = "import numtorch; print(numtorch.cuda.is_available())"
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "0"}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True).stdout.strip() == "True"


def need_gpu() -> None:
    """Skip the test that asks where there is none."""
    if not has_gpu():
        pytest.skip("no GPU here, or the cuda extra is not installed")
