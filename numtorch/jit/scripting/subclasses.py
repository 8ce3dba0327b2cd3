"""Classes of modules that are scripts from the start, as PyTorch had them first: of `ScriptModule`, with methods under
`@script_method`."""
from __future__ import annotations

from typing import Any

from ..graphs.scriptmodules import finishing, listed_method
from .modules import ScriptedModule, convert
from .scripts import export
from .units import Unit


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


def _finish(module):
    """Have an object be a script, of whose methods those that are none stay Python."""
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


finishing.append(_finish)
