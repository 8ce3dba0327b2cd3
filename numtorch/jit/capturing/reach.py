"""What of Python a function can reach, and whether it has changed: closures, globals, arguments, and all that they hold.

A replay is right as long as Python would take the same way. What decides on that way is in the objects that the function can reach,
so these are noted (containers, by what they hold) and compared before each replay. What differs after the captured call is an
effect on Python that a replay would not have: such a call is not captured.
"""
from __future__ import annotations

import builtins
import dis
import functools
import sys
import types
import weakref
from collections import OrderedDict, defaultdict, deque, namedtuple
from enum import Enum
from typing import Any

import numpy as np

from ...autograd.graph import Leaf, Node
from ...devices import device
from ...dtypes import dtype
from ...layout import Layout
from ...nn.modules.module import Module
from ...ops.core.generator import Generator
from ...ops.core.primitive import Primitive
from ...optim.rule import RuleOptimizer
from ...storage import Storage
from ...tensor import Tensor
from . import guards
from .allowed import MODULES, is_allowed_name

MOST = 20_000                                            # objects that are followed
_VALUES = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range, slice)
_LIBRARY = (dtype, device, Layout, Generator, Node, Leaf, Storage, Primitive, types.BuiltinFunctionType,
            types.GetSetDescriptorType, types.MemberDescriptorType, types.MethodDescriptorType, types.WrapperDescriptorType,
            property, staticmethod, classmethod, types.CodeType, types.GenericAlias, types.UnionType, np.dtype,
            type(namedtuple("_Sample", "a").a))
_WRAPPED = (types.FunctionType, types.MethodType, types.CellType, functools.partial, Tensor, Module)
_OF_THE_TAPE = {"_base", "_views", "_stored_grad"}       # attributes of tensors that are this package's
_CONTAINERS = (dict, list, tuple, set, frozenset, deque, OrderedDict, defaultdict)
_BY_NAME = {"getattr", "hasattr", "vars", "__dict__"}    # what reads attributes of which the code does not say the names
MISSING = object()


class Unfollowed(Exception):
    """Something that cannot be compared is reached.

    Args:
        what: it, in words.
        code, scope: the code object that names it, with its globals, where one does.
    """

    def __init__(self, what: str, code: Any = None, scope: Any = None) -> None:
        super().__init__(what)
        self.code, self.scope = code, scope


@functools.cache
def global_names(code) -> tuple:
    """The names that a code object looks up among globals, and the modules it imports by name."""
    names, modules = set(), set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"):
            names.add(instruction.argval)
        elif instruction.opname == "IMPORT_NAME":
            modules.add(instruction.argval)
    return tuple(sorted(names)), tuple(sorted(modules))


@functools.cache
def read_names(code) -> frozenset:
    """The names that a code object reads as attributes, or could: those that it writes and those among its strings.

    Args:
        code: it.
    """
    names, pending = set(code.co_names), list(code.co_consts)
    while pending:
        each = pending.pop()
        if isinstance(each, str):
            names.add(each)
        elif isinstance(each, (tuple, frozenset)):
            pending += each
    return frozenset(names)


def refused_names(code, scope) -> list:
    """(what it is, line) of what a code object names that no function may refer to.

    Args:
        code: it, and those of the functions inside it.
        scope: its globals.
    """
    refused, line, value = [], code.co_firstlineno, None
    starts = dict(dis.findlinestarts(code))
    for instruction in dis.get_instructions(code):
        line = starts.get(instruction.offset) or line
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = scope.get(instruction.argval, getattr(builtins, str(instruction.argval), None))
        elif instruction.opname == "IMPORT_NAME":
            value = sys.modules.get(instruction.argval)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(value, types.ModuleType):
            value = vars(value).get(instruction.argval)
        else:
            value = None
        said = is_allowed_name(value)
        if said:
            refused.append((said, line))
    return refused + [each for inner in code.co_consts if isinstance(inner, types.CodeType) for each in refused_names(inner, scope)]


