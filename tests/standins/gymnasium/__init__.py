"""An environment of random states, in which an episode ends after some 20 steps."""
from types import SimpleNamespace

import numpy as np


class _Environment:
    spec = SimpleNamespace(reward_threshold=475)

    def reset(self, seed=None):
        if seed is not None:
            self.random = np.random.default_rng(seed)
        return self.random.standard_normal(4).astype(np.float32), {}

    def step(self, action):
        return self.random.standard_normal(4).astype(np.float32), 1.0, bool(self.random.random() < 0.05), False, {}


def make(name, render_mode=None):
    """An environment, whatever its name."""
    return _Environment()
