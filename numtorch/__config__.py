"""`torch.__config__`: what computes, in words."""
from __future__ import annotations

from importlib.metadata import version

from . import __version__, get_num_threads

__all__ = ["parallel_info", "show"]


def show() -> str:
    """What this numtorch is made of.

    Example:
        >>> import numtorch as torch
        >>> print(torch.__config__.show().splitlines()[0])
        numtorch built with:
    """
    own = __version__.rpartition("numtorch.")[2]         # behind PyTorch's where `import torch` leads here
    return "\n".join(["numtorch built with:", f"  - numtorch {own}", *(f"  - {name} {version(name)}" for name in
                      ("numba", "llvmlite", "numpy")), ""])


def parallel_info() -> str:
    """How many threads compute.

    Example:
        >>> import numtorch as torch
        >>> "numtorch.get_num_threads() : " in torch.__config__.parallel_info()
        True
    """
    return f"numtorch/Parallel:\n\tnumtorch.get_num_threads() : {get_num_threads()}\n\tthreads : numtorch's own pool\n"
