"""`python -m numtorch run script.py`, `profile script.py`, `cache info|clear|warm`, `shared`, `ops`, `stubs` and `--version`."""
from __future__ import annotations

import argparse
import sys

from . import __version__, cachetool, stubs
from .alias.launch import run
from .reference import page


def main(arguments=None) -> int:
    """Run the command line. Returns the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["run"]:                         # what follows belongs to the program
        return run(arguments[1:])
    if arguments[:1] == ["profile"]:
        from .profiler import command
        return command.main(arguments[1:])
    parser = argparse.ArgumentParser(prog="python -m numtorch", description="numtorch's tools.")
    parser.add_argument("--version", action="version", version=f"numtorch {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="command")
    cache = commands.add_parser("cache", help="the store of compiled kernels",
                                description="Kernels are compiled on first use and kept; this looks after where they are kept.")
    actions = cache.add_subparsers(title="actions", required=True, metavar="action")
    actions.add_parser("info", help="where it is and what it holds").set_defaults(run=lambda options: cachetool.show())
    actions.add_parser("clear", help="delete every stored kernel").set_defaults(run=lambda options: cachetool.clear())
    warm = actions.add_parser("warm", help="compile the commonest kernels now, and pack them for fast loading")
    warm.add_argument("--only", metavar="GROUP", choices=sorted(cachetool.GROUPS), action="append",
                      help=f"one group of kernels (may be repeated): {', '.join(cachetool.GROUPS)}")
    warm.set_defaults(run=lambda options: cachetool.warm(options.only))
    ops = commands.add_parser("ops", help="the page of the elementwise ops, from their records (docs/ops.md)")
    ops.set_defaults(run=lambda options: print(page(), end=""))
    shared = commands.add_parser("shared", help="memory that running programs of yours share, and which process holds it")
    shared.set_defaults(run=lambda options: _shared())
    types = commands.add_parser("stubs", help="what type checkers read (numtorch/*.pyi), from records and signatures")
    types.set_defaults(run=lambda options: stubs.write())
    commands.add_parser("run", help="a PyTorch program unchanged: `run script.py arguments` or `run -m module arguments`")
    commands.add_parser("profile", help="where a program's time goes: `profile [--memory] [--trace FILE] script.py arguments`")
    options = parser.parse_args(arguments)
    return options.run(options)


def _shared():
    from .shared import report
    return report.show()


if __name__ == "__main__":
    sys.exit(main())
