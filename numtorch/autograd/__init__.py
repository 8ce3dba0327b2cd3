"""The tape: recording, backward, custom functions and gradient checks. In import order:

modes       whether to record, one set of switches per thread
hooks       tables of hooks, and their handles
nodenames   what nodes are called
graph       what the tape records: leaves, nodes, what nodes save
writes      what is noted of writes in place
ownership   whether a gradient may be kept or added to in place
engine      backward
graphtools  what `torch.autograd.graph` has for users
api         `backward`, `grad`, and the gradient side of Tensor
variable    `Variable`, a tensor's name before PyTorch 0.4
function    operations whose gradient the user writes
functional  Jacobians, Hessians, products with vectors
gradcheck   gradients against finite differences
"""
import importlib as _importlib

from . import functional, graph, graphtools
from .api import backward, grad
from .function import Function, FunctionCtx, once_differentiable
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .modes import (detect_anomaly, enable_grad, inference_mode, is_anomaly_enabled, is_grad_enabled, is_inference_mode_enabled,
                    no_grad, saved_tensors_hooks, set_detect_anomaly, set_grad_enabled, set_multithreading_enabled)
from .variable import Variable

__all__ = ["Function", "FunctionCtx", "GradcheckError", "Variable", "backward", "detect_anomaly", "enable_grad", "functional",
           "grad", "gradcheck", "gradgradcheck", "graph", "graphtools", "inference_mode", "is_anomaly_enabled", "is_grad_enabled",
           "is_inference_mode_enabled", "no_grad", "once_differentiable", "saved_tensors_hooks", "set_detect_anomaly",
           "set_grad_enabled", "set_multithreading_enabled"]


def __getattr__(name):
    """PyTorch's modules that are elsewhere here, and why others are not (alias)."""
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)


def __dir__():
    return _importlib.import_module("numtorch.alias").listing(__name__)
