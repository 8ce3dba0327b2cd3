"""Calls and attributes of a script: which there are, and of what type they are."""
from __future__ import annotations

import ast
import re
from typing import Any

from ...nn.modules.container import ModuleDict
from ...nn.modules.module import Module
from ...nn.modules.parametercontainer import ParameterDict, ParameterList
from . import vocabulary
from .effects import Effects
from .forking import forked, wait
from .grammar import dotted
from .kinds import (
    ANY,
    BOOL,
    DEVICE,
    DTYPE,
    FLOAT,
    INT,
    NONE,
    STR,
    TENSOR,
    UNIT,
    Kind,
    as_list,
    common,
    fits,
    is_of,
    join,
    kind_of,
    list_of,
    tuple_of,
    unnamed,
)
from .objects import Objects, has, held

_PLAIN_FIELDS = re.compile(r"(?:[^{}]|\{\{|\}\}|\{\d*(?::[^{}]*)?\})*")
_FIELDS = "format() in a script is of a text with fields such as {} and {0:.3f}: or write an f-string"
_WHOLE = ("floor", "ceil", "trunc", "gcd", "lcm", "comb", "perm", "factorial", "isqrt")
_PAIRS = {"modf": tuple_of(FLOAT, FLOAT), "frexp": tuple_of(FLOAT, INT)}
_ASKED = ("isnan", "isinf", "isfinite", "isclose")
_INDEX_KINDS = {
    "abs": None,
    "max": None,
    "min": None,
    "sum": None,
    "bool": BOOL,
    "int": INT,
    "float": FLOAT,
    "str": STR,
    "len": INT,
    "ord": INT,
    "hash": INT,
    **dict.fromkeys(("bin", "hex", "oct"), STR),
    "chr": STR,
    "any": BOOL,
    "all": BOOL,
    "print": NONE,
    "complex": Kind("complex"),
    "round": ANY,
    "pow": ANY,
    "divmod": ANY,
}


def _formatted(text, *args, **kwargs):
    """`text.format(...)`, which reaches nothing in its arguments."""
    if not _PLAIN_FIELDS.fullmatch(text):
        raise ValueError(f"{_FIELDS}, got {text!r}")
    return text.format(*args, **kwargs)


