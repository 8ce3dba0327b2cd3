"""Reductions over any dimensions: sum, prod, mean, var, norms, extremes, any and all."""
from __future__ import annotations

from collections import namedtuple

from ...autograd.graph import Recorded, recording
from ...dtypes import as_dtype, bool_, can_cast, uint8
from ...layout import as_shape, plain_dims, wrap_dims
from ...tensor import Tensor
from ..core.arguments import integer, numpy_keywords, real, truth
from ..core.late import later, provide
from ..core.operands import layout_of, method
from ..memory.copies import to_dtype
from ..memory.resize import into, into_all_exactly, into_exactly
from ..pointwise import arithmetic, comparison
from ..pointwise.complexparts import view_as_real
from ..shape.slicing import narrow
from ..shape.views import expand, reshape
from .reduce_op import ALL, ANY, COUNT, MAX, MEAN, MIN, NANSUM, NORM, PROD, STD, SUM, VAR
from .resultdtypes import float_dtype, in_norms_dtype

_SUM_TO_SIZE = Recorded("sum")

# Bound once: a method of an imported object is bound again by each call.
_all, _any, _count, _max, _mean, _min, _nansum, _norm, _prod, _std, _sum, _var = [
    op.run for op in (ALL, ANY, COUNT, MAX, MEAN, MIN, NANSUM, NORM, PROD, STD, SUM, VAR)]


def numpy_names(dim, keepdim, axis, keepdims):
    """`dim` and `keepdim`, which may go under NumPy's names."""
    return dim if axis is None else axis, keepdim if keepdims is None else keepdims


def _none_if_empty(dim):
    dim = plain_dims(dim)
    return None if dim == () else dim


def _dtype_for(dtype, out):
    """What is reduced is converted to before: a tensor to write into has it too, as in PyTorch."""
    return out.layout.dtype if dtype is None and isinstance(out, Tensor) else dtype


@method
def sum(input, dim=None, keepdim: bool = False, *, axis=None, keepdims=None, dtype=None, out=None) -> Tensor:
    """The sum of all elements, or along dimensions. Its gradient is the result's, expanded.

    Args:
        input: of any dtype.
        dim: an int or several; all dimensions when None or empty.
        keepdim: whether the reduced dimensions stay, of extent 1.
        axis, keepdims: NumPy's names of `dim` and `keepdim`.
        dtype: convert to this first; integers and bools sum as int64 otherwise.
        out: a tensor to write the result to.

    Raises:
        IndexError: a dimension out of range.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[1., 2.], [3., 6.]])
        >>> x.sum(), x.sum(dim=1, keepdim=True).shape
        (tensor(12.), torch.Size([2, 1]))
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    if out is not None:
        dtype = _dtype_for(dtype, out)
    if dtype is not None:
        input = to_dtype(input, as_dtype(dtype))
    result = _sum(input, None if dim is None else _none_if_empty(dim), keepdim)
    if dtype is not None:
        result = to_dtype(result, as_dtype(dtype))       # narrow integers were summed as int64
    return result if out is None else into(out, result)


@method
def nansum(input, dim=None, keepdim: bool = False, *, axis=None, keepdims=None, dtype=None, out=None) -> Tensor:
    """The sum of the elements that are not NaN, as `sum` otherwise; their gradient is 0 where they are.

    Args:
        input, dim, keepdim, axis, keepdims, dtype, out: as for `sum`.

    Raises:
        RuntimeError: complex numbers.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., float("nan"), 2.]).nansum()
        tensor(3.)
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    if layout_of("nansum", input).dtype.is_complex:
        raise RuntimeError("nansum does not support complex inputs")
    if isinstance(out, Tensor) and out.layout.dtype.is_complex:
        raise NotImplementedError(f'"nansum_cpu" not implemented for \'{out.layout.dtype.title}\'')
    if input.layout.dtype.category != 2 or dtype is not None:
        return sum(arithmetic.where(comparison.isnan(input), 0, input), dim, keepdim, dtype=dtype, out=out)
    return into(out, _nansum(input, _none_if_empty(dim), keepdim))


