"""`torch.__version__` where `import torch` leads to numtorch: programs choose by it what they call, and refuse what is old."""
from __future__ import annotations

import re

__all__ = ["PYTORCH", "TorchVersion"]

PYTORCH = "2.13.0"                                       # whose programming model this is
_FORM = re.compile(r"v?(\d+(?:\.\d+)*)[._-]?(?:(dev|a|b|rc|post)[a-z]*[._-]?(\d*))?.*?(?:\+(.*))?$")
_ORDER = {"dev": -4, "a": -3, "b": -2, "rc": -1, None: 0, "post": 1}


def _key(version) -> tuple | None:
    """What versions are ordered by: numbers without the zeros at their end, what comes before or after a release, the build."""
    match = _FORM.match(".".join(map(str, version)) if isinstance(version, (tuple, list)) else str(version).strip())
    if match is None:
        return None
    release, stage, number, build = match.groups()
    numbers = [int(n) for n in release.split(".")]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return tuple(numbers), _ORDER[stage], int(number or 0), build or ""


class TorchVersion(str):
    """A version that is compared by its numbers, with strings and tuples: "2.13.0" is above "2.4", and above (1, 8).

    Example:
        >>> from numtorch.alias.versions import TorchVersion
        >>> TorchVersion("2.13.0") >= "2.4", TorchVersion("2.13.0") > (3, 0)
        (True, False)
    """

    __slots__ = ()

    def _compared(self, other, compare):
        keys = _key(self), _key(other)
        return getattr(str, compare)(self, str(other)) if None in keys else getattr(tuple, compare)(*keys)

    def __lt__(self, other):
        return self._compared(other, "__lt__")

    def __le__(self, other):
        return self._compared(other, "__le__")

    def __gt__(self, other):
        return self._compared(other, "__gt__")

    def __ge__(self, other):
        return self._compared(other, "__ge__")

    def __eq__(self, other):
        return self._compared(other, "__eq__")

    def __ne__(self, other):
        return self._compared(other, "__ne__")

    __hash__ = str.__hash__
