"""What a runtime calls a stream."""
from __future__ import annotations

from typing import NamedTuple


class Handle(NamedTuple):
    """A stream: its device, and what the driver calls it; 0 is a device's default stream."""
    device: int
    number: int

    def __int__(self):
        return self.number
