"""Running sums, products, extremes and log-sums along a dimension, and what is made of neighbours: differences, areas."""
from __future__ import annotations

from functools import partial

from ...autograd.graph import GraphNode, recording
from ...dtypes import as_dtype, bool_, int64
from ...kernels.threads import NOTHING
from ...layout import Layout, wrap_dim
from ...tensor import Tensor, empty
from ..core.arguments import expect_dtypes, expect_layout, integer, numpy_keywords, real
from ..core.backends import kernels
from ..core.operands import layout_of, method
from ..core.primitive import Primitive, derivative_of
from ..core.return_types import Pair, pair
from ..index.gather_scatter import scatter_add_
from ..memory.assign import filled, written_back
from ..memory.copies import clone, contiguous, to_dtype
from ..memory.resize import into, into_all_exactly, into_exactly
from ..memory.writing import into_fresh
from ..pointwise import arithmetic, comparison, elementary
from ..reduce.reductions import sum
from ..shape.join import cat
from ..shape.slicing import narrow, select
from ..shape.views import reshape
from .order import around

CUMSUM = Primitive("cumsum", samples="T[2, 3]; 1, False")
CUMPROD = Primitive("cumprod", samples="T[2, 3]; 1, False")
LOGCUMSUMEXP = Primitive("logcumsumexp", samples="T[2, 3]; 1, False")
CUMMAX = Primitive("cummax", samples="T[2, 3]; 1")
CUMMIN = Primitive("cummin", samples="T[2, 3]; 1")
RECURRENCE = Primitive("recurrence", samples=("T[2, 3], T[2, 3], None; 1, True", "T[2, 3], T[2, 3], T[2, 3]; 1, True"))


def _plan(primitive, layout, dim, *arguments):
    """The result's row-major layout, the dimension counted from the first, and the kernel."""
    axis, planner = wrap_dim(dim, layout.ndim), getattr(kernels(layout.device, "scan.scan"), f"plan_{primitive.name}")
    prepared = planner(layout.dtype.kernel, *around(layout.shape, axis), *arguments) if layout.numel else NOTHING
    return layout.dense(), axis, prepared


# ---------------------------------------------------------------- sums and products
def _scan(primitive):
    """What runs a scan of a tensor of the result's dtype."""
    @primitive.run
    def scan(plan, input: Tensor, dim: int, reverse):
        layout, axis, prepared = plan
        out, source = empty(layout), input if input.layout.contiguous else contiguous(input.detach())
        prepared.call(source.address, out.address, prepared.descriptor)
        if input.node is not None and recording(input):
            if primitive is CUMSUM:
                out.node = GraphNode(primitive, (input.node,), (), (axis, reverse))
            else:
                out.node = GraphNode(primitive, (input.node,), (input,), (axis, reverse))
                out.node.save_results([out])
        return out
    return scan


CUMSUM.planned(partial(_plan, CUMSUM))
CUMPROD.planned(partial(_plan, CUMPROD))
_cumsum, _cumprod, _logcumsumexp = _scan(CUMSUM), _scan(CUMPROD), _scan(LOGCUMSUMEXP)


@CUMSUM.derivative
def _cumsum_vjp(node, grad):
    dim, reverse = node.attributes
    return (_cumsum(grad, dim, not reverse),)


@CUMPROD.derivative
def _cumprod_vjp(node, grad, x, out):
    """d out[j] / d x[i] is the product before i times that of what stands between i and j: of the latter a recurrence makes the sum
    over j, weighted by grad[j]."""
    dim, _ = node.attributes
    if not x.layout.ndim or not x.layout.numel:
        return (grad,)
    if x.layout.dtype.is_complex:
        x, out = arithmetic.conj_physical(x), arithmetic.conj_physical(out)
    if recording(grad, x, out):
        return (_recurrence(grad, x, None, dim, True) * _moved_on(out, dim, 1),)
    return (_recurrence(grad, x, out, dim, True),)


@RECURRENCE.planned
def _plan_recurrence(c, x, products, dim, reverse):
    for name, other in (("c", c), ("products", products)):
        if other is not None:
            expect_layout("recurrence", name, other, x.shape, x.dtype)
    return _plan(RECURRENCE, x, dim, reverse, products is not None)


