"""What optimisers refuse, in PyTorch's words."""
from __future__ import annotations

from ..tensor import Tensor


def one_rate(lr):
    """Raise ValueError for a learning rate of several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def not_negative(**options):
    """Raise ValueError for a negative option; `lr` and `eps` are called by their long names."""
    one_rate(options.get("lr"))
    for name, value in options.items():
        title = {"lr": "learning rate", "eps": "epsilon value"}.get(name, f"{name} value")
        if not value >= 0:
            raise ValueError(f"Invalid {title}: {value}")


def betas_below_one(betas):
    """Raise ValueError for a beta that is not in [0, 1)."""
    for place, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {place}: {beta}")
