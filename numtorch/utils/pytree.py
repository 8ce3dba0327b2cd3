"""PyTorch's `torch.utils._pytree`: nested lists, tuples and dicts taken apart and put together again."""
from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import tree

__all__ = ["Context", "GetAttrKey", "MappingKey", "SequenceKey", "TreeSpec", "keystr", "register_pytree_node", "tree_all",
           "tree_any", "tree_flatten", "tree_flatten_with_path", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map",
           "tree_map_", "tree_map_only", "tree_map_with_path", "tree_structure", "tree_unflatten"]

Context = Any                                            # what a class keeps beside its parts
_keyed: dict = {}                                        # classes that say under which keys their parts are


class TreeSpec(NamedTuple):
    """What a structure is without its leaves; structures of one form have equal ones.

    Attributes:
        form: kinds and keys.
        num_leaves: how many leaves it has.
    """

    form: Any
    num_leaves: int


class MappingKey(NamedTuple):
    """The place of a value in a dict."""

    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        """What stands there."""
        return mapping[self.key]


class SequenceKey(NamedTuple):
    """The place of an element in a list or a tuple."""

    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        """What stands there."""
        return sequence[self.idx]


class GetAttrKey(NamedTuple):
    """The place of a part that is an attribute."""

    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, owner):
        """What stands there."""
        return getattr(owner, self.name)


def register_pytree_node(cls: type, flatten_fn: Callable, unflatten_fn: Callable, *, flatten_with_keys_fn: Callable | None = None,
                         **names) -> None:
    """Have a class taken apart like lists and dicts: here, and in what `torch.func` and graphs take and return.

    Args:
        cls: the class; those made of it are leaves as before.
        flatten_fn: gives the parts of an instance, and what else it is, which compares by `==`.
        unflatten_fn: makes an instance of a list of parts and what else it is.
        flatten_with_keys_fn: gives pairs of a key and a part, and what else it is, for functions with paths.
        names: under which PyTorch would write it to files; not used.

    Raises:
        ValueError: the class is registered already.

    Example:
        >>> from numtorch.utils.pytree import register_pytree_node, tree_map
        >>> class Pair:
        ...     def __init__(self, left, right):
        ...         self.left, self.right = left, right
        >>> register_pytree_node(Pair, lambda pair: ([pair.left, pair.right], None), lambda parts, rest: Pair(*parts))
        >>> tree_map(lambda x: x + 1, Pair(1, [2, 3])).right
        [3, 4]
    """
    if cls in tree.registered or cls in (dict, list, tuple):
        raise ValueError(f"{cls} is already registered as pytree node.")
    tree.registered[cls] = flatten_fn, unflatten_fn
    if flatten_with_keys_fn is not None:
        _keyed[cls] = flatten_with_keys_fn


def _dict_flatten(d):
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d):
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _dict_unflatten(values, context):
    return dict(zip(context, values))


def tree_flatten(structure: Any, is_leaf: Callable | None = None) -> tuple[list, TreeSpec]:
    """The leaves of a structure in order, and what it is without them.

    Args:
        is_leaf: a function that says of what is a leaf although it could be taken apart.

    Example:
        >>> from numtorch.utils.pytree import tree_flatten, tree_unflatten
        >>> leaves, spec = tree_flatten({"a": 1, "b": [2, 3]})
        >>> leaves, tree_unflatten([4, 5, 6], spec)
        ([1, 2, 3], {'a': 4, 'b': [5, 6]})
    """
    leaves, form = tree.flatten(structure, is_leaf)
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


def tree_leaves(structure: Any, is_leaf: Callable | None = None) -> list:
    """The leaves of a structure in order."""
    return tree.flatten(structure, is_leaf)[0]


def tree_iter(structure: Any, is_leaf: Callable | None = None):
    """The leaves of a structure in order, one by one."""
    yield from tree_leaves(structure, is_leaf)


def tree_structure(structure: Any, is_leaf: Callable | None = None) -> TreeSpec:
    """What a structure is without its leaves."""
    return tree_flatten(structure, is_leaf)[1]


