"""Signals: fft (by NumPy's pocketfft), stft, windows."""