def same(a, b) -> bool:
    """Whether two values are one object, or equal constants of one type."""
    if a is b:
        return True
    kind = type(a)
    return kind is type(b) and kind in _VALUES and a == b and (kind is not float or str(a) == str(b))


class Reach:
    """What some roots reach.

    Args:
        roots: (name, object) pairs.
        codes: the code objects that ran, with their globals.
        ignored: attributes that are not compared, by the class that has them.
        weak: objects among the roots that are not kept alive by this: who asks for a comparison has them.

    Attributes:
        tensors: all tensors that are reached, by identity, with how they are reached.
        read: the names of attributes that the code objects may read.
        asks: whether they ask for attributes that may not be there, or by names that are not known.

    Raises:
        Unfollowed: something is reached that cannot be compared, or too much.
    """

    def __init__(self, roots, codes, ignored, weak=()) -> None:
        self.codes, self.ignored = codes, ignored
        self.weak = {id(value) for value in weak if can_die(value)}
        self.tensors: dict[int, tuple] = {}
        self.held: list = []                             # (how it is reached, read, what it held)
        self.seen: dict[int, Any] = {}
        self.followed: set = set()                       # code objects whose functions are reached
        self.read = frozenset().union(*map(read_names, codes))           # the names of attributes that they may read
        self.asks = bool(self.read & _BY_NAME)
        self.roots = [value for _, value in roots if id(value) not in self.weak]
        pending = list(roots)
        for code, scope in codes.items():
            pending += self._of_code(code, scope)
        while pending:
            name, value = pending.pop()
            pending += self._follow(name, value)
            if len(self.seen) > MOST:
                raise Unfollowed(f"more than {MOST} objects are reached")
        self._check_followed()

    def named(self) -> dict[str, Any]:
        """The tensors that are reached, by how they are: what several are reached by is told apart by numbers."""
        named: dict[str, Any] = {}
        for name, tensor in self.tensors.values():
            named[f"{name} {len(named)}" if name in named else name] = tensor
        return named

    def identities(self, tensors) -> list:
        """Which tensors are among those that are reached: the function may ask for that, by `is` or as keys of a dict.

        Args:
            tensors: arguments.
        """
        return [id(tensor) if id(tensor) in self.tensors else None for tensor in tensors]

    # ------------------------------------------------------------ following
    def _of_code(self, code, scope):
        names, modules = global_names(code)
        where = f"{code.co_filename}:{code.co_firstlineno}"
        result = []
        for module in modules:
            parts = module.split(".")
            for count in range(1, len(parts) + 1):
                name = ".".join(parts[:count])
                result += self._of_named_module(code, where, name, sys.modules.get(name))
        read = {name: scope.get(name, MISSING) for name in names}
        if read:
            self._hold(f"globals of {code.co_name}", functools.partial(_values, scope, names), names,
                       functools.partial(guards.of_dict, scope, frozenset(names)))
        for name, value in read.items():
            actual = getattr(builtins, name, None) if value is MISSING else value
            said = is_allowed_name(actual)
            if said:
                raise Unfollowed(f"{code.co_name} ({where}) uses {said}", code, self.codes[code])
            if isinstance(actual, types.ModuleType):
                result += self._of_named_module(code, where, name, actual)
            elif value is not MISSING:
                result.append((name, value))
        return result

    def _of_named_module(self, code, where, name, module):
        """A module that a code object names."""
        said = is_allowed_name(module)
        if said:
            raise Unfollowed(f"{code.co_name} ({where}) uses {said}", code, self.codes[code])
        if module is None or is_ours(module.__name__):
            return ()
        for n in code.co_names:
            said = is_allowed_name(vars(module).get(n))
            if said:
                raise Unfollowed(f"{code.co_name} ({where}) uses {said}", code, self.codes[code])
        return [(name, module)]

    def _of_module(self, name, module):
        """What may be read of a module, however it is reached: all of it where that is not known."""
        if is_ours(module.__name__) or module.__name__ in MODULES or is_allowed_name(module):
            return ()
        inside = list(vars(module)) if self.asks else [n for n in self.read if n in vars(module)]
        self._hold(f"module {module.__name__}", functools.partial(_values, vars(module), inside), inside,
                   functools.partial(guards.of_dict, vars(module), frozenset(inside)))
        return [(f"{name}.{n}", vars(module)[n]) for n in inside
                if n in self.read or not (n.startswith("__") or is_allowed_name(vars(module)[n]))]

    def _hold(self, name, read, labels=None, words=None):
        self.held.append((name, read, read(), labels, words))

    def _follow(self, name, value):
        kind = type(value)
        if kind is types.BuiltinFunctionType and type(value.__self__) not in (types.ModuleType, type, type(None)):
            return [(f"{name}.__self__", value.__self__)]                # `append`, taken of a list
        if kind in _VALUES or isinstance(value, _LIBRARY) or id(value) in self.seen:
            return ()
        if kind is functools._lru_cache_wrapper and not is_ours(value.__module__):
            raise Unfollowed(f"{name} is a function whose results are kept (functools.cache), which cannot be compared")
        if isinstance(value, np.ndarray | np.generic):
            raise Unfollowed(f"{name} is an array of NumPy, whose elements may change")
        self.seen[id(value)] = None if id(value) in self.weak else value
        if isinstance(value, types.ModuleType):
            return self._of_module(name, value)
        if isinstance(value, Tensor):
            if value.layout.handler is not None or value.layout.device.type not in ("cpu", "cuda"):
                raise Unfollowed(f"{name} is on another device or has a special layout")
            self.tensors[id(value)] = name, value
            if self.asks or value.__dict__:
                return self._of_dict(name, value.__dict__, kind)
            if value.node is None:                       # a frozen parameter has no gradient here, and may be given one
                self._hold(f"{name}.grad", lambda: [value._stored_grad], None, lambda: _of_stored_grad(value.__dict__))
            return ()
        if isinstance(value, _CONTAINERS):
            return [*self._of_container(name, value, kind), *(() if kind in _CONTAINERS else self._of_object(name, value))]
        if isinstance(value, types.FunctionType):
            return self._of_function(name, value)
        if isinstance(value, types.MethodType):
            return [(name, value.__func__), (f"{name}.__self__", value.__self__)]
        if isinstance(value, functools.partial):
            return [(name, value.func), (name, value.args), (name, value.keywords)]
        if isinstance(value, types.CellType):
            return self._of_cell(name, value)
        if isinstance(value, type):
            return self._of_class(name, value)
        if kind is weakref.ref:
            self._hold(name, lambda: [value()])
            return [(f"{name}()", value())]
        return self._of_object(name, value)

    def _of_container(self, name, value, kind):
        if isinstance(value, dict):
            return self._of_dict(name, value, kind)
        if kind is not tuple:
            self._hold(name, lambda: list(value), None, (lambda: guards.of_list(value)) if isinstance(value, list) else
                       (lambda: guards.of_set(value)) if kind in (set, frozenset) else None)
        return [(f"{name}[{i}]", each) for i, each in enumerate(value)]

    def _of_dict(self, name, value, kind):
        skip = next((names for c, names in self.ignored if issubclass(kind, c)), ())
        if skip:
            keys = [key for key in value if key not in skip]
            self._hold(name, lambda: [value.get(key, MISSING) for key in keys] + [sum(key not in skip for key in value)], keys,
                       lambda: guards.of_dict(value, frozenset(keys)))
        else:
            keys = list(value)
            self._hold(name, lambda: [*value, *value.values()], keys + keys, lambda: guards.of_dict(value))
        return [(f"{name}[{key!r}]" if type(key) is str else name, value[key]) for key in keys] + \
            [(name, key) for key in keys if type(key) not in _VALUES]

    def _of_cell(self, name, cell):
        self._hold(name, lambda: [_contents(cell)], None, lambda: guards.of_cell(cell))
        contents = _contents(cell)
        return () if contents is MISSING else [(name, contents)]

    def _of_function(self, name, function):
        code, cells = function.__code__, list(zip(function.__code__.co_freevars, function.__closure__ or ()))
        if not is_ours(function.__module__):
            own = vars(function)                         # its attributes
            keys = [key for key in own if not key.startswith("__")]
            self._hold(name, lambda: [own.get(key, MISSING) for key in keys] + [sum(not key.startswith("__") for key in own)],
                       keys, lambda: guards.of_dict(own, frozenset(keys)))
            cells += [(f"{name}.{key}", own[key]) for key in keys]
        if code in self.codes:
            self.followed.add(code)
            read = lambda: [function.__code__, function.__defaults__, function.__kwdefaults__]
            self._hold(name, read, None, lambda: guards.of_function(function))
            defaults = f"defaults of {name}"
            return [*cells, (defaults, function.__defaults__), (defaults, function.__kwdefaults__)]
        if any(function is root for root in self.roots): # this package's own code does not run as a user's; what it was given does
            return cells
        return [(variable, cell) for variable, cell in cells
                if not isinstance(cell, types.CellType) or isinstance(_contents(cell), _WRAPPED)]        # of a decorator, say

    def _check_followed(self):
        """Raise Unfollowed for code that ran with variables of another function's that were not reached."""
        known, pending = set(), [code for code in self.codes if code in self.followed or not code.co_freevars]
        while pending:                                   # what is defined in a function has that function's variables
            code = pending.pop()
            known.add(code)
            pending += [c for c in code.co_consts if isinstance(c, types.CodeType) and c not in known]
        for code in self.codes:
            if code not in known:
                raise Unfollowed(f"{code.co_name} ({code.co_filename}:{code.co_firstlineno}) has variables that are not reached")

    def _of_class(self, name, kind):
        if _is_fixed(kind):
            return ()
        result = []
        for base in kind.__mro__:
            if _is_fixed(base):
                continue
            own = _of_itself(base)
            self._hold(f"class {base.__name__}", functools.partial(_state, base), [*own, *own, "bases"],
                       functools.partial(_of_class, base))
            result += [(f"{base.__name__}.{key}", each.__func__ if isinstance(each, (staticmethod, classmethod)) else
                       each.fget if isinstance(each, property) else each) for key, each in own.items()]
        return result + ([(f"class of {name}", type(kind))] if type(kind) is not type else [])

    def _of_object(self, name, value):
        kind, here = type(value), weakref.ref(value) if id(value) in self.weak else (lambda strong=value: strong)
        result = list(self._of_class(name, kind))
        self._hold(name, lambda: [type(here())], ["class"], lambda: [guards.of_kind(here())])
        own = getattr(value, "__dict__", None)
        if own is not None:
            self._hold(name, lambda: [getattr(here(), "__dict__", None)], None,          # it may be exchanged itself
                       lambda: guards.of_own_dict(here()))
            skip = next((names for c, names in self.ignored if isinstance(value, c)), ())
            if isinstance(value, RuleOptimizer) and "param_groups" not in self.read:
                skip = {*skip, "param_groups"}           # a replayed step reads its options, as an eager one does
                result += self._of_groups(name, own["param_groups"])
            keys = [key for key in own if key not in skip]
            self._hold(name, lambda: [own.get(key, MISSING) for key in keys] + [sum(key not in skip for key in own)], keys,
                       lambda: guards.of_dict(own, frozenset(keys)))
            result += [(f"{name}.{key}", own[key]) for key in keys]
        slots = [slot for c in kind.__mro__ for slot in _slots(c)]
        if slots:
            self._hold(name, lambda: [getattr(here(), slot, MISSING) for slot in slots], slots,
                       lambda: [guards.of_slot(here(), slot) for slot in slots])
            result += [(f"{name}.{slot}", getattr(value, slot, None)) for slot in slots]
        if own is None and not slots and not isinstance(value, _CONTAINERS) and not _is_plain(value):
            raise Unfollowed(f"{name} is {_article(kind)}, which cannot be compared")
        return result

    def _of_groups(self, name, groups):
        """The parameters of an optimiser's groups."""
        self._hold(name, lambda: [each for group in groups for each in (group, group["params"], *group["params"])], None,
                   lambda: [*guards.of_list(groups), *[word for group in groups for word in (
                       *guards.of_dict(group, frozenset(("params",))), *guards.of_list(group["params"]))]])
        return [(f"{name}.param_groups[{i}]['params']", group["params"]) for i, group in enumerate(groups)]

    # ------------------------------------------------------------ comparing
    def difference(self) -> str | None:
        """What has changed since, in words; None where nothing has."""
        return difference_of(self.held)

    def words(self) -> tuple[list, list]:
        """The words of memory that say what is held now, and what of it has none and is to be compared in Python.

        Raises:
            Unfollowed: something has changed.
        """
        if self.difference() is not None:
            raise Unfollowed("something has changed")
        pairs, rest = [], []
        for i, (name, read, _, labels, words) in enumerate(self.held):
            self.held[i] = each = name, read, read(), labels, words      # equal constants may be other objects by now
            try:
                own = None if words is None else words()
            except (guards.Unknown, StopIteration, KeyError, ValueError):
                own = None
            if own is None:
                rest.append(each)
            else:
                pairs += own
        return pairs, rest


