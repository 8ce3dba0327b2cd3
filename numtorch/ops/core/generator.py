"""Streams of random numbers: a seed and a position, from which each draw claims what it uses."""
from __future__ import annotations

import ctypes
import os
import threading
from numbers import Integral

import numpy as np

from ...devices import device as as_device
from ...exchange.arrays import raw_array
from ...exchange.construction import make
from ...kernels.forks import survive_fork
from ...tensor import Tensor


class Generator:
    """A stream of random numbers. Draws move it on; threads may share it.

    Args:
        device: what `.device` says; streams are the host's, and the same for every device.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> import numtorch as torch
        >>> a, b = torch.Generator().manual_seed(0), torch.Generator().manual_seed(0)
        >>> torch.equal(torch.rand(3, generator=a), torch.rand(3, generator=b))
        True
    """

    _uses = 0                                            # how often it was drawn from or put elsewhere

    def __init__(self, device="cpu") -> None:
        self.device = as_device(device)
        self._lock = threading.Lock()
        self._seed, self._offset = 67280421310721, 0     # PyTorch's default seed

    def __getstate__(self):
        with self._lock:
            return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream that belongs to a seed, and return it.

        Args:
            seed: an int of 64 bits, signed or not.

        Raises:
            ValueError: the seed does not fit 64 bits.
            RuntimeError: it is no number.

        Example:
            >>> import numtorch as torch
            >>> torch.Generator().manual_seed(7).initial_seed()
            7
        """
        if not isinstance(seed, Integral):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = int(seed)
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError(f"Overflow when unpacking long long: manual_seed expects a value that fits 64 bits, got {seed}")
        self._go_to((seed & (1 << 64) - 1, 0))
        return self

    def clone_state(self) -> Generator:
        """Another stream that goes on from where this one is.

        Example:
            >>> import numtorch as torch
            >>> stream = torch.Generator().manual_seed(7)
            >>> other = stream.clone_state()
            >>> torch.equal(torch.rand(3, generator=stream), torch.rand(3, generator=other))
            True
        """
        return Generator().set_state(self.get_state())

    def seed(self) -> int:
        """Start a stream from the system's randomness and return its seed.

        Example:
            >>> import numtorch as torch
            >>> stream = torch.Generator()
            >>> stream.seed() == stream.initial_seed()
            True
        """
        seed = int.from_bytes(os.urandom(8), "little") >> 1
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed this stream started from.

        Example:
            >>> import numtorch as torch
            >>> torch.Generator().initial_seed()
            67280421310721
        """
        return self._seed

    def get_state(self) -> Tensor:
        """The stream's seed and position, as 16 bytes.

        Example:
            >>> import numtorch as torch
            >>> torch.Generator().get_state().shape
            torch.Size([16])
        """
        seed, offset = self._position()
        return make(np.array([seed & (1 << 64) - 1, offset], np.uint64).view(np.uint8))

    def set_state(self, state) -> Generator:
        """Go back to a position that `get_state` gave, and return this stream.

        Args:
            state: (16,) uint8.

        Raises:
            TypeError: not a tensor of uint8.
            RuntimeError: of another size.

        Example:
            >>> import numtorch as torch
            >>> stream = torch.Generator()
            >>> state = stream.get_state()
            >>> x = torch.rand(3, generator=stream)
            >>> torch.equal(torch.rand(3, generator=stream.set_state(state)), x)
            True
        """
        if not isinstance(state, Tensor) or state.layout.dtype.name != "uint8":
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.layout.numel != 16:
            raise RuntimeError(f"RNG state is of the wrong size: expected 16 bytes, as get_state() gives them, found "
                               f"{state.layout.numel}")
        self._go_to(np.ascontiguousarray(raw_array(state)).view(np.uint64).tolist())
        return self

    def _position(self):
        """The seed, and how many counters have been claimed since."""
        with self._lock:
            return self._seed, self._offset

    def _go_to(self, position):
        with self._lock:
            self._seed, self._offset = position
            self._uses += 1

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
            self._uses += 1


default_generator = Generator()
survive_fork(default_generator._lock)


def manual_seed(seed: int) -> Generator:
    """Start the default stream that belongs to a seed, and return it.

    Args:
        seed: an int of 64 bits, signed or not.

    Raises:
        ValueError: the seed does not fit 64 bits.
        TypeError: it is no number.

    Example:
        >>> import numtorch as torch
        >>> first = torch.rand(3, generator=torch.manual_seed(0))
        >>> torch.equal(torch.rand(3, generator=torch.manual_seed(0)), first)
        True
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Start the default stream from the system's randomness, and return the seed.

    Example:
        >>> import numtorch as torch
        >>> torch.seed() == torch.initial_seed()
        True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed the default stream started from.

    Example:
        >>> import numtorch as torch
        >>> _ = torch.manual_seed(7)
        >>> torch.initial_seed()
        7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Where the default stream is: its seed and position, as 16 bytes.

    Example:
        >>> import numtorch as torch
        >>> state = torch.get_rng_state()
        >>> x = torch.rand(3)
        >>> torch.set_rng_state(state)
        >>> torch.equal(torch.rand(3), x)
        True
    """
    return default_generator.get_state()


def set_rng_state(state) -> None:
    """Put the default stream back to where `get_rng_state` found it.

    Args:
        state: (16,) uint8.

    Raises:
        TypeError: not a tensor of uint8.
        RuntimeError: of another size.

    Example:
        >>> import numtorch as torch
        >>> state = torch.get_rng_state()
        >>> torch.set_rng_state(state)
    """
    default_generator.set_state(state)


def claim(generator, words, counters):
    """Claim counters of a stream, the default one for None. Raises TypeError for what is none."""
    if generator is None:
        generator = default_generator
    elif not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    generator._claim(words, counters)


class fork_rng:
    """Inside, draws do not move the default stream: what comes after is drawn as if they had not been.

    Args:
        devices: taken for PyTorch's sake; only the CPU has a default stream.
        enabled: False to do nothing.

    Example:
        >>> import numtorch as torch
        >>> state = torch.get_rng_state()
        >>> with torch.random.fork_rng():
        ...     x = torch.rand(3)
        >>> torch.equal(torch.get_rng_state(), state)
        True
    """

    def __init__(self, devices=None, enabled: bool = True) -> None:
        self.enabled = enabled

    def __enter__(self):
        self.state = default_generator.get_state()

    def __exit__(self, *exception):
        if self.enabled:
            default_generator.set_state(self.state)
