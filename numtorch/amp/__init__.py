"""PyTorch's `torch.amp`: training in mixed precision (docs/amp.md).

oplists        which ops run in which precision
casting        what they do in a region; cells, recurrent cells there
autocast_mode  `autocast`, and the functions for an `autograd.Function` in it
grad_scaler    gradients that float16 can hold
devices        the older names, by device
"""
from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
