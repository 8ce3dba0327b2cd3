"""What each expression of a script is, and what may be done with it. The tree that is run is made here, node by node, of what was
looked at: nothing of a text is run that no rule of the files here has let through."""
from __future__ import annotations

import ast
from typing import Any

from .. import vocabulary
from ..classes import ScriptClass
from ..grammar import check_form, function_of, refuse_node
from ..kinds import (
    ANY,
    NONE,
    TENSOR,
    Kind,
    as_list,
    fits,
    join,
    parse_kind,
    unnamed,
)
from ..problems import Source, refuse
from .expressions import Expressions

_RESERVED = frozenset(("torch", "math", "annotate", "isinstance", "hasattr", "getattr", "__torch__"))


class Checker(Expressions):
    """Checks one function, and makes the tree that is run.

    Args:
        source: where the tree comes from.
        tree: it.
        unit: the functions that it may call as `__torch__.name`.
        owner: the module that `self` is, or the class that it is of, or None.

    Attributes:
        names: what the made tree's globals are.
        arguments: (name, type) of each.
        result: the type of what it returns.
    """

    def __init__(self, source: Source, tree: ast.FunctionDef, unit, owner=None) -> None:
        self.source, self.tree, self.unit, self.owner = source, tree, unit, owner
        self.names: dict[str, Any] = {"__builtins__": {}}
        self.slots: dict[int, str] = {}
        self.env: dict[str, Kind] = {}
        self.missing: dict[str, str] = {}                # of names that are not there, why
        self.declared: dict[str, Kind] = {}
        self.loops: list[tuple[list, list]] = []         # (states at `continue`, at `break`) of each loop around
        self.returned: list[Kind] = []
        self.depth = 0                                   # of the block that is checked; the function's own is 1

    def refuse(self, node, message):
        refuse(self.source, node, message)

    def bind(self, value) -> ast.Name:
        """A global of the made tree that is a value."""
        slot = self.slots.get(id(value))
        if slot is None:
            slot = self.slots[id(value)] = f"__{len(self.slots)}"
            self.names[slot] = value
        return ast.Name(slot, ast.Load())

    # ------------------------------------------------------------ the function
    def check(self) -> ast.FunctionDef:
        """The tree that is run."""
        check_form(self.source, self.tree)
        given = self.tree.args
        if given.vararg or given.kwarg or given.posonlyargs or self.tree.decorator_list:
            self.refuse(self.tree, "a script has arguments with names, and no decorators")
        names = [*given.args, *given.kwonlyargs]
        self.locals = {each.arg for each in names} | {
            node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        for name in self.locals:
            if name in _RESERVED or name.startswith("__") or (name == "self" and self.owner is None):
                self.refuse(self.tree, f"the name {name} has a meaning in scripts: call the variable otherwise")
        defaults: dict[str, Any] = dict(
            zip([each.arg for each in given.args[len(given.args) - len(given.defaults) :]], given.defaults)
        )
        defaults.update((each.arg, value) for each, value in zip(given.kwonlyargs, given.kw_defaults) if value is not None)
        self.arguments: list[tuple[str, Kind]] = []
        self.with_default = set(defaults)
        made: dict[str, ast.expr] = {}
        for each in names:
            if each.arg == "self" and self.owner is not None:
                self.env["self"] = self.owner.result if isinstance(self.owner, ScriptClass) else Kind("Module", (self.owner,))
                continue
            kind = None if each.annotation is None else self._kind(each.annotation)
            if each.arg in defaults:
                if not _is_literal(defaults[each.arg]):
                    self.refuse(defaults[each.arg], "a default is a literal")
                made[each.arg], actual = self.expression(defaults[each.arg])
                if kind is None:
                    kind = ANY if actual == NONE else actual
                elif not fits(kind, actual) and not fits(kind, as_list(actual)):
                    self.refuse(each, f"Expected a default value of type {kind} on parameter \"{each.arg}\", got {actual}")
            kind = kind or TENSOR
            self.env[each.arg] = self.declared[each.arg] = kind
            self.arguments.append((each.arg, kind))
        self.said = None if self.tree.returns is None else self._kind(self.tree.returns)
        body, goes_on = self.block(self.tree.body)
        if goes_on:
            self.returned.append(NONE)
            if self.said is not None and not fits(self.said, NONE):
                self.refuse(self.tree, f"Function was annotated as having return type {self.said}, but it ends without a `return`")
        self.result = self.said or self._result()
        plain = ast.arguments(
            [],
            [ast.arg(each.arg) for each in given.args],
            None,
            [ast.arg(each.arg) for each in given.kwonlyargs],
            [made.get(each.arg) for each in given.kwonlyargs],
            None,
            [made[each.arg] for each in given.args if each.arg in made],
        )
        return ast.copy_location(function_of(self.tree.name, plain, body), self.tree)

    def _kind(self, node) -> Kind:
        try:
            return parse_kind(node, self.unit.named)
        except (ValueError, SyntaxError) as error:
            return self.refuse(node, str(error))

    def kinds_of(self, node):
        return tuple([self._class(each) or self._kind(each) for each in (node.elts if isinstance(node, ast.Tuple) else [node])])

    def _class(self, node):
        """The class of modules that `torch.nn.name` is, as a type; None for anything else."""
        space, _, name = (self.path(node) or "").rpartition(".")
        kind = vocabulary.library_class(name) if space == "torch.nn" else None
        return Kind("Class", (kind,)) if isinstance(kind, type) and vocabulary.is_library(kind) else None

    def _result(self):
        if not self.returned:                            # it always raises
            return NONE
        result = self.returned[0]
        for kind in self.returned[1:]:
            joined = join(result, kind)
            if joined is None:
                self.refuse(self.tree, f"Previous return statement returned a value of type {result} but this return statement "
                            f"returns a value of type {kind}")
            result = joined
        return result

    # ------------------------------------------------------------ statements
    def block(self, statements):
        """The made statements, and whether what follows them is reached."""
        made: list = []
        goes_on = True
        self.depth += 1
        for statement in statements:
            handler = getattr(self, f"_do_{type(statement).__name__}", None)
            if handler is None:
                refuse_node(self.source, statement)
            result, goes_on = handler(statement)
            made += [ast.copy_location(each, statement) for each in result]
            if not goes_on:
                break
        self.depth -= 1
        return made or [ast.Pass()], goes_on

    def _do_Pass(self, node):
        return [ast.Pass()], True

    def _do_Expr(self, node):
        made, _ = self.expression(node.value)
        return [ast.Expr(made)], True

    def _wanted(self, node, wanted: Kind | None):
        """An expression where a value of a type is wanted: a tuple becomes the list that it should be."""
        made, kind = self.expression(node, wanted)
        inner = wanted.of[0] if wanted is not None and wanted.name == "Optional" else wanted
        if inner is None or inner.name != "List" or kind.name != "Tuple" or not fits(inner, as_list(kind)):
            return made, kind
        return ast.copy_location(ast.List([ast.Starred(made, ast.Load())], ast.Load()), node), as_list(kind)

    def _do_Return(self, node):
        made, kind = self._wanted(node.value, self.said) if node.value is not None else (None, NONE)
        if self.said is not None and not fits(self.said, kind):
            self.refuse(node, f"Return value was annotated as having type {self.said} but is actually of type {kind}")
        self.returned.append(kind)
        return [ast.Return(made)], False

    def _do_Break(self, node):
        return self._leave(node, ast.Break(), 1)

    def _do_Continue(self, node):
        return self._leave(node, ast.Continue(), 0)

    def _leave(self, node, made, which):
        if not self.loops:
            self.refuse(node, f"`{type(made).__name__.lower()}` stands outside of a loop")
        self.loops[-1][which].append(dict(self.env))
        return [made], False

    def _do_Assign(self, node):
        first = node.targets[0]
        hint = self.declared.get(first.id) if isinstance(first, ast.Name) else self.declared_attribute(first)
        value, kind = self._wanted(node.value, hint)
        starred: list = []
        made = ast.Assign([self.store(target, kind, node, starred) for target in node.targets], value)
        return [made, *[ast.copy_location(_as_tuple(name), node) for name in starred]], True

    def _do_AnnAssign(self, node):
        kind = self._kind(node.annotation)
        if not isinstance(node.target, ast.Name):
            return self._annotated_attribute(node, kind)
        self.declared[node.target.id] = kind
        if node.value is None:
            return [ast.Pass()], True
        value, actual = self.expression(node.value, kind)
        if not fits(kind, actual):
            self.refuse(
                node, f"Variable '{node.target.id}' is annotated with type {kind} but is being assigned to a value of type {actual}"
            )
        self.env.pop(node.target.id, None)
        self._set(node.target.id, kind if actual == NONE or kind.name != "Optional" else actual)
        return [ast.Assign([ast.copy_location(ast.Name(node.target.id, ast.Store()), node.target)], value)], True

    def _annotated_attribute(self, node, kind):
        owner = self.expression(node.target.value)[1] if isinstance(node.target, ast.Attribute) else ANY
        if owner.name != "Object" or owner.of[0] is not self.owner or self.tree.name != "__init__":
            self.refuse(node, "only variables have types: annotate an attribute in its class")
        self.owner.declared[node.target.attr] = kind
        if node.value is None:
            return [ast.Pass()], True
        value, actual = self.expression(node.value, kind)
        return [ast.Assign([self.store(node.target, actual, node)], value)], True

    def _do_AugAssign(self, node):
        target = node.target
        if not isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)):
            refuse_node(self.source, target)
        read = type(target)(**{**dict(ast.iter_fields(target)), "ctx": ast.Load()})
        _, before = self.expression(ast.copy_location(read, target))
        value, kind = self.expression(node.value)
        after = self.operation(node, node.op, before, kind)
        if isinstance(target, ast.Name) and before.name != "List":       # which has tensors added to itself, and not to them
            self.note_store(before)
        return [ast.AugAssign(self.store(target, after, node), node.op, value)], True

    def store(self, target, kind, node, starred=None):
        """The made target of an assignment. Names behind a `*` are added to `starred`: Python has lists there, scripts tuples."""
        if isinstance(target, ast.Name):
            if target.id == "self" or target.id not in self.locals:
                self.refuse(target, f"{target.id} cannot be assigned to")
            declared = self.declared.get(target.id)
            if declared is not None and not fits(declared, kind):
                if self.depth == 1:                      # no other way through the function has it
                    del self.declared[target.id]
                else:
                    self.refuse(node, f"Variable '{target.id}' previously had type {declared} but is now being assigned to a value "
                                      f"of type {kind}")
            self._set(target.id, kind)
            return ast.copy_location(ast.Name(target.id, ast.Store()), target)
        if isinstance(target, (ast.Tuple, ast.List)):
            kind = unnamed(kind)
            if any(isinstance(each, ast.Starred) for each in target.elts):
                return self._store_starred(target, kind, node, starred)
            if kind.name == "Tuple" and kind.of and len(kind.of) != len(target.elts):
                self.refuse(target, f"Need {len(target.elts)} values to unpack, and there are {len(kind.of)}")
            kinds = kind.of if kind.name == "Tuple" and kind.of else [self.element(kind, target)] * len(target.elts)
            return ast.copy_location(
                ast.Tuple([self.store(each, one, node, starred) for each, one in zip(target.elts, kinds)], ast.Store()), target
            )
        if isinstance(target, ast.Attribute):
            owner, owner_kind = self.expression(target.value)
            self.note_store(owner_kind)
            if owner_kind.name == "Module":
                return ast.copy_location(self.store_member(target, owner, owner_kind, kind), target)
            if owner_kind.name == "Object":
                return ast.copy_location(self.store_attribute(target, owner, owner_kind, kind, node), target)
            if owner_kind == TENSOR and target.attr in ("data", "grad", "requires_grad"):
                return ast.copy_location(ast.Attribute(owner, target.attr, ast.Store()), target)
            self.refuse(target, f"{target.attr} of a {owner_kind} cannot be assigned to")
        if isinstance(target, ast.Subscript):
            owner, owner_kind = self.expression(target.value)
            if owner_kind.name not in ("Tensor", "List", "Dict", "Any"):
                self.refuse(target, f"elements of a {owner_kind} cannot be assigned to")
            index, _ = self.expression(target.slice)
            if owner_kind.name in ("Tensor", "Any"):
                self.note_store(owner_kind)
            return ast.copy_location(ast.Subscript(owner, index, ast.Store()), target)
        return refuse_node(self.source, target)

    def _store_starred(self, target, kind, node, starred):
        """The made target `first, *others, last`."""
        before = next(i for i, each in enumerate(target.elts) if isinstance(each, ast.Starred))
        name, after = target.elts[before].value, len(target.elts) - before - 1
        if starred is None or kind.name != "Tuple" or not kind.of or not isinstance(name, ast.Name):
            self.refuse(target, "a starred name is of a tuple, whose length is known, in an assignment alone in a script: take a "
                                "slice, such as x[1:]")
        if len(kind.of) < before + after:
            self.refuse(target, f"Need at least {before + after} values to unpack, and there are {len(kind.of)}")
        end = len(kind.of) - after
        kinds = [*kind.of[:before], Kind("Tuple", kind.of[before:end]), *kind.of[end:]]
        targets = [each.value if isinstance(each, ast.Starred) else each for each in target.elts]
        made = [self.store(each, one, node, starred) for each, one in zip(targets, kinds)]
        made[before] = ast.copy_location(ast.Starred(made[before], ast.Store()), name)
        starred.append(name.id)
        return ast.copy_location(ast.Tuple(made, ast.Store()), target)

    def _set(self, name, kind):
        self.env[name] = kind
        self.missing.pop(name, None)

    def _do_Delete(self, node):
        made = []
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id in self.env and target.id != "self":
                del self.env[target.id]
                self.missing[target.id] = f"{target.id} is deleted before"
                made.append(ast.copy_location(ast.Name(target.id, ast.Del()), target))
                continue
            if not isinstance(target, ast.Subscript):
                self.refuse(node, "`del` is for variables, and for elements of lists and dicts in a script")
            owner, kind = self.expression(target.value)
            if kind.name not in ("List", "Dict", "Any"):
                self.refuse(node, f"elements of a {kind} cannot be deleted")
            made.append(ast.copy_location(ast.Subscript(owner, self.expression(target.slice)[0], ast.Del()), target))
        return [ast.Delete(made)], True

    def _do_Assert(self, node):
        test, kind = self.expression(node.test)
        self.note_test(kind)
        message = None if node.msg is None else self.expression(node.msg)[0]
        self.env.update(self.learnt(node.test)[0])
        return [ast.Assert(test, message)], self.known(node.test) is not False

    def _do_Raise(self, node):
        if hasattr(node, "refused"):
            raise node.refused
        call = node.exc
        name = call.func if isinstance(call, ast.Call) else call
        if (
            node.cause is not None
            or not isinstance(name, ast.Name)
            or name.id not in vocabulary.EXCEPTIONS
            or name.id in self.locals
        ):
            self.refuse(node, f"a script raises exceptions of Python's, without `from`: {', '.join(vocabulary.EXCEPTIONS)}")
        made: ast.expr = self.bind(vocabulary.EXCEPTIONS[name.id])
        if isinstance(call, ast.Call):
            made = ast.Call(made, [self.expression(each)[0] for each in call.args], [])
        return [ast.Raise(ast.copy_location(made, node))], False

    def _do_With(self, node):
        items = []
        for item in node.items:
            call = item.context_expr
            path = self.path(call.func) if isinstance(call, ast.Call) else None
            if item.optional_vars is not None or path not in [f"torch.{mode}" for mode in vocabulary.MODES]:
                self.refuse(node, "`with` in a script is for torch.no_grad(), torch.enable_grad() and "
                                  "torch.profiler.record_function()")
            items.append(ast.withitem(self.expression(call)[0]))
        body, goes_on = self.block(node.body)
        return [ast.With(items, body)], goes_on

    def _do_If(self, node):
        known = self.known(node.test)
        if known is not None:                            # the other branch is for other types, and is left out
            made, goes_on = self.block(node.body if known else node.orelse)
            if known and isinstance(node.test, ast.Compare):
                self.env.update(self.learnt(node.test)[0])
            return made, goes_on
        test, _ = self.condition(node.test)
        true, false = self.learnt(node.test)
        before, missing = dict(self.env), dict(self.missing)
        self.env.update(true)
        body, body_goes_on = self.block(node.body)
        after = self.env
        self.env, self.missing = {**before, **false}, missing
        other, other_goes_on = self.block(node.orelse)
        states = [state for state, goes_on in ((after, body_goes_on), (self.env, other_goes_on)) if goes_on]
        self.merge(states, node, ("true", "false") if len(states) == 2 else ())
        return [ast.If(test, body, other if node.orelse else [])], bool(states)

    def merge(self, states, node, branches=(), turns=False):
        """Go on with what is so in each of some states.

        Args:
            states: the types of variables in each.
            node: where they meet.
            branches: what two of them are called.
            turns: whether variables may change their types: from module to module, for each of which PyTorch writes the loop out.
        """
        if not states:
            return
        first, *rest = states
        result, differs = {}, {}
        for name, kind in first.items():
            for state in rest:
                other = state.get(name)
                if other is None:
                    break
                joined = join(kind, other)
                if joined is None:
                    if name in self.declared:
                        joined = self.declared[name]
                    elif "." in name:
                        break
                    elif turns:
                        joined = ANY
                    elif branches:                       # which matters where it is read
                        differs[name] = f"Type mismatch: {name} is set to type {kind} in the true branch and type {other} in the " \
                                        f"false branch"
                        break
                    else:
                        self.refuse(node, f"Variable '{name}' previously had type {kind} but is now being assigned to a value of "
                                          f"type {other}")
                kind = joined
            else:
                result[name] = kind
        for i, state in enumerate(states):
            for name in state:
                if name not in result and "." not in name:
                    where = branches[1 - i] if branches and name not in states[1 - i] else None
                    self.missing[name] = differs[name] if name in differs else f"{name} is not defined in the {where} branch" if \
                        where else f"{name} is defined only in a loop, which may not run: give it a value before"
        self.env = result

    def _do_While(self, node):
        return self._loop(node, lambda: (self.condition(node.test)[0], None), self.known(node.test) is True)

    def _do_For(self, node):
        iterated, kind = self.expression(node.iter)
        element = self.element(kind, node.iter)
        if kind.name == "Tensor":
            element = TENSOR

        def head():
            return iterated, self.store(node.target, element, node)
        modules = "Module" in (element.name, *[each.name for each in (element.of if element.name == "Tuple" else ())])
        return self._loop(node, head, False, modules)

    def _loop(self, node, head, forever, turns=False):
        """A loop: what its body leaves is what it begins with, so it is checked until nothing changes."""
        for _attempt in range(8):
            before = dict(self.env)
            returned = len(self.returned)
            self.loops.append(([], []))
            made, target = head()
            if isinstance(node, ast.While):
                self.env.update(self.learnt(node.test)[0])
            body, goes_on = self.block(node.body)
            again, left = self.loops.pop()
            ends = [*again, *([self.env] if goes_on else [])]
            self.merge([before, *ends], node, turns=turns)
            if self.env == before:
                break
            del self.returned[returned:]
        if forever:
            self.merge(left, node)
        else:
            self.merge([self.env, *left], node, turns=turns)
        loop = ast.While(made, body, []) if target is None else ast.For(target, made, body, [])
        return [loop], not forever or bool(left)


def _is_literal(node):
    """Whether an expression does nothing: a default is evaluated where the function is made."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Dict)):
        return all(
            isinstance(each, ast.expr_context) or (each is not None and _is_literal(each)) for each in ast.iter_child_nodes(node)
        )
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and _is_literal(node.operand)
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) == "torch.device" and all(map(_is_literal, node.args)) and not node.keywords
    return isinstance(node, (ast.Constant, ast.Attribute))


def _as_tuple(name):
    """The statement `name = (*name,)`."""
    return ast.Assign([ast.Name(name, ast.Store())], ast.Tuple([ast.Starred(ast.Name(name, ast.Load()), ast.Load())], ast.Load()))
