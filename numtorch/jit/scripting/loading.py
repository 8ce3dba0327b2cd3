"""Scripts from what a file holds. Text is checked as that of a user's function was, for it is the same text."""
from __future__ import annotations

import collections
from typing import Any

from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...tensor import Tensor
from ..graphs import scriptmodules
from ..graphs.programs import program_of
from ..graphs.scriptmodules import ScriptFunction, ScriptModule
from . import enumerations, formulas, vocabulary
from .classes import SPECIAL, ScriptClass
from .enumerations import Enumeration
from .hooks import KINDS, add_hook, result_of_call
from .kinds import Fields, parse_text
from .modules import LibraryModule, ScriptedFunction, ScriptedModule, class_of
from .units import Script, TracedFunction, Unit, Unused, parsed
from .vocabulary import OWN, is_plain


def from_content(content: dict) -> Any:
    """The function or module of what a file holds.

    Args:
        content: as `content()` of a function or module gives it.

    Raises:
        ValueError, TypeError, KeyError, IndexError, AttributeError, RuntimeError: it is damaged, or no script.
    """
    if content.get("format") == scriptmodules.FORMAT:
        return scriptmodules.from_content(content, from_content)
    units = [_unit(each) for each in content["units"]]
    if content["kind"] == "function":
        return ScriptedFunction(_all_ready(units)[0].functions[content["name"]])
    modules = [_module(each, units, content["tensors"]) for each in content["modules"]]
    for made, entry in zip(modules, content["modules"]):
        for name, child in entry.get("children", {}).items():
            made._modules[_name(name)] = None if child is None else modules[child]
    for made, entry in zip(modules, content["modules"]):
        held = dict([*made.named_parameters(), *made.named_buffers()]) if "programs" in entry else {}
        for name, each in entry.get("programs", {}).items():
            program = program_of(each, held, from_content, made)
            if name == "forward":
                made._program = program
            else:
                made._methods[_name(name)] = program
    _all_ready(units)
    for made, entry in zip(modules, content["modules"]):
        if isinstance(made, ScriptedModule):
            for each in made._scripts.values():
                if isinstance(each, Script):
                    each.ready()
        if "hooks" in entry:
            result_of_call(made, units[entry["unit"]])
    root = modules[content["root"]]
    return root if isinstance(root, ScriptModule) else LibraryModule(root)


def _name(name):
    if not isinstance(name, str) or not name or "." in name:
        raise ValueError(f"{name!r} is no name")
    return name


def _all_ready(units):
    for unit in units:
        for each in unit.functions.values():
            if isinstance(each, Script):
                each.ready()
        unit.check_classes()
    return units


def _unit(entries):
    unit = Unit()
    unit.called.update(entries)
    for name, entry in entries.items():                  # types before what they are types of
        unit.functions[_name(name)] = ScriptClass(unit, name) if "methods" in entry else _entry(unit, name, entry)
    for name, entry in entries.items():
        if "methods" in entry:
            _fill(unit.functions[name], entry)
    return unit


def _fill(made, entry):
    """Give a class what a file says of it."""
    def named(name):
        if _name(name).startswith("__") and name not in SPECIAL:
            raise ValueError(f"{name} is no name of a method")
        return name
    made.methods = {named(name): _entry(made.unit, name, each, made) for name, each in entry["methods"].items()}
    made.declared = {_name(name): parse_text(text, made.unit.named) for name, text in entry["declared"].items()}
    made.shared = {named(name): _name(function) for name, function in entry["shared"].items()}
    made.constants = dict(entry["constants"])
    if not is_plain(made.constants):
        raise ValueError(f"a constant of {made.name} is no value of a script")


def _fields(unit, name, entry):
    if not is_plain(entry["defaults"]):
        raise ValueError(f"a default of {name} is no value of a script")
    made: Any = collections.namedtuple(name, [_name(field) for field, _ in entry["fields"]], defaults=entry["defaults"])
    return Fields(name, made, [(field, parse_text(text, unit.named)) for field, text in entry["fields"]])


