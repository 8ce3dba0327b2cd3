"""Spectra of the windows of a signal, and the signal from those."""
from __future__ import annotations

from ...tensor import Tensor
from ..core.arguments import check_truths, integer, truth
from ..core.operands import layout_of, method
from ..core.status import has_values
from ..creation.fill import ones
from ..creation.ranges import arange
from ..memory.copies import to_dtype
from ..pointwise.complexparts import view_as_complex, view_as_real
from ..shape.pad import pad
from ..shape.slicing import narrow
from .fft import restore_real, transform_complex, transform_real, transformed_input


def _window(name, window, n_fft, win_length, kind, device):
    """The window in the middle of n_fft points; ones where none is given."""
    length = n_fft if win_length is None else integer(name, "win_length", win_length)
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is None:
        window = ones(length, dtype=kind, device=device)
    elif layout_of(name, window, "window", 5).ndim != 1 or window.layout.shape[0] != length:
        raise RuntimeError(f"{name}: expected a 1D window tensor of size equal to win_length={length}, but got window with size "
                           f"{list(window.layout.shape)}")
    left = (n_fft - length) // 2
    return pad(window, (left, n_fft - length - left)) if length < n_fft else window


@method
def stft(input, n_fft: int, hop_length=None, win_length=None, window=None, center: bool = True, pad_mode: str = "reflect",
         normalized: bool = False, onesided=None, return_complex=None, align_to_window=None) -> Tensor:
    """The spectra of windows of a signal.

    Args:
        input: (L) or (B, L), real or complex.
        n_fft: how many points each window has.
        hop_length: how far apart windows are; n_fft // 4 when None.
        win_length, window: the points (n_fft when None) that `window` (ones when None) weighs, in the middle of the others.
        center: whether the first window lies about the first sample: the signal is then padded on both sides, by `pad_mode`.
        pad_mode: as `mode` of `nn.functional.pad`.
        normalized: whether to divide by the root of n_fft.
        onesided: whether only half of each spectrum is given; so for real signals when None.
        return_complex: whether the result is complex; must be given for real signals.
        align_to_window: without `center`, whether the first window begins with the first sample where it is shorter than n_fft.

    Returns:
        (B, frequencies, windows), complex; without `return_complex` with a last dimension of real and imaginary parts.

    Raises:
        RuntimeError: a signal of other dimensions, lengths that do not fit, or a real signal without `return_complex`.

    Example:
        >>> import numtorch as torch
        >>> torch.stft(torch.ones(8), 4, return_complex=True).abs()[:, 0]
        tensor([4., 0., 0.])
    """
    check_truths("stft", normalized=normalized)
    n_fft = integer("stft", "n_fft", n_fft)
    x = transformed_input("stft", input)
    kind = x.layout.dtype
    if return_complex is None:
        if not kind.is_complex and (window is None or not layout_of("stft", window, "window", 5).dtype.is_complex):
            raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further require that "
                               "return_complex=True in a future PyTorch release.")
        return_complex = True
    if x.layout.ndim not in (1, 2):
        raise RuntimeError(f"stft(torch.{kind.title}Tensor{list(x.layout.shape)}, n_fft={n_fft}): expected a 1D or 2D tensor")
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    hop = n_fft // 4 if hop_length is None else integer("stft", "hop_length", hop_length)
    weights = _window("stft", window, n_fft, win_length, kind.to_real(), x.layout.device)
    single = x.layout.ndim == 1
    x = x.unsqueeze(0) if single else x
    if center:
        x = pad(x.unsqueeze(1), (n_fft // 2, n_fft // 2), pad_mode).squeeze(1)
    elif align_to_window and win_length is not None:     # where the window is 0
        x = pad(x, ((n_fft - win_length) // 2, n_fft - win_length - (n_fft - win_length) // 2))
    if not 0 < n_fft <= x.layout.shape[-1] or hop <= 0:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {x.layout.shape[-1]} and a positive hop_length, but got n_fft={n_fft} and "
                           f"hop_length={hop}")
    frames = x.unfold(-1, n_fft, hop) * weights
    scale = "ortho" if normalized else "backward"
    if frames.layout.dtype.is_complex:
        if onesided:
            raise RuntimeError("Cannot have onesided output if window or input is complex")
        result = transform_complex(frames, (2,), scale, False)
    elif onesided is None or truth("stft", "onesided", onesided):
        result = transform_real(frames, (2,), scale)
    else:
        result = transform_complex(to_dtype(frames, kind.to_complex()), (2,), scale, False)
    result = result.transpose(1, 2)
    result = result.squeeze(0) if single else result
    return result if truth("stft", "return_complex", return_complex) else view_as_real(result.contiguous())


@method
def istft(input, n_fft: int, hop_length=None, win_length=None, window=None, center: bool = True, normalized: bool = False,
          onesided=None, length=None, return_complex: bool = False) -> Tensor:
    """The signal whose `stft` is given (Griffin and Lim, "Signal estimation from modified short-time Fourier transform", 1984).

    Args:
        input: (frequencies, windows) or (B, frequencies, windows), complex.
        n_fft, hop_length, win_length, window, center, normalized, onesided: as they were given to `stft`.
        length: how long the signal is; as far as the windows reach when None.
        return_complex: whether the signal is complex.

    Returns:
        (L) or (B, L).

    Raises:
        RuntimeError: a window that leaves samples without weight, or another number of frequencies.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2., 3., 4.])
        >>> torch.istft(torch.stft(x, 4, return_complex=True), 4)
        tensor([1., 2., 3., 4.])
    """
    check_truths("istft", center=center, normalized=normalized, return_complex=return_complex)
    n_fft = integer("istft", "n_fft", n_fft)
    x = transformed_input("istft", input if layout_of("istft", input).dtype.is_complex else view_as_complex(input.contiguous()))
    single = x.layout.ndim == 2
    x = x.unsqueeze(0) if single else x
    hop = n_fft // 4 if hop_length is None else integer("istft", "hop_length", hop_length)
    onesided = x.layout.shape[1] != n_fft if onesided is None else truth("istft", "onesided", onesided)
    expected = n_fft // 2 + 1 if onesided else n_fft
    if x.layout.shape[1] != expected:
        raise RuntimeError(f"istft: expected the frequency dimension (3rd to the last) of the input tensor to match "
                           f"{'n_fft / 2 + 1' if onesided else 'n_fft'} when onesided={onesided}, but got {x.layout.shape[1]}")
    weights = _window("istft", window, n_fft, win_length, x.layout.dtype.to_real(), x.layout.device)
    scale, spectra = "ortho" if normalized else "backward", x.transpose(1, 2)
    if return_complex:
        frames = transform_complex(spectra, (2,), scale, True)
    else:                                                # of a real signal, whose other frequencies are the conjugates of these
        frames = restore_real(narrow(spectra, 2, 0, n_fft // 2 + 1), (2,), scale, n_fft)
    count = frames.layout.shape[1]
    reach = n_fft + hop * (count - 1)
    device = frames.layout.device
    places = (arange(count, device=device).unsqueeze(1) * hop + arange(n_fft, device=device)).reshape(-1)
    signal = (frames * weights).reshape(frames.layout.shape[0], -1)
    signal = signal.new_zeros(signal.layout.shape[0], reach).index_add(1, places, signal)
    envelope = weights.new_zeros(reach).index_add(0, places, (weights * weights).expand(count, n_fft).reshape(-1))
    start = n_fft // 2 if center else 0
    length = None if length is None else integer("istft", "length", length)
    end = start + length if length is not None else reach - start
    signal, envelope = signal[:, start:end], envelope[start:end]
    if envelope.layout.numel and has_values(envelope) and envelope.detach().abs().min().item() < 1e-11:
        raise RuntimeError("istft: window overlap add min: 1, expected a window that gives every sample some weight")
    signal = signal / envelope
    if length is not None and signal.layout.shape[1] < length:
        signal = pad(signal, (0, length - signal.layout.shape[1]))
    return signal.squeeze(0) if single else signal


