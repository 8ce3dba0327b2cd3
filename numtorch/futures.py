"""`torch.futures`: results that another thread will set."""
from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]
_T = TypeVar("_T")


class Future(Generic[_T]):
    """A result that is set later, once. `Future[Tensor]` says of what type, to type checkers and to scripts.

    Args:
        devices: taken for PyTorch's sake.

    Example:
        >>> import numtorch as torch
        >>> future: torch.futures.Future[int] = torch.futures.Future()
        >>> doubled = future.then(lambda f: f.value() * 2)
        >>> future.set_result(21)
        >>> doubled.wait()
        42
    """

    def __init__(self, *, devices=None) -> None:
        self._ready = threading.Condition()
        self._done, self._result, self._error = False, None, None
        self._callbacks: list = []

    def done(self) -> bool:
        """Whether there is a result or an exception."""
        return self._done

    def wait(self) -> Any:
        """Wait for the result. Raises the exception where one was set."""
        with self._ready:
            self._ready.wait_for(self.done)
        return self.value()

    def value(self) -> Any:
        """The result. Raises the exception where one was set, and RuntimeError where there is neither yet."""
        if self._error is not None:
            raise self._error
        if not self._done:
            raise RuntimeError("Future.value(): the future has no result yet; wait() for it")
        return self._result

    def set_result(self, result) -> None:
        """Give the result to those who wait. Raises RuntimeError the second time."""
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Give those who wait an exception. Raises RuntimeError where there is a result, TypeError for what is no exception."""
        if not isinstance(result, Exception):
            raise TypeError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def add_done_callback(self, callback: Callable) -> None:
        """Have `callback(self)` called when this is done: at once if it is."""
        with self._ready:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable) -> Future:
        """A future of `callback(self)`, called when this is done; what it raises is the new future's exception."""
        after = Future()

        def follow(future):
            try:
                after.set_result(callback(future))
            except Exception as error:
                after.set_exception(error)

        self.add_done_callback(follow)
        return after

    def _finish(self, result, error) -> None:
        with self._ready:
            if self._done:
                raise RuntimeError("Future can only be marked completed once")
            self._done, self._result, self._error = True, result, error
            self._ready.notify_all()
        for callback in self._callbacks:
            callback(self)
        self._callbacks.clear()


def collect_all(futures: Sequence[Future]) -> Future:
    """A future of the list of futures, done when all of them are, and failed where one is.

    Args:
        futures: what to wait for.

    Example:
        >>> import numtorch as torch
        >>> a, b = torch.futures.Future(), torch.futures.Future()
        >>> both = torch.futures.collect_all([a, b])
        >>> a.set_result(1); b.set_result(2)
        >>> [f.value() for f in both.wait()]
        [1, 2]
    """
    futures, out, lock = list(futures), Future(), threading.Lock()
    waiting = [len(futures)]

    def count(future):
        with lock:
            waiting[0] -= 1
            last = waiting[0] == 0
        if last:
            error = next((f._error for f in futures if f._error is not None), None)
            out._finish(None if error else futures, error)

    if not futures:
        out.set_result(futures)
    for future in futures:
        future.add_done_callback(count)
    return out


def wait_all(futures: Sequence[Future]) -> list:
    """Wait for all, and give their results.

    Args:
        futures: what to wait for.

    Example:
        >>> import numtorch as torch
        >>> a = torch.futures.Future()
        >>> a.set_result(1)
        >>> torch.futures.wait_all([a])
        [1]
    """
    return [future.value() for future in collect_all(futures).wait()]
