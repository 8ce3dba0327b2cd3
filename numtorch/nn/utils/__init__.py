"""Helpers around layers: gradient clipping, parameters as one vector (parameters.py), sequences of different lengths (rnn.py)."""
from . import parametrizations, parametrize, rnn
from .parameters import (
                         clip_grad_norm_,
                         clip_grad_value_,
                         clip_grads_with_norm_,
                         get_total_norm,
                         parameters_to_vector,
                         vector_to_parameters,
)

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector",
           "parametrizations", "parametrize", "rnn",
           "vector_to_parameters"]
