"""Streams of random numbers: a seed and a position, from which each draw claims what it uses."""
from __future__ import annotations

import ctypes
import os
import threading

import numpy as np

from ..arrays import raw_array
from ..devices import cpu
from ..exchange import make
from ..kernels.forks import survive_fork
from ..tensor import Tensor


class Generator:
    """A stream of random numbers: `Generator().manual_seed(0)`. Draws move it on; threads may share it."""

    def __init__(self, device="cpu"):
        self.device = cpu
        self._lock = threading.Lock()
        self._seed, self._offset = 67280421310721, 0     # PyTorch's default seed

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream that belongs to a seed.

        Raises:
            RuntimeError: the seed does not fit 64 bits.
        """
        seed = int(seed)
        if not -(1 << 63) <= seed < 1 << 64:
            raise RuntimeError(f"Overflow when unpacking long long: manual_seed expects a value that fits 64 bits, got {seed}")
        with self._lock:
            self._seed, self._offset = seed & (1 << 64) - 1, 0
        return self

    def clone_state(self) -> Generator:
        """Another stream that goes on from where this one is."""
        return Generator().set_state(self.get_state())

    def seed(self) -> int:
        """Start a stream from the system's randomness and return its seed."""
        seed = int.from_bytes(os.urandom(8), "little") >> 1
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed this stream started from."""
        return self._seed

    def get_state(self) -> Tensor:
        """The stream's seed and position, as 16 bytes."""
        with self._lock:
            words = np.array([self._seed & (1 << 64) - 1, self._offset], np.uint64)
        return make(words.view(np.uint8))

    def set_state(self, state) -> Generator:
        """Go back to a position that `get_state` gave.

        Raises:
            TypeError: not a tensor of uint8.
            RuntimeError: not such a state.
        """
        if not isinstance(state, Tensor) or state.layout.dtype.name != "uint8":
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.layout.numel != 16:
            raise RuntimeError(f"RNG state is of the wrong size: expected 16 bytes, as get_state() gives them, found "
                               f"{state.layout.numel}")
        words = np.ascontiguousarray(raw_array(state)).view(np.uint64)
        with self._lock:
            self._seed, self._offset = int(words[0]), int(words[1])
        return self

    def _advance(self, counters):
        """Claim counters of the stream: a kernel's state words in an array of their own."""
        words = (ctypes.c_int64 * 3)()
        self._claim(words, counters)
        return np.frombuffer(words, np.int64)

    def _claim(self, words, counters):
        """Claim counters of the stream: seed and first counter go to a kernel's state words."""
        with self._lock:
            words[0], words[1] = self._seed, self._offset
            self._offset += counters


default_generator = Generator()
survive_fork(default_generator._lock)


def manual_seed(seed: int) -> Generator:
    """Start the default stream that belongs to a seed, and return it."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start the default stream from the system's randomness."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed the default stream started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Where the default stream is."""
    return default_generator.get_state()


def set_rng_state(state) -> None:
    """Put the default stream back to where `get_rng_state` found it."""
    default_generator.set_state(state)


def claim(generator, words, counters):
    """Claim counters of a stream, the default one for None. Raises TypeError for what is none."""
    if generator is None:
        generator = default_generator
    elif not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    generator._claim(words, counters)


class fork_rng:
    """Inside, draws do not move the default stream."""

    def __init__(self, devices=None, enabled: bool = True):
        self.enabled = enabled

    def __enter__(self):
        self.state = default_generator.get_state()

    def __exit__(self, *exception):
        if self.enabled:
            default_generator.set_state(self.state)
