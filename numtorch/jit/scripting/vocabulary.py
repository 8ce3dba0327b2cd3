"""The functions and methods that a script may call. What is not here a script cannot reach, whoever wrote its text."""
from __future__ import annotations

import ast
import builtins
import functools
import importlib
import inspect
import math
import warnings
from typing import Any

from ... import nn
from ...devices import device
from ...dtypes import dtype
from ...interposition import contents
from ...layout import Size
from ...nn.modules import tuples
from ...nn.modules.attention import NonDynamicallyQuantizableLinear
from ...tensor import Tensor
from .kinds import ANY, BOOL, DEVICE, DTYPE, FLOAT, INT, STR, TENSOR, Kind, list_of, optional, parse_kind, tuple_of

BUILTINS = {name: getattr(builtins, name) for name in (
    "abs", "all", "any", "bin", "bool", "chr", "complex", "dict", "divmod", "enumerate", "float", "hash", "hex", "int", "len",
    "list", "max", "min", "oct", "ord", "pow", "print", "range", "reversed", "round", "sorted", "str", "sum", "tuple", "zip")}


def warn(message, category) -> None:
    """`warnings.warn` at the script's line. It imports, which what a script may name does not have."""
    warnings.warn(message, category, stacklevel=2)


BUILTINS["warn"] = warn
WARNINGS = {name: getattr(builtins, name) for name in ("UserWarning", "DeprecationWarning", "FutureWarning", "RuntimeWarning")}
EXCEPTIONS = {
    name: getattr(builtins, name)
    for name in (
        "ArithmeticError",
        "AssertionError",
        "Exception",
        "IndexError",
        "KeyError",
        "NotImplementedError",
        "OverflowError",
        "RuntimeError",
        "TypeError",
        "ValueError",
        "ZeroDivisionError",
    )
}
_ROOMS = ("numtorch.ops.", "numtorch.nn.", "numtorch.linalg", "numtorch.fft", "numtorch.special")
_NAMESPACES = ("", "nn.functional", "linalg", "fft", "special", "nn.init")
_NEVER = frozenset(
    ("from_file", "pointwise", "lobpcg", "save", "load", "compile", "manual_seed", "seed", "set_rng_state", "get_rng_state")
)
MODES = ("no_grad", "enable_grad", "profiler.record_function")         # what `with` is for

# a tensor's attributes that call Python, or show memory
_HIDDEN = frozenset(
    (
        "address",
        "apply_",
        "as_subclass",
        "data_ptr",
        "grad_fn",
        "map_",
        "memory",
        "name",
        "new",
        "node",
        "numpy",
        "output_nr",
        "pin_memory",
        "register_hook",
        "register_post_accumulate_grad_hook",
        "set_",
        "share_memory_",
        "storage",
        "untyped_storage",
    )
)
ATTRIBUTES = {
    "shape": list_of(INT),
    "ndim": INT,
    "dtype": DTYPE,
    "device": DEVICE,
    "requires_grad": BOOL,
    "grad": ANY,
    "T": TENSOR,
    "H": TENSOR,
    "mT": TENSOR,
    "mH": TENSOR,
    "data": TENSOR,
    "real": TENSOR,
    "imag": TENSOR,
    "is_leaf": BOOL,
    "nbytes": INT,
    "itemsize": INT,
    "layout": ANY,
    **{f"is_{name}": BOOL for name in ("cpu", "cuda", "meta", "sparse", "sparse_csr", "mkldnn", "quantized")},
}
_METHOD_KINDS = {
    "size": ANY,
    "dim": INT,
    "numel": INT,
    "nelement": INT,
    "ndimension": INT,
    "element_size": INT,
    "item": Kind("number"),
    "storage_offset": INT,
    "get_device": INT,
    "tolist": ANY,
    "stride": ANY,
    "is_contiguous": BOOL,
    "is_nonzero": BOOL,
    **dict.fromkeys(("is_floating_point", "is_complex", "is_signed", "equal", "allclose", "is_same_size"), BOOL),
    **dict.fromkeys(
        ("split", "chunk", "unbind", "tensor_split", "split_with_sizes", "hsplit", "vsplit", "dsplit"), list_of(TENSOR)
    ),
}
LISTS = {"append": Kind("NoneType"), "extend": Kind("NoneType"), "insert": Kind("NoneType"), "pop": ANY, "remove": Kind("NoneType"),
         "clear": Kind("NoneType"), "reverse": Kind("NoneType"), "sort": Kind("NoneType"), "copy": ANY, "index": INT, "count": INT}
