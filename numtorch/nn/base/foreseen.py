"""Calls of modules that are known before they are made, and compiled ahead on the first day (kernels/ahead.py).

A new layer is called on an example. A module that is called for the first time is called on what looks like its arguments, so that
the kernels of its last layers and of its backward are compiled while this process is at those of its first. That happens in another
process, so only modules are foreseen that are made of this package's alone: nothing of a user's runs twice.
"""
from __future__ import annotations

import functools
import weakref

from ...autograd.modes import RARE, modes
from ...devices import cpu
from ...kernels import ahead
from ...layout import Layout
from ...ops.core.ahead import expect_backward
from ...ops.core.late import provide
from ...tensor import Tensor, lasting
from ...tree import tensors_in
from ..parameter import Buffer, Parameter
from .hooks import everywhere

_OURS = __name__.partition(".")[0] + ".nn."

_calling: set = set()                                    # the code that calls modules
_seen: weakref.WeakSet = weakref.WeakSet()


def calls_modules(function):
    """Decorator of the method that calls modules: calls are recognised by its frames."""
    _calling.add(function.__code__)
    return function


def expect_example(module, *shape, dtype=None) -> None:
    """Have the call of a new module on a tensor of a shape compiled ahead, on the first day.

    Args:
        module: whose `weight` there is.
        shape: the tensor's.
        dtype: the tensor's; the weight's when None.
    """
    weight = module.weight.layout
    if weight.device is cpu and ahead.is_cold() and _is_ours(module):
        example = _Argument(Layout.of(dtype or weight.dtype, shape), dtype is None)
        ahead.expect(functools.partial(_call, weakref.ref(module), (example,), {}))


@provide
def expect_modules(frame) -> None:
    """Have the call of a module compiled ahead, of which a frame is the beginning.

    Args:
        frame: of a call that is about to be compiled.
    """
    called = None
    while frame is not None:
        if frame.f_code in _calling:
            module = frame.f_locals["self"]
            if _is_class_of_ours(type(module)):          # others may have no hash
                if module in _seen:
                    return
                if _is_ours(module):
                    called = frame
        frame = frame.f_back
    if called is None:
        return
    own = called.f_locals
    _seen.update(own["self"].modules())
    try:
        args, kwargs = _described(own["args"]), {name: _described(value) for name, value in own["kwargs"].items()}
    except TypeError:
        return
    ahead.expect(functools.partial(_call, weakref.ref(own["self"]), args, kwargs))


class _Argument:
    """What a tensor looks like, and whether gradients come to it."""

    def __init__(self, layout, wanted):
        self.layout, self.wanted = layout, wanted


def _described(value):
    """A call's argument without its memory. Raises TypeError for what a call may do anything with."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) in (tuple, list):
        return type(value)(map(_described, value))
    if type(value) in (Tensor, Parameter) and value.layout.device is cpu and value.layout.handler is None:
        return _Argument(value.layout, value.node is not None)
    raise TypeError("not foreseen")


def _example(value):
    if type(value) in (tuple, list):
        return type(value)(map(_example, value))
    if type(value) is not _Argument:
        return value
    made = lasting(value.layout)
    return made.requires_grad_() if value.wanted else made


def _call(reference, args, kwargs):
    module = reference()
    if module is None or not _is_ours(module):           # it may have been given a hook since
        return None
    result = tuple(tensors_in(module(*_example(args), **{name: _example(value) for name, value in kwargs.items()})))
    expect_backward(result)
    return result


def _is_class_of_ours(kind):
    return kind.__module__.startswith(_OURS)


def _is_ours(module):
    """Whether a call of a module runs nothing of a user's, and writes nothing that other processes see."""
    if modes.recording == RARE or any(everywhere.values()):
        return False
    for each in module.modules():
        if not _is_class_of_ours(type(each)) or each._hooks is not None:
            return False
        if any(callable(value) and not str(getattr(value, "__module__", "")).startswith(_OURS.partition(".")[0] + ".")
               for value in vars(each).values()):
            return False
        for tensor in (*each._parameters.values(), *each._buffers.values()):
            if tensor is not None and (type(tensor) not in (Tensor, Parameter, Buffer) or tensor.is_shared()):
                return False
    return True
