"""What a kernel is made of: the function with its names filled in, and the fingerprint of all that shapes its code.

A kernel is written over global names: its dtype `T`, an op's scalar body, how words are loaded. `bind` puts what they stand for
into the globals of the function and of every helper it calls, replaces intrinsics by the form that the target has, and gives the
literals of formulas the compute type: Numba would promote `1 / (1 + x)` with float32 x to float64, which halves the speed.

Since a name reaches every helper, it must mean one thing in all their files. Two that did not (a count of lanes, 16 in one
file and 8 in another) left half of every random draw at zero; `Names` refuses that. Nor may a number be bound to a name that says
where something stands in a descriptor: `descriptor[COLUMNS]` would read another place.
"""
from __future__ import annotations

import dis
import functools
import hashlib
import os
import re
import sys
import types as pytypes

import numpy as np

from .intrinsics import Intrinsic

DISABLE_JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("0", "")


# ---------------------------------------------------------------- what a kernel is made of
class ScalarBody:
    """A function of scalars, to be compiled for one compute type and inlined where a kernel calls it.

    Args:
        function: the Python function.
        compute: the name of the dtype its arguments have, such as `"float32"`.
        literals: which of its literals take that type: `"all"` (an op's formula) or `"float"` (code that also counts).
    """

    __slots__ = ("function", "compute", "literals")

    def __init__(self, function, compute: str, literals: str = "all"):
        self.function, self.compute, self.literals = function, compute, literals

    def __eq__(self, other):
        return (type(other) is ScalarBody and self.function is other.function and self.compute == other.compute
                and self.literals == other.literals)

    def __hash__(self):
        return hash((self.function, self.compute, self.literals))


OUTLINED: dict[pytypes.FunctionType, str] = {}           # helpers that stay functions of their own, and a part of Numba's symbols


def outlined(function):
    """Mark a helper that kernels call and have no copies of. LLVM puts one wherever it is called, and large loops cost as much
    again to optimise each time; beside one, a call costs nothing. Not for what is called for each element, nor what constants make
    simpler."""
    OUTLINED[function] = "".join(f"{len(part)}{part}" for part in f"{function.__module__}.{function.__qualname__}".split(".")) + "B"
    return function


def _typed_constant(value, compute, literals):
    kind = type(value)
    if compute is None or kind not in (int, float) or (kind is int and literals == "float"):
        return value
    dtype = np.dtype(compute)
    if kind is float and dtype.kind not in "fc":
        return value
    if kind is int and dtype.kind in "iu" and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        return value
    return value if dtype.kind == "b" else dtype.type(value)


def _with_typed_literals(code, compute, literals):
    """The code object with its literals converted. Works on byte code, so that functions typed into a REPL have it too."""
    constants = list(code.co_consts)
    patched = bytearray(code.co_code)
    if literals == "all" and sys.version_info >= (3, 14):        # 3.14 keeps small ints in the instruction itself
        load = dis.opmap["LOAD_CONST"]
        for instruction in dis.get_instructions(code):
            if instruction.opname == "LOAD_SMALL_INT":
                same = (i for i, c in enumerate(constants) if type(c) is int and c == instruction.arg)       # 1.0 and True equal 1
                place = next(same, len(constants))
                if place == len(constants):
                    constants.append(instruction.arg)
                patched[instruction.offset] = load
                patched[instruction.offset + 1] = place
    typed = tuple(_typed_constant(c, compute, literals) for c in constants)
    return code.replace(co_consts=typed, co_code=bytes(patched))


class Names(dict):
    """What global names stand for in a kernel and in all its helpers.

    Args:
        names: values by name.
        meant: what a name is by default in the file of whoever binds it, where that is not the kernel's own.
    """

    __slots__ = ("meant",)

    def __init__(self, names, meant=()):
        super().__init__(names)
        self.meant = {name: (value, "what binds it") for name, value in dict(meant).items()}

    def check(self, name, function):
        """Raise NameError where a name is something else in this function's file than in one met before."""
        own, where = function.__globals__[name], f"{function.__module__}.{function.__name__}"
        before, first = self.meant.setdefault(name, (own, where))
        if before is not own and (type(before) is not type(own) or isinstance(own, pytypes.FunctionType) or before != own):
            raise NameError(f"a kernel binds the name '{name}', which is {before!r} in {first} and {own!r} in {where}: bound, it "
                            f"would replace both. Rename one of them")


@functools.lru_cache(maxsize=1 << 12)
def _subscripts(code):
    """The global names that alone, or with a literal added, are a subscript: those of places in a descriptor."""
    pending, names, between = None, set(), ("LOAD_CONST", "LOAD_SMALL_INT", "BINARY_ADD", "COPY", "DUP_TOP_TWO")
    for instruction in dis.get_instructions(code):
        what = instruction.opname
        if what == "LOAD_GLOBAL":
            pending = instruction.argval
        elif what in ("BINARY_SUBSCR", "STORE_SUBSCR") or (what == "BINARY_OP" and instruction.argrepr == "[]"):
            if pending is not None:
                names.add(pending)
            pending = None
        elif what not in between and (what != "BINARY_OP" or instruction.argrepr != "+"):
            pending = None
    return names


def _check_places(function, names):
    """Raise NameError where a number is bound to the name of a place in a descriptor."""
    numbers = [name for name in function.__code__.co_names if type(names.get(name)) in (int, bool)]
    for name in sorted(_subscripts(function.__code__).intersection(numbers)) if numbers else ():
        raise NameError(f"a kernel binds the name '{name}' to {names[name]!r}, which {function.__module__}.{function.__name__} "
                        f"has for a place in a descriptor (x[{name}]). Rename one of them")


def _references(function, names):
    """What a function's global names and free variables stand for, `names` first."""
    result = {}
    for name in function.__code__.co_names:
        if name in names:
            result[name] = names[name]
            if type(names) is Names and name in function.__globals__:
                names.check(name, function)
        elif name in function.__globals__:
            result[name] = function.__globals__[name]
    cells = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        cells[name] = names[name] if name in names else cell.cell_contents
    return result, cells


def _taken_from(module, code):
    """What code may take from a module by attribute: the names of both."""
    return {name: module.__dict__[name] for name in code.co_names if name in module.__dict__}


def _resolve(value, compute):
    """An op or elementary function named in a body, as the scalar function for this compute type."""
    if not isinstance(value, (ScalarBody, type)) and hasattr(value, "scalar"):
        return value.scalar(compute)
    return value


# ---------------------------------------------------------------- binding: the function with its names filled in
NUMBA_KNOWS = frozenset(("math", "cmath", "numpy", "operator", "numba.cuda"))     # modules whose functions it compiles by name
KERNEL_MATH = {"reassoc", "contract", "nsz"}            # never `True`: NaN and Inf must survive
SCALAR_MATH = {"contract"}                              # `(x + magic) - magic` must stay, -0.0 too


def options(fastmath, **more):
    return dict(error_model="numpy", fastmath=set(fastmath), boundscheck=False, _nrt=False, no_cpython_wrapper=True,
                no_cfunc_wrapper=True, **more)


class Target:
    """What kernels are compiled for: the form that intrinsics take there, and how helper functions are compiled.

    This one is the host; kernels/cuda/ has its own.
    """

    def __init__(self):
        self.bound = {}                                  # helper functions by what they were made of

    def intrinsic(self, value: Intrinsic):
        return value if DISABLE_JIT else value.lower()

    def helper(self, function, scalar: bool):
        """A function that kernels call, compiled; `scalar` bodies are inlined."""
        if DISABLE_JIT:
            return function
        import numba

        from .codegen.frontend import KernelCompiler
        flags = options(SCALAR_MATH if scalar else KERNEL_MATH, forceinline=scalar)
        return numba.njit(pipeline_class=KernelCompiler, **flags)(function)


HOST = Target()


