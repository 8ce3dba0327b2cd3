"""Whether objects of Python still hold what they held, looked at in memory by one kernel: some hundred words in half a microsecond.

CPython keeps what a container holds as addresses of objects: a list's items, the values in a dict's table, what a cell refers to,
the slots of an object. While the objects that were held are alive, their addresses are theirs alone, so equal words mean equal
contents. Words are compared in order, and the first that differs ends the comparison: where a table lies is looked at before what
it has.

This is only ever a shortcut. Where a word differs, or where CPython's memory is not laid out as it was tested (`is_known`, which
tries it once), the objects are compared in Python, as `reach` does.
"""
from __future__ import annotations

import ctypes
import functools
import struct
import sys
import sysconfig
import types

import numpy as np

from ...kernels.compiler import compile_kernel
from ...kernels.intrinsics import as_pointer

_WORD = 8
_VERSION_TAG = 384                                       # where a class has it: behind `tp_del`
_VERSIONS = (3, 10), (3, 14)                             # of CPython: the first and the last whose objects are known
_OLD_TABLES = sys.version_info < (3, 11)                 # where dicts say the size of their table, and always have hashes
_VALUES = _WORD if sys.version_info >= (3, 13) else 0    # where the values of an object's attributes begin: behind their number


def compare_words(table, same, descriptor):
    """same[0] = 1 where each word is as expected; table: pairs of an address and a word."""
    same[0] = 0
    for i in range(descriptor[0]):
        if as_pointer(table[2 * i], table)[0] != table[2 * i + 1]:
            return
    same[0] = 1


@functools.cache
def _kernel():
    return compile_kernel(compare_words, ("int64*",) * 3)


def read(address) -> int:
    """The word at an address."""
    return ctypes.c_int64.from_address(address).value


class Words:
    """Words of memory that are expected to stay.

    Args:
        pairs: addresses, each with the word there, in the order in which they are looked at.
    """

    def __init__(self, pairs) -> None:
        self.table = np.array([word for pair in pairs for word in pair], np.int64)
        self.count, self.same = np.array([len(pairs)], np.int64), ctypes.c_int64()
        self.words = self.table.ctypes.data, ctypes.addressof(self.same), self.count.ctypes.data
        self.call = _kernel().call

    def are_same(self) -> bool:
        """Whether all words are as they were."""
        self.call(*self.words)
        return self.same.value == 1


# ---------------------------------------------------------------- where CPython has them
class Unknown(Exception):
    """An object is not laid out as expected."""


def _field(address, wanted=None):
    word = read(address)
    if wanted is not None and word != wanted:
        raise Unknown
    return address, word


def of_list(value) -> list:
    """The words of a list: its length, where its items lie, and each of them."""
    pairs = [_field(id(value) + 16, len(value)), _field(id(value) + 24)]
    return pairs + [_field(pairs[1][1] + _WORD * i, id(each)) for i, each in enumerate(value)]


def of_length(value) -> tuple:
    """The word of a dict that is how many it has."""
    return _field(id(value) + 16, len(value))


def of_count(identity) -> tuple:
    """The word of an object that counts the references to it.

    Args:
        identity: the object's `id`, so that asking is none.
    """
    return _field(identity)


def of_set(value) -> list:
    """The word of an empty set: how many elements it has. Raises Unknown for others."""
    if value:
        raise Unknown
    return [_field(id(value) + 24, 0)]


def of_cell(cell) -> list:
    """The word of a cell: what it refers to."""
    return [_field(id(cell) + 16, id(cell.cell_contents))]


