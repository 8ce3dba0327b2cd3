"""Samplers: in which order a dataset's examples come."""
from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from itertools import islice
from typing import Any, Generic, TypeVar

from ..dtypes import float64
from ..exchange.construction import make
from ..ops.core.generator import Generator, default_generator
from ..ops.random.draws import multinomial, randint, randperm

_Number = TypeVar("_Number", covariant=True)


class Sampler(Generic[_Number]):
    """Numbers of examples, one after another. Subclasses implement `__iter__` and usually `__len__`.

    Args:
        data_source: nothing here.

    Example:
        >>> import numtorch as torch
        >>> class Backwards(torch.utils.data.Sampler):
        ...     def __init__(self, count):
        ...         self.count = count
        ...     def __iter__(self):
        ...         return iter(range(self.count - 1, -1, -1))
        ...     def __len__(self):
        ...         return self.count
        >>> list(torch.utils.data.DataLoader(range(4), batch_size=2, sampler=Backwards(4)))
        [tensor([3, 2]), tensor([1, 0])]
    """

    def __init__(self, data_source=None) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """0, 1, 2, and so on.

    Args:
        data_source: something with a length.

    Example:
        >>> import numtorch as torch
        >>> list(torch.utils.data.SequentialSampler(["a", "b", "c"]))
        [0, 1, 2]
    """

    def __init__(self, data_source) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class _Drawn(Sampler[int]):
    """A sampler of random numbers. Each pass without a generator has a stream of its own, so that what else is drawn meanwhile does
    not change the order, and a pass can be gone through again from where its stream began."""

    generator: Generator | None
    _began = _resumed = None                             # where the stream of the pass under way began; and of the one to come

    def _stream(self):
        """The stream of a new pass, or of the one that was loaded."""
        stream = self.generator
        if stream is None and self._resumed is not None:
            stream = Generator()
        elif stream is None:
            seed, place = default_generator._advance(1)[:2].tolist()
            digest = hashlib.blake2b(struct.pack("<qq", seed, place), digest_size=8).digest()
            stream = Generator().manual_seed(int.from_bytes(digest, "little"))
        if self._resumed is not None:
            stream.set_state(self._resumed)
        self._began, self._resumed = stream.get_state(), None
        return stream

    def state_dict(self) -> dict:
        """From where the pass under way draws its numbers (None between passes), and where the generator is, if one was given."""
        return {"pass": self._began, "generator": None if self.generator is None else self.generator.get_state()}

    def load_state_dict(self, state_dict: dict) -> None:
        """Begin the next pass where the one of `state_dict` began.

        Args:
            state_dict: what `state_dict()` gave.

        Raises:
            ValueError: it is of another kind of sampler.
        """
        if not state_dict.keys() >= {"pass", "generator"}:
            raise ValueError(f"{type(self).__name__}: expected the state of a sampler of random numbers, got that of another order")
        if self.generator is not None and state_dict["generator"] is not None:
            self.generator.set_state(state_dict["generator"])
        self._began, self._resumed = None, state_dict["pass"]


class RandomSampler(_Drawn):
    """All examples in random order.

    Args:
        data_source: something with a length.
        replacement: draw every example anew instead.
        num_samples: how many; the dataset's length when None, and more for several orders one after another.
        generator: whose random numbers to use; the default one's when None.

    Raises:
        ValueError: `num_samples` that is not a positive integer, or no examples.

    Example:
        >>> import numtorch as torch
        >>> sorted(torch.utils.data.RandomSampler(range(4)))
        [0, 1, 2, 3]
    """

    def __init__(self, data_source, replacement: bool = False, num_samples=None, generator=None) -> None:
        if num_samples is not None and (not isinstance(num_samples, int) or num_samples <= 0):
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if num_samples is None and not len(data_source):
            raise ValueError("num_samples should be a positive integer value, but got num_samples=0")
        self.data_source, self.replacement, self._num_samples, self.generator = data_source, replacement, num_samples, generator

    @property
    def num_samples(self):
        """How many numbers are drawn."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[Any]:
        count, stream = len(self.data_source), self._stream()
        if self.replacement:
            for taken in range(0, self.num_samples, 1024):      # programs without epochs ask for 1e10
                yield from randint(count, (min(1024, self.num_samples - taken),), generator=stream).tolist()
        else:
            for taken in range(0, self.num_samples, count):
                yield from randperm(count, generator=stream)[:self.num_samples - taken].tolist()
        self._began = None

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(_Drawn):
    """The given numbers in random order.

    Args:
        indices: the numbers.
        generator: whose random numbers to use; the default one's when None.

    Example:
        >>> import numtorch as torch
        >>> sorted(torch.utils.data.SubsetRandomSampler([3, 5, 7]))
        [3, 5, 7]
    """

    def __init__(self, indices, generator=None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[Any]:
        for place in randperm(len(self.indices), generator=self._stream()).tolist():
            yield self.indices[place]
        self._began = None

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(_Drawn):
    """Numbers drawn in proportion to weights.

    Args:
        weights: one for each number, of any sum.
        num_samples: how many are drawn.
        replacement: whether a number may come more than once.
        generator: whose random numbers to use; the default one's when None.

    Raises:
        ValueError: `num_samples` that is not a positive integer, or weights of another number of dimensions.

    Example:
        >>> import numtorch as torch
        >>> list(torch.utils.data.WeightedRandomSampler([0.0, 1.0, 0.0], 3))
        [1, 1, 1]
    """

    def __init__(self, weights, num_samples: int, replacement: bool = True, generator=None) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = make(weights, dtype=float64)
        if self.weights.layout.ndim != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.layout.shape)}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[Any]:
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self._stream()).tolist()
        self._began = None

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Another sampler's numbers in lists.

    Args:
        sampler: any iterable of numbers.
        batch_size: how many a list.
        drop_last: leave out a last list that is shorter.

    Raises:
        ValueError: a `batch_size` that is not a positive integer, or a `drop_last` that is no bool.

    Example:
        >>> import numtorch as torch
        >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[Any]:
        numbers = iter(self.sampler)
        while batch := list(islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def state_dict(self) -> dict:
        """That of the sampler of numbers, if it has one."""
        return self.sampler.state_dict() if hasattr(self.sampler, "state_dict") else {}

    def load_state_dict(self, state_dict: dict) -> None:
        """Begin the next pass where the one of `state_dict` began.

        Args:
            state_dict: what `state_dict()` gave.
        """
        if hasattr(self.sampler, "load_state_dict"):
            self.sampler.load_state_dict(state_dict)

    def __len__(self) -> int:
        return len(self.sampler) // self.batch_size if self.drop_last else -(-len(self.sampler) // self.batch_size)

