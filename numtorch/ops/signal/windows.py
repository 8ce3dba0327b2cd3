"""Windows of signal processing, as tensors: Hann, Hamming, Blackman, Bartlett, Kaiser.

A periodic window, for spectra, is a symmetric one of one point more without its last. Formulas: Harris, "On the use of windows for
harmonic analysis with the discrete Fourier transform", 1978.
"""
from __future__ import annotations

import math

from ...dtypes import dtype as dtype_type
from ...dtypes import float64, get_default_dtype
from ...tensor import Tensor
from ..core.arguments import check_truths, integer
from ..creation.asked import check_strided
from ..creation.fill import full, ones
from ..creation.ranges import arange
from ..pointwise.arithmetic import abs as absolute
from ..pointwise.arithmetic import add, mul, sub
from ..pointwise.bessel import i0
from ..pointwise.elementary import cos, sqrt


def _angles(name, window_length, periodic, dtype, layout, device):
    """Points from 0 to 1 (to the point before it when periodic), or None for windows of at most one point."""
    if layout is not None:
        check_strided(name, layout)
    check_truths(name, periodic=periodic)
    window_length = integer(name, "window_length", window_length)
    if window_length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
    kind = dtype or get_default_dtype()
    if not isinstance(kind, dtype_type):
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(kind).__name__}")
    if kind.category < 2:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {kind}")
    if window_length <= 1:
        return None, ones(window_length, dtype=kind, device=device)
    last = window_length if periodic else window_length - 1
    return mul(arange(window_length, dtype=kind, device=device), 1 / last), None


def _cosines(name, coefficients, window_length, periodic, dtype, layout, device, requires_grad):
    points, window = _angles(name, window_length, periodic, dtype, layout, device)
    if points is not None:
        window = mul(cos(mul(points, 2 * math.pi)), coefficients[1])
        for k, factor in enumerate(coefficients[2:], 2):
            window = add(window, mul(cos(mul(points, 2 * math.pi * k)), factor))
        window = add(window, coefficients[0])
    return window.requires_grad_(requires_grad)


def hann_window(window_length, periodic: bool = True, *, dtype=None, layout=None, device=None, requires_grad: bool = False,
                pin_memory: bool = False) -> Tensor:
    """Half a cosine above its least value: (1 - cos(2 pi n / N)) / 2.

    Args:
        window_length: how many points.
        periodic: whether N is `window_length`, for spectra, or one less, which makes it symmetric.
        dtype, device: the default ones when None. requires_grad: whether to record what is computed from it.
        layout: `torch.strided`, which None is too. pin_memory: taken for PyTorch's sake; memory is not pinned.

    Returns:
        (window_length,)

    Raises:
        RuntimeError: a negative length, or a dtype that is not of floats.

    Example:
        >>> import numtorch as torch
        >>> torch.hann_window(4).tolist()
        [0.0, 0.5, 1.0, 0.5]
    """
    return _cosines("hann_window", (0.5, -0.5), window_length, periodic, dtype, layout, device, requires_grad)


def hamming_window(window_length, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype=None, layout=None,
                   device=None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """alpha - beta cos(2 pi n / N), whose first side lobe is nearly cancelled by the defaults.

    Args:
        window_length, periodic, dtype, layout, device, requires_grad, pin_memory: as for `hann_window`.
        alpha, beta: of the formula.

    Example:
        >>> import numtorch as torch
        >>> torch.hamming_window(4)
        tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    return _cosines("hamming_window", (alpha, -beta), window_length, periodic, dtype, layout, device, requires_grad)


def blackman_window(window_length, periodic: bool = True, *, dtype=None, layout=None, device=None, requires_grad: bool = False,
                    pin_memory: bool = False) -> Tensor:
    """0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N).

    Args:
        window_length, periodic, dtype, layout, device, requires_grad, pin_memory: as for `hann_window`.

    Example:
        >>> import numtorch as torch
        >>> torch.blackman_window(4)[1:]
        tensor([0.3400, 1.0000, 0.3400])
    """
    return _cosines("blackman_window", (0.42, -0.5, 0.08), window_length, periodic, dtype, layout, device, requires_grad)


def bartlett_window(window_length, periodic: bool = True, *, dtype=None, layout=None, device=None, requires_grad: bool = False,
                    pin_memory: bool = False) -> Tensor:
    """A triangle: 1 - |2 n / N - 1|.

    Args:
        window_length, periodic, dtype, layout, device, requires_grad, pin_memory: as for `hann_window`.

    Example:
        >>> import numtorch as torch
        >>> torch.bartlett_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    points, window = _angles("bartlett_window", window_length, periodic, dtype, layout, device)
    if points is not None:
        window = sub(1, absolute(sub(mul(points, 2), 1)))
    return window.requires_grad_(requires_grad)


def kaiser_window(window_length, periodic: bool = True, beta: float = 12.0, *, dtype=None, layout=None, device=None,
                  requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """I0(beta sqrt(1 - (2 n / N - 1)^2)) / I0(beta), with I0 the modified Bessel function of the first kind and order 0.

    Args:
        window_length, periodic, dtype, layout, device, requires_grad, pin_memory: as for `hann_window`.
        beta: how narrow the window is: 0 is a rectangle.

    Example:
        >>> import numtorch as torch
        >>> torch.kaiser_window(4, periodic=False, beta=3.0)
        tensor([0.2049, 0.8712, 0.8712, 0.2049])
    """
    points, window = _angles("kaiser_window", window_length, periodic, dtype, layout, device)
    if points is not None:
        places = sub(mul(points, 2), 1)
        window = mul(i0(mul(sqrt(sub(1, mul(places, places))), beta)), 1 / i0(full((), float(beta), dtype=float64)).item())
    return window.requires_grad_(requires_grad)
