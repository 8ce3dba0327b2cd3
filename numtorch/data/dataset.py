"""Datasets: examples by number, or one after another, and parts and sums of them."""
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Generic, TypeVar

from ..exchange.construction import make
from ..ops.random.draws import randperm

_Example = TypeVar("_Example", covariant=True)


class Dataset(Generic[_Example]):
    """Examples by number. Subclasses implement `__getitem__` and usually `__len__`; with `__getitems__(numbers)` a loader fetches
    the examples of a batch at once, and with `get_batch(numbers)` the batch itself, unless that returns None or the loader has a
    `collate_fn`. The sum of two is a `ConcatDataset`; `Dataset[int]` says in a signature or a base class what examples are.

    Example:
        >>> import numtorch as torch
        >>> class Squares(torch.utils.data.Dataset):
        ...     def __getitem__(self, index):
        ...         return index * index
        ...     def __len__(self):
        ...         return 4
        >>> list(torch.utils.data.DataLoader(Squares(), batch_size=2))
        [tensor([0, 1]), tensor([4, 9])]
    """

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_Example]):
    """Examples one after another. Subclasses implement `__iter__`. The sum of two is a `ChainDataset`.

    Example:
        >>> import numtorch as torch
        >>> class Count(torch.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(3))
        >>> list(torch.utils.data.DataLoader(Count(), batch_size=2))
        [tensor([0, 1]), tensor([2])]
    """

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Rows of tensors that belong together: example i is `(tensor[i] for each tensor)`.

    Args:
        tensors: of one first extent, the number of examples.

    Raises:
        AssertionError: the tensors' first extents differ.

    Example:
        >>> import numtorch as torch
        >>> torch.utils.data.TensorDataset(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([0, 1]))[1]
        (tensor([3., 4.]), tensor(1))
    """

    def __init__(self, *tensors) -> None:
        if any(len(t) != len(tensors[0]) for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def get_batch(self, indices: list):
        """Rows as a batch: one gather a tensor, instead of a stack of views.

        Args:
            indices: their numbers.
        """
        index = make(indices)
        return [tensor.index_select(0, index) for tensor in self.tensors]

    def __len__(self) -> int:
        return len(self.tensors[0])


class StackDataset(Dataset[_Example]):
    """Datasets side by side: example i is the tuple (or, for named ones, the dict) of their examples i.

    Args:
        args: datasets of one length; or
        kwargs: the same by name.

    Raises:
        ValueError: no datasets, both kinds, or lengths that differ.

    Example:
        >>> import numtorch as torch
        >>> dataset = torch.utils.data.StackDataset(image=[10, 20], label=["a", "b"])
        >>> dataset[1], len(dataset)
        ({'image': 20, 'label': 'b'}, 2)
    """

    def __init__(self: StackDataset[Any], *args, **kwargs) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError("StackDataset: expected datasets either by position or by name" if args else
                             "At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = {len(d) for d in (args or kwargs.values())}
        if len(lengths) != 1:
            raise ValueError("Size mismatch between datasets")
        self._length, = lengths

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[_Example]):
    """Datasets one after the other.

    Args:
        datasets: any iterable of them, with lengths.

    Attributes:
        cumulative_sizes: at which number each of them ends.

    Raises:
        AssertionError: no datasets, or an iterable one.
        IndexError, ValueError: in indexing, a number beyond the end, or before the beginning.

    Example:
        >>> import numtorch as torch
        >>> dataset = torch.utils.data.ConcatDataset([["a", "b"], ["c"]])
        >>> dataset[2], len(dataset)
        ('c', 3)
    """

    def __init__(self: ConcatDataset[Any], datasets) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(accumulate(map(len, self.datasets)))

    def __getitem__(self, index):
        if index < -len(self):
            raise ValueError("absolute value of index should not exceed dataset length")
        if index >= len(self):                           # ends a loop over the examples
            raise IndexError(f"ConcatDataset: index {index} is out of range for {len(self)} examples")
        index %= len(self)
        number = bisect_right(self.cumulative_sizes, index)
        return self.datasets[number][index - (self.cumulative_sizes[number - 1] if number else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


class ChainDataset(IterableDataset):
    """Iterable datasets one after the other.

    Args:
        datasets: any iterable of them.

    Example:
        >>> import numtorch as torch
        >>> list(torch.utils.data.ChainDataset([range(2), range(3)]))
        [0, 1, 0, 1, 2]
    """

    def __init__(self, datasets) -> None:
        super().__init__()
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            yield from dataset

    def __len__(self) -> int:
        return sum(map(len, self.datasets))


class Subset(Dataset[_Example]):
    """Some examples of a dataset.

    Args:
        dataset: by number.
        indices: the numbers, in the order they are to come.

    Example:
        >>> import numtorch as torch
        >>> subset = torch.utils.data.Subset(["a", "b", "c"], [2, 0])
        >>> subset[0], len(subset)
        ('c', 2)
    """

    def __init__(self: Subset[Any], dataset, indices) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices):
        fetch = getattr(self.dataset, "__getitems__", None)
        numbers = [self.indices[i] for i in indices]
        return fetch(numbers) if fetch is not None else [self.dataset[number] for number in numbers]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset, lengths, generator=None) -> list:
    """Random parts of a dataset that do not overlap.

    Args:
        dataset: with a length.
        lengths: how long each part is, or which share (they then sum to 1, and what rounding leaves goes to the first parts).
        generator: whose random numbers to use; the default one's when None.

    Returns:
        A list of `Subset`.

    Raises:
        ValueError: the lengths do not sum to the dataset's, or a share is outside [0, 1].

    Example:
        >>> import numtorch as torch
        >>> parts = torch.utils.data.random_split(range(10), [0.7, 0.3])
        >>> [len(part) for part in parts], sorted([*parts[0], *parts[1]])
        ([7, 3], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    lengths = list(lengths)
    if abs(sum(lengths) - 1) < 1e-9 and sum(lengths) <= 1 + 1e-9 and any(isinstance(n, float) for n in lengths):
        for number, share in enumerate(lengths):
            if not 0 <= share <= 1:
                raise ValueError(f"Fraction at index {number} is not between 0 and 1")
        sizes = [int(len(dataset) * share) for share in lengths]
        for extra in range(len(dataset) - sum(sizes)):
            sizes[extra % len(sizes)] += 1
        lengths = sizes
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(sum(lengths), generator=generator).tolist()
    return [Subset(dataset, order[end - length:end]) for length, end in zip(lengths, accumulate(lengths))]
