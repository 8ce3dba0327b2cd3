"""Batched tensors: what one sample of a function that is mapped over samples sees of all of them.

A batched tensor has the shape of one sample and stands for a tensor of all, whose first dimension counts them. A call on batched
tensors is answered by the rule of its primitive (rules/), which calls ops on all samples at once; one without a rule is made
sample by sample, and warns of it once.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable
from math import prod

from ..layout import Layout, Size, wrap_dim, wrap_dims
from ..ops.core.late import entered
from ..ops.core.operands import as_operand, result_dtype
from ..ops.core.primitive import Draw, miss
from ..ops.memory.copies import clone, to_dtype
from ..ops.memory.detach import detach
from ..ops.memory.writing import made
from ..ops.pointwise.complexparts import view_as_complex, view_as_real
from ..ops.shape.join import stack
from ..ops.shape.slicing import slice_view
from ..tensor import Tensor, wrap
from ..viewalgebra import resolve_shape
from .levels import Level, Wrapping, check_place, innermost, lie_like, running, tensor_of, written
from .randomness import each_sample, enter, leave

Rule = Callable
rules: dict[str, Rule] = {}                              # by the primitive's name


def rule(*names):
    """Decorator: the batching rule of primitives.

    A rule is called as `rule(level, primitive, tensors, batched, attributes)`: the tensors inside, of which those whose `batched`
    is true have the samples in their first dimension. So have all tensors it returns.
    """
    return entered(rules, names)


writes: dict[str, Rule] = {}                             # of what writes into its first tensor, and is not elementwise


def writing(*names):
    """Decorator: the rule of primitives that write into their first tensor, which has all samples. It returns nothing."""
    return entered(writes, names)


class Batched(Wrapping):
    """The layout of one sample. `value` holds all samples, along its first dimension."""

    __slots__ = ()
    has_values = False

    def parts(self):
        return [self.value]

    def with_value(self, value):
        return batched(value, self.handler).layout

    def replaced(self, function):
        """The same of what `function` makes of the tensor inside."""
        return self.with_value(function(self.value))


class BatchedSparse(Batched):
    """The layout of one sample of a sparse tensor, whose first dimension is one of those that are indexed."""

    __slots__ = ("sparse_dim", "dense_dim")
    contiguous, nbytes = False, 0
    kind = property(lambda self: self.value.layout.kind)
    strides = property(lambda self: self.value.layout.strides)           # which it has not: this says so


def batched(value: Tensor, level: BatchLevel) -> Tensor:
    """A tensor of all samples as one sample."""
    inside = value.layout
    if inside.kind == "strided":
        layout = object.__new__(Batched)
        sample = inside.views.get("sample")
        if sample is None:
            sample = inside.views["sample"] = Layout.of(inside.dtype, inside.shape[1:], inside.strides[1:], inside.device)
        lie_like(layout, sample)
    else:
        layout, shape = object.__new__(BatchedSparse), inside.shape[1:]
        layout.dtype, layout.device, layout.weak, layout.views, layout.ring = inside.dtype, inside.device, False, {}, None
        layout.shape, layout.size, layout.ndim, layout.numel = shape, Size(shape), len(shape), prod(shape)
        layout.sparse_dim, layout.dense_dim = inside.sparse_dim - 1, inside.dense_dim
    layout.handler, layout.value = level, value
    return tensor_of(layout)


def every_sample(layout: Layout, size: int) -> Layout:
    """The layout of samples that lie one behind the other, each as a layout says."""
    reach = max(layout.extent()[1], 1)
    return Layout.of(layout.dtype, (size, *layout.shape), (reach, *layout.strides), layout.device)


class BatchLevel(Level):
    """One run of `vmap`.

    Args:
        size: how many samples.
        randomness: "error", "different" or "same": what drawing random numbers means.
    """

    def __init__(self, size: int, randomness: str = "error"):
        self.size, self.randomness = size, randomness

    def __enter__(self):
        enter(self)
        return super().__enter__()

    def __exit__(self, *exception):
        super().__exit__(*exception)
        leave(self)

    # ------------------------------------------------------------ in and out
    def inside(self, x):
        """(the tensor inside, whether it has all samples) of a tensor at this level or outside of it."""
        layout = x.layout
        if isinstance(layout, Batched) and layout.handler is self:
            check_place(x)
            return layout.value, True
        return x, False

    def all_samples(self, x):
        """A tensor of all samples: one that does not depend on the sample is expanded."""
        value, has = self.inside(x)
        return value if has else value.unsqueeze(0).expand(self.size, *value.layout.shape)

    def as_sample(self, x):
        """A tensor as one sample at this level: expanded, where it does not depend on the sample."""
        layout = x.layout
        if not isinstance(layout, Wrapping) or layout.handler.rank < self.rank:
            return batched(self.all_samples(x), self)
        return x if layout.handler is self else tensor_of(layout.replaced(self.as_sample))

    def with_samples(self, x):
        value, has = self.inside(x)
        if has:
            return x
        return batched(clone(self.all_samples(value), memory_format=every_sample(value.layout, self.size)), self)

    def wrapped(self, result):
        """What a rule returned, as one sample."""
        if isinstance(result, Tensor):
            return batched(result, self)
        if isinstance(result, tuple):
            parts = [self.wrapped(r) for r in result]
            return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
        if isinstance(result, list):
            return [self.wrapped(r) for r in result]
        return result

    # ------------------------------------------------------------ calls
    def __call__(self, primitive, tensors, attributes):
        if self.over:
            raise RuntimeError(f"{primitive.name}(): a tensor of a vmap that has ended cannot be used")
        values, has = [], []
        for t in tensors:
            if isinstance(t, Tensor):
                value, inside = self.inside(t)
                values.append(value)
                has.append(inside)
            else:
                values.append(t)
                has.append(False)
        if primitive.name in writes:
            return self.write_into(primitive, tensors, attributes)
        if primitive.execute is None:
            return batched(elementwise(self, primitive, values, has), self)
        rule = rules.get(primitive.name)
        if rule is None and isinstance(primitive, Draw):
            return self.wrapped(drawn(self, primitive, values, has, attributes))
        if rule is None:
            return self.wrapped(sample_by_sample(self, primitive, values, has, attributes))
        return self.wrapped(rule(self, primitive, values, has, attributes))

    def write(self, primitive, tensors):
        return self.write_into(primitive, tensors, ())

    def write_into(self, primitive, tensors, attributes):
        """A call that writes into its first tensor."""
        target, whole = tensors[0], None
        if not self.inside(target)[1]:
            whole = self.give_samples(primitive, target)
        value, ndim, inner, has = self.inside(target)[0], target.layout.ndim, [], [True]
        for t in tensors[1:]:
            other, each = self.inside(as_operand(primitive.name, t))
            inner.append(other)
            has.append(each)
        if primitive.name in writes:
            writes[primitive.name](self, primitive, [value, *inner], has, attributes)
        else:
            primitive.inplace(value, *[aligned(t, ndim) if h else t for t, h in zip(inner, has[1:])])
        if whole is not None:
            written(whole)
        return written(target)

    def give_samples(self, primitive, target):
        """Make a tensor that an op has just made to write into one of all samples, and with it the view of it that is written.

        Returns:
            The tensor.

        Raises:
            RuntimeError: a tensor that others have.
        """
        whole = made.target
        while whole is not None and isinstance(whole.layout, Wrapping) and whole.layout.handler.rank > self.rank:
            whole = whole.layout.value
        if whole is None or innermost(whole).memory is not innermost(target).memory:
            raise self.cannot_write(primitive)
        start = (innermost(target).address - innermost(whole).address) // target.layout.dtype.itemsize
        shape, strides = target.layout.shape, target.layout.strides
        value = self.all_samples(_apart(whole)).clone(memory_format="contiguous_format")
        if target is not whole:                          # which is contiguous, so that the samples of a view lie as the view did
            part = value.as_strided((self.size, *shape), (value.layout.strides[0], *strides), start)
            _take(target, batched(part, self).layout)
        _take(whole, batched(value, self).layout)
        return whole

    def cannot_write(self, primitive):
        name = primitive.name.rstrip("_") + "_"
        return RuntimeError(
            f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
            f"elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. "
            f"Please try to use out-of-place operators instead of {name}. If said operator is being called inside the PyTorch "
            f"framework, please file a bug report instead.")

    # ------------------------------------------------------------ views
    def view(self, function, layout, *args):
        name = function.__name__
        if name == "moved_order":
            return function(layout, *args)
        made = _views[name](layout.value, layout, *args)
        if made is None:
            return None
        if type(made) is tuple:
            return tuple([(batched(m, self).layout, 0) for m in made])
        return batched(made, self).layout, 0

    def values(self, x):
        raise RuntimeError("vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() "
                           "on a Tensor, "
                           "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside "
                           "PyTorch internals, please file a bug report.")

    def text(self, x, prefix):
        value = repr(x.layout.value).replace("\n", "\n    ")
        return f"BatchedTensor(lvl={self.rank}, bdim=0, value=\n    {value}\n)"

    def detached(self, x):
        return batched(detach(x.layout.value), self)


def _apart(x):
    """A tensor as it is now, when x becomes another."""
    return tensor_of(x.layout) if isinstance(x.layout, Wrapping) else wrap(x.memory, x.address, x.layout, x.node)


def _take(x, layout):
    """Have a tensor stand for what a layout holds."""
    if not isinstance(x.layout, Wrapping):
        del x.address
    x.layout = layout


def active_batches() -> list[BatchLevel]:
    """The runs of vmap that this thread is in, the outermost first."""
    return [level for level in running() if isinstance(level, BatchLevel)]


# ---------------------------------------------------------------- elementwise
def aligned(value, ndim):
    """All samples of a tensor with dimensions of 1 put behind the first, so that the samples have `ndim`."""
    missing = ndim - (value.layout.ndim - 1)
    if missing <= 0:
        return value
    shape = value.layout.shape
    return value.reshape(shape[0], *(1,) * missing, *shape[1:])


def elementwise(level, op, values, has):
    """An elementwise op on all samples: their dimensions broadcast behind the first."""
    values = [as_operand(op.name, v) for v in values]
    ndims = [v.layout.ndim - h for v, h in zip(values, has)]
    ndim = max(ndims)
    numbers = [i for i, h in enumerate(has) if h and not ndims[i]]
    if numbers and len(values) > 1:
        values = _as_numbers(op, values, numbers)
    return op.function(*[aligned(v, ndim) if h else v for v, h in zip(values, has)])


def _as_numbers(op, values, numbers):
    """A sample without dimensions yields to others in promotion, which a tensor of all samples would not."""
    dtypes = {v.layout.dtype for n, v in zip(op.parameters, values) if n not in op.bool_operands}
    if len(dtypes) < 2:
        return values
    layouts = [Layout.of(v.layout.dtype, () if i in numbers else v.layout.shape, None, v.layout.device, v.layout.weak)
               for i, (n, v) in enumerate(zip(op.parameters, values)) if n not in op.bool_operands]
    result = result_dtype(layouts)
    return [to_dtype(v, result) if i in numbers and op.parameters[i] not in op.bool_operands else v for i, v in enumerate(values)]


# ---------------------------------------------------------------- without a rule
_warned: set = set()


def sample_by_sample(level, primitive, values, has, attributes):
    """A call made for one sample after another, and the results put together."""
    if primitive.name not in _warned:
        _warned.add(primitive.name)
        warnings.warn(f"There is a performance drop because we have not yet implemented the batching rule for {primitive.name}. "
                      f"Please "
                      f"file us an issue on GitHub so that we can prioritize its implementation.", UserWarning, stacklevel=4)
    if primitive.name.endswith("_") and not has[0]:
        raise level.cannot_write(primitive)
    if not level.size:
        raise RuntimeError(f"vmap: {primitive.name} has no batching rule, and there is no sample to make it for")
    return _stacked([miss(primitive, tuple([v.select(0, i) if h else v for v, h in zip(values, has)]), attributes)
                     for i in range(level.size)])


def drawn(level, primitive, values, has, attributes):
    """A draw of random numbers for each sample."""
    def draw(i):
        return miss(primitive, tuple([v.select(0, i) if h else v for v, h in zip(values, has)]), attributes)
    return _stacked(each_sample(level, draw))


def _stacked(each):
    first = each[0]
    if isinstance(first, Tensor):
        if any(r.layout.shape != first.layout.shape for r in each):
            raise RuntimeError(f"vmap: samples have results of different shapes: {sorted({tuple(r.shape) for r in each})}")
        return stack(each)
    if isinstance(first, (tuple, list)):
        parts = [_stacked(list(column)) for column in zip(*each)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    return first


# ---------------------------------------------------------------- views
def _permute(value, layout, dims):
    if len(dims) != layout.ndim:
        raise RuntimeError(f"permute: number of dimensions in the tensor input does not match the length of the desired ordering "
                           f"of dimensions "
                           f"i.e. input.dim() = {layout.ndim} is not equal to len(dims) = {len(dims)}")
    return value.permute(0, *[wrap_dim(d, layout.ndim) + 1 for d in dims])


def _dims(layout, *dims):
    return [wrap_dim(d, layout.ndim) + 1 for d in dims]


def _transpose(value, layout, a, b):
    if not layout.ndim:
        _dims(layout, a, b)
        return value.view(value.layout.shape)
    return value.transpose(*_dims(layout, a, b))


def _expand(value, layout, shape):
    if len(shape) < layout.ndim:
        raise RuntimeError(f"expand: the number of sizes provided ({len(shape)}) must be greater or equal to the number of "
                           f"dimensions in the "
                           f"tensor ({layout.ndim})")
    new = shape[:len(shape) - layout.ndim]
    if -1 in new:
        raise RuntimeError(f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension "
                           f"{new.index(-1)}")
    return aligned(value, len(shape)).expand(value.layout.shape[0], *shape)


def _view(value, layout, shape):
    """Another shape over the same elements, or None where the strides of all samples do not allow it."""
    shape = (value.layout.shape[0], *resolve_shape(shape, layout.numel))
    try:
        return value.view(shape)
    except RuntimeError:
        return None


def _squeeze(value, layout, dims):
    dims = [d + 1 for d in wrap_dims(dims, layout.ndim) if layout.shape[d] == 1] if layout.ndim else []
    return value.squeeze(tuple(dims)) if dims else value.view(value.layout.shape)


def _needs_dims(name, kind=IndexError):
    def check(layout):
        if not layout.ndim:
            raise kind(f"{name}() cannot be applied to a 0-dim tensor.")
    return check


def _select(value, layout, dim, index):
    _needs_dims("select")(layout)
    dim = wrap_dim(dim, layout.ndim)
    extent = layout.shape[dim]
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {extent}")
    return value.select(dim + 1, index)


def _narrow(value, layout, dim, start, length):
    _needs_dims("narrow", RuntimeError)(layout)
    return value.narrow(wrap_dim(dim, layout.ndim) + 1, start, length)


def _unfold(value, layout, dim, size, step):
    if not layout.ndim:
        return value.unsqueeze(1).unfold(1, size, step).squeeze(1)
    return value.unfold(wrap_dim(dim, layout.ndim) + 1, size, step)


def _as_strided(value, layout, shape, strides, start):
    """A view of each sample's memory. Samples that share all of theirs, as those of an expanded tensor do, get some of their own
    first, gaps included: a sample's gradient must not be shared among them."""
    low, high = Layout.of(layout.dtype, layout.shape, value.layout.strides[1:], layout.device).extent()
    first, last = Layout.of(layout.dtype, shape, strides, layout.device).extent()
    own = innermost(value).storage_offset()
    begin = 0 if start is None else start - own
    if first < last and (begin + first < low or begin + last > high):
        raise RuntimeError(f"result = tensor.as_strided({list(shape)}, {list(strides)}, {own + begin}) can access memory outside "
                           f"of `tensor`. `tensor` has size {list(layout.shape)}, strides {list(value.layout.strides[1:])} and "
                           f"storage_offset {own}. This is not supported inside of vmap, please try to rewrite the `as_strided` "
                           f"call as a sequence of PyTorch view operations")
    size, step = value.layout.shape[0], value.layout.strides[0]
    if size > 1 and not step:
        value, step, start = _apart_in_memory(value, low, high), high - low, begin - low
        return value.as_strided((size, *shape), (step, *strides), innermost(value).storage_offset() + start)
    return value.as_strided((size, *shape), (step, *strides), own + begin)


