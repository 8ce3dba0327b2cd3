"""Processes that make a loader's batches: what each does, and how the consumer waits for them.

A batch has its number and its worker from the start (number modulo the workers, as PyTorch has it), so random transforms are the
same every time. A worker's place in its batch stands in shared memory, for what is said when it is stuck or killed.
"""
from __future__ import annotations

import copy
import ctypes
import itertools
import os
import random
import signal
import threading
import time
from multiprocessing.connection import wait
from typing import Any, NamedTuple

import numpy as np

from ..kernels.threads import set_num_threads
from ..multiprocessing.context import default
from ..multiprocessing.errors import Raised, how_it_ended
from ..multiprocessing.process import end_with_parent
from ..multiprocessing.transfer import read
from ..random import manual_seed
from ..shared.blocks import Block, allocate, found_again
from ..shared.heap import heap
from ..shared.storages import share_together
from ..tree import tensors_in
from .dataset import IterableDataset
from .workerinfo import WorkerInfo, set_worker_info

BATCH, PLACE, ENDING, INTERRUPTED = range(4)             # words of a note


class _Note:
    """Where a worker is: its batch, the example in it, counted from 1, whether it is to end, and whether Ctrl-C was pressed."""

    def __init__(self, block: Block | None = None) -> None:
        self.block = block or allocate(64)
        self.words = (ctypes.c_int64 * 4).from_address(self.block.address)
        if block is None:
            self.words[:] = [0, 0, 0, 0]

    def _reduce_shared(self, pickler):
        pickler.blocks.append(self.block)
        return _found_note, self.block.handle()


def _found_note(*handle):
    return _Note(found_again(heap(), *handle))


class _Noted(list):
    """The numbers of a batch, which note how far they were read."""

    def __init__(self, numbers, words):
        super().__init__(numbers)
        self.words = words

    def __iter__(self):
        words = self.words
        for place, number in enumerate(super().__iter__(), 1):
            words[PLACE] = place
            yield number


def _noted(dataset, words):
    """The examples of an iterable dataset, of which it is noted which one of this worker's is being made."""
    examples = iter(dataset)
    for place in itertools.count(1):
        words[PLACE] = place
        try:
            example = next(examples)
        except StopIteration:
            return
        yield example


class _Task(NamedTuple):
    begun: int                                           # which pass
    number: int                                          # which batch of it
    examples: Any


class _End(NamedTuple):
    """A worker's iterable dataset is at its end."""


def _serve(fetcher, tasks, results, note, info, init):
    """What a worker does."""
    def interrupted(number, frame):
        note.words[INTERRUPTED] = 1
        results._channel.bell.ring()
    signal.signal(signal.SIGINT, interrupted)            # the consumer has it too, and ends its workers
    end_with_parent()
    set_num_threads(1)
    set_worker_info(info)
    random.seed(info.seed)
    manual_seed(info.seed)
    np.random.seed([info.seed & 0xffffffff, info.seed >> 32 & 0xffffffff, info.id])  # noqa: NPY002
    failure = None
    try:
        if init is not None:
            init(info.id)
    except Exception as error:
        failure = Raised(error)
    begun, stream = None, None
    while not note.words[ENDING]:
        task = tasks.get()
        if task is None:
            return
        note.words[PLACE], note.words[BATCH] = 0, task.number
        good, batch = True, None
        try:
            if failure is not None:
                good, batch = False, failure
            elif isinstance(fetcher.dataset, IterableDataset):
                if begun != task.begun:
                    begun, stream = task.begun, fetcher._iterate_stream(_noted(fetcher.dataset, note.words))
                batch = next(stream, _End())
            elif fetcher.batch_size is None and not isinstance(task.examples, list):
                batch = fetcher._single(task.examples)
            else:
                batch = fetcher._fetch(_Noted(task.examples, note.words), fetcher._get_batch)
        except Exception as error:
            good, batch = False, Raised(error)
        try:
            share_together(tensors_in(batch))
            results.put((task.begun, task.number, good, batch))
        except Exception as error:
            results.put((task.begun, task.number, False, Raised(error)))
        del batch, task


