"""What a process that loads data knows of itself."""
from __future__ import annotations

from typing import Any, NamedTuple


class WorkerInfo(NamedTuple):
    """A worker's number, how many there are, its seed, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_info: list[WorkerInfo] = []


def set_worker_info(info: WorkerInfo) -> None:
    """Say that this process is a worker."""
    _info[:] = [info]


def get_worker_info() -> WorkerInfo | None:
    """What a worker of a DataLoader knows of itself: `id`, `num_workers`, `seed` and `dataset`; None in other processes. An
    iterable dataset asks which part of its examples to give.

    Example:
        >>> import numtorch as torch
        >>> torch.utils.data.get_worker_info() is None
        True
        >>> class Numbers(torch.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         info = torch.utils.data.get_worker_info()
        ...         assert info is not None              # in a worker
        ...         return iter(range(info.id, 6, info.num_workers))
        >>> sorted(torch.utils.data.DataLoader(Numbers(), batch_size=None, num_workers=2))
        [0, 1, 2, 3, 4, 5]
    """
    return _info[0] if _info else None
