"""The types of a script: PyTorch's names for them, what is of which, and what two have in common."""
from __future__ import annotations

import ast
import contextlib
import inspect
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

from ...devices import device
from ...dtypes import dtype
from ...futures import Future
from ...nn.modules.module import Module
from ...tensor import Tensor

UNIT = "__torch__"                                       # where a script's own functions and types stand
OF_USERS = ("NamedTuple", "Object", "Enum")              # types that are classes of users


class Kind(typing.NamedTuple):
    """A type.

    Attributes:
        name: `Tensor`, `int`, `List` and so on; `Any` where nothing is known.
        of: the types of elements; for `Module`, the modules that it may be; for `NamedTuple`, its `Fields`; for `Object`, its
            `ScriptClass`; for `Enum`, its `Enumeration`.
    """

    name: str
    of: tuple = ()

    def __str__(self) -> str:
        if self.name == "NoneType":
            return "None"
        if self.name in OF_USERS:
            return f"{UNIT}.{self.of[0].name}"
        if not self.of or self.name == "Module":         # `list` is any, where `List` is one of tensors
            return self.name.lower() if self.name in ("List", "Dict") else self.name
        return f"{self.name}[{', '.join(map(str, self.of))}]"


class Fields:
    """A class of named tuples.

    Args:
        name: under which a unit's scripts have it.
        function: the class.
        arguments: (name, type) of each field.

    Attributes:
        result: the type of its objects.
        places, with_default: the names of all fields, and of those that may be left out.
    """

    def __init__(self, name: str, function: Any, arguments: list[tuple[str, Kind]]) -> None:
        self.name, self.function, self.arguments = name, function, arguments
        self.result = Kind("NamedTuple", (self,))
        self.places, self.with_default = list(function._fields), set(function._field_defaults)


def is_named_tuple(value: Any) -> bool:
    """Whether a value is a class of named tuples."""
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")


def unnamed(kind: Kind) -> Kind:
    """The type of a named tuple as that of any tuple; another as it is."""
    return tuple_of(*[each for _, each in kind.of[0].arguments]) if kind.name == "NamedTuple" else kind


ANY, TENSOR, INT, FLOAT, BOOL, STR, NONE = map(Kind, ("Any", "Tensor", "int", "float", "bool", "str", "NoneType"))
COMPLEX, DEVICE, DTYPE, NUMBER = map(Kind, ("complex", "device", "dtype", "number"))
PLAIN = {"Tensor": Tensor, "int": int, "float": float, "bool": bool, "str": str, "complex": complex, "NoneType": type(None),
         "device": device, "dtype": dtype, "Module": Module}
SHAPES = {"List": 1, "Optional": 1, "Future": 1, "Dict": 2, "Tuple": None}
_SPELLINGS = {"list": "List", "dict": "Dict", "tuple": "Tuple", "None": "NoneType", "Device": "device", "Parameter": "Tensor",
              **{f"{dtype}Tensor": "Tensor" for dtype in "Float Double Half BFloat16 Long Int Short Char Byte Bool".split()}}
_NUMBERS = ("bool", "int", "float", "complex", "number")


def list_of(kind: Kind) -> Kind:
    return Kind("List", (kind,))


def tuple_of(*kinds: Kind) -> Kind:
    return Kind("Tuple", kinds)


def optional(kind: Kind) -> Kind:
    return kind if kind.name in ("Optional", "Any", "NoneType") else Kind("Optional", (kind,))


