"""Pool: workers that functions are mapped over, with the methods of Python's.

There is one thread that waits: for results, and for workers' ends. A worker writes down which task it has in the same step that
takes it from the queue, so a task whose worker is killed is known at once, and its result says so.
"""
from __future__ import annotations

import collections
import ctypes
import itertools
import os
import threading
from multiprocessing import TimeoutError
from multiprocessing.connection import wait

from ..ops.core.late import later
from ..shared.blocks import allocate, found_again
from ..shared.channel import Bell, key_of
from ..shared.heap import heap
from .errors import Raised, how_it_ended
from .process import end_with_parent
from .transfer import read, write


class _Note:
    """Which letter a worker has, in shared memory."""

    def __init__(self, block=None):
        self.block = block or allocate(64)
        self.words = (ctypes.c_int64 * 1).from_address(self.block.address)
        if block is None:
            self.clear()

    def clear(self):
        self.words[0] = 0

    def _reduce_shared(self, pickler):
        pickler.blocks.append(self.block)
        return _rebuild_note, self.block.handle()


def _rebuild_note(*handle):
    return _Note(found_again(heap(), *handle))


def _work(tasks, results, note, initializer, initargs, most):
    """What a worker does: (job, number, function, items, star) to (the letter's key, job, number, whether it is
    good, values or Raised)."""
    end_with_parent()
    if initializer is not None:
        initializer(*initargs)
    for done in itertools.count():
        if most is not None and done >= most:
            return
        letter = tasks._channel.receive(note=note.words)
        job = number = None
        good = True
        try:
            task = read(letter)
            if task is None:
                return
            job, number, function, items, star = task
            if star == "apply":
                answer = function(*items[0], **items[1])
            elif star:
                answer = [function(*item) for item in items]
            else:
                answer = [function(item) for item in items]
            task = items = None
        except Exception as error:
            good, answer = False, Raised(error)
        key = note.words[0]
        try:
            results.put((key, job, number, good, answer))
        except Exception as error:
            results.put((key, job, number, False, Raised(error)))
        note.clear()
        del answer, letter


class AsyncResult:
    """What a task will give."""

    def __init__(self, pool, callback=None, error_callback=None):
        self._pool, self._callback, self._error_callback = pool, callback, error_callback
        self._done, self._good, self._value = threading.Event(), False, None

    def ready(self):
        """Whether it is there."""
        return self._done.is_set()

    def successful(self):
        """Whether it came without an exception.

        Raises:
            ValueError: it is not there yet.
        """
        if not self.ready():
            raise ValueError(f"{self!r} not ready")
        return self._good

    def wait(self, timeout=None):
        """Wait for it, for so many seconds at most."""
        self._done.wait(timeout)

    def get(self, timeout=None):
        """The result; what the function raised is raised here, with the worker's traceback as its cause.

        Raises:
            TimeoutError: it did not come within so many seconds.
            ProcessExitedException: the worker was killed.
        """
        if not self._done.wait(timeout):
            raise TimeoutError
        if self._good:
            return self._value
        raise self._value

    def _finish(self, good, value):
        self._good, self._value = good, value
        callback = self._callback if good else self._error_callback
        if callback is not None:
            callback(value)
        self._done.set()


class _Job:
    """Tasks of one call: fed to the workers as they are dealt with, so that an endless iterable is no trouble."""

    def __init__(self, function, chunks, star, window):
        self.function, self.chunks, self.star, self.window = function, enumerate(chunks), star, window
        self.open = 0
        self.all_fed = False


class _Collected(_Job):
    """One result of all chunks."""

    def __init__(self, result, *rest, single=False):
        super().__init__(*rest)
        self.result, self.single, self.parts = result, single, {}

    def take(self, number, good, answer):
        if not good:
            if not self.result.ready():
                self.result._finish(False, answer)
            self.all_fed = True                          # nothing more need be tried
        else:
            self.parts[number] = answer

    def close(self):
        if not self.result.ready():
            values = self.parts[0] if self.single else [v for k in sorted(self.parts) for v in self.parts[k]]
            self.result._finish(True, values)