@method
def mean(input, dim=None, keepdim: bool = False, *, axis=None, keepdims=None, dtype=None, out=None) -> Tensor:
    """The mean of all elements, or along dimensions.

    Args:
        input: floating point or complex, unless `dtype` makes it so.
        dim: an int or several; all dimensions when None or empty.
        keepdim: whether the reduced dimensions stay, of extent 1.
        axis, keepdims: NumPy's names of `dim` and `keepdim`.
        dtype: convert to this first.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: an integer tensor without a floating-point `dtype`.
        IndexError: a dimension out of range.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[1., 2.], [3., 6.]])
        >>> x.mean(), x.mean(1)
        (tensor(3.), tensor([1.5000, 4.5000]))
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    if dtype is not None:
        input = to_dtype(input, as_dtype(dtype))
    if layout_of("mean", input).dtype.category < 2:
        raise RuntimeError(f"mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
                           f"Got: {input.layout.dtype.title}")
    if dtype is None and isinstance(out, Tensor) and out.layout.dtype.category >= 2:
        if not can_cast(input.layout.dtype, out.layout.dtype):
            raise RuntimeError(f"mean.dtype_out(): input types can't be cast to the desired output type {out.layout.dtype.title}")
        input = to_dtype(input, out.layout.dtype)
    return into(out, _mean(input, _none_if_empty(dim), keepdim))


@method
def nanmean(input, dim=None, keepdim: bool = False, *, axis=None, keepdims=None, dtype=None, out=None) -> Tensor:
    """The mean of the elements that are not NaN; NaN where all are.

    Args:
        input, dim, keepdim, axis, keepdims, dtype, out: as for `mean`.

    Raises:
        RuntimeError: not floating point.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., float("nan"), 2.]).nanmean()
        tensor(1.5000)
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    if layout_of("nanmean", input).dtype.category < 2:
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {input.layout.dtype.title}")
    present = to_dtype(comparison.logical_not(comparison.isnan(input)), float_dtype("nanmean", dtype, input.layout.dtype))
    return into(out, nansum(input, dim, keepdim, dtype=dtype) / sum(present, dim, keepdim))


@method
def prod(input, dim=None, keepdim: bool = False, *, axis=None, keepdims=None, dtype=None, out=None) -> Tensor:
    """The product of all elements, or along dimensions. Its gradient is right where elements are 0, too.

    Args:
        input: of any dtype.
        dim: an int or several; all dimensions when None.
        keepdim: whether the reduced dimensions stay, of extent 1.
        axis, keepdims: NumPy's names of `dim` and `keepdim`.
        dtype: convert to this first; integers and bools multiply as int64 otherwise.
        out: a tensor to write the result to.

    Raises:
        IndexError: a dimension out of range.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1., 2.], [3., 4.]]).prod(0)
        tensor([3., 8.])
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    if out is not None:
        if dim is None:
            raise TypeError("prod() missing 1 required positional argument: 'dim', an int, beside 'out'")
        dtype = _dtype_for(dtype, out)
    if dtype is not None:
        input = to_dtype(input, as_dtype(dtype))
    result = _prod(input, plain_dims(dim), keepdim)
    return into(out, result if dtype is None else to_dtype(result, as_dtype(dtype)))


@method
def amax(input, dim=(), keepdim: bool = False, *, axis=None, keepdims=None, out=None) -> Tensor:
    """The largest element along dimensions; NaN where there is one. Elements that tie share the gradient evenly.

    Args:
        input: of any real dtype.
        dim: an int or several; all dimensions when empty.
        keepdim: whether the reduced dimensions stay, of extent 1.
        axis, keepdims: NumPy's names of `dim` and `keepdim`.
        out: a tensor to write the result to.

    Raises:
        IndexError: there is no such dimension, or it is empty.
        NotImplementedError: a complex tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1., 5.], [4., 2.]]).amax(1)
        tensor([5., 4.])
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    return into_exactly("amax", out, _max(input, _none_if_empty(dim), keepdim))