def of_dict(value, keys=None) -> list:
    """The words of a dict: how many it has, where its table lies, and keys and values.

    Args:
        value: the dict.
        keys: those whose values matter; None for all. Without all, so does their number, since one that is missing may come.
    """
    pairs = [_field(id(value) + 16, len(value)), _field(id(value) + 32), _field(id(value) + 40)]
    if not value:                                        # wherever its table lies, there is nothing in it
        return pairs[:1]
    table, values = pairs[1][1], pairs[2][1]
    entries, count, hashed = _entries(table)
    places = {}
    for i in range(count):
        key_at = entries + _WORD * ((2 + hashed) * i + hashed)
        places[read(key_at)] = key_at, values + _VALUES + _WORD * i if values else key_at + _WORD
    for key, each in value.items():
        if keys is None or key in keys:
            key_at, value_at = places[_identity(key, places)]
            pairs += [_field(key_at), _field(value_at, id(each))]
    return pairs


def _entries(table):
    """Where a dict's table has its entries, behind the indices that hashes lead to; how many there are; and whether each has its
    hash, before its key and value."""
    if _OLD_TABLES:
        size = read(table + 8)
        return table + 40 + size * next(width for width in (1, 2, 4, 8) if size < 1 << 8 * width), read(table + 32), True
    log_indices, kind = ctypes.c_uint8.from_address(table + 9).value, ctypes.c_uint8.from_address(table + 10).value
    return table + 32 + (1 << log_indices), read(table + 24), kind == 0


def _identity(key, places):
    if id(key) not in places:
        raise Unknown
    return id(key)


def of_object(value, held) -> list:
    """The words of an object that refer to what it holds directly: of its slots."""
    first, last = id(value) + 16, id(value) + type(value).__basicsize__
    words = struct.unpack(f"{(last - first) // _WORD}q", ctypes.string_at(first, last - first))
    pairs = []
    for each in held:
        at = [i for i, word in enumerate(words) if word == id(each)]
        if not at:
            raise Unknown
        pairs += [_field(first + _WORD * i, id(each)) for i in at]
    return pairs


@functools.cache
def _function_places() -> dict:
    """Where a function has what decides on a call of it, by its attributes."""
    def sample(x=1, *, y=2):
        return x, y
    words = [read(id(sample) + place) for place in range(0, type(sample).__basicsize__, _WORD)]
    return {name: _WORD * words.index(id(getattr(sample, name))) for name in ("__code__", "__defaults__", "__kwdefaults__")}


def of_function(value) -> list:
    """The words of a function that are its code and its defaults; where it has none of these, too."""
    return [_field(id(value) + place) for place in _function_places().values()]


def of_class(kind) -> tuple:
    """The word of a class in which CPython numbers its states: another number, never used before, where an attribute of it or of a
    base changes. Raises Unknown where it has none yet."""
    pair = _field(id(kind) + _VERSION_TAG)
    if not pair[1]:
        raise Unknown
    return pair


def of_kind(value) -> tuple:
    """The word of an object that refers to its class."""
    return _field(id(value) + _WORD, id(type(value)))


def of_own_dict(value) -> list:
    """The word of an object that refers to the dict of its attributes: before it where Python manages that, else in it."""
    own = vars(value)                                    # which may make it
    if read(id(value) - 3 * _WORD) == id(own):
        return [_field(id(value) - 3 * _WORD)]
    return of_object(value, [own])


def of_slot(value, name) -> tuple:
    """The word of one slot of an object: 0 where it is empty."""
    descriptor = next(kind.__dict__[name] for kind in type(value).__mro__ if name in kind.__dict__)
    if type(descriptor) is not types.MemberDescriptorType:
        raise Unknown
    offset = read(read(id(descriptor) + 40) + 16)
    return _field(id(value) + offset, id(getattr(value, name)) if hasattr(value, name) else 0)


# ---------------------------------------------------------------- whether it has
class _Sample:
    __slots__ = ("a", "b")


class _Plain:
    pass


class _Other:
    pass


def _changes(value, words, change):
    """Whether words are the same before a change, and not after."""
    watched = Words(words(value))
    before = watched.are_same()
    change(value)
    return before and not watched.are_same()


