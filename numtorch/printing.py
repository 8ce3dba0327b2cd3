"""How a tensor looks: PyTorch's text, character for character.

A number format is chosen once for all shown elements: as many decimals as `precision`, none where every value is whole,
scientific where the values span more than a factor of 1000. Long tensors show `edgeitems` at each end of every dimension.
Works on a NumPy array of the shown elements; CUDA tensors are copied to the host first.
"""
from __future__ import annotations

import contextlib
import math

import numpy as np

from .autograd.graph import Leaf
from .devices import cpu
from .dtypes import bool_, get_default_dtype, int64
from .exchange.arrays import readable_array
from .tensor import Tensor

_DEFAULTS = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
_PROFILES = {"default": _DEFAULTS, "short": {**_DEFAULTS, "precision": 2, "edgeitems": 2},
             "full": {**_DEFAULTS, "threshold": math.inf}}


class _Options:
    __slots__ = ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")


_options = _Options()
for _name, _value in _DEFAULTS.items():
    setattr(_options, _name, _value)


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None) -> None:
    """How tensors are printed from now on. What is None stays as it is, but `sci_mode`, which None sets back to automatic.

    Args:
        precision: digits after the point (4).
        threshold: tensors of more elements are summarised (1000).
        edgeitems: elements shown at each end of a summarised dimension (3).
        linewidth: characters a line (80).
        profile: `"default"`, `"short"` or `"full"`, which the other arguments then adjust.
        sci_mode: always scientific (True), never (False), or where values span a factor of 1000 (None).

    Raises:
        ValueError: an unknown profile.

    Example:
        >>> import numtorch as torch
        >>> torch.set_printoptions(precision=2)
        >>> torch.tensor([1.2345])
        tensor([1.23])
        >>> torch.set_printoptions(profile="default")
    """
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"set_printoptions: expected profile 'default', 'short' or 'full', got {profile!r}")
        for name, value in _PROFILES[profile].items():
            setattr(_options, name, value)
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in given.items():
        if value is not None:
            setattr(_options, name, value)
    _options.sci_mode = sci_mode


def get_printoptions() -> dict:
    """The current options, as keyword arguments for `set_printoptions`."""
    return {name: getattr(_options, name) for name in _DEFAULTS}


@contextlib.contextmanager
def printoptions(**options):
    """`set_printoptions` for the duration of a `with` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


# ---------------------------------------------------------------- numbers
class _Format:
    """The common format of real numbers: every one takes `width` characters."""

    __slots__ = ("floating", "whole", "scientific", "width")

    def __init__(self, values, floating):
        self.floating, self.whole, self.scientific, self.width = floating, True, False, 1
        if not floating:
            self.width = max([1, *[len(str(v)) for v in values.ravel().tolist()]])
            return
        values = values.astype(np.float64).ravel()
        values = values[np.isfinite(values) & (values != 0)]
        if not values.size:
            return
        sizes = np.abs(values)
        low, high = sizes.min(), sizes.max()
        self.whole = bool((values == np.ceil(values)).all())
        self.scientific = _options.sci_mode
        if self.scientific is None:
            with np.errstate(over="ignore"):
                self.scientific = bool(high / low > 1000.0 or high > 1e8 or low < 1e-4)
        self.width = max(len(self._text(v)) for v in values.tolist())

    def _text(self, value):
        if not self.floating:
            return str(value)
        if self.scientific:
            return f"{value:.{_options.precision}e}"
        if self.whole:
            return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
        return f"{value:.{_options.precision}f}"

    def __call__(self, value):
        return self._text(value).rjust(self.width)


class _ComplexFormat:
    """Real and imaginary parts, each in its own common format."""

    __slots__ = ("real", "imag", "width")

    def __init__(self, values):
        self.real, self.imag = _Format(values.real, True), _Format(values.imag, True)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value):
        imaginary = self.imag(value.imag).lstrip() + "j"
        return self.real(value.real) + ("" if imaginary[0] in "+-" else "+") + imaginary


# ---------------------------------------------------------------- arrays
def _shown(array):
    """The elements that a summary shows, for choosing the format."""
    edge = _options.edgeitems
    for axis, extent in enumerate(array.shape):
        if extent > 2 * edge:
            array = np.take(array, np.r_[:edge, extent - edge:extent], axis)
    return array


def _row(array, indent, summarise, text):
    edge = _options.edgeitems
    if summarise and not edge:
        items = ["..."]
    elif summarise and len(array) > 2 * edge:
        items = [*map(text, array[:edge].tolist()), " ...", *map(text, array[-edge:].tolist())]
    else:
        items = [text(v) for v in array.tolist()]
    per_line = max(1, (_options.linewidth - indent) // (text.width + 2))
    lines = [", ".join(items[i:i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested(array, indent, summarise, text):
    if array.ndim == 0:
        return text(array.item())
    if array.ndim == 1:
        return _row(array, indent, summarise, text)
    edge, extent = _options.edgeitems, len(array)
    if summarise and extent > 2 * edge:
        rows = [*range(edge), None, *range(extent - edge, extent)]
    else:
        rows = [*range(extent)]
    blocks = ["..." if i is None else _nested(array[i], indent + 1, summarise, text) for i in rows]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(blocks) + "]"


def contents(tensor, indent):
    if tensor.layout.numel == 0:
        return "[]"
    if tensor.layout.device.type == "meta":
        return "..."
    array = readable_array(tensor if tensor.layout.device is cpu else tensor.detach().cpu())
    summarise = tensor.layout.numel > _options.threshold
    shown = _shown(array) if summarise else array
    kind = tensor.layout.dtype
    text = _ComplexFormat(shown) if kind.is_complex else _Format(shown, kind.is_floating_point)
    return _nested(array, indent, summarise, text)


# ---------------------------------------------------------------- the whole
def _suffixes(tensor):
    """What follows the numbers, where it is not what a reader would assume."""
    layout = tensor.layout
    default = get_default_dtype()
    if layout.device is not cpu:
        yield f"device='{layout.device}'"
    if layout.numel == 0:
        if layout.ndim != 1:
            yield f"size={layout.shape}"
        if layout.dtype is not default:
            yield f"dtype={layout.dtype}"
    else:
        if not _options.edgeitems or layout.device.type == "meta":
            yield f"size={layout.shape}"
        yield from dtype_suffix(layout.dtype)
    yield from node_suffix(tensor.node)


def dtype_suffix(dtype):
    """A dtype that its elements do not show."""
    default = get_default_dtype()
    if dtype not in (default, default.to_complex(), int64, bool_):
        yield f"dtype={dtype}"


def node_suffix(node):
    if node is not None:
        yield "requires_grad=True" if type(node) is Leaf else f"grad_fn=<{node.name()}>"


def tensor_text(tensor: Tensor) -> str:
    """The text of a tensor, as `repr` gives it."""
    kind = type(tensor)
    prefix = f"{'tensor' if kind is Tensor or kind._is_parameter else kind.__name__}("
    if tensor.layout.handler is not None:
        return tensor.layout.handler.text(tensor, prefix)
    return with_suffixes(prefix + contents(tensor, len(prefix)), _suffixes(tensor), len(prefix))


def with_suffixes(text, suffixes, indent, on_a_new_line=False):
    """A tensor's text with what follows its numbers, the first of these on a line of its own where that is wanted."""
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if on_a_new_line or column + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            column, on_a_new_line = indent + len(suffix), False
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text + ")"


Tensor.__repr__ = Tensor.__str__ = tensor_text