@method
def amin(input, dim=(), keepdim: bool = False, *, axis=None, keepdims=None, out=None) -> Tensor:
    """The smallest element along dimensions; NaN where there is one. Elements that tie share the gradient evenly.

    Args:
        input, dim, keepdim, axis, keepdims, out: as for `amax`.

    Raises:
        IndexError: there is no such dimension, or it is empty.
        NotImplementedError: a complex tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1., 5.], [4., 2.]]).amin(1)
        tensor([1., 2.])
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    return into_exactly("amin", out, _min(input, _none_if_empty(dim), keepdim))


@method
@numpy_keywords
def aminmax(input, *, dim=None, keepdim: bool = False, out=None) -> _AminMax:
    """The smallest and the largest element, as (min, max).

    Args:
        input: of any real dtype.
        dim: the dimension to reduce; all of them when None.
        keepdim: whether the reduced dimensions stay, of extent 1.
        out: a pair of tensors to write the results to.

    Raises:
        IndexError: there is no such dimension, or it is empty.

    Example:
        >>> import numtorch as torch
        >>> low, high = torch.tensor([[1., 5.], [4., 2.]]).aminmax(dim=0)
        >>> low, high
        (tensor([1., 2.]), tensor([4., 5.]))
    """
    dim = None if dim is None else integer("aminmax", "dim", dim)
    low, high = _min(input, dim, keepdim), _max(input, dim, keepdim)
    return into_all_exactly("aminmax", out, _AminMax(low, high))


_AminMax = namedtuple("aminmax", ["min", "max"])


def _answered(name, out, result):
    """Truth values, written to `out` where that is given: bools, or uint8 as PyTorch had them first."""
    if not isinstance(out, Tensor):
        return into(out, result)
    if out.layout.dtype not in (bool_, uint8):
        raise RuntimeError(f"{name} only supports bool tensor for result, got: {out.layout.dtype.title}")
    return into(out, to_dtype(result, out.layout.dtype))


@method
def any(input, dim=None, keepdim: bool = False, *, axis=None, keepdims=None, out=None) -> Tensor:
    """Whether any element is non-zero: a bool, of uint8 a uint8.

    Args:
        input: of any dtype.
        dim: an int or several; all dimensions when None.
        keepdim: whether the reduced dimensions stay, of extent 1.
        axis, keepdims: NumPy's names of `dim` and `keepdim`.
        out: a tensor to write the result to.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[0., 1.], [0., 0.]]).any(1)
        tensor([ True, False])
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    return _answered("any", out, _any(input, plain_dims(dim), keepdim))


@method
def all(input, dim=None, keepdim: bool = False, *, axis=None, keepdims=None, out=None) -> Tensor:
    """Whether all elements are non-zero: a bool, of uint8 a uint8. True of none.

    Args:
        input, dim, keepdim, axis, keepdims, out: as for `any`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[3., 1.], [0., 1.]]).all(1)
        tensor([ True, False])
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    return _answered("all", out, _all(input, plain_dims(dim), keepdim))


@method
@numpy_keywords
def count_nonzero(input, dim=None, *further) -> Tensor:
    """How many elements are not zero, as int64.

    Args:
        input: of any dtype; NaN counts.
        dim: an int, a sequence or ints one by one; all dimensions when None.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[0., 1.], [2., 3.]]).count_nonzero(dim=1)
        tensor([1, 2])
    """
    return _count(input, _none_if_empty((dim, *further) if further else dim))


def _correction(unbiased, correction):
    if correction is not None:
        return real("var", "correction", correction)
    return int(unbiased is None or truth("var", "unbiased", unbiased))


@method
def var(input, dim=None, unbiased=None, keepdim: bool = False, *, axis=None, keepdims=None, correction=None, out=None) -> Tensor:
    """The variance: the mean square of the distances from the mean, with n - correction as its divisor.

    Args:
        input: floating point or complex; of complex numbers the variances of both parts are added.
        dim: an int or several; all dimensions when None or empty. A bool here is `unbiased`.
        unbiased: False for a correction of 0.
        keepdim: whether the reduced dimensions stay, of extent 1.
        axis, keepdims: NumPy's names of `dim` and `keepdim`.
        correction: 1 when None (Bessel's, for samples); 0 for a whole population.
        out: a tensor to write the result to.

    Returns:
        Of the input's dtype, real; NaN or inf where n is no more than the correction.

    Raises:
        RuntimeError: an integer tensor.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2., 3., 6.])
        >>> x.var(), x.var(correction=0)
        (tensor(4.6667), tensor(3.5000))
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return into(out, _along("var", _var, input, dim, unbiased, keepdim, correction))


def _along(name, reduction, input, dim, unbiased, keepdim, correction):
    """A variance or a standard deviation; of complex numbers that of both parts, one by the other."""
    layout = layout_of(name, input)
    if layout.dtype.category < 2:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    if not layout.dtype.is_complex:
        return reduction(input, _none_if_empty(dim), keepdim, (("correction", _correction(unbiased, correction)),))
    if not layout.ndim:
        wrap_dims(_none_if_empty(dim), 0)
        input, dim, keepdim = reshape(input, (1,)), 0, False
    dims = wrap_dims(_none_if_empty(dim), input.layout.ndim)
    parts = _along(name, reduction, view_as_real(input), dims, unbiased, keepdim, correction)
    return sum(parts, -1) if reduction is _var else _norm(parts, -1, False, (("exponent", 2.0),))


