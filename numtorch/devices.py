"""Devices: where a tensor's memory lives. A `device` is a name and an index, nothing else."""
from __future__ import annotations


class device:
    """`device("cpu")`, `device("cuda")`, `device("cuda", 1)`, `device("cuda:1")`. Equal devices are one object."""

    __slots__ = ("type", "index")
    _interned: dict[tuple[str, int | None], device] = {}

    def __new__(cls, type, index=None):
        if isinstance(type, device):
            return type
        if isinstance(type, int) and not isinstance(type, bool):
            type, index = "cuda", type
        if not isinstance(type, str):
            raise TypeError(f"device: expected a string such as 'cpu' or 'cuda:0', got {type!r}")
        name = type
        if ":" in type:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
            type, _, number = type.partition(":")
            if not number.isdigit():
                raise RuntimeError(f"Invalid device string: '{name}'")
            index = int(number)
        if type not in ("cpu", "cuda"):
            raise RuntimeError(f"Expected one of cpu, cuda device type at start of device string: {name}")
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must not be negative, got {index}")
        key = (type, index)
        found = cls._interned.get(key)
        if found is None:
            found = object.__new__(cls)
            found.type, found.index = key
            found = cls._interned.setdefault(key, found)
        return found

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self):
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __reduce__(self):
        return device, (self.type, self.index)


cpu = device("cpu")
