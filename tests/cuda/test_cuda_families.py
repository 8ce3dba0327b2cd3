"""CUDA: the families with kernels of their own give what the CPU gives, in the simulator, for sizes on both sides of the kernels'
constants, in every memory order and several dtypes (cudafamilies.py), and the simulator shows it where one of their barriers is
missing. Where a GPU is at hand the same script runs on it."""
from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest
from cudabarriers import Barriers
from cudafamilies import run, variants

TOLERANCES = {"float32": 5e-6, "float64": 1e-10, "float16": 4e-3, "bfloat16": 3e-2}        # of integers: none


def run_all(device, barriers=None):
    """What each try gives on a device, or its traceback; and which `barriers` go unseen."""
    import numtorch as torch
    found, tries = {}, {name: what for name, *what in variants()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, what in tries.items():
            try:
                if barriers is not None:
                    barriers.name = name
                began = time.process_time()
                found[name] = run(torch, *what, device)
                if barriers is not None:
                    barriers.seconds[name] = time.process_time() - began
            except Exception:
                found[name] = traceback.format_exc(limit=-6)
        if barriers is not None:
            found["barriers"] = len(barriers.bodies), barriers.unseen(lambda name: run(torch, *tries[name], device), found)
    return found


@pytest.fixture(scope="module")
def on_cpu():
    return run_all("cpu")


@pytest.fixture(scope="module")
def on_cuda(tmp_path_factory):
    path, here = tmp_path_factory.mktemp("cuda") / "families", Path(__file__)
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1",
                   "PYTHONPATH": os.pathsep.join([*map(str, here.resolve().parents[:3]), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, str(here), str(path)], env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    return pickle.loads(path.read_bytes())


@pytest.mark.parametrize("name, dtype", [(name, dtype) for name, *_, dtype in variants()])
def test_a_family_gives_what_the_cpu_gives(name, dtype, on_cpu, on_cuda):
    expected, got = on_cpu[name], on_cuda[name]
    assert isinstance(expected, list), expected
    assert isinstance(got, list), got
    for theirs, ours in zip(got, expected, strict=True):
        if ours is None:
            assert theirs is None
        else:
            np.testing.assert_allclose(theirs, ours, rtol=TOLERANCES.get(dtype, 0), atol=TOLERANCES.get(dtype, 0))


def test_a_missing_barrier_is_seen(on_cuda):
    """Of every barrier that a kernel of these families has: without it, some try gives another result."""
    count, unseen = on_cuda["barriers"]
    assert count > 15 and not unseen, unseen


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(pickle.dumps(run_all("cuda", Barriers())))
