"""Locks that a forked child must not inherit held by a thread that it does not have."""
from __future__ import annotations

import os


def survive_fork(lock):
    """Have a lock made anew in forked children. Returns the lock.

    It is not taken around the fork instead: under the compiler's lock Numba is imported, which takes `logging`'s lock, which
    is itself taken around forks, and the two would wait for each other.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lock._at_fork_reinit)
    return lock
