"""Programs made of Python functions (docs/compile.md, docs/graph.md).

Replayed launches:

compiled     `numtorch.compile`: functions that are captured once and replayed
capture      one call of a function, watched: what it launches, and what keeps it from being replayed
allowed      the C functions that do nothing but what a replay may leave out
reach        what of Python a function can reach, and whether that has changed
memory       what a captured call takes its memory from
places       memory by address
replay       the program made of a captured call
steps        what optimisers and random streams do at each replay

Graphs:

operations   what a node of a graph can call
graph        a program as a graph; its text
parsing      the text, read
interpreter  a graph, run
cells        what a trace knows of tensors and their memory
freezing     what a trace freezes, and says so
tracing      the graph of a call
decompose    users' elementwise ops as calls of this package's
listing      a graph as Python, for people to read
programs     functions and modules that run a graph, and their files
traces       `jit.trace`
fused        elementwise ops in one kernel
passes/      from graphs to cheaper graphs
inference    `jit.freeze`, `jit.optimize_for_inference`
"""
import importlib as _importlib

_PUBLIC = {
    "traces": "trace trace_module", "freezing": "TracerWarning is_tracing", "programs": "ScriptFunction ScriptModule load save",
    "parsing": "parse", "inference": "freeze optimize_for_inference", "graph": "Graph", "interpreter": "Interpreter",
}
_HOMES = {name: module for module, names in _PUBLIC.items() for name in names.split()}

__all__ = ["Graph", "Interpreter", "ScriptFunction", "ScriptModule", "TracerWarning", "freeze", "is_scripting", "is_tracing",
           "load", "optimize_for_inference", "parse", "save", "trace", "trace_module"]


def is_scripting() -> bool:
    """Whether a script is compiled: never.

    Example:
        >>> import numtorch as torch
        >>> torch.jit.is_scripting()
        False
    """
    return False


def __getattr__(name):
    if name in _HOMES:
        return getattr(_importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)


def __dir__():
    return _importlib.import_module("numtorch.alias").listing(__name__, *_HOMES)
