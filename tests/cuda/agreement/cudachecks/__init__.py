"""What is particular to CUDA: bodies that test_cuda.py runs in the simulator, or on a GPU, alone."""
from . import devices, graphs, launches, numerics  # noqa: F401
from .table import CHECKS  # noqa: F401