def _with_tag():
    """A class that has its number."""
    base = type("Base", (), {"other": 1})
    kind = type("Kind", (base,), {"method": 1})
    hasattr(kind, "method")                              # looking one up is what gives it one
    return kind


@functools.cache
def is_known() -> bool:
    """Whether this Python's objects are laid out as is expected here: each kind is changed in each way, and looked at."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != _WORD or hasattr(sys, "getobjects"):
        return False
    if not _VERSIONS[0] <= sys.version_info[:2] <= _VERSIONS[1] or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    objects = [object() for _ in range(40)]
    keyed = {f"key {i}": each for i, each in enumerate(objects)}
    plain, other = _Plain(), _Plain()
    for each in (plain, other):
        each.x, each.y = objects[0], objects[1]
    sample = _Sample()
    sample.a, sample.b = objects[0], objects[1]

    try:
        changed = [
            _changes(list(objects), of_list, lambda x: x.__setitem__(7, objects[8])),
            _changes(list(objects), of_list, lambda x: x.append(objects[8])),
            _changes(list(objects), of_list, lambda x: x.__setitem__(slice(None), objects[::-1])),
            *[_changes(make(), of_dict, change) for make in (lambda: dict(keyed), lambda: {**keyed, 1: 2}) for change in (
                lambda x: x.__setitem__("key 3", objects[8]), lambda x: x.pop("key 5"), lambda x: x.update(more=1),
                lambda x: x.update({str(i): objects[0] for i in range(999)}))],
            _changes({**keyed}, lambda x: of_dict(x, {"key 3"}), lambda x: x.__setitem__("key 3", objects[8])),
            not _changes({**keyed}, lambda x: of_dict(x, {"key 3"}), lambda x: x.__setitem__("key 4", objects[8])),
            _changes({}, of_dict, lambda x: x.update(more=1)),
            _changes(_Plain(), lambda x: of_dict(vars(x)), lambda x: setattr(x, "x", objects[5])),
            _changes(set(), of_set, lambda x: x.add(1)),
            _changes(plain, lambda x: of_dict(vars(x)), lambda x: setattr(x, "y", objects[5])),
            _changes(other, lambda x: of_dict(vars(x)), lambda x: setattr(x, "z", objects[5])),
            _changes(_Plain(), of_own_dict, lambda x: setattr(x, "__dict__", {})),
            _changes(sample, lambda x: [of_slot(x, "a"), of_slot(x, "b")], lambda x: setattr(x, "b", objects[5])),
            _changes(sample, lambda x: [of_slot(x, "a"), of_slot(x, "b")], lambda x: delattr(x, "a")),
            _changes(sample, lambda x: [of_slot(x, "a"), of_slot(x, "b")], lambda x: setattr(x, "a", objects[5])),
            _changes(_Plain(), lambda x: [of_kind(x)], lambda x: setattr(x, "__class__", _Other)),
            _changes(types.CellType(keyed), of_cell, lambda x: setattr(x, "cell_contents", objects)),
            _changes({**keyed}, lambda x: [of_length(x)], lambda x: x.pop("key 5")),
            _changes([object()], lambda x: [of_count(id(x[0]))], lambda x: x.append(x[0])),
            *[_changes(make(), of_function, lambda x, name=name, new=new: setattr(x, name, new))
              for name, new in (("__code__", (lambda: keyed).__code__), ("__defaults__", (keyed,)), ("__kwdefaults__", keyed))
              for make in (lambda: lambda: keyed, lambda: lambda a=1, *, b=2: keyed)],
            *[_changes(_with_tag(), lambda x: [of_class(x)], change) for change in (
                lambda x: setattr(x, "method", objects[0]), lambda x: setattr(x.__base__, "other", objects[0]),
                lambda x: setattr(x, "new", objects[0]), lambda x: delattr(x.__base__, "other"))]]
    except (Unknown, StopIteration, KeyError, ValueError):
        return False
    return all(changed)
