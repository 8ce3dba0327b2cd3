"""`torch.version`: which numtorch this is, and that it is built with none of PyTorch's compilers."""
from . import __version__ as __version__

debug, git_version = False, "Unknown"
cuda = hip = rocm = xpu = None
