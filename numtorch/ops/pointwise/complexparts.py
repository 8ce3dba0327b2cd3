"""Complex numbers and their parts: views that read the one as the other, and what is made of angles."""
from __future__ import annotations

from ...autograd.modes import modes
from ...autograd.writes import note_view
from ...kernels.binding import ScalarBody
from ...kernels.threads import NOTHING
from ...kernels.vectormath.complex import of_parts
from ...layout import Layout, broadcast_shapes, broadcast_strides
from ...tensor import Tensor, empty, wrap
from ...viewalgebra import pairs, view_function
from ..core.backends import kernels
from ..core.late import later, provide
from ..core.operands import as_operand, layout_of, method
from ..core.primitive import Primitive
from ..memory.assign import copy_
from ..memory.resize import into
from ..shape.slicing import select
from ..shape.view_copies import copy_of
from ..shape.view_tape import make_view
from .arithmetic import where
from .elementary import PI, atan2
from .pointwise import pointwise

_VIEW_AS_REAL = Primitive("view_as_real", samples="T[2, 3];")
_VIEW_AS_COMPLEX = Primitive("view_as_complex", samples="T[3, 2];")

_COMPLEX = Primitive("complex", samples="T[2, 3], T[2, 3];")


# ---------------------------------------------------------------- views
@view_function
def numbers(layout):
    """Pairs next to each other as complex numbers."""
    if layout.strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in layout.strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return Layout.of(layout.dtype.to_complex(), layout.shape[:-1], tuple([s // 2 for s in layout.strides[:-1]]), layout.device), 0


@provide
def view_as_real(input) -> Tensor:
    """A view of complex numbers as pairs of their real and imaginary parts.

    Args:
        input: (*), complex.

    Returns:
        (*, 2), over the same memory.

    Raises:
        RuntimeError: a tensor that is not complex.

    Example:
        >>> import numtorch as torch
        >>> torch.view_as_real(torch.tensor([1 + 2j]))
        tensor([[1., 2.]])
    """
    layout = layout_of("view_as_real", input)
    if not layout.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    viewed, offset = pairs(layout)
    return make_view(input, (viewed, offset), _VIEW_AS_REAL)


@_VIEW_AS_REAL.derivative
def _view_as_real_vjp(node, grad):
    return (view_as_complex(grad.contiguous()),)


@provide
def view_as_complex(input) -> Tensor:
    """A view of pairs of numbers as complex numbers.

    Args:
        input: (*, 2), float16, float32 or float64, the pairs next to each other.

    Returns:
        (*), over the same memory.

    Raises:
        RuntimeError: another dtype, or a layout whose pairs are not complex numbers in memory.

    Example:
        >>> import numtorch as torch
        >>> torch.view_as_complex(torch.tensor([[1., 2.], [3., 4.]]))
        tensor([1.+2.j, 3.+4.j])
    """
    layout = layout_of("view_as_complex", input)
    if layout.dtype.name not in ("float16", "float32", "float64"):
        raise RuntimeError(f"view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar "
                           f"type: {layout.dtype.title}")
    if not layout.ndim or layout.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    viewed, offset = numbers(layout)
    if layout.handler is None and input.storage_offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return make_view(input, (viewed, offset), _VIEW_AS_COMPLEX)


@_VIEW_AS_COMPLEX.derivative
def _view_as_complex_vjp(node, grad):
    return (view_as_real(grad),)


view_as_real_copy = copy_of("view_as_real", view_as_real, "torch.tensor([1 + 2j])", "tensor([[1., 2.]])")
view_as_complex_copy = copy_of("view_as_complex", view_as_complex, "torch.tensor([[1., 2.]])", "tensor([1.+2.j])")


def _part(x, which):
    """The real parts (0) or the imaginary ones (1) of complex numbers."""
    layout = x.layout
    if x.node is not None or layout.handler is not None:
        return select(view_as_real(x), -1, which)
    viewed = layout.views.get("parts")
    if viewed is None:
        kind, strides = layout.dtype.to_real(), tuple([2 * s for s in layout.strides])
        viewed = layout.views["parts"] = Layout.of(kind, layout.shape, strides, layout.device)
    out = wrap(x.memory, x.address + which * viewed.dtype.itemsize, viewed)
    if modes.grad:
        note_view(x, out)
    return out


@provide
def real(input) -> Tensor:
    """The real parts, as a view; a real tensor itself.

    Args:
        input: (*), of any dtype.

    Returns:
        (*), over the same memory: what is written to it reaches `input`.

    Example:
        >>> import numtorch as torch
        >>> z = torch.tensor([1 + 2j, 3j])
        >>> torch.real(z)[1] = 5.
        >>> z
        tensor([1.+2.j, 5.+3.j])
    """
    return _part(input, 0) if layout_of("real", input).dtype.is_complex else input


def imag(input) -> Tensor:
    """The imaginary parts, as a view.

    Args:
        input: (*), complex.

    Returns:
        (*), over the same memory: what is written to it reaches `input`.

    Raises:
        RuntimeError: a real tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.imag(torch.tensor([1 + 2j, 3j]))
        tensor([2., 3.])
    """
    if not layout_of("imag", input).dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _part(input, 1)


def _set_part(part):
    def assign(self, value):
        copy_(part(self), as_operand("copy_", value))
    return assign


Tensor.real, Tensor.imag = property(real, _set_part(real)), property(imag, _set_part(imag))


# ---------------------------------------------------------------- made of two
@_COMPLEX.planned
def _plan_joining(real, imag):
    """The layout of complex numbers of two parts, and the kernel that writes them."""
    for part in (real, imag):
        if part.dtype.name not in ("float16", "float32", "float64"):
            raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {real.dtype.title} and "
                               f"{imag.dtype.title}")
    if real.dtype is not imag.dtype:
        raise RuntimeError(f"Expected object of scalar type {real.dtype.title} but got scalar type {imag.dtype.title} for second "
                           f"argument")
    shape = broadcast_shapes(real.shape, imag.shape)
    layout, kind = Layout.of(real.dtype.to_complex(), shape, None, real.device), real.dtype
    return layout, kernels(layout.device, "pointwise.pointwise").plan_pointwise(
        ScalarBody(of_parts, kind.compute), (kind.kernel,) * 2, (layout.dtype.kernel,), shape,
        [*[broadcast_strides(part, shape) for part in (real, imag)], layout.strides],
        compute=(kind.compute,) * 2) if layout.numel else NOTHING


def complex(real, imag, *, out=None) -> Tensor:
    """Complex numbers of real and imaginary parts.

    Args:
        real, imag: broadcast with each other; both float16, float32 or float64.
        out: a tensor to write the result into.

    Raises:
        RuntimeError: parts that are not both float32 or both float64, or an `out` of another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.complex(torch.tensor([1.]), torch.tensor([2.]))
        tensor([1.+2.j])
    """
    made = _joined(real, imag)
    if isinstance(out, Tensor) and out.layout.dtype is not made.layout.dtype:
        raise RuntimeError(f"Expected object of scalar type {made.layout.dtype.title} but got scalar type {out.layout.dtype.title} "
                           f"for argument 'out'")
    return into(out, made)


@_COMPLEX.run
def _joined(plan, real: Tensor, imag: Tensor):
    layout, prepared = plan
    made = empty(layout)
    prepared.call(real.address, imag.address, made.address, prepared.descriptor)
    return _COMPLEX.recorded(made, (real, imag), (), (real.layout.shape, imag.layout.shape))


@_COMPLEX.derivative
def _complex_vjp(node, grad):
    return tuple([None if edge is None else later["sum_to_size"](part(grad), shape)
                  for edge, part, shape in zip(node.edges, (real, imag), node.attributes)])


def polar(abs, angle, *, out=None) -> Tensor:
    """Complex numbers of absolute values and angles: abs * cos(angle) + i abs * sin(angle).

    Args:
        abs, angle: broadcast with each other; both float32 or both float64, the angle in radians.
        out: a tensor to write the result into.

    Raises:
        RuntimeError: parts that are not both float32 or both float64.

    Example:
        >>> import numtorch as torch
        >>> torch.polar(torch.tensor([2.]), torch.tensor([torch.pi / 3]))
        tensor([1.0000+1.7321j])
    """
    if (layout_of("polar", abs, "abs"), layout_of("polar", angle, "angle", 2)) not in _COMPLEX.plans:
        _plan_joining(abs.layout, angle.layout)          # which refuses other dtypes
    return complex(abs * angle.cos(), abs * angle.sin(), out=out)


# ---------------------------------------------------------------- angles
@pointwise(kind="float", cost=2, methods=False, refuses={"complex": ""})
def angle_of_real(x):
    """Pi for numbers below zero, NaN for NaN, else 0, elementwise."""
    return where(x < 0, PI, where(x != x, x, 0))


@angle_of_real.derivative
def _(grad):
    return 0


@method
def angle(input, *, out=None) -> Tensor:
    """The angle of complex numbers in radians, between -pi and pi; of real ones pi where they are below zero, else 0.

    Args:
        input: (*), of any dtype. NaN stays NaN.
        out: a tensor to write the result into.

    Example:
        >>> import numtorch as torch
        >>> torch.angle(torch.tensor([1 + 1j, -1j])), torch.angle(torch.tensor([-2., 3.]))
        (tensor([ 0.7854, -1.5708]), tensor([3.1416, 0.0000]))
    """
    if not layout_of("angle", input).dtype.is_complex:
        return angle_of_real(input, out=out)
    return atan2(imag(input).contiguous(), real(input).contiguous(), out=out)         # in memory as a new tensor, in PyTorch too

_VIEW_AS_REAL.function, _VIEW_AS_COMPLEX.function = view_as_real, view_as_complex
