"""`torch.testing`: comparing results, and making inputs for tests."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from . import (
    Tensor,
    as_tensor,
    bfloat16,
    complex32,
    complex64,
    complex128,
    empty,
    finfo,
    float16,
    float32,
    float64,
    iinfo,
    int64,
    isclose,
    promote_types,
    rand,
    randint,
    uint8,
    where,
)
from . import bool as bool_
from . import complex as complex_of
from .layout import channels_last, channels_last_3d

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

# dtype: (rtol, atol), as in PyTorch; others must be equal
_TOLERANCES = {float16: (1e-3, 1e-5), bfloat16: (1.6e-2, 1e-5), float32: (1.3e-6, 1e-5), float64: (1e-7, 1e-7),
               complex32: (1e-3, 1e-5), complex64: (1.3e-6, 1e-5), complex128: (1e-7, 1e-7)}


def assert_close(actual, expected, *, allow_subclasses: bool = True, rtol: float | None = None, atol: float | None = None,
                 equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True, check_layout: bool = True,
                 check_stride: bool = False, msg=None) -> None:
    """Raise AssertionError unless `|actual - expected| <= atol + rtol |expected|` everywhere.

    Args:
        actual: a tensor, number or array; or a sequence or mapping of such.
        expected: what it should be, of the same kind.
        allow_subclasses: whether a subclass of Tensor may be compared with a tensor.
        rtol, atol: both or neither; by the dtype when None.
        equal_nan: whether nan is close to nan.
        check_device, check_dtype, check_stride: whether these must be the same, too.
        check_layout: whether sparse tensors have to be of one layout.
        msg: what the error says instead, or a function of what it says.

    Raises:
        AssertionError: they are not close.
        ValueError: one of `rtol` and `atol`.
        TypeError: kinds that cannot be compared.

    Example:
        >>> import numtorch as torch
        >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.000001]))
    """
    __tracebackhide__ = True
    if (rtol is None) != (atol is None):
        absent = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {absent}.")
    compare = _Comparison(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_stride, check_layout)
    problem = compare.differs(actual, expected, "")
    if problem is not None:
        raise AssertionError(problem if msg is None else msg(problem) if callable(msg) else msg)


class _Comparison:
    """What counts as close."""

    def __init__(self, subclasses, rtol, atol, equal_nan, device, dtype, stride, layout=True):
        self.subclasses, self.rtol, self.atol, self.equal_nan = subclasses, rtol, atol, equal_nan
        self.device, self.dtype, self.stride, self.layout = device, dtype, stride, layout

    def differs(self, actual, expected, place) -> str | None:
        """What is wrong, None if nothing is. `place` is the way to where both stand, as `[0]['a']`."""
        at = f"\n\nThe failure occurred for item {place}" if place else ""
        if all(_is_sequence(x) for x in (actual, expected)):
            if len(actual) != len(expected):
                return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}{at}"
            return self._first((a, e, f"{place}[{i}]") for i, (a, e) in enumerate(zip(actual, expected)))
        if all(isinstance(x, Mapping) for x in (actual, expected)):
            missing, more = (sorted(a.keys() - b.keys(), key=str) for a, b in ((expected, actual), (actual, expected)))
            if missing or more:
                return ("The keys of the mappings do not match:\n"
                        f"Missing keys in the actual mapping: {missing}\nAdditional keys in the actual mapping: {more}{at}")
            return self._first((actual[k], expected[k], f"{place}[{k!r}]") for k in actual)
        if actual is None or expected is None:
            return None if actual is expected else f"None mismatch: {actual} is not {expected}{at}"
        if all(isinstance(x, (bool, np.bool_)) for x in (actual, expected)):
            return None if actual == expected else f"Booleans mismatch: {actual} is not {expected}{at}"
        if all(isinstance(x, (int, float, complex, np.number)) for x in (actual, expected)):
            if self.dtype and type(actual) is not type(expected):
                return f"The (d)types do not match: {type(actual)} != {type(expected)}.{at}"
            problem = self._values(_number(actual), _number(expected), "Scalars")
            return None if problem is None else problem + at
        self._check_related(actual, expected)
        problem = self._tensors(as_tensor(actual), as_tensor(expected))
        return None if problem is None else problem + at

    def _first(self, pairs):
        return next((p for p in (self.differs(*pair) for pair in pairs) if p is not None), None)

    def _check_related(self, actual, expected):
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not related or not isinstance(actual, (Tensor, np.ndarray)) or not (self.subclasses or type(actual) is type(expected)):
            raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")

    def _tensors(self, actual, expected):
        for name in ("shape", *["device"] * self.device, *["dtype"] * self.dtype):
            a, e = getattr(actual, name), getattr(expected, name)
            if a != e:
                return f"The values for attribute '{name}' do not match: {a} != {e}."
        if actual.layout.kind != "strided" or expected.layout.kind != "strided":
            return self._sparse(actual.detach(), expected.detach())
        if self.stride and actual.stride() != expected.stride():
            return f"The values for attribute 'stride()' do not match: {actual.stride()} != {expected.stride()}."
        return self._values(actual.detach(), expected.detach(), "Tensor-likes" if actual.dim() else "Scalars")

    def _sparse(self, actual, expected):
        """Sparse tensors by their parts, or by all elements where they are of two layouts."""
        kind = actual.layout.kind
        if kind != expected.layout.kind:
            if self.layout:
                return f"The values for attribute 'layout' do not match: {actual.layout} != {expected.layout}."
            return self._tensors(actual.to_dense(), expected.to_dense())
        if kind == "sparse_coo" and actual.is_coalesced() != expected.is_coalesced():
            actual, expected = actual.coalesce(), expected.coalesce()
        title = f"Sparse {kind[-3:].upper()}"
        if actual._nnz() != expected._nnz():
            return (f"The number of specified values in sparse {title[-3:]} tensors does not match: {actual._nnz()} != "
                    f"{expected._nnz()}")
        by_rows, by_columns = ("crow_indices", "col_indices"), ("ccol_indices", "row_indices")
        names = {"sparse_csr": by_rows, "sparse_bsr": by_rows, "sparse_csc": by_columns, "sparse_bsc": by_columns}
        of_kind = *names.get(kind, ("indices",)), "values"
        parts = [(name, *pair) for name, *pair in zip(of_kind, actual.memory.parts, expected.memory.parts)]
        return next((difference for name, a, e in parts if (difference := self._values(a, e, f"{title} {name}")) is not None), None)

    def _values(self, actual, expected, kind):
        by_dtype = [_TOLERANCES.get(x.dtype, (0.0, 0.0)) for x in (actual, expected)]
        rtol, atol = (max(t) for t in zip(*by_dtype)) if self.rtol is None else (self.rtol, self.atol)
        common = promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.cpu().to(common), expected.cpu().to(common)
        matches = isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=self.equal_nan)
        if matches.all():
            return None
        exact = rtol == 0 and atol == 0
        lines = [f"{kind} are not {'equal' if exact else 'close'}!", ""]
        wide = complex128 if common.is_complex else float64 if common.is_floating_point else int64
        absolute = (actual.to(wide) - expected.to(wide)).abs()
        relative = absolute / expected.to(wide).abs()
        if kind == "Scalars":
            lines.append(f"Expected {expected.item()} but got {actual.item()}.")
        else:
            wrong = matches.numel() - int(matches.sum())
            lines.append(f"Mismatched elements: {wrong} / {matches.numel()} ({wrong / matches.numel():.1%})")
        for name, error, allowed in (("absolute", absolute, atol), ("relative", relative, rtol)):
            error = where(matches, 0, error).flatten()
            worst = int(error.argmax())
            index = tuple(int(i) for i in np.unravel_index(worst, matches.shape))
            start, end = ("Greatest ", f" at index {index}") if kind != "Scalars" else ("", "")
            line = f"{start}{name} difference: {error[worst].item()}{end}"
            lines.append((line if start else line.capitalize()) + ("" if exact else f" (up to {allowed} allowed)"))
        return "\n".join(lines)


def _is_sequence(x) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, str)


def _number(x):
    x = x.item() if isinstance(x, np.number) else x
    return as_tensor(x, dtype=complex128 if isinstance(x, complex) else float64 if isinstance(x, float) else None)


def assert_allclose(actual, expected, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True,
                    msg: str = "") -> None:
    """`assert_close` under its old name: dtypes may differ, nan is close to nan, and tolerances are wider.

    Args:
        actual: a tensor or what makes one.
        expected: what it should be.
        rtol, atol: both or neither; by the dtype when None.
        equal_nan: whether nan is close to nan.
        msg: what the error says instead.

    Raises:
        AssertionError: they are not close.

    Example:
        >>> import numtorch as torch
        >>> torch.testing.assert_allclose([1.0, 2.0], torch.tensor([1.0, 2.0001]), rtol=1e-3, atol=0)
    """
    actual = as_tensor(actual)
    expected = as_tensor(expected) if isinstance(expected, Tensor) else as_tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        wide = {float16: (1e-3, 1e-3), float32: (1e-4, 1e-5), float64: (1e-5, 1e-8)}
        rtol, atol = (max(t) for t in zip(*(wide.get(x.dtype, (0.0, 0.0)) for x in (actual, expected))))
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def make_tensor(*shape, dtype, device="cpu", low: float | None = None, high: float | None = None, requires_grad: bool = False,
                noncontiguous: bool = False, exclude_zero: bool = False, memory_format=None) -> Tensor:
    """Random numbers to test with, uniform in `[low, high)`.

    Args:
        shape: its sizes, or a tuple of them.
        dtype: its dtype.
        device: where it is.
        low, high: the bounds; -9 and 9 (integers below 10, uint8 from 0, bool 0 and 1) when None.
        requires_grad: whether it is a leaf that wants a gradient.
        noncontiguous: whether every second element of memory is left out.
        exclude_zero: whether zeros are replaced by the smallest positive number.
        memory_format: `channels_last` and its like; not with `noncontiguous`.

    Raises:
        ValueError: bounds that are nan or out of order, or both of `noncontiguous` and `memory_format`.
        RuntimeError: a gradient for integers.

    Example:
        >>> import numtorch as torch
        >>> torch.testing.make_tensor(2, 3, dtype=torch.int64, device="cpu", low=0, high=5).shape
        torch.Size([2, 3])
    """
    size = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    inexact = dtype.is_floating_point or dtype.is_complex
    low = (0 if dtype in (bool_, uint8) else -9) if low is None else low
    high = (2 if dtype is bool_ else 9 if inexact else 10) if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if low > high or (low == high and not inexact):
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    lowest, beyond = (0, 2) if dtype is bool_ else (finfo(dtype).min, finfo(dtype).max) if inexact else \
        (iinfo(dtype).min, iinfo(dtype).max + (dtype is not int64))
    low, high = max(low, lowest), min(high, beyond)      # as far as the dtype goes
    if low > high or (low == high and not inexact):
        raise ValueError(f"`low` and `high` leave nothing that {dtype} holds: it goes from {lowest} up to {beyond}")
    if noncontiguous and memory_format is not None:
        raise ValueError("The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
                         f"but got noncontiguous={noncontiguous} and memory_format={memory_format}")
    if requires_grad and not inexact:
        raise RuntimeError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}")
    if dtype.is_complex:
        part = dtype.to_real()
        out = complex_of(*((rand(size, dtype=part, device=device) * (high - low) + low) for _ in range(2)))
    elif inexact:
        wide = dtype if dtype in (float32, float64) else float32
        out = (rand(size, dtype=wide, device=device) * (high - low) + low).to(dtype)
    else:
        out = randint(math.ceil(low), math.ceil(high), size, dtype=dtype, device=device)
    if exclude_zero:
        out[out == 0] = finfo(dtype).tiny if inexact else 1
    if noncontiguous and out.numel() > 1 and out.dim():
        spaced = empty((*size[:-1], 2 * size[-1]), dtype=dtype, device=device)
        spaced[..., ::2] = out
        out = spaced[..., ::2]
    elif memory_format in (channels_last, channels_last_3d):
        out = out.to(memory_format=memory_format)
    return out.requires_grad_() if requires_grad else out
