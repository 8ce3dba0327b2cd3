"""Switches of the tape, one set per thread: whether to record, and what to do with what is saved."""
from __future__ import annotations

import contextlib
import functools
import inspect
import threading
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ..storage import inferring
from ..storage import mode as memory

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

OFF, PLAIN, RARE = 0, 1, 2

# What a second run of a function has to find as the first had it, of floors above: each gives, at the first run, a function of no
# arguments that gives a context for the second.
kept_for_again: list[Callable[[], Callable[[], Any]]] = []


def as_now() -> Callable[[], contextlib.ExitStack]:
    """What makes contexts inside of which a second run finds what there is now."""
    kept = [keep() for keep in kept_for_again]

    def again():
        stack = contextlib.ExitStack()
        for context in kept:
            stack.enter_context(context())
        return stack
    return again


class _Modes(threading.local):
    """Instance attributes, not class defaults: falling back to the class is a second lookup at every recorded call.

    `recording` sums up the others for hot paths, which can afford to look at one: OFF, PLAIN, or RARE when anomaly mode or
    saved-tensor hooks ask for more than the plain record. Change `grad` through `switch`.
    """

    def __init__(self) -> None:
        self.grad = True                                 # record what is computed
        self.inference = False
        self.anomaly = False                             # keep the source line of every recorded call; "nan": and check
        self.saved_hooks = ()                            # (pack, unpack) pairs, the innermost last
        self.no_hooks = None                             # why there may be none
        self.recording = PLAIN
        self.by_ops = None                               # what a trace does for a node's backward, by ops as with create_graph
        self.backward = None                             # the nodes a backward wants, or a list of them and calls at its end

    def records(self) -> bool:
        """Whether what is computed is recorded."""
        return self.grad

    def switch(self, grad):
        """Turn recording on or off; in inference mode it stays off, as in PyTorch."""
        self.grad = grad = grad and not self.inference
        self.recording = OFF if not grad else RARE if self.saved_hooks or self.anomaly else PLAIN

    def __reduce__(self):
        return "modes"                                   # by reference: a pickled function's switches are those of the process


modes = _Modes()


class _Switch:
    """A context manager that is also a decorator. Entering remembers the state in the instance's stack."""

    def __init__(self) -> None:
        self._before = []

    def __exit__(self, *exception: Any) -> None:
        modes.switch(self._before.pop())

    def _enter(self, grad):
        self._before.append(modes.grad)
        modes.switch(grad)
        return self

    def _clone(self):
        return type(self)()

    def __call__(self, function: Decorated) -> Decorated:
        if inspect.isgeneratorfunction(function):
            @functools.wraps(function)
            def generator(*args, **kwargs):
                """Each resumption runs inside the switch, and what runs between them does not."""
                running = function(*args, **kwargs)
                value, step = None, running.send
                while True:
                    try:
                        with self._clone():
                            produced = step(value)
                    except StopIteration as stop:
                        return stop.value
                    try:
                        value, step = (yield produced), running.send
                    except GeneratorExit:
                        with self._clone():
                            running.close()
                        raise
                    except BaseException as error:
                        value, step = error, running.throw
            return cast(Any, generator)

        @functools.wraps(function)
        def switched(*args, **kwargs):
            with self._clone():
                return function(*args, **kwargs)
        return cast(Any, switched)


class no_grad(_Switch):
    """Record nothing inside: `with no_grad():`, or `@no_grad()` on a function.

    Args:
        function: what to decorate, as `no_grad` without parentheses does.

    Example:
        >>> import numtorch as torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.no_grad():
        ...     (x * 2).requires_grad
        False
    """

    def __new__(cls, function: Any = None) -> Any:
        return object.__new__(cls) if function is None else cls()(function)

    def __init__(self, function: Any = None) -> None:
        super().__init__()

    def __enter__(self) -> Any:
        return self._enter(False)


class enable_grad(_Switch):
    """Record inside, within `no_grad`: `with enable_grad():`, or `@enable_grad()` on a function.

    Args:
        function: what to decorate, as `enable_grad` without parentheses does.

    Example:
        >>> import numtorch as torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.no_grad(), torch.enable_grad():
        ...     (x * 2).requires_grad
        True
    """

    def __new__(cls, function: Any = None) -> Any:
        return object.__new__(cls) if function is None else cls()(function)

    def __init__(self, function: Any = None) -> None:
        super().__init__()

    def __enter__(self) -> Any:
        return self._enter(True)


