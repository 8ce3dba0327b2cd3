"""DataLoader: batches of a dataset, and how examples are put together into one."""
from __future__ import annotations

import copy
import numbers
from collections.abc import Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from itertools import islice, repeat
from typing import Any, Generic, TypeVar

import numpy as np

from ..dtypes import float64, int64
from ..exchange.construction import from_numpy, make
from ..ops.creation.fill import empty
from ..ops.memory.pinned import can_pin
from ..ops.shape.join import stack
from ..tensor import Tensor
from .dataset import IterableDataset, Subset
from .notes import add_note
from .sampler import BatchSampler, RandomSampler, SequentialSampler


def default_collate(batch):
    """Examples as one batch: tensors stacked, NumPy arrays and numbers as tensors, mappings and sequences part by part, strings as
    lists.

    Args:
        batch: a list of examples that are made alike.

    Returns:
        Tensors (N, *) in the examples' structure; int64 of integers and float64 of floats.

    Raises:
        RuntimeError: sequences of different lengths.
        TypeError: something that has no batch form.

    Example:
        >>> import numtorch as torch
        >>> torch.utils.data.default_collate([{"x": torch.tensor([1., 2.]), "y": 0}, {"x": torch.tensor([3., 4.]), "y": 1}])
        {'x': tensor([[1., 2.],
                [3., 4.]]), 'y': tensor([0, 1])}
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(batch, 0)
    if isinstance(first, np.ndarray) and first.dtype.kind in "biufc":
        return from_numpy(np.stack(batch))
    if isinstance(first, np.generic) and first.dtype.kind in "biufc":
        return make(np.array(batch))
    if isinstance(first, float):
        return make(batch, dtype=float64)
    if isinstance(first, numbers.Integral):
        return make(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _mapping_like(first, {key: default_collate([example[key] for example in batch]) for key in first})
    if isinstance(first, Sequence):
        if any(len(example) != len(first) for example in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [default_collate(list(part)) for part in zip(*batch)]
        if hasattr(first, "_fields"):
            return type(first)(*parts)
        return parts if isinstance(first, tuple) else _sequence_like(first, parts)
    raise TypeError(f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}")


def _mapping_like(mapping, parts):
    """A mapping of the kind of another, with what else that holds (a default's factory), or a dict where there can be none."""
    try:
        if isinstance(mapping, MutableMapping):
            result = copy.copy(mapping)
            result.update(parts)
            return result
        return type(mapping)(parts)
    except TypeError:
        return parts


def _sequence_like(sequence, parts):
    """A sequence of the kind of another, or a list where there can be none."""
    if type(sequence) is list:
        return parts
    try:
        if isinstance(sequence, MutableSequence):
            result = copy.copy(sequence)
            for i, part in enumerate(parts):
                result[i] = part
            return result
        return type(sequence)(parts)
    except TypeError:
        return parts


def default_convert(data):
    """An example on its own: NumPy arrays and numbers as tensors, inside containers too.

    Args:
        data: the example; what is nothing of these stays as it is.

    Example:
        >>> import numtorch as torch
        >>> import numpy
        >>> torch.utils.data.default_convert([numpy.array([1, 2]), "name"])
        [tensor([1, 2]), 'name']
    """
    if isinstance(data, np.ndarray):
        return from_numpy(data) if data.dtype.kind in "biufc" else data
    if isinstance(data, np.generic) and data.dtype.kind in "biufc":
        return make(data)
    return _part_by_part(default_convert, data)


def _part_by_part(function, data):
    """A container of what a function makes of its parts; anything else as it is."""
    if isinstance(data, Mapping):
        return _mapping_like(data, {key: function(value) for key, value in data.items()})
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        parts = [function(value) for value in data]
        if hasattr(data, "_fields"):
            return type(data)(*parts)
        return parts if isinstance(data, tuple) else _sequence_like(data, parts)
    return data


def _pinned(batch):
    """A batch whose tensors lie in pinned memory; what has a `pin_memory` of its own is what that gives."""
    return batch.pin_memory() if hasattr(batch, "pin_memory") else _part_by_part(_pinned, batch)


_FIXED = frozenset(("dataset", "batch_size", "sampler", "batch_sampler", "drop_last", "persistent_workers"))    # once it is made


_Batch = TypeVar("_Batch", covariant=True)


class _Pass:
    """A pass over a loader's batches, which goes on behind an example that could not be had."""

    def __init__(self, loader, batches) -> None:
        self.loader, self.batches = loader, batches

    def __iter__(self):
        return self

    def __next__(self):
        loader = self.loader
        try:
            batch = next(self.batches)
        except StopIteration:
            loader._taken, loader._pass = 0, None
            raise
        except BaseException:
            del self, loader                             # the traceback has this frame, and a pass that is left ends its workers
            raise
        loader._taken += 1
        return batch

    def __len__(self) -> int:
        return len(self.loader)


class DataLoader(Generic[_Batch]):
    """Batches of a dataset, made in this process or by workers.

    Args:
        dataset: by number or iterable.
        batch_size: examples a batch; None for examples on their own.
        shuffle: new random order for every pass.
        sampler: the order instead of `shuffle`.
        batch_sampler: the numbers of each batch, instead of all the above and `drop_last`.
        num_workers: how many processes make batches ahead; 0 for none. Tensors come in shared memory, without a copy.
        collate_fn: how a list of examples becomes a batch; `default_collate` when None, and `default_convert` of single examples.
        drop_last: leave out a last batch that is not full.
        timeout: seconds to wait for a worker's batch; 0 for any number.
        worker_init_fn: what each worker calls first, with its number.
        multiprocessing_context: how workers start: "fork", "spawn", "forkserver", a context, or None for the default.
        generator: whose random numbers to use, for the order and for the workers' seeds; the default one's when None.
        prefetch_factor: batches that each worker is ahead; 2 when None.
        persistent_workers: keep workers from pass to pass.
        in_order: give batches in order, and not as they come.
        pin_memory: whether tensors of batches lie in pinned memory, from which copies to a GPU need not wait.
        pin_memory_device: accepted.

    Iterating over it gives what `collate_fn` returns; its length is the number of batches. Where an example raises, a pass can go
    on behind it.

    Raises:
        ValueError: options that exclude each other.
        RuntimeError: while iterating, a worker was killed or took longer than `timeout`; the message says in which example.
            What a dataset raises in a worker is raised as it is, with the worker's traceback as its cause.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.data import DataLoader, TensorDataset
        >>> for x, in DataLoader(TensorDataset(torch.arange(5)), batch_size=2):
        ...     print(x)
        tensor([0, 1])
        tensor([2, 3])
        tensor([4])
    """

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers: int = 0, collate_fn=None,
                 pin_memory: bool = False, drop_last: bool = False, timeout: float = 0, worker_init_fn=None,
                 multiprocessing_context=None,
                 generator=None, *, prefetch_factor=None, persistent_workers: bool = False, pin_memory_device: str = "",
                 in_order: bool = True) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if not num_workers and prefetch_factor is not None:
            raise ValueError("prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                             "multiprocessing, otherwise set prefetch_factor to None.")
        if prefetch_factor is not None and prefetch_factor < 1:
            raise ValueError("prefetch_factor option should be positive")
        if not num_workers and persistent_workers:
            raise ValueError("persistent_workers option needs num_workers > 0")
        if not num_workers and multiprocessing_context is not None:
            raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                             f"num_workers={num_workers}")
        if isinstance(multiprocessing_context, str):
            from multiprocessing import get_all_start_methods
            methods = get_all_start_methods()
            if multiprocessing_context not in methods:
                raise ValueError(f"multiprocessing_context option should specify a valid start method in {methods}, but got "
                                 f"multiprocessing_context={multiprocessing_context!r}")
        iterable = isinstance(dataset, IterableDataset)
        if iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("DataLoader with IterableDataset: expected unspecified shuffle, sampler and batch_sampler options")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None and not iterable:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None and not iterable:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self._taken = self._skipped = 0                  # batches of the pass begun last; and those that the next one leaves out
        self._pass = self._seed = self._seed_to_come = None    # how that pass began; its workers' seed, and one that was loaded
        self.dataset, self.batch_size, self.sampler, self.batch_sampler = dataset, batch_size, sampler, batch_sampler
        self.drop_last, self.generator, self.num_workers, self.pin_memory = drop_last, generator, num_workers, pin_memory
        self.timeout, self.worker_init_fn, self.multiprocessing_context = timeout, worker_init_fn, multiprocessing_context
        self.prefetch_factor = prefetch_factor or (2 if num_workers else None)
        self.persistent_workers, self.in_order, self._workers = persistent_workers, in_order, None
        self.collate_fn = collate_fn or (default_collate if batch_size is not None or batch_sampler is not None
                                         else default_convert)
        self._complete = True

    def __setattr__(self, name, value):
        if name in _FIXED and "_complete" in self.__dict__:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __len__(self):
        if isinstance(self.dataset, IterableDataset):
            count = len(self.dataset)
            if self.batch_size is None:
                return count
            return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        self._taken, self._skipped, self._pass = self._skipped, 0, None
        batches = self._batches(self._taken)
        return _Pass(self, map(_pinned, batches) if self.pin_memory and can_pin() else batches)

    def _batches(self, skipped):
        """A pass without its first batches."""
        if self.num_workers:
            return map(_batch_or_error, self._batches_of_workers(skipped))
        if isinstance(self.dataset, IterableDataset):
            return islice(self._iterate_stream(), skipped, None)
        if self.batch_sampler is None:
            return map(self._single, islice(self._numbers(), skipped, None))
        get_batch = batch_getter(self.dataset) if self.collate_fn is default_collate else None
        return map(self._fetch, islice(self._numbers(), skipped, None), repeat(get_batch))

    def _batches_of_workers(self, skipped):
        from .workers import Workers, fetcher_of
        stream = isinstance(self.dataset, IterableDataset)
        workers = self._workers
        if workers is None:
            get_batch = batch_getter(self.dataset) if self.collate_fn is default_collate and not stream else None
            workers = Workers(self, fetcher_of(self, get_batch))
        if self.persistent_workers:
            self._workers = workers
        order = repeat(None) if stream else self._numbers()
        try:
            yield from islice(workers.batches(self, order if stream else islice(order, skipped, None)),
                              skipped if stream else 0, None)
        except BaseException as error:
            if not isinstance(error, GeneratorExit):     # one worker is dead, or stuck
                self._workers = None
                workers.end()
            raise
        finally:
            if not self.persistent_workers:
                workers.end()

    def _numbers(self):
        """The numbers of each batch, and at their beginning what begins them again: workers may be at their end before a batch is
        taken."""
        for batch in self._order:
            if self._pass is None:
                self._pass = self._order_state()
            yield batch

    def _order_state(self):
        return self._order.state_dict() if hasattr(self._order, "state_dict") else None

    def seed_of_workers(self) -> int:
        """What workers make their random streams of, drawn anew when they start but for a pass that was loaded."""
        seed, self._seed_to_come = self._seed_to_come, None
        if seed is None:
            seed = int(empty((), dtype=int64).random_(generator=self.generator))
        self._seed = seed
        return seed

    @property
    def _order(self):
        """What says which examples come when."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def state_dict(self) -> dict:
        """Where the pass begun last is: the number of batches taken, and the state of its sampler. `load_state_dict` makes the next
        pass go on from there; fetching is not repeated, but that an iterable dataset gives its first examples again. What workers
        draw at random begins anew.

        Example:
            >>> import numtorch as torch
            >>> from numtorch.data import DataLoader, TensorDataset
            >>> loader = DataLoader(TensorDataset(torch.arange(9)), batch_size=3, shuffle=True)
            >>> batches = iter(loader)
            >>> _, state = next(batches), loader.state_dict()
            >>> rest = list(batches)
            >>> loader.load_state_dict(state)
            >>> all(torch.equal(a[0], b[0]) for a, b in zip(loader, rest))
            True
        """
        return {"taken": self._taken, "sampler": self._order_state() if self._pass is None else self._pass, "seed": self._seed}

    def load_state_dict(self, state_dict: dict) -> None:
        """Go on from where a pass was.

        Args:
            state_dict: what `state_dict()` gave.
        """
        self._taken = self._skipped = state_dict["taken"]
        self._pass, self._seed_to_come = None, state_dict["seed"] if self._taken or self.persistent_workers else None
        if state_dict["sampler"] is not None and hasattr(self._order, "load_state_dict"):
            self._order.load_state_dict(state_dict["sampler"])

    def _single(self, number):
        try:
            return self.collate_fn(self.dataset[number])
        except Exception as error:
            add_note(error, f"DataLoader: this was example {number} of {type(self.dataset).__name__}")
            raise

    def _fetch(self, batch, get_batch):
        place = batch
        try:
            if get_batch is not None and (whole := get_batch(batch)) is not None:
                return whole
            if hasattr(self.dataset, "__getitems__"):
                return self.collate_fn(self.dataset.__getitems__(batch))
            examples = []
            for number in batch:
                place = number
                examples.append(self.dataset[number])
            place = batch
            return self.collate_fn(examples)
        except Exception as error:
            add_note(error, f"DataLoader: {'these were examples' if place is batch else 'this was example'} {place} of "
                            f"{type(self.dataset).__name__}")
            raise

    def _iterate_stream(self, examples=None):
        """Batches of a stream, whose examples are the dataset's where none are given."""
        taken, batch = 0, []
        try:
            for example in self.dataset if examples is None else examples:
                taken += 1
                if self.batch_size is None:
                    yield self.collate_fn(example)
                    continue
                batch.append(example)
                if len(batch) == self.batch_size:
                    yield self.collate_fn(batch)
                    batch = []
            if batch and not self.drop_last:
                yield self.collate_fn(batch)
        except Exception as error:
            add_note(error, f"DataLoader: this was after {taken} examples of {type(self.dataset).__name__}")
            raise


def _batch_or_error(result):
    """What a worker made, or raise what it raised."""
    good, batch = result
    if good:
        return batch
    try:
        raise batch
    finally:
        del result, batch                                # its traceback has this frame


def batch_getter(dataset):
    """A dataset's `get_batch`, or None where it has none, or a subclass has changed its single examples."""
    if type(dataset) is Subset:
        inner, indices = batch_getter(dataset.dataset), dataset.indices
        return inner and (lambda batch: inner([indices[i] for i in batch]))
    for kind in type(dataset).__mro__:
        if "get_batch" in vars(kind):
            return dataset.get_batch
        if "__getitem__" in vars(kind):
            return None
    return None
