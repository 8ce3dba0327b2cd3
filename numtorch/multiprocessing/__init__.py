"""Python's `multiprocessing` with tensors that travel by handle ([multiprocessing.md](../../docs/multiprocessing.md)).

context     what `get_context` gives
process     processes, and how they get what they are given
queues      queues
locks       locks, semaphores, events, conditions, barriers
pool        workers that functions are mapped over
spawning    a function in so many processes, and how it failed
errors      how a worker's end is told
transfer    how values are pickled: tensors as handles, functions by value where they must be
"""
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

__all__ = ["Array", "AuthenticationError", "Barrier", "BoundedSemaphore", "BufferTooShort", "Condition", "Event", "JoinableQueue",
           "Lock", "Manager", "Pipe", "Pool", "Process", "ProcessError", "Queue", "RLock", "RawArray", "RawValue", "Semaphore",
           "SimpleQueue", "TimeoutError", "Value", "active_children", "allow_connection_pickling", "cpu_count", "current_process",
           "freeze_support", "get_all_start_methods", "get_context", "get_logger", "get_start_method", "log_to_stderr",
           "parent_process", "set_executable", "set_forkserver_preload", "set_start_method"]


def __getattr__(name):
    """What belongs to a context, of the chosen one."""
    if name in __all__:
        return getattr(_default, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
