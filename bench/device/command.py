"""`python -m bench cuda`."""
from __future__ import annotations

import argparse
import importlib
import sys


def main(words) -> int:
    """Measure on the GPU, or estimate with `--model`; 2 where that cannot be done here."""
    parser = argparse.ArgumentParser(prog="python -m bench cuda", description="Kernels on a GPU.")
    parser.add_argument("--model", action="store_true", help="estimate, from the compiled code and published figures")
    parser.add_argument("--rows", default="", help="only rows whose name has this in it")
    parser.add_argument("--peers", default="torch,cupy", help="whom to measure beside numtorch, of torch, cupy ('' for none)")
    options = parser.parse_args(words)
    return estimate(options.rows) if options.model else measure(options.peers, options.rows)


def estimate(chosen) -> int:
    try:
        for name in ("numba_cuda", "cuda.core"):
            importlib.import_module(name)
    except ImportError as error:
        print(f"{error}: kernels are compiled with what numtorch[cuda] installs", file=sys.stderr)
        return 2
    from . import model, steps
    from .recorder import installed
    recorder = installed()
    print("Estimates, not measurements: a model of each kernel's code and of the GPU's published figures.\n")
    for table, found in ((model.table, model.estimates(recorder, chosen)), (steps.table, steps.steps(recorder, chosen))):
        if found:
            print(*table(found), "", sep="\n")
    return 0


def measure(peers, chosen) -> int:
    import numtorch
    from numtorch.kernels.cuda.environment import SIMULATED
    if SIMULATED or not numtorch.cuda.is_available():
        why = "the simulator measures nothing" if SIMULATED else "there is none here, or numtorch[cuda] is not installed"
        print(f"bench cuda measures on a GPU, and {why}. Estimates without one: python -m bench cuda --model", file=sys.stderr)
        return 2
    from .measured import measure as rows
    from .peers import installed
    beside, absent = installed([name for name in peers.split(",") if name])
    for title in absent:
        print(f"bench: {title} is not installed, or sees no GPU: nothing is compared with it", file=sys.stderr)
    print(f"{numtorch.cuda.get_device_name()}\n")
    for row in rows(numtorch, beside, chosen):
        others = "".join(f"   {title}{taken:10.1f} µs {row.ours / taken:6.2f}" for title, taken in row.theirs.items())
        print(f"{row.name:50}{row.ours:10.1f} µs {row.rate:>14}{others}")
    return 0
