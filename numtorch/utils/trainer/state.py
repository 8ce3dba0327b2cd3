"""The random state of a process, as a checkpoint keeps it: the default stream, Python's and NumPy's."""
from __future__ import annotations

import random

import numpy as np

from ...exchange.construction import make
from ...ops.core.generator import get_rng_state, set_rng_state


def random_state() -> dict:
    """Where the streams are that programs draw from without saying so."""
    name, keys, position, has_gauss, gauss = np.random.get_state()             # noqa: NPY002, what transforms draw from
    return {"default": get_rng_state(), "python": random.getstate(),
            "numpy": [str(name), make(np.asarray(keys, np.int64)), int(position), int(has_gauss), float(gauss)]}


def set_random_state(state: dict) -> None:
    """Go back to where the streams were."""
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    name, keys, position, has_gauss, cached = state["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), position, has_gauss, cached))     # noqa: NPY002
    set_rng_state(state["default"])
