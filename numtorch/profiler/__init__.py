"""PyTorch's `torch.profiler`: what a program runs, and how long each part takes (docs/profiler.md).

profiler     `profile`, its schedule and its activities
recording    what is noted while a profile is on, and `record_function`
events       what is made of it: events, which contain others, and sums
flops        operations counted from shapes
table        sums as text
trace        files for viewers
legacy       `torch.autograd.profiler`
command      `python -m numtorch profile script.py`
"""
import importlib as _importlib

from .profiler import ProfilerAction, ProfilerActivity, profile, schedule, supported_activities
from .recording import record_function
from .trace import tensorboard_trace_handler

__all__ = ["ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule",
           "supported_activities", "tensorboard_trace_handler"]


def kineto_available() -> bool:
    """Whether PyTorch's C++ profiler is underneath: it is not, and what is recorded here needs none.

    Example:
        >>> import numtorch as torch
        >>> torch.profiler.kineto_available()
        False
    """
    return False


def __getattr__(name):
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)
