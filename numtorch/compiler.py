"""`torch.compiler`: what a program says to `torch.compile` and asks of it."""
from __future__ import annotations

import functools
import importlib
from typing import Any

from .jit.capturing.owners import APART
from .jit.compiling.compiled import BACKENDS, CompiledModule, compile, forget
from .nn.modules.module import Module

__all__ = ["allow_in_graph", "compile", "cudagraph_mark_step_begin", "disable", "get_default_backend", "is_compiling",
           "is_dynamo_compiling", "is_exporting", "list_backends", "reset"]


def _apart(what, function, args, kwargs):
    """Call a function in a place where captures end (jit/capturing/capture.py)."""
    return function(*args, **kwargs)


APART.add(_apart.__code__)


class _Disabled(CompiledModule):
    """A module whose calls run as they are."""

    def __init__(self, module, call) -> None:
        super().__init__(module, {})
        object.__setattr__(self, "_compiled", call)

    def __reduce__(self):
        return disable, (self._orig_mod,)


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A function that a compiled one calls as it is: what stands before and after it is compiled.

    Args:
        fn: a function or a module; None for a decorator.
        recursive: taken for PyTorch's sake: functions that are compiled of their own are replayed in it, too.
        reason: why, which `torch.compile.explain` repeats.

    Returns:
        What is called like `fn`; of a module, one that has its attributes.

    Raises:
        TypeError: `fn` cannot be called.

    Example:
        >>> import numtorch as torch
        >>> @torch.compiler.disable
        ... def show(x):
        ...     print(x.sum())
        >>> @torch.compile
        ... def f(x):
        ...     y = x * 2
        ...     show(y)
        ...     return y + 1
        >>> f(torch.ones(2))
        tensor(4.)
        tensor([3., 3.])
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if not callable(fn):
        raise TypeError(f"compiler.disable expected something to call, but got {type(fn).__name__}")
    what = f"{getattr(fn, '__qualname__', type(fn).__name__)} is not to be compiled" + ("" if reason is None else f": {reason}")

    def disabled(*args, **kwargs):
        return _apart(what, fn, args, kwargs)
    if isinstance(fn, Module):
        return _Disabled(fn, disabled)
    return functools.update_wrapper(disabled, fn)


def graph_break() -> None:
    """End what is captured here; what comes after is compiled of its own. It is `torch._dynamo.graph_break`.

    Example:
        >>> import numtorch as torch
        >>> @torch.compile
        ... def f(x):
        ...     y = x * 2
        ...     torch._dynamo.graph_break()
        ...     return y + 1
        >>> f(torch.ones(2))
        tensor([3., 3.])
    """
    _apart("a break that the program asks for", bool, (), {})


def allow_in_graph(fn: Any) -> Any:
    """The function itself: whatever a call launches is captured, whoever wrote it.

    Args:
        fn: a function, or a list of some.

    Raises:
        TypeError: it cannot be called.
    """
    for each in fn if isinstance(fn, (list, tuple)) else (fn,):
        if not callable(each):
            raise TypeError(f"compiler.allow_in_graph expected something to call, but got {type(each).__name__}")
    return fn


def reset() -> None:
    """Let all programs of compiled functions go: their next calls are first ones.

    Example:
        >>> import numtorch as torch
        >>> torch.compiler.reset()
    """
    forget()


def is_compiling() -> bool:
    """Whether the program is being compiled: never, since a call that is captured runs as any other. In a function that is
    compiled, what is written for calls that are not compiled is captured."""
    return False


def is_dynamo_compiling() -> bool:
    """`is_compiling`, by its older name."""
    return False


def is_exporting() -> bool:
    """Whether `torch.export` runs, which is not here: never."""
    return False


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The back ends that `torch.compile` takes and that compile.

    Args:
        exclude_tags: PyTorch's; without "debug" those that run calls as they are, too.

    Example:
        >>> import numtorch as torch
        >>> torch.compiler.list_backends()
        ['inductor', 'replay']
    """
    return [each for each in BACKENDS if "debug" not in (exclude_tags or ()) or each not in ("eager", "aot_eager")]


def get_default_backend() -> str:
    """The back end of `torch.compile` where none is named: `"inductor"`."""
    return BACKENDS[0]


def cudagraph_mark_step_begin() -> None:
    """Say that a step begins, after which results of the step before may be written over. Here nothing writes over results, but
    with `torch.compile(..., reuse_outputs=True)`, whose results stay until the next call: there is nothing to do."""


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    return importlib.import_module("numtorch.alias").attribute(__name__, name)