def _of_stored_grad(own) -> list:
    name = "_stored_grad"
    return guards.of_dict(own, frozenset((name,))) if name in own else [guards.of_length(own)]


def can_die(value) -> bool:
    """Whether an object is one of a program's that weak references may be made to: an instance, or a module.

    Args:
        value: any object.
    """
    return bool(type(value).__weakrefoffset__) and not isinstance(value, (
        *_LIBRARY, *_CONTAINERS, types.FunctionType, types.MethodType, types.ModuleType, functools.partial, type, weakref.ref,
        Tensor, np.ndarray))


def has_attributes(tensor, names) -> bool:
    """Whether a program has set attributes on a tensor.

    Args:
        tensor: it.
        names: those that matter.
    """
    own = tensor.__dict__
    return bool(own) and any(name in names and name not in _OF_THE_TAPE for name in own)


def difference_of(held) -> str | None:
    for name, read, before, labels, _ in held:
        now = read()
        if len(now) != len(before):
            return f"{name} has changed"
        for i, (a, b) in enumerate(zip(now, before)):
            if a is not b and not same(a, b):
                return f"{name} has changed" + (f" ({labels[i]})" if labels is not None and i < len(labels) else "")
    return None


def _of_class(kind):
    return [guards.of_class(kind)]


def _is_fixed(kind):
    """Whether a class is one that programs do not change: this package's, or Python's."""
    return is_ours(kind.__module__) or kind.__module__ in ("builtins", "typing")


