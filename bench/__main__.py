"""The command line: `python -m bench [families] [options]`."""
from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import shutil
import signal
import sys
from pathlib import Path

from .device.command import main as device
from .runner import compare, readme, report, tables
from .runner.case import ProcessCase
from .runner.session import OURS, Session, available_threads

FAMILIES = ("core", "pointwise", "reduce", "gemm", "conv", "norm", "gather", "sparse", "func", "random", "optim", "autograd",
            "models", "networks", "compile", "passes", "growth", "scaling", "start", "memory", "multiprocessing",
            "training")
DTYPES = ("float32", "float64", "float16", "bfloat16")


def arguments(words=None):
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}",
        description="Measure numtorch, beside PyTorch and NumPy where they are installed.",
        epilog="`cuda` measures a GPU's kernels, `cuda --model` estimates them. The "
               "exit status is 1 where a result is wrong, a case fails, or --compare finds a regression.")
    several = lambda kind, known=None: (lambda text: [_one_of(kind(word), known) for word in text.split(",") if word])
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"what to measure, of {', '.join(FAMILIES)} (default: all)")
    parser.add_argument("--family", type=several(str, FAMILIES), default=[], metavar="A,B", help="the same as an option")
    parser.add_argument("--filter", default="", metavar="TEXT",
                        help="only rows whose family, heading or name contains this, as the table shows them")
    parser.add_argument("--wide", action="store_true",
                        help="all columns: medians, spread, speed, what the machine allows, every peer")
    parser.add_argument("--peers", type=several(str, tuple(report.PEERS)), default=None, metavar="A,B",
                        help=f"whom to measure beside numtorch, of {', '.join(report.PEERS)} (default: all, as installed; "
                             "'' for none)")
    parser.add_argument("--threads", type=several(_count), default=None, metavar="N,M",
                        help="thread counts of all sides (default: this machine's processors); several show the gain")
    parser.add_argument("--dtype", type=several(str, DTYPES), default=None, metavar="A,B", help="only these dtypes")
    parser.add_argument("--seconds", type=float, default=None, metavar="S",
                        help="time a row may take, all sides together (default 0.25)")
    parser.add_argument("--quick", action="store_true", help="the smallest useful run: 0.02 s a row, float32, no limits, no epochs")
    parser.add_argument("--json", metavar="FILE", help="write the result there")
    parser.add_argument("--from", dest="sources", metavar="FILE", action="append", default=[],
                        help="show, draw, compare this result instead of measuring (repeated: the best of several runs)")
    parser.add_argument("--compare", metavar="FILE",
                        help="name what became slower than in this result; exit with 1 if anything did")
    parser.add_argument("--plot", metavar="FILE",
                        help="draw what was measured of the roofline, growth with size and ratios (PNG, PDF, SVG)")
    parser.add_argument("--readme", metavar="FILE", action="append", default=[],
                        help="refresh the tables between the marks in that Markdown file (repeated for several)")
    options = parser.parse_args(words)
    for name in options.families:
        if name not in FAMILIES:
            parser.error(f"there is no family {name!r}; there are {', '.join(FAMILIES)}")
    options.families = [f for f in FAMILIES if f in {*options.families, *options.family}] or list(FAMILIES)
    options.seconds = options.seconds if options.seconds is not None else 0.02 if options.quick else 0.25
    options.dtype = options.dtype or (["float32"] if options.quick else None)
    if options.peers is None:                            # what compiles programs is compared with programs that are compiled
        compiled = "compile" in options.families and not options.quick       # which takes minutes
        options.peers = [peer for peer in report.PEERS if peer in ("torch", "numpy") or (
            "passes" in options.families if peer == "without" else compiled)]
    return options


def _count(word):
    if not word.isdigit() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"expected positive numbers, got {word!r}")
    return int(word)


def _one_of(word, known):
    if known and word not in known:
        raise argparse.ArgumentTypeError(f"{word!r} is none of {', '.join(known)}")
    return word


# ---------------------------------------------------------------- measuring
def load_sides(peers):
    """Modules by package name, numtorch first, and the peers that were wanted but are not installed."""
    modules, absent = {OURS: importlib.import_module(OURS)}, []
    for peer in peers:
        try:
            modules[peer] = importlib.import_module(report.MODULES.get(peer, peer))
        except ModuleNotFoundError:
            absent.append(peer)
    if "torch.compile" in modules and shutil.which("g++") is None:           # which it compiles with
        absent.append("torch.compile")
        del modules["torch.compile"]
    return modules, absent


def chosen(session, families, text):
    """The jobs of these families whose row says `text` somewhere: family, heading, or name and dtype as the table has them."""
    wanted = " ".join(text.lower().split())              # a name that was folded in a narrow table
    for family in families:
        for job in session.jobs(family, importlib.import_module(f".{family}", __package__).CASES):
            _, case, dtype, _ = job
            rows = case.rows if isinstance(case, ProcessCase) else [(report.label({"name": case.name, "dtype": dtype}),)]
            if wanted in " ".join([f"{family}:", case.group, case.name, *(name for name, *_ in rows)]).lower():
                yield job