@RECURRENCE.run
def _recurrence(plan, c: Tensor, x: Tensor, products: Tensor | None, dim, reverse):
    """s[i] = c[i] + x[i] s[i - 1], or if `reverse` c[i] + x[i + 1] s[i + 1]; times products[i - 1] if given, without gradients."""
    layout, axis, prepared = plan
    out = empty(layout)
    terms, factors = [t if t.layout.contiguous else contiguous(t.detach()) for t in (c, x)]
    before = factors if products is None else contiguous(products.detach())
    prepared.call(terms.address, factors.address, before.address, out.address, prepared.descriptor)
    if products is None and recording(c, x):
        out.node = GraphNode(RECURRENCE, (c.node, x.node), (x,), (axis, reverse))
        out.node.save_results([out])
    return out


@RECURRENCE.derivative
def _recurrence_vjp(node, grad, x, out):
    dim, reverse = node.attributes
    if x.layout.dtype.is_complex:
        x, out = arithmetic.conj_physical(x), arithmetic.conj_physical(out)
    back = _recurrence(grad, x, None, dim, not reverse)
    return back, _moved_on(back, dim, 0) * out if reverse else back * _moved_on(out, dim, 0)


def _moved_on(x, dim, first):
    """Each element one place further along a dimension; at the first one a number."""
    shape = x.layout.shape
    start = filled(Layout.of(x.layout.dtype, (*shape[:dim], 1, *shape[dim + 1:]), None, x.layout.device), first)
    return cat([start, narrow(x, dim, 0, shape[dim] - 1)], dim)


def _constant(x, value):
    return filled(Layout.of(x.layout.dtype, (), None, x.layout.device), value)


def _along(name, dim, axis):
    """The dimension that is given, under either name."""
    if dim is None and axis is None:
        raise TypeError(f"{name}() missing the argument 'dim'")
    return dim if axis is None else axis


def _accumulated(name, scan, input, dim, dtype, out):
    layout = layout_of(name, input)
    if dtype is None and isinstance(out, Tensor):
        dtype = out.layout.dtype                         # they are computed in it, as in PyTorch
    wanted = as_dtype(dtype) if dtype is not None else int64 if layout.dtype.category < 2 else layout.dtype
    if wanted is bool_:
        raise NotImplementedError(f'"{name}_out_cpu" not implemented for \'Bool\'')
    return into(out, scan(to_dtype(input, wanted), dim, False))


@method
def cumsum(input, dim=None, *, axis=None, dtype=None, out=None) -> Tensor:
    """Running sums along a dimension. Integers and bools sum as int64 unless a dtype is given.

    Args:
        input: of any dtype.
        dim, axis: the dimension along which to sum, under PyTorch's name or NumPy's.
        dtype: convert to this first.
        out: a tensor to write the result to.

    Returns:
        Of the input's shape.

    Raises:
        IndexError: a dimension out of range.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1, 2, 3]).cumsum(0)
        tensor([1, 3, 6])
    """
    return _accumulated("cumsum", _cumsum, input, _along("cumsum", dim, axis), dtype, out)


@method
def cumprod(input, dim=None, *, axis=None, dtype=None, out=None) -> Tensor:
    """Running products along a dimension. Integers and bools multiply as int64 unless a dtype is given.

    Args:
        input, dim, axis, dtype, out: as for `cumsum`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1, 2, 3]).cumprod(0)
        tensor([1, 2, 6])
    """
    return _accumulated("cumprod", _cumprod, input, _along("cumprod", dim, axis), dtype, out)


def _in_place(function, result):
    def inplace(self, dim=None, *, axis=None, dtype=None) -> Tensor:
        if dtype is not None and as_dtype(dtype) is not self.layout.dtype:
            raise RuntimeError(f"Bad in-place call: input tensor dtype {self.layout.dtype.name} and output tensor dtype "
                               f"{as_dtype(dtype).name} should match")
        return written_back(self, function, _along(name, dim, axis), dtype=self.layout.dtype)
    name = inplace.__name__ = inplace.__qualname__ = function.__name__ + "_"
    inplace.__doc__ = f"""In-place form of `{function.__name__}`: this tensor takes the results, in its own dtype.

    Args:
        dim, axis: the dimension along which to go, under PyTorch's name or NumPy's.
        dtype: this tensor's, if any.

    Raises:
        RuntimeError: another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1, 2, 3]).{name}(0)
        tensor({result})
    """
    return method(inplace)


cumsum_, cumprod_ = _in_place(cumsum, "[1, 3, 6]"), _in_place(cumprod, "[1, 2, 6]")


