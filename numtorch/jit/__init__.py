"""Programs made of Python functions (docs/compile.md).

compiled     `numtorch.compile`: functions that are captured once and replayed
capture      one call of a function, watched: what it launches, and what keeps it from being replayed
allowed      the C functions that do nothing but what a replay may leave out
reach        what of Python a function can reach, and whether that has changed
memory       what a captured call takes its memory from
places       memory by address
replay       the program made of a captured call
steps        what optimisers and random streams do at each replay
"""
import importlib as _importlib

__all__ = ["is_scripting", "is_tracing"]


def is_scripting() -> bool:
    """Whether a script is compiled: never.

    Example:
        >>> import numtorch as torch
        >>> torch.jit.is_scripting()
        False
    """
    return False


def is_tracing() -> bool:
    """Whether a trace is made: never.

    Example:
        >>> import numtorch as torch
        >>> torch.jit.is_tracing()
        False
    """
    return False


def __getattr__(name):
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)
