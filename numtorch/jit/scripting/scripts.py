"""`jit.script`; the decorators that say what of a class or file it takes; and, as PyTorch had them first, classes of modules that
are scripts from the start: of `ScriptModule`, with methods under `@script_method`."""
from __future__ import annotations

import functools
import types
from typing import Any

from ...nn.modules.module import Module
from ...ops.core.late import provide
from ..graphs.scriptmodules import ScriptFunction, ScriptModule, listed_method
from ..tracing.freezing import is_tracing
from . import vocabulary
from .modules import ScriptedFunction, ScriptedModule, convert
from .problems import NotSupportedError, not_too_deep
from .units import MODIFIER, Script, Unit


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """A function or module as a script: a program that keeps its loops and conditions, and needs no Python source any more.

    It is read from its source, in a subset of Python (docs/script.md), with what it calls. Arguments are tensors unless annotations
    say otherwise. What is not in the subset is refused at its line.

    Args:
        obj: a function; or a module, whose `forward` is read with the methods that it calls and those under `@jit.export`; or a
            class without bases, whose methods are read: it is given back as it is, for scripts to make objects of.
        optimize: taken for PyTorch's sake.
        _frames_up: taken for PyTorch's sake.
        _rcb: taken for PyTorch's sake.
        example_inputs: taken for PyTorch's sake.

    Returns:
        A function or a module, with `graph`, `code` and `save`.

    Raises:
        RuntimeError: types that do not fit.
        NotSupportedError: what is not in the subset.

    Example:
        >>> import numtorch as torch
        >>> @torch.jit.script
        ... def power(x, n: int):
        ...     result = torch.ones_like(x)
        ...     for _ in range(n):
        ...         result = result * x
        ...     return result
        >>> power(torch.tensor([2., 3.]), 3)
        tensor([ 8., 27.])
    """
    obj = getattr(obj, "__original_fn", obj)             # of script_if_tracing
    if isinstance(obj, (ScriptFunction, ScriptModule)):
        return obj
    with not_too_deep("jit.script"):
        return _scripted(obj)


def _scripted(obj):
    unit = Unit()
    if isinstance(obj, Module):
        made = convert(obj, unit)
        unit.check_classes()
        return made
    if isinstance(obj, types.MethodType):
        raise NotSupportedError(f"jit.script: {obj.__qualname__} is a method: script its module")
    if isinstance(obj, type):
        return _class(obj, unit)
    if not isinstance(obj, types.FunctionType):
        raise TypeError(f"jit.script: expected a function or a module, got {type(obj).__name__}")
    if id(obj) in vocabulary.paths():
        raise NotSupportedError(f"jit.script: torch.{vocabulary.paths()[id(obj)]} is a function of this package, which scripts "
                                f"call as it is: write a function that calls it")
    scripted = unit.functions[unit.add(obj)]
    if not isinstance(scripted, Script):
        raise NotSupportedError(f"jit.script: {obj.__name__} is " + (
            f"under @jit.{getattr(obj, MODIFIER)}" if hasattr(obj, MODIFIER) else "an op, which scripts call as it is"))
    scripted.ready()
    unit.check_classes()
    return ScriptedFunction(scripted)


def script_if_tracing(fn: Any) -> Any:
    """A function that a trace calls as a script, so that it keeps its loops and conditions there, and that is Python elsewhere.

    Args:
        fn: it, in the subset of scripts.

    Example:
        >>> import numtorch as torch
        >>> @torch.jit.script_if_tracing
        ... def halved(x):
        ...     while x.sum() > 1:
        ...         x = x / 2
        ...     return x
        >>> traced = torch.jit.trace(lambda x: halved(x) + 1, torch.ones(2))
        >>> traced(torch.full((2,), 4.0))
        tensor([1.5000, 1.5000])
    """
    scripted: list[Any] = []

    @functools.wraps(fn)
    def called(*args, **kwargs):
        if not is_tracing():
            return fn(*args, **kwargs)
        if not scripted:
            scripted.append(script(fn))
        return scripted[0](*args, **kwargs)
    called.__original_fn = fn                            # type: ignore[attr-defined]
    return called


