"""Locks that a forked child does not inherit held by a thread that it does not have."""
from __future__ import annotations

import os


def survive_fork(lock):
    """Have a lock taken around every fork, so that it is free on both sides. Returns the lock.

    A lock that is taken while holding another must be registered before that one: forks take the last registered first.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock
