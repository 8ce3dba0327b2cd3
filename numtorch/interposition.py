"""Interposition: code in front of public functions, while something wants to see their calls.

Who wants to see calls (subclasses, a profile, autocast) pays for it, and nobody else: a function gets other code, which asks first
and then calls the function as it was. It stays the same object, so that `func is torch.mean` holds whoever asks and whenever it was
imported, and callers inside of the package are seen as well.

Several may stand before one function: the one of the lowest rank is the outermost.
"""
from __future__ import annotations

import dis
import importlib
import types as pytypes
from importlib.util import find_spec

from .tensor import Tensor

__all__ = ["Interposer", "contents", "operations", "own_code", "public_functions", "with_constants"]

NAMESPACES = ("numtorch", "numtorch.nn.functional", "numtorch.linalg", "numtorch.fft", "numtorch.special")
# What says what a tensor is made of, or makes one, and what Python itself calls.
IGNORED = frozenset("""
    as_subclass from_numpy is_tensor is_storage typename set_default_dtype get_default_dtype manual_seed seed initial_seed
    get_rng_state set_rng_state fork_rng set_num_threads get_num_threads set_printoptions set_default_device
    get_default_device empty_cache pointwise set_grad_enabled is_grad_enabled save load __init__ __new__ __init_subclass__
    __torch_function__ __reduce__ __reduce_ex__ __setstate__ __getstate__ __hash__ __dir__ __getattr__ __del__
    __class_getitem__
""".split())

# What is called by PyTorch's names with an underscore, and seen nevertheless.
SEEN = frozenset(("_assert", "_assert_async"))

_interposed: dict = {}                                   # what stands before each function


class _Function:
    """A function as it was, and what stands before it, the innermost first."""

    __slots__ = ("layers", "original")

    def __init__(self, function):
        self.original, self.layers = _copy(function, function.__code__), []

    def rebuild(self, function):
        inner = self.original
        for interposer in self.layers:
            code = interposer.code(inner, function)
            inner = _copy(function, code)
        vars(function).pop("__wrapped__", None)
        if self.layers:                                  # whose source and signature `inspect` and `help` show
            function.__wrapped__ = self.original
        elif "__wrapped__" in vars(self.original):
            function.__wrapped__ = self.original.__wrapped__
        function.__code__ = inner.__code__


def _copy(function, code):
    """A function of its own with the same name, globals, defaults, closure and attributes."""
    copy = pytypes.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__, copy.__qualname__ = function.__kwdefaults__, function.__qualname__
    copy.__annotations__ = function.__annotations__
    vars(copy).update(vars(function))
    return copy


def own_code(function):
    """The code of a function as it was written, whatever stands before it now.

    Args:
        function: of Python.
    """
    known = _interposed.get(function)
    return (function if known is None else known.original).__code__


class Interposer:
    """One reason to stand before functions.

    Args:
        rank: the place among others before the same function; the lowest is the outermost.
        code: `code(plain, public)`, the code that `public` gets, which calls `plain`: see `with_constants`.
    """

    def __init__(self, rank: int, code) -> None:
        self.rank, self.code = rank, code
        self.functions: set = set()

    def add(self, functions) -> None:
        """Stand before functions from now on."""
        for function in functions:
            if function not in self.functions:
                self.functions.add(function)
                known = _interposed.get(function)
                if known is None:
                    known = _interposed[function] = _Function(function)
                known.layers = sorted([*known.layers, self], key=lambda layer: -layer.rank)
                known.rebuild(function)

    def remove(self) -> None:
        """Stand before no function any more."""
        for function in self.functions:
            known = _interposed[function]
            known.layers.remove(self)
            known.rebuild(function)
        self.functions.clear()


def with_constants(template, function, **constants):
    """The code of `template` for a function, in which strings that name one of `constants` are that object.

    Args:
        template: a function of `*args, **kwargs` without a closure.
        function: what gets the code. Its free variables are in the code and filled, since a closure must fit, but not used.

    Raises:
        TypeError: a constant without a hash, which the code would then not have either: debuggers and `compile` look codes up.
    """
    hash(tuple(constants.values()))
    code = template.__code__
    values = tuple([constants.get(c, c) if type(c) is str else c for c in code.co_consts])
    code = code.replace(co_consts=values, co_name=function.__name__, co_freevars=function.__code__.co_freevars)
    return _filling_cells(code) if code.co_freevars and _COPY_FREE_VARS is not None else code


_COPY_FREE_VARS = dis.opmap.get("COPY_FREE_VARS")        # of Python 3.11 on; 3.10 fills a frame's cells by itself


def _filling_cells(code):
    """Code that begins by putting its closure's cells in their places, as compiled code with free variables does. Who looks at the
    locals of a frame, as debuggers and pytest do, reads the cells, and Python ends where there are none."""
    return code.replace(co_code=bytes([_COPY_FREE_VARS, len(code.co_freevars)]) + code.co_code,
                        co_linetable=bytes([0xF8]) + code.co_linetable,              # one instruction without a line
                        co_exceptiontable=_moved(code.co_exceptiontable))


def _moved(table: bytes) -> bytes:
    """An exception table whose code begins one instruction later: Objects/exception_handling_notes.txt of CPython has its format.
    Each range has a start, a length, a target and a depth, in digits of 6 bits, the highest first, with bit 6 where more follow and
    bit 7 where a range begins."""
    out, numbers, digits = bytearray(), [], iter(table)
    for digit in digits:
        number = digit & 63
        while digit & 64:
            digit = next(digits)
            number = number << 6 | digit & 63
        numbers.append(number)
    for i, number in enumerate(numbers):
        number += i % 4 in (0, 2)
        places = range(max(0, (number.bit_length() - 1) // 6), -1, -1)
        encoded = [number >> 6 * place & 63 | (64 if place else 0) for place in places]
        encoded[0] |= 0 if i % 4 else 128
        out += bytes(encoded)
    return bytes(out)


def contents(namespace):
    """(name, value) of all in a module but the modules in it that wait to be imported: `overrides` makes every function ask its
    arguments from then on."""
    for name in dir(namespace):
        if name in vars(namespace) or not (hasattr(namespace, "__path__") and find_spec(f"{namespace.__name__}.{name}")):
            yield name, getattr(namespace, name, None)


def public_functions():
    """(namespace, name, function) of every function that users call, methods included."""
    for module in NAMESPACES:
        namespace = importlib.import_module(module)
        for name, value in contents(namespace):
            yield namespace, name, value
    for name, value in vars(Tensor).items():
        yield Tensor, name, value


def operations() -> dict:
    """The public functions that compute something, each with the name that it is called by: `matmul` for `__matmul__`."""
    names: dict = {}
    for _, name, function in list(public_functions()):
        private = name.startswith("_") and not name.endswith("__") and name not in SEEN
        if isinstance(function, pytypes.FunctionType) and name not in IGNORED and not private:
            if function not in names or name == function.__name__:
                names[function] = name[2:-2] if name.startswith("__") else name
    return names
