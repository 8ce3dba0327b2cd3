"""A pool of worker threads whose loop is a kernel: what `threads.py` hands the parts of a call to.

There is one job at a time. Its parts are claimed one by one, by the workers and by the thread that launched it, through one
64-bit word, the *ticket*: job number, end and start of the parts left. Claiming is a compare-and-exchange of that word, so a worker
that comes late finds it changed and cannot take a part of the wrong job; and a launcher never waits for a worker that has
not begun, only for parts already being worked on. The launcher takes the first part, workers the last: what a part touched is
then in the cache of the thread that gets it next time.

A worker that finds nothing to do looks again for 200 µs, because the next call of a model mostly follows within that, and a
128 x 128 product takes twice as long where its worker must be woken. It does not offer its processor to others meanwhile: beside a
thread of NumPy's BLAS, which looks for work and does, it would not be let run again for long, and 1000 x 1000 x 16 takes twice as
long. Then it sleeps in `read` until a launcher writes. What it reads is Linux's eventfd, or a pipe: a write to a pipe tells the
scheduler that the writer is about to sleep, and it puts the worker on the launcher's processor, where the two take turns for as
long as they run (512 x 512 products take twice the time).

Why not TBB or OpenMP (whose parallel-for Numba's extension modules offer): TBB's workers fall asleep at once, and waking them is
0.4 of a 128 x 128 product; OpenMP's wait for one another at the end of every loop, so that in two processes of two threads each on
two cores a 256 x 256 product takes forty times as long.

The state is an array of 64-bit words that kernels and workers share, each hot word on a cache line of its own.
"""
from __future__ import annotations

import atexit
import ctypes
import os
import sys
import time

import numpy as np

from . import compiler
from .intrinsics import (
    address_of,
    as_pointer,
    atomic_add,
    atomic_load,
    atomic_store,
    call_c,
    call_native,
    compare_exchange,
    local_like,
    offset,
    pause,
)

RUNNING, READ, WRITE, YIELD, READ_END, WRITE_END, SPINS, EVENT = range(8)     # written at the start only
TICKET, JOB, DONE, LOCK, SLEEPERS = 16, 24, 32, 40, 48
GET_PROCESSOR, SET_AFFINITY, MASKS, PROCESSORS = 8, 9, 10, 11          # 0 where the system has no such functions
LAUNCHER = 56                                            # the processor of the thread that launched last
WORDS = 64
MASK_BYTES = 128                                         # of a set of processors
MAX_PARTS = (1 << 16) - 1
SPIN_SECONDS = 50e-6
LOOKS = 4                                                # times as often a worker looks before it sleeps


def run_part(call, part):
    """Run one part: the record's native kernel on the call's words plus this part's offsets."""
    record = as_pointer(call[0], call)
    count = record[1]
    words = local_like(call, 24)
    for i in range(count):
        words[i] = call[1 + i] + record[6 + part * count + i]
    call_native(record[0], words, count)


def run_claimed(state, worker):
    """Claim parts of the job and run them until none is left. Returns how many that were."""
    ticket = offset(state, TICKET)
    ran = 0
    while True:
        claim = atomic_load(ticket)
        start, end = claim & 0xffff, (claim >> 16) & 0xffff
        if start >= end:
            return ran
        call = as_pointer(atomic_load(offset(state, JOB)), state)
        # where this fails, another took a part, or `call` may be of a later job
        if compare_exchange(ticket, claim, claim - 0x10000 if worker else claim + 1):
            run_part(call, end - 1 if worker else start)
            atomic_add(offset(state, DONE), 1)
            ran += 1


def has_parts(state):
    claim = atomic_load(offset(state, TICKET))
    return claim & 0xffff < (claim >> 16) & 0xffff


def sleep(state):
    """Wait for a word to read. The ticket is looked at once more after the worker has said that it sleeps: a launcher writes
    the ticket first and then asks who sleeps, so one of the two sees the other."""
    sleepers = offset(state, SLEEPERS)
    atomic_add(sleepers, 1)
    if has_parts(state):
        asleep = atomic_load(sleepers)
        while asleep > 0:
            if compare_exchange(sleepers, asleep, asleep - 1):
                return
            asleep = atomic_load(sleepers)               # 0: a launcher has counted this worker, and a word is on its way
    word = local_like(state, 1)
    call_c(state[READ], state[READ_END], address_of(word), 8)


def move_away(state):
    """Leave the launcher's processor, where a wake-up may have put this worker: two that share one stay there for long."""
    if state[PROCESSORS] == 0:
        return
    here = call_c(state[GET_PROCESSOR], 0, 0, 0) & 0xffffffff
    if here == atomic_load(offset(state, LAUNCHER)) and here < state[PROCESSORS]:
        call_c(state[SET_AFFINITY], 0, MASK_BYTES, state[MASKS] + (1 + here) * MASK_BYTES)
        call_c(state[SET_AFFINITY], 0, MASK_BYTES, state[MASKS])


def work(state):
    """What a worker does until the pool is closed."""
    spins = 0
    while atomic_load(offset(state, RUNNING)) != 0:
        if run_claimed(state, True) > 0:
            spins = 0
        elif spins < LOOKS * state[SPINS]:
            spins += 1
            pause()
        else:
            sleep(state)
            move_away(state)
            spins = 0


