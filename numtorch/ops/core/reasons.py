"""Why a function is no formula: the line, what stands there, and what to write instead.

The byte code is read, since that is there for what is typed into a REPL too.
"""
from __future__ import annotations

import builtins
import dis
import types as pytypes

from .primitive import is_ours, registry

_PARTS = frozenset(("real", "imag", "conjugate"))        # what numbers have
_BUILTINS = frozenset((abs, divmod, max, min, pow, round))               # of Python's functions, those that compute with numbers
_MISSING = object()
_INDEX = "a formula sees one element; index the tensor before"

# by the names of instructions: what they are of, and what to do instead
_WITHOUT_MEANING = {
    **dict.fromkeys(("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "BUILD_STRING"), ("text", "a formula computes numbers")),
    **dict.fromkeys(("BUILD_LIST", "LIST_EXTEND", "LIST_APPEND"), ("a list", "use a variable for each number")),
    **dict.fromkeys(("BUILD_MAP", "BUILD_CONST_KEY_MAP"), ("a dict", "use a variable for each number")),
    **dict.fromkeys(("BUILD_SET", "SET_ADD"), ("a set", "compare with each number: (x == 1) | (x == 2)")),
    **dict.fromkeys(("BINARY_SUBSCR", "STORE_SUBSCR", "BINARY_SLICE"), ("an index", _INDEX)),
    **dict.fromkeys(("YIELD_VALUE", "RETURN_GENERATOR"), ("yield", "return the result")),
    **dict.fromkeys(("IMPORT_NAME", "IMPORT_FROM"), ("an import", "import before the function")),
    **dict.fromkeys(("STORE_GLOBAL", "STORE_ATTR", "STORE_DEREF"), ("an assignment to what lies outside", "return the result")),
    **dict.fromkeys(("SETUP_FINALLY", "SETUP_WITH", "BEFORE_WITH"), ("try or with", "choose with where(condition, x, y)")),
    "MAKE_FUNCTION": ("a function inside of the formula", "define it before the formula"),
    "RAISE_VARARGS": ("raise", "give NaN for what has no result, and check the result"),
}


def refusal(function, known=()) -> Exception | None:
    """What to raise where a function is no formula, or calls one that is none; None where nothing is seen to be wrong.

    Returns:
        NameError for an undefined name, TypeError for the rest.
    """
    code = function.__code__
    line, pending, returned, is_text = code.co_firstlineno, _MISSING, None, False

    def at(cause, kind=TypeError):
        return kind(f"formula {function.__name__!r}, line {line} of {code.co_filename}: {cause}")

    if getattr(code, "co_exceptiontable", b""):
        return at("try and with have no meaning in a formula; choose with where(condition, x, y)")
    for instruction in dis.get_instructions(code):
        line = _line(instruction) or line
        name, value = instruction.opname, instruction.argval
        if name in _WITHOUT_MEANING:
            what, instead = _WITHOUT_MEANING[name]
            return at(f"{what} has no meaning in a formula; {instead}")
        if is_text and name.startswith(("BINARY_", "COMPARE_OP", "RETURN_VALUE")):
            return at("text has no meaning in a formula; a formula computes numbers")
        is_text = name == "LOAD_CONST" and isinstance(value, str)
        if name == "BINARY_OP" and instruction.argrepr == "[]":
            return at(f"an index has no meaning in a formula; {_INDEX}")
        if name in ("LOAD_ATTR", "LOAD_METHOD"):
            if isinstance(pending, str):
                if value not in _PARTS:
                    return at(_of_a_number(pending, value))
            elif pending is not _MISSING:
                if not hasattr(pending, value):
                    return at(f"{getattr(pending, '__name__', pending)!r} has no {value!r}", NameError)
                pending = getattr(pending, value)
                continue
            pending = _MISSING
            continue
        if name != "PUSH_NULL":
            wrong = _of_a_value(pending, (*known, function)) if pending is not _MISSING and not isinstance(pending, str) else None
            if wrong is not None:
                return wrong if isinstance(wrong, Exception) else at(wrong)
            pending = _MISSING
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            if value in function.__globals__:
                pending = function.__globals__[value]
            elif hasattr(builtins, value):
                pending = getattr(builtins, value)
            else:
                return at(f"name {value!r} is not defined", NameError)
        elif name == "LOAD_DEREF":
            pending = dict(zip(code.co_freevars, function.__closure__ or ()))[value].cell_contents
        elif name.startswith("LOAD_FAST"):
            pending = value[-1] if isinstance(value, tuple) else value
        returned = name == "LOAD_CONST" and value is None if name != "RETURN_VALUE" else returned
        if (name == "RETURN_VALUE" and returned) or (name == "RETURN_CONST" and value is None):
            return at("nothing is returned here; return the result, for every way through the formula")
    return None


def _line(instruction):
    positions = getattr(instruction, "positions", None)
    return positions.lineno if positions is not None else instruction.starts_line


def _of_a_number(owner, name):
    op = registry.get(name)
    instead = f"write torch.{name}({owner}, ...)" if hasattr(op, "operands") else "do that to the tensor, before or after"
    return f"{owner}.{name}: in a formula {owner!r} is one number, which has no {name!r}; {instead}"


def _of_a_value(value, known):
    """What is wrong with a global that a formula uses: a text or an exception; None for what may stand there."""
    if isinstance(value, pytypes.FunctionType) and not hasattr(value, "scalar"):
        if is_ours(value.__module__) and not value.__module__.startswith("numtorch.kernels."):
            return f"{value.__name__} is no elementwise op: a formula says what becomes of one element; call it on the tensor"
        return None if value in known else refusal(value, known)
    if isinstance(value, pytypes.BuiltinFunctionType) and value.__module__ == "builtins" and value not in _BUILTINS:
        return f"{value.__name__}() has no meaning in a formula; a formula computes numbers"
    if callable(value) and type(value).__module__ == "numpy":
        return f"NumPy's {value.__name__} computes with arrays; write torch.{value.__name__}"
    if isinstance(value, (list, dict, set, str)):
        return f"a {type(value).__name__} has no meaning in a formula; use numbers"
    if type(value).__name__ == "Tensor":
        return "a tensor in a formula would be one number at the time it is compiled; make it an argument"
    return None


def results_of(function) -> int:
    """How many results a formula returns: 1, or the length of the tuple that it is written to return."""
    size, built = 1, 0
    for instruction in dis.get_instructions(function.__code__):
        if instruction.opname == "RETURN_VALUE" and built:
            size = built
        built = instruction.argval if instruction.opname == "BUILD_TUPLE" else 0
    return size
