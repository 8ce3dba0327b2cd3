"""Fourier transforms on a GPU: fft, by cuFFT where it is installed."""
