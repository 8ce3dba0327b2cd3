# Written by `python -m numtorch stubs` (numtorch/commands/stubs.py) from the functions: change those, not this.
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Callable as _Callable, Iterator as _Iterator, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal, NamedTuple as _NamedTuple, overload as _overload

from numpy import ndarray as _ndarray
from numtorch.dtypes import dtype as _dtype
from numtorch.tensor import Tensor as Tensor
from numtorch.types import Device as _Device
from numtorch.types import Dims as _Dims

def fft(input: Tensor, n: _Any = None, dim: _Dims = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The discrete Fourier transform along a dimension."""
def fft2(input: Tensor, s: _Any = None, dim: _Dims = ..., norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The discrete Fourier transform over two dimensions."""
def fftfreq(n: _int, d: _float = 1.0, *, out: Tensor | None = None, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """The frequencies of the n points of a spectrum, in cycles per unit of `d`."""
def fftn(input: Tensor, s: _Any = None, dim: _Dims | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The discrete Fourier transform over several dimensions."""
def fftshift(input: Tensor, dim: _Dims | None = None) -> Tensor:
    """The frequency 0 moved to the middle of dimensions."""
def hfft(input: Tensor, n: _Any = None, dim: _Dims = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The real spectrum of numbers whose second half is the conjugate of the first along a dimension."""
def hfft2(input: Tensor, s: _Any = None, dim: _Dims = ..., norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The real spectrum of numbers whose second half is the conjugate of the first over two dimensions."""
def hfftn(input: Tensor, s: _Any = None, dim: _Dims | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The real spectrum of numbers whose second half is the conjugate of the first over several dimensions."""
def ifft(input: Tensor, n: _Any = None, dim: _Dims = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse discrete Fourier transform along a dimension."""
def ifft2(input: Tensor, s: _Any = None, dim: _Dims = ..., norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse discrete Fourier transform over two dimensions."""
def ifftn(input: Tensor, s: _Any = None, dim: _Dims | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse discrete Fourier transform over several dimensions."""
def ifftshift(input: Tensor, dim: _Dims | None = None) -> Tensor:
    """What `fftshift` moved, moved back."""
def ihfft(input: Tensor, n: _Any = None, dim: _Dims = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The half of the numbers whose spectrum is real along a dimension."""
def ihfft2(input: Tensor, s: _Any = None, dim: _Dims = ..., norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The half of the numbers whose spectrum is real over two dimensions."""
def ihfftn(input: Tensor, s: _Any = None, dim: _Dims | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The half of the numbers whose spectrum is real over several dimensions."""
def irfft(input: Tensor, n: _Any = None, dim: _Dims = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The real numbers whose half spectrum is given along a dimension."""
def irfft2(input: Tensor, s: _Any = None, dim: _Dims = ..., norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The real numbers whose half spectrum is given over two dimensions."""
def irfftn(input: Tensor, s: _Any = None, dim: _Dims | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The real numbers whose half spectrum is given over several dimensions."""
def rfft(input: Tensor, n: _Any = None, dim: _Dims = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The half of the spectrum of real numbers (the other half is its conjugate) along a dimension."""
def rfft2(input: Tensor, s: _Any = None, dim: _Dims = ..., norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The half of the spectrum of real numbers (the other half is its conjugate) over two dimensions."""
def rfftfreq(n: _int, d: _float = 1.0, *, out: Tensor | None = None, dtype: _dtype | None = None, layout: _Any = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
    """The frequencies of half of a spectrum of n points, in cycles per unit of `d`: n // 2 + 1 of them."""
def rfftn(input: Tensor, s: _Any = None, dim: _Dims | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The half of the spectrum of real numbers (the other half is its conjugate) over several dimensions."""
