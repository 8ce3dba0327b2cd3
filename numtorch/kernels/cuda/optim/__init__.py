"""Optimiser steps on a GPU.

optim       a step over all parameters
total_norm  the norm of many tensors, and their scaling
"""
