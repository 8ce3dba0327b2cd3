"""Python's `multiprocessing` with tensors that travel by handle ([multiprocessing.md](../../docs/multiprocessing.md)).

context     what `get_context` gives
process     processes, and how they get what they are given
queues      queues
pipes       pipes, and their connections
locks       locks, semaphores, events, conditions, barriers
sharedctypes  values and arrays of C types
managers    processes with objects that others use by proxies
pool        workers that functions are mapped over
spawning    a function in so many processes, and how it failed
errors      how a worker's end is told
transfer    how values are pickled: tensors as handles, functions by value where they must be
"""
import importlib as _importlib
from multiprocessing import (
    AuthenticationError,
    BufferTooShort,
    ProcessError,
    TimeoutError,
    active_children,
    cpu_count,
    current_process,
    freeze_support,
    parent_process,
)

from .context import default as _default
from .errors import ProcessException, ProcessExitedException, ProcessRaisedException
from .spawning import ProcessContext, SpawnContext, spawn, start_processes
from .transfer import get_array_sharing, set_array_sharing

__all__ = ["Array", "AuthenticationError", "Barrier", "BoundedSemaphore", "BufferTooShort", "Condition", "Event", "JoinableQueue",
           "Lock", "Manager", "Pipe", "Pool", "Process", "ProcessContext", "ProcessError", "ProcessException",
           "ProcessExitedException", "ProcessRaisedException", "Queue", "RLock", "RawArray", "RawValue", "Semaphore",
           "SimpleQueue", "SpawnContext", "TimeoutError", "Value", "active_children", "allow_connection_pickling", "cpu_count",
           "current_process", "freeze_support", "get_all_sharing_strategies", "get_all_start_methods",
           "get_array_sharing", "get_context", "get_logger",
           "get_sharing_strategy", "get_start_method", "log_to_stderr", "parent_process", "reducer", "set_array_sharing",
           "set_executable", "set_forkserver_preload", "set_sharing_strategy", "set_start_method", "spawn", "start_processes"]


def get_all_sharing_strategies():
    """The ways in which memory is shared: one."""
    return {"anonymous"}


def get_sharing_strategy():
    """The way in which memory is shared: anonymous memory, which has neither the names nor the descriptors of PyTorch's two."""
    return "anonymous"


def set_sharing_strategy(new_strategy):
    """Nothing: PyTorch's strategies are accepted, and there is one way.

    Args:
        new_strategy: "anonymous", or PyTorch's "file_descriptor" or "file_system".

    Raises:
        ValueError: another word.
    """
    if new_strategy not in ("anonymous", "file_descriptor", "file_system"):
        raise ValueError(f"set_sharing_strategy: expected a strategy of {sorted(get_all_sharing_strategies())}, got "
                         f"{new_strategy!r}")


def __getattr__(name):
    """What belongs to a context, of the chosen one."""
    if name in __all__:
        return getattr(_default, name)
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)


def __dir__():
    return sorted({*globals(), *__all__})