class IMapIterator(_Job):
    """Results one by one, in order or as they come."""

    def __init__(self, ordered, *rest):
        super().__init__(*rest)
        self.ordered, self.next_number = ordered, 0
        self.early: dict = {}
        self.ready_values: collections.deque = collections.deque()
        self.changed = threading.Condition()
        self.closed = False

    def __iter__(self):
        return self

    def next(self, timeout=None):
        """The next result.

        Raises:
            TimeoutError: it did not come within so many seconds.
        """
        with self.changed:
            if not self.changed.wait_for(lambda: self.ready_values or self.closed, timeout):
                raise TimeoutError
            if not self.ready_values:
                raise StopIteration
            value = self.ready_values.popleft()
        if isinstance(value, _Failed):
            raise value.error
        return value

    __next__ = next

    def take(self, number, good, answer):
        values = answer if good else [_Failed(answer)]
        with self.changed:
            if self.ordered:
                self.early[number] = values
                while self.next_number in self.early:
                    self.ready_values.extend(self.early.pop(self.next_number))
                    self.next_number += 1
            else:
                self.ready_values.extend(values)
            self.changed.notify_all()

    def close(self):
        with self.changed:
            self.closed = True
            self.changed.notify_all()


class _Failed:
    def __init__(self, error):
        self.error = error