# ---------------------------------------------------------------- log-sums
@method
def logcumsumexp(input, dim=None, *, axis=None, out=None) -> Tensor:
    """log of the running sums of exponentials along a dimension, shifted so that nothing overflows.

    Args:
        input: floating point or complex.
        dim, axis: the dimension along which to sum, under PyTorch's name or NumPy's.
        out: a tensor to write the result to.

    Raises:
        NotImplementedError: integers or bools.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1000., 1000., 1000.]).logcumsumexp(0)
        tensor([1000.0000, 1000.6932, 1001.0986])
    """
    return into_exactly("logcumsumexp", out, _logcumsumexp(input, _along("logcumsumexp", dim, axis), False))


@LOGCUMSUMEXP.planned
def _plan_logcumsumexp(layout, dim, reverse):
    expect_dtypes("logcumsumexp", layout.dtype, "float", "complex64", "complex128")
    return _plan(LOGCUMSUMEXP, layout, dim, reverse)


@LOGCUMSUMEXP.derivative
def _logcumsumexp_vjp(node, grad, x, out):
    """d out[j] / d x[i] = exp(x[i] - out[j]) for j >= i."""
    dim, reverse = node.attributes
    return (sums_of_exponentials(grad, -arithmetic.conj(out), arithmetic.conj(x), dim, not reverse),)


def sums_of_exponentials(factors, exponents, after, dim, reverse):
    """Running sums of factors * exp(exponents), times exp(after). The sums are taken as logarithms, so that they neither overflow
    nor vanish: those of positive and of negative factors apart."""
    none = _constant(exponents, -1e30 if exponents.layout.dtype.itemsize > 2 else -3e4)      # not -inf: its gradients would be NaN
    if exponents.layout.dtype.is_complex:
        size = arithmetic.where(comparison.eq(factors, 0), none, elementary.log(factors))
        return elementary.exp(_logcumsumexp(size + exponents, dim, reverse) + after)
    result = None
    for sign in (1, -1):
        size = arithmetic.where(comparison.gt(factors * sign, 0), elementary.log(factors * sign), none)
        part = elementary.exp(_logcumsumexp(size + exponents, dim, reverse) + after)
        result = part if result is None else result - part
    return result


# ---------------------------------------------------------------- extremes
_PAIRS = {name: pair(name) for name in ("cummax", "cummin")}


def _running_extreme(primitive):
    """What runs a running extreme: (values, indices)."""
    @primitive.planned
    def plan(layout, dim):
        if layout.dtype.is_complex:
            raise NotImplementedError(f'"{primitive.name}" not implemented for \'{layout.dtype.title}\': complex numbers have no '
                                      f'order')
        return (layout.dense(int64), *_plan(primitive, layout, dim))

    @primitive.run
    def extreme(plan, input: Tensor, dim: int):
        places, layout, axis, prepared = plan
        values, indices, source = empty(layout), empty(places), input if input.layout.contiguous else contiguous(input.detach())
        prepared.call(source.address, values.address, indices.address, prepared.descriptor)
        if input.node is not None and recording(input):
            values.node = GraphNode(primitive, (input.node,), (indices,), axis)
        return _PAIRS[primitive.name](values, indices)
    return extreme


_cummax, _cummin = _running_extreme(CUMMAX), _running_extreme(CUMMIN)


@derivative_of(CUMMAX, CUMMIN)
def _running_extreme_vjp(node, grad, indices):
    if not grad.layout.ndim:
        return (grad,)
    return (into_fresh(scatter_add_, filled(grad.layout.dense(), 0), node.attributes, indices, grad),)


@method
def cummax(input, dim=None, *, axis=None, out=None) -> Pair:
    """The largest element so far along a dimension and where it was met last, as (values, indices). NaN counts as largest.

    Args:
        input: of any real dtype.
        dim, axis: the dimension along which to go, under PyTorch's name or NumPy's.
        out: a pair of tensors to write the results to.

    Raises:
        NotImplementedError: a complex tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1, 3, 2, 3]).cummax(0).indices
        tensor([0, 1, 1, 3])
    """
    return into_all_exactly("cummax", out, _cummax(input, _along("cummax", dim, axis)))


