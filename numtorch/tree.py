"""Tensors inside nested tuples, lists and dicts."""
from __future__ import annotations

from .tensor import Tensor


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
