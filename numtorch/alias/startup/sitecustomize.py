"""Loaded first in the children of a program for which `numtorch.alias.install()` was called: they do the same on `import torch`.

numtorch is imported only then. A `sitecustomize` of the user's own, which this one hides, is run as well.
"""
import importlib
import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
_root = os.path.dirname(os.path.dirname(os.path.dirname(_here)))     # where the numtorch of the parent process is


class _Waiting:
    """Installs the alias when `torch` is first asked for."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] not in ("torch", "functorch"):
            return None
        sys.meta_path.remove(_Waiting)
        sys.path.insert(0, _root)
        try:
            importlib.import_module("numtorch.alias").install()
        finally:
            sys.path.remove(_root)
        return sys.meta_path[0].find_spec(name)


sys.meta_path.insert(0, _Waiting)
sys.path[:] = [p for p in sys.path if os.path.abspath(p) != _here]
_hidden = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
if _hidden is not None:
    sys.modules["sitecustomize"] = importlib.util.module_from_spec(_hidden)
    _hidden.loader.exec_module(sys.modules["sitecustomize"])