def parse_kind(node: ast.expr, named: Callable[[ast.expr], Kind | None] = lambda node: None) -> Kind:
    """The type that an annotation says.

    Args:
        node: the annotation, in names of `typing`, builtins and `Tensor`.
        named: the type of a name that is none of these, or None.

    Raises:
        ValueError: it says none.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return parse_kind(ast.parse(node.value, mode="eval").body, named)
    if isinstance(node, ast.Constant) and node.value is None:
        return NONE
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        left, right = parse_kind(node.left, named), parse_kind(node.right, named)
        if right == NONE:
            return optional(left)
        if left == NONE:
            return optional(right)
        return ANY if {left.name, right.name} - set(_NUMBERS) else NUMBER
    if isinstance(node, (ast.Name, ast.Attribute)) and (known := named(node)) is not None:
        return known
    if isinstance(node, ast.Attribute):                  # torch.Tensor, typing.List
        node = ast.Name(node.attr)
    if isinstance(node, ast.Name):
        name = _SPELLINGS.get(node.id, node.id)
        if name in ("Any", "number") or (name in PLAIN and name != "Module"):
            return Kind(name)
        if name in SHAPES:
            if name in ("Optional", "Future"):
                raise ValueError(f"{name} says of what: {name}[Tensor]")
            return Kind(name, {"List": (TENSOR,), "Dict": (STR, TENSOR), "Tuple": ()}[name]) if node.id == name else Kind(name)
        raise ValueError(f"{node.id} is no type of a script; there are Tensor, int, float, bool, str, complex, List[...], "
                         "Dict[..., ...], Tuple[...], Optional[...], Future[...], Any")
    if isinstance(node, ast.Subscript):
        outer = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        name = _SPELLINGS.get(outer, outer)
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name == "Annotated":
            return parse_kind(inner[0], named)
        if name in SHAPES or name in ("Union", "Final"):
            if name == "Tuple" and (len(inner) == 2 and isinstance(inner[1], ast.Constant) and inner[1].value is Ellipsis):
                raise ValueError("tuples have a fixed length: Tuple[int, int], or a List[int]")
            empty = name == "Tuple" and len(inner) == 1 and isinstance(inner[0], ast.Tuple)
            return _made_of(name, [] if empty else [parse_kind(each, named) for each in inner])
    raise ValueError(f"{ast.unparse(node)} is no type of a script")


def _made_of(name: str, kinds: list[Kind]) -> Kind:
    """The type `name[...]` of types."""
    if name == "Union":
        rest = [kind for kind in kinds if kind != NONE]
        inside = rest[0] if len(rest) == 1 else ANY
        return optional(inside) if len(rest) < len(kinds) else inside
    if name == "Final":
        return kinds[0]
    if SHAPES[name] not in (None, len(kinds)):
        raise ValueError(f"{name} takes {SHAPES[name]} types, got {len(kinds)}")
    return optional(kinds[0]) if name == "Optional" else Kind(name, tuple(kinds))


def parse_text(text: str, named: Callable[[ast.expr], Kind | None] = lambda node: None) -> Kind:
    """The type that a text says.

    Args:
        text: as `str(kind)` gives it.
        named: as `parse_kind` has it.

    Raises:
        ValueError: it says none.
    """
    try:
        return parse_kind(ast.parse(text, mode="eval").body, named)
    except (SyntaxError, TypeError, RecursionError):
        raise ValueError(f"{text!r} is no type of a script") from None


_ORIGINS: dict[Any, str] = {list: "List", dict: "Dict", tuple: "Tuple", typing.Union: "Union", types.UnionType: "Union",
                            typing.Final: "Final", Future: "Future"}


def said_kind(annotation: Any, known: Callable[[Any], Kind | None] = lambda value: None) -> Kind | None:
    """The type of an annotation as Python has it, or None where it is none of a script.

    Args:
        annotation: it.
        known: the type of a class of the user's, or None.
    """
    annotation = getattr(annotation, "__forward_arg__", annotation)
    result = None if isinstance(annotation, str) else known(annotation)
    if result is not None:
        return result
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return said_kind(parts[0], known)
    try:
        if origin in _ORIGINS and parts and Ellipsis not in parts:
            kinds = [said_kind(part, known) for part in parts]
            return None if None in kinds else _made_of(_ORIGINS[origin], kinds)         # type: ignore[arg-type]
        if isinstance(annotation, type) and issubclass(annotation, Tensor):
            return TENSOR
        return parse_text(annotation if isinstance(annotation, str) else annotation.__name__ if isinstance(
            annotation, type) and origin is None else str(annotation))
    except ValueError:
        return None


def annotations_of(kind: type) -> dict[str, Any]:
    """What a class's own body says of attributes; of texts, what they are in its module.

    Args:
        kind: the class.
    """
    space = vars(sys.modules.get(kind.__module__, typing))
    result = {}
    for name, said in inspect.get_annotations(kind).items():
        text = getattr(said, "__forward_arg__", said)
        result[name] = said
        if isinstance(text, str):
            with contextlib.suppress(Exception):         # what is defined nowhere there, or later
                result[name] = eval(text, space, dict(vars(kind)))
    return result


def kind_of(value: Any) -> Kind:
    """The type of a value."""
    if isinstance(value, Tensor):
        return TENSOR
    if isinstance(value, Module):
        return Kind("Module", (value,))
    for name in ("bool", "int", "float", "str", "complex", "NoneType", "device", "dtype"):
        if type(value) is PLAIN[name]:
            return Kind(name)
    if isinstance(value, tuple):
        return tuple_of(*map(kind_of, value))
    if isinstance(value, list):
        return list_of(common(list(map(kind_of, value))) if value else ANY)
    if isinstance(value, dict):
        return Kind(
            "Dict", (common(list(map(kind_of, value))), common(list(map(kind_of, value.values())))) if value else (ANY, ANY)
        )
    return ANY


def join(one: Kind, other: Kind) -> Kind | None:
    """The type of what is of one or of the other, or None where they have nothing in common."""
    if one == other:
        return one
    if ANY in (one, other):
        return ANY
    if NONE in (one, other):
        return optional(other if one == NONE else one)
    if "Optional" in (one.name, other.name):
        inner = join(*[each.of[0] if each.name == "Optional" else each for each in (one, other)])
        return None if inner is None else optional(inner)
    if one.name == other.name == "Module":
        return Kind("Module", (*one.of, *[each for each in other.of if all(each is not known for known in one.of)]))
    if one.name == other.name and one.name in OF_USERS:
        return None
    if one.name == other.name and one.of and len(one.of) == len(other.of):
        parts = [join(a, b) for a, b in zip(one.of, other.of)]
        return None if None in parts else Kind(one.name, tuple(parts))
    if one.name == other.name == "Tuple" or (one.name == other.name and () in (one.of, other.of)):
        return Kind(one.name) if one.name != "Tuple" else None
    if "number" in (one.name, other.name) and one.name in _NUMBERS and other.name in _NUMBERS:
        return NUMBER
    return None


def common(kinds: list[Kind]) -> Kind:
    """The type of what is of any of some types; `Any` where they have nothing in common."""
    result = kinds[0] if kinds else ANY
    for kind in kinds[1:]:
        joined = join(result, kind)
        if joined is None:
            return ANY
        result = joined
    return result


def as_list(kind: Kind) -> Kind:
    """The type of a tuple's elements as that of a list, for which arguments may be tuples; another as it is."""
    return list_of(common(list(kind.of))) if kind.name == "Tuple" and kind.of else kind


