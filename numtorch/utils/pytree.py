"""PyTorch's `torch.utils._pytree`: nested lists, tuples and dicts taken apart and put together again."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .. import tree

__all__ = ["TreeSpec", "tree_all", "tree_any", "tree_flatten", "tree_iter", "tree_leaves", "tree_map", "tree_map_", "tree_map_only",
           "tree_structure", "tree_unflatten"]


class TreeSpec(NamedTuple):
    """What a structure is without its leaves; structures of one form have equal ones.

    Attributes:
        form: kinds and keys.
        num_leaves: how many leaves it has.
    """

    form: Any
    num_leaves: int


def tree_flatten(structure: Any) -> tuple[list, TreeSpec]:
    """The leaves of a structure in order, and what it is without them.

    Example:
        >>> from numtorch.utils.pytree import tree_flatten, tree_unflatten
        >>> leaves, spec = tree_flatten({"a": 1, "b": [2, 3]})
        >>> leaves, tree_unflatten([4, 5, 6], spec)
        ([1, 2, 3], {'a': 4, 'b': [5, 6]})
    """
    leaves, form = tree.flatten(structure)
    return leaves, TreeSpec(form, len(leaves))


def tree_unflatten(leaves, treespec: TreeSpec) -> Any:
    """The structure that `tree_flatten` took apart, with other leaves.

    Raises:
        ValueError: more or fewer leaves than it has.
    """
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec refers to a pytree "
                         f"that holds {treespec.num_leaves} items ({tree.shown(treespec.form)}).")
    return tree.unflatten(leaves, treespec.form)


def tree_leaves(structure: Any) -> list:
    """The leaves of a structure in order."""
    return tree.flatten(structure)[0]


def tree_iter(structure: Any):
    """The leaves of a structure in order, one by one."""
    yield from tree_leaves(structure)


def tree_structure(structure: Any) -> TreeSpec:
    """What a structure is without its leaves."""
    return tree_flatten(structure)[1]


def tree_map(function: Callable, structure: Any, *rests: Any) -> Any:
    """A structure of what a function gives for the leaves, and for those in the same places of other structures.

    Raises:
        ValueError: the others are of another form.

    Example:
        >>> from numtorch.utils.pytree import tree_map
        >>> tree_map(lambda a, b: a + b, [1, (2, 3)], [10, (20, 30)])
        [11, (22, 33)]
    """
    leaves, spec = tree_flatten(structure)
    others = []
    for rest in rests:
        more, form = tree_flatten(rest)
        if form != spec:
            raise ValueError(f"tree_map: expected structures of one form, got {tree.shown(spec.form)} and {tree.shown(form.form)}")
        others.append(more)
    return tree_unflatten([function(*each) for each in zip(leaves, *others)], spec)


def tree_map_(function: Callable, structure: Any, *rests: Any) -> Any:
    """A function called for the leaves of a structure, which is returned."""
    tree_map(function, structure, *rests)
    return structure


def tree_map_only(kinds: Any, function: Callable, structure: Any | None = None) -> Any:
    """`tree_map` of the leaves of some class or classes, or of which a function says so; the others stay."""
    wanted = kinds if callable(kinds) and not isinstance(kinds, type) else lambda leaf: isinstance(leaf, kinds)
    return tree_map(lambda leaf: function(leaf) if wanted(leaf) else leaf, structure)


def tree_all(condition: Callable, structure: Any) -> bool:
    """Whether a condition holds of every leaf."""
    return all(map(condition, tree_leaves(structure)))


def tree_any(condition: Callable, structure: Any) -> bool:
    """Whether a condition holds of a leaf."""
    return any(map(condition, tree_leaves(structure)))
