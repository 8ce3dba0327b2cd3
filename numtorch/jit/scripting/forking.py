"""`jit.fork` and `jit.wait`: calls whose results are asked for later, in Python and in scripts."""
from __future__ import annotations

from typing import Any

from ...futures import Future

__all__ = ["fork", "wait"]


def fork(func, *args, **kwargs) -> Future[Any]:
    """A future of `func(*args, **kwargs)`, which is called at once, as PyTorch does outside of scripts.

    In a script, too, the call is made at once, by the thread that forks: kernels share the machine's threads among them. What it
    raises there comes from `wait`, as in PyTorch.

    Args:
        func: a function, a script or a module.
        args, kwargs: what it is called with.

    Raises:
        Exception: what `func` raises.

    Example:
        >>> import numtorch as torch
        >>> future = torch.jit.fork(torch.add, torch.tensor(1), torch.tensor(2))
        >>> torch.jit.wait(future)
        tensor(3)
    """
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def forked(function, /, *args, **kwargs) -> Future[Any]:
    """`fork` as scripts have it: what the function raises is the future's.

    Args:
        function: what is called.
        args, kwargs: what it is called with.
    """
    future = Future()
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        future.set_exception(error)
    else:
        future.set_result(result)
    return future


def wait(future) -> Any:
    """The result of a future, when there is one.

    Args:
        future: what `fork` gave, or another Future.

    Raises:
        TypeError: something else.

    Example:
        >>> import numtorch as torch
        >>> torch.jit.wait(torch.jit.fork(len, [1, 2]))
        2
    """
    if not isinstance(future, Future):
        raise TypeError(f"wait(): expected a Future, got {type(future).__name__}")
    return future.wait()


_fork, _wait = fork, wait                                # PyTorch's names of before 1.6
