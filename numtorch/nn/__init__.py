"""Neural networks: layers (`modules/`), the same as functions (`functional`), first values (`init`)."""
import importlib as _importlib

from . import functional, init, modules, parameter, utils
from .modules import *  # noqa: F403
from .parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "functional", "init", "modules", "parameter", "utils"]
__all__ += modules.__all__


def __getattr__(name):
    """PyTorch's modules that are elsewhere here, and why others are not (alias)."""
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)
