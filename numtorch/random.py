"""`torch.random`: this file holds its names. What they do is in ops/random/draws.py."""
from .ops.core.generator import default_generator, fork_rng, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    from .alias import attribute
    return attribute(__name__, name)
