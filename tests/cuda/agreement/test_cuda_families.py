"""CUDA: the families with kernels of their own give what the CPU gives, in the simulator, for sizes on both sides of the kernels'
constants (cudafamilies/), and of the first sizes a part each day in other memory orders and dtypes; and the simulator shows it where
one of their barriers is missing. Where a GPU is at hand the same script runs on it."""
from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path

import bodies
import numpy as np
import pytest
from cudabarriers import Barriers
from cudafamilies import run, variants
from cudafamilies.table import ROWS
from daily import todays

TOLERANCES = {"float32": 5e-6, "float64": 1e-10, "float16": 4e-3, "bfloat16": 3e-2}        # of integers: none
PARTS = 4                                                # of the other orders and dtypes, of which one is tried each day; all with NUMTORCH_TEST_ALL=1
ALL_TRIES = {name: what for name, *what in variants()}
_others = [name for name in ALL_TRIES if not name.endswith(")")]         # whose names say which order or dtype
_left = set(_others) - set(todays(_others, PARTS))
TRIES = {name: what for name, what in ALL_TRIES.items() if name not in _left}
PIECES = 6                                               # that the families are in, each of which is run on CUDA by a process of its own


def tries_of(piece):
    """What `run` takes, by name."""
    return {name: what for name, what in TRIES.items() if piece_of(name) == piece}


def piece_of(name):
    return list(ROWS).index(name.partition(" ")[0]) * PIECES // len(ROWS)


def run_all(tries, device, barriers=None):
    """What each try gives on a device, or its traceback; and which `barriers` there are, and which of these go unseen."""
    import numtorch as torch
    found = {}
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
            found["barriers"] = set(barriers.bodies), barriers.unseen(lambda name: run(torch, *tries[name], device), found)
    return found


@pytest.fixture(scope="module")
def on_cuda(tmp_path_factory):
    """What the families of a piece give. Whoever comes first runs it, for all workers."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "families"
    folder.mkdir(exist_ok=True)

    @functools.cache
    def of_piece(piece):
        path, ended = folder / str(piece), folder / f"{piece}.ended"
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            until = time.monotonic() + 900
            while not ended.exists() and time.monotonic() < until:
                time.sleep(0.1)
        else:
            try:
                _run_piece(piece, path)
            finally:
                ended.touch()
        found = path.read_bytes()
        assert found, "its process failed, as is said by the test that ran it"
        return pickle.loads(found)
    return of_piece


def _run_piece(piece, path):
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": bodies.search_path(__file__)}
    done = subprocess.run([sys.executable, __file__, str(piece), str(path)], env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("name, dtype", [(name, what[-1]) for name, what in TRIES.items()])
def test_a_family_gives_what_the_cpu_gives(name, dtype, on_cuda):
    expected, got = run_all({name: TRIES[name]}, "cpu")[name], on_cuda(piece_of(name))[name]
    assert isinstance(expected, list), expected
    assert isinstance(got, list), got
    for theirs, ours in zip(got, expected, strict=True):
        if ours is None:
            assert theirs is None
        else:
            np.testing.assert_allclose(theirs, ours, rtol=TOLERANCES.get(dtype, 0), atol=TOLERANCES.get(dtype, 0))


def test_a_missing_barrier_is_seen(on_cuda):
    """Of every barrier that a kernel of these families has: without it, some try gives another result."""
    there, unseen = zip(*[on_cuda(piece)["barriers"] for piece in range(PIECES)])
    nowhere = {place for place in set().union(*unseen) if all(place in mine for every, mine in zip(there, unseen) if place in every)}
    assert len(set().union(*there)) > 15 and not nowhere, nowhere


if __name__ == "__main__":
    piece, path = sys.argv[1:]
    Path(path).write_bytes(pickle.dumps(run_all(tries_of(int(piece)), "cuda", Barriers())))
