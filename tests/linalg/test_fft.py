"""torch.fft, stft and istft: values against NumPy and their definitions, derivatives of any order, errors."""
import numpy as np
import pytest

import numtorch as torch
from numtorch import fft
from numtorch.autograd import gradcheck, gradgradcheck

REAL = np.random.default_rng(5).standard_normal((3, 4, 5))
COMPLEX = REAL + 1j * np.random.default_rng(6).standard_normal((3, 4, 5))
NORMS = (None, "backward", "ortho", "forward")

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")


def source(name):
    return REAL if name.startswith(("rfft", "ihfft")) else COMPLEX


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ONE)
def test_one_dimension(name, norm):
    array = source(name)
    x = torch.tensor(array)
    for n in (None, 2, 4, 5, 9):
        for dim in (-1, 0, 1):
            found, wanted = getattr(fft, name)(x, n, dim, norm), getattr(np.fft, name)(array, n, dim, norm)
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12, atol=1e-12)
    narrow = getattr(fft, name)(torch.tensor(array.astype(np.complex64 if array.dtype.kind == "c" else np.float32)))
    assert narrow.dtype.itemsize == (4 if name in ("irfft", "hfft") else 8)
    np.testing.assert_allclose(narrow.numpy(), getattr(np.fft, name)(array), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", SEVERAL)
def test_several_dimensions(name, norm):
    array = source(name)
    x = torch.tensor(array)
    for s in (None, (3, 6)):
        for dim in ((-2, -1), (2, 0)):
            found, wanted = getattr(fft, name)(x, s, dim, norm), getattr(np.fft, name)(array, s, dim, norm)
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(getattr(fft, name)(x, norm=norm).numpy(), getattr(np.fft, name)(array, norm=norm), rtol=1e-12,
                               atol=1e-12)


def test_hermitian_transforms_undo_each_other():
    x = torch.tensor(REAL)
    for name, dims in (("hfft2", (-2, -1)), ("hfftn", (0, 1, 2))):
        back = getattr(fft, "i" + name)(x, dim=dims)
        sizes = [REAL.shape[d] for d in dims]
        np.testing.assert_allclose(getattr(fft, name)(back, sizes, dims).numpy(), REAL, rtol=1e-12, atol=1e-12)


def test_frequencies_and_shifts():
    for n in (1, 4, 5, 8):
        np.testing.assert_allclose(fft.fftfreq(n, 0.5).numpy(), np.fft.fftfreq(n, 0.5), rtol=1e-6)
        np.testing.assert_allclose(fft.rfftfreq(n, 2.0, dtype=torch.float64).numpy(), np.fft.rfftfreq(n, 2.0))
    x = torch.tensor(REAL)
    for dim in (None, 1, (0, 2)):
        assert np.array_equal(fft.fftshift(x, dim).numpy(), np.fft.fftshift(REAL, dim))
        assert np.array_equal(fft.ifftshift(x, dim).numpy(), np.fft.ifftshift(REAL, dim))


DERIVATIVES = {
    **{name: (lambda x, name=name: getattr(fft, name)(x), source(name)) for name in ONE},
    **{name + " sized": (lambda x, name=name: getattr(fft, name)(x, 6, 1, "ortho"), source(name)) for name in ONE},
    **{name: (lambda x, name=name: getattr(fft, name)(x, norm="forward"), source(name)) for name in SEVERAL},
    "odd": (lambda x: fft.irfft(x, 7), COMPLEX), "even": (lambda x: fft.irfft(x, 8), COMPLEX),
    "dims": (lambda x: fft.irfftn(x, (4, 6), (2, 0)), COMPLEX), "real to fft": (lambda x: fft.fft(x), REAL),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name):
    function, array = DERIVATIVES[name]
    x = torch.tensor(array[:2, :2, :4], requires_grad=True)
    assert gradcheck(function, (x,))
    assert gradgradcheck(function, (x,), fast_mode=True)


# ---------------------------------------------------------------- spectrograms
SIGNAL = np.random.default_rng(8).standard_normal((2, 40))


def spectra(signal, n_fft, hop, window):
    """By the definition: the spectrum of each window, one after another."""
    starts = range(0, signal.shape[-1] - n_fft + 1, hop)
    return np.stack([np.fft.rfft(signal[..., s:s + n_fft] * window, axis=-1) for s in starts], -1)


@pytest.mark.parametrize("n_fft, hop, length", [(8, 2, 8), (9, 3, 7), (16, 4, 10)])
def test_spectrograms(n_fft, hop, length):
    window = np.hanning(length + 2)[1:-1]
    placed = np.zeros(n_fft)
    left = (n_fft - length) // 2
    placed[left:left + length] = window
    x = torch.tensor(SIGNAL)
    found = torch.stft(x, n_fft, hop, length, torch.tensor(window), center=False, return_complex=True)
    np.testing.assert_allclose(found.numpy(), spectra(SIGNAL, n_fft, hop, placed), rtol=1e-12, atol=1e-12)
    padded = np.pad(SIGNAL, ((0, 0), (n_fft // 2, n_fft // 2)), mode="reflect")
    centred = torch.stft(x, n_fft, hop, length, torch.tensor(window), return_complex=True)
    np.testing.assert_allclose(centred.numpy(), spectra(padded, n_fft, hop, placed), rtol=1e-12, atol=1e-12)
    pairs = torch.stft(x[0], n_fft, hop, length, torch.tensor(window), normalized=True, return_complex=False)
    np.testing.assert_allclose(pairs.numpy()[..., 0] * n_fft ** 0.5, centred.numpy()[0].real, rtol=1e-12, atol=1e-12)
    whole = torch.stft(x, n_fft, hop, length, torch.tensor(window), onesided=False, return_complex=True)
    assert whole.shape[1] == n_fft and np.allclose(whole.numpy()[:, :n_fft // 2 + 1], centred.numpy())
    for options in ({}, {"normalized": True}):
        spectrum = torch.stft(x, n_fft, hop, length, torch.tensor(window), return_complex=True, **options)
        back = torch.istft(spectrum, n_fft, hop, length, torch.tensor(window), length=36, **options)
        np.testing.assert_allclose(back.numpy(), SIGNAL[:, :36], rtol=1e-10, atol=1e-10)
    back = torch.istft(whole, n_fft, hop, length, torch.tensor(window), onesided=False, return_complex=True)
    np.testing.assert_allclose(back.numpy(), SIGNAL[:, :back.shape[1]], rtol=1e-10, atol=1e-10)


def test_spectrograms_have_gradients():
    x = torch.tensor(SIGNAL[:, :12], requires_grad=True)
    window = torch.tensor(np.hanning(6)[1:-1] + 0.1, requires_grad=True)
    assert gradcheck(lambda x, w: torch.stft(x, 4, 2, window=w, return_complex=True), (x, window))
    assert gradcheck(lambda x, w: torch.istft(torch.stft(x, 4, 2, window=w, return_complex=True), 4, 2, window=w), (x, window))


@pytest.mark.parametrize("call, error, message", [
    (lambda: fft.fft([1.0]), TypeError, "must be Tensor, not list"),
    (lambda: fft.fft(torch.ones(3), norm="other"), RuntimeError, 'Invalid normalization mode: "other"'),
    (lambda: fft.fft(torch.ones(3), 0), RuntimeError, r"Invalid number of data points \(0\)"),
    (lambda: fft.fft(torch.ones(3).half()), RuntimeError, "Unsupported dtype Half"),
    (lambda: fft.rfft(torch.ones(3) * 1j), RuntimeError, "expects a real input"),
    (lambda: fft.fftn(torch.ones(3, 3), dim=(0, 0)), RuntimeError, "FFT dims must be unique"),
    (lambda: fft.fft2(torch.ones(3, 3), (2,)), RuntimeError, "must have the same length"),
    (lambda: fft.irfft(torch.ones(1)), RuntimeError, r"Invalid number of data points \(0\)"),
    (lambda: fft.fft(torch.ones(3), dim=2), IndexError, "Dimension out of range"),
    (lambda: torch.stft(torch.ones(9), 4), RuntimeError, "return_complex parameter be given"),
    (lambda: torch.stft(torch.ones(9), 40, center=False, return_complex=True), RuntimeError, "0 < n_fft"),
    (lambda: torch.stft(torch.ones(9), 4, window=torch.ones(3), return_complex=True), RuntimeError, "expected a 1D window"),
    (lambda: torch.istft(torch.ones(4, 3) * 1j, 4), RuntimeError, "overlap add"),
    (lambda: torch.istft(torch.ones(5, 3) * 1j, 4), RuntimeError, "frequency dimension"),
])
def test_errors(call, error, message):
    if "overlap" in message:
        def call():
            return torch.istft(torch.ones(3, 3) * 1j, 4, 1, window=torch.zeros(4))
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("rows", [1, 7, 8, 40])
def test_rows_in_single_precision(rows):
    """They may be transformed in double: what comes back is single again, with gradients."""
    x = np.random.default_rng(2).normal(size=(rows, 30)).astype(np.float32)
    t = torch.tensor(x, requires_grad=True)
    for name, dtype in (("fft", torch.complex64), ("ifft", torch.complex64), ("rfft", torch.complex64), ("fft2", torch.complex64)):
        out = getattr(torch.fft, name)(t)
        assert out.dtype is dtype
        np.testing.assert_allclose(out.detach().numpy(), getattr(np.fft, name)(x.astype(float)), 1e-5, 1e-4)
    back = torch.fft.irfft(torch.fft.rfft(t), 30)
    assert back.dtype is torch.float32
    back.backward(t.detach())
    np.testing.assert_allclose(t.grad.numpy(), x, 1e-5, 1e-5)