def _of_itself(kind):
    """What a class has itself and programs read: its attributes, and the functions that Python calls by another name."""
    return {key: each for key, each in vars(kind).items() if not key.startswith("__") or isinstance(each, types.FunctionType)}


def _state(kind):
    own = _of_itself(kind)
    return [*own, *own.values(), kind.__mro__]


def _contents(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def _values(scope, names):
    return [scope.get(name, MISSING) for name in names]


def _slots(kind):
    own = vars(kind)                                     # where names that begin with two underscores are written out
    return [slot for slot, each in own.items() if type(each) is types.MemberDescriptorType] if "__slots__" in own else []


def _is_plain(value):
    """Whether an object has nothing to compare: a sentinel, a lock, a weak reference, an iterator of none."""
    module = type(value).__module__
    return type(value) is object or module in ("_thread", "weakref", "_weakref", "typing", "enum") or is_ours(module)


def _article(kind):
    return f"a{'n' if kind.__name__[0] in 'aeiouAEIOU' else ''} {kind.__name__}"


def is_constant(value) -> bool:
    """Whether a value is one that nobody can change.

    Args:
        value: no tensor.
    """
    return isinstance(value, (*_VALUES, *_LIBRARY, type, types.ModuleType, Enum)) or \
        (type(value) is frozenset and all(map(is_constant, value)))


def is_ours(module) -> bool:
    """Whether a module is this package's."""
    return isinstance(module, str) and (module == "numtorch" or module.startswith("numtorch."))
