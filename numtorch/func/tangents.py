"""Forward mode: what calls on dual tensors (dual.py) give.

Elementwise ops multiply by their formula's slope, linear ones apply themselves to the tangent (pushing.py). For all others the
gradient is turned around: u = J^T v is linear in v, and its gradient in the direction t is J t (J. Townsend, 2017). So every op
with a gradient has a tangent, of the same derivative.
"""
from __future__ import annotations

from collections.abc import Callable

from ..autograd.graph import Leaf, recording
from ..autograd.modes import enable_grad, modes, set_grad_enabled
from ..dtypes import int64
from ..layout import Layout
from ..ops.core.expression import Symbol, evaluate
from ..ops.core.late import entered
from ..ops.core.operands import as_operand
from ..ops.core.primitive import miss
from ..ops.creation.fill import full, ones_like, zeros_like
from ..ops.creation.ranges import arange
from ..ops.index.flat import take
from ..ops.memory.copies import clone, copy_elements, to_dtype
from ..ops.memory.detach import detach
from ..ops.memory.writing import live_views, made
from ..ops.pointwise.arithmetic import where
from ..ops.pointwise.bounds import clamp_min
from ..ops.pointwise.complexparts import view_as_complex, view_as_real
from ..ops.pointwise.tape import as_tensor_of
from ..ops.shape.slicing import slice_view
from ..tensor import Tensor, wrap
from ..tree import flatten, unflatten
from .batching import BatchLevel
from .dual import Dual, dual_of
from .levels import Level, Wrapping, check_place, innermost, levels_of, tensor_of, written
from .variables import gradients, own_place, places, without_graph

pushes: dict[str, Callable] = {}                         # by the primitive's name: push(primitive, primals, tangents, attributes)


def push(*names):
    """Decorator: the rule of primitives for tangents.

    A rule is called as `push(primitive, primals, tangents, attributes)`, a tangent being None where there is none, and returns
    (result, its tangent).
    """
    return entered(pushes, names)


# What writes into its first tensor, and the place of the tensor that it writes.
WRITES = {"copy": 1, "copy_elements": 1, "add_into": 1, "index_put": 1, "index_add": 1, "index_copy": 1, "index_fill": 1, "put": 1,
          "index_reduce": 1, "scatter": 2, "scatter_add": 2, "scatter_reduce": 2, "masked_scatter": 2,
          "uniform_": None, "normal_": None, "bernoulli_": None, "exponential_": None}
_NOT_LINEAR = frozenset(("multiply", "maximum", "minimum"))


def fitting_tangent(x: Tensor, tangent: Tensor) -> Tensor:
    """A tangent in the dtype of its primal, which PyTorch lets it have only as far as the first op that looks at both.

    Raises:
        RuntimeError: another shape, or complex numbers for a real tensor.
        ValueError: integers.
    """
    if x.layout.dtype.category < 2:
        raise ValueError(f"Expected primal to be floating point or complex, but got: {x.layout.dtype}")
    if tangent.layout.dtype.category < 2:
        raise ValueError(f"Expected tangent to be floating point or complex, but got: {tangent.layout.dtype}")
    if x.layout.kind != "strided" or tangent.layout.kind != "strided":
        raise NotImplementedError(f"a sparse tensor has no tangent, got layouts {x.layout} and {tangent.layout}; use `to_dense()`")
    if tangent.layout.shape != x.layout.shape:
        raise RuntimeError(f"Trying to set a forward gradient that has a different size than that of the original Tensor, this "
                           f"is not "
                           f"supported. Tensor is of size {list(x.layout.shape)} while the given forward gradient is of size "
                           f"{list(tangent.layout.shape)}.")
    if tangent.layout.dtype.is_complex and not x.layout.dtype.is_complex:
        raise RuntimeError(f"Expected the tangent to be real, as its primal of dtype {x.layout.dtype} is, but got: "
                           f"{tangent.layout.dtype}")
    return to_dtype(tangent, x.layout.dtype)


