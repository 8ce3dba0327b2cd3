"""What a file holds of scripts: their text, and tensors."""
from __future__ import annotations

from typing import Any

from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...tensor import Tensor
from ..graphs.scriptmodules import ScriptModule
from . import vocabulary
from .classes import ScriptClass
from .enumerations import Enumeration
from .formulas import Formula
from .hooks import KINDS, hooks_of, scripts_of
from .kinds import Fields, accepts
from .units import Python, Script, Unit, Unused
from .vocabulary import OWN, is_plain

FORMAT = "numtorch script 1"


def _of_class(unit, value):
    """What a file holds of a value that is of a class of the user's: the class, and the member, or fields or attributes. Those that
    are plain have no class."""
    if is_plain(value):
        return "", value
    kind = next((each for each in unit.functions.values()
                 if isinstance(each, (Enumeration, Fields, ScriptClass)) and accepts(each.result, value)), None)
    if kind is None:
        raise RuntimeError(f"jit.save: a module holds a {type(value).__name__}, which no file can")
    if isinstance(kind, Enumeration):
        return kind.name, value.name
    return kind.name, {name: _of_class(unit, getattr(value, name))
                       for name in (kind.places if isinstance(kind, Fields) else kind.attributes)}


class Writer:
    """What a file holds of a script and of all that it calls."""

    def __init__(self) -> None:
        self.units: list[Unit] = []
        self.modules: list[Any] = []
        self.places: dict[int, int] = {}
        self.tensors: list[Tensor] = []
        self.numbers: dict[int, int] = {}

    def function(self, scripted: Any) -> dict:
        """A function.

        Args:
            scripted: it.
        """
        return {"format": FORMAT, "kind": "function", "name": scripted._script.name, "units": [self.unit(scripted._script.unit)]}

    def module(self, scripted: Any) -> dict:
        """A module.

        Args:
            scripted: it.
        """
        root = self.add(scripted)
        return {"format": FORMAT, "kind": "module", "root": root, "modules": self.modules,
                "units": [self.unit(unit) for unit in self.units], "tensors": self.tensors}

    def unit(self, unit):
        return {name: self.entry(name, each) for name, each in unit.reached().items()}

    def entry(self, name, entry):
        if isinstance(entry, Script):
            return {"text": entry.code, **({"property": True} if entry.is_property else {})}
        if isinstance(entry, ScriptClass):
            return {"methods": {each: self.entry(each, script) for each, script in entry.methods.items()},
                    "declared": {each: str(kind) for each, kind in entry.declared.items()}, "shared": dict(entry.shared),
                    "constants": dict(entry.constants)}
        if isinstance(entry, Fields):
            return {"fields": [(field, str(kind)) for field, kind in entry.arguments],
                    "defaults": [entry.function._field_defaults[field] for field in entry.places if field in entry.with_default]}
        if isinstance(entry, (Enumeration, Formula)):
            return entry.content()
        if isinstance(entry, Unused):
            return {"unused": name, "result": str(entry.result)}
        if isinstance(entry, Python):
            raise RuntimeError(
                f"jit.save: the script calls {name}, which is Python (torch.jit.ignore): mark it with torch.jit.unused, or "
                "write it in the subset"
            )
        return {"nested": entry.function.content(), "result": str(entry.result)}

    def tensor(self, tensor):
        """The number of a tensor; None for none."""
        if tensor is None:
            return None
        if id(tensor) not in self.numbers:
            self.numbers[id(tensor)] = len(self.tensors)
            self.tensors.append(tensor.detach())
        number = self.numbers[id(tensor)]
        return number, isinstance(tensor, Parameter), bool(tensor.requires_grad)

    def place_of(self, unit):
        place = next((i for i, each in enumerate(self.units) if each is unit), None)
        if place is None:
            place = len(self.units)
            self.units.append(unit)
        return place

    def hooks(self, module):
        """What a file holds of a module's hooks: their names by kind, and the scripts that these are."""
        scripts = scripts_of(module)
        if len(scripts) < sum(map(len, module._hooks.values())):
            raise RuntimeError(f"jit.save: {type(module).__name__} has hooks that are Python, which no file holds")
        if not scripts:
            return {}
        return {"hooks": {kind: [hook.name for hook in hooks_of(module, kind)] for kind in KINDS},
                "methods": {script.name: self.entry(script.name, script) for script in scripts},
                "unit": self.place_of(scripts[0].unit)}

    def add(self, module: Module | None) -> int | None:
        """The number of a module.

        Args:
            module: it.
        """
        if module is None:
            return None
        if id(module) in self.places:
            return self.places[id(module)]
        place = self.places[id(module)] = len(self.modules)
        self.modules.append(None)
        if isinstance(module, ScriptModule) and "_scripts" not in vars(module):
            self.modules[place] = {"nested": module.content()}
            return place
        own = vars(module)
        entry = self.modules[place] = {
            "training": module.training, "non-persistent": sorted(module._non_persistent_buffers_set),
            "parameters": {name: self.tensor(value) for name, value in module._parameters.items()},
            "buffers": {name: self.tensor(value) for name, value in module._buffers.items()}}
        if module._hooks is not None:
            entry.update(self.hooks(module))
        if "_scripts" in own:
            container = vocabulary.container_of(type(module))
            attributes = {name: own[name] for name in sorted(module._plain)}
            entry.update({"class": None, "name": module._original_name, "unit": self.place_of(module._unit),
                          "container": None if container is None else container.__name__,
                          "methods": {name: self.entry(name, each) for name, each in module._scripts.items()},
                          "attributes": {name: value for name, value in attributes.items() if is_plain(value)},
                          "of classes": {name: _of_class(module._unit, value) for name, value in attributes.items()
                                         if not is_plain(value)},
                          "functions": dict(module._functions),
                          "declared": {name: str(kind) for name, kind in module._declared.items()}})
            programs = {**({} if module._program is None else {"forward": module._program}), **module._methods}
            if programs:
                held = dict([*module.named_parameters(), *module.named_buffers()])
                entry["programs"] = {name: program.content(held) for name, program in programs.items()}
        else:
            attributes = {name: value for name, value in own.items() if name not in OWN}
            functions = {name: f"torch.{vocabulary.paths()[id(value)]}" for name, value in attributes.items()
                         if id(value) in vocabulary.paths()}
            odd = [name for name, value in attributes.items() if name not in functions and not is_plain(value)]
            if odd:
                raise RuntimeError(f"jit.save: {type(module).__name__} holds what no file can: {', '.join(odd)}")
            entry.update({"class": type(module).__name__, "functions": functions,
                          "attributes": {name: value for name, value in attributes.items() if name not in functions}})
        entry["children"] = {name: self.add(child) for name, child in module._modules.items()}
        return place
