"""Compiling ahead: while this process compiles what it needs now, forked ones compile what is sure to come.

Whoever knows of a call that will be made (`ops/core/ahead.py`, `nn/base/foreseen.py`, optimisers) gives `expect` a function
that makes it. A forked child has all that this process has, so it can simply make the call: first without memory, which names
its kernels, and then it compiles these one by one and leaves them in the store. It sees nobody and nobody sees it: it is in a
session of its own, has none of this process's files and terminals open, and ends when its work is done or this process ends.
Which process compiles a kernel is settled by the store (`store.compiling`): a child leaves out what another compiles, this
process waits for it.

There is a child for each processor, since this process often waits. What the first one is at, a second one begins from the other
end. A child says which kernels it has named, so that who waits on a terminal can be told how many are to come.

Only where kernels are being compiled at all, there are several processors, and no other thread of Python could hold a lock during
a fork: all others wait, as the thread does that watches tqdm's bars. `NUMTORCH_COMPILE_AHEAD=0` turns it off.
"""
from __future__ import annotations

import contextlib
import functools
import gc
import logging
import os
import select
import signal
import sys
import threading
import types
import warnings
import weakref
from collections import deque

from . import store
from .binding import DISABLE_JIT
from .forks import survive_fork
from .planning import kernels_named
from .progress import statistics

MOST = 4                                                 # children at a time
PATIENCE = 20.0                                          # seconds that this process waits for what another compiles

_expected: deque = deque(maxlen=256)                     # what makes a call, until a child takes it over
_children: dict = {}                                     # of each the pipe that it holds open, the one that it watches, its calls
_named_by_children: set = set()                          # the keys of kernels
_alive: int | None = None                                # in a child: the end of a pipe that closes with the process that forked it
_one_at_a_time = survive_fork(threading.Lock())          # looks at children and their pipes


def patience() -> float:
    """How long to wait for a kernel that another process compiles."""
    return 0.0 if _alive is not None else PATIENCE


def is_cold() -> bool:
    """Whether kernels are being compiled in this process, or will be since there are none, and children may help."""
    return (statistics.compiled > 0 or _nothing_is_stored()) and _most() > 0 and sys.getprofile() is None


@functools.cache
def _nothing_is_stored():
    return store.is_empty()


@functools.cache
def _most():
    """How many children there may be."""
    if DISABLE_JIT or not sys.platform.startswith("linux") or os.environ.get("NUMTORCH_COMPILE_AHEAD", "1") in ("", "0") \
            or store.directory() is None:
        return 0
    processors = len(os.sched_getaffinity(0))
    return min(processors, MOST) if processors > 1 else 0


def expect(call) -> None:
    """Have the kernels of a call that will be made compiled ahead, where `is_cold()`.

    Args:
        call: a function without arguments that makes the call, or plans it. It runs in a forked process. Of a method the object is
            not kept alive.
    """
    _expected.append(weakref.WeakMethod(call) if isinstance(call, types.MethodType) else call)
    start()


def start() -> None:
    """Give what is expected to a child, where one may be made."""
    if _alive is not None or not _one_at_a_time.acquire(blocking=False):
        return
    try:
        _hear()
        if not _expected or len(_children) >= _most() or not _others_wait() or _is_child():
            return
        calls = [*_expected]
        _expected.clear()
        for _, others in _children.values():
            calls[:0] = others
        with contextlib.suppress(OSError):               # no more processes or files: then nothing is compiled ahead
            _fork(calls)
    finally:
        _one_at_a_time.release()


def number_to_come(made) -> int:
    """How many kernels are sure to be needed, as far as is known.

    Args:
        made: the keys of those that there are.
    """
    if _alive is None and _one_at_a_time.acquire(blocking=False):
        try:
            _hear()
        finally:
            _one_at_a_time.release()
    return len(_named_by_children.difference(made))


def _hear():
    """Take from the children what they named, and leave those that have ended."""
    for end in select.select(_children, (), (), 0)[0] if _children else ():
        keys = os.read(end, 1 << 16)
        _named_by_children.update(keys.decode().split())
        if not keys:
            os.close(_children.pop(end)[0])
            os.close(end)


def _others_wait():
    """Whether each other thread of Python waits in `threading`: for an event, a condition, the end of a thread."""
    own = threading.get_ident()
    return all(thread == own or frame.f_code.co_filename == threading.__file__ for thread, frame in sys._current_frames().items())


def _is_child():
    """Whether this is a process of multiprocessing's: its parent looks after what it leaves behind."""
    multiprocessing = sys.modules.get("multiprocessing.process")
    return multiprocessing is not None and multiprocessing.parent_process() is not None


def _leave_children():
    """In a process that the program forked: the children are its parent's."""
    for living, (ours, _) in _children.items():
        os.close(living)
        os.close(ours)
    _children.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_children)


def _silent_fork():
    """`os.fork` without the warnings of Python and other libraries that threads are not forked: those of kernels are made anew."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return os.fork()


def _fork(calls):
    living, held = os.pipe()                             # the child holds `held`: when it ends, `living` reads as closed
    watched, ours = os.pipe()                            # and the other way round
    from_the_end = bool(_children)
    child = _silent_fork()
    if child:
        os.close(held)
        os.close(watched)
        os.waitpid(child, 0)
        _children[living] = ours, calls
        return
    try:
        if not _silent_fork():                           # a grandchild is nobody's to wait for
            _make(calls, held, watched, from_the_end)
    finally:
        os._exit(0)


def _make(calls, held, watched, from_the_end):
    global _alive
    _alive = watched
    os.setsid()
    gc.disable()
    logging.disable()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    low, high = sorted((held, watched))
    os.closerange(3, low)
    os.closerange(low + 1, high)
    os.closerange(high + 1, os.sysconf("SC_OPEN_MAX"))
    os.nice(10)
    named = _named(calls)
    os.set_blocking(held, False)
    with contextlib.suppress(OSError):                   # so many that the pipe is full
        os.write(held, "".join(f"{key}\n" for key in named).encode())
    kernels = [*named.values()]
    for kernel in reversed(kernels) if from_the_end else kernels:
        _end_with_parent()
        with contextlib.suppress(Exception):             # another compiles it, or it cannot be compiled
            kernel.make()


def _end_with_parent():
    if select.select((_alive,), (), (), 0)[0]:
        os._exit(0)


def _named(calls):
    """The kernels of calls by their keys, in their order, and of those that are expected when they are made."""
    results = []                                         # kept, since their backward is expected
    _expected.clear()
    with kernels_named() as kernels:
        while calls:
            for each in calls:
                _end_with_parent()
                call = each() if isinstance(each, weakref.WeakMethod) else each
                if call is not None:
                    with contextlib.suppress(Exception):  # whatever is wrong with a call, the process that makes it will say so
                        results.append(call())
            calls = [*_expected]
            _expected.clear()
    return kernels