class Pool:
    """Worker processes.

    Args:
        processes: how many; as many as processors when None.
        initializer, initargs: what each calls when it starts.
        maxtasksperchild: how many tasks a worker does before another takes its place.
        context: how they start; as `set_start_method` says when None.
    """

    def __init__(self, processes=None, initializer=None, initargs=(), maxtasksperchild=None, context=None):
        self._context = later["default_context"]() if context is None else context
        self._count = processes or os.cpu_count() or 1
        if self._count < 1:
            raise ValueError("Number of processes must be at least 1")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        if maxtasksperchild is not None and (not isinstance(maxtasksperchild, int) or maxtasksperchild <= 0):
            raise ValueError("maxtasksperchild must be a positive int or None")
        self._options = initializer, tuple(initargs), maxtasksperchild
        self._tasks, self._results = self._context.SimpleQueue(), self._context.SimpleQueue()
        self._bell = Bell()
        self._lock = threading.RLock()
        self._jobs: dict[int, _Job] = {}
        self._outstanding: dict[int, tuple] = {}         # the task of a letter
        self._numbers = itertools.count()
        self._state, self._broken = "open", None
        self._workers: list = []
        for _ in range(self._count):
            self._start_worker()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="numtorch pool")
        self._thread.start()

    # ------------------------------------------------------------ workers
    def _start_worker(self):
        note = _Note()
        process = self._context.Process(target=_work, args=(self._tasks, self._results, note, *self._options), daemon=True)
        process.name = process.name.replace("Process", "PoolWorker")
        process.start()
        self._workers.append((process, note))

    def _watch(self):
        """Take results, and see to workers that ended, until the pool is done."""
        results = self._results._channel.bell
        while True:
            wait([results.ends[0], self._bell.ends[0], *[p.sentinel for p, _ in self._workers]], 1.0)
            self._bell.silence()
            try:
                self._take_results()
                self._see_to_the_dead()
            except Exception as error:
                self._fail_all(error)
            with self._lock:
                if self._state == "terminated" or (self._state == "closed" and not self._jobs):
                    break
        if self._state == "closed":
            for _ in self._workers:
                self._tasks.put(None)

    def _take_results(self):
        while True:
            letter = self._results._channel.receive(0)
            if letter is None:
                return
            try:
                key, job, number, good, answer = read(letter)
            except Exception as error:
                self._fail_all(error)
                continue
            if job is None:                              # the task could not be read: the letter says whose it was
                job, number = self._outstanding.get(key, (None, None))
            del letter
            self._deliver(key, job, number, good, answer)

    def _deliver(self, key, number_of_job, number, good, answer):
        with self._lock:
            if self._outstanding.pop(key, None) is None:
                return
            job = self._jobs[number_of_job]
            job.open -= 1
            job.take(number, good, answer)
            self._feed(number_of_job, job)

    def _see_to_the_dead(self):
        dead = [(p, n) for p, n in self._workers if p.exitcode is not None]
        if not dead:
            return
        self._take_results()                             # what they sent before
        waiting = self._tasks._channel.waiting()
        living = [worker for worker in self._workers if worker not in dead]     # who ends meanwhile is seen to the next time
        having = {n.words[0] for _, n in living}
        self._workers[:] = living
        for process, note in dead:
            key = note.words[0]
            task = self._outstanding.get(key)
            if task is not None and key not in waiting and key not in having:
                self._deliver(key, *task, False, how_it_ended("a pool's worker", process))
            elif process.exitcode > 0 and not key:       # its initializer raised, or it called exit: others would do the same
                self._broken = how_it_ended("a pool's worker", process)
                self._fail_all(self._broken)
            process.join()
            process.close()
        with self._lock:
            if self._broken is None and (self._state == "open" or (self._jobs and self._state == "closed")):
                while len(self._workers) < self._count:
                    self._start_worker()

    def _fail_all(self, error):
        with self._lock:
            for job in list(self._jobs.values()):
                job.take(-1, False, error)
                job.close()
            self._jobs.clear()
            self._outstanding.clear()

    # ------------------------------------------------------------ tasks
    def _submit(self, job):
        with self._lock:
            if self._state != "open":
                raise ValueError("Pool not running")
            if self._broken is not None:
                raise self._broken
            number = next(self._numbers)
            self._jobs[number] = job
            try:
                self._feed(number, job, raising=True)
            except BaseException:
                self._jobs.pop(number, None)
                raise

    def _feed(self, number, job, raising=False):
        """Put tasks of a job into the queue, as many as the workers need to be busy. The caller has the lock."""
        while not job.all_fed and job.open < job.window:
            place = None
            try:
                place, items = next(job.chunks)
                letter, kept = write(self._tasks._channel, (number, place, job.function, items, job.star))
            except StopIteration:
                job.all_fed = True
                break
            except Exception as error:
                job.all_fed = True
                if raising:
                    raise
                job.take(place if place is not None else -1, False, error)
                break
            self._outstanding[key_of(letter.number, letter.generation)] = (number, place)
            job.open += 1
            self._tasks._channel.send(letter)
            del kept
        if job.all_fed and not job.open:
            self._jobs.pop(number, None)
            job.close()
            self._bell.ring()

    def apply(self, func, args=(), kwds=None):
        """func(*args, **kwds) in a worker."""
        return self.apply_async(func, args, kwds).get()

    def apply_async(self, func, args=(), kwds=None, callback=None, error_callback=None):
        """`apply` without waiting: an AsyncResult."""
        result = AsyncResult(self, callback, error_callback)
        self._submit(_Collected(result, func, [(tuple(args), dict(kwds or {}))], "apply", 1, single=True))
        return result

    def _map_async(self, func, iterable, chunksize, star, callback=None, error_callback=None):
        items = iterable if hasattr(iterable, "__len__") and hasattr(iterable, "__getitem__") else list(iterable)
        if chunksize is None:
            chunksize = max(1, -(-len(items) // (4 * self._count)))
        if chunksize < 1:
            raise ValueError(f"Chunksize must be 1+, not {chunksize}")
        result = AsyncResult(self, callback, error_callback)
        self._submit(_Collected(result, func, _chunks(items, chunksize), star, 4 * self._count))
        return result

    def map(self, func, iterable, chunksize=None):
        """func of each item, as a list."""
        return self._map_async(func, iterable, chunksize, False).get()

    def map_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        """`map` without waiting: an AsyncResult."""
        return self._map_async(func, iterable, chunksize, False, callback, error_callback)

    def starmap(self, func, iterable, chunksize=None):
        """func(*item) of each item, as a list."""
        return self._map_async(func, iterable, chunksize, True).get()

    def starmap_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        """`starmap` without waiting: an AsyncResult."""
        return self._map_async(func, iterable, chunksize, True, callback, error_callback)

    def _imap(self, func, iterable, chunksize, ordered):
        if chunksize < 1:
            raise ValueError(f"Chunksize must be 1+, not {chunksize}")
        job = IMapIterator(ordered, func, _chunks(iterable, chunksize), False, 4 * self._count)
        self._submit(job)
        return job

    def imap(self, func, iterable, chunksize=1):
        """func of each item, one after another as they are asked for."""
        return self._imap(func, iterable, chunksize, True)

    def imap_unordered(self, func, iterable, chunksize=1):
        """func of each item, as they come."""
        return self._imap(func, iterable, chunksize, False)

    # ------------------------------------------------------------ the end
    def close(self):
        """Take no more tasks. Workers end when all are done."""
        with self._lock:
            if self._state == "open":
                self._state = "closed"
        self._bell.ring()

    def terminate(self):
        """End the workers now."""
        with self._lock:
            self._state = "terminated"
        self._bell.ring()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        for process, _ in self._workers:
            process.terminate()
        for process, _ in self._workers:
            process.join(1)
            if process.exitcode is None:
                process.kill()
                process.join()
        self._workers.clear()
        self._fail_all(ValueError("Pool was terminated"))

    def join(self):
        """Wait for the workers' ends, after `close` or `terminate`.

        Raises:
            ValueError: the pool still runs.
        """
        if self._state == "open":
            raise ValueError("Pool is still running")
        self._thread.join()
        for process, _ in self._workers:
            process.join()

    def __enter__(self):
        if self._state != "open":
            raise ValueError("Pool not running")
        return self

    def __exit__(self, *exception):
        self.terminate()

    def __reduce__(self):
        raise NotImplementedError("pool objects cannot be passed between processes or pickled")


def _chunks(items, size):
    iterator = iter(items)
    while chunk := tuple(itertools.islice(iterator, size)):
        yield chunk
