"""A batch shared out among worker processes.

scattering    batches in pieces, and pieces joined
replicas      copies of a module, and modules applied side by side in this process
workers       the processes that hold a module, and what goes to and fro
dataparallel  DataParallel
"""
from .dataparallel import DataParallel, data_parallel
from .replicas import parallel_apply, replicate
from .scattering import gather, scatter, scatter_kwargs

__all__ = ["DataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter", "scatter_kwargs"]