def measure(options) -> dict:
    threads = sorted(set(options.threads or [available_threads()]))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMTORCH_NUM_THREADS"):
        os.environ[name] = str(max(threads))             # before any side starts its threads
    modules, absent = load_sides(options.peers)
    for peer in absent:
        say(f"{report.PEERS[peer]} is not installed: nothing is compared with it")
    interpreted = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    if interpreted:
        say("NUMBA_DISABLE_JIT is set: kernels run as Python, and the machine's limits are not measured")
    session = Session(modules, threads, options.dtype, options.seconds, with_limits=not options.quick and not interpreted)
    if session.contention.check() > 1.3:
        say("the machine is busy with something else: figures taken now are not to be relied on")
    jobs = list(chosen(session, options.families, options.filter))
    if options.quick:
        for _, case, *_ in jobs:
            if getattr(case, "long", False):
                say(f"left out of a quick run: {case.name}")
        jobs = [job for job in jobs if not getattr(job[1], "long", False)]
    rows = []
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with Progress(len(jobs)) as progress:
        try:
            for family, case, dtype, count in jobs:
                progress.show(f"{family}: {case.name}")
                rows += session.rows(family, case, dtype, count)
        except KeyboardInterrupt:
            say(f"interrupted: of {len(jobs)} rows, the last ones were not measured")
    return {"format": report.FORMAT, "machine": report.machine(modules, absent), "threads": threads, "rows": rows,
            "limits": {str(t): limit for t, limit in session.limits.items()},
            "contention": {"waiting": session.contention.waiting, "unsteadiness": session.contention.unsteadiness,
                           "notes": session.contention.notes()}}


class Progress:
    """A bar on the terminal (with rich where it is installed, else a line), nothing in a pipe."""

    def __init__(self, total):
        self.total, self.done, self.bar = total, 0, None
        self.terminal = sys.stderr.isatty()

    def __enter__(self):
        if self.terminal:
            try:
                from rich.console import Console
                from rich.progress import Progress as Bar
                from rich.progress import TimeRemainingColumn
            except ImportError:
                return self
            self.bar = Bar(*Bar.get_default_columns()[:-1], TimeRemainingColumn(), console=Console(stderr=True), transient=True,
                           auto_refresh=False)           # a refreshing thread would share the processors with what is measured
            self.bar.start()
            self.task = self.bar.add_task("", total=self.total)
        return self

    def show(self, text):
        self.done += 1
        if self.bar:
            self.bar.update(self.task, description=text[:48].ljust(48), completed=self.done - 1, refresh=True)
        elif self.terminal:
            print(f"\r\033[K[{self.done}/{self.total}] {text}", end="", file=sys.stderr, flush=True)

    def __exit__(self, *ignored):
        if self.bar:
            self.bar.stop()
        elif self.terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def say(text):
    print(f"bench: {text}", file=sys.stderr)


# ---------------------------------------------------------------- what to do with a result
def main(words=None) -> int:
    words = sys.argv[1:] if words is None else words
    if words[:1] == ["cuda"]:
        return device(words[1:])
    options = arguments(words)
    if options.plot and importlib.util.find_spec("matplotlib") is None:       # said before minutes of measuring, not after
        say('--plot needs matplotlib, which is not installed: pip install "numtorch[bench]"')
        return 2
    try:
        old = report.load(options.compare) if options.compare else None
        result = report.best([report.load(path) for path in options.sources]) if options.sources else measure(options)
        result["rows"].sort(key=lambda row: FAMILIES.index(row["family"]))   # runs of different families come in any order
    except (OSError, ValueError) as error:
        say(error)
        return 2
    if not result["rows"]:
        say("no case matches")
        return 2
    tables.show(result, options.wide)
    if options.json:
        report.save(result, options.json)
    for path in options.readme:
        for line in readme.fill(result, path, FAMILIES):
            say(line)
    if options.plot:
        draw(result, options.plot)
    status = 0
    problems = [(r, report.verdict(r)) for r in result["rows"] if "wrong" in r or "failed" in r]
    for row, text in problems:
        say(f"{row['family']}: {report.label(row)}: {text}")
        status = 1
    return 1 if old and compared(old, result) else status


def draw(result, path):
    from .runner import plot
    Path(path).parent.mkdir(parents=True, exist_ok=True)     # rather than lose ten minutes of measuring
    if not plot.draw(result, path):
        say(f"{path} was not written: no row was compared with PyTorch, and none has sizes or operations to draw")


def compared(old, new) -> bool:
    """Name the regressions; whether there are any."""
    for line in compare.remarks(old, new):
        say(line)
    found = compare.changes(old, new)
    slower = [c.text for c in found if c.regression] + compare.broken(old, new)
    for line in slower:
        say(f"REGRESSION: {line}")
    faster = sum(1 / c.factor > c.allowed for c in found)
    say(f"{len(found)} rows compared: {len(slower)} regressions, {faster} faster beyond the spread")
    return bool(slower)


if __name__ == "__main__":
    sys.exit(main())
