"""Functions and modules whose methods are scripts."""
from __future__ import annotations

import copy
import functools
import types
from collections.abc import Iterable
from typing import Any, NamedTuple

from ...nn.modules.module import Module
from ...ops.core.late import provide
from ...ops.core.primitive import is_ours
from ...tree import tensors_in
from ..graphs.scriptmodules import ScriptFunction, ScriptModule, over_the_same
from . import vocabulary
from .hooks import read_hooks, result_of_call
from .keeping import all_scripts
from .kinds import annotations_of, said_kind
from .problems import NotSupportedError
from .units import MODIFIER, Script, Unit
from .vocabulary import CONTAINERS, OWN, is_plain
from .writing import Writer

_ASKED_BY_PYTHON = frozenset(("__len__", "__contains__"))      # of an object's class


class Attribute(NamedTuple):
    """What a module holds, with the type that scripts are told of it.

    Args:
        value: it.
        type: such as `List[Tensor]`, for what says nothing of itself, as an empty list.

    Example:
        >>> import numtorch as torch
        >>> class Counter(torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.seen = torch.jit.Attribute({}, dict[str, int])
        ...     def forward(self, x, name: str):
        ...         self.seen[name] = x.numel()
        ...         return self.seen
        >>> torch.jit.script(Counter())(torch.zeros(3), "x")
        {'x': 3}
    """

    value: Any
    type: Any = None


class ScriptedFunction(ScriptFunction):
    """A function that `jit.script` made, or `jit.load` read.

    Attributes:
        graph: what it does, with blocks for loops and conditions.
        code: the same as Python in the subset, which reads back.
    """

    def __init__(self, script: Script) -> None:
        self._script, self.__name__, self.__doc__ = script, script.name, getattr(script.python, "__doc__", None)

    @property
    def graph(self) -> Any:
        return self._script.graph

    @property
    def code(self) -> str:
        return self._script.code

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._script.run(args, kwargs, self)

    def content(self) -> dict:
        return Writer().function(self)

    def __deepcopy__(self, memo):
        return self                                      # it holds nothing that changes

    def __repr__(self):
        return f"<scripted {self.__name__}>"


class ScriptedModule(ScriptModule):
    """A module whose methods are scripts, with the parameters, buffers and other attributes of the one it was made of.

    Attributes:
        graph: what `forward` does.
        code: the same as Python in the subset.
    """

    def __init__(self) -> None:
        super().__init__()
        own = self.__dict__
        own["_scripts"], own["_plain"], own["_functions"], own["_declared"], own["_unit"] = {}, set(), {}, {}, None
        own["_final"], own["_ignored"] = set(), {}

    def _in_front(self) -> None:
        """Have scripts come before what a module has under their names anyway: a property called `half`, a method called `type`."""
        container = vocabulary.container_of(type(self))
        names = frozenset(name for name in self._scripts if name in _ASKED_BY_PYTHON or (
            name != "forward" and name[:1] != "_" and hasattr(container or Module, name)))
        if names:
            self.__class__ = class_of(container, names)

    @property
    def code(self) -> str:
        scripts = [each.code for each in self._scripts.values() if isinstance(each, Script)]
        return "\n".join(filter(None, [super().code, *scripts]))

    def _listed(self, name):
        return self._bound(name) if name in self._scripts else super()._listed(name)

    def _has_graphs(self):
        script = self._scripts.get("forward")
        return isinstance(script, Script) and not any(each.looks or each.assigns for each in all_scripts(script, self))

    def _may_write(self, names):
        scripts = [script for name in names if isinstance(script := self._scripts.get(name), Script)]
        return any(each.writes or each.assigns for script in scripts for each in all_scripts(script, self))

    def _bound(self, name):
        script = self._scripts[name]
        return types.MethodType(script if isinstance(script, Script) else script.function, self)

    def content(self) -> dict:
        return Writer().module(self)

    def __deepcopy__(self, memo):
        return _copied(self, memo)

    def __getattr__(self, name):
        scripts = self.__dict__.get("_scripts")
        if scripts is not None and name in scripts:
            script = scripts[name]
            if script.is_property:
                return script.run((self,), {}) if isinstance(script, Script) else script.function(self)
            return self._bound(name)
        if name in self.__dict__.get("_ignored", ()):
            return types.MethodType(self._ignored[name], self)
        return super().__getattr__(name)