DICTS = {
    "keys": ANY,
    "values": ANY,
    "items": ANY,
    "get": ANY,
    "pop": ANY,
    "popitem": ANY,
    "setdefault": ANY,
    "update": Kind("NoneType"),
    "clear": Kind("NoneType"),
    "copy": ANY,
}
STRINGS = {
    **dict.fromkeys(
        (
            "lower",
            "upper",
            "strip",
            "lstrip",
            "rstrip",
            "replace",
            "join",
            "title",
            "capitalize",
            "zfill",
            "ljust",
            "rjust",
            "center",
            "swapcase",
            "expandtabs",
        ),
        STR,
    ),
    **dict.fromkeys(("split", "rsplit", "splitlines"), list_of(STR)),
    **dict.fromkeys(("partition", "rpartition"), tuple_of(STR, STR, STR)),
    **dict.fromkeys(("find", "rfind", "count", "index", "rindex"), INT),
    **dict.fromkeys(("startswith", "endswith", "isdigit", "isalpha", "isalnum", "isspace", "islower", "isupper", "isdecimal",
                     "isidentifier", "isnumeric", "isprintable", "istitle"), BOOL),
    "format": STR,
}
DEVICES = {"type": STR, "index": ANY}
DTYPES = {"is_floating_point": BOOL, "is_complex": BOOL, "itemsize": INT}
FIELDS = frozenset(("values", "indices", "U", "S", "Vh", "V", "Q", "R", "L", "LU", "LD", "P", "pivots", "info", "eigenvalues",
                    "eigenvectors", "logabsdet", "sign", "solution", "residuals", "rank", "singular_values", "mantissa", "exponent",
                    "hist", "bin_edges", "counts", "inverse", "result", "output", "min", "max"))
MATH = {name: getattr(math, name) for name in dir(math) if not name.startswith("_")}


def unwrapped(value: Any) -> Any:
    """A value that is not None (`torch.jit._unwrap_optional`).

    Args:
        value: it.

    Raises:
        AssertionError: it is None.
    """
    if value is None:
        raise AssertionError("Unwrapping null optional")
    return value


@functools.cache
def _root() -> Any:
    return importlib.import_module("numtorch")


@functools.cache
def functions() -> dict[str, Any]:
    """What a script may call, by the path under `torch`."""
    functions_by_name: dict[str, Any] = {}
    for space in _NAMESPACES:
        home = functools.reduce(getattr, space.split("."), _root()) if space else _root()
        for name, value in contents(home):
            if name.startswith("_") or name in _NEVER:
                continue
            if callable(value) and not isinstance(value, type) and str(getattr(value, "__module__", "")).startswith(_ROOMS):
                functions_by_name[f"{space}.{name}" if space else name] = value
    for name in (
        "tensor",
        "is_tensor",
        "is_grad_enabled",
        "as_tensor",
        "get_default_dtype",
        "numel",
        "is_floating_point",
        "is_complex",
        "_sample_dirichlet",
    ):
        if hasattr(_root(), name):
            functions_by_name[name] = getattr(_root(), name)
    functions_by_name["device"] = device
    functions_by_name["Size"] = Size
    functions_by_name["autograd.grad"] = _root().autograd.grad
    functions_by_name["_assert"] = _root()._assert
    functions_by_name["jit._unwrap_optional"] = unwrapped
    for name in ("_single", "_pair", "_triple", "_quadruple"):
        functions_by_name[f"nn.modules.utils.{name}"] = getattr(tuples, name)
    for mode in MODES:
        functions_by_name[mode] = functools.reduce(getattr, mode.split("."), _root())
    return functions_by_name


@functools.cache
def takes_text(path: str, place: int) -> bool:
    """Whether a function under `torch` may be given a string by place: an operand, which has no default, is none.

    Args:
        path: its.
        place: the argument's.
    """
    parameters = [*inspect.signature(functions()[path]).parameters.values()][place:]
    return bool(parameters) and (parameters[0].annotation == "str" or parameters[0].default is not inspect.Parameter.empty
                                 or parameters[0].name in ("reduce", "type", "message", "name"))


@functools.cache
def paths() -> dict[int, str]:
    """The path of each function by its identity."""
    result: dict[int, str] = {}
    for path, function in functions().items():
        result.setdefault(id(function), path)
    return result


@functools.cache
def constants() -> dict[str, Any]:
    """Values under `torch` that are no functions: dtypes, memory formats, layouts, numbers."""
    root = _root()
    values = {str(each).removeprefix("torch."): each for each in vars(root).values() if isinstance(each, dtype)}
    values.update({name: value for name in dtype.by_name if isinstance(value := getattr(root, name, None), dtype)})
    values.update(
        {
            name: getattr(root, name)
            for name in (
                "float",
                "double",
                "half",
                "long",
                "int",
                "short",
                "bool",
                "strided",
                "contiguous_format",
                "preserve_format",
                "channels_last",
                "channels_last_3d",
            )
        }
    )
    values.update({name: getattr(math, name) for name in ("inf", "nan", "pi", "e")})
    return values


