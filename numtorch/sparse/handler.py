"""What takes over calls on sparse tensors: a rule for each primitive that has a meaning for them, and an error for the others.

Rules are in the files of this folder, entered by `rule` under the primitives' names. A view is made in two steps: the view algebra
is asked for a layout, which notes the step (`Viewed`), and the tensor is then made by the rules of the steps noted.
"""
from __future__ import annotations

from copy import deepcopy

from ..autograd.graph import GraphNode, recording
from ..autograd.writes import mark_written
from ..layout import Layout
from ..ops.core.late import entered
from ..ops.memory.copies import to_device
from ..ops.memory.writing import check_inplace_allowed, rebase_history
from ..ops.shape.slicing import SLICE
from ..ops.shape.view_tape import make_part
from ..tensor import alias
from ..viewalgebra import narrow, select
from .layouts import SparseLayout, SparseStorage, is_sparse, made

RULES: dict = {}                                         # by the name of the primitive
WRITES: dict = {}                                        # of calls in place that do not just take over a result's elements
VIEWS: dict = {}                                         # by the name of the view function
writers: list = []                                       # what writes a sparse tensor's text, entered by text.py
reducers: list = []                                      # what pickles one, entered by files.py


def rule(*names, among=None):
    """Decorator: what calls of these primitives do with sparse tensors among their arguments."""
    return entered(RULES if among is None else among, names)


def refusal(name, *tensors):
    """What to raise for a call that has no meaning."""
    layout = next(t.layout for t in tensors if is_sparse(t))
    return NotImplementedError(f"{layout.title} has no `{name}`; use `to_dense()`")


class Viewed(Layout):
    """The layout of a view of a sparse tensor that is yet to be made: its shape, and the steps that lead to it."""

    __slots__ = ("source", "steps")

    @property
    def strides(self):
        raise NotImplementedError(f"{self.source.title} has no strides; use `to_dense()`")


class Handler:
    """The handler of every sparse layout."""

    rank = 0                                             # below the levels of torch.func, whose rules call on sparse tensors
    assignable = False                                   # views have memory of their own: a write to one reaches nothing

    def __call__(self, primitive, tensors, attributes):
        rule = RULES.get(primitive.name)
        if rule is None:
            raise refusal(primitive.name, *tensors)
        return rule(primitive, *tensors, *attributes)

    def write(self, primitive, tensors):
        """A call in place: the first of the tensors takes over the result."""
        target = tensors[0]
        if recording(*tensors):
            check_inplace_allowed(target, primitive.name)
        rule = WRITES.get(primitive.name)
        if rule is not None:
            return rule(primitive, *tensors)
        result = self(primitive, tensors, ())
        if not is_sparse(target) or not is_sparse(result):
            raise refusal(primitive.name + "_", *tensors)
        return replace(target, result, primitive.name + "_")

    # ------------------------------------------------------------ views
    def view(self, function, layout, *arguments):
        """What a view function makes of a sparse layout, or of a view that is yet to be made."""
        name = function.__name__
        if name not in VIEWS and name not in ("moved_order", "every", "cut"):
            source = layout.source if isinstance(layout, Viewed) else layout
            raise NotImplementedError(f"{source.title} has no `{_VIEW_NAMES.get(name, name)}`; use `to_dense()`")
        shape = layout.shape
        plain = function(Layout.of(layout.dtype, shape, (0,) * len(shape), layout.device), *arguments)
        if name == "moved_order":
            return plain
        if name in ("every", "cut"):
            dim, size = arguments[0], 1 if name == "every" else arguments[1]
            steps = [(select, dim, i) if name == "every" else (narrow, dim, i * size, part.shape[dim])
                     for i, (part, _) in enumerate(plain)]
            return tuple([(_viewed(layout, part, step), 0) for (part, _), step in zip(plain, steps)])
        return _viewed(layout, plain[0], (function, *arguments)), 0

    def viewed(self, x, layout):
        """The tensor of a layout that `view` has made, or of its own where the view is of all."""
        if layout is x.layout:
            return alias(x)
        for function, *arguments in layout.steps:
            x = VIEWS[function.__name__](x, *arguments) if is_sparse(x) else make_part(x, SLICE, function, *arguments)
        return x

    # ------------------------------------------------------------ what a tensor is asked
    def values(self, x):
        """The one element of a tensor."""
        if x.layout.numel != 1:
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage; use `to_dense()`")
        return x.detach().to_dense()

    def detached(self, x):
        out = made(x.layout, x.memory.parts)
        out.memory = x.memory
        return out

    def detach_in_place(self, x):
        x.node = None

    def moved(self, x, device, wait):
        """A copy on another device."""
        return made(x.layout.on(device), tuple([to_device(part, device, wait) for part in x.memory.parts]), x.memory.coalesced)

    def text(self, x, prefix):
        return writers[0](x, prefix)

    def reduced(self, x):
        """How a sparse tensor is pickled."""
        return reducers[0](x)

    def copied_storage(self, x, memo):
        """The storage of a deep copy."""
        storage = memo.get(id(x.memory))
        if storage is None:
            storage = memo[id(x.memory)] = SparseStorage(tuple([deepcopy(p, memo) for p in x.memory.parts]), x.memory.device,
                                                          x.memory.coalesced)
        return storage


_VIEW_NAMES = {"try_view": "view", "reread": "view", "strided_within": "as_strided"}
HANDLER = SparseLayout.handler = Viewed.handler = Handler()


def _viewed(layout, plain, step):
    out = object.__new__(Viewed)
    out.dtype, out.device, out.shape, out.size, out.ndim, out.numel = (
        plain.dtype, plain.device, plain.shape, plain.size, plain.ndim, plain.numel)
    out.weak, out.views, out.ring, out.contiguous, out.nbytes = False, {}, None, False, 0
    before = isinstance(layout, Viewed)
    out.source, out.steps = (layout.source, (*layout.steps, step)) if before else (layout, (step,))
    return out


def replace(target, source, name):
    """Have a sparse tensor hold the elements of another, as a write in place."""
    have, want = target.layout, source.layout
    if want.dtype.category > have.dtype.category:
        raise RuntimeError(f"result type {want.dtype.title} can't be cast to the desired output type {have.dtype.title}")
    if want.shape != have.shape:
        raise RuntimeError(f"{name}: output with shape {list(have.shape)} doesn't match the broadcast shape {list(want.shape)}")
    if want is not have:
        source = source.to(have.dtype)
        if source.layout is not have:
            raise refusal(name, target)
    storage = target.memory
    mark_written(storage, name)
    storage.parts, storage.coalesced = source.memory.parts, source.memory.coalesced
    if isinstance(source.node, GraphNode):
        rebase_history(target, source.node)
    return target
