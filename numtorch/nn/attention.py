"""`torch.nn.attention`: a choice among kernels of attention, which is accepted and makes no difference: there is one."""
from __future__ import annotations

import contextlib
import enum

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """PyTorch's kernels of `scaled_dot_product_attention`, by their names.

    Example:
        >>> from numtorch.nn.attention import SDPBackend
        >>> SDPBackend.MATH.name
        'MATH'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority: bool = False):
    """Context manager: a choice of kernels, which changes nothing here.

    Args:
        backends: an `SDPBackend`, or a list of them.
        set_priority: whether their order counts; it does not.

    Raises:
        AssertionError: something else, or none.

    Example:
        >>> from numtorch.nn.attention import SDPBackend, sdpa_kernel
        >>> with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        ...     pass
    """
    chosen = [backends] if isinstance(backends, SDPBackend) else backends
    assert isinstance(chosen, list), "Backend must be an instance of SDPBackend or a list of SDPBackend instances"
    assert all(isinstance(backend, SDPBackend) for backend in chosen), "Backend must be an instance of SDPBackend"
    yield {}


__path__: list[str] = []                                # PyTorch has modules in it


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    from ..alias import attribute
    return attribute(__name__, name)