def _with_paths(path, structure, is_leaf):
    """Pairs of a leaf's path and the leaf, in order."""
    kind = type(structure)
    if is_leaf is not None and is_leaf(structure):
        pairs = None
    elif kind in _keyed:
        pairs = _keyed[kind](structure)[0]
    elif isinstance(structure, dict) and (kind not in tree.registered or kind is defaultdict):
        pairs = [(MappingKey(key), value) for key, value in structure.items()]
    elif kind in (list, tuple, deque):
        pairs = [(SequenceKey(i), value) for i, value in enumerate(structure)]
    elif kind in tree.registered:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument to "
                         "register_pytree_node.")
    elif isinstance(structure, tuple) and hasattr(structure, "_fields"):
        pairs = [(GetAttrKey(name), value) for name, value in zip(structure._fields, structure)]
    else:
        pairs = None
    if pairs is None:
        yield path, structure
    else:
        for key, value in pairs:
            yield from _with_paths((*path, key), value, is_leaf)


def tree_flatten_with_path(structure: Any, is_leaf: Callable | None = None) -> tuple[list, TreeSpec]:
    """`tree_flatten` with, for each leaf, the keys that lead to it before it.

    Example:
        >>> from numtorch.utils.pytree import keystr, tree_flatten_with_path
        >>> [(keystr(path), leaf) for path, leaf in tree_flatten_with_path({"a": 1, "b": [2, 3]})[0]]
        [("['a']", 1), ("['b'][0]", 2), ("['b'][1]", 3)]
    """
    return list(_with_paths((), structure, is_leaf)), tree_structure(structure, is_leaf)


def tree_leaves_with_path(structure: Any, is_leaf: Callable | None = None) -> list:
    """The leaves of a structure in order, each behind the keys that lead to it."""
    return list(_with_paths((), structure, is_leaf))


def tree_map_with_path(function: Callable, structure: Any, *rests: Any, is_leaf: Callable | None = None) -> Any:
    """`tree_map` of a function that gets the keys that lead to a leaf before the leaf."""
    pairs, spec = tree_flatten_with_path(structure, is_leaf)
    others = [tree_leaves(rest, is_leaf) for rest in rests]
    return tree_unflatten([function(path, leaf, *each) for (path, leaf), *each in zip(pairs, *others)], spec)


def keystr(path) -> str:
    """The keys that lead to a leaf as a program would write them: `['a'][0].weight`."""
    return "".join(map(str, path))


def tree_map(function: Callable, structure: Any, *rests: Any, is_leaf: Callable | None = None) -> Any:
    """A structure of what a function gives for the leaves, and for those in the same places of other structures.

    Raises:
        ValueError: the others are of another form.

    Example:
        >>> from numtorch.utils.pytree import tree_map
        >>> tree_map(lambda a, b: a + b, [1, (2, 3)], [10, (20, 30)])
        [11, (22, 33)]
    """
    leaves, spec = tree_flatten(structure, is_leaf)
    others = []
    for rest in rests:
        more, form = tree_flatten(rest, is_leaf)
        if form != spec:
            raise ValueError(f"tree_map: expected structures of one form, got {tree.shown(spec.form)} and {tree.shown(form.form)}")
        others.append(more)
    return tree_unflatten([function(*each) for each in zip(leaves, *others)], spec)


def tree_map_(function: Callable, structure: Any, *rests: Any, is_leaf: Callable | None = None) -> Any:
    """A function called for the leaves of a structure, which is returned."""
    tree_map(function, structure, *rests, is_leaf=is_leaf)
    return structure


def tree_map_only(kinds: Any, function: Callable, structure: Any | None = None, is_leaf: Callable | None = None) -> Any:
    """`tree_map` of the leaves of some class or classes, or of which a function says so; the others stay."""
    wanted = kinds if callable(kinds) and not isinstance(kinds, type) else lambda leaf: isinstance(leaf, kinds)
    return tree_map(lambda leaf: function(leaf) if wanted(leaf) else leaf, structure, is_leaf=is_leaf)


def tree_all(condition: Callable, structure: Any, is_leaf: Callable | None = None) -> bool:
    """Whether a condition holds of every leaf."""
    return all(map(condition, tree_leaves(structure, is_leaf)))


def tree_any(condition: Callable, structure: Any, is_leaf: Callable | None = None) -> bool:
    """Whether a condition holds of a leaf."""
    return any(map(condition, tree_leaves(structure, is_leaf)))
