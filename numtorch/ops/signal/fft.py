"""Discrete Fourier transforms; how they are computed is in `transforms.py`.

Three transforms are ops: complex to complex, real to half of a complex spectrum, and back. The adjoint of each is the transform the
other way with the norm the other way, so derivatives of any order are transforms again.
"""
from __future__ import annotations

import functools

from ...dtypes import as_dtype, get_default_dtype
from ...layout import Layout, as_shape, plain_dims, wrap_dim
from ...tensor import Tensor
from ..core.arguments import expect_dtypes, numpy_keywords
from ..core.operands import layout_of
from ..core.primitive import Primitive, class_of
from ..creation.asked import check_strided
from ..creation.ranges import arange
from ..index.rearrange import roll
from ..memory.copies import to_dtype
from ..memory.resize import into
from ..pointwise.complexparts import real
from ..shape.pad import pad
from . import transforms

FFT_C2C = Primitive("fft_c2c", samples="T[2, 4]; (1,), 'forward', True")
FFT_R2C = Primitive("fft_r2c", samples="T[2, 4]; (1,), 'forward'")
FFT_C2R = Primitive("fft_c2r", samples="T[2, 3]; (1,), 'backward', 4")

_OTHER = {"backward": "forward", "forward": "backward", "ortho": "ortho"}          # the norm of the adjoint


# ---------------------------------------------------------------- the three transforms
@FFT_C2C.planned
def _plan_complex(layout, dims, norm, inverse):
    expect_dtypes("fft_c2c", layout.dtype, "complex64", "complex128")
    return transforms.plan(layout, dims, norm, inverse, Layout.of(layout.dtype, layout.shape, None, layout.device))


@FFT_C2C.run
def transform_complex(plan, input: Tensor, dims, norm, inverse):
    """Complex numbers to complex numbers over dimensions."""
    out = plan.run(input)
    return FFT_C2C.recorded(out, (input,), (), (dims, norm, inverse))


@FFT_C2C.derivative
def _complex_vjp(node, grad):
    dims, norm, inverse = node.attributes
    return (transform_complex(grad, dims, _OTHER[norm], not inverse),)


