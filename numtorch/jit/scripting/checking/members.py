"""Names that everybody has, and attributes: of tensors, of modules, and of what users' classes make."""
from __future__ import annotations

import ast

from ....nn.modules.container import ModuleDict
from ....nn.modules.module import Module
from ....nn.modules.parametercontainer import ParameterDict, ParameterList
from .. import vocabulary
from ..kinds import ANY, BOOL, DEVICE, DTYPE, FLOAT, NONE, STR, TENSOR, UNIT, Kind, common, fits, kind_of
from .objects import Objects, held


def said(module: Module) -> str:
    """What a module's class is called.

    Args:
        module: it.
    """
    return str(vars(module).get("_original_name", type(module).__name__))


class Members(Objects):
    """What a checker knows of attributes."""

    locals: set

    # ------------------------------------------------------------ names that everybody has
    def path(self, node) -> str | None:
        """The text of `torch.something`, `math.something` or `__torch__.something`; None for anything else."""
        names = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name) and node.id in ("torch", "math", UNIT) and node.id not in self.locals and names:
            return ".".join([node.id, *reversed(names)])
        return None

    def constant(self, node, path):
        """A value that everybody has."""
        space, name = path.split(".", 1)
        if space == "torch" and name in vocabulary.constants():
            value = vocabulary.constants()[name]
            return self.bind(value), kind_of(value)
        if space == UNIT and (known := self.unit.member(name)) is not None:
            return self.bind(known[0]), known[1]
        if space == "math" and isinstance(vocabulary.MATH.get(name), float):
            return self.bind(vocabulary.MATH[name]), FLOAT
        if space == "torch" and name in vocabulary.functions():
            return self.refuse(node, f"{path} is a function, which is called and no value")
        return self.refuse(node, f"{path} is not known in scripts")

    # ------------------------------------------------------------ attributes
    def attribute(self, node, owner, kind):
        """An attribute that is no method."""
        name, made = node.attr, ast.Attribute(owner, node.attr, ast.Load())
        if kind == TENSOR and name in vocabulary.ATTRIBUTES:
            return made, vocabulary.ATTRIBUTES[name]
        if kind == DEVICE and name in vocabulary.DEVICES:
            return made, vocabulary.DEVICES[name]
        if kind == DTYPE and name in vocabulary.DTYPES:
            return made, vocabulary.DTYPES[name]
        if kind.name == "NamedTuple" and name in (fields := dict(kind.of[0].arguments)):
            return made, fields[name]
        if kind.name == "Object":
            return self.object_attribute(node, owner, kind)
        if kind.name == "Enum" and name in kind.of[0].attributes:
            return made, kind.of[0].attributes[name]
        if kind.name == "Module":
            return made, common([self.member(node, module, name) for module in kind.of])
        if kind.name in ("Any", "Tuple") and name in vocabulary.any_names() and not name.startswith("_"):
            return made, ANY
        if kind.name == "complex" and name in ("real", "imag"):
            return made, FLOAT
        if kind.name == "Optional":
            return self.refuse(node, f"'{kind}' object has no attribute '{name}': it may be None, test `is not None` first")
        return self.refuse(node, f"'{kind}' object has no attribute or method '{name}'" + (
            ": it is a method, call it" if kind == TENSOR and vocabulary.is_method(name) else ""))

    def member(self, node, module, name) -> Kind:
        """The type of a module's attribute."""
        if name.startswith("__"):
            return self.refuse(node, f"Module '{type(module).__name__}' has no attribute '{name}'")
        if not held(module, name):
            self.unit.take(module, name)
        declared = vars(module).get("_declared", {}).get(name)
        if declared is not None:
            return declared
        for table in (module._parameters, module._buffers, module._modules):
            if name in table:
                return kind_of(table[name])
        if name == "training":
            return BOOL
        scripts = vars(module).get("_scripts")
        if scripts is not None:
            if name in vars(module)["_plain"]:
                return kind_of(vars(module)[name])
            method = self.unit.method(module, name)
            if method is not None:
                return method.result if method.is_property else self.refuse(node, f"{name} is a method, call it")
        elif name in vars(module) and not name.startswith("_"):
            return kind_of(vars(module)[name])
        return self.refuse(
            node,
            f"Module '{said(module)}' has no attribute '{name}' that a script can use: tensors, numbers, strings, "
            "lists, tuples and dicts of them, modules, and methods that are scripts",
        )

    def has_member(self, node) -> bool | None:
        """Whether the modules or the object of `hasattr(module, "name")` have such an attribute; None where some of them do."""
        kind = self.expression(node.args[0])[1]
        if kind.name == "Object" and isinstance(node.args[1], ast.Constant):
            return self.has_attribute(kind, str(node.args[1].value))
        if kind.name != "Module" or not isinstance(node.args[1], ast.Constant):
            return self.refuse(node, "hasattr in a script is asked of modules and objects of classes, with a name")
        answers = {self.module_has(module, str(node.args[1].value)) for module in kind.of}
        return None if len(answers) > 1 else True not in answers if not answers else answers.pop()

    def module_has(self, module, name) -> bool:
        """Whether a module has an attribute of a name."""
        return held(module, name) or self.unit.take(module, name) or self.unit.method(module, name) is not None

    def store_member(self, node, owner, kind, value: Kind):
        """The made target of `self.name = ...`."""
        name = node.attr
        for module in kind.of:
            if name in module._modules or name in module._parameters or vars(module).get("_scripts") is None:
                self.refuse(
                    node,
                    f"{name} of {said(module)} cannot be assigned to in a script: only what modules that are scripts hold "
                    "as tensors, numbers, strings, lists and dicts",
                )
            there = self.member(node, module, name)
            if name in vars(module)["_scripts"]:
                self.refuse(node, f"{name} of {said(module)} is a property, which scripts only read")
            if name in vars(module).get("_final", ()):
                self.refuse(node, f"{name} of {said(module)} is Final, and is assigned to")
            if not fits(there, value) and not (there == NONE and value == TENSOR and name in module._buffers):
                self.refuse(node, f"{name} is of type {there} and is assigned a {value}")
        return ast.Attribute(owner, name, ast.Store())

    def child(self, kind, node, whole) -> Kind:
        """The type of an element of modules that hold others."""
        children: list[Kind] = []
        for module in kind.of:
            if not isinstance(module, vocabulary.CONTAINERS):
                return self.refuse(node, f"'{said(module)}' object is not iterable")
            if isinstance(module, (ParameterList, ParameterDict)):
                children.append(STR if isinstance(module, ParameterDict) and not isinstance(node, ast.Subscript) else TENSOR)
            elif isinstance(module, ModuleDict) and not isinstance(node, ast.Subscript):
                children.append(STR)
            else:
                index = self._literal_index(node)
                if index is None:
                    children += map(kind_of, module._modules.values())
                elif isinstance(index, int) and not isinstance(module, ModuleDict) and -len(module) <= index < len(module):
                    children.append(kind_of(module[index]))
                elif index in module._modules:
                    children.append(kind_of(module._modules[index]))
                else:
                    self.refuse(node, f"{index!r} is no index of {said(module)}, which has {len(module)} modules")
        if whole:
            return kind
        return common(children) if children else Kind("Module")         # of which there is none

    @staticmethod
    def _literal_index(node):
        """What `modules[...]` is indexed by, where it stands there; None else."""
        try:
            index = ast.literal_eval(node.slice) if isinstance(node, ast.Subscript) else None
        except (ValueError, TypeError, SyntaxError):
            return None
        return index if type(index) in (int, str) else None