def _class(kind, unit):
    """A class, once it was looked at."""
    if issubclass(kind, Module):
        raise RuntimeError(f"Type '{kind}' cannot be compiled since it inherits from nn.Module, consider passing an instance "
                           f"instead")
    if unit.known_class(kind) is None:
        raise NotSupportedError(f"jit.script: objects of class {kind.__name__} are not in a script, as it inherits from another "
                                f"class or has no __init__ of its own that is written out: use modules, tuples or dicts")
    unit.check_classes()
    return kind


def _marked(function, what):
    marked = function.fget if isinstance(function, property) else \
        function.__func__ if isinstance(function, (staticmethod, classmethod)) else function
    setattr(marked, MODIFIER, what)
    return function


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """A function or method that scripts call as Python. A script that calls it cannot be saved.

    Args:
        drop: the function; or True for what `unused` does.
        kwargs: taken for PyTorch's sake.

    Example:
        >>> import numtorch as torch
        >>> @torch.jit.ignore
        ... def show(x):
        ...     print("Python sees", x.tolist())
        ...     return x
        >>> @torch.jit.script
        ... def f(x):
        ...     return show(x) + 1
        >>> f(torch.zeros(1))
        Python sees [0.0]
        tensor([1.])
    """
    if callable(drop):
        return _marked(drop, "ignore")
    return lambda function: _marked(function, "unused" if drop else "ignore")


def unused(fn: Any) -> Any:
    """A function or method that is not read; a script that comes to call it raises.

    Args:
        fn: it.

    Example:
        >>> import numtorch as torch
        >>> @torch.jit.unused
        ... def later(x):
        ...     return eval("x")
        >>> @torch.jit.script
        ... def f(x, now: bool):
        ...     return x if now else later(x)
        >>> f(torch.ones(1), True)
        tensor([1.])
    """
    return _marked(fn, "unused")


def export(fn: Any) -> Any:
    """A method that `script` reads although `forward` does not call it.

    Args:
        fn: it.

    Example:
        >>> import numtorch as torch
        >>> class Twice(torch.nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        ...     @torch.jit.export
        ...     def halved(self, x):
        ...         return x / 2
        >>> torch.jit.script(Twice()).halved(torch.ones(1))
        tensor([0.5000])
    """
    return _marked(fn, "export")


# ---------------------------------------------------------------- classes that are scripts from the start
def script_method(fn: Any) -> Any:
    """A method that is a script as soon as an object of its class is made.

    Args:
        fn: the method, of a subclass of `torch.jit.ScriptModule`.

    Example:
        >>> import numtorch as torch
        >>> class Positive(torch.jit.ScriptModule):
        ...     @torch.jit.script_method
        ...     def forward(self, x):
        ...         if bool(x.sum() > 0):
        ...             return x
        ...         return -x
        >>> Positive()(torch.tensor([-1., -2.]))
        tensor([1., 2.])
    """
    return export(fn)


@provide
def finish_script(module: ScriptModule) -> None:
    """Have an object of a user's class be a script, of whose methods those that are none stay Python.

    Args:
        module: it.
    """
    kind = type(module)
    origin: Any = kind.__new__(kind)
    vars(origin).update(vars(module))
    made = vars(convert(origin, Unit()))
    methods = {name: _runner(name) for name, script in made["_scripts"].items() if not script.is_property}
    vars(module).clear()
    vars(module).update(made)
    module.__class__ = type(kind.__name__, (ScriptedModule, kind), {**methods, "__module__": __name__})


def _runner(name):
    def run(self, *args, **kwargs):
        raise NotImplementedError
    run.__name__ = name
    return listed_method(run)                            # what runs is the object's script of this name