@functools.cache
def class_of(container: type | None, names: frozenset = frozenset()) -> type:
    """The class of scripted modules that are containers, or have scripts under names that such modules have anyway.

    Args:
        container: the class that holds modules or parameters, or None.
        names: of the scripts.
    """
    if container is None and not names:
        return ScriptedModule

    def of(name):
        return property(lambda self: ScriptedModule.__getattr__(self, name))
    bases = (ScriptedModule,) if container is None else (ScriptedModule, container)
    return type("ScriptedModule", bases, {"__module__": __name__, **{name: of(name) for name in names}})


class _Inner:
    """The `forward` of a module of this package.

    Args:
        module: as a script.
    """

    __name__ = "forward"

    def __init__(self, module: LibraryModule) -> None:
        self.module = module

    graph = property(lambda self: self.module.graph)
    code = property(lambda self: self.module.code)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.module._inner(*args, **kwargs)


class LibraryModule(ScriptModule):
    """A module of this package as what `jit.script` returns: its class is known wherever a file is read, so it is run as it is.

    Args:
        inner: the module, whose tensors and children this one's are.
    """

    def __init__(self, inner: Module) -> None:
        super().__init__()
        own = self.__dict__
        own["_inner"], own["_original_name"], own["training"] = inner, type(inner).__name__, inner.training
        for name in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
            own[name] = vars(inner)[name]

    @property
    def graph(self) -> Any:
        return self.code

    @property
    def code(self) -> str:
        return f"def forward(self, *args):\n    return torch.nn.{self._original_name}.forward(self, *args)\n"

    def _listed(self, name):
        return _Inner(self) if name == "forward" else None

    def _has_graphs(self):
        return True

    def train(self, mode: bool = True):
        self._inner.train(mode)
        return super().train(mode)

    def content(self) -> dict:
        return Writer().module(self._inner)

    def __deepcopy__(self, memo):
        return _copied(self, memo)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.__dict__["_inner"], name)

    def __getitem__(self, index):
        return self._inner[index]

    def __len__(self):
        return len(self._inner)

    def __iter__(self):
        return iter(self._inner)

    def _get_name(self):
        return f"ScriptModule(original_name={self._original_name})"


def _copied(module, memo):
    """A deep copy, which has the scripts themselves: they are given the module that they are called on."""
    new = memo[id(module)] = type(module).__new__(type(module))
    for name, value in vars(module).items():
        if name in vars(module).get("_plain", ()):       # also what a call left there
            memo.update({id(each): each.detach().clone() for each in tensors_in(value) if not each.is_leaf})
        vars(new)[name] = value if name in ("_scripts", "_unit", "_program", "_methods") else copy.deepcopy(value, memo)
    new._copy_programs(memo)
    return new


# ---------------------------------------------------------------- from a module of the user's
def convert(module: Module, unit: Unit) -> ScriptModule:
    """A module as one whose methods are scripts, and all below it.

    Args:
        module: it.
        unit: what its scripts belong to.
    """
    made: dict[int, Module] = {}
    result = _shell(module, unit, made)
    for new in list(made.values()):
        origin = unit.origins.get(id(new))
        if origin is None:
            continue
        methods = ["forward"] if type(origin).forward is not Module.forward else []
        for name in dict.fromkeys([*methods, *_exports(type(origin)), *_properties(type(origin))]):
            unit.method(new, name)
    for new in made.values():
        result_of_call(new, unit)
    return result if isinstance(result, ScriptModule) else LibraryModule(result)


def _exports(kind):
    """The names of a class's methods that are scripts although `forward` does not call them."""
    return [name for name in dir(kind) if getattr(getattr(kind, name, None), MODIFIER, None) == "export"]


@provide
def exported_scripts(module: Module, traced: Iterable[str]) -> ScriptModule | None:
    """What a trace of a module is where methods of it, or of one below it, are under `@jit.export`: a module that has these as
    scripts, and no programs yet. None where there are no such methods.

    Args:
        module: it. Modules below it that are scripts already become copies over the same tensors.
        traced: the names of its methods that are traced.

    Raises:
        RuntimeError, NotSupportedError: one is no script, or calls what is traced.
    """
    if not any(_exports(type(each)) for each in module.modules() if not isinstance(each, ScriptModule)):
        return None
    unit, made = Unit(), {}
    result = _shell(module, unit, made)
    vars(result).pop("_hooks", None)                     # which are traced
    for new in list(made.values()):
        origin = unit.origins.get(id(new))
        for name in () if origin is None else _exports(type(origin)):
            if new is not result or name not in traced:
                unit.method(new, name)
        new._modules.update((name, over_the_same(child)) for name, child in new._modules.items()
                            if isinstance(child, ScriptModule) and id(child) not in unit.origins)
    unit.check_classes()
    calls = [name for name in traced if name in vars(result).get("_scripts", ())]
    if calls:
        raise NotSupportedError(f"jit.trace: a method of {type(module).__name__} under @jit.export calls {calls[0]}, which is "
                                f"traced")
    if isinstance(result, ScriptModule):
        return result
    root = ScriptModule()
    vars(root).update({name: vars(result)[name] for name in OWN & vars(result).keys()})
    root._original_name = type(module).__name__
    return root


