"""Programs made of Python functions (docs/compile.md, docs/graph.md, docs/script.md, docs/native.md).

capturing  one call of a function, watched, and the program of launches that replays it
graphs     programs as graphs of ops: their text, what runs them, and the ops that only they call
tracing    the graph of a call; `jit.trace`
passes     from graphs to cheaper graphs
compiling  `numtorch.compile`, of the rooms above; `jit.freeze`, `jit.optimize_for_inference`
scripting  `jit.script`: functions and modules that keep their control flow; `jit.fork`, `jit.wait`
native     `jit.export_native`: a captured program or a script as a shared library

A room imports from those above it. Beside them: files (`jit.save`, `jit.load`).
"""
import importlib as _importlib
from typing import Final

_PUBLIC = {
    "tracing.traces": "trace trace_module", "tracing.freezing": "TracerWarning is_tracing",
    "graphs.scriptmodules": "ScriptFunction ScriptModule", "graphs.parsing": "parse", "graphs.graph": "Graph",
    "graphs.interpreter": "Interpreter", "graphs.graphmodules": "to_fx",
    "compiling.inference": "freeze optimize_for_inference",
    "scripting.scripts": "export ignore script script_if_tracing script_method unused", "scripting.modules": "Attribute",
    "scripting.kinds": "annotate interface script_isinstance",
    "scripting.problems": "NotSupportedError UnsupportedNodeError",
    "native.exporting": "export_native", "files": "load save", "scripting.forking": "Future fork wait _fork _wait",
    "scripting.texts": "CompilationUnit",
}
_HOMES = {name: module for module, names in _PUBLIC.items() for name in names.split()}

__all__ = ["Attribute", "CompilationUnit", "Final", "Future", "Graph", "Interpreter", "NotSupportedError", "ScriptFunction",
           "ScriptModule", "TracerWarning", "UnsupportedNodeError", "annotate", "export", "export_native", "fork", "freeze",
           "ignore", "interface", "is_scripting", "is_tracing", "load", "optimize_for_inference", "parse", "save", "script",
           "script_if_tracing", "script_method", "to_fx", "trace", "trace_module", "unused", "wait"]


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
