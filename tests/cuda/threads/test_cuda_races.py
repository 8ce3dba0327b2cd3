"""CUDA: no two threads of a family's kernels meet in memory without a barrier between them, in the simulator (cudaraces.py): of each
family its first try, of a quarter of them each day; all with NUMTORCH_TEST_ALL=1."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings

import bodies
from daily import todays

PARTS = 4
# What is read and not used: elements behind the last one, for which lanes read the last; the step after a product's last slice. And
# whether somebody has found what all look for, which may be seen late.
UNUSED = re.compile(r"read: (\w+ = x\d+\[|(rows|columns)0_\d+ = |[ab]0_\d+ = .*(load_matrices|shared_word)|while .* and out\[0\] == 0:)")


def families():
    """The first try of each family, by name."""
    from cudafamilies import variants
    first = {}
    for name, *what in variants():
        first.setdefault(name.partition(" ")[0], (name, what))
    return dict(first.values())


def meetings(tries):
    """What meets, by try."""
    from cudafamilies import run
    from cudaraces import Races

    import numtorch as torch
    races = Races()
    for name, what in tries.items():
        before = set(races.found)
        run(torch, *what, "cuda")
        for met in set(races.found) - before:
            if not any(UNUSED.match(line) for line in met[1:]):
                yield f"{name}: {met[0]}: {met[1]} | {met[2]}, of threads of {races.found[met]}"


def in_the_simulator(*words):
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": bodies.search_path(__file__)}
    done = subprocess.run([sys.executable, __file__, *words], env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def test_threads_do_not_meet():
    assert in_the_simulator() == []


def test_a_race_is_seen():
    """A sum over a block's cells whose barrier is left out."""
    found = in_the_simulator("without barriers")
    assert any("write" in line and "of threads of a block" in line for line in found), found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:]:                                     # without barriers
        from cudaraces import Races

        from numtorch.kernels.cuda.turns import Block
        Block.wait, Races._follow_barriers = lambda block: None, lambda races, block_class: None
        chosen = {name: what for name, what in families().items() if name.startswith("reduced ")}
    else:
        chosen = dict(todays(families().items(), PARTS))
    for line in meetings(chosen):
        print(line)
