"""New tensors that count: arange, range, linspace, logspace."""
from __future__ import annotations

import math

import numpy as np

from ...devices import cpu
from ...dtypes import as_dtype, complex128, float64, get_default_dtype, int64
from ...exchange.scalars import check_fits, number, python_number
from ...kernels.threads import NOTHING
from ...layout import Layout
from ...tensor import Tensor, fresh, view_of
from ..core.arguments import expect_dtypes, expect_layout, real, scalar
from ..core.backends import device_with, kernels, placed
from ..core.primitive import Primitive
from ..memory.copies import to_device, to_dtype
from ..pointwise.complexparts import complex as join_parts
from ..pointwise.power import pow
from .asked import check_strided, device_for, dtype_for, finish_made, layout_for

_COUNT = Primitive("count", "Numbers evenly apart, of which so many are counted from the start and the others back from the end.",
                   samples="float64(1.0), float64(3.0), float64(0.5); Layout.of(T.dtype, (5,), None, device), 3")
_POWERS = Primitive("powers", "A number to the power of each element.", samples="float64(2.0), float64[3];")


def _count(layout, start, end, step, half):
    """`layout.numel` numbers `step` apart, of which `half` are counted from the start and the others back from the end."""
    whole = type(start) is int and type(step) is int and layout.dtype.category == 1
    numbers = (start, int(end), step) if whole else (float(start), float(end), float(step))
    return _counted(number(numbers[0]), number(numbers[1]), number(numbers[2]), layout, half)


@_COUNT.planned
def _plan_count(low, high, apart, layout, half):
    expect_dtypes("count", low.dtype, "int64", "float64")
    for name, layout_of_number in (("low", low), ("high", high), ("apart", apart)):
        expect_layout("count", name, layout_of_number, (), low.dtype)
    made = Layout.of(layout.dtype, layout.shape, None, device_with(layout.device, "shared.ranges"))
    return made, kernels(made.device, "shared.ranges").plan_count(layout.dtype.kernel, low.dtype.kernel, layout.numel, half)


@_COUNT.run
def _counted(plan, low: Tensor, high: Tensor, apart: Tensor, layout, half):
    made, prepared = plan
    out = fresh(made)
    prepared.call(low.address, high.address, apart.address, out.address, prepared.descriptor)
    return to_device(out, layout.device)


@_POWERS.planned
def _plan_powers(base, exponents):
    expect_layout("powers", "base", base, (), float64)
    expect_layout("powers", "exponents", exponents, None, float64)
    return kernels(exponents.device, "shared.ranges").plan_powers(exponents.numel) if exponents.numel else NOTHING


@_POWERS.run
def _raised(prepared, base: Tensor, exponents: Tensor):
    out = fresh(exponents.layout)
    prepared.call(base.address, exponents.address, out.address, prepared.descriptor)
    return out


def _plain(value):
    if isinstance(value, np.generic):
        return python_number(value)
    return value.item() if hasattr(value, "item") else value   # tensors and arrays of one number


def _wrapped(bound, kind):
    """A bound as an integer of a dtype: cut off, and a negative one of an unsigned dtype around its limit.

    Raises:
        RuntimeError: it does not fit.
    """
    check_fits(bound, kind)
    return int(bound) if kind.is_signed else int(bound) % (1 << 8 * kind.itemsize)


