"""A batch shared out among worker processes or devices.

scattering    batches in pieces, and pieces joined
replicas      copies of a module, and modules applied side by side in this process
stages        the stages of a step as modules
workers       the processes that hold a module, and what goes to and fro
dataparallel  DataParallel
"""
from .dataparallel import DataParallel, data_parallel
from .replicas import parallel_apply, replicate
from .scattering import gather, scatter, scatter_kwargs
from .stages import Gather, Join, ParallelApply, Replicate, Scatter, Split

__all__ = ["DataParallel", "Gather", "Join", "ParallelApply", "Replicate", "Scatter", "Split", "data_parallel", "gather",
           "parallel_apply", "replicate", "scatter", "scatter_kwargs"]


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    from ...alias import attribute
    return attribute(__name__, name)
