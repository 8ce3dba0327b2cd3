"""Tensors inside nested tuples, lists and dicts."""
from __future__ import annotations

from collections import defaultdict, deque

from .tensor import Tensor

# Classes that are taken apart beside these: what gives their parts and the rest, and what makes one of both (utils/pytree.py).
registered: dict = {
    defaultdict: (lambda d: (list(d.values()), (d.default_factory, tuple(d))),
                  lambda parts, rest: defaultdict(rest[0], zip(rest[1], parts))),
    deque: (lambda d: (list(d), d.maxlen), deque),
}


def tensors_in(structure):
    """The tensors in a structure, in order."""
    if isinstance(structure, Tensor):
        yield structure
    elif isinstance(structure, dict):
        for value in structure.values():
            yield from tensors_in(value)
    elif isinstance(structure, (list, tuple)):
        for value in structure:
            yield from tensors_in(value)


def each_tensor_in(structure) -> list:
    """The tensors in a structure, in order, and each once."""
    return list({id(tensor): tensor for tensor in tensors_in(structure)}.values())


def map_tensors(function, structure):
    """The structure with `function` applied to its tensors, in the same order. Named tuples stay what they are."""
    if isinstance(structure, Tensor):
        return function(structure)
    if isinstance(structure, dict):
        return type(structure)((key, map_tensors(function, value)) for key, value in structure.items())
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*[map_tensors(function, value) for value in structure])
    if isinstance(structure, (list, tuple)):
        return type(structure)(map_tensors(function, value) for value in structure)
    return structure


def filled(structure, mark, values):
    """A structure with values, which an iterator gives in order, where a mark stands."""
    if type(structure) is type(mark) and structure == mark:
        return next(values)
    if isinstance(structure, dict):
        return type(structure)((key, filled(value, mark, values)) for key, value in structure.items())
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*[filled(value, mark, values) for value in structure])
    if isinstance(structure, (list, tuple)):
        return type(structure)([filled(value, mark, values) for value in structure])
    return structure


def flatten(structure, is_leaf=None):
    """The leaves of a structure of dicts, lists and tuples, in order, and what it is without them, which compares by `==`.

    Args:
        is_leaf: a function that says of what is a leaf although it could be taken apart.
    """
    leaves: list = []
    return leaves, _flatten(structure, leaves, is_leaf)


def _flatten(structure, leaves, is_leaf):
    kind = type(structure)
    if is_leaf is not None and is_leaf(structure):
        pass
    elif kind in registered:
        parts, rest = registered[kind][0](structure)
        return kind, rest, tuple([_flatten(value, leaves, is_leaf) for value in parts])
    elif isinstance(structure, dict):
        return kind, tuple(structure), tuple([_flatten(value, leaves, is_leaf) for value in structure.values()])
    elif kind is list or kind is tuple or (isinstance(structure, tuple) and hasattr(structure, "_fields")):
        return kind, len(structure), tuple([_flatten(value, leaves, is_leaf) for value in structure])
    leaves.append(structure)
    return None


def unflatten(leaves, form):
    """The structure that `flatten` took apart, with other leaves."""
    return _unflatten(iter(leaves), form)


def _unflatten(leaves, form):
    if form is None:
        return next(leaves)
    kind, keys, forms = form
    parts = [_unflatten(leaves, each) for each in forms]
    if kind in registered:
        return registered[kind][1](parts, keys)
    if isinstance(keys, tuple):
        return kind(zip(keys, parts))
    return kind(parts) if kind is list or kind is tuple else kind(*parts)


def spread(prefix, form):
    """A leaf for each of a structure's, of a structure that ends where this one goes on; None where they differ."""
    leaves: list = []
    return leaves if _spread(prefix, form, leaves) else None


def _spread(prefix, form, leaves):
    parted = isinstance(prefix, (dict, list, tuple)) or type(prefix) in registered
    if form is None:
        leaves.append(prefix)
        return not parted
    if not parted:
        leaves += [prefix] * count(form)
        return True
    kind, keys, forms = form
    if kind in registered:
        parts, rest = registered[kind][0](prefix) if type(prefix) is kind else ((), None)
        return type(prefix) is kind and rest == keys and len(parts) == len(forms) and all(
            _spread(p, f, leaves) for p, f in zip(parts, forms))
    if type(prefix) is not kind or (tuple(prefix) if isinstance(prefix, dict) else len(prefix)) != keys:
        return False
    return all(_spread(p, f, leaves) for p, f in zip(prefix.values() if isinstance(prefix, dict) else prefix, forms))


def count(form) -> int:
    """How many leaves a form has."""
    return 1 if form is None else sum(map(count, form[2]))


def shown(form) -> str:
    """A form as a message shows it: `*` for a leaf."""
    if form is None:
        return "*"
    kind, keys, forms = form
    inside = [shown(each) for each in forms]
    if kind in registered:
        return f"{kind.__name__}({', '.join(inside)})"
    if isinstance(keys, tuple):
        return "{" + ", ".join(f"{key!r}: {value}" for key, value in zip(keys, inside)) + "}"
    return f"[{', '.join(inside)}]" if kind is list else f"({', '.join(inside)}{',' * (len(inside) == 1)})"
