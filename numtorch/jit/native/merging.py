"""What the variables of a script are where several ways of going through it meet: where a condition ends, where a loop begins again
or ends, where a function returns.

A *state* is what all variables held at the end of one way, with the place in the program where its last statements go. What is the
same in all states stays as it is. Numbers get a variable that each way sets, tensors get memory (a *slot*) that each way copies
into. What cannot be one (a tensor of another shape, None and a tensor) is refused if it is used later, and not before.

Copies would part what Python has as one: where a tensor that was copied into a slot goes on to live under another name, and
either is written in place, the program is refused.
"""
from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ...storage import mode
from ...tensor import Tensor, lasting
from ..capturing.places import version
from ..graphs.graph import shown
from . import arithmetic
from .arithmetic import is_number
from .control import Move, Number, Set


class Unmerged(NamedTuple):
    """What a variable is that is not the same on all ways.

    Attributes:
        reason: what it is on which way.
    """

    reason: str


class State(NamedTuple):
    """The end of one way.

    Attributes:
        held: the contents of all variables, lists and dicts, by identity, with these.
        moves: statements to be, at its end.
    """

    held: dict
    moves: list


class Copied(NamedTuple):
    """A tensor's memory that was copied into a slot and lives on, with the numbers of writes until then."""

    slot: Any
    writes: int
    source: Any
    source_writes: int
    place: Any


def is_container(value: Any) -> bool:
    """Whether a value is one that a script changes."""
    return type(value) in (list, dict)


def same(a: Any, b: Any) -> bool:
    """Whether two values need no variable of their own."""
    if a is b:
        return True
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.memory is b.memory and a.address == b.address and a.layout is b.layout
    if isinstance(a, Number) or isinstance(b, Number) or type(a) is not type(b):
        return False
    if isinstance(a, float):
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
    return isinstance(a, (bool, int, str, complex)) and a == b


def alike(a: Any, b: Any) -> bool:
    """Whether tensors of two layouts can lie in one place; strides of extents of 1 do not matter."""
    return (a.dtype, a.shape, a.device, a.weak) == (b.dtype, b.shape, b.device, b.weak) and all(
        n == 1 or s == t for n, s, t in zip(a.shape, a.strides, b.strides))


def span(layout: Any) -> int:
    """Bytes from a layout's first to its last element."""
    low, high = layout.extent()
    return (high - low) * layout.dtype.itemsize


def said(value: Any) -> str:
    """A value's type, for people."""
    if isinstance(value, Tensor):
        return f"a tensor {shown(value.layout)}"
    if is_number(value):
        return {"bool": "a bool", "int": "an int", "float": "a float"}[arithmetic.kind_of(value)]
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {len(value)}"
    return repr(value) if isinstance(value, str) else "None" if value is None else f"a {type(value).__name__}"


