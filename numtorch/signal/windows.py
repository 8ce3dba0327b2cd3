"""`torch.signal.windows`: windows of M points with SciPy's names, symmetric unless `sym=False`.

A periodic window, for spectra, is a symmetric one of one point more without its last. Formulas: Harris, "On the use of windows for
harmonic analysis with the discrete Fourier transform", 1978; Nuttall, "Some windows with very good sidelobe behavior", 1981.
"""
from __future__ import annotations

import math

from ..dtypes import float32, float64, get_default_dtype
from ..layout import strided
from ..ops.core.arguments import integer
from ..ops.creation.fill import empty, full, ones
from ..ops.creation.ranges import arange
from ..ops.pointwise.arithmetic import abs as absolute
from ..ops.pointwise.bessel import i0
from ..ops.pointwise.elementary import cos, exp, sin, sqrt
from ..tensor import Tensor

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
           "kaiser", "nuttall"]


def _made(name, formula, M, sym, dtype, layout, device, requires_grad):
    """A window of `formula(n, N)` over n = 0, 1, ..., M - 1, where N is the number of steps from its first point to its last."""
    kind = dtype or get_default_dtype()
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if kind not in (float32, float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind}")
    if M == 0:
        return empty((0,), dtype=kind, device=device, requires_grad=requires_grad)
    if M == 1:
        return ones((1,), dtype=kind, device=device, requires_grad=requires_grad)
    M = integer(name, "M", M)
    return formula(arange(M, dtype=kind, device=device), M - 1 if sym else M).requires_grad_(requires_grad)


def _cosines(coefficients):
    def formula(n, steps):
        return sum((-1) ** i * a * cos(n * (2 * math.pi * i / steps)) for i, a in enumerate(coefficients))
    return formula


