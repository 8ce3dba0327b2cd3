"""How the end of a worker is told to those who wait for it."""
from __future__ import annotations

import signal
import traceback

_CAUSES = {
    "SIGKILL": "most often the system's, which had no more memory (see `dmesg`), or a container's limit",
    "SIGSEGV": "a fault in machine code; NUMTORCH_DEBUG_MEMORY=guard finds accesses outside of a tensor",
    "SIGBUS": "mostly a file in shared memory for which there was no memory left",
    "SIGABRT": "a library gave up; what it printed stands above",
    "SIGTERM": "somebody ended it, such as `terminate()` or a batch system",
    "SIGILL": "machine code for another processor: clear the store of kernels (`python -m numtorch cache clear`)",
    "SIGXCPU": "its processor time was used up (`ulimit -t`)",
}


class ProcessException(Exception):
    """A process failed.

    Attributes:
        error_index, pid: which one.
    """

    def __init__(self, msg, error_index, pid):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process raised an exception, which is this one's cause."""

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """A process ended before it was done.

    Attributes:
        exit_code: its exit status, negative for signals.
        signal_name: the signal that ended it, or None.
    """

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


class RemoteTraceback(Exception):
    """Where an exception was raised in another process."""

    def __init__(self, text):
        super().__init__(text)
        self.text = text

    def __str__(self):
        return self.text


def how_it_ended(what: str, process, index=0) -> ProcessExitedException:
    """What to raise for a process that is over: with its signal and what mostly sends that."""
    code = process.exitcode
    if code is not None and code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        why = _CAUSES.get(name)
        return ProcessExitedException(f"{what} (process {process.pid}) was killed by {name}" + (f": {why}" if why else ""),
                                      index, process.pid, code, name)
    return ProcessExitedException(f"{what} (process {process.pid}) ended with status {code} before it was done", index,
                                  process.pid, code)


def with_cause(error: BaseException, text: str) -> BaseException:
    """An exception from another process, whose cause is where it was raised."""
    error.__cause__ = RemoteTraceback(f'\n"""\n{text}"""')
    return error


class Raised:
    """An exception on its way to another process, with where it was raised."""

    def __init__(self, error, where=""):
        self.error, self.where = error, where
        self.text = "".join(traceback.format_exception(type(error), error, error.__traceback__))

    def __reduce__(self):
        return with_cause_or_text, (_sendable(self.error), self.text, repr(self.error))


def _sendable(error):
    import pickle

    from .transfer import dumps
    try:
        sent = dumps(error)
        pickle.loads(sent)
        return error
    except Exception:
        return None


def with_cause_or_text(error, text, shown):
    """What the other process makes of a `Raised`."""
    if error is None:
        error = RuntimeError(f"{shown} (which cannot be pickled)")
    return with_cause(error, text)
