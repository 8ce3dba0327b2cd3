"""What scripts do with objects of users' classes (classes.py): attributes, methods, operators. Which function is called is known
when the script is made."""
from __future__ import annotations

import ast
from typing import Any

from ..classes import ScriptClass
from ..grammar import dotted
from ..kinds import BOOL, UNIT, Kind, fits, kind_of


def held(module: Any, name: str) -> bool:
    """Whether a module holds something under a name that is no method."""
    return name in module._parameters or name in module._buffers or name in module._modules or name in vars(module)


def has(module: Any, name: str) -> bool:
    """Whether a module has an attribute, where a script asks as it runs: whether it does hangs on the module.

    Args:
        module: one of several that the script goes through.
        name: of the attribute.
    """
    return held(module, name) or name in vars(module).get("_scripts", ())


class Objects:
    """What a checker knows of objects."""

    source: Any
    unit: Any
    owner: Any
    tree: Any

    def refuse(self, node, message):
        raise NotImplementedError

    def bind(self, value) -> ast.Name:
        raise NotImplementedError

    def expression(self, node, hint=None) -> tuple[Any, Kind]:
        raise NotImplementedError

    def call(self, node):
        raise NotImplementedError

    def _arguments(self, node):
        raise NotImplementedError

    def _check_arguments(self, node, script, kinds):
        raise NotImplementedError

    # ------------------------------------------------------------ attributes
    def declared_attribute(self, node) -> Kind | None:
        """The type that is known of `self.name` before it is assigned to."""
        if not isinstance(node, ast.Attribute) or not isinstance(self.owner, ScriptClass) or \
                self.expression(node.value)[1] != self.owner.result:
            return None
        return self.owner.attributes.get(node.attr, self.owner.declared.get(node.attr))

    def object_attribute(self, node, owner, kind):
        """An attribute of an object, or a property."""
        attribute_kind = kind.of[0].attribute(node.attr)
        if attribute_kind is not None:
            return ast.Attribute(owner, node.attr, ast.Load()), attribute_kind
        if node.attr in kind.of[0].constants:
            value = kind.of[0].constants[node.attr]
            return self.bind(value), kind_of(value)
        script = kind.of[0].method(node.attr)
        if script is not None and script.is_property:
            return self._called(node, script, [owner], [], ([], {}))
        return self.refuse(node, f"'{kind}' object has no attribute '{node.attr}' that a script knows" + (
            ": it is a method, call it" if script is not None else ": set it in __init__"))

    @staticmethod
    def has_attribute(kind, name) -> bool:
        """Whether objects have an attribute or method of a name."""
        made = kind.of[0]
        return made.attribute(name) is not None or name in made.constants or made.method(name) is not None

    def store_attribute(self, node, owner, kind, value: Kind, statement):
        """The made target of `object.name = ...`."""
        made, name = kind.of[0], node.attr
        itself = isinstance(node.value, ast.Name) and node.value.id == "self"
        begins = itself and self.owner is made and self.tree.name == "__init__"
        if begins and name not in made.attributes:
            if statement not in self.tree.body:
                self.refuse(node, f"{name} is set within a block: give it a value at the top of __init__ before")
            if name.startswith("__") or made.method(name) is not None:
                self.refuse(node, f"{name} is something else of the class already")
            made.attributes[name] = made.declared.get(name, value)
        there = made.attribute(name)
        if there is None:
            self.refuse(node, f"Tried to set nonexistent attribute: {name}. Did you forget to initialize it in __init__()?")
        if not fits(there, value):
            self.refuse(node, f"{name} is of type {there} and is assigned a {value}")
        return ast.Attribute(owner, name, ast.Store())

    # ------------------------------------------------------------ methods
    def call_object(self, node, target, owner, kind):
        """A call of a method of an object."""
        script = kind.of[0].method(target.attr)
        if script is None and target.attr in kind.of[0].shared:
            function = ast.copy_location(dotted(f"{UNIT}.{kind.of[0].shared[target.attr]}"), target)
            return self.call(ast.copy_location(ast.Call(function, node.args, node.keywords), node))
        if script is None or script.is_property:
            self.refuse(target, f"'{kind}' object has no attribute or method '{target.attr}'")
        given, keywords, kinds = self._arguments(node)
        return self._called(node, script, [owner, *given], keywords, kinds)

    def special(self, node, name, kind, given, kinds):
        """A call of one of the methods behind operators, with the object first among what is given."""
        script = kind.of[0].method(name)
        if script is None and name == "__ne__" and kind.of[0].method("__eq__") is not None:
            return ast.UnaryOp(ast.Not(), self.special(node, "__eq__", kind, given, kinds)[0]), BOOL
        if script is None:
            self.refuse(node, f"{kind} does not define a {name} method")
        return self._called(node, script, given, [], (kinds[0][1:], {}))

    def _called(self, node, script, given, keywords, kinds):
        script = script.ready(self, node) if hasattr(script, "ready") else script
        if script.arguments is not None:
            self._check_arguments(node, script, kinds)
        return ast.Call(self.bind(script.function), given, keywords), script.result
