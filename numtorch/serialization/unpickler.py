"""What the pickle in a file may do while `torch.load` reads it.

`Unpickler` gives PyTorch's names back their meanings and runs whatever else the file says: for files that are trusted.
`WeightsOnlyUnpickler` lets a file build tensors, numbers, strings and containers, and what `torch.serialization.add_safe_globals`
allows. A file that it reads can neither run code nor take more time and memory than its length accounts for: what is called is
picked from a list, what is written to is a plain container, and whatever copies or hashes what the pickle holds already is
paid from an allowance, since a few bytes may ask for it again and again. The storages are read in rebuilding.py.
"""
from __future__ import annotations

import functools
import importlib
import io
import pickle
import struct
from collections import Counter, OrderedDict

from ..devices import device
from ..layout import Size
from .permitted import allowed

_FORBIDDEN = b"".join([pickle.PERSID, pickle.INST, pickle.OBJ, pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.NEWOBJ_EX,
                       pickle.NEXT_BUFFER, pickle.READONLY_BUFFER])


def _import_name(item):
    """Under which module and name a file asks for something allowed."""
    name = item[1] if isinstance(item, tuple) else f"{item.__module__}.{item.__qualname__}"
    return name.rpartition(".")[0], name.rpartition(".")[2]


def _length(thing):
    return len(thing) if isinstance(thing, (tuple, list, dict, str, bytes, bytearray)) else 0


_BUILTIN = {"_C._nn": "nn.functional", "_C": ""}         # functions in C++ that modules hold


def _of_pytorch(path, name):
    """What stands here for something of PyTorch's that a trusted file names: never PyTorch's own.

    Raises:
        pickle.UnpicklingError: there is nothing for it; its sentence says what to do.
    """
    place = ".".join(part for part in (__name__.partition(".")[0], _BUILTIN.get(path, path)) if part)
    try:
        result = importlib.import_module(place)
        for part in name.split("."):
            result = getattr(result, part)
    except (ImportError, AttributeError) as error:
        raise pickle.UnpicklingError(f"load: the file holds a torch{'.' * bool(path)}{path}.{name}, which has nothing here: "
                                     f"{error}. Save the state_dict instead, and load it into a module made here.") from None
    return result


class Unpickler(pickle._Unpickler):                      # the one in Python, whose steps can be watched
    """Runs a pickle.

    Args:
        pickled: its bytes.
        meanings: what stands for each (module, name) of PyTorch's.
        storage_of: gives the tensor for a storage's persistent id.
        options: of `pickle.Unpickler`.
    """

    def __init__(self, pickled: bytes, meanings, storage_of, **options) -> None:
        self.pickled = io.BytesIO(pickled)
        super().__init__(self.pickled, **options)
        self.meanings, self.storage_of = meanings, storage_of

    def find_class(self, module, name):
        meaning = self.meanings.get((module, name))
        if meaning is not None:
            return meaning
        root, _, path = module.partition(".")
        return super().find_class(module, name) if root != "torch" else _of_pytorch(path, name)

    def persistent_load(self, pid):
        return self.storage_of(pid)


def _absent(module, name):
    """Why something of PyTorch is not here, and what to do; None for what is here, or is not PyTorch's."""
    if module.partition(".")[0] != "torch":
        return None
    from ..alias import ABSENT
    return ABSENT.get(f"{module}.{name}".partition(".")[2])


