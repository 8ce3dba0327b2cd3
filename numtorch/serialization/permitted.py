"""What a file that is read with `weights_only=True` may use besides tensors, numbers, strings and containers: what users allow."""
from __future__ import annotations

from collections.abc import Sequence

allowed: list = []


def add_safe_globals(safe_globals: Sequence) -> None:
    """Let files that `load` reads with `weights_only=True` use these classes and functions too.

    Args:
        safe_globals: classes or functions; or pairs of one and the full name that the file gives it.

    Example:
        >>> import numtorch as torch
        >>> torch.serialization.add_safe_globals([torch.Generator])
        >>> torch.Generator in torch.serialization.get_safe_globals()
        True
        >>> torch.serialization.clear_safe_globals()
    """
    allowed.extend(safe_globals)


def get_safe_globals() -> list:
    """What `add_safe_globals` has added.

    Example:
        >>> import numtorch as torch
        >>> torch.serialization.get_safe_globals()
        []
    """
    return list(allowed)


def clear_safe_globals() -> None:
    """Take back what `add_safe_globals` has added.

    Example:
        >>> import numtorch as torch
        >>> torch.serialization.clear_safe_globals()
        >>> torch.serialization.get_safe_globals()
        []
    """
    allowed.clear()


class safe_globals:
    """Inside, files may use these too, as after `add_safe_globals`.

    Args:
        safe_globals: classes or functions; or pairs of one and the full name that the file gives it.

    Example:
        >>> import numtorch as torch
        >>> with torch.serialization.safe_globals([torch.Generator]):
        ...     len(torch.serialization.get_safe_globals())
        1
    """

    def __init__(self, safe_globals: Sequence) -> None:
        self.added = list(safe_globals)

    def __enter__(self):
        self.before = list(allowed)
        add_safe_globals(self.added)

    def __exit__(self, *exception):
        allowed[:] = self.before
