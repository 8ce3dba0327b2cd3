"""Names that PyTorch has for itself, or once had for the sake of Python 2, for programs that import them."""
import collections.abc as container_abcs
import contextlib
import enum
import importlib
import re
from collections.abc import Iterable
from math import inf, nan
from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035

__all__ = ["Any", "BroadcastingList", "DEFAULT_SPARSE_BLOCK_SIZE", "Dict", "DispatchKey", "DispatchKeySet", "List", "Optional",
           "PY37", "ParamsT", "TransformGetItemToIndex", "Tuple", "Union", "_addindent",
           "_log_api_usage_once", "container_abcs", "default_collate_err_msg_format", "inf", "int_classes",
           "is_compile_supported", "load_library", "nan", "np_str_obj_array_pattern", "parse_args", "string_classes",
           "unchanged", "unmarked"]

PY37 = True
string_classes = (str, bytes)
int_classes = int
np_str_obj_array_pattern = re.compile(r"[SaUO]")         # the kinds of NumPy's dtypes that no tensor has
default_collate_err_msg_format = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
BroadcastingList = List                                  # noqa: UP006
ParamsT = Iterable[Any]                                  # what optimisers take
DEFAULT_SPARSE_BLOCK_SIZE = 128                          # of masks of flex_attention, in rows and columns
TransformGetItemToIndex = contextlib.nullcontext         # vmap knows x[i] without being told


class DispatchKey(enum.Enum):
    """PyTorch's names of what a call goes through, which calls here do not."""

    AutocastCPU, AutocastCUDA, AutocastXPU, Autograd, AutogradCPU, AutogradCUDA, CPU, CUDA, Meta = range(9)


class DispatchKeySet:
    """Some of these names."""

    def __init__(self, *keys) -> None:
        self.keys = frozenset(keys)

    def __or__(self, other):
        return DispatchKeySet(*self.keys, *other.keys)


def _addindent(s_: str, numSpaces: int) -> str:
    """A text whose lines behind the first are moved to the right."""
    return s_.replace("\n", "\n" + " " * numSpaces)


def unchanged(function):
    """What a decorator gives whose mark nothing here asks for: of what stays the same."""
    return function


def unmarked(*args, **kwargs) -> None:
    """What is said to a part of PyTorch that is not here: which sizes change, how an op is written to a file of another
    kind, or what fuses scripts."""


def without_fuser(name) -> contextlib.nullcontext:
    """A block in which PyTorch's scripts are fused by one part of it or another; which kernels run here is not asked."""
    return contextlib.nullcontext()


def onednn_fusion_enabled() -> bool:
    """Whether oneDNN runs what is fused."""
    return False


def is_compile_supported(device_type) -> bool:
    """Whether functions on a kind of device can be compiled."""
    return str(device_type) in ("cpu", "cuda")


def parse_args(*kinds):
    """A decorator of functions that write an op to ONNX files; none are written."""
    return unchanged


def load_library(path):
    """Refuse a library that was written in C++ over PyTorch's own."""
    raise OSError(f"torch.ops.load_library: {path} was made for PyTorch's C++, which is not underneath")


Error = Exception                                        # of torch.jit: scripts raise what Python would


def _log_api_usage_once(name: str) -> None:
    """Nothing is logged."""


def __getattr__(name):
    if name != "tqdm":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return importlib.import_module("tqdm").tqdm          # as PyTorch has it: the package's, where that is installed
