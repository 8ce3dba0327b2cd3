"""Locks and forks: children have them free, and nobody keeps those of objects that are gone."""
import os
import threading
import weakref

import pytest

from numtorch.kernels.forks import survive_fork

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.mark.filterwarnings("ignore:This process")       # of threads, from Python 3.12 on
@pytest.mark.parametrize("kind", [threading.Lock, threading.RLock])
def test_a_child_has_locks_free_that_others_held(kind):
    lock, held, done = survive_fork(kind()), threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait()
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if not child:
        os._exit(0 if lock.acquire(blocking=False) else 1)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("kind", [threading.Lock, threading.RLock])
def test_locks_of_what_is_gone_are_gone(kind):
    lock = weakref.ref(survive_fork(kind()))
    assert lock() is None
