"""`spawn(fn, args, nprocs)`: a function in so many processes, until all are done or one fails."""
from __future__ import annotations

import time
from multiprocessing.connection import wait

from .errors import ProcessRaisedException, Raised, how_it_ended


def _run(function, index, args, errors):
    try:
        function(index, *args)
    except KeyboardInterrupt:
        pass                                             # the parent has it too, and tells
    except Exception as error:
        errors.put(Raised(error))
        raise SystemExit(1) from None


class ProcessContext:
    """The processes of a `spawn`.

    Attributes:
        processes: them, in order.
    """

    def __init__(self, processes, errors):
        self.processes, self._errors = processes, errors
        self._open = dict(enumerate(processes))

    def pids(self):
        """Their numbers."""
        return [process.pid for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Wait until all are done (True), or for so many seconds (False).

        Args:
            timeout: seconds; None for any number.
            grace_period: seconds that the others have to end after one failed, before they are killed.

        Raises:
            ProcessRaisedException: one raised; the exception, with its traceback there, is this one's cause. The others are ended.
            ProcessExitedException: one was killed, or exited. The others are ended.
        """
        if not self._open:
            return True
        wait([p.sentinel for p in self._open.values()], timeout)
        for index, process in list(self._open.items()):
            if process.exitcode is None:
                continue
            del self._open[index]
            process.join()
            if process.exitcode:
                self._end_others(grace_period)
                raise self._failure(index, process)
        return not self._open

    def _end_others(self, grace_period):
        end = time.monotonic() + (30 if grace_period is None else grace_period)
        for process in self._open.values():
            process.terminate()
        for process in self._open.values():
            process.join(max(0, end - time.monotonic()))
            if process.exitcode is None:
                process.kill()
                process.join()

    def _failure(self, index, process):
        errors = self._errors[index]
        if errors.empty():
            return how_it_ended(f"process {index}", process, index)
        error = errors.get()
        text = str(error.__cause__)
        failure = ProcessRaisedException(f"\n\n-- Process {index} terminated with the following error:\n{text}", index, process.pid)
        failure.__cause__ = error
        return failure


SpawnContext = ProcessContext


def start_processes(fn, args=(), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"):
    """`spawn`, with any start method.

    Args:
        fn, args: `fn(i, *args)` is called in process i.
        nprocs: how many processes.
        join: wait for all of them.
        daemon: have them end with this process.
        start_method: "spawn", "fork" or "forkserver".

    Returns:
        None, or a ProcessContext where it does not `join`.
    """
    from .context import default
    context = default.get_context(start_method)
    errors = [context.SimpleQueue() for _ in range(nprocs)]
    processes = [context.Process(target=_run, args=(fn, i, tuple(args), errors[i]), daemon=daemon) for i in range(nprocs)]
    for process in processes:
        process.start()
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(fn, args=(), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"):
    """Call `fn(i, *args)` in `nprocs` processes, i from 0. If one fails the others are ended, and it is raised here.

    Args:
        fn: a function; what was typed into a REPL will do.
        args: what it is given after its number. Tensors in it are shared.
        nprocs: how many processes.
        join: wait for all of them.
        daemon: have them end with this process.
        start_method: "spawn" as the name says; others are of `start_processes`.

    Returns:
        None, or a ProcessContext where it does not `join`.

    Raises:
        ProcessRaisedException: one raised; the exception, with its traceback there, is this one's cause.
        ProcessExitedException: one was killed; the message names the signal and what mostly sends it.

    Example:
        >>> import numtorch as torch
        >>> import numtorch.multiprocessing as mp
        >>> x = torch.zeros(3)
        >>> def fill(i, x):
        ...     x[i] = i
        >>> mp.spawn(fill, (x,), nprocs=3)
        >>> x
        tensor([0., 1., 2.])
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)