@FFT_R2C.planned
def _plan_real(layout, dims, norm):
    expect_dtypes("fft_r2c", layout.dtype, "float32", "float64")
    shape, dim = layout.shape, dims[-1]
    out = Layout.of(layout.dtype.to_complex(), (*shape[:dim], shape[dim] // 2 + 1, *shape[dim + 1:]), None, layout.device)
    return transforms.plan(layout, dims, norm, False, out)


@FFT_R2C.run
def transform_real(plan, input: Tensor, dims, norm):
    """Real numbers to complex ones, of which the last of the dimensions holds the half that is not the other's conjugate."""
    out = plan.run(input)
    return FFT_R2C.recorded(out, (input,), (), (dims, norm, input.layout.shape[dims[-1]]))


@FFT_R2C.derivative
def _halved_vjp(node, grad):
    dims, norm, extent = node.attributes
    return (real(transform_complex(_sized(grad, dims[-1], extent), dims, _OTHER[norm], True)),)


@FFT_C2R.planned
def _plan_restore(layout, dims, norm, extent):
    expect_dtypes("fft_c2r", layout.dtype, "complex64", "complex128")
    shape, dim = layout.shape, dims[-1]
    out = Layout.of(layout.dtype.to_real(), (*shape[:dim], extent, *shape[dim + 1:]), None, layout.device)
    return transforms.plan(layout, dims, norm, True, out)


@FFT_C2R.run
def restore_real(plan, input: Tensor, dims, norm, extent):
    """The inverse of `transform_real`: real numbers, `extent` of them in the last of the dimensions."""
    out = plan.run(input)
    return FFT_C2R.recorded(out, (input,), (), (dims, norm, extent, input.layout.shape[dims[-1]]))


@FFT_C2R.derivative
def _whole_vjp(node, grad):
    dims, norm, extent, half = node.attributes
    spectrum = transform_real(grad, dims, _OTHER[norm])
    weights = grad.new_full((half,), 2.0)                # each but the first, and the middle of an even number, stands for two
    weights[0] = 1.0
    if extent % 2 == 0:
        weights[-1] = 1.0
    return (spectrum * weights.reshape([-1 if d == dims[-1] else 1 for d in range(grad.layout.ndim)]),)


def _sized(x, dim, extent):
    """x with so many elements along a dimension: cut, or with zeros at the end."""
    have = x.layout.shape[dim]
    if have > extent:
        return x.narrow(dim, 0, extent)
    if have < extent:
        return pad(x, [0, 0] * (x.layout.ndim - 1 - dim) + [0, extent - have])
    return x


# ---------------------------------------------------------------- arguments
def _norm_of(name, norm):
    if norm is None:
        return "backward"
    if not isinstance(norm, str):
        raise TypeError(f"{name}(): argument 'norm' must be str, not {type(norm).__name__}")
    if norm not in _OTHER:
        raise RuntimeError(f"Invalid normalization mode: \"{norm}\" ({name})")
    return norm


def transformed_input(name, x, complex_too=True):
    """The input in a dtype that is transformed: float32 for integers' default, never 16 bits."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {class_of(x)}")
    kind = x.layout.dtype
    if not complex_too and kind.is_complex:
        raise RuntimeError(f"{name} expects a real input tensor, but got {kind.title}")
    if kind.category < 2:
        return to_dtype(x, get_default_dtype())
    if kind.to_real().itemsize < 4:
        raise RuntimeError(f"Unsupported dtype {kind.title} ({name})")
    return x


def _dims(name, x, s, dim, half=False):
    """The dimensions (not negative), those that must be cut or padded with their sizes, and the points of the last one's result."""
    s = plain_dims(s, f"{name}: s")
    return _dims_of(name, x.layout.shape, (s,) if type(s) is int else s, plain_dims(dim, f"{name}: dim"), half)


@functools.lru_cache(1024)
def _dims_of(name, shape, s, dim, half):
    ndim = len(shape)
    if ndim == 0 and dim not in (None, ()):
        raise IndexError(f"Dimension specified as {dim if isinstance(dim, int) else dim[0]} but tensor has no dimensions ({name})")
    if dim is None:
        dims = tuple(range(ndim)) if s is None else tuple(range(ndim - len(s), ndim))
    else:
        dims = tuple(wrap_dim(d, ndim) for d in ((dim,) if isinstance(dim, int) else dim))
    if len(set(dims)) != len(dims):
        raise RuntimeError("FFT dims must be unique")
    sizes = [-1] * len(dims) if s is None else list(s)
    if len(sizes) != len(dims):
        raise RuntimeError(f"When given, dim and shape arguments must have the same length ({name})")
    for position, (d, n) in enumerate(zip(dims, sizes)):
        extent = n if n is not None and n != -1 else shape[d]
        if half and position == len(dims) - 1 and (n is None or n == -1):
            extent = 2 * (shape[d] - 1)
        if extent < 1:
            raise RuntimeError(f"Invalid number of data points ({extent}) specified ({name})")
        sizes[position] = extent
    last = sizes[-1] if sizes else 0
    if half and sizes:
        sizes[-1] = last // 2 + 1
    return dims, tuple((d, n) for d, n in zip(dims, sizes) if n != shape[d]), last


def _complex_input(name, input):
    x = transformed_input(name, input)
    return x if x.layout.dtype.is_complex else to_dtype(x, x.layout.dtype.to_complex())


def _c2c(name, input, s, dim, norm, *, inverse):
    x = _complex_input(name, input)
    dims, changed, _ = _dims(name, x, s, dim)
    for d, n in changed:
        x = _sized(x, d, n)
    return transform_complex(x, dims, _norm_of(name, norm), inverse) if dims else x.clone()


def _r2c(name, input, s, dim, norm):
    x = transformed_input(name, input, complex_too=False)
    dims, changed, _ = _dims(name, x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    for d, n in changed:
        x = _sized(x, d, n)
    return transform_real(x, dims, _norm_of(name, norm))


def _conjugate(name, x):
    layout_of(name, x)
    return x.conj()


def _c2r(name, input, s, dim, norm):
    x = _complex_input(name, input)
    dims, changed, extent = _dims(name, x, s, dim, half=True)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    for d, n in changed:
        x = _sized(x, d, n)
    return restore_real(x, dims, _norm_of(name, norm), extent)


# ---------------------------------------------------------------- torch.fft
_ARGUMENTS = """

    Args:
        input: {kind}.
        {sizes}: {how} transformed; longer input is cut, shorter is followed by zeros.
        {dims}
        norm: "backward" (the inverse is divided by the number of points; so when None), "ortho" (both by its root), "forward".
        out: a tensor to write the result to.

    Returns:
        {result}.

    Raises:
        RuntimeError: no points to transform, a dimension twice, or another norm.

    Example:
        >>> import numtorch as torch
        >>> {example}
    """


def _spectrum(name, out, result):
    """Where a transform is written: real numbers go into no complex tensor, which is not what the name says."""
    if isinstance(out, Tensor) and out.layout.dtype.is_complex and not result.layout.dtype.is_complex:
        raise RuntimeError(f"{name} expects a floating point output tensor, but got {out.layout.dtype.title}")
    return out


def _one(name, doc, transform, kind, result, example):
    def function(input, n=None, dim=-1, norm=None, *, out=None) -> Tensor:
        if n == -1:                                      # which of several sizes means the tensor's
            raise RuntimeError(f"Invalid number of data points (-1) specified (fft.{name})")
        result = transform(input, None if n is None else (n,), (dim,), norm)
        return result if out is None else into(_spectrum(name, out, result), result)
    given, expected = example
    return _named(function, name, doc, _ARGUMENTS.format(
        kind=kind, sizes="n", how="how many points are", dims="dim: the dimension.", result=result,
        example=f"torch.fft.{name}(torch.tensor([{given}]))\n        tensor([{expected}])"))


def _several(name, doc, transform, kind, dims, result, example):
    def function(input, s=None, dim=dims, norm=None, *, out=None) -> Tensor:
        result = transform(input, s, dim, norm)
        return result if out is None else into(_spectrum(name, out, result), result)
    which = "all of them when None" if dims is None else "the last two"
    given, expected = example
    return _named(function, name, doc, _ARGUMENTS.format(
        kind=kind, sizes="s", how="how many points of each dimension are", dims=f"dim: the dimensions, {which}.", result=result,
        example=f"torch.fft.{name}(torch.tensor([[{given}]]))\n        tensor([[{expected}]])"))


def _named(function, name, doc, arguments):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc + arguments
    return numpy_keywords(function)


def _family(prefix, doc, transform, kind, result, example):
    def at(name):
        return functools.partial(transform, f"fft.{name}")
    return (_one(prefix, f"The {doc} along a dimension.", at(prefix), kind, result, example),
            _several(prefix + "2", f"The {doc} over two dimensions.", at(prefix + "2"), kind, (-2, -1), result, example),
            _several(prefix + "n", f"The {doc} over several dimensions.", at(prefix + "n"), kind, None, result, example))


_SAME = "Complex, of the input's shape or the sizes asked for"
_HALF = "Complex, with n // 2 + 1 of the n points of the last dimension"
_TWICE = "Real, with 2 (m - 1) points of the m in the last dimension where no size is asked for"
_WAVE, _SPECTRUM = "1., 2., 3., 4.", "10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j"

fft, fft2, fftn = _family("fft", "discrete Fourier transform", functools.partial(_c2c, inverse=False), "real or complex", _SAME,
                          (_WAVE, _SPECTRUM))
ifft, ifft2, ifftn = _family("ifft", "inverse discrete Fourier transform", functools.partial(_c2c, inverse=True), "real or complex",
                             _SAME, ("10., -2.+2.j, -2., -2.-2.j", "1.+0.j, 2.+0.j, 3.+0.j, 4.+0.j"))
rfft, rfft2, rfftn = _family("rfft", "half of the spectrum of real numbers (the other half is its conjugate)", _r2c, "real", _HALF,
                             (_WAVE, "10.+0.j, -2.+2.j, -2.+0.j"))
irfft, irfft2, irfftn = _family("irfft", "real numbers whose half spectrum is given", _c2r, "complex", _TWICE,
                                ("10., -2.+2.j, -2.", "1., 2., 3., 4."))
hfft, hfft2, hfftn = _family(
    "hfft", "real spectrum of numbers whose second half is the conjugate of the first",
    lambda name, x, s, dim, norm: _c2r(name, _conjugate(name, x), s, dim, _OTHER[_norm_of(name, norm)]), "complex", _TWICE,
    ("1., 2.+1.j, 3.", " 8.,  0.,  0., -4."))
ihfft, ihfft2, ihfftn = _family(
    "ihfft", "half of the numbers whose spectrum is real",
    lambda name, x, s, dim, norm: _r2c(name, x, s, dim, _OTHER[_norm_of(name, norm)]).conj(), "real", _HALF,
    ("8., 0., 0., -4.", "1.-0.j, 2.+1.j, 3.-0.j"))


def fftfreq(n: int, d: float = 1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad: bool = False,
            pin_memory: bool = False) -> Tensor:
    """The frequencies of the n points of a spectrum, in cycles per unit of `d`.

    Args:
        n: how many points.
        d: how far samples are apart.
        out: a tensor to write the result to.
        dtype, device: the default ones when None (of `out`, its own). requires_grad: whether to record what is computed from it.
        layout: `torch.strided`, which None is too. pin_memory: taken for PyTorch's sake; memory is not pinned.

    Raises:
        RuntimeError: an integer dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.fft.fftfreq(4)
        tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    if layout is not None:
        check_strided("fftfreq", layout)
    places = arange(n, device=device)
    half = (n + 1) // 2
    places[half:] -= n
    return _frequencies("fftfreq", places, n * d, dtype, out).requires_grad_(requires_grad)


def rfftfreq(n: int, d: float = 1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad: bool = False,
             pin_memory: bool = False) -> Tensor:
    """The frequencies of half of a spectrum of n points, in cycles per unit of `d`: n // 2 + 1 of them.

    Args:
        n: how many points.
        d: how far samples are apart.
        out: a tensor to write the result to.
        dtype, device: the default ones when None (of `out`, its own). requires_grad: whether to record what is computed from it.
        layout: `torch.strided`, which None is too. pin_memory: taken for PyTorch's sake; memory is not pinned.

    Raises:
        RuntimeError: an integer dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.fft.rfftfreq(4)
        tensor([0.0000, 0.2500, 0.5000])
    """
    if layout is not None:
        check_strided("rfftfreq", layout)
    return _frequencies("rfftfreq", arange(n // 2 + 1, device=device), n * d, dtype, out).requires_grad_(requires_grad)


def _frequencies(name, places, length, dtype, out):
    kind = as_dtype(dtype) if dtype else out.layout.dtype if isinstance(out, Tensor) else get_default_dtype()
    if kind.category < 2:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    return into(out, to_dtype(places, kind) * (1 / length if length else float("inf")))


def _shifts(input, dim, sign):
    ndim = layout_of("fft_fftshift" if sign > 0 else "fft_ifftshift", input).ndim
    dims = range(ndim) if dim is None else [wrap_dim(d, ndim) for d in as_shape((dim,), "fftshift: dim")]
    halves = [input.layout.shape[d] // 2 for d in dims]
    return roll(input, tuple(h if sign > 0 else input.layout.shape[d] - h for h, d in zip(halves, dims)), tuple(dims))


@numpy_keywords
def fftshift(input, dim=None) -> Tensor:
    """The frequency 0 moved to the middle of dimensions.

    Args:
        input: of any dtype.
        dim: an int or several; all dimensions when None.

    Example:
        >>> import numtorch as torch
        >>> torch.fft.fftshift(torch.tensor([0, 1, 2, -2, -1]))
        tensor([-2, -1,  0,  1,  2])
    """
    return _shifts(input, dim, 1)


@numpy_keywords
def ifftshift(input, dim=None) -> Tensor:
    """What `fftshift` moved, moved back.

    Args:
        input: of any dtype.
        dim: an int or several; all dimensions when None.

    Example:
        >>> import numtorch as torch
        >>> torch.fft.ifftshift(torch.tensor([-2, -1, 0, 1, 2]))
        tensor([ 0,  1,  2, -2, -1])
    """
    return _shifts(input, dim, -1)