class WeightsOnlyUnpickler(Unpickler):
    """Runs a pickle that may be anybody's.

    Raises:
        EOFError: it ends early.
        pickle.UnpicklingError: it asks for what is not allowed, or it is damaged.
        RuntimeError: a storage of the file is damaged, or a tensor reaches out of its own.
    """

    def __init__(self, pickled: bytes, meanings, storage_of, **options) -> None:
        super().__init__(pickled, meanings, storage_of, **options)
        self.allowed = {_import_name(item): item[0] if isinstance(item, tuple) else item for item in allowed}
        own = {
            ("collections", "OrderedDict"): self._ordered_dict, ("collections", "Counter"): self._counter,
            ("builtins", "set"): functools.partial(self._set, set), ("builtins", "complex"): complex,
            ("builtins", "frozenset"): functools.partial(self._set, frozenset),
            ("builtins", "bytearray"): self._bytearray, ("torch", "Size"): self._size,
            ("torch", "device"): device, ("_codecs", "encode"): self._encode}
        self.meanings = {**meanings, **own}
        self.callable = [*own.values(), *[meaning for (module, name), meaning in meanings.items()
                                          if name.startswith(("_rebuild", "_get_layout", "Uninitialized"))],
                         *self.allowed.values()]
        self.allowance = 1 << 12 | 8 * len(pickled)
        self.of_storage = None                           # what was raised where a storage is read: by the caller's file or function

    def load(self):
        try:
            return super().load()
        except pickle.UnpicklingError:
            raise
        except EOFError:
            raise EOFError("Weights only load failed: the file ends early") from None
        except RecursionError as error:
            raise self._damaged(error) from None
        except RuntimeError:                             # of a storage or of a tensor in it
            raise
        except Exception as error:
            if error is self.of_storage:
                raise
            raise self._damaged(error) from error

    @staticmethod
    def _damaged(error):
        return pickle.UnpicklingError(f"Weights only load failed: the file is damaged: {type(error).__name__}: {error}")

    @staticmethod
    def _refuse(what):
        raise pickle.UnpicklingError(f"Weights only load failed: the file {what}")

    def find_class(self, module, name):
        if module == "__builtin__":                      # protocol 2 writes Python 2's name
            module = "builtins"
        for known in (self.meanings, self.allowed):
            if (module, name) in known:
                return known[module, name]
        absent = _absent(module, name)
        if absent is not None:
            self._refuse(f"asks for {module}.{name}, which numtorch has not: {absent}")
        self._refuse(f"asks for {module}.{name}, which is not an allowed global by default. If you trust it, allow it with "
                     f"`torch.serialization.add_safe_globals([{name}])`, or load with `weights_only=False`, which runs whatever "
                     f"code the file says: do that with files from a source you trust only.")

    def persistent_load(self, pid):
        view = pid[5] if type(pid) is tuple and len(pid) == 6 else None      # of a storage, in files from before 1.6
        if not (type(pid) is tuple and len(pid) in (5, 6) and type(pid[0]) is str and pid[0] == "storage" and view is None):
            self._refuse("refers to something that is no storage")
        try:
            return super().persistent_load(pid)
        except Exception as error:
            self.of_storage = error
            raise

    # ------------------------------------------------------------ what may be taken again and again, and what is a key
    def _pay(self, amount):
        self.allowance -= amount
        if self.allowance < 0:
            self._refuse("says the same so often that reading it would take more than its length accounts for")

    def _check_keys(self, keys):
        """Keys are hashed and compared as the trees that they spell out, in C and without a look at the stack: a short pickle can
        nest tuples a million deep, or hold one in itself twice, forty times over."""
        for key in keys:
            if isinstance(key, (tuple, frozenset)):
                inside, weight = [iter(key)], len(key)
                while inside:
                    part = next(inside[-1], inside)
                    if part is inside:
                        inside.pop()
                    elif isinstance(part, (tuple, frozenset)):
                        inside.append(iter(part))
                        weight += len(part)
                    if weight > 1000 or len(inside) > 100:
                        self._refuse("has keys of too many parts")
                self._pay(weight)

    def _items(self, items, kinds):
        """What is copied: a plain container, which is paid for."""
        if type(items) not in kinds:
            self._refuse(f"makes a container of a {type(items).__name__}")
        self._pay(len(items))
        return items

    def _ordered_dict(self, items=()):
        out = OrderedDict()
        pairs = self._items(items, (list, tuple, dict, OrderedDict))
        for pair in pairs.items() if isinstance(pairs, dict) else pairs:
            if type(pair) not in (list, tuple) or len(pair) != 2:
                self._refuse("makes an OrderedDict of something else than pairs")
            self._check_keys(pair[:1])
            out[pair[0]] = pair[1]
        return out

    def _counter(self, counts=None):
        return Counter({} if counts is None else self._items(counts, (dict,)))

    def _set(self, kind, items=()):
        items = self._items(items, (list, tuple, set, frozenset))
        self._check_keys(items)
        return kind(items)

    def _size(self, extents=()):
        if any(type(extent) is not int for extent in self._items(extents, (tuple, list))):
            self._refuse("has a torch.Size of something else than ints")
        return Size(extents)

    def _bytearray(self, content=b"", encoding=None):    # an int would be a size
        return bytearray(self._items(content, (bytes,)) if encoding is None else self._encode(content, encoding))

    def _encode(self, text, encoding):
        """`codecs.encode` for the one encoding that bytes are written in."""
        if encoding not in ("latin1", "latin-1"):
            self._refuse(f"has bytes in the encoding {encoding!r}")
        return self._items(text, (str,)).encode("latin1")

    # ------------------------------------------------------------ steps
    def _is_allowed(self, thing):
        return any(thing is each for each in self.allowed.values())

    def load_reduce(self):
        function, args = self.stack[-2:]
        if not any(function is each for each in self.callable):
            self._refuse(f"calls {function!r}, which it may not")
        if type(args) is not tuple:
            self._refuse(f"calls {function!r} with a {type(args).__name__}")
        for arg in args:                                 # shapes, attributes of parameters, numbers in words
            self._pay(_length(arg) + (sum(map(_length, arg)) if type(arg) is tuple else 0))
        pickle._Unpickler.load_reduce(self)

    def load_newobj(self):
        if not self._is_allowed(self.stack[-2]):
            self._refuse(f"makes an object of {self.stack[-2]!r}")
        pickle._Unpickler.load_newobj(self)

    def load_build(self):
        holder = self.stack[-2]
        if type(holder) is OrderedDict:                  # a state_dict and its `_metadata`
            state = self._items(self.stack.pop(), (dict,))
            if any(type(name) is not str for name in state):
                self._refuse("has attributes whose names are no strings")
            vars(holder).update(state)
        elif self._is_allowed(type(holder)):
            pickle._Unpickler.load_build(self)
        else:
            self._refuse(f"sets attributes of a {type(holder).__name__}")

    def _check_target(self, target, kinds):
        if type(target) not in kinds and not self._is_allowed(type(target)):
            self._refuse(f"puts items into a {type(target).__name__}")

    def load_append(self):
        self._check_target(self.stack[-2], (list,))
        pickle._Unpickler.load_append(self)

    def load_appends(self):
        self._check_target(self.metastack[-1][-1], (list,))
        pickle._Unpickler.load_appends(self)

    def load_setitem(self):
        self._check_target(self.stack[-3], (dict, OrderedDict, Counter))
        self._check_keys(self.stack[-2:-1])
        pickle._Unpickler.load_setitem(self)

    def load_setitems(self):
        self._check_target(self.metastack[-1][-1], (dict, OrderedDict, Counter))
        self._check_keys(self.stack[::2])
        pickle._Unpickler.load_setitems(self)

    def load_dict(self):
        self._check_keys(self.stack[::2])
        pickle._Unpickler.load_dict(self)

    def load_additems(self):
        self._check_target(self.metastack[-1][-1], (set,))
        self._check_keys(self.stack)
        pickle._Unpickler.load_additems(self)

    def load_frozenset(self):
        self._check_keys(self.stack)
        pickle._Unpickler.load_frozenset(self)

    def load_bytearray8(self):
        self.append(bytearray(self.read(struct.unpack("<Q", self.read(8))[0])))      # read first: a length is no promise

    def load_forbidden(self):
        self._refuse("is damaged, or takes a step that is not allowed")

    dispatch: dict = {
        **dict.fromkeys(range(256), load_forbidden), **pickle._Unpickler.dispatch, **dict.fromkeys(_FORBIDDEN, load_forbidden),
        pickle.REDUCE[0]: load_reduce, pickle.NEWOBJ[0]: load_newobj, pickle.BUILD[0]: load_build,
        pickle.APPEND[0]: load_append, pickle.APPENDS[0]: load_appends, pickle.SETITEM[0]: load_setitem,
        pickle.SETITEMS[0]: load_setitems, pickle.DICT[0]: load_dict, pickle.ADDITEMS[0]: load_additems,
        pickle.FROZENSET[0]: load_frozenset, pickle.BYTEARRAY8[0]: load_bytearray8}
