"""The tape: recording, backward, custom functions and gradient checks."""
import importlib as _importlib

from . import functional, graph, graphtools
from .api import Variable, backward, grad
from .function import Function, FunctionCtx, once_differentiable
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .modes import (detect_anomaly, enable_grad, inference_mode, is_anomaly_enabled, is_grad_enabled, is_inference_mode_enabled,
                    no_grad, saved_tensors_hooks, set_detect_anomaly, set_grad_enabled, set_multithreading_enabled)

__all__ = ["Function", "FunctionCtx", "GradcheckError", "Variable", "backward", "detect_anomaly", "enable_grad", "functional",
           "grad", "gradcheck", "gradgradcheck", "graph", "graphtools", "inference_mode", "is_anomaly_enabled", "is_grad_enabled",
           "is_inference_mode_enabled", "no_grad", "once_differentiable", "saved_tensors_hooks", "set_detect_anomaly",
           "set_grad_enabled", "set_multithreading_enabled"]


def __getattr__(name):
    """PyTorch's modules that are elsewhere here, and why others are not (alias)."""
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)


def __dir__():
    return _importlib.import_module("numtorch.alias").listing(__name__)
