"""What tensors have of a device's memory, and what the driver has given for it (kernels/cuda/caching.py)."""
from __future__ import annotations

from .devices import Usage, _existing, _index, _machine, is_initialized, usage

__all__ = ["empty_cache", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved",
           "memory_stats", "memory_summary", "reset_accumulated_memory_stats", "reset_max_memory_allocated",
           "reset_max_memory_cached", "reset_peak_memory_stats"]


def _usage(device) -> Usage:
    return usage.setdefault(_existing(_index(device)), Usage())


def _allocator(device):
    index = _existing(_index(device))
    return _machine().allocator(index)


def empty_cache() -> None:
    """Give memory that no tensor has back to the driver, of every device: for other programs, or for larger blocks.

    Example:
        >>> import numtorch as torch
        >>> torch.cuda.empty_cache()
    """
    if is_initialized():
        for index in range(_machine().count):
            _machine().allocator(index).release()
        _machine().pinned.release()


def memory_allocated(device=None) -> int:
    """The bytes that tensors have on a device.

    Args:
        device: a device, its index or name; the current one when None.
    """
    return _usage(device).current[0]


def max_memory_allocated(device=None) -> int:
    """The most bytes that tensors had at a time, since `reset_peak_memory_stats`.

    Args:
        device: a device, its index or name; the current one when None.
    """
    return _usage(device).peak[0]


def memory_reserved(device=None) -> int:
    """The bytes that the driver has given: what tensors have, and what is kept for the next ones.

    Args:
        device: a device, its index or name; the current one when None.
    """
    return _allocator(device).reserved[0]


def max_memory_reserved(device=None) -> int:
    """The most bytes that the driver had given at a time, since `reset_peak_memory_stats`.

    Args:
        device: a device, its index or name; the current one when None.
    """
    return _allocator(device).peak[0]


def reset_peak_memory_stats(device=None) -> None:
    """Count the most bytes anew from what is allocated now.

    Args:
        device: a device, its index or name; the current one when None.
    """
    usage = _usage(device)
    usage.peak = list(usage.current)
    _allocator(device).reset_peak()


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device=None) -> None:
    """Count what was allocated and freed altogether anew from 0, and how often the driver had no more.

    Args:
        device: a device, its index or name; the current one when None.
    """
    usage = _usage(device)
    usage.total, usage.before = [0, 0], list(usage.current)
    _allocator(device).reset_obtained()


def mem_get_info(device=None) -> tuple[int, int]:
    """The bytes of a device that are free, and all that it has.

    Args:
        device: a device, its index or name; the current one when None.
    """
    return _machine().memory_info(_existing(_index(device)))


def memory_stats(device=None) -> dict:
    """What tensors have of a device, under PyTorch's names: `allocated_bytes.all.current`, `allocation.all.peak` and so on.

    Args:
        device: a device, its index or name; the current one when None.
    """
    usage, memory, stats = _usage(device), _allocator(device), {}
    given = memory.reserved, memory.peak, memory.obtained, memory.before
    used = usage.current, usage.peak, usage.total, usage.before
    for kinds, counts in ((("allocated_bytes", "allocation"), used), (("active_bytes", "active"), used),
                          (("reserved_bytes", "segment"), given)):
        for which, kind in enumerate(kinds):
            current, peak, total, before = (count[which] for count in counts)
            for name, value in dict(current=current, peak=peak, allocated=total, freed=before + total - current).items():
                stats[f"{kind}.all.{name}"] = value
    return {**stats, "num_ooms": memory.failures, "num_alloc_retries": memory.retries}


def memory_summary(device=None, abbreviated: bool = False) -> str:
    """A table of what tensors have of a device.

    Args:
        device: a device, its index or name; the current one when None.
        abbreviated: without what was allocated altogether.
    """
    index = _existing(_index(device))
    usage, (free, total) = _usage(index), mem_get_info(index)
    memory = _allocator(device)
    rows = [("allocated now", *usage.current), ("allocated at most", *usage.peak), ("reserved now", *memory.reserved)]
    rows += [] if abbreviated else [("allocated altogether", *usage.total)]
    lines = [f"cuda:{index}, {total / 2**20:.1f} MiB of which {free / 2**20:.1f} are free", f"{'':22}{'MiB':>12}{'blocks':>10}"]
    return "\n".join(lines + [f"{name:22}{nbytes / 2**20:12.2f}{blocks:10}" for name, nbytes, blocks in rows]) + "\n"
