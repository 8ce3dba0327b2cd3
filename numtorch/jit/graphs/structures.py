"""What the arguments of a call look like, without their tensors."""
from __future__ import annotations

from typing import Any

from ...tree import map_tensors

HOLE = "%tensor"                                         # where a tensor stands


def structure_of(args: Any) -> Any:
    """Arguments with a mark for each tensor.

    Args:
        args: tensors in tuples, lists and dicts.
    """
    return map_tensors(lambda tensor: HOLE, args)


def without_names(structure: Any) -> Any:
    """A structure with tuples in the places of named ones, of which a file knows no class.

    Args:
        structure: of tuples, lists and dicts.
    """
    if isinstance(structure, (tuple, list)):
        parts = map(without_names, structure)
        return list(parts) if isinstance(structure, list) else tuple(parts)
    return {key: without_names(value) for key, value in structure.items()} if isinstance(structure, dict) else structure


def ordered(args: Any, structure: Any) -> Any:
    """Arguments with their dicts in the order of a structure's, which is equal.

    Args:
        args: tensors in tuples, lists and dicts.
        structure: theirs, but for that order.
    """
    if isinstance(structure, dict):
        return {key: ordered(args[key], value) for key, value in structure.items()}
    if isinstance(structure, (tuple, list)):
        parts = map(ordered, args, structure)
        return type(args)(*parts) if hasattr(args, "_fields") else type(args)(parts)
    return args