def fits(wanted: Kind, given: Kind) -> bool:
    """Whether a value of one type can stand where another is wanted."""
    if ANY in (wanted, given) or wanted == given:
        return True
    if given.name == "number":
        return wanted.name in (*_NUMBERS, "Tensor") or (wanted.name == "Optional" and fits(wanted.of[0], given))
    if wanted.name == "Optional":
        return given == NONE or fits(wanted.of[0], given.of[0] if given.name == "Optional" else given)
    if wanted.name == "number":
        return given.name in _NUMBERS
    if wanted.name in ("float", "complex"):
        return given.name in ("int", "bool", "float")
    if wanted.name == "int":
        return given.name == "bool"
    if wanted.name == "Module":
        return given.name == "Module"
    if wanted.name == "Tuple":
        given = unnamed(given)
    if wanted.name != given.name or wanted.name in OF_USERS:
        return False
    if not wanted.of or not given.of:
        return wanted.name != "Tuple"
    return len(wanted.of) == len(given.of) and all(fits(a, b) for a, b in zip(wanted.of, given.of))


def accepts(kind: Kind, value: Any) -> bool:
    """Whether a value is of a type."""
    name = kind.name
    if name == "Any":
        return True
    if name == "Optional":
        return value is None or accepts(kind.of[0], value)
    if name == "number":
        return isinstance(value, (int, float, complex))
    if name == "List":
        return isinstance(value, (list, tuple)) and (not kind.of or all(accepts(kind.of[0], each) for each in value))
    if name == "Dict":
        return isinstance(value, dict) and (not kind.of or all(accepts(kind.of[0], k) and accepts(kind.of[1], v)
                                                               for k, v in value.items()))
    if name == "Tuple":
        return isinstance(value, tuple) and (not kind.of or (len(value) == len(kind.of) and all(map(accepts, kind.of, value))))
    if name == "NamedTuple":                             # of a class of these fields, which a file's is not the user's
        fields = kind.of[0]
        return isinstance(value, tuple) and getattr(value, "_fields", None) == tuple(fields.places) and \
            all(accepts(each, part) for (_, each), part in zip(fields.arguments, value))
    if name in ("Object", "Enum"):
        return kind.of[0].accepts(value)
    if name == "Future":
        return isinstance(value, Future)
    if name == "Class":
        return isinstance(value, kind.of[0])
    if name == "float":
        return isinstance(value, (float, int)) and not isinstance(value, bool)
    if name == "complex":
        return isinstance(value, (complex, float, int)) and not isinstance(value, bool)
    if name == "int":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, PLAIN[name])


