"""`python -m numtorch run script.py` and `run -m module`: what `python script.py` does, with numtorch in PyTorch's place."""
from __future__ import annotations

import builtins
import io
import os
import runpy
import sys
import types
from pkgutil import get_importer

from . import install

USAGE = """usage: python -m numtorch run [-m module | script.py] [argument ...]

Run a program that was written for PyTorch, as it is: its `import torch` leads
to numtorch."""


def run(arguments: list[str]) -> int:
    """Run a program as Python would, after `install()`.

    Args:
        arguments: the program's file, or "-m" and its name, and what it is given.

    Returns:
        0, or 2 where there is no program. Exceptions pass, as they came from the program.
    """
    if not arguments or arguments[0] in ("-h", "--help") or arguments == ["-m"]:
        print(USAGE, file=sys.stdout if arguments[:1] in (["-h"], ["--help"]) else sys.stderr)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    install()
    ours = sys.modules["__main__"]                       # kept: its globals are those of the functions that called
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        if arguments[0] == "-m":
            sys.argv = ["-m", *arguments[2:]]
            runpy._run_module_as_main(arguments[1])
        else:
            sys.argv = arguments
            return _run_file(arguments[0])
    except SystemExit:
        raise
    except BaseException as error:
        _show_from(error, error.__traceback__.tb_next)
        raise
    finally:
        del ours
    return 0


def _run_file(name: str) -> int:
    """Run a file, or a folder or archive with a `__main__.py`."""
    if get_importer(name) is not None:
        _first_path(name)
        runpy._run_module_as_main("__main__", False)
        return 0
    _first_path(os.path.dirname(os.path.realpath(name)))
    path = os.path.abspath(name)
    try:
        with io.open_code(path) as file:
            source = file.read()
    except OSError as error:
        print(f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}", file=sys.stderr)
        return 2
    main = sys.modules["__main__"]
    main.__file__, main.__builtins__, main.__cached__ = path, builtins, None
    exec(compile(source, path, "exec", dont_inherit=True), vars(main))
    return 0


def _first_path(folder: str) -> None:
    """Put a program's folder where Python has it, in place of the current one, which `python -m` put there."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder


def _show_from(error: BaseException, traceback) -> None:
    """Have what is printed of an uncaught exception begin at the program's first line."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    shown = sys.excepthook

    def excepthook(kind, value, whole):
        shown(kind, value.with_traceback(traceback) if value is error else value, traceback if value is error else whole)

    sys.excepthook = excepthook