@method
def cummin(input, dim=None, *, axis=None, out=None) -> Pair:
    """The smallest element so far along a dimension and where it was met last, as (values, indices). NaN counts as smallest.

    Args:
        input, dim, axis, out: as for `cummax`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([3, 1, 2, 1]).cummin(0).indices
        tensor([0, 1, 1, 3])
    """
    return into_all_exactly("cummin", out, _cummin(input, _along("cummin", dim, axis)))


# ---------------------------------------------------------------- neighbours
@method
def diff(input, n: int = 1, dim: int = -1, prepend=None, append=None, *, axis=None, out=None) -> Tensor:
    """Differences of neighbours along a dimension, taken n times; bools differ or not.

    Args:
        input: at least one dimension, of any dtype.
        n: how often differences are taken; each time the dimension is one shorter. 0 gives a copy, to which nothing is joined.
        dim: the dimension of the neighbours.
        axis: NumPy's name of `dim`.
        prepend, append: tensors to be joined to the ends first.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: a 0-dim tensor, or a negative n.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1, 3, 6, 10])
        >>> x.diff(), x.diff(n=2)
        (tensor([2, 3, 4]), tensor([1, 1]))
    """
    if axis is not None:
        dim = axis
    n = integer("diff", "n", n)
    if not layout_of("diff", input).ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    for place, (argument, end) in enumerate((("prepend", prepend), ("append", append)), 4):
        if end is not None and layout_of("diff", end, argument, place).ndim != input.layout.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    dim = wrap_dim(dim, input.layout.ndim)
    ends = [t for t in (prepend, input, append) if t is not None]
    x = clone(input) if n == 0 else cat(ends, dim) if len(ends) > 1 else input
    for _ in range(n):
        size = x.layout.shape[dim]
        right, left = narrow(x, dim, min(1, size), max(0, size - 1)), narrow(x, dim, 0, max(0, size - 1))
        x = comparison.ne(right, left) if x.layout.dtype is bool_ else right - left
    return into_exactly("diff", out, x)


def _areas(name, y, x, dx, dim):
    """The area between each pair of neighbours."""
    dim = wrap_dim(dim, layout_of(name, y, "y").ndim)
    size = y.layout.shape[dim]
    heights = narrow(y, dim, min(1, size), max(0, size - 1)) + narrow(y, dim, 0, max(0, size - 1))
    if x is None:
        return heights * (dx / 2.0)
    if layout_of(name, x, "x", 2).ndim == 1:
        if x.layout.shape[0] != size:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point, got {x.layout.shape[0]} and {size}")
        x = reshape(x, *[size if d == dim else 1 for d in range(y.layout.ndim)])
        return heights * diff(x, 1, dim) / 2.0
    return heights * diff(x, 1, dim - y.layout.ndim) / 2.0


@numpy_keywords
def trapezoid(y, x=None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The area below samples along a dimension, by the trapezoidal rule.

    Args:
        y: the samples.
        x: where they were taken, a vector or of y's shape; else they are `dx` apart.
        dx: the distance of neighbours without an `x`.
        dim: the dimension along which they were taken; it is not in the result.

    Raises:
        RuntimeError: a vector `x` of another length than y's dimension.

    Example:
        >>> import numtorch as torch
        >>> y = torch.tensor([1., 2., 3.])
        >>> torch.trapezoid(y), torch.trapezoid(y, torch.tensor([0., 1., 3.]))
        (tensor(4.), tensor(6.5000))
    """
    dx = real("trapezoid", "dx", dx)
    if not layout_of("trapezoid", y, "y").shape[dim]:
        return sum(y, dim)
    size = y.layout.shape[dim]
    if x is None and size > 1:                           # one pass over all but the ends
        ends = (select(y, dim, 0) + select(y, dim, -1)) / 2.0
        return (sum(narrow(y, dim, 1, size - 2), dim) + ends) * dx
    return sum(_areas("trapezoid", y, x, dx, dim), dim)


trapz = trapezoid


@numpy_keywords
def cumulative_trapezoid(y, x=None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The running area below samples along a dimension, by the trapezoidal rule; of n samples n - 1 areas.

    Args:
        y, x, dx, dim: as for `trapezoid`.

    Example:
        >>> import numtorch as torch
        >>> torch.cumulative_trapezoid(torch.tensor([1., 2., 3.]))
        tensor([1.5000, 4.0000])
    """
    return cumsum(_areas("cumulative_trapezoid", y, x, real("cumulative_trapezoid", "dx", dx), dim), dim)
