"""Torch7's way of training, as PyTorch carried it in its first years: `legacy.nn` and `legacy.optim`.

nn          modules that are told to go forward and backward, and criterions, with buffers of their own
optim       optimisers as functions of a function and a point

A module here computes with numtorch's ops and takes its gradients from their tape (nn/record.py), but outside of a module nothing
is recorded: what goes in and comes out are plain tensors.
"""
from . import nn, optim

__all__ = ["nn", "optim"]
