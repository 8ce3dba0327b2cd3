"""Programs made of Python functions (docs/compile.md, docs/graph.md, docs/script.md, docs/native.md).

Replayed launches:

compiled     `numtorch.compile`: functions that are captured once and replayed
calls        what tells calls of a function apart, and how one is captured
splitting    a function split where it cannot be captured
recorded     a call whose results have a graph: a program of forward, and one that the tape runs in backward
improving    what becomes of a replay: the graph of its call, in its place
snapshots    what a call may change, kept and put back
executor     a graph run in the place of a call
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
programs     functions and modules that run a graph
updates      steps of optimisers as calls
gradients    derivatives of primitives as calls
joint        the graph of a call and of its derivative, divided into forward and backward
traces       `jit.trace`
fused        elementwise ops in one kernel
passes/      from graphs to cheaper graphs
inference    `jit.freeze`, `jit.optimize_for_inference`
graphmodules a graph as one of torch.fx

Scripts:

scripting/   `jit.script`: functions and modules that keep their control flow
files        `jit.save`, `jit.load`
forking      `jit.fork`, `jit.wait`

native/      `jit.export_native`: a captured program as a shared library
"""
import importlib as _importlib
from typing import Final

_PUBLIC = {
    "traces": "trace trace_module", "freezing": "TracerWarning is_tracing", "programs": "ScriptFunction ScriptModule",
    "parsing": "parse", "inference": "freeze optimize_for_inference", "graph": "Graph", "interpreter": "Interpreter",
    "scripting.scripts": "export ignore script unused", "scripting.modules": "Attribute",
    "scripting.subclasses": "script_method", "scripting.reading": "annotate script_isinstance",
    "scripting.problems": "NotSupportedError UnsupportedNodeError", "files": "load save", "native.exporting": "export_native",
    "graphmodules": "to_fx", "forking": "Future fork wait",
}
_HOMES = {name: module for module, names in _PUBLIC.items() for name in names.split()}

__all__ = ["Attribute", "Final", "Future", "Graph", "Interpreter", "NotSupportedError", "ScriptFunction", "ScriptModule",
           "TracerWarning", "UnsupportedNodeError", "annotate", "export", "export_native", "fork", "freeze", "ignore",
           "is_scripting", "is_tracing", "load", "optimize_for_inference", "parse", "save", "script", "script_method", "to_fx",
           "trace", "trace_module", "unused", "wait"]


def is_scripting() -> bool:
    """Whether a script runs: in one it is True, where Python runs the same function False.

    Example:
        >>> import numtorch as torch
        >>> torch.jit.is_scripting()
        False
    """
    return False


def __getattr__(name):
    if name == "isinstance":
        name = "script_isinstance"
    if name in _HOMES:
        return getattr(_importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)


def __dir__():
    return _importlib.import_module("numtorch.alias").listing(__name__, *_HOMES)
