"""Processes whose targets and arguments travel by our pickler, and which belong to the family."""
from __future__ import annotations

import collections
import functools
import importlib._bootstrap as imports  # type: ignore[import-not-found]
import multiprocessing.context as contexts
import os
import pickle
import threading
import time
import types
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess, parent_process
from multiprocessing.reduction import DupFd

from ..kernels.threads import set_num_threads
from ..shared import heap as heaps
from ..shared.channel import Channel, Letter
from ..shared.storages import base_of, share
from ..tensor import Tensor
from .transfer import get_array_sharing, name_typed_classes, set_array_sharing, write


def _launched(fd, number):
    """The process that is described by the one letter in a channel. Runs in the new process."""
    descriptor = fd.detach()
    heaps.join(descriptor)
    home = heaps.heap()
    channel = Channel.__new__(Channel)
    channel.heap, channel.record, channel.bell, channel.room = home, number * 8, None, None
    letter = Letter(home)
    if not home.critical(channel._pop, letter):
        raise RuntimeError("a process was started without its description")
    kind, state, least = pickle.loads(letter.bytes)
    set_array_sharing(least)
    self = kind.__new__(kind)
    self.__dict__.update(state)
    return self


class _Sent(BaseProcess):
    """What all our processes are, however they are started."""

    def _bootstrap(self, parent_sentinel=None):
        """Run in the new process. Its kernels have one thread unless it says how many, or the environment did when it started: as
        many workers as processors are what fills those."""
        if self._start_method == "fork" or not (os.environ.get("NUMTORCH_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS")):
            set_num_threads(1)
        try:
            return super()._bootstrap(parent_sentinel)
        finally:
            heaps.finish()

    def join(self, timeout=None):
        """Wait for the end, and until it is known here how that was: another thread that starts a process asks the system for the
        ends of all, and may have been told of this one without having written it down."""
        super().join(timeout)
        last = time.monotonic() + 1                      # what reaped it else, a program by `os.wait`, tells nobody
        while timeout is None and self.exitcode is None and time.monotonic() < last:
            time.sleep(0.001)
            super().join()

    def __reduce__(self):
        if contexts.get_spawning_popen() is None:
            raise RuntimeError("process objects should only be pickled while they are started")
        state = {k: v for k, v in self.__dict__.items() if k not in ("_launch", "_popen")}
        self._launch = channel = Channel()
        letter, kept = write(channel, (type(self), state, get_array_sharing()))
        channel.send(letter)
        del kept
        return _launched, (DupFd(channel.heap.fd), channel.hold.number)


class SpawnProcess(_Sent, contexts.SpawnProcess):
    """A process that starts as a new interpreter."""


class ForkServerProcess(_Sent, contexts.ForkServerProcess):
    """A process forked from a server that has nothing but Python in it."""


class ForkProcess(_Sent, contexts.ForkProcess):
    """A process that starts as a copy of this one.

    Attributes:
        shares_arguments: whether what it is given moves to shared memory.
    """

    shares_arguments = True

    def start(self):
        """Start it. What it is given moves to shared memory, as if it were sent."""
        heaps.heap()                                     # the child belongs to this process's family
        if self.shares_arguments:
            share({id(base): base for base in _storages_in([self._target, self._args, self._kwargs])}.values())
        name_typed_classes()
        super().start()


def _storages_in(values):
    """The storages of tensors in containers, closures and objects, at any depth."""
    pending, seen = list(values), set()
    while pending:
        value = pending.pop()
        if id(value) in seen or isinstance(value, (str, bytes, int, float, complex, type, types.ModuleType, type(None))):
            continue
        seen.add(id(value))
        if isinstance(value, Tensor):
            yield base_of(value.memory)
            pending.append(value.grad if value.is_leaf else None)
        elif isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, (list, tuple, set, frozenset, collections.deque)):
            pending += value
        elif isinstance(value, types.FunctionType):
            pending += [cell.cell_contents for cell in value.__closure__ or () if _filled(cell)]
            pending += [value.__defaults__, value.__kwdefaults__]
        elif isinstance(value, types.MethodType):
            pending += [value.__self__, value.__func__]
        elif isinstance(value, functools.partial):
            pending += [value.func, value.args, value.keywords]
        else:
            pending.append(getattr(value, "__dict__", None))


def _filled(cell):
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


_PATIENCE = 5.0                                          # seconds: what is imported may itself wait for the child


def _await_imports():
    """Before a fork, wait until no other thread is in the middle of an import, for a few seconds at most: a child has that thread's
    lock on the module, and would wait for it for ever where it imports the same."""
    last = time.monotonic() + _PATIENCE
    while _another_imports() and time.monotonic() < last:
        time.sleep(0.001)


def _another_imports():
    locks = [ref() for ref in tuple(getattr(imports, "_module_locks", {}).values())]
    return any(getattr(lock, "owner", None) not in (None, threading.get_ident()) for lock in locks)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_await_imports)


def end_with_parent() -> None:
    """Have this process end when its parent does, in whatever way: a worker is nobody's then."""
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True, name="numtorch parent").start()