def _whole(start, end, step, kind):
    """Fractions as an integer dtype counts by them: whole ones, of which int64 alone also makes the number."""
    count = math.ceil((end - start) / step)
    start, end, step = int(start), int(end), int(step)
    if kind is int64:
        if not step:
            raise ValueError("step must be nonzero")
        count = max(0, -((start - end) // step))
    return start, start + count * step, step, True, count


def _finish(made, requires_grad, out, dtype, pin_memory):
    """What a function here returns. An `out` of as many elements keeps its shape, whatever that is."""
    if isinstance(out, Tensor) and out.layout.numel == made.layout.numel:
        made = view_of(made, Layout.of(made.layout.dtype, out.layout.shape, None, made.layout.device), 0)
    return finish_made(made, requires_grad, out, dtype, pin_memory)


def arange(start=None, end=None, step=1, *, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None,
           pin_memory: bool = False) -> Tensor:
    """`start, start + step, ...` up to but without `end`; from 0 when only one bound is given.

    Args:
        start, end, step: numbers or tensors of one.
        dtype, device: int64 of ints, else the default dtype, when None. requires_grad: whether to record what is computed from it.
        out: a tensor to write the result to.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Raises:
        RuntimeError: a step of 0, or bounds that the step leads away from.
        ValueError: a step that is 0 once its fraction is dropped, of int64.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(1, 7, 2)
        tensor([1, 3, 5])
    """
    if layout is not None:
        check_strided("arange", layout)
    if end is None or start is None:
        start, end = 0, start if end is None else end
        if end is None:
            raise TypeError("arange() missing the argument 'end'")
    whole = type(start) is type(end) is type(step) is int
    if not whole:
        start, end, step = _plain(start), _plain(end), _plain(step)
        whole = isinstance(start, int) and isinstance(end, int) and isinstance(step, int)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if out is not None:
        dtype, device = dtype_for(dtype, out), device_for(device, out)
    if not whole and not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if not whole and dtype is not None and as_dtype(dtype).category == 1:
        start, end, step, whole, count = _whole(start, end, step, as_dtype(dtype))
        kind = dtype
    elif whole:
        kind, count = dtype or int64, -((start - end) // step)
    else:
        kind, count = dtype, math.ceil((end - start) / step)
    layout = layout_for("arange", (count,), kind, device)
    if layout.dtype.category in (1, 2):
        made = _count(layout, start, end, step, count)
        return _finish(made, requires_grad, out, dtype, pin_memory) if requires_grad or out is not None or pin_memory else made
    made = _count(layout_for("arange", (count,), float64, device), float(start), end, step, count)
    return _finish(to_dtype(made, layout.dtype), requires_grad, out, dtype, pin_memory)


def range_inclusive(start=0, end=None, step=1, *, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None,
                    pin_memory: bool = False) -> Tensor:
    """`start, start + step, ...` up to and with `end` (PyTorch's old `range`).

    Args:
        start, end, step: numbers.
        dtype, device: the default ones when None. requires_grad: whether to record what is computed from it.
        out: a tensor to write the result to.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Raises:
        RuntimeError: a step of 0, or bounds that the step leads away from.

    Example:
        >>> import numtorch as torch
        >>> torch.range(1, 3)
        tensor([1., 2., 3.])
    """
    if layout is not None:
        check_strided("range", layout)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is not None and as_dtype(dtype).category == 1:
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise RuntimeError("step must be nonzero")
    if out is not None:
        device = device_for(device, out)
    count = math.floor((end - start) / step) + 1
    made = _count(layout_for("range", (count,), dtype, device), float(start), end, step, count)
    return _finish(made, requires_grad, out, dtype, pin_memory)


def _bounds(name, start, end, dtype):
    """Both bounds as numbers, and the dtype that is asked for or that they have."""
    start, end = scalar(name, "start", _plain(start)), scalar(name, "end", _plain(end))
    natural = get_default_dtype()
    if isinstance(start, complex) or isinstance(end, complex):
        natural = natural.to_complex()
    kind = as_dtype(dtype) if dtype else natural
    if natural.is_complex and not kind.is_complex:
        raise RuntimeError(f"torch.{name}(): inferred dtype {natural} can't be safely cast to passed dtype {kind}")
    return start, end, kind


def linspace(start, end, steps, *, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None,
             pin_memory: bool = False) -> Tensor:
    """`steps` values from `start` to `end`, both included, evenly spaced.

    Args:
        start, end: numbers or tensors of one, complex ones too.
        steps: how many values.
        dtype, device: the default ones when None. requires_grad: whether to record what is computed from it.
        out: a tensor to write the result to.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Raises:
        RuntimeError: negative steps, or complex bounds of a real dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.linspace(0, 1, 5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    if layout is not None:
        check_strided("linspace", layout)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if out is not None:
        dtype, device = dtype_for(dtype, out), device_for(device, out)
    start, end, kind = _bounds("linspace", start, end, dtype)
    if kind.category == 1:                               # which PyTorch takes the bounds for, too
        start = _wrapped(start, kind)
        end = _wrapped(end, kind) if steps > 1 else start
    if kind.category in (1, 2):
        step = (end - start) / (steps - 1) if steps > 1 else 0
        half = steps // 2 if steps > 1 else 1            # the middle one is counted from the end, which shows where it is cut off
        made = _count(layout_for("linspace", (steps,), kind, device), float(start), end, step, half)
        return _finish(made, requires_grad, out, dtype, pin_memory)
    if kind.category == 0:
        raise NotImplementedError(f'"linspace_cpu" not implemented for \'{kind.title}\'')
    start, end = complex(start), complex(end)
    parts = [linspace(low, high, steps, dtype=kind.to_real(), device=device)
             for low, high in ((start.real, end.real), (start.imag, end.imag))]
    return _finish(join_parts(*parts), requires_grad, out, dtype, pin_memory)


def logspace(start, end, steps, base: float = 10.0, *, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None,
             pin_memory: bool = False) -> Tensor:
    """`steps` values from base**start to base**end, both included, evenly spaced in the exponent; whole powers are exact.

    Args:
        start, end: exponents, numbers or tensors of one, complex ones too.
        steps: how many values.
        base: what is raised to them.
        dtype, device: the default ones when None. requires_grad: whether to record what is computed from it.
        out: a tensor to write the result to.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Raises:
        RuntimeError: negative steps, or complex bounds of a real dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.logspace(0, 2, 3)
        tensor([  1.,  10., 100.])
    """
    if layout is not None:
        check_strided("logspace", layout)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if out is not None:
        dtype, device = dtype_for(dtype, out), device_for(device, out)
    start, end, kind = _bounds("logspace", start, end, dtype)
    if kind.category == 0:
        raise NotImplementedError(f'"logspace_cpu" not implemented for \'{kind.title}\'')
    base = float(real("logspace", "base", _plain(base)))
    if kind.is_complex:
        made = pow(base, linspace(start, end, steps, dtype=complex128, device=cpu))
    else:
        if kind.category == 1:                           # of the bounds, not of what is between
            start, end = int(start), int(end)
        made = _raised(number(base), linspace(start, end, steps, dtype=float64, device=cpu))
    return _finish(to_device(to_dtype(made, kind), placed(device)), requires_grad, out, dtype, pin_memory)
