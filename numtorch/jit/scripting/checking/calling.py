"""Calls of a script: which there are, and of what type their results are."""
from __future__ import annotations

import ast
import re
from typing import Any

from ....nn.modules.container import ModuleDict
from .. import vocabulary
from ..forking import forked, wait
from ..grammar import dotted
from ..hooks import check_call, result_of_call
from ..kinds import (
    ANY,
    BOOL,
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
from .effects import Effects
from .members import Members, said
from .objects import has

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


class Calling(Members, Effects):
    """What a checker knows of calls."""

    locals: set
    env: dict

    def element(self, kind, node) -> Kind:
        raise NotImplementedError

    def kinds_of(self, node) -> tuple:
        raise NotImplementedError

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
            script, result = self.unit.method(module, "forward"), result_of_call(module, self.unit)
            if result is None:
                self.refuse(node, f"{said(module)} has no forward")
            if script is not None and script.arguments is not None:
                self._check_arguments(node, script, kinds)
            if kinds is not None:
                check_call(self, node, module, *kinds)
            results.append(result)
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
            elif name == "forward" and (vars(module).get("_scripts") is None or module._program is not None):
                results.append(vocabulary.said_result(type(module).forward))
            elif isinstance(module, ModuleDict) and name in ("keys", "values", "items"):
                each = common([kind_of(child) for child in module.values()]) if len(module) else Kind("Module")
                results.append(Kind("Iterator", ({"keys": STR, "values": each, "items": tuple_of(STR, each)}[name],)))
            elif self._holds_object(module, name):
                return self._call_value(node, *self.expression(target))
            else:
                self.refuse(node, f"Module '{said(module)}' has no method '{name}' that is a script")
        return ast.Call(ast.copy_location(called, target), given, keywords), common(results) if results else ANY
