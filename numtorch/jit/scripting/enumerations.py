"""Enumerations of the user's as types of scripts. A file holds their members' names and values: what a loaded script gives is a
member of an enumeration of that name, which equals the user's of that name and value."""
from __future__ import annotations

import enum
from typing import Any

from .kinds import Kind, kind_of, list_of
from .problems import NotSupportedError


def is_enumeration(value: Any) -> bool:
    """Whether a value is a class of constants that have names."""
    return isinstance(value, type) and issubclass(value, enum.Enum)


def _identity(member):
    return type(member).__name__, member.name, member.value


class Loaded(enum.Enum):
    """What enumerations from files are derived from: their members equal those of the class that the script was made with, as do
    those of an `IntEnum` anyway."""

    def __eq__(self, other):
        return isinstance(other, enum.Enum) and _identity(self) == _identity(other)

    def __hash__(self):
        return hash(self.name)                           # as enumerations have it


class Enumeration:
    """An enumeration.

    Args:
        name: under which the unit's scripts have it.
        members: the class.

    Attributes:
        result: the type of its members.
        values: the type of what they stand for.

    Raises:
        NotSupportedError: the members are not all ints, all floats or all strings.
    """

    def __init__(self, name: str, members: Any) -> None:
        self.name, self.members = name, members
        self.result = Kind("Enum", (self,))
        kinds = {kind_of(each.value) for each in members}
        if len(kinds) != 1 or next(iter(kinds)).name not in ("int", "float", "str"):
            said = ", ".join(sorted(map(str, kinds)))
            raise NotSupportedError(f"jit.script: the values of {members.__name__} are of types {said}: "
                                    "those of an enumeration are all ints, all floats or all strings")
        self.values, = kinds

    def accepts(self, value: Any) -> bool:
        """Whether a value is a member, or one of the user's where this enumeration is from a file.

        Args:
            value: it.
        """
        return isinstance(value, self.members) or (issubclass(self.members, Loaded) and isinstance(value, enum.Enum)
                                                   and _identity(value) in map(_identity, self.members))

    def constant(self, path: str) -> tuple[Any, Kind] | None:
        """What a path from the class on is, with its type: all members, a member, or its name or value. None for anything else.

        Args:
            path: such as `RED.value`, or nothing.
        """
        if not path:
            return tuple(self.members), list_of(self.result)
        name, _, rest = path.partition(".")
        if name not in self.members.__members__ or rest not in ("", "name", "value"):
            return None
        member = self.members[name]
        return (getattr(member, rest), self.attributes[rest]) if rest else (member, self.result)

    @property
    def attributes(self) -> dict[str, Kind]:
        """The types of a member's attributes."""
        return {"name": Kind("str"), "value": self.values}

    def content(self) -> dict:
        """What a file holds of it."""
        return {"members": [(each.name, each.value) for each in self.members],
                "mixed": issubclass(self.members, (int, float, str)),
                "written": "value" if all(f"{each}" == f"{each.value}" for each in self.members) else "name"}


def from_content(name: str, entry: dict) -> Enumeration:
    """The enumeration of what a file holds.

    Args:
        name: its own.
        entry: as `content()` gives it.

    Raises:
        ValueError, TypeError, KeyError: it is damaged.
    """
    members = [(str(member), value) for member, value in entry["members"]]
    if not all(type(value) in (int, float, str) and member.isidentifier() and member[0] != "_" for member, value in members):
        raise ValueError(f"{name} is no enumeration")
    functional: Any = Loaded                             # with numbers or strings mixed in, as into an `IntEnum`
    made = functional(name, members, type=type(members[0][1]) if entry["mixed"] else None)
    if entry["written"] == "value":
        made.__str__, made.__format__ = lambda self: str(self.value), lambda self, form: format(self.value, form)
    return Enumeration(name, made)
