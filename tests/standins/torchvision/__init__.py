"""What PyTorch's examples take of torchvision, over `import torch`: random images, and its networks without weights."""
from . import datasets, models, transforms, utils  # noqa: F401
