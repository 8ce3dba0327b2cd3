"""Levels: what the transforms that run at the moment are, one inside the other, and tensors that take part in one.

A tensor that takes part in a transform has a layout of a class of its own (`Wrapping`) that holds the tensors it stands for: all
samples of it (batching.py), or itself and its tangent (dual.py). Such a tensor has no address, so that no kernel can take it for
what it is not. Its layout's handler is the transform's level, to which `miss` hands every call on it; the innermost transform has
the highest rank and is asked first, and what it makes of the call are calls on the tensors inside, of which the next one is asked.

The tape knows none of this: it records what is done with the tensors innermost, which are ordinary ones.
"""
from __future__ import annotations

import threading
from weakref import ref

from ..autograd.graph import Node
from ..autograd.modes import modes
from ..layout import Layout
from ..storage import Storage
from ..tensor import Tensor, bare


class _Running(threading.local):
    """A thread's levels, the innermost last."""

    def __init__(self) -> None:
        self.levels: list[Level] = []


_running = _Running()


class Level:
    """One run of a transform. A context: inside it the transform is the innermost.

    Attributes:
        rank: how many transforms it is in, itself included.
        over: whether it has ended: tensors of it mean nothing any more.
        has_tangents: whether its tensors have a value and a tangent.
    """

    rank, over, has_tangents = 0, False, False

    def __enter__(self):
        self.rank = len(_running.levels) + 1
        _running.levels.append(self)
        return self

    def __exit__(self, *exception):
        self.over = True
        _running.levels.remove(self)

    # ------------------------------------------------------------ what a handler is asked (ops/core/primitive.py, viewalgebra.py)
    def __call__(self, primitive, tensors, attributes):
        raise NotImplementedError

    def write(self, primitive, tensors):
        raise NotImplementedError

    def view(self, function, layout, *args):
        raise NotImplementedError

    def viewed(self, x, layout):
        """The tensor of a layout that the view algebra found. As other views it is known to what it is a view of."""
        check_place(x)
        out = tensor_of(layout)
        if modes.grad:
            base = out._base = x if x._base is None else x._base
            base._views = [*[v for v in base._views or () if v() is not None], ref(out)]
        return out

    def asked_size(self, x):
        """Somebody draws as many numbers as x has elements."""

    def each_like(self, x, made):
        """A new tensor that was made like x, with elements of its own for each sample that x has elements for."""
        for level in reversed(levels_of([x])):
            made = level.with_samples(made)
        return made

    def with_samples(self, x):
        """A tensor that belongs to the caller as one of this level: its copy for each sample, where the level has samples."""
        return x

    def place(self, x):
        """Give the tensor inside the place in the graph that a tensor was given, as by the hooks of a module."""
        raise NotImplementedError("register_full_backward_hook: backward hooks of modules see no tensors that take part in a "
                                  "transform")

    def function(self, custom, args):
        """A call of an `autograd.Function` with tensors that take part in transforms: the innermost is asked first."""
        level = levels_of([a for a in args if isinstance(a, Tensor)])[0]
        return level.custom_function(custom, args)

    def custom_function(self, custom, args):
        return custom._call(args)[1]

    def values(self, x):
        raise NotImplementedError

    def detached(self, x):
        raise NotImplementedError

    def detach_in_place(self, x):
        x.node = None

    def text(self, x, prefix):
        raise NotImplementedError

    def reduced(self, x):
        """How a tensor of the transform would be pickled."""
        raise RuntimeError(f"pickle: {x.layout.instead_of_memory}")

    def copied_storage(self, x, memo):
        """The storage of what would be a deep copy."""
        raise RuntimeError(f"deepcopy: {x.layout.instead_of_memory}")


def running() -> list[Level]:
    """The levels of this thread, the innermost last."""
    return _running.levels


class Wrapping(Layout):
    """The layout of a tensor that takes part in a transform: it holds what the tensor stands for.

    Attributes:
        handler: the level of the transform.
        value: the tensor inside.
        place: the place in the graph of the tensor that has this layout.
        unrecorded: what that place is where the tensor inside has none.
    """

    __slots__ = ("handler", "value", "place")
    transformed = True
    instead_of_memory = ("a tensor that takes part in a transform of torch.func has no memory of its own: please use it inside of "
                         "it, clone() it, return it from the function that is transformed, or detach() one of forward mode")
    unrecorded: Node | None = None

    def __repr__(self):
        return f"{type(self).__name__}({self.dtype.name}, shape={self.shape}, level={self.handler.rank})"

    @property
    def has_values(self):
        return self.value.layout.has_values

    def with_dtype(self, dtype):
        return Layout.of(dtype, self.shape, None, self.device)


def lie_like(layout, other):
    """Give a new layout what every layout has, as another has it."""
    layout.dtype, layout.device, layout.weak, layout.contiguous = other.dtype, other.device, False, other.contiguous
    layout.shape, layout.size, layout.strides, layout.ndim = other.shape, other.size, other.strides, other.ndim
    layout.numel, layout.nbytes, layout.views, layout.ring = other.numel, other.nbytes, {}, None


def tensor_of(layout: Wrapping) -> Tensor:
    """A tensor that takes part in a transform. It has no address; its place in the graph is that of the tensor inside."""
    out = bare()
    out.memory, out.layout = Storage(0, layout.nbytes, None, layout.device), layout
    return written(out)


def written(x):
    """A tensor that was written has the place in the graph that the tensor inside has now."""
    layout, node = x.layout, x.layout.value.node
    x.node = layout.place = layout.unrecorded if node is None else node
    return x


def innermost(x) -> Tensor:
    """The ordinary tensor that holds the elements of a tensor, of all samples of all levels, and has its place in the graph."""
    while isinstance(x.layout, Wrapping):
        x = x.layout.value
    return x


def check_place(x):
    """Raise NotImplementedError for a tensor that an op has given a place in the graph itself: it computed it of special tensors
    apart from the tape, which knows the tensors inside alone, and would be silent of the derivative."""
    if x.node is not x.layout.place:
        name = "requires_grad_" if x.node is None else x.node.name()
        raise NotImplementedError(f"{name}: it has no rule for what takes part in a transform")


def levels_of(tensors) -> list[Level]:
    """All levels that tensors take part in, the innermost first."""
    levels: set = set()
    pending = list(tensors)
    for x in pending:
        layout = x.layout
        if isinstance(layout, Wrapping):
            levels.add(layout.handler)
            pending += layout.parts()
    return sorted(levels, key=lambda level: -level.rank)
