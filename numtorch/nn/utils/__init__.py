"""Helpers around layers.

parameters        gradient clipping, parameters as one vector, modules whose parameters are not filled
rnn               sequences of different lengths
parametrize       parameters that are computed from others; parametrizations, norms of weights so, and normhooks by hooks
fusion            layers fused
"""
import importlib as _importlib

from . import parametrizations, parametrize, rnn
from .fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
from .normhooks import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm
from .parameters import (
                         clip_grad_norm,
                         clip_grad_norm_,
                         clip_grad_value_,
                         clip_grads_with_norm_,
                         get_total_norm,
                         parameters_to_vector,
                         skip_init,
                         vector_to_parameters,
)

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "fuse_conv_bn_eval",
           "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "get_total_norm", "parameters_to_vector",
           "parametrizations", "parametrize", "remove_spectral_norm", "remove_weight_norm", "rnn", "skip_init", "spectral_norm",
           "vector_to_parameters", "weight_norm"]


def __getattr__(name):
    """PyTorch's modules that are elsewhere here, and why others are not (alias)."""
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)


def __dir__():
    return _importlib.import_module("numtorch.alias").listing(__name__)