class Calling(Objects, Effects):
    """What a checker knows of calls and attributes."""

    locals: set
    env: dict

    def element(self, kind, node) -> Kind:
        raise NotImplementedError

    def kinds_of(self, node) -> tuple:
        raise NotImplementedError

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
            f"Module '{_said(module)}' has no attribute '{name}' that a script can use: tensors, numbers, strings, "
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
                    f"{name} of {_said(module)} cannot be assigned to in a script: only what modules that are scripts hold "
                    "as tensors, numbers, strings, lists and dicts",
                )
            there = self.member(node, module, name)
            if name in vars(module)["_scripts"]:
                self.refuse(node, f"{name} of {_said(module)} is a property, which scripts only read")
            if name in vars(module).get("_final", ()):
                self.refuse(node, f"{name} of {_said(module)} is Final, and is assigned to")
            if not fits(there, value) and not (there == NONE and value == TENSOR and name in module._buffers):
                self.refuse(node, f"{name} is of type {there} and is assigned a {value}")
        return ast.Attribute(owner, name, ast.Store())

    def child(self, kind, node, whole) -> Kind:
        """The type of an element of modules that hold others."""
        children: list[Kind] = []
        for module in kind.of:
            if not isinstance(module, vocabulary.CONTAINERS):
                return self.refuse(node, f"'{_said(module)}' object is not iterable")
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
                    self.refuse(node, f"{index!r} is no index of {_said(module)}, which has {len(module)} modules")
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

    # ------------------------------------------------------------ calls
    def call(self, node):
        """A call, made, and the type of what it returns."""
        target = node.func
        if any(each.arg is None for each in node.keywords):
            self.refuse(node, "`**` in a call is not in a script: name each argument")
        if isinstance(target, ast.Name) and target.id not in self.locals:
            return self._call_builtin(node, target.id)
        path = self.path(target)
        if path is not None:
            return self._call_path(node, path)
        if isinstance(target, ast.Attribute):
            owner, kind = self.expression(target.value)
            if kind.name != "Module":
                return self._call_method(node, target, owner, kind)
            if not all(target.attr in module._modules for module in kind.of):
                return self._call_member(node, target, owner, kind)
        made, kind = self.expression(target)
        if kind.name == "Object":
            return self._call_value(node, made, kind)
        if kind.name != "Module":
            self.refuse(node, f"a value of type {kind} is called: functions are no values in a script")
        given, keywords, kinds = self._arguments(node)
        results = []
        for module in kind.of:
            script = self.unit.method(module, "forward")
            if script is not None:
                if script.arguments is not None:
                    self._check_arguments(node, script, kinds)
                results.append(script.result)
            elif vars(module).get("_scripts") is not None:
                self.refuse(node, f"{_said(module)} has no forward")
            else:
                results.append(vocabulary.said_result(type(module).forward))
        return ast.Call(made, given, keywords), common(results) if results else ANY

    def _arguments(self, node):
        """Arguments made, and their types by place and by name."""
        given = [self.expression(each) for each in node.args]
        named = [(each.arg, self.expression(each.value)) for each in node.keywords]
        starred = any(isinstance(each, ast.Starred) for each in node.args)
        kinds: Any = None if starred else ([kind for _, kind in given], {name: kind for name, (_, kind) in named})
        return [made for made, _ in given], [ast.keyword(name, made) for name, (made, _) in named], kinds

    def _check_arguments(self, node, script, kinds):
        if kinds is None:
            return
        by_place, by_name = kinds
        wanted = dict(script.arguments)
        if len(by_place) > len(script.places):
            self.refuse(
                node, f"{script.name}() expected at most {len(script.places)} argument(s) but received {len(by_place)} argument(s)"
            )
        given = dict(zip(script.places, by_place))
        for name, kind in by_name.items():
            if name not in wanted or name in given:
                self.refuse(node, f"{script.name}(): Unknown keyword argument '{name}'" if name not in wanted else
                            f"{script.name}() got two values for the argument '{name}'")
            given[name] = kind
        for name, kind in wanted.items():
            if name not in given:
                if name not in script.with_default:
                    self.refuse(node, f"{script.name}() is missing value for argument '{name}'")
            elif not fits(kind, given[name]) and not fits(kind, as_list(given[name])):
                self.refuse(node, f"{script.name}() Expected a value of type '{kind}' for argument '{name}' but instead found type "
                            f"'{given[name]}'")

    def _call_path(self, node, path):
        space, name = path.split(".", 1)
        if space == UNIT:
            script = self.unit.function(self, node, name)
            given, keywords, kinds = self._arguments(node)
            if script.arguments is not None:
                self._check_arguments(node, script, kinds)
            return ast.Call(self.bind(script.function), given, keywords), script.result
        if path in ("torch.jit.fork", "torch.jit.wait"):
            return self._call_later(node, name == "jit.fork")
        given, keywords, kinds = self._arguments(node)
        if space == "math":
            self.note_builtin("float", kinds)
            if not callable(vocabulary.MATH.get(name)):
                self.refuse(node, f"{path} is not known in scripts")
            return ast.Call(self.bind(vocabulary.MATH[name]), given, keywords), _PAIRS[name] if name in _PAIRS else \
                INT if name in _WHOLE else BOOL if name in _ASKED else FLOAT
        if name not in vocabulary.functions():
            self.refuse(node, f"{path} is not known in scripts")
        if kinds is not None and name not in ("is_tensor", "tensor", "as_tensor"):
            for place, (each, kind) in enumerate(zip(node.args, kinds[0])):
                if (kind == STR and not vocabulary.takes_text(name, place)) or kind.name == "Module":
                    self.refuse(each, f"{path}() got a {kind} where a Tensor or a number is expected")
        self.note_function(name.rpartition(".")[2], keywords)
        made = ast.Call(self.bind(vocabulary.functions()[name]), given, keywords)
        if name == "_assert":
            self.note_test(kinds[0][0] if kinds and kinds[0] else ANY)
        if name == "jit._unwrap_optional" and kinds and kinds[0]:
            return made, kinds[0][0].of[0] if kinds[0][0].name == "Optional" else kinds[0][0]
        return made, vocabulary.result_kind(name)

    def _call_later(self, node, forks):
        """`torch.jit.fork(function(...))`, as a text has it, and `torch.jit.wait(future)`."""
        if len(node.args) != 1 or node.keywords:
            self.refuse(node, "fork() has one call in it" if forks else "wait() takes one future")
        made, kind = self.expression(node.args[0])
        if forks:
            if not isinstance(made, ast.Call):
                self.refuse(node, "fork() calls a function, a method or a module")
            return ast.Call(self.bind(forked), [made.func, *made.args], made.keywords), Kind("Future", (kind,))
        if kind.name not in ("Future", "Any"):
            self.refuse(node, f"wait() expected a value of type 'Future[t]' but instead found type '{kind}'")
        return ast.Call(self.bind(wait), [made], []), kind.of[0] if kind.of else ANY

    def _call_builtin(self, node, name):
        if name == "annotate" and len(node.args) == 2:
            kind = self.kinds_of(node.args[0])[0]
            made, actual = self.expression(node.args[1], kind)
            if not fits(kind, actual):
                self.refuse(node, f"expected an expression of type {kind} but found one of type {actual}")
            return made, kind
        if name == "isinstance" and len(node.args) == 2:
            made, _ = self.expression(node.args[0])
            return ast.Call(self.bind(is_of), [made, self.bind(self.kinds_of(node.args[1]))], []), BOOL
        if name == "getattr" and len(node.args) == 2 and isinstance(node.args[1], ast.Constant):
            return self.expression(ast.copy_location(ast.Attribute(node.args[0], str(node.args[1].value), ast.Load()), node))
        if name == "getattr" and len(node.args) == 3:
            there = self.has_member(node)
            if there is None:
                self.refuse(node, f"some of these modules have {node.args[1].value}, and some have not: ask each by hasattr")
            attribute = ast.Call(node.func, node.args[:2], [])
            return self.expression(ast.copy_location(attribute, node) if there else node.args[2])
        if name == "hasattr" and len(node.args) == 2:
            there = self.has_member(node)
            asked = ast.Call(self.bind(has), [self.expression(node.args[0])[0], node.args[1]], [])
            return asked if there is None else ast.Constant(there), BOOL
        if name == "warn":
            return self._call_warn(node)
        if name not in vocabulary.BUILTINS:
            self.refuse(node, f"undefined value {name}" if name not in vocabulary.EXCEPTIONS else
                        f"{name} is for `raise` in a script")
        given, keywords, kinds = self._arguments(node)
        if name in ("min", "max", "sorted") and any(each.arg == "key" for each in node.keywords):
            self.refuse(node, f"{name}() with a key is not in a script")
        if name == "print" and any(each.arg not in ("sep", "end") for each in node.keywords):
            self.refuse(node, "print() in a script writes to the terminal")
        self.note_builtin(name, kinds)
        first = (kinds[0][0] if kinds and kinds[0] else ANY)
        if name == "len" and first.name == "Object":
            return self.special(node, "__len__", first, given, kinds)
        if name == "len" and first.name == "Module" and any(self.unit.method(module, "__len__") for module in first.of):
            return self.call(ast.copy_location(ast.Call(ast.Attribute(node.args[0], "__len__", ast.Load()), [], []), node))
        if name == "len" and unnamed(first).name not in ("Tensor", "List", "Dict", "Tuple", "str", "Any", "Module", "Iterator"):
            self.refuse(node, f"a {first} has no len()")
        return ast.Call(self.bind(vocabulary.BUILTINS[name]), given, keywords), self._builtin_kind(node, name, kinds, first)

    def _call_warn(self, node):
        """`warnings.warn(message, category, stacklevel)`: the line that is shown is the script's."""
        places = dict(zip(("message", "category", "stacklevel"), node.args)) | {each.arg: each.value for each in node.keywords}
        category = places.get("category", ast.Name("UserWarning"))
        if not {"message"} <= places.keys() <= {"message", "category", "stacklevel"} or not isinstance(category, ast.Name) or \
                category.id not in vocabulary.WARNINGS:
            self.refuse(node, f"warn() takes a message and one of {', '.join(vocabulary.WARNINGS)} in a script")
        self.note_builtin("print", None)                 # which is what it does
        message = self.expression(places["message"])[0]
        return ast.Call(self.bind(vocabulary.BUILTINS["warn"]), [message, self.bind(vocabulary.WARNINGS[category.id])], []), NONE

    def _builtin_kind(self, node, name, kinds, first):
        if name in ("range",):
            return Kind("Iterator", (INT,))
        if name == "enumerate":
            return Kind("Iterator", (tuple_of(INT, self.element(first, node)),))
        if name == "zip":
            return Kind("Iterator", (tuple_of(*[self.element(kind, node) for kind in kinds[0]]) if kinds else ANY,))
        if name == "reversed":
            return Kind("Iterator", (self.element(first, node),))
        if name in ("list", "sorted"):
            return list_of(self.element(first, node) if kinds and kinds[0] else ANY)
        if name == "tuple":
            return unnamed(first) if first.name in ("Tuple", "NamedTuple") else Kind("Tuple")
        if name == "dict":
            return first if first.name == "Dict" else Kind("Dict", (ANY, ANY))
        if name in ("abs", "max", "min", "sum"):
            if kinds and len(kinds[0]) == 1:
                return first if name == "abs" or first == TENSOR else self.element(first, node) if first != ANY else ANY
            joined = common(kinds[0]) if kinds and kinds[0] else ANY
            return joined
        return _INDEX_KINDS.get(name, ANY)

    def _call_method(self, node, target, owner, kind):
        """A method of a value."""
        if kind.name == "Object":
            return self.call_object(node, target, owner, kind)
        name = target.attr
        given, keywords, _ = self._arguments(node)
        made = ast.Call(ast.copy_location(ast.Attribute(owner, name, ast.Load()), target), given, keywords)
        if name == "format" and kind == STR:
            if not isinstance(target.value, ast.Constant):
                made = ast.Call(self.bind(_formatted), [owner, *given], keywords)
            elif not _PLAIN_FIELDS.fullmatch(target.value.value):
                self.refuse(node, _FIELDS)
            return made, STR
        if kind == TENSOR or kind == ANY:
            self.note_function(name, keywords)
        if kind == TENSOR and vocabulary.is_method(name):
            method_kind = vocabulary.method_kind(name)
            return made, (INT if node.args or node.keywords else list_of(INT)) if name in ("size", "stride") else method_kind
        table = {"List": vocabulary.LISTS, "Dict": vocabulary.DICTS, "str": vocabulary.STRINGS}.get(kind.name, {})
        if name in table:
            return made, self._container_method(node, name, kind, table[name])
        if kind.name in ("Any", "Tuple") and name in vocabulary.any_names() and (kind.name == "Any" or name in ("index", "count")):
            return made, ANY
        if kind == Kind("number") and name == "is_integer":
            return made, BOOL
        if kind.name == "Future" and name == "wait" and not node.args:
            return made, kind.of[0]
        if kind.name == "Optional":
            return self.refuse(
                node, f"'{kind}' object has no attribute or method '{name}': it may be None, test `is not None` first"
            )
        return self.refuse(node, f"'{kind}' object has no attribute or method '{name}'")

    def _container_method(self, node, name, kind, said):
        if kind.name == "List":
            if name == "append" and node.args and kind.of and not fits(kind.of[0], actual := self.expression(node.args[0])[1]):
                self.refuse(node, f"a {actual} is appended to a {kind}")
            if name == "append" and node.args and isinstance(node.func.value, ast.Name) and kind.of == (ANY,) and \
                    node.func.value.id in self.env:
                self.env[node.func.value.id] = list_of(self.expression(node.args[0])[1])
            return {"pop": kind.of[0] if kind.of else ANY, "copy": kind}.get(name, said)
        if kind.name == "Dict" and kind.of:
            key, value = kind.of
            return {
                "keys": Kind("Iterator", (key,)),
                "values": Kind("Iterator", (value,)),
                "items": Kind("Iterator", (tuple_of(key, value),)),
                "pop": value,
                "copy": kind,
                "setdefault": value,
                "get": (join(value, NONE) if len(node.args) == 1 else value) or ANY,
            }.get(name, said)
        return said

    def _call_value(self, node, made, kind):
        """A call of an object."""
        if node.keywords:
            self.refuse(node, "an object is called with its arguments by place in a script")
        given, _, kinds = self._arguments(node)
        return self.special(node, "__call__", kind, [made, *given], ([kind, *(kinds or ((),))[0]], {}))

    def _holds_object(self, module, name):
        """Whether an attribute of a module is an object of a user's class."""
        self.unit.take(module, name)
        return vars(module).get("_declared", {}).get(name, ANY).name == "Object"

    def _call_member(self, node, target, owner, kind):
        """A method of a module."""
        name, results = target.attr, []
        given, keywords, kinds = self._arguments(node)
        called = ast.Attribute(owner, name, ast.Load())
        for module in kind.of:
            function = vars(module).get("_functions", {}).get(name) or self.unit.static_method(module, name)
            if function is not None:                     # an attribute that is a function, as self.activation
                if len(kind.of) > 1:
                    self.refuse(node, f"{name} is a function of its own in each of several modules: call the modules instead")
                node = ast.copy_location(ast.Call(dotted(function), node.args, node.keywords), node)
                return self.call(node)
            script = self.unit.method(module, name)
            if script is not None:
                if script.arguments is not None:
                    self._check_arguments(node, script, kinds)
                results.append(script.result)
            elif vars(module).get("_scripts") is None and name == "forward":
                results.append(vocabulary.said_result(type(module).forward))
            elif isinstance(module, ModuleDict) and name in ("keys", "values", "items"):
                each = common([kind_of(child) for child in module.values()]) if len(module) else Kind("Module")
                results.append(Kind("Iterator", ({"keys": STR, "values": each, "items": tuple_of(STR, each)}[name],)))
            elif self._holds_object(module, name):
                return self._call_value(node, *self.expression(target))
            else:
                self.refuse(node, f"Module '{_said(module)}' has no method '{name}' that is a script")
        return ast.Call(ast.copy_location(called, target), given, keywords), common(results) if results else ANY


def _said(module: Module) -> str:
    return str(vars(module).get("_original_name", type(module).__name__))
