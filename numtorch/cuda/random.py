"""The default stream of random numbers under the names that PyTorch has for devices. It is one for all of them
(ops/core/generator.py), so that draws on a device are those of the CPU. Without a device none of these changes it."""
from __future__ import annotations

from ..ops.core.generator import default_generator
from ..tensor import Tensor
from .devices import device_count, is_available

__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all",
           "set_rng_state", "set_rng_state_all"]


def manual_seed(seed: int) -> None:
    """Start the default stream that belongs to a seed, which all devices and the CPU draw from; nothing without a device.

    Args:
        seed: an int of 64 bits.

    Example:
        >>> import numtorch as torch
        >>> torch.cuda.manual_seed(0)
    """
    seed = int(seed)
    if is_available():
        default_generator.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """`manual_seed`, since the stream is one for all devices.

    Args:
        seed: an int of 64 bits.

    Example:
        >>> import numtorch as torch
        >>> torch.cuda.manual_seed_all(0)
    """
    manual_seed(seed)


def seed() -> None:
    """Start the default stream from the system's randomness; nothing without a device.

    Example:
        >>> import numtorch as torch
        >>> torch.cuda.seed()
    """
    if is_available():
        default_generator.seed()


def seed_all() -> None:
    """`seed`, since the stream is one for all devices.

    Example:
        >>> import numtorch as torch
        >>> torch.cuda.seed_all()
    """
    seed()


def initial_seed() -> int:
    """The seed that the default stream started from.

    Example:
        >>> import numtorch as torch
        >>> isinstance(torch.cuda.initial_seed(), int)
        True
    """
    return default_generator.initial_seed()


def get_rng_state(device="cuda") -> Tensor:
    """Where the default stream is, as 16 bytes.

    Args:
        device: whose; it is one for all of them.

    Example:
        >>> import numtorch as torch
        >>> torch.cuda.get_rng_state().shape
        torch.Size([16])
    """
    return default_generator.get_state()


def get_rng_state_all() -> list:
    """`get_rng_state` of each device.

    Example:
        >>> import numtorch as torch
        >>> len(torch.cuda.get_rng_state_all()) == torch.cuda.device_count()
        True
    """
    return [get_rng_state() for _ in range(device_count())]


def set_rng_state(new_state, device="cuda") -> None:
    """Put the default stream back to where `get_rng_state` found it; nothing without a device.

    Args:
        new_state: (16,) uint8.
        device: whose; it is one for all of them.

    Example:
        >>> import numtorch as torch
        >>> torch.cuda.set_rng_state(torch.cuda.get_rng_state())
    """
    if is_available():
        default_generator.set_state(new_state)


def set_rng_state_all(new_states) -> None:
    """`set_rng_state` of each device's.

    Args:
        new_states: what `get_rng_state_all` gave.

    Example:
        >>> import numtorch as torch
        >>> torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())
    """
    for state in new_states:
        set_rng_state(state)