def _properties(kind):
    """The names of a class's properties, but of those that it says no script uses."""
    left = getattr(kind, "__jit_unused_properties__", ())
    return [name for base in kind.__mro__ if not base.__module__.startswith("numtorch.") for name, value in vars(base).items()
            if isinstance(value, property) and name not in left and getattr(value.fget, MODIFIER, None) not in ("ignore", "unused")]


def _shell(module, unit, made):
    """A module without its scripts yet."""
    if isinstance(module, LibraryModule):
        return module._inner
    if isinstance(module, ScriptModule) and (is_ours(type(module).__module__) or "_scripts" in vars(module)):
        return module
    if id(module) in made:
        return made[id(module)]
    if hasattr(module, "__prepare_scriptable__") and (prepared := module.__prepare_scriptable__()) is not module:
        made[id(module)] = _shell(prepared, unit, made)  # what it wants to be instead
        return made[id(module)]
    base = vocabulary.library_base(type(module))
    if base is not None and (base is type(module) or base not in CONTAINERS):
        new = made[id(module)] = base.__new__(base)
        own = vars(new)
        own.update(vars(module))
        own["_parameters"], own["_buffers"], own["_modules"] = dict(module._parameters), dict(module._buffers), {}
        own.pop("_hooks", None)
        own["_non_persistent_buffers_set"] = set(module._non_persistent_buffers_set)
    else:
        new = made[id(module)] = class_of(vocabulary.container_of(type(module)))()
        own = vars(new)
        own["_original_name"], own["_unit"], own["training"] = type(module).__name__, unit, module.training
        own["_parameters"], own["_buffers"] = dict(module._parameters), dict(module._buffers)
        own["_non_persistent_buffers_set"] = set(module._non_persistent_buffers_set)
        unit.origins[id(new)] = module
        _take_attributes(module, new, unit)
    for name, child in module._modules.items():
        new._modules[name] = None if child is None else _shell(child, unit, made)
    read_hooks(new, module, unit)
    return new


def _take_attributes(module, new, unit):
    """What a module holds besides tensors and modules, and what its class says of it."""
    own = vars(new)
    for base in reversed(type(module).__mro__):
        if base.__module__.startswith("numtorch."):
            continue
        for name, said in annotations_of(base).items():
            if "Final" in str(said).partition("[")[0]:
                own["_final"].add(name)
            kind = said_kind(said, unit.known_class)
            if kind is not None:
                own["_declared"][name] = kind
        own["_final"].update(vars(base).get("__constants__", ()))
        for name, value in vars(base).items():
            if getattr(value, MODIFIER, None) in ("ignore", "unused") and isinstance(value, types.FunctionType):
                own["_ignored"][name] = value
            if not name.startswith("__") and is_plain(value):
                own[name] = value
                own["_plain"].add(name)
    for name, value in vars(module).items():
        if name in own["_ignored"] and isinstance(value, types.MethodType):    # put in its place
            own["_ignored"][name] = value.__func__
        if name in OWN or name in ("_program", "_methods", "_original_name"):             # of a subclass of ScriptModule
            continue
        if isinstance(value, Attribute):
            kind = said_kind(value.type, unit.known_class)
            if kind is not None:
                own["_declared"][name] = kind
            value = value.value
        if is_plain(value):
            own[name] = value.copy() if isinstance(value, (list, dict)) else value
            own["_plain"].add(name)
        elif id(value) in vocabulary.paths():
            own["_functions"][name] = f"torch.{vocabulary.paths()[id(value)]}"
        elif isinstance(value, ScriptFunction) or (isinstance(value, types.FunctionType) and value.__name__ != "<lambda>"):
            own["_functions"][name] = f"__torch__.{unit.add(value)}"