def _apart_in_memory(value, low, high):
    """A copy of samples that share memory, one behind the other in rows of what they reach, of which the first element is `low`
    behind their own first; gaps between their elements hold what they held."""
    size, *shape = value.layout.shape
    kind, reach, steps = value.layout, high - low, value.layout.strides[1:]
    if reach <= prod(shape):                             # there are none
        copy = clone(value, memory_format=Layout.of(kind.dtype, kind.shape, (reach, *steps), kind.device))
        return copy.as_strided((size, reach), (reach, 1), innermost(copy).storage_offset() + low)
    rows = detach(value).as_strided((size, reach), (0, 1), innermost(value).storage_offset() + low).clone(
        memory_format="contiguous_format")
    rows.as_strided(kind.shape, (reach, *steps), innermost(rows).storage_offset() - low).copy_(value)
    return rows


def _reread(value, layout, kind):
    if not layout.ndim and layout.dtype.itemsize != kind.itemsize:
        raise RuntimeError(f"self.dim() cannot be 0 to view {layout.dtype} as {kind} (different element sizes)")
    return value.view(kind)


_views = {
    "permute": _permute, "transpose": _transpose, "expand": _expand, "try_view": _view, "squeeze": _squeeze,
    "unsqueeze": lambda value, layout, dim: value.unsqueeze(wrap_dim(dim, layout.ndim + 1) + 1),
    "unflatten": lambda value, layout, dim, sizes: value.unflatten(wrap_dim(dim, layout.ndim) + 1, sizes),
    "select": _select, "narrow": _narrow, "unfold": _unfold,
    "slice_dim": lambda value, layout, dim, *bounds: slice_view(value, wrap_dim(dim, layout.ndim) + 1, *bounds),
    "diagonal": lambda value, layout, offset, a, b: value.diagonal(offset, *_dims(layout, a, b)),
    "every": lambda value, layout, dim: value.unbind(wrap_dim(dim, layout.ndim) + 1),
    "cut": lambda value, layout, dim, size: value.split(size, wrap_dim(dim, layout.ndim) + 1),
    "as_strided": _as_strided,
    "pairs": lambda value, layout: view_as_real(value), "numbers": lambda value, layout: view_as_complex(value),
    "reread": _reread,
}