class set_grad_enabled(_Switch):
    """`set_grad_enabled(flag)` switches recording at once; as a context manager it also switches back.

    Args:
        mode: whether to record.

    Example:
        >>> import numtorch as torch
        >>> with torch.set_grad_enabled(False):
        ...     torch.is_grad_enabled()
        False
        >>> torch.is_grad_enabled()
        True
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = mode
        self._enter(bool(mode))

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: Any) -> None:
        modes.switch(self._before[-1])                   # kept: the same object may be left more than once

    def _clone(self):
        return type(self)(self.mode)

    def __call__(self, function: Decorated) -> Decorated:
        self.__exit__()                                  # as a decorator it switches inside calls only
        return super().__call__(function)


class inference_mode(_Switch):
    """Like `no_grad`, and what is made inside counts no writes: backward cannot save it, and it is not written to outside.

    Args:
        mode: False to leave the mode inside; a function to decorate.

    Example:
        >>> import numtorch as torch
        >>> with torch.inference_mode():
        ...     x = torch.ones(2)
        >>> x.is_inference(), x.clone().is_inference()
        (True, False)
    """

    def __new__(cls, mode: Any = True) -> Any:
        return cls()(mode) if callable(mode) else object.__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.mode = mode

    def __enter__(self) -> Any:
        before = modes.inference
        self._enter(not self.mode)
        self._before.append(before)
        self._set(bool(self.mode))
        modes.switch(not self.mode)
        return self

    def __exit__(self, *exception: Any) -> None:
        self._set(self._before.pop())
        super().__exit__()

    @staticmethod
    def _set(inference):
        if inference and not modes.inference:
            inferring.append(None)
        elif modes.inference and not inference:
            inferring.pop()
        modes.inference = memory.inference = inference

    def _clone(self):
        return type(self)(self.mode)


def is_grad_enabled() -> bool:
    """Whether operations are recorded in this thread.

    Example:
        >>> import numtorch as torch
        >>> with torch.no_grad():
        ...     torch.is_grad_enabled()
        False
    """
    return modes.grad


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside `inference_mode`.

    Example:
        >>> import numtorch as torch
        >>> with torch.inference_mode():
        ...     torch.is_inference_mode_enabled()
        True
    """
    return modes.inference


class saved_tensors_hooks:
    """Inside, every tensor saved for backward goes through one function, and comes back through another.

    Args:
        pack_hook: `pack_hook(tensor)` returns what is kept.
        unpack_hook: `unpack_hook(packed)` returns the tensor.

    Raises:
        RuntimeError: inside `graph.disable_saved_tensors_hooks`.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2.], requires_grad=True)
        >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.to(torch.float16), lambda t: t.to(torch.float32)):
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 4.])
    """

    def __init__(self, pack_hook, unpack_hook) -> None:
        self.pair = (pack_hook, unpack_hook)

    def __enter__(self) -> Any:
        if modes.no_hooks is not None:
            raise RuntimeError(modes.no_hooks)
        modes.saved_hooks = (*modes.saved_hooks, self.pair)
        modes.switch(modes.grad)
        return self

    def __exit__(self, *exception: Any) -> None:
        modes.saved_hooks = modes.saved_hooks[:-1]
        modes.switch(modes.grad)


def _set_anomaly(value):
    modes.anomaly = value
    modes.switch(modes.grad)


class _AnomalyMode:
    """What switches back to the mode that was."""

    def __init__(self) -> None:
        self._before: list = []

    def __exit__(self, *exception: Any) -> None:
        _set_anomaly(self._before.pop())


class detect_anomaly(_AnomalyMode):
    """Inside, every recorded call keeps its source line, errors in backward show it, and a NaN gradient raises.

    Args:
        check_nan: raise RuntimeError when a backward function returns NaN.

    Example:
        >>> import numtorch as torch
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     with torch.autograd.detect_anomaly():
        ...         torch.is_anomaly_enabled()
        True
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__()
        self.check_nan = check_nan
        warnings.warn("Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
                      "debugging.", UserWarning, stacklevel=2)

    def __enter__(self) -> Any:
        self._before.append(modes.anomaly)
        _set_anomaly("nan" if self.check_nan else True)
        return self


class set_detect_anomaly(_AnomalyMode):
    """`set_detect_anomaly(True)` switches anomaly mode on at once; as a context manager it also switches back.

    Args:
        mode: whether to be in the mode.
        check_nan: raise RuntimeError when a backward function returns NaN.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor(0., requires_grad=True)
        >>> with torch.autograd.set_detect_anomaly(True, check_nan=False):
        ...     torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
        (True, False)
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__()
        self._before.append(modes.anomaly)
        _set_anomaly(("nan" if check_nan else True) if mode else False)

    def __enter__(self) -> Any:
        return self


def is_anomaly_enabled() -> bool:
    """Whether this thread is in anomaly mode.

    Example:
        >>> import numtorch as torch
        >>> torch.is_anomaly_enabled()
        False
    """
    return bool(modes.anomaly)


def is_anomaly_check_nan_enabled() -> bool:
    """Whether this thread is in anomaly mode and looks for NaN in gradients.

    Example:
        >>> import numtorch as torch
        >>> torch.is_anomaly_check_nan_enabled()
        False
    """
    return modes.anomaly == "nan"


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Switch anomaly mode on or off.

    Args:
        mode: whether to be in the mode.
        check_nan: raise RuntimeError when a backward function returns NaN.

    Example:
        >>> import numtorch as torch
        >>> torch.set_anomaly_enabled(True, check_nan=False)
        >>> torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
        (True, False)
        >>> torch.set_anomaly_enabled(False)
    """
    _set_anomaly(("nan" if check_nan else True) if mode else False)


class set_multithreading_enabled(_Switch):
    """Taken for PyTorch's sake: backward runs in the thread that calls it, whatever the mode.

    Args:
        mode: changes nothing.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor(3., requires_grad=True)
        >>> with torch.autograd.set_multithreading_enabled(False):
        ...     (x * x).backward()
        >>> x.grad
        tensor(6.)
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = mode

    def __enter__(self) -> Any:
        return self._enter(modes.grad)

    def _clone(self):
        return type(self)(self.mode)