def _entry(unit, name, entry, owner=None):
    if "text" in entry:
        result = parsed(unit, entry["text"], f"<script {name}>", owner)
        if result.name != name:
            raise ValueError(f"the text of {name} is that of {result.name}")
        result.is_property = bool(entry.get("property"))
        return result
    if "fields" in entry:
        return _fields(unit, name, entry)
    if "members" in entry:
        return enumerations.from_content(name, entry)
    if "formulas" in entry:
        return formulas.from_content(name, entry)
    if "unused" in entry:
        return Unused(name, parse_text(entry["result"], unit.named))
    nested = from_content(entry["nested"])
    if not isinstance(nested, ScriptFunction):
        raise ValueError(f"{name} is no function")
    return TracedFunction(name, nested, parse_text(entry["result"], unit.named))


def _module(entry, units, tensors):
    if "nested" in entry:
        nested = from_content(entry["nested"])
        if not isinstance(nested, ScriptModule):
            raise ValueError("a module is none")
        return nested
    kind = ScriptedModule if entry["class"] is None else vocabulary.library_class(_name(entry["class"]))
    if not isinstance(kind, type) or (kind is not ScriptedModule and not vocabulary.is_library(kind)):
        raise ValueError(f"{entry['class']} is no module of this package")
    if kind is ScriptedModule:
        containers = {container.__name__: container for container in vocabulary.CONTAINERS}
        made: Any = class_of(None if entry.get("container") is None else containers[entry["container"]])()
    else:
        made = kind.__new__(kind)
        Module.__init__(made)
    own = vars(made)
    own["training"] = bool(entry["training"])
    own["_non_persistent_buffers_set"] = set(entry["non-persistent"])
    for name, held in entry["parameters"].items():
        made._parameters[_name(name)] = _tensor(held, tensors)
    for name, held in entry["buffers"].items():
        made._buffers[_name(name)] = _tensor(held, tensors)
    for name, value in entry["attributes"].items():
        if name in OWN or name.startswith("__") or not is_plain(value):
            raise ValueError(f"{name} is no attribute")
        own[_name(name)] = value
    if kind is not ScriptedModule:
        for name, path in entry["functions"].items():
            own[_name(name)] = vocabulary.functions()[path.removeprefix("torch.")]
        _hook(made, entry, {name: _entry(units[entry["unit"]], name, each, made)
                            for name, each in entry.get("methods", {}).items()})
        return made
    own["_original_name"], own["_unit"] = str(entry["name"]), units[entry["unit"]]
    for name, said in entry.get("of classes", {}).items():
        if name in OWN:
            raise ValueError(f"{name} is no attribute")
        own[_name(name)] = _of_class(units[entry["unit"]], *said)
    own["_plain"], own["_functions"] = (
        {*entry["attributes"], *entry.get("of classes", ())},
        {_name(name): str(path) for name, path in entry["functions"].items()},
    )
    own["_declared"] = {_name(name): parse_text(text, units[entry["unit"]].named) for name, text in entry["declared"].items()}
    for name, each in entry["methods"].items():
        made._scripts[_name(name)] = _entry(units[entry["unit"]], name, each, made)
    made._in_front()
    _hook(made, entry, made._scripts)
    return made


def _hook(made, entry, scripts):
    """Give a module the hooks that a file says it has."""
    for kind, names in entry.get("hooks", {}).items():
        for name in names:
            add_hook(made, KINDS[KINDS.index(kind)], scripts[name])


def _of_class(unit, name, said):
    """A value of a class that a unit has; without a name, a plain one."""
    if not name and is_plain(said):
        return said
    kind = unit.functions[name]
    if isinstance(kind, Enumeration):
        return kind.members[said]
    values = {_name(each): _of_class(unit, *value) for each, value in said.items()}
    if isinstance(kind, Fields):
        return kind.function(**values)
    if not isinstance(kind, ScriptClass) or any(each.startswith("__") for each in values):
        raise ValueError(f"{name} is no class of these attributes")
    made = object.__new__(kind.made)
    vars(made).update(values)
    return made


def _tensor(held, tensors):
    if held is None:
        return None
    number, is_parameter, wanted = held
    tensor = tensors[number]
    if not isinstance(tensor, Tensor):
        raise ValueError("a tensor is none")
    if not is_parameter:
        return tensor
    if not isinstance(tensor, Parameter):
        tensor = tensors[number] = Parameter(tensor, requires_grad=bool(wanted))
    return tensor
