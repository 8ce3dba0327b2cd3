"""PyTorch's place for `numtorch.data`."""
import importlib as _importlib

from ..data import *  # noqa: F403
from ..data import __all__  # noqa: F401

__path__: list = []                                      # PyTorch has modules in it (alias/paths.py)


def __getattr__(name):
    """PyTorch's modules that are elsewhere here, and why others are not (alias)."""
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)