class Workers:
    """A loader's processes, for a pass or for all."""

    def __init__(self, loader, fetcher) -> None:
        asked = loader.multiprocessing_context
        context = default.get_context(asked if asked is None or isinstance(asked, str) else asked.get_start_method())
        self.count, self.passes, self.owner = loader.num_workers, 0, os.getpid()
        self.results = context.SimpleQueue()
        self.tasks = [context.SimpleQueue() for _ in range(self.count)]
        self.notes = [_Note() for _ in range(self.count)]
        seed = loader.seed_of_workers()
        self.processes = []
        try:
            for i in range(self.count):
                info = WorkerInfo(i, self.count, (seed + i) & (1 << 63) - 1, fetcher.dataset)
                process = context.Process(target=_serve, daemon=True, args=(fetcher, self.tasks[i], self.results, self.notes[i],
                                                                            info, loader.worker_init_fn))
                process.shares_arguments = False         # a forked worker has the dataset, and shares nothing by writing
                process.name = f"DataLoader worker {i}"
                process.start()
                self.processes.append(process)
        except BaseException:
            self.end()
            raise

    def batches(self, loader, order):
        """A pass, of pairs: whether there is a batch, and it or what was raised instead. `order` gives what each is of."""
        self.passes += 1
        for note in self.notes:
            note.words[INTERRUPTED] = 0
        begun, ahead = self.passes, loader.prefetch_factor * self.count
        order, there, open_tasks, ended = enumerate(order), {}, {}, set()

        def send():
            for number, examples in order:
                worker = number % self.count
                if worker in ended:
                    skipped.add(number)
                    continue
                open_tasks[number] = examples
                self.tasks[worker].put(_Task(begun, number, examples))
                return
        skipped: set = set()
        for _ in range(ahead):
            send()
        number = 0
        while open_tasks or there:
            if loader.in_order:
                while number in skipped:
                    skipped.discard(number)
                    number += 1
                key = number if number in there else None
            else:
                key = next(iter(there), None)
            if key is None:
                self._receive(begun, there, open_tasks, loader)
                continue
            good, batch = there.pop(key)
            number += 1
            if isinstance(batch, _End):
                ended.add(key % self.count)
                if len(ended) < self.count:
                    send()
                continue
            send()
            yield good, batch
            for note in self.notes:
                note.words[INTERRUPTED] = 0
            del batch

    def _receive(self, begun, there, open_tasks, loader):
        """Wait for a batch of this pass."""
        end = time.monotonic() + loader.timeout if loader.timeout else None
        channel, rung = self.results._channel, False
        while True:
            letter = channel.receive(0) if rung or not channel.empty() else None
            if letter is not None:
                pass_number, number, good, batch = read(letter)
                if pass_number == begun:
                    there[number] = good, batch
                    open_tasks.pop(number, None)
                    return
                continue
            if self._interrupted():
                raise KeyboardInterrupt
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                worker = min(open_tasks) % self.count
                raise RuntimeError(f"DataLoader timed out after {loader.timeout} seconds; worker {worker} "
                                   f"{self._place(worker, open_tasks, loader)}")
            wait([channel.bell.ends[0], *[p.sentinel for p in self.processes]], left)
            rung = True
            dead = [(i, p) for i, p in enumerate(self.processes) if p.exitcode is not None]
            if dead and channel.empty():
                worker, process = dead[0]
                ended = how_it_ended(f"DataLoader worker {worker}", process)
                raise RuntimeError(f"{ended}; it {self._place(worker, open_tasks, loader)}") from ended

    def _interrupted(self):
        """Whether the workers saw Ctrl-C, and this thread may have missed it: Python drops a KeyboardInterrupt that comes while a
        finaliser runs, and one that comes just before a system call does not end that."""
        return (any(note.words[INTERRUPTED] for note in self.notes) and threading.current_thread() is threading.main_thread()
                and signal.getsignal(signal.SIGINT) is signal.default_int_handler)

    def _place(self, worker, open_tasks, loader):
        """Where a worker is."""
        words = self.notes[worker].words
        number, place, name = words[BATCH], words[PLACE], type(loader.dataset).__name__
        if number not in open_tasks:
            return f"was at batch {number}"
        examples, stream = open_tasks[number], isinstance(loader.dataset, IterableDataset)
        if not place and (stream or isinstance(examples, list)):
            return f"was at batch {number} of {name}"
        example = f"its example {place}" if stream else f"example {examples[place - 1] if isinstance(examples, list) else examples}"
        return f"was at batch {number}, {example} of {name}"

    def end(self):
        """End the processes: those that wait at once, those at work after a moment."""
        if os.getpid() != self.owner:
            return
        processes, self.processes = self.processes, []
        for note, tasks in zip(self.notes, self.tasks):
            note.words[ENDING] = 1
            tasks.put(None)
        end = time.monotonic() + 0.2
        for process in processes:
            process.join(max(0, end - time.monotonic()))
            if process.exitcode is None:
                process.kill()                           # whatever it holds, the kernel lets go of
        for process in processes:
            process.join()
            process.close()

    def __del__(self):
        if getattr(self, "processes", None):
            self.end()


def fetcher_of(loader, get_batch):
    """What workers need of a loader: how to fetch, and not in which order."""
    fetcher = copy.copy(loader)
    fetcher.__dict__.update(sampler=None, generator=None, _workers=None, worker_init_fn=None, _get_batch=get_batch,
                            batch_sampler=None, multiprocessing_context=None)
    return fetcher
