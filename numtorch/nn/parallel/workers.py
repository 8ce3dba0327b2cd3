"""Processes that hold a module: its parameters lie in shared memory, so each sees what an optimiser makes of them."""
from __future__ import annotations

import collections
import os
import signal
from multiprocessing.connection import wait

from ...autograd.api import grad as gradients
from ...autograd.modes import enable_grad, no_grad
from ...multiprocessing.context import default
from ...multiprocessing.errors import Raised, how_it_ended
from ...multiprocessing.process import end_with_parent
from ...multiprocessing.transfer import read
from ...random import manual_seed
from ...shared.storages import base_of, is_paged, is_shared
from ...tree import map_tensors, tensors_in


def to_send(tensor):
    """A tensor's elements without a graph, as they are sent. Small memory that other tensors are over is copied: to share it, the
    heap would be searched for these."""
    tensor = tensor.detach()
    return tensor if is_shared(tensor.memory) or is_paged(base_of(tensor.memory)) else tensor.clone()


def _serve(module, number, seed, tasks, results):
    """What a worker does. Its module's buffers are the caller's in the first worker, and copies of them in the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    manual_seed(seed + number)
    shared = list(module.buffers())
    if number:
        for part in module.modules():
            part._buffers.update({name: b.clone() for name, b in part._buffers.items() if b is not None})
    own = list(module.buffers())
    parameters = [p for p in module.parameters() if p.requires_grad]
    calls: dict = {}
    while True:
        task = tasks.get()
        if task is None:
            return
        try:
            what, call, *rest = task
            if what == "forget":
                calls.pop(call, None)
                continue
            if what == "forward":
                args, kwargs, modes, recorded = rest
                for part, mode in zip(module.modules(), modes):
                    part.training = mode
                with no_grad():
                    for mine, theirs in zip(own, shared):
                        if mine is not theirs:
                            mine.copy_(theirs)
                with enable_grad() if recorded else no_grad():
                    output = module(*args, **kwargs)
                if recorded:
                    calls[call] = [t for t in tensors_in(output) if t.requires_grad], \
                        parameters + [t for t in tensors_in((args, kwargs)) if t.requires_grad]
                answer = map_tensors(to_send, output), [t.requires_grad for t in tensors_in(output)]
            else:
                outputs, wanted = calls[call]
                answer = gradients(outputs, wanted, rest[0], retain_graph=True, allow_unused=True)
            results.put((True, answer))
            del answer, task, rest
        except Exception as error:
            results.put((False, Raised(error)))


class Team:
    """So many workers that hold one module."""

    def __init__(self, module, count, seed) -> None:
        context = default.get_context()
        self.owner, self.calls = os.getpid(), 0
        self.forgotten: collections.deque = collections.deque()      # calls whose graphs nobody needs
        self.tasks, self.results = [[context.SimpleQueue() for _ in range(count)] for _ in range(2)]
        self.processes = [context.Process(target=_serve, args=(module, i, seed, self.tasks[i], self.results[i]), daemon=True)
                          for i in range(count)]
        for process in self.processes:
            process.start()

    def ask(self, tasks) -> list:
        """Give each worker its task, and return their answers.

        Raises:
            ProcessExitedException: a worker was killed.
            Exception: what a worker raised, with its traceback as the cause.
        """
        while self.forgotten:
            call = self.forgotten.popleft()
            for queue in self.tasks:
                queue.put(("forget", call))
        for queue, task in zip(self.tasks, tasks):
            queue.put(task)
        answers = [self._answer(i) for i in range(len(tasks))]
        for good, answer in answers:
            if not good:
                raise answer
        return [answer for _, answer in answers]

    def _answer(self, i):
        channel, process = self.results[i]._channel, self.processes[i]
        while True:
            letter = channel.receive(0)
            if letter is not None:
                return read(letter)
            if process.exitcode is not None and channel.empty():
                raise how_it_ended(f"DataParallel's worker {i}", process, i)
            wait([channel.bell.ends[0], process.sentinel])

    def end(self) -> None:
        """End the workers."""
        if os.getpid() == self.owner:
            for process in self.processes:
                process.kill()
            for process in self.processes:
                process.join()
        self.processes = []

    def __del__(self):
        if getattr(self, "processes", None):
            self.end()
