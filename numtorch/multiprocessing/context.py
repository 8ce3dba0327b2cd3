"""Contexts: what `get_context("spawn")` gives, and what the functions of `numtorch.multiprocessing` belong to."""
from __future__ import annotations

import multiprocessing.context as contexts
import os

from ..ops.core.late import provide
from . import locks, pipes, pool, queues, sharedctypes
from .process import ForkProcess, ForkServerProcess, SpawnProcess


class _Sharing(contexts.BaseContext):
    """Our queues, locks and values in place of Python's."""

    def Lock(self):
        """A lock that one process or thread has at a time."""
        return locks.Lock()

    def RLock(self):
        """A lock that whoever has it may take again."""
        return locks.RLock()

    def Semaphore(self, value=1):
        """So many permits."""
        return locks.Semaphore(value)

    def BoundedSemaphore(self, value=1):
        """So many permits, and never more."""
        return locks.BoundedSemaphore(value)

    def Condition(self, lock=None):
        """A lock, and a place to wait for changes."""
        return locks.Condition(lock)

    def Event(self):
        """A flag to wait for."""
        return locks.Event()

    def Pipe(self, duplex=True):
        """Two connections: what is sent into one comes out of the other."""
        return pipes.Pipe(duplex)

    def Manager(self):
        """A process that has lists, dicts and so on, which others use by proxies."""
        from .managers import Manager
        manager = Manager(ctx=self.get_context())
        manager.start()
        return manager

    def Pool(self, processes=None, initializer=None, initargs=(), maxtasksperchild=None):
        """Worker processes that functions are mapped over."""
        return pool.Pool(processes, initializer, initargs, maxtasksperchild, self.get_context())

    def Barrier(self, parties, action=None, timeout=None):
        """A place where so many processes wait for one another."""
        return locks.Barrier(parties, action, timeout, ctx=self.get_context())

    def Queue(self, maxsize=0):
        """A queue of at most `maxsize` values; of any number when 0."""
        return queues.Queue(maxsize, ctx=self.get_context())

    def JoinableQueue(self, maxsize=0):
        """A queue with `task_done` and `join`."""
        return queues.JoinableQueue(maxsize, ctx=self.get_context())

    def SimpleQueue(self):
        """A queue with `put`, `get` and `empty`."""
        return queues.SimpleQueue(ctx=self.get_context())

    def RawValue(self, typecode_or_type, *args):
        """A C type's object that processes share."""
        return sharedctypes.RawValue(typecode_or_type, *args)

    def RawArray(self, typecode_or_type, size_or_initializer):
        """An array of a C type that processes share."""
        return sharedctypes.RawArray(typecode_or_type, size_or_initializer)

    def Value(self, typecode_or_type, *args, lock=True):
        """A C type's object that processes share, with a lock."""
        return sharedctypes.locked(self.RawValue(typecode_or_type, *args), lock, self.get_context())

    def Array(self, typecode_or_type, size_or_initializer, *, lock=True):
        """An array of a C type that processes share, with a lock."""
        return sharedctypes.locked(self.RawArray(typecode_or_type, size_or_initializer), lock, self.get_context())


class ForkContext(_Sharing, contexts.ForkContext):
    """Processes that start as copies of this one."""

    Process = ForkProcess


class SpawnContext(_Sharing, contexts.SpawnContext):
    """Processes that start as new interpreters."""

    Process = SpawnProcess


class ForkServerContext(_Sharing, contexts.ForkServerContext):
    """Processes that a server without threads forks."""

    Process = ForkServerProcess


_contexts = {each._name: each for each in (ForkContext(), SpawnContext(), ForkServerContext())}


class DefaultContext(_Sharing):
    """The context of the method that `set_start_method` chose, or of Python's default."""

    _method: str | None = None

    def get_context(self, method=None):
        """The context of a start method: "fork", "spawn", "forkserver"; of the chosen one when None."""
        method = method or self._method or _python_default()
        context = _contexts.get(method)
        if context is None:
            raise ValueError(f"cannot find context for {method!r}")
        context._check_available()
        return context

    def set_start_method(self, method, force=False):
        """Choose how processes start when nothing else is said.

        Raises:
            RuntimeError: it was chosen before, and not `force`.
        """
        if self._method is not None and not force:
            raise RuntimeError("context has already been set")
        self._method = None if method is None else self.get_context(method)._name

    def get_start_method(self, allow_none=False):
        """How processes start when nothing else is said."""
        return self._method or (None if allow_none else _python_default())

    def get_all_start_methods(self):
        """The start methods that there are here, the default first."""
        methods = ["fork", "spawn", "forkserver"] if os.name == "posix" else ["spawn"]
        return sorted(methods, key=lambda m: m != _python_default())

    @property
    def Process(self):
        """The class of this context's processes."""
        return self.get_context().Process


def _python_default():
    """What Python's own multiprocessing would do; its forkserver does not preload anything of ours."""
    return contexts._default_context.get_start_method()


default = DefaultContext()


@provide
def default_context():
    """The context of the method that was chosen."""
    return default.get_context()
