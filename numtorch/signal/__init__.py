"""`torch.signal`: windows for signal processing, in `windows`. Those for spectra of `torch` itself are in ops/signal/windows.py."""
from . import windows

__all__ = ["windows"]
