"""Sizes as tuples, as layers of a user's own expand them."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse"):
    """A function that makes a tuple of an iterable, or `n` times anything else."""
    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else (x,) * n
    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = (_ntuple(n, name) for n, name in enumerate(("_single", "_pair", "_triple", "_quadruple"), 1))


def _reverse_repeat_tuple(t, n: int) -> tuple:
    """Each element `n` times, the last first: paddings of dimensions in the order of `nn.functional.pad`."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size, defaults) -> list | int:
    """A size with what is None taken from the last of the defaults. Raises ValueError where there are too few."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [d if size is None else size for size, d in zip(out_size, defaults[-len(out_size):])]


def consume_prefix_in_state_dict_if_present(state_dict: dict, prefix: str) -> None:
    """Take a prefix off the keys of a state dict, in place: `module.` is what wrapped models saved.

    Args:
        state_dict: from names to tensors.
        prefix: what to take off where a key begins with it.

    Example:
        >>> from numtorch.nn.modules.utils import consume_prefix_in_state_dict_if_present
        >>> saved = {"module.weight": 1, "bias": 2}
        >>> consume_prefix_in_state_dict_if_present(saved, "module.")
        >>> saved
        {'weight': 1, 'bias': 2}
    """
    renamed = OrderedDict((key.removeprefix(prefix), value) for key, value in state_dict.items())
    state_dict.clear()
    state_dict.update(renamed)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        for key in [k for k in metadata if k.startswith(prefix) or k == prefix.removesuffix(".")]:
            value = metadata.pop(key)
            if key.startswith(prefix):
                metadata[key.removeprefix(prefix)] = value