@method
def std(input, dim=None, unbiased=None, keepdim: bool = False, *, axis=None, keepdims=None, correction=None, out=None) -> Tensor:
    """The standard deviation: the square root of `var`, also where that does not fit the dtype. Where it is 0 its gradient is, too.

    Args:
        input, dim, unbiased, keepdim, axis, keepdims, correction, out: as for `var`.

    Raises:
        RuntimeError: an integer tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., 2., 3., 6.]).std()
        tensor(2.1602)
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return into(out, _along("std", _std, input, dim, unbiased, keepdim, correction))


def var_mean(input, dim=None, unbiased=None, keepdim: bool = False, *, axis=None, keepdims=None,
             correction=None) -> tuple[Tensor, Tensor]:
    """The variance and the mean, as a pair.

    Args:
        input, dim, unbiased, keepdim, axis, keepdims, correction: as for `var`.

    Example:
        >>> import numtorch as torch
        >>> torch.var_mean(torch.tensor([1., 2., 3., 6.]), correction=0)
        (tensor(3.5000), tensor(3.))
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    return (var(input, dim, unbiased, keepdim, correction=correction), mean(input, None if isinstance(dim, bool) else dim, keepdim))


def std_mean(input, dim=None, unbiased=None, keepdim: bool = False, *, axis=None, keepdims=None,
             correction=None) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean, as a pair.

    Args:
        input, dim, unbiased, keepdim, axis, keepdims, correction: as for `var`.

    Example:
        >>> import numtorch as torch
        >>> torch.std_mean(torch.tensor([1., 2., 3., 6.]), correction=0)
        (tensor(1.8708), tensor(3.))
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    return (std(input, dim, unbiased, keepdim, correction=correction), mean(input, None if isinstance(dim, bool) else dim, keepdim))


@method
def norm(input, p=2, dim=None, keepdim: bool = False, out=None, dtype=None) -> Tensor:
    """The p-norm (sum |x|^p)^(1/p) of all elements, or along dimensions; see `linalg.vector_norm` and `linalg.matrix_norm`.

    Args:
        input: floating point or complex.
        p: any number; inf and -inf for the largest and smallest magnitude, 0 for the number of non-zeros, "fro" for 2, "nuc" for
            the sum of a matrix's singular values.
        dim: an int or several; all dimensions when None or empty, the last two for "nuc".
        keepdim: whether the reduced dimensions stay, of extent 1.
        out: a tensor to write the result to.
        dtype: convert to this first.

    Raises:
        RuntimeError: an integer tensor, or a `dtype` that does not hold the input's numbers.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[3., 4.], [0., 0.]])
        >>> x.norm(), x.norm(1, dim=0)
        (tensor(5.), tensor([3., 4.]))
    """
    input = in_norms_dtype(input, layout_of("norm", input).dtype, dtype)
    if p == "nuc":
        dims = _none_if_empty(dim)
        return into_exactly("norm", out, later["matrix_norm"](input, "nuc", (-2, -1) if dims is None else dims, keepdim))
    p = 2.0 if p == "fro" or p is None else float(real("norm", "p", p))
    return into_exactly("norm", out, _norm(input, _none_if_empty(dim), keepdim, (("exponent", p),)))


# ---------------------------------------------------------------- broadcasting undone
@provide
@method
def sum_to_size(self, *size) -> Tensor:
    """Summed over dimensions until the shape is `size`, from which this one broadcasts: what undoes `expand`.

    Args:
        size: the shape, as ints or one sequence.

    Raises:
        RuntimeError: the tensor's shape is not broadcast from `size`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1., 2.], [3., 6.]]).sum_to_size(2, 1)
        tensor([[3.],
                [9.]])
    """
    size = as_shape(size, "sum_to_size")
    shape = self.layout.shape
    if shape == size:
        return self if size else sum(self)
    extra = len(shape) - len(size)
    wrong = extra < 0 or [1 for n, m in zip(size, shape[extra:]) if n != m and n != 1]
    if wrong:
        raise RuntimeError(f"size {list(size)} is not expandable to size {list(shape)}.")
    dims = tuple(range(extra)) + tuple(i + extra for i, n in enumerate(size) if n == 1 and shape[i + extra] != 1)
    handler = self.layout.handler
    if handler is not None and (recording(self) or not getattr(handler, "final", False)):     # it records the ops that are called
        return reshape(_sum(self, dims, True) if dims else self, size)
    source, times = self.detach(), 1
    for dim in dims:                                     # what was expanded, as gradients of sums are, is not read so often
        if not source.layout.strides[dim] and shape[dim] > 1:
            source, times = narrow(source, dim, 0, 1), times * shape[dim]
    if times == 1:
        return reshape(_sum(self, dims, True) if dims else self, size)
    dims = tuple([dim for dim in dims if source.layout.shape[dim] != 1])
    out = reshape(_sum(source, dims, True) if dims else source, size) * times
    return _SUM_TO_SIZE.recorded(out, (self,), (), shape)


@_SUM_TO_SIZE.derivative
def _sum_to_size_vjp(node, grad):
    return (expand(grad, node.attributes),)
