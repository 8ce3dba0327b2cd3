"""The standard's `fft`, over that of numtorch."""
from __future__ import annotations

from .. import fft as numtorch_fft
from ..tensor import Tensor

__all__ = ["fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
           "rfftfreq", "rfftn"]


def _of_one_axis(name, op):
    def function(x, /, *, n=None, axis: int = -1, norm: str = "backward") -> Tensor:
        return op(x, n, axis, norm)
    return _named(function, name)


def _of_axes(name, op):
    def function(x, /, *, s=None, axes=None, norm: str = "backward") -> Tensor:
        return op(x, s, axes, norm)
    return _named(function, name)


def _named(function, name):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The standard's `fft.{name}`; see `numtorch.fft.{name}`."
    return function


fft, ifft = _of_one_axis("fft", numtorch_fft.fft), _of_one_axis("ifft", numtorch_fft.ifft)
rfft, irfft = _of_one_axis("rfft", numtorch_fft.rfft), _of_one_axis("irfft", numtorch_fft.irfft)
hfft, ihfft = _of_one_axis("hfft", numtorch_fft.hfft), _of_one_axis("ihfft", numtorch_fft.ihfft)
fftn, ifftn = _of_axes("fftn", numtorch_fft.fftn), _of_axes("ifftn", numtorch_fft.ifftn)
rfftn, irfftn = _of_axes("rfftn", numtorch_fft.rfftn), _of_axes("irfftn", numtorch_fft.irfftn)


def fftfreq(n: int, /, *, d: float = 1.0, dtype=None, device=None) -> Tensor:
    """The frequencies of the places of `fft`."""
    return numtorch_fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype=None, device=None) -> Tensor:
    """The frequencies of the places of `rfft`."""
    return numtorch_fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x, /, *, axes=None) -> Tensor:
    """Frequency zero moved to the middle of axes."""
    return numtorch_fft.fftshift(x, axes)


def ifftshift(x, /, *, axes=None) -> Tensor:
    """`fftshift` undone."""
    return numtorch_fft.ifftshift(x, axes)