def bartlett(M: int, *, sym: bool = True, dtype=None, layout=strided, device=None, requires_grad: bool = False) -> Tensor:
    """A triangle: 1 - |2 n / (M - 1) - 1|.

    Args:
        M: how many points.
        sym: whether the window is symmetric, for filters, or one period of a symmetric one of M + 1 points, for spectra.
        dtype: float32 or float64; the default dtype when None.
        layout: `torch.strided`.
        device: the default one when None.
        requires_grad: whether to record what is computed from it.

    Returns:
        (M,)

    Raises:
        ValueError: a negative length, another dtype or layout.
        TypeError: a length that is no int.

    Example:
        >>> import numtorch as torch
        >>> torch.signal.windows.bartlett(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _made("bartlett", lambda n, steps: 1 - absolute(n * (2 / steps) - 1), M, sym, dtype, layout, device, requires_grad)


def blackman(M: int, *, sym: bool = True, dtype=None, layout=strided, device=None, requires_grad: bool = False) -> Tensor:
    """0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1)).

    Args:
        M, sym, dtype, layout, device, requires_grad: as for `bartlett`.

    Example:
        >>> import numtorch as torch
        >>> torch.signal.windows.blackman(5)[1:4]
        tensor([0.3400, 1.0000, 0.3400])
    """
    return _made("blackman", _cosines((0.42, 0.5, 0.08)), M, sym, dtype, layout, device, requires_grad)


def cosine(M: int, *, sym: bool = True, dtype=None, layout=strided, device=None, requires_grad: bool = False) -> Tensor:
    """Half a period of a sine: sin(pi (n + 1/2) / M).

    Args:
        M, sym, dtype, layout, device, requires_grad: as for `bartlett`.

    Example:
        >>> import numtorch as torch
        >>> torch.signal.windows.cosine(3)
        tensor([0.5000, 1.0000, 0.5000])
    """
    return _made("cosine", lambda n, steps: sin((n + 0.5) * (math.pi / (steps + 1))), M, sym, dtype, layout, device, requires_grad)


def exponential(M: int, *, center=None, tau: float = 1.0, sym: bool = True, dtype=None, layout=strided, device=None,
                requires_grad: bool = False) -> Tensor:
    """exp(-|n - center| / tau).

    Args:
        M, sym, dtype, layout, device, requires_grad: as for `bartlett`.
        center: where the greatest value is, the middle when None. It must be None for a symmetric window.
        tau: how fast the window falls; positive.

    Raises:
        ValueError: a `tau` that is not positive, a `center` for a symmetric window, and as for `bartlett`.

    Example:
        >>> import numtorch as torch
        >>> torch.signal.windows.exponential(3, tau=0.5)
        tensor([0.1353, 1.0000, 0.1353])
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return _made("exponential", lambda n, steps: exp(absolute(n - (steps / 2 if center is None else center)) * (-1 / tau)),
                 M, sym, dtype, layout, device, requires_grad)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype=None, layout=strided, device=None,
             requires_grad: bool = False) -> Tensor:
    """exp(-(n - middle)^2 / (2 std^2)).

    Args:
        M, sym, dtype, layout, device, requires_grad: as for `bartlett`.
        std: the standard deviation in points; positive.

    Raises:
        ValueError: a `std` that is not positive, and as for `bartlett`.

    Example:
        >>> import numtorch as torch
        >>> torch.signal.windows.gaussian(3)
        tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")

    def formula(n, steps):
        place = (n - steps / 2) * (1 / (std * math.sqrt(2)))
        return exp(-(place * place))
    return _made("gaussian", formula, M, sym, dtype, layout, device, requires_grad)


def general_cosine(M: int, *, a, sym: bool = True, dtype=None, layout=strided, device=None, requires_grad: bool = False) -> Tensor:
    """a_0 - a_1 cos(2 pi n / (M - 1)) + a_2 cos(4 pi n / (M - 1)) - ...

    Args:
        M, sym, dtype, layout, device, requires_grad: as for `bartlett`.
        a: the weights of the cosines.

    Raises:
        TypeError: `a` is no sequence. ValueError: it is empty, and as for `bartlett`.

    Example:
        >>> import numtorch as torch
        >>> torch.signal.windows.general_cosine(3, a=[0.5, 0.5])
        tensor([0., 1., 0.])
    """
    if not hasattr(a, "__iter__"):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _made("general_cosine", _cosines(a), M, sym, dtype, layout, device, requires_grad)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, dtype=None, layout=strided, device=None,
                    requires_grad: bool = False) -> Tensor:
    """alpha - (1 - alpha) cos(2 pi n / (M - 1)).

    Args:
        M, sym, dtype, layout, device, requires_grad: as for `bartlett`.
        alpha: of the formula.

    Example:
        >>> import numtorch as torch
        >>> torch.signal.windows.general_hamming(3)
        tensor([0.0800, 1.0000, 0.0800])
    """
    return _made("general_hamming", _cosines((alpha, 1 - alpha)), M, sym, dtype, layout, device, requires_grad)


def hamming(M: int, *, sym: bool = True, dtype=None, layout=strided, device=None, requires_grad: bool = False) -> Tensor:
    """0.54 - 0.46 cos(2 pi n / (M - 1)).

    Args:
        M, sym, dtype, layout, device, requires_grad: as for `bartlett`.

    Example:
        >>> import numtorch as torch
        >>> torch.signal.windows.hamming(3)
        tensor([0.0800, 1.0000, 0.0800])
    """
    return _made("hamming", _cosines((0.54, 0.46)), M, sym, dtype, layout, device, requires_grad)


def hann(M: int, *, sym: bool = True, dtype=None, layout=strided, device=None, requires_grad: bool = False) -> Tensor:
    """(1 - cos(2 pi n / (M - 1))) / 2.

    Args:
        M, sym, dtype, layout, device, requires_grad: as for `bartlett`.

    Example:
        >>> import numtorch as torch
        >>> torch.signal.windows.hann(3)
        tensor([0., 1., 0.])
    """
    return _made("hann", _cosines((0.5, 0.5)), M, sym, dtype, layout, device, requires_grad)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype=None, layout=strided, device=None,
           requires_grad: bool = False) -> Tensor:
    """I0(beta sqrt(1 - (2 n / (M - 1) - 1)^2)) / I0(beta), with I0 the modified Bessel function of the first kind and order 0.

    Args:
        M, sym, dtype, layout, device, requires_grad: as for `bartlett`.
        beta: how narrow the window is: 0 is a rectangle.

    Raises:
        ValueError: a negative `beta`, and as for `bartlett`.

    Example:
        >>> import numtorch as torch
        >>> torch.signal.windows.kaiser(4, beta=3.0)
        tensor([0.2049, 0.8712, 0.8712, 0.2049])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def formula(n, steps):
        place = n * (2 / steps) - 1
        return i0(sqrt((1 - place * place).clamp_min(0)) * beta) * (1 / i0(full((), float(beta), dtype=float64)).item())
    return _made("kaiser", formula, M, sym, dtype, layout, device, requires_grad)


def nuttall(M: int, *, sym: bool = True, dtype=None, layout=strided, device=None, requires_grad: bool = False) -> Tensor:
    """Four cosines whose side lobes are the lowest, 98 dB down.

    Args:
        M, sym, dtype, layout, device, requires_grad: as for `bartlett`.

    Example:
        >>> import numtorch as torch
        >>> torch.signal.windows.nuttall(4)
        tensor([3.6280e-04, 5.2923e-01, 5.2923e-01, 3.6280e-04])
    """
    return _made("nuttall", _cosines((0.3635819, 0.4891775, 0.1365995, 0.0106411)), M, sym, dtype, layout, device, requires_grad)


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    from ..alias import attribute
    return attribute(__name__, name)
