"""The command line: `python -m bench core [--json out.json] [--readme README.md] [--threads N] [--filter text]`."""
from __future__ import annotations

import argparse
import os
import statistics
import sys


def arguments():
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure numtorch, beside PyTorch where it is installed.")
    parser.add_argument("family", choices=["core"], help="which cases to measure")
    parser.add_argument("--json", metavar="FILE", help="write the results there")
    parser.add_argument("--readme", metavar="FILE", help="put the tables between the marks in that file")
    parser.add_argument("--threads", type=int, metavar="N", help="threads for both sides (default: this machine's processors)")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only cases whose name contains this")
    parser.add_argument("--seconds", type=float, default=0.5, help="time to spend on a case (default 0.5)")
    return parser.parse_args()


def measure_case(case, ours, peer, seconds):
    """A row: both sides' results compared, then both timed in turns."""
    import numpy as np

    from .measure import interleaved
    sides = [ours, *([peer] if peer else [])]
    row = {"name": case.name, "group": case.group, "budget": case.budget, "min": None, "median": None, "peer_min": None,
           "peer_median": None, "ratio": None}
    inputs = case.inputs(np.random.default_rng(0))
    try:
        functions = [case.make(side, inputs) for side in sides]
        results = [f().detach().numpy() for f in functions]
    except (AttributeError, NotImplementedError, ModuleNotFoundError) as error:
        row["missing"] = f"not there yet ({error})"
        return row
    if peer:
        scale = float(np.abs(results[1]).max()) or 1.0
        difference = float(np.abs(results[0] - results[1]).max()) / scale
        if not difference <= case.tolerance:
            row["missing"] = f"wrong: differs from PyTorch by {difference:.1e}"
            return row
    timings = interleaved(functions, seconds)
    row.update(min=timings[0].minimum, median=timings[0].median)
    if peer:
        row.update(peer_min=timings[1].minimum, peer_median=timings[1].median, ratio=timings[0].minimum / timings[1].minimum)
    if case.flops:
        row["gflops"] = case.flops / timings[0].minimum / 1e9
    return row


def start_row(threads, peer):
    from .core import START_BUDGET, start_up
    ours = start_up("numtorch", threads)
    theirs = start_up("torch", threads) if peer else None
    return {"name": "import and first sum, warm store", "group": "start", "budget": START_BUDGET, "min": min(ours),
            "median": statistics.median(ours), "peer_min": min(theirs) if peer else None,
            "peer_median": statistics.median(theirs) if peer else None, "ratio": min(ours) / min(theirs) if peer else None}


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def main():
    options = arguments()
    threads = options.threads or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))           # before either side starts its threads

    import numtorch
    try:
        import torch
        torch.set_num_threads(threads)
    except ImportError:
        torch = None
    numtorch.set_num_threads(threads)

    from . import report
    from .core import CASES
    from .measure import Calibration
    calibration = Calibration(threads)
    rows = []
    chosen = [c for c in CASES if options.filter.lower() in f"{c.group} {c.name}".lower()]
    for number, case in enumerate(chosen, 1):
        progress(f"[{number}/{len(chosen)}] {case.group}: {case.name}")
        rows.append(measure_case(case, numtorch, torch, options.seconds))
        calibration.check()
    if options.filter.lower() in "start up import":
        progress("starting processes")
        rows.append(start_row(threads, torch))
        calibration.check()
    progress("")
    result = {"family": options.family, "machine": report.machine(threads, torch and torch.__version__), "rows": rows,
              "slowdown": calibration.slowdown, "contended": calibration.contended}
    report.show(result)
    if options.json:
        report.save(result, options.json)
    if options.readme:
        report.fill_readme(result, options.readme, options.family)
    wrong = [r["name"] for r in rows if str(r.get("missing", "")).startswith("wrong")]
    if wrong:
        print(f"wrong results: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
