"""`python -m numtorch profile script.py arguments`: run a program, and show where its time went."""
from __future__ import annotations

import argparse

from ..alias.launch import run
from .profiler import profile
from .table import COLUMNS


def main(arguments: list[str]) -> int:
    """Run a program under a profile and print its table.

    Args:
        arguments: options, then the program's file, or "-m" and its name, and what it is given.

    Returns:
        The program's exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m numtorch profile", description="Run a program, and show where its time went.",
                                     usage="%(prog)s [options] [-m] PROGRAM [ARGUMENT ...]")
    parser.add_argument("--sort", choices=COLUMNS, default="self_cpu_time_total", metavar="COLUMN",
                        help=f"the column by which lines are sorted, of {', '.join(COLUMNS)} (default: self_cpu_time_total)")
    parser.add_argument("--rows", type=int, default=25, metavar="N", help="how many lines there are (25; -1 for all)")
    parser.add_argument("--shapes", action="store_true", help="tell calls with other shapes apart")
    parser.add_argument("--memory", action="store_true", help="show what is allocated")
    parser.add_argument("--stack", action="store_true", help="tell calls from other lines of the program apart")
    parser.add_argument("--modules", action="store_true", help="show calls of modules, too")
    parser.add_argument("--trace", metavar="FILE", help="also write a trace that https://ui.perfetto.dev shows")
    parser.add_argument("-m", dest="module", action="store_true", help="the program is a module's name")
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if not options.program:
        parser.error("expected a program: a file, or -m and a module")
    recorded = profile(record_shapes=options.shapes, profile_memory=options.memory, with_stack=options.stack,
                       with_modules=options.modules)
    try:
        with recorded:
            return run(["-m", *options.program] if options.module else options.program)
    finally:                                             # of a program that fails, too
        sums = recorded.key_averages(group_by_input_shape=options.shapes, group_by_stack_n=int(options.stack))
        print(sums.table(sort_by=options.sort, row_limit=options.rows), end="")
        if options.trace:
            recorded.export_chrome_trace(options.trace)
            print(f"{options.trace}: open it at https://ui.perfetto.dev")
