"""The C functions that a captured call may make use of: those whose only effect is what they return, or on objects of Python that
`reach` compares. Everything else could read or write what a replay does not: it is looked for, and not found, here."""
from __future__ import annotations

import builtins
import functools
import itertools
import math
import operator
import sys
from collections import OrderedDict, defaultdict, deque
from types import MappingProxyType, ModuleType

FUNCTIONS = frozenset("""
    abs all any bool callable chr complex dict divmod enumerate filter float format frozenset getattr hasattr hash id int isinstance
    issubclass iter len list locals map max min next object ord pow property range repr reversed round set setattr slice sorted
    staticmethod classmethod str sum super tuple type vars zip __build_class__ NotImplementedError
""".split())
MODULES = frozenset("""
    builtins math cmath functools itertools operator typing collections collections.abc contextlib dataclasses enum copy abc types
    numbers warnings __future__ typing_extensions string re
    _operator _functools _collections _collections_abc _abc _weakref weakref inspect
    keyword textwrap reprlib copyreg
""".split())
CONTAINERS = (list, tuple, dict, set, frozenset, str, bytes, int, float, complex, bool, deque, OrderedDict, defaultdict, range,
              slice, type(None), MappingProxyType)
OURS = {("sys", "getrefcount"), ("sys", "getprofile"), ("_ctypes", "addressof"), ("_thread", "get_ident"), ("_functools", "reduce"),
        ("_struct", "pack"), ("_struct", "unpack")}      # of numbers, where a kernel is planned
CLEANING = "_weakref", "_remove_dead_weakref"            # of a table, whenever something dies that it knew
CLEANING_OF_SETS = "_weakrefset", "_remove"              # the same, which is Python's
_PLAIN = (math, functools, itertools, operator)


def is_allowed(function, ours: bool) -> bool:
    """Whether a C function may be called.

    Args:
        function: it.
        ours: whether this package calls it.
    """
    owner, name = getattr(function, "__self__", None), function.__name__
    if isinstance(owner, ModuleType):
        if owner is builtins:
            return name in FUNCTIONS
        if owner in _PLAIN or owner.__name__ in ("_operator", "_functools", "itertools", "math", "_abc"):
            return True
        return (ours and (owner.__name__, name) in OURS) or (owner.__name__, name) == CLEANING
    if owner is None:
        kind = getattr(function, "__objclass__", None)
        return kind is object or kind in CONTAINERS
    if isinstance(owner, type):
        return owner in CONTAINERS or owner is object or (owner is type and name == "__new__") or name in (
            "__new__", "__subclasscheck__", "__init_subclass__")
    if isinstance(owner, CONTAINERS):
        return True
    return (ours and type(owner).__module__ in ("_thread", "_thread.RLock", "weakref", "_weakref")) or name in (
        "__reduce_ex__", "__getstate__", "__setattr__", "__getattribute__")


def decides_alone(function) -> bool:
    """Whether a C function that is allowed is so for every object that it may be a method of."""
    owner = getattr(function, "__self__", None)
    return owner is not None and (not isinstance(owner, type) or function.__name__ == "__new__")


def is_allowed_name(value) -> str | None:
    """None where a function of a user's may refer to an object; else what it is, in words.

    Args:
        value: what a global name stands for.
    """
    kind = type(value)
    if isinstance(value, ModuleType):
        name, package = value.__name__, value.__name__.partition(".")[0]
        known = package == "numtorch" or name in MODULES or (package not in sys.stdlib_module_names and package != "numpy")
        return None if known else f"the module {name}"
    module = kind.__module__
    if not isinstance(module, str):                      # but what says where each of its objects is from, as Cython's functions do
        module = getattr(value, "__module__", None) or ""
    if module.partition(".")[0] == "numpy" or (isinstance(value, type) and value.__module__.partition(".")[0] == "numpy"):
        return f"NumPy's {getattr(value, '__name__', kind.__name__)}"
    module = getattr(value, "__module__", None)
    if kind is functools._lru_cache_wrapper and not str(module).startswith("numtorch."):
        return f"{value.__name__}(), whose results are kept (functools.cache)"
    if kind.__name__ == "builtin_function_or_method":
        return None if is_allowed(value, False) else f"{value.__name__}()"
    if callable(value) and isinstance(module, str) and not hasattr(value, "__dict__") and module.partition(".")[0] not in (
            "numtorch", "builtins"):
        return f"{module}.{getattr(value, '__name__', kind.__name__)}"
    return None