def is_of(value: Any, kinds: tuple[Kind, ...]) -> bool:
    """`isinstance` as scripts have it: of what a list holds, too."""
    return any(isinstance(value, list) if kind.name == "List" and not kind.of else
               accepts(kind, value) and not (kind.name == "float" and isinstance(value, int)) and not (
                   kind.name == "List" and not isinstance(value, list)) for kind in kinds)


# ---------------------------------------------------------------- what programs say of types
def annotate(the_type: Any, the_value: Any) -> Any:
    """A value of which a script is told the type.

    Args:
        the_type: such as `List[Tensor]`.
        the_value: returned as it is.

    Example:
        >>> import numtorch as torch
        >>> torch.jit.annotate(list, [])
        []
    """
    return the_value


def script_isinstance(obj: Any, target_type: Any) -> bool:
    """`isinstance` of what lists, tuples and dicts hold, too, in a script and elsewhere.

    Args:
        obj: the value.
        target_type: a type, such as `List[Tensor]`, or a tuple of them.

    Example:
        >>> import numtorch as torch
        >>> torch.jit.isinstance([1], list[int]), torch.jit.isinstance([1], list[str])
        (True, False)
    """
    for each in target_type if isinstance(target_type, tuple) else (target_type,):
        if typing.get_origin(each) in (typing.Union, types.UnionType):
            if script_isinstance(obj, typing.get_args(each)):
                return True
            continue
        kind = said_kind(each)
        if isinstance(obj, each) if kind is None else is_of(obj, (kind,)):
            return True
    return False


_interfaces: list[type] = []
_declared: dict[str, list[Any]] = {}


def interface(obj: type) -> type:
    """A class that says which methods several modules have, for annotations of variables and attributes that hold one of them.
    Scripts know the modules themselves: `self.layers[i]` may be any of the list's, and each is checked.

    Args:
        obj: the class.

    Example:
        >>> import numtorch as torch
        >>> @torch.jit.interface
        ... class Layer(torch.nn.Module):
        ...     def forward(self, x: torch.Tensor) -> torch.Tensor:
        ...         pass
        >>> class Net(torch.nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.layers = torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.Tanh()])
        ...     def forward(self, x, i: int):
        ...         layer: Layer = self.layers[i]
        ...         return layer.forward(x)
        >>> torch.jit.script(Net())(torch.tensor([-1., 2.]), 0)
        tensor([0., 2.])
    """
    _interfaces.append(obj)
    return obj


def is_interface(value: Any) -> bool:
    """Whether a value is such a class."""
    return any(value is each for each in _interfaces)


def overload(function: Any) -> Any:
    """Declare types that a function of the same name, which follows, takes: `torch.jit._overload` and `_overload_method`.

    Args:
        function: it, without code.
    """
    _declared.setdefault(f"{function.__module__}.{function.__qualname__}", []).append(function)
    return function


def declarations(function: Any) -> list[Any]:
    """What was declared of a function or method by `overload`.

    Args:
        function: it.
    """
    return _declared.get(f"{function.__module__}.{function.__qualname__}", [])