class DualLevel(Level):
    """One run of `jvp`, or a `dual_level`."""

    has_tangents = True

    def split(self, tensors):
        """The tensors inside, and their tangents."""
        primals, tangents = [], []
        for t in tensors:
            layout = getattr(t, "layout", None)
            if layout.__class__ is Dual and layout.handler is self:
                if t.node is not layout.place:
                    check_place(t)
                primals.append(layout.value)
                tangents.append(layout.tangent)
            else:
                primals.append(t)
                tangents.append(None)
        return primals, tangents

    def made(self, result, tangent):
        """A result with its tangent, each tensor of it."""
        if isinstance(result, Tensor):
            if tangent is None or result.layout.dtype.category < 2:
                return result
            return dual_of(result, tangent, self)
        if isinstance(result, (tuple, list)):
            parts = [self.made(r, t) for r, t in zip(result, tangent or [None] * len(result))]
            return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
        return result

    def __call__(self, primitive, tensors, attributes):
        if self.over:                                    # tangents are gone with their level
            primals, _ = self.split(tensors)
            return primitive.function(*primals) if primitive.execute is None else miss(primitive, tuple(primals), attributes)
        if primitive.name in WRITES:
            return self.write_into(primitive, tensors, attributes)
        primals, tangents = self.split(tensors)
        if primitive.execute is None:
            if len(primals) == 1:
                known = of_one(primitive, primals[0], tangents[0])
                if known is not None:
                    return dual_of(*known, self)
            return self.made(*elementwise(primitive, [as_operand(primitive.name, p) for p in primals], tangents))
        return self.made(*pushes.get(primitive.name, by_gradient)(primitive, primals, tangents, attributes))

    def write(self, primitive, tensors):
        """In place: computed apart, and written to the tensor and to its tangent."""
        target = tensors[0]
        if recording(innermost(target)):                 # its derivative may need what was there before
            before = clone(target)
            tensors = [before if t is target else t for t in tensors]
        return self.overwrite(primitive.name, target, primitive.function(*tensors))

    def overwrite(self, name, target, result):
        """Write a result into a tensor and its tangent into that one's; a tensor without one is a dual tensor from then on."""
        self.gather_tangents(target)
        (value, own), (tangent, moving) = self.split([result, target])
        if value.layout.shape != own.layout.shape:
            raise RuntimeError(f"output with shape {list(own.layout.shape)} doesn't match the broadcast shape "
                               f"{list(value.layout.shape)}")
        own.copy_(value)
        if moving is None and tangent is not None:
            self.give_tangent(name, target, [tangent])
            moving = target.layout.tangent
        if moving is not None:
            moving.copy_(0 if tangent is None else tangent)
        return written(target) if isinstance(target.layout, Dual) else target

    def write_into(self, primitive, tensors, attributes):
        """What writes a source into places of a target is linear in both: the tangent is written by the same call."""
        target, place = tensors[0], WRITES[primitive.name]
        if any(kind in attributes for kind in _NOT_LINEAR):
            raise NotImplementedError(f"{primitive.name}_: it has no tangent with {attributes}")
        self.gather_tangents(target)
        (own, *rest), (moving, *tangents) = self.split(tensors)
        miss(primitive, (own, *rest), attributes)
        sources = [t for t in tangents if t is not None]
        if moving is None and sources:
            self.give_tangent(primitive.name, target, sources)
            moving = target.layout.tangent
        if moving is not None:
            if place is not None:
                source = tangents[place - 1]
                rest[place - 1] = moving.new_zeros(rest[place - 1].layout.shape) if source is None else source
                miss(primitive, (moving, *rest), attributes)
            else:
                moving.zero_()                           # numbers that do not depend on what was there
        return written(target) if isinstance(target.layout, Dual) else target

    def give_tangent(self, name, target, sources):
        """Make a tensor dual, and with it all that are views of the same memory: their tangents are views of one, of zeros. It has
        the samples of the tangents that will be written into it."""
        base = target if target._base is None or target is made.target else target._base
        layout, views = base.layout, [] if target is made.target else live_views(base)
        if target is not made.target and (not modes.grad or (views and layout.overlaps_itself())):
            raise RuntimeError(f"{name}_: a tensor with a tangent is written into one without, of which it is not known whose "
                               f"view it is. Please "
                               f"clone() it before, or use the out-of-place {name}.")
        self.spread(base, views, _zeros(base, sources))

    def spread(self, base, views, tangent):
        """Give a tensor a tangent that lies as it does, and each of its views the same view of it."""
        start, itemsize = innermost(base).address, base.layout.dtype.itemsize
        tangents = [tangent.as_strided(v.layout.shape, v.layout.strides, (innermost(v).address - start) // itemsize) for v in views]
        for each, part in zip((base, *views), (tangent, *tangents)):
            layout = each.layout
            if layout.__class__ is Dual and layout.handler is self:
                own = layout.value
            elif isinstance(layout, Wrapping):
                own = tensor_of(layout)
            else:
                own = wrap(each.memory, each.address, layout, each.node)
                del each.address
            each.layout = dual_of(own, part, self).layout
            if each is not base:
                each.layout.whole = base.layout
            written(each)

    def gather_tangents(self, target):
        """Before a view is written whose tangent is a copy, because it lies otherwise in memory than the tensor does: have the
        tangents of the tensor and of all its views lie in one memory as these do."""
        base = target._base
        layouts = [getattr(x, "layout", None) for x in (base, target)]
        if all(each.__class__ is Dual and each.handler is self for each in layouts):
            whole, own = layouts
            if innermost(whole.tangent).memory is not innermost(own.tangent).memory:
                self.spread(base, live_views(base), clone(whole.tangent, memory_format=Layout.of(
                    whole.dtype, whole.shape, whole.strides, whole.device)))

    # ------------------------------------------------------------ views
    def view(self, function, layout, *args):
        name = function.__name__
        if name == "moved_order":
            return function(layout, *args)
        whole, tangent = getattr(layout, "whole", layout), layout.tangent
        if name == "as_strided":
            value, tangent = _strided(layout, whole, *args)
        else:
            value, tangent = [VIEWS[name](x, *args) for x in (layout.value, tangent)]
        if value is None:
            return None
        if tangent is None:                              # another layout in memory, which has no such view
            tangent = layout.tangent.reshape(value.layout.shape)
        if isinstance(value, tuple):
            return tuple([(self.view_of(whole, v, t), 0) for v, t in zip(value, tangent)])
        return self.view_of(whole, value, tangent), 0

    def view_of(self, whole, value, tangent):
        """The layout of a view of what has a layout."""
        layout = dual_of(value, tangent, self).layout
        if layout.dtype is whole.dtype and innermost(value).memory is innermost(whole.value).memory:
            layout.whole = whole
        return layout

    def values(self, x):
        return x.layout.value

    def text(self, x, prefix):
        value = repr(x.layout.value)
        return value if self.over else f"{value[:-1]}, tangent={x.layout.tangent!r})"

    def detached(self, x):
        return detach(x.layout.value)

    def reduced(self, x):
        """A tangent ends with its level: the tensor is kept without it, as in PyTorch."""
        return detach(x.layout.value).__reduce_ex__(2)


def _zeros(like, sources):
    """Zeros that lie as a tensor does, of each sample of the runs of vmap that sources are in."""
    layout, levels = like.layout, [level for level in levels_of(sources) if isinstance(level, BatchLevel)]
    zeros = _over_all(zeros_like(detach(like)), levels)
    if not levels and zeros.layout.strides == layout.strides:
        return zeros
    return clone(zeros, memory_format=Layout.of(layout.dtype, layout.shape, layout.strides, layout.device))


def _offset(x):
    return innermost(x).storage_offset()


def _strided(layout, whole, shape, strides, start):
    """A tensor that `as_strided` gives of a layout, and its tangent: what it takes, in the order of the tensor's own memory, of the
    tangent of the whole tensor that the layout is a view of. What that does not reach has no tangent: zeros."""
    value = layout.value.as_strided(shape, strides, start)
    start = (_offset(layout.value) if start is None else start) - _offset(whole.value)
    tangent, (low, high) = whole.tangent, whole.extent()
    first, last = [start + end for end in Layout.of(int64, shape, strides, layout.device).extent()]
    outside = first < last and (first < low or last > high)
    if tangent.layout.strides == whole.strides and not outside:
        return value, tangent.as_strided(shape, strides, _offset(tangent) + start)
    low, high = min(low, first), max(high, last)
    owners = full((high - low,), -1, dtype=int64, device=layout.device)
    numbers = arange(whole.numel, device=layout.device).view(whole.shape)
    copy_elements(numbers, owners.as_strided(whole.shape, whole.strides, -low))             # which may share elements: any will do
    places = owners.as_strided(shape, strides, start - low)
    if not outside:
        return value, take(tangent, places)
    return value, where(places >= 0, take(tangent, clamp_min(places, 0)), 0)


def _view(x, shape):
    try:
        return x.view(shape)
    except RuntimeError:
        return None


VIEWS = {
    "permute": lambda x, dims: x.permute(dims), "transpose": lambda x, a, b: x.transpose(a, b), "expand": lambda x, shape:
    x.expand(shape), "try_view": _view, "squeeze": lambda x, dims: x.squeeze() if dims is None else x.squeeze(dims),
    "unsqueeze": lambda x, dim: x.unsqueeze(dim), "unflatten": lambda x, dim, sizes: x.unflatten(dim, sizes),
    "select": lambda x, dim, index: x.select(dim, index), "narrow": lambda x, dim, start, length: x.narrow(dim, start, length),
    "unfold": lambda x, dim, size, step: x.unfold(dim, size, step), "slice_dim": slice_view,
    "diagonal": lambda x, offset, a, b: x.diagonal(offset, a, b), "every": lambda x, dim: x.unbind(dim),
    "cut": lambda x, dim, size: x.split(size, dim),
    "as_strided": lambda x, shape, strides, start: x.as_strided(shape, strides, start),
    "pairs": view_as_real, "numbers": view_as_complex,
}


# ---------------------------------------------------------------- elementwise
def of_one(op, x, tangent):
    """What `elementwise` gives for an op of one ordinary tensor of real numbers whose derivative nobody records, and most calls in
    networks are: the kernel that backward has. None for another."""
    layout = x.layout
    if layout.__class__ is not Layout or tangent.layout.__class__ is not Layout or layout.dtype.category != 2 \
            or op.derivative_body is None or (modes.grad and (x.node is not None or tangent.node is not None)):
        return None
    leaf, before = wrap(x.memory, x.address, layout), modes.grad
    leaf.node = Leaf(leaf)
    modes.switch(True)
    try:
        out = op.function(leaf)
    finally:
        modes.switch(before)
    node, out.node = out.node, None
    return None if node is None or out.layout is not layout else (out, node.backward(tangent)[0])


def elementwise(op, primals, tangents):
    """An elementwise op and its tangent: each operand's times the slope that the op's derivative has for it."""
    moving = [place for place, t in enumerate(tangents) if t is not None]
    recorded = modes.grad and any(p.node is not None for p in primals)
    if recorded or any(isinstance(p.layout, Wrapping) for p in primals):
        node, out = None, op.function(*primals)
    else:
        node, out = _with_node(op, primals, moving)
    if not op.differentiable or out.layout.dtype.category < 2:
        return out, None
    if out.layout.dtype.is_complex or any(p.layout.dtype.is_complex for p in primals):
        return by_gradient(op, primals, tangents, ())
    if op.derivative_body is None:
        raise NotImplementedError(f"the derivative for '{op.name}' is not implemented")
    total = None
    for place in moving:
        term = _along(op, primals, place, to_dtype(tangents[place], out.layout.dtype), out, node if len(moving) == 1 else None)
        total = term if total is None else total + term
    if total.layout.shape != out.layout.shape:
        total = total.expand(out.layout.shape)
    return out, to_dtype(total, out.layout.dtype)


def _with_node(op, primals, moving):
    """An op on ordinary tensors: the node that a recorded call of it has, and the result."""
    if not op.differentiable or len(moving) > 1 or primals[moving[0]].layout.dtype.category < 2:
        return None, op.function(*primals)
    with enable_grad():
        out = op.function(*[own_place(p, False) if place in moving else p if p.node is None else detach(p)
                            for place, p in enumerate(primals)])
    node, out.node = out.node, None
    return node, out


def _along(op, primals, place, tangent, out, node):
    """The derivative by one operand, times its tangent."""
    formula, layout = op.gradients[place], primals[place].layout
    if isinstance(formula, Symbol) and formula.name == "grad":
        return tangent
    if node is not None and layout.shape == out.layout.shape and layout.dtype is out.layout.dtype:
        if not isinstance(tangent.layout, Wrapping) and (tangent.node is None or not modes.grad):
            return node.backward(tangent)[place]         # the one kernel that backward has for it
        return node.backward(ones_like(out))[place] * tangent
    values = {name: as_tensor_of(p, out.layout.dtype) if p.layout.weak and name not in op.bool_operands else p
              for name, p in zip(op.parameters, primals)}
    product, = evaluate([formula], {**values, "grad": tangent, "out": out})
    return product if isinstance(product, Tensor) else ones_like(out) * product


# ---------------------------------------------------------------- by the gradient
@push("check_probabilities")
def looked_at(primitive, primals, tangents, attributes):
    """What looks at elements and gives none."""
    return miss(primitive, (detach(primals[0]),), attributes), None


def by_gradient(primitive, primals, tangents, attributes):
    """Any op that has a gradient: that of the gradient, which is linear in the vector that it starts with."""
    moving = [place for place, t in enumerate(tangents) if t is not None]
    given = [t for t in (*primals, *tangents) if isinstance(t, Tensor)]
    outer = modes.grad and bool(places(given))
    levels = [level for level in levels_of(given) if isinstance(level, BatchLevel)]
    with enable_grad():
        operands, variables = list(primals), []
        for place in moving:
            if primals[place].layout.dtype.category < 2:
                continue
            operands[place] = own_place(_over_all(primals[place], levels), outer)
            variables.append((operands[place], tangents[place]))
        result = primitive.function(*operands) if primitive.execute is None else miss(primitive, tuple(operands), attributes)
        outputs, form = flatten(result)
        moved = [o for o in outputs if isinstance(o, Tensor) and o.layout.dtype.category >= 2]
        if moved and primitive.vjp is None and primitive.execute is not None and all(not places([o]) for o in moved):
            raise NotImplementedError(f"the derivative for '{primitive.name}' is not implemented")
        starts = [own_place(_over_all(ones_like(detach(o)), levels), False) for o in moved]
        pulled = gradients(moved, [v for v, _ in variables], starts, True)
    with set_grad_enabled(outer):
        derivatives = gradients(pulled, starts, [t for _, t in variables], outer)
    each = iter(derivatives)
    derivatives = [next(each) if isinstance(o, Tensor) and o.layout.dtype.category >= 2 else None for o in outputs]
    if not outer:
        outputs = [without_graph(o) if isinstance(o, Tensor) else o for o in outputs]
    return unflatten(outputs, form), unflatten(derivatives, form)


def _over_all(x, levels):
    for level in reversed(levels):
        x = level.as_sample(x)
    return x
