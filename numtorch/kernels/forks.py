"""Locks and forks: what a forked child must not inherit held by a thread that it does not have."""
from __future__ import annotations

import os
import weakref

_surviving: weakref.WeakSet = weakref.WeakSet()


def survive_fork(lock):
    """Have a lock made anew in forked children, for what is never left half done while it is held. Returns the lock."""
    _surviving.add(lock)
    return lock


def _make_anew():
    for lock in tuple(_surviving):
        lock._at_fork_reinit()


def delay_forks(acquire, release):
    """Have forks wait in `acquire()` for what a child could not go on with, such as half a compilation; both then `release()`.

    Such hooks run from the last one registered to the first. A lock that a thread takes while it has what `acquire` waits for must
    therefore have been registered before, or that thread and a fork wait for each other.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=acquire, after_in_parent=release, after_in_child=release)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_make_anew)       # the first hook there is: all others find the locks free