class Merging:
    """Variables, and what becomes of them where ways meet."""

    frames: list                                         # of the functions that are being gone through, the outermost first
    block: list
    nodes: list                                          # (script, node) that is being looked at

    def __init__(self) -> None:
        self.places: list[tuple] = []                    # (address, bytes, what) of memory that is no part of the capture's
        self.own: set[int] = set()                       # the storages of that, by identity
        self.roots: dict[int, Any] = {}                  # the storage that one is a view of, by identity
        self.views: dict[int, list] = {}                 # the other way round
        self.copied: list[Copied] = []
        self.numbers = 0

    def new_number(self, kind: str, value: Any) -> Number:
        """A variable of its own."""
        self.numbers += 1
        return Number(f"v{self.numbers}", kind, value)

    if TYPE_CHECKING:                                    # what stands in staging.py
        def flush(self) -> None: ...
        def emit(self, statement: Any) -> None: ...
        def is_outer(self, storage: Any) -> bool: ...

    # ------------------------------------------------------------ memory
    def memory(self, layout: Any, what: Any) -> Tensor:
        """A tensor in memory of its own for the whole program.

        Args:
            layout: of the tensor.
            what: for the words that point into it.
        """
        captured, mode.memory = mode.memory, None
        try:
            made = lasting(layout)
        finally:
            mode.memory = captured
        self.places.append((made.memory.address, max(made.memory.nbytes, 1), what, made))
        self.own.add(id(made.memory))
        return made

    def copy(self, target: Tensor, source: Tensor, into: list) -> None:
        """Copy a tensor's bytes into another place of a layout that is alike, here and in the program."""
        size = span(target.layout)
        if size:
            ctypes.memmove(target.address, source.address, size)
            into.append(Move(target.address, source.address, size))

    def root(self, tensor: Tensor) -> Any:
        """The storage that a tensor's elements are written to in the end."""
        storage = tensor.memory
        while id(storage) in self.roots:
            storage = self.roots[id(storage)]
        return storage

    def writes(self, storage: Any) -> int:
        """How often a storage was written to in place, through views also."""
        return version(storage) + sum(map(self.writes, self.views.get(id(storage), ())))

    # ------------------------------------------------------------ states
    def held(self) -> dict:
        """The contents of all variables, and of all lists and dicts that they reach."""
        contents: dict = {}
        pending: list = [frame.env for frame in self.frames]
        while pending:
            each = pending.pop()
            if isinstance(each, tuple):
                pending += [part for part in each if isinstance(part, (tuple, list, dict))]
            elif is_container(each) and id(each) not in contents:
                contents[id(each)] = each, each.copy()
                pending += [part for part in (each.values() if isinstance(each, dict) else each)
                            if isinstance(part, (tuple, list, dict))]
        return contents

    def restore(self, held: dict) -> None:
        """Have all variables hold again what they held."""
        for container, contents in held.values():
            if isinstance(container, dict):
                container.clear()
                container.update(contents)
            else:
                container[:] = contents

    def state(self) -> State:
        """The end of a way, which is here."""
        self.flush()
        moves: list = []
        self.block.append(moves)
        return State(self.held(), moves)

    def merge(self, states: list) -> None:
        """Go on with what is so on each of some ways."""
        if not states:
            return
        if len(states) == 1:
            self.restore(states[0].held)
            return
        join = _Join(self, states)
        for frame in self.frames:
            join.container([frame.env] * len(states))
        for container, contents in join.containers.values():
            if isinstance(container, dict):
                container.clear()
                container.update(contents)
            else:
                container[:] = contents

    def joined_tensor(self, values: list, states: list) -> Any:
        """A slot for a tensor that is another on each way."""
        first = values[0]
        if not all(alike(first.layout, each.layout) for each in values):
            return unmerged(values)
        made = self.memory(first.layout, "slot")
        for each, state in zip(values, states):
            self.copy(made, each, state.moves)
            self.note(made, each, state.held, self.writes(self.root(each)))
        return made

    def note(self, slot: Tensor, source: Tensor, held: dict, writes: int) -> None:
        """Remember a copy whose source lives on, under another name or as what was there before the program.

        Args:
            slot: where it was copied to.
            source: the tensor.
            held: what all variables hold there.
            writes: how often the source was written to before.
        """
        root = self.root(source)
        names = [each for each in self.leaves(held) if self.root(each) is root]
        if self.is_outer(root) or any(each is not source for each in names) or len(names) > 1:
            self.copied.append(Copied(slot.memory, version(slot.memory), root, writes, self.nodes[-1]))

    @staticmethod
    def leaves(held: dict) -> list[Tensor]:
        """The tensors that variables hold, each as often as they do."""
        tensors = []
        pending: list = [value for container, contents in held.values()
                         for value in (contents.values() if isinstance(contents, dict) else contents)]
        while pending:
            each = pending.pop()
            if isinstance(each, Tensor):
                tensors.append(each)
            elif isinstance(each, tuple):
                pending += each
        return tensors


class _Join:
    """One meeting of ways.

    Args:
        merging: where.
        states: the ways' ends.

    Attributes:
        containers: what lists and dicts hold from here on, by what they are on each way.
    """

    def __init__(self, merging: Merging, states: list) -> None:
        self.merging, self.states = merging, states
        self.containers: dict[tuple, tuple] = {}
        self.tensors: dict[tuple, Any] = {}

    def value(self, values: list) -> Any:
        """One value for several, each of which is so on one way."""
        first, key = values[0], tuple(map(id, values))
        for each in values:
            if isinstance(each, Unmerged):
                return each
        if is_container(first):
            return self.container(values)
        if all(same(first, each) for each in values[1:]):
            return first
        if all(isinstance(each, Tensor) for each in values):
            if key not in self.tensors:
                self.tensors[key] = self.merging.joined_tensor(values, self.states)
            return self.tensors[key]
        if all(map(is_number, values)) and len({arithmetic.kind_of(each) for each in values}) == 1:
            made = self.merging.new_number(arithmetic.kind_of(first), getattr(first, "value", first))
            for each, state in zip(values, self.states):
                state.moves.append(Set(made, each))
            return made
        if all(isinstance(each, tuple) for each in values) and len({(type(each), len(each)) for each in values}) == 1:
            parts = [self.value(list(each)) for each in zip(*values)]
            return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
        return unmerged(values)

    def container(self, values: list) -> Any:
        """One list or dict."""
        first, key = values[0], tuple(map(id, values))
        if key in self.containers:
            return self.containers[key][0]
        if len({type(each) for each in values}) > 1:
            return unmerged(values)
        parts = [state.held[id(each)][1] for each, state in zip(values, self.states)]
        variables = isinstance(first, dict) and any(first is frame.env for frame in self.merging.frames)
        if not variables and len({tuple(part) if isinstance(part, dict) else len(part) for part in parts}) > 1:
            return Unmerged(f"a {type(first).__name__} of another length on one way through the script than on another")
        made = first if all(each is first for each in values) else type(first)()
        contents: Any = {} if isinstance(first, dict) else []
        self.containers[key] = made, contents
        if isinstance(first, dict):
            contents.update((name, self.value([part[name] for part in parts])) for name in parts[0]
                            if all(name in part for part in parts))
        else:
            contents += [self.value(list(each)) for each in zip(*parts)]
        return made


def unmerged(values: list) -> Unmerged:
    """What is said of a variable that is something else on another way."""
    kinds = list(dict.fromkeys(map(said, values)))
    return Unmerged(" on one way through the script, and ".join(kinds[:2]) + " on another" if len(kinds) > 1 else
                    f"{kinds[0]} on one way through the script, and another one on another")
