"""Cases that need a process of their own: starting up, and peak memory."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from .report import MODULES

# What a case's source may use. `began` is when its process was started, before Python was. The peak is the kernel's high-water mark
# of this process image: `ru_maxrss` also remembers the parent's, which is what was resident before `exec`.
PRELUDE = """
import json, os, time
start = time.perf_counter()
began = float(os.environ["BENCH_BEGAN"])
def processor_seconds():
    return sum(os.times()[:4])
def peak_bytes():
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))
    except OSError:
        import resource, sys
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
def report(*numbers):
    print(json.dumps(numbers))
"""


def _environment(threads, home):
    import numtorch
    root = os.path.dirname(os.path.dirname(os.path.abspath(numtorch.__file__)))
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "NUMTORCH_NUM_THREADS": str(threads),
                   "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)     # an installed package has its byte code, which pip compiles
    if home:
        environment.update(HOME=home, XDG_CACHE_HOME=os.path.join(home, ".cache"))
        environment.pop("NUMTORCH_CACHE_DIR", None)
    return environment


def _run(case, side, threads, home):
    """The numbers one process printed. Raises RuntimeError with its last words where it failed."""
    with tempfile.TemporaryDirectory() as empty:
        source = case.source.replace("{module}", MODULES.get(side, side)).replace("{side}", side)
        environment = _environment(threads, empty if case.store == "empty" else home)
        done = subprocess.run([sys.executable, "-c", PRELUDE + source], capture_output=True, text=True,
                              env={**environment, "BENCH_BEGAN": repr(time.time())})
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1])
    return json.loads(done.stdout.strip().splitlines()[-1])


def process_rows(family, case, sides, threads, seconds) -> list[dict]:
    """A row for each number the processes print. A quarter of a second a case means `case.rounds` processes a side."""
    rounds = max(2 if case.store == "warm" else 1, min(case.rounds, round(case.rounds * seconds / 0.25)))
    runs = {side: [] for side in sides}
    problems = {}
    with tempfile.TemporaryDirectory() as home:
        for turn in range(rounds):
            for side in sides if turn % 2 == 0 else reversed(sides):
                if side not in problems:
                    try:
                        runs[side].append(_run(case, side, threads, home if case.store == "warm" else None))
                    except RuntimeError as error:
                        problems[side] = str(error)[:300]
    rows = []
    for i, (name, unit, budget, *most) in enumerate(case.rows):
        row = {"family": family, "group": case.group or family, "name": name, "dtype": None, "threads": threads, "unit": unit,
               "budget": budget, "size": 0.0, **({"most": most[0]} if most and most[0] is not None else {}),
               **({"budgets": case.budgets} if case.budgets else {})}
        for side in sides:
            values = [run[i] for run in runs[side][1 if len(runs[side]) > 1 else 0:]]
            if side in problems and side == "numtorch":
                absent = problems[side].startswith(("AttributeError", "ModuleNotFoundError", "NotImplementedError"))
                row["missing" if absent else "failed"] = problems[side]
            elif side in problems:
                row.setdefault("peers_without", {})[side] = problems[side]
            else:
                low, middle, high = np.percentile(values, [25, 50, 75])
                row[side] = {"min": float(min(values)), "median": float(middle),
                             "spread": float((high - low) / middle) if middle else 0.0, "samples": len(values)}
        rows.append(row)
    return rows
