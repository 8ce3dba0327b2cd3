"""`python -m numtorch run script.py`, `profile script.py`, `cache info|clear|warm|pack`, `shared`, `ops`, `stubs`, `--version`."""
from __future__ import annotations

import argparse
import sys

from . import __version__
from .alias.launch import run
from .commands import cachetool, stubs
from .commands.reference import page


def main(arguments=None) -> int:
    """Run the command line. Returns the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["run"]:                         # what follows belongs to the program
        return run(arguments[1:])
    if arguments[:2] == ["cache", "warm"] and arguments[2:] not in (["-h"], ["--help"]):
        return cachetool.warm(arguments[2:])
    if arguments[:1] == ["profile"]:
        from .profiler import command
        return command.main(arguments[1:])
    parser = argparse.ArgumentParser(prog="python -m numtorch",
                                     description="Tools of numtorch. `python -m numtorch COMMAND --help` "
                                     "says what a command takes.")
    parser.add_argument("--version", action="version", version=f"numtorch {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    commands.add_parser("run", help="run a program that was written for PyTorch, as it is")
    commands.add_parser("profile", help="run a program and show where its time went")
    cache = commands.add_parser("cache", help="the store of compiled kernels",
                                description="Kernels are compiled on first use and kept; this looks after where they are kept.")
    actions = cache.add_subparsers(title="actions", required=True, metavar="ACTION")
    actions.add_parser("info", help="where it is and what it holds").set_defaults(run=lambda options: cachetool.show())
    actions.add_parser("clear", help="delete every stored kernel").set_defaults(run=lambda options: cachetool.clear())
    families = f"of {', '.join(cachetool.GROUPS)}"
    warm = actions.add_parser("warm", help="compile kernels now, and pack them for fast loading",
                              usage="%(prog)s [FAMILY ... | [-m] PROGRAM ARGUMENT ...]",
                              description="Compile the commonest kernels, families of them, or all that a program needs, by "
                              "running it; then gather all kernels of the store in one file.")
    warm.add_argument("what", nargs="*", help=f"families, {families} (default: all); or a program, which is run")
    pack = actions.add_parser("pack", help="build packs of kernels for processors that share their instructions, and for GPUs",
                              description="Build a file of kernels for each baseline of processors and architecture of GPUs. The "
                              "packages numtorch-kernels and numtorch-kernels-cuda have them (tools/kernels_wheel.py); where these "
                              "are installed, they need not be compiled.")
    pack.add_argument("folder", help="where the files go")
    pack.add_argument("--for", dest="baselines", metavar="BASELINE", choices=list(cachetool.PACKED), action="append", default=[],
                      help=f"one of {', '.join(cachetool.PACKED)} (may be repeated; default: all that can be packed here)")
    pack.add_argument("--family", dest="families", choices=sorted(cachetool.GROUPS), metavar="FAMILY", action="append", default=[],
                      help=f"a family of kernels, {families} (may be repeated; default: all)")
    pack.set_defaults(run=lambda options: cachetool.pack(options.folder, options.baselines, options.families))
    shared = commands.add_parser("shared", help="memory that your running programs share, and who holds it",
                                 description="List the memory that your running programs share, and which process holds it.")
    shared.set_defaults(run=lambda options: _shared())
    ops = commands.add_parser("ops", help="for developers: print docs/ops.md, the page of all primitives",
                              description="Print the page of all primitives (docs/ops.md), from their records.")
    ops.set_defaults(run=lambda options: print(page(), end=""))
    types = commands.add_parser("stubs", help="for developers: write what type checkers read (numtorch/*.pyi)",
                                description="Write what type checkers read (numtorch/*.pyi) into this checkout.")
    types.set_defaults(run=lambda options: stubs.write())
    options = parser.parse_args(arguments)
    return options.run(options)


def _shared():
    from .shared import report
    return report.show()


if __name__ == "__main__":
    sys.exit(main())
