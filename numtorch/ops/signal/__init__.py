"""Signals: fft (its transforms, by NumPy's pocketfft or a device), stft, windows."""
