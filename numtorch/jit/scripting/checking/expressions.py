"""The expressions of a script: of what type each is, and what a condition says of types."""
from __future__ import annotations

import ast
from typing import Any

from .. import vocabulary
from ..classes import OPERATORS
from ..grammar import decided, refuse_node
from ..kinds import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    STR,
    TENSOR,
    Kind,
    as_list,
    common,
    fits,
    is_of,
    join,
    list_of,
    optional,
    tuple_of,
    unnamed,
)
from .calling import Calling

_NUMBERS = ("int", "float", "bool", "number", "complex")


def _joined(one, other):
    """A list and a tuple, of which one may be a size."""
    return one + other if isinstance(one, tuple) and isinstance(other, tuple) else [*one, *other]


class Expressions(Calling):
    """What a checker knows of expressions."""

    missing: dict
    declared: dict

    def store(self, target, kind, node):
        raise NotImplementedError

    # ------------------------------------------------------------ conditions
    def condition(self, node):
        made, kind = self.expression(node)
        self.note_test(kind)
        if kind.name in ("Module", "Iterator", "NoneType", "Object", "Enum"):
            self.refuse(node, f"Could not cast value of type {kind} to bool")
        return made, kind

    def known(self, node) -> bool | None:
        """What a condition is where types decide it."""
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.known(node.operand)
            return None if inner is None else not inner
        if isinstance(node, ast.BoolOp):
            saved = dict(self.env)

            def part(each):
                value = self.known(each)
                self.env.update(self.learnt(each)[isinstance(node.op, ast.Or)])
                return value
            result = decided(node, part)
            self.env = saved
            return result
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            kind, other = self.expression(node.left)[1], self.expression(node.comparators[0])[1]
            if other == NONE and kind.name not in ("Any", "Optional"):
                return (kind == NONE) is isinstance(node.ops[0], ast.Is)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hasattr" and len(node.args) == 2:
            return self.has_member(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance" and len(node.args) == 2:
            kind, wanted = self.expression(node.args[0])[1], self.kinds_of(node.args[1])
            if kind.name == "Module":
                answers = {is_of(module, wanted) for module in kind.of}
                return answers.pop() if len(answers) == 1 else None
            if kind.name in ("Any", "Optional", "number"):
                return None
            if any(each == kind or (each.name == kind.name and not each.of) for each in wanted):
                return True
            if not any(each.name == kind.name for each in wanted):
                return False
        return None

    def learnt(self, node) -> tuple[dict, dict]:
        """What types are known to be where a condition holds, and where it does not."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            true, false = self.learnt(node.operand)
            return false, true
        if isinstance(node, ast.BoolOp):
            parts = [self.learnt(each) for each in node.values]
            which = 0 if isinstance(node.op, ast.And) else 1
            merged = {name: kind for part in parts for name, kind in part[which].items()}
            return (merged, {}) if which == 0 else ({}, merged)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)) and \
                isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None:
            name, kind = self.place(node.left)
            if name is not None and kind.name == "Optional":
                some, none = {name: kind.of[0]}, {name: NONE}
                return (none, some) if isinstance(node.ops[0], ast.Is) else (some, none)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance" and len(node.args) == 2:
            name, kind = self.place(node.args[0])
            wanted = self.kinds_of(node.args[1])
            if name is not None and kind.name == "Module":
                return self._parted(name, kind, lambda module: is_of(module, wanted))
            if name is not None and len(wanted) == 1:
                rest = {name: NONE} if kind.name == "Optional" and kind.of[0] == wanted[0] else {}
                return {name: wanted[0]}, rest
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hasattr" and len(node.args) == 2:
            name, kind = self.place(node.args[0])
            if name is not None and kind.name == "Module":
                return self._parted(name, kind, lambda module: self.module_has(module, node.args[1].value))
        return {}, {}

    @staticmethod
    def _parted(name, kind, holds):
        """What a variable is where something holds of the module that it is, and where it does not."""
        true = tuple(module for module in kind.of if holds(module))
        return {name: Kind("Module", true)}, {name: Kind("Module", tuple(module for module in kind.of if module not in true))}

    def place(self, node):
        """The name of a variable or of a module's attribute, with its type."""
        at, names = node, []
        while isinstance(at, ast.Attribute):
            names.append(at.attr)
            at = at.value
        if isinstance(at, ast.Name) and at.id in self.env:
            return ".".join([at.id, *reversed(names)]), self.expression(node)[1]
        return None, ANY

    # ------------------------------------------------------------ expressions
    def expression(self, node, hint: Kind | None = None) -> tuple[Any, Kind]:
        """The made expression, and its type.

        Args:
            node: the expression.
            hint: the type that is wanted, for lists and dicts without elements.
        """
        handler = getattr(self, f"_of_{type(node).__name__}", None)
        if handler is None:
            refuse_node(self.source, node)
        if isinstance(node, (ast.List, ast.Dict)):
            made, kind = handler(node, hint)
        else:
            made, kind = handler(node)
        return ast.copy_location(made, node), kind

    def _of_Constant(self, node):
        value = node.value
        kinds = {bool: BOOL, int: INT, float: FLOAT, str: STR, complex: Kind("complex"), type(None): NONE, type(Ellipsis): ANY}
        if type(value) not in kinds:
            self.refuse(node, f"values of type {type(value).__name__} are not in a script")
        return ast.Constant(value), kinds[type(value)]

    def _of_Name(self, node):
        name = node.id
        if name in self.env:
            return ast.Name(name, ast.Load()), self.env[name]
        if name in self.missing:
            self.refuse(node, self.missing[name])
        if name in self.locals:
            self.refuse(node, f"{name} is used before it has a value")
        if name in vocabulary.BUILTINS or name in vocabulary.EXCEPTIONS:
            self.refuse(node, f"{name} is a function, which is called and no value")
        return self.refuse(node, f"undefined value {name}")

    def _of_Tuple(self, node):
        parts = [self.expression(each) for each in node.elts]
        starred = any(isinstance(each, ast.Starred) for each in node.elts)
        return ast.Tuple([part for part, _ in parts], ast.Load()), Kind("Tuple") if starred else tuple_of(
            *[kind for _, kind in parts]
        )

    def _of_List(self, node, hint=None):
        inner = hint.of[0] if hint is not None and hint.name == "Optional" else hint
        element = inner.of[0] if inner is not None and inner.name == "List" and inner.of else None
        parts = [self.expression(each, element) for each in node.elts]
        if element is None:
            element = (
                common([ANY if isinstance(node.elts[i], ast.Starred) else kind for i, (_, kind) in enumerate(parts)])
                if parts
                else ANY
            )
        else:
            for each, (_, kind) in zip(node.elts, parts):
                if not fits(element, kind):
                    self.refuse(each, f"List type annotation {inner} did not match the type {kind} of an element")
        return ast.List([part for part, _ in parts], ast.Load()), list_of(element)

    def _of_Dict(self, node, hint=None):
        if any(key is None for key in node.keys):
            self.refuse(node, "`**` in a dict is not in a script: use update()")
        keys, values = [self.expression(each) for each in node.keys], [self.expression(each) for each in node.values]
        made = ast.Dict([part for part, _ in keys], [part for part, _ in values])
        if hint is not None and hint.name == "Dict" and hint.of:
            return made, hint
        return made, Kind(
            "Dict", (common([kind for _, kind in keys]), common([kind for _, kind in values])) if keys else (ANY, ANY)
        )

    def _of_ListComp(self, node):
        generators, parts = self._comprehension(node, [node.elt])
        return ast.ListComp(parts[0][0], generators), list_of(parts[0][1])

    def _of_DictComp(self, node):
        generators, parts = self._comprehension(node, [node.key, node.value])
        return ast.DictComp(parts[0][0], parts[1][0], generators), Kind("Dict", (parts[0][1], parts[1][1]))

    def _comprehension(self, node, wanted):
        outside, missing, declared = dict(self.env), dict(self.missing), self.declared
        self.declared = {}
        generators = []
        for each in node.generators:
            if each.is_async:
                self.refuse(node, "a script is not async")
            iterated, kind = self.expression(each.iter)
            for name in ast.walk(each.target):
                if isinstance(name, ast.Name):
                    self.env.pop(name.id, None)
            target = self.store(each.target, self.element(kind, each.iter), node)
            generators.append(ast.comprehension(target, iterated, [self.condition(test)[0] for test in each.ifs], 0))
        parts = [self.expression(each) for each in wanted]
        self.env, self.missing, self.declared = outside, missing, declared
        return generators, parts

    def _of_Starred(self, node):
        made, kind = self.expression(node.value)
        if kind.name not in ("List", "Tuple", "Any", "Iterator"):
            self.refuse(node, f"`*` takes a list or a tuple, got {kind}")
        return ast.Starred(made, ast.Load()), ANY

    def _of_Slice(self, node):
        parts = [None if each is None else self.expression(each)[0] for each in (node.lower, node.upper, node.step)]
        return ast.Slice(*parts), ANY

    def _of_JoinedStr(self, node):
        return ast.JoinedStr([self.expression(each)[0] for each in node.values]), STR

    def _of_FormattedValue(self, node):
        value, kind = self.expression(node.value)
        self.note_test(kind)
        form = None if node.format_spec is None else self.expression(node.format_spec)[0]
        return ast.FormattedValue(value, node.conversion, form), STR

    def _of_IfExp(self, node):
        known = self.known(node.test)
        if known is not None:
            return self.expression(node.body if known else node.orelse)
        test, _ = self.condition(node.test)
        true, false = self.learnt(node.test)
        before = dict(self.env)
        self.env.update(true)
        body, one = self.expression(node.body)
        self.env = {**before, **false}
        other, two = self.expression(node.orelse)
        self.env = before
        joined = join(one, two)
        if joined is None:
            self.refuse(
                node, f"Type mismatch: the ternary is of type {one} in the true branch and of type {two} in the false branch"
            )
        return ast.IfExp(test, body, other), joined

    def _of_BoolOp(self, node):
        saved, parts = dict(self.env), []
        is_and = isinstance(node.op, ast.And)
        for each in node.values:
            value = self.known(each)
            if value is is_and and len(parts) < len(node.values) - 1 and each is not node.values[-1]:
                self.env.update(self.learnt(each)[0 if is_and else 1])
                continue                                 # decided by types: it says nothing
            if value is (not is_and):
                parts.append((ast.copy_location(ast.Constant(value), each), BOOL))
                break
            parts.append(self.condition(each))
            self.env.update(self.learnt(each)[0 if is_and else 1])
        self.env = saved
        kind = common([kind for _, kind in parts])
        return (parts[0][0] if len(parts) == 1 else ast.BoolOp(node.op, [part for part, _ in parts])), kind

    def _of_UnaryOp(self, node):
        made, kind = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            self.note_test(kind)
            return ast.UnaryOp(node.op, made), BOOL
        if kind.name not in (*_NUMBERS, "Tensor", "Any"):
            self.refuse(node, f"a sign before a {kind}")
        return ast.UnaryOp(node.op, made), INT if kind == BOOL else kind

    def _of_BinOp(self, node):
        left, one = self.expression(node.left)
        right, two = self.expression(node.right)
        if one.name == "Object" and type(node.op) in OPERATORS:
            return self.special(node, OPERATORS[type(node.op)], one, [left, right], ([one, two], {}))
        kind = self.operation(node, node.op, one, two)
        if kind.name == "List" and isinstance(node.op, ast.Add) and "Tuple" in (one.name, two.name):     # where a size is a list
            return ast.Call(self.bind(_joined), [left, right], []), kind
        return ast.BinOp(left, node.op, right), kind

    def operation(self, node, op, one, two) -> Kind:
        """The type of a binary operation."""
        for kind in (one, two):
            if kind.name == "Optional":
                self.refuse(node, f"an operand may be None ({kind}): test `is not None` first")
        if one.name == "str" and isinstance(op, (ast.Mod, ast.Add)) and (isinstance(op, ast.Mod) or two.name in ("str", "Any")):
            return STR
        if ANY in (one, two):
            return TENSOR if TENSOR in (one, two) and isinstance(op, (ast.Add, ast.Sub, ast.Mult, ast.Div)) else ANY
        if TENSOR in (one, two) and {one.name, two.name} <= {"Tensor", *_NUMBERS}:
            return TENSOR
        if one.name in _NUMBERS and two.name in _NUMBERS:
            if NUMBER in (one, two) or Kind("complex") in (one, two) or isinstance(op, ast.Pow):
                return FLOAT if FLOAT in (one, two) and Kind("complex") not in (one, two) else NUMBER
            if one == two == BOOL and isinstance(op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
                return BOOL
            return FLOAT if FLOAT in (one, two) or isinstance(op, ast.Div) else INT
        if isinstance(op, ast.Add) and one.name == two.name and one.name in ("List", "Tuple"):
            return join(one, two) or list_of(ANY) if one.name == "List" else Kind("Tuple", (*one.of, *two.of))
        if isinstance(op, ast.Add) and {one.name, two.name} == {"List", "Tuple"}:
            return join(as_list(one), as_list(two)) or list_of(ANY)
        if isinstance(op, ast.Mult) and {one.name, two.name} in ({"List", "int"}, {"Tuple", "int"}, {"str", "int"}):
            return as_list(two if one == INT else one)
        return self.refuse(node, f"Arguments for call are not valid: the operands of this operation are of types {one} and {two}")

    def _of_Compare(self, node):
        parts = [self.expression(each) for each in (node.left, *node.comparators)]
        made = ast.Compare(parts[0][0], node.ops, [part for part, _ in parts[1:]])
        kinds = [kind for _, kind in parts]
        if kinds[0].name == "Object" and len(node.ops) == 1 and type(node.ops[0]) in OPERATORS:
            return self.special(node, OPERATORS[type(node.ops[0])], kinds[0], [part for part, _ in parts], (kinds, {}))
        if kinds[-1].name == "Object" and isinstance(node.ops[0], (ast.In, ast.NotIn)) and len(node.ops) == 1:
            made, kind = self.special(node, "__contains__", kinds[1], [parts[1][0], parts[0][0]], (kinds[::-1], {}))
            return (made if isinstance(node.ops[0], ast.In) else ast.UnaryOp(ast.Not(), made)), kind
        for op, one, two in zip(node.ops, kinds, kinds[1:]):
            if isinstance(op, (ast.In, ast.NotIn)) or len(node.ops) > 1:           # each is asked for its truth
                self.note_test(one)
                self.note_test(two)
            if isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
                for kind in (one, two):
                    if kind.name in ("Optional", "NoneType", "Module", "Enum"):
                        self.refuse(node, f"a {kind} has no order" + ("" if kind.name == "Enum" else ": test `is not None` first"))
                if "Tensor" in (one.name, two.name) and not {one.name, two.name} <= {"Tensor", "Any", *_NUMBERS}:
                    self.refuse(node, f"Arguments for call are not valid: {one} is compared with {two}")
        if len(node.ops) == 1 and not isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            if TENSOR in kinds:
                return made, TENSOR
            return made, ANY if ANY in kinds else BOOL
        return made, BOOL if TENSOR not in kinds or isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)) else ANY

    def _of_Subscript(self, node):
        owner, kind = self.expression(node.value)
        index, index_kind = self.expression(node.slice)
        kind = unnamed(kind)
        if kind.name == "Object":
            return self.special(node, "__getitem__", kind, [owner, index], ([kind, index_kind], {}))
        made = ast.Subscript(owner, index, ast.Load())
        whole = isinstance(node.slice, ast.Slice)
        if kind.name == "Optional":
            self.refuse(node, f"what is indexed may be None ({kind}): test `is not None` first")
        if kind.name == "Tensor" or kind == STR or (kind.name == "Any"):
            return made, kind
        if kind.name == "List":
            if index_kind.name not in ("int", "Any", "number", "Tensor"):
                self.refuse(node, f"a list is indexed by an int, got {index_kind}")
            return made, kind if whole else self.element(kind, node)
        if kind.name == "Dict":
            return made, kind.of[1] if kind.of else ANY
        if kind.name == "Tuple":
            return made, self._of_tuple_index(node, kind)
        if kind.name == "Module":
            return made, self.child(kind, node, whole)
        return self.refuse(node, f"a {kind} cannot be indexed")

    def _of_tuple_index(self, node, kind):
        try:
            index = ast.literal_eval(node.slice)
        except (ValueError, TypeError, SyntaxError):
            return common(list(kind.of)) if kind.of and not isinstance(node.slice, ast.Slice) else ANY
        if not isinstance(index, int) or not kind.of:
            return ANY
        if not -len(kind.of) <= index < len(kind.of):
            self.refuse(node, f"index {index} is out of range for a tuple of {len(kind.of)}")
        return kind.of[index]

    def _of_Attribute(self, node):
        path = self.path(node)
        if path is not None:
            return self.constant(node, path)
        owner, kind = self.expression(node.value)
        return self.attribute(node, owner, kind)

    def _of_Call(self, node):
        return self.call(node)

    def element(self, kind, node) -> Kind:
        """The type of what a loop over a value gives."""
        kind = unnamed(kind)
        if kind.name in ("List", "Iterator", "Dict"):
            return kind.of[0] if kind.of else ANY
        if kind.name == "Tuple":
            return common(list(kind.of)) if kind.of else ANY
        if kind in (TENSOR, STR, ANY):
            return kind
        if kind.name == "Module":
            return self.child(kind, node, False)
        return self.refuse(node, f"'{kind}' object is not iterable" + (": test `is not None` first" if kind == optional(kind) and
                                                                          kind != NONE else ""))