@functools.cache
def is_method(name: str) -> bool:
    """Whether a script may call a tensor's method."""
    return not name.startswith("_") and name not in _HIDDEN and name not in ATTRIBUTES and callable(getattr(Tensor, name, None))


@functools.cache
def any_names() -> frozenset[str]:
    """What may be asked of a value of which nothing is known."""
    return frozenset((*[name for name in dir(Tensor) if is_method(name)], *ATTRIBUTES, *LISTS, *DICTS, *STRINGS, *DEVICES, *DTYPES,
                      *FIELDS)) - {"format"}


def said_result(function: Any) -> Kind:
    """What an annotation says that a function of this package returns."""
    said = getattr(function, "__annotations__", {}).get("return")
    if said == "Tensor" or said is Tensor:
        return TENSOR
    if isinstance(said, str):
        try:
            kind = parse_kind(ast.parse(said, mode="eval").body)
        except (ValueError, SyntaxError):
            return ANY
        return ANY if kind == Kind("Tuple") else kind    # which says nothing of what is in it
    return {int: INT, bool: BOOL, float: FLOAT, str: STR}.get(said, ANY) if isinstance(said, type) else ANY


_FUNCTION_KINDS = {
    "tensor": TENSOR,
    "as_tensor": TENSOR,
    "is_tensor": BOOL,
    "is_grad_enabled": BOOL,
    "numel": INT,
    "device": DEVICE,
    "Size": list_of(INT),
    "autograd.grad": list_of(optional(TENSOR)),
    "get_default_dtype": DTYPE,
    "is_floating_point": BOOL,
    "is_complex": BOOL,
    "equal": BOOL,
    "allclose": BOOL,
}


@functools.cache
def result_kind(path: str) -> Kind:
    """What a function under `torch` returns."""
    if path in _FUNCTION_KINDS:
        return _FUNCTION_KINDS[path]
    if path in _METHOD_KINDS:
        return _METHOD_KINDS[path]
    return said_result(functions()[path])


@functools.cache
def method_kind(name: str) -> Kind:
    """What a tensor's method returns."""
    return _METHOD_KINDS[name] if name in _METHOD_KINDS else said_result(getattr(Tensor, name))


def is_library(kind: type) -> bool:
    """Whether a class is one of this package's modules, which every file may name."""
    return issubclass(kind, nn.Module) and kind.__module__.startswith("numtorch.nn.") and library_class(kind.__name__) is kind


def library_class(name: str) -> Any:
    """What is called so in `torch.nn`, or is a part of one of its modules; None where there is no such thing.

    Args:
        name: its own.
    """
    parts = {each.__name__: each for each in (NonDynamicallyQuantizableLinear,)}       # of attention
    return getattr(nn, name, None) or parts.get(name)


_SAYING = frozenset(("__init__", "__module__", "__doc__", "__annotations__", "__constants__", "__static_attributes__",
                     "__firstlineno__", "__repr__", "extra_repr", "reset_parameters"))     # what changes no call


def library_base(kind: type) -> Any:
    """The class of this package's modules that does all that a class does when it is called; None for none.

    Args:
        kind: the class, which is that one, or is derived from it and says how to make it, and what it is called.
    """
    for base in kind.__mro__:
        if is_library(base):
            return base
        if any(name not in _SAYING and not isinstance(value, staticmethod) for name, value in vars(base).items()):
            return None
    return None


# ---------------------------------------------------------------- what modules hold
OWN = frozenset(vars(nn.Module())) | {"_hooks"}          # what modules have of their own
CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)
_PLAIN = (int, float, bool, str, complex, type(None), dtype, device)


def is_plain(value: Any) -> bool:
    """Whether a value is one that scripts and files have: tensors, numbers, strings, and lists, tuples and dicts of them."""
    if type(value) in (list, tuple):
        return all(map(is_plain, value))
    if type(value) is dict:
        return all(map(is_plain, value)) and all(map(is_plain, value.values()))
    return isinstance(value, Tensor) or type(value) in _PLAIN


def container_of(kind: type) -> Any:
    """The container that a class of modules is derived from, whose loops, lengths and elements its own are; None for none.

    Args:
        kind: the class.
    """
    return next((base for base in kind.__mro__ if base in CONTAINERS), None)
