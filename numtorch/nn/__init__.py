"""Neural networks.

parameter    parameters and buffers: tensors that modules count as their own
init         a layer's first values
functional   layers as functions; some in files of their own: activations, losses, softmax, ranking (of pairs), linear_loss
attention    a choice among PyTorch's kernels of attention, which changes nothing
base/        what `Module` is made of
modules/     layers
utils/       helpers around layers
parallel/    replicas on several devices
"""
import importlib as _importlib

from . import attention, functional, init, modules, parameter, utils
from .modules import *  # noqa: F403
from .parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "attention", "functional", "init", "modules", "parameter", "utils"]
__all__ += modules.__all__
_importlib.import_module("numtorch.alias").complete(__name__)


def __getattr__(name):
    """What starts processes, when it is wanted; PyTorch's modules that are elsewhere here, and why others are not."""
    if name in ("parallel", "DataParallel"):
        parallel = _importlib.import_module(f"{__name__}.parallel")
        return parallel if name == "parallel" else parallel.DataParallel
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)


def __dir__():
    return _importlib.import_module("numtorch.alias").listing(__name__, "parallel", "DataParallel")
