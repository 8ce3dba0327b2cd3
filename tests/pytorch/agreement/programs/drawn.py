"""Data and weights that are the same under every library: drawn by NumPy, in float64."""
import numpy as np
import torch

torch.set_default_dtype(torch.float64)


def data(seed, *shape):
    """Normal values of a shape."""
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def integers(seed, below, *shape):
    """Integers from 0 up to `below`."""
    return torch.from_numpy(np.random.default_rng(seed).integers(0, below, shape))


def fill(module, seed=0):
    """Give a module's parameters small normal values, in the order of their names, and return it."""
    random = np.random.default_rng(seed)
    with torch.no_grad():
        for _, parameter in sorted(module.named_parameters()):
            parameter.copy_(torch.from_numpy(random.standard_normal(tuple(parameter.shape)) * 0.3))
    return module
