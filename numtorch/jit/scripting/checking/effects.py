"""What a script does besides computing tensors of tensors, as its types say: it may look at elements, and write to what it is
given. A trace asks (keeping.py): its graph holds the ops of one way through a script that does not, and calls one that does."""
from __future__ import annotations

from typing import Any

from ..kinds import Kind

_LOOKING = frozenset(("item", "tolist", "is_nonzero", "equal", "allclose"))                # methods and functions
_LOOKING_BUILTINS = frozenset(("all", "any", "bool", "complex", "divmod", "float", "int", "max", "min", "pow", "range", "round",
                               "sorted", "str"))
_WRITING = frozenset(("batch_norm", "instance_norm", "embedding", "embedding_bag"))         # without a `_` behind their names
_MAY_BE_TENSORS = frozenset(("Tensor", "Any", "number"))


def may_be_tensor(kind: Kind) -> bool:
    """Whether a value of a type may be a tensor, or an element of one.

    Args:
        kind: the type.
    """
    return kind.name in _MAY_BE_TENSORS or (kind.name in ("Optional", "List", "Tuple") and (not kind.of or any(
        may_be_tensor(each) for each in kind.of)))


class Effects:
    """What a checker finds of them.

    Attributes:
        looks: whether elements of tensors come to Python, or to a terminal.
        writes: whether tensors are written to.
        assigns: whether what modules hold is, but for their parameters.
    """

    looks = writes = assigns = False

    def note_test(self, kind: Kind) -> None:
        """What a condition is of."""
        self.looks |= may_be_tensor(kind)

    def note_builtin(self, name: str, kinds: Any) -> None:
        """A call of one of Python's functions, with the types of its arguments by place and by name, or None."""
        given = [Kind("Any")] if kinds is None else [*kinds[0], *kinds[1].values()]
        self.looks |= name == "print" or (name in _LOOKING_BUILTINS and any(map(may_be_tensor, given)))

    def note_function(self, name: str, keywords: list) -> None:
        """A call of a function or method of tensors, by the last part of its path."""
        self.looks |= name in _LOOKING
        self.writes |= (name.endswith("_") and not name.endswith("__")) or name in _WRITING or any(
            each.arg in ("out", "inplace") for each in keywords)

    def note_store(self, kind: Kind) -> None:
        """An assignment to what a value of a type holds, or to it."""
        self.assigns |= kind.name == "Module"
        self.writes |= may_be_tensor(kind)