def bind(function, names, compute, literals=None, target=HOST):
    """`function` as Numba (or, without the JIT, Python) shall see it: a new function over transformed globals."""
    _check_places(function, names)
    referenced, cells = _references(function, names)

    def transform(value):
        if literals and type(value) in (int, float):     # a named constant is a literal too
            return _typed_constant(value, compute, literals)
        if isinstance(value, pytypes.ModuleType):
            return transform_module(value)
        return _bind_value(_resolve(value, compute), names, compute, target)

    def transform_module(module):
        """`torch.exp` and `math.pi` in a formula: a module of what the code takes from this one, transformed."""
        taken = _taken_from(module, function.__code__)
        made = {n: v if module.__name__ in NUMBA_KNOWS and isinstance(v, pytypes.FunctionType) else transform(v)
                for n, v in taken.items() if v is not module}
        if all(made[n] is taken[n] for n in made):
            return module
        stand_in = pytypes.ModuleType(module.__name__)
        stand_in.__dict__.update(made)
        return stand_in

    scope = {"__builtins__": __builtins__, "__name__": function.__module__ or "kernel"}
    scope.update({name: transform(value) for name, value in referenced.items()})
    code = function.__code__
    if literals:
        code = _with_typed_literals(code, compute, literals)
    closure = tuple(pytypes.CellType(transform(cells[n])) for n in code.co_freevars) or None
    defaults = function.__defaults__
    if literals and defaults:
        defaults = tuple(_typed_constant(d, compute, literals) for d in defaults)
    made = pytypes.FunctionType(code, scope, function.__name__, defaults, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _bind_value(value, names, compute, target):
    if isinstance(value, Intrinsic):
        return target.intrinsic(value)
    scalar = isinstance(value, ScalarBody)
    if scalar and target is not HOST:
        value = getattr(value, "portable", value)        # a body may have a form for this processor's own instructions
    if not scalar and not isinstance(value, pytypes.FunctionType):
        if hasattr(value, "py_func"):                    # compiled by its author with Numba, of which it may need anything
            from .codegen.frontend import load_all
            load_all()
        return value
    # all that shapes it, and no name that another kernel binds for others: a global it refers to may have been assigned since
    key = value, compute, _describe(value, names, compute, frozenset())
    try:
        made = target.bound.get(key)
    except TypeError:
        key, made = None, None
    if made is None:
        if scalar:
            made = bind(value.function, {}, value.compute, value.literals, target)
        else:
            made = bind(value, names, compute, None, target)
        made = target.helper(made, scalar)
        if key is not None:
            target.bound[key] = made
    return made


def compiled_body(body):
    """A scalar body, compiled as kernels call it."""
    return _bind_value(body, {}, body.compute, HOST)


# ---------------------------------------------------------------- fingerprints
def _text(value):
    """What a value is, the same in every process: a set's own text has the order of this process's hashes."""
    if type(value) is tuple and any(isinstance(v, (tuple, set, frozenset)) for v in value):
        return f"({', '.join(map(_text, value))})"
    return f"{{{', '.join(sorted(map(_text, value)))}}}" if isinstance(value, (set, frozenset)) else repr(value)


def _code_text(code):
    constants = [_code_text(c) if isinstance(c, pytypes.CodeType) else f"{type(c).__name__}:{_text(c)}" for c in code.co_consts]
    return f"{code.co_code.hex()}|{constants}|{code.co_names}|{code.co_varnames}|{code.co_flags}"


def _describe(value, names, compute, seen, code=None):
    value = _resolve(value, compute)
    if isinstance(value, Intrinsic):
        return f"intrinsic {value.module}.{value.name} {module_hash(value.module)}"
    if isinstance(value, ScalarBody):
        return f"scalar {value.compute} {value.literals} {fingerprint(value.function, {}, value.compute, seen)}"
    if isinstance(value, pytypes.FunctionType):
        return fingerprint(value, names, compute, seen)
    if isinstance(value, pytypes.ModuleType):
        if value.__name__ in NUMBA_KNOWS or value in seen:
            return f"module {value.__name__}"
        taken = sorted(_taken_from(value, code).items())
        return f"module {value.__name__} {[(n, _describe(v, names, compute, seen | {value}, code)) for n, v in taken]}"
    if isinstance(value, np.ndarray):                    # its repr leaves out the middle
        return f"array {value.dtype.str} {value.shape} {hashlib.sha256(np.ascontiguousarray(value)).hexdigest()}"
    if isinstance(value, type):
        return f"type {value.__module__}.{value.__qualname__}"
    return f"{type(value).__name__} {_text(value)}"


def fingerprint(function, names, compute, seen):
    code = function.__code__
    if (function, compute) in seen:                      # recursion; two closures of one code are different functions
        return f"again {code.co_name}"
    seen = seen | {(function, compute)}
    referenced, cells = _references(function, names)
    parts = [_code_text(code), _text(function.__defaults__), *(["outlined"] if function in OUTLINED else [])]
    parts += [f"{n}={_describe(v, names, compute, seen, code)}" for n, v in sorted({**referenced, **cells}.items())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


_hashes: dict[str, str] = {}
_PACKAGE = __name__.partition(".")[0]
# from .a.b import c, d | import e.f  (dots, base, names, plain); parsing the files as Python would take ten times as long
_IMPORTS = re.compile(r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import(?:\\\n|[ \t])*(\([^)]*\)|[^\n#]+)|import[ \t]+([^\n#]+))",
                      re.MULTILINE)
_ROOT = os.path.dirname(os.path.dirname(__file__))


def module_hash(name):
    """The hash of a module's source and of the modules of this package that it takes names from: they shape its code too."""
    if name not in _hashes:
        path, package = _source_of(name)
        with open(path, "rb") as file:
            source = file.read()
        taken = sorted(set(_imported(source.decode(), name if package else name.rpartition(".")[0])))
        parts = [source, *(module_hash(other).encode() for other in taken)]
        _hashes[name] = hashlib.sha256(b"".join(parts)).hexdigest()[:16]
    return _hashes[name]


def _source_of(name):
    """The file of a module of this package, and whether the module is a package; (None, False) for what is no module."""
    path = os.path.join(_ROOT, *name.split(".")[1:])
    if os.path.isdir(path):
        return os.path.join(path, "__init__.py"), True
    return (f"{path}.py", False) if os.path.isfile(f"{path}.py") else (None, False)


def _imported(source, package):
    """The modules of this package that a file's import statements name, whatever their form."""
    for dots, base, names, plain in _IMPORTS.findall(source):
        start = package.split(".")[:len(package.split(".")) - len(dots) + 1] if dots else []
        base = ".".join([*start, *([base] if base else [])])
        inner = [f"{base}.{name.split()[0]}" for name in names.strip("()").split(",") if name.strip()]
        modules = [m for m in inner if _source_of(m)[0]]
        if len(modules) < len(inner):
            modules.append(base)
        modules += [name.split()[0] for name in plain.split(",") if name.strip()]
        yield from (m for m in modules if m.split(".")[0] == _PACKAGE)
