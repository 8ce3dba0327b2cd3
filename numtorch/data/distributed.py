"""The part of a dataset that one of several processes reads."""
from __future__ import annotations

from itertools import cycle, islice

from ..ops.core.generator import Generator
from ..ops.random.draws import randperm
from .sampler import Sampler


class DistributedSampler(Sampler):
    """Every `num_replicas`-th example, from the `rank`-th on, so that processes read different ones, as many each.

    Args:
        dataset: what is read, with a length.
        num_replicas: how many processes there are.
        rank: which of them this is.
        shuffle: whether the order is drawn anew for each epoch that `set_epoch` names.
        seed: of that order, the same in all processes.
        drop_last: whether what is left over is dropped; else the first examples are read again.

    Raises:
        RuntimeError: no number of processes or no rank, as there is no process group to ask.
        ValueError: a rank that is not one of them.

    Example:
        >>> import numtorch as torch
        >>> sampler = torch.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False)
        >>> list(sampler)
        [1, 3, 0]
    """

    def __init__(self, dataset, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True, seed: int = 0,
                 drop_last: bool = False) -> None:
        if num_replicas is None or rank is None:
            raise RuntimeError("DistributedSampler: pass num_replicas and rank: numtorch has no torch.distributed to ask for them")
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.epoch, self.drop_last, self.shuffle, self.seed = 0, drop_last, shuffle, seed
        self.num_samples = len(dataset) // num_replicas if drop_last else -(-len(dataset) // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        order = list(range(len(self.dataset)))
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = randperm(len(order), generator=generator).tolist()
        return islice(cycle(order), self.rank, self.total_size, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch's order comes next.

        Args:
            epoch: its number.
        """
        self.epoch = epoch

    def state_dict(self) -> dict:
        """Which epoch's order comes next."""
        return {"epoch": self.epoch}

    def load_state_dict(self, state_dict: dict) -> None:
        """Go back to the order of an epoch.

        Args:
            state_dict: what `state_dict()` gave.
        """
        self.epoch = state_dict["epoch"]