def wake(state, wanted):
    """Wake up to `wanted` workers that sleep."""
    sleepers = offset(state, SLEEPERS)
    asleep = atomic_load(sleepers)
    if asleep > 0 and state[PROCESSORS] != 0:
        atomic_store(offset(state, LAUNCHER), call_c(state[GET_PROCESSOR], 0, 0, 0) & 0xffffffff)
    while asleep > 0:
        woken = min(asleep, wanted)
        if compare_exchange(sleepers, asleep, asleep - woken):
            word = local_like(state, 1)
            word[0] = woken if state[EVENT] else 1
            for _ in range(1 if state[EVENT] else woken):
                call_c(state[WRITE], state[WRITE_END], address_of(word), 8)
            return
        asleep = atomic_load(sleepers)


def launch(state, call, parts):
    """Run all parts of a call, with the workers' help unless the pool is closed or busy with another thread's job."""
    lock = offset(state, LOCK)
    if atomic_load(offset(state, RUNNING)) == 0 or not compare_exchange(lock, 0, 1):
        for part in range(parts):
            run_part(call, part)
        return
    ticket, done = offset(state, TICKET), offset(state, DONE)
    atomic_store(offset(state, JOB), address_of(call))
    atomic_store(done, 0)
    atomic_store(ticket, ((atomic_load(ticket) >> 32) + 1 << 32) + (parts << 16))
    wake(state, parts - 1)
    run_claimed(state, False)
    spins = 0
    while atomic_load(done) < parts:
        spins += 1
        if spins < state[SPINS]:
            pause()
        else:                                            # the core may be needed to finish what is waited for
            call_c(state[YIELD], 0, 0, 0)
    atomic_store(lock, 0)


def spin(times, ignored):
    """As long as a launcher waits before it yields: timed once, since a pause takes 40 to 140 cycles by processor."""
    for _ in range(times[0]):
        if atomic_load(ignored) == 0:
            pause()


class Pool:
    """The workers of this process. `state` is what kernels see; `state[RUNNING]` is 0 where parts run one after another."""

    def __init__(self):
        self.state = np.zeros(WORDS + 8, np.int64)
        self.state = self.state[-(self.state.ctypes.data // 8) % 8:][:WORDS]      # at a cache line's start
        self.address = self.state.ctypes.data
        self.threads: list = []
        self.allowed = not compiler.DISABLE_JIT and sys.platform != "win32"
        self.forbidden = False                           # in a forked child that has not asked

    def start(self, workers):
        """Start so many workers, once. They are threads of the C library, which never run Python."""
        if self.threads or workers < 1 or not self.allowed or self.forbidden:
            return
        library = ctypes.CDLL(None)
        loop = compiler.compile_kernel(work, ("int64*",))
        state = self.state
        state[[READ, WRITE, YIELD]] = [ctypes.cast(f, ctypes.c_void_p).value
                                       for f in (library.read, library.write, library.sched_yield)]
        if hasattr(os, "eventfd"):                       # each read takes 1 from its count
            state[[READ_END, WRITE_END]] = os.eventfd(0, os.EFD_SEMAPHORE | os.EFD_CLOEXEC)
            state[EVENT] = 1
        else:
            state[[READ_END, WRITE_END]] = os.pipe()
        state[SPINS] = _spins_for(SPIN_SECONDS)
        self._note_processors(library)
        state[RUNNING] = 1
        for _ in range(workers):
            thread = ctypes.c_void_p()
            if library.pthread_create(ctypes.byref(thread), None, ctypes.c_void_p(loop.address), ctypes.c_void_p(self.address)):
                break                                    # no more threads to be had: fewer will do
            self.threads.append(thread)
        if self.threads:
            atexit.register(self.close)
        else:
            state[RUNNING] = 0

    def _note_processors(self, library):
        """The sets of all processors, and of all but each one, for `move_away`."""
        allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
        if not 1 < len(allowed) <= max(allowed, default=0) + 1 <= 8 * MASK_BYTES or not hasattr(library, "sched_getcpu"):
            return
        count = max(allowed) + 1
        self.masks = np.zeros((1 + count, MASK_BYTES), np.uint8)
        for left_out in range(-1, count):
            for processor in allowed - {left_out}:
                self.masks[1 + left_out, processor // 8] |= 1 << processor % 8
        self.state[[GET_PROCESSOR, SET_AFFINITY]] = [ctypes.cast(f, ctypes.c_void_p).value
                                                     for f in (library.sched_getcpu, library.sched_setaffinity)]
        self.state[[MASKS, PROCESSORS]] = self.masks.ctypes.data, count

    def close(self):
        """End the workers: their code must not be unloaded under them."""
        self.allowed = False
        if self.state[RUNNING]:
            self.state[RUNNING] = 0
            end, count = int(self.state[WRITE_END]), len(self.threads)
            if self.state[EVENT]:
                os.eventfd_write(end, count)
            else:
                os.write(end, bytes(8 * count))
            library = ctypes.CDLL(None)
            for thread in self.threads:
                library.pthread_join(thread, None)

    def forget(self):
        """In a forked child there are no workers, and none are started unless it asks (`permit`): parts run one after another. A
        launch that another thread was in the middle of is none of its own."""
        self.state[:] = 0
        self.threads.clear()
        self.forbidden = True

    def permit(self):
        """Let workers be started in a forked child."""
        self.forbidden = False


def _spins_for(seconds):
    kernel = compiler.compile_kernel(spin, ("int64*", "int64*"))
    times, zero = np.array([2000], np.int64), np.zeros(1, np.int64)
    best = min(_timed(kernel, times, zero) for _ in range(3))
    return max(100, int(seconds / best * times[0]))


def _timed(kernel, times, zero):
    start = time.perf_counter()
    kernel.call(times.ctypes.data, zero.ctypes.data)
    return max(time.perf_counter() - start, 1e-9)
