"""Storage: the memory behind tensors, and the allocator that recycles it.

A Storage owns a block (or keeps the owner of foreign memory alive), knows its address, and counts in-place writes so that the tape
can notice them. It counts the bytes that were asked for: views and files end where they do, and not where the block does, which is
rounded up. Small blocks are recycled through rings: a deque of storages per size, where a storage that nobody else refers to
(CPython's reference count says so) is handed out again, in a fifth of the time of a new NumPy block. Blocks above 64 KiB go to
last-in-first-out lists when their storage dies: the block used last is the one still in the cache (a million additions take 0.3 of
the time so). Where that takes a seventh of exp of all elements, up to 128 KiB, blocks have a short ring before the list. Other
devices plug in with an allocator of their own.
"""
from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
import weakref
from collections import deque
from ctypes import addressof, c_char
from mmap import PAGESIZE
from sys import getrefcount

import numpy as np

from .devices import cpu
from .finalisers import LAST
from .kernels import debugmemory
from .kernels.forks import survive_fork

SMALL = 1 << 16                                          # bytes; larger blocks go to the free lists
RINGED = 1 << 17                                         # bytes; larger blocks have no ring
ALL_RINGED = 1 << 26                                     # bytes in all rings together
ALIGNMENT = 64
PAGED = 1 << 22                                         # bytes; larger blocks are whole pages


class Storage:
    """A block of memory.

    Attributes:
        address, nbytes: where it is and how large.
        device: where that is.
        version: how many in-place writes it has seen.
        writer: the name of the op that wrote to it in place last.
        owner: what keeps the memory alive.
        pooled: a ring holds a reference to it too.
        searches: how often it was in use when its ring was searched.
    """

    __slots__ = ("address", "nbytes", "device", "version", "writer", "owner", "pooled", "searches", "__weakref__")
    inference = False                                    # whether it was made in inference mode
    watched = False                                      # whether a write must look: at that mode, or where an alias' tensors lie

    def __init__(self, address, nbytes, owner, device=cpu):
        self.address, self.nbytes, self.owner, self.device = address, nbytes, owner, device
        self.version, self.writer, self.pooled, self.searches = 0, None, False, 0

    @property
    def __array_interface__(self):
        """Lets NumPy make arrays whose base is this object, which keeps it from being recycled."""
        return {"data": (self.address, False), "shape": (self.nbytes,), "typestr": "|u1", "version": 3}

    def alias(self):
        """The same memory with a version counter of its own, for `Tensor.data`."""
        self.__class__ = _ALIASED.get(type(self), type(self))
        first = self.owner if isinstance(self.owner, Storage) else self          # no chain, however often one is made of another
        return _ALIASED[Storage](self.address, self.nbytes, first, self.device)

    def __reduce__(self):
        raise TypeError("cannot pickle or copy a Storage, which is an address: take a tensor over it")

    def __repr__(self):
        return f"<Storage of {self.nbytes} bytes on {self.device}, version {self.version}>"


class _LargeStorage(Storage):
    """Gives its block back to the list it came from when it dies. The garbage collector may call its `__del__` while something in
    the same cycle still uses the memory, which is then nobody else's, and goes with its owner."""

    __slots__ = ("bin",)

    def __del__(self):
        if getrefcount is None:                          # the module may be gone before its last storage
            return
        kept = self.bin
        if getrefcount(self) <= LAST:
            kept.append((self.owner, self.address))
        kept.host.count_freed(kept.size)


_ALIASED = {kind: type(kind.__name__, (kind,), {"__slots__": (), "watched": True, "__doc__": "One that shares its memory."})
            for kind in (Storage, _LargeStorage)}


class _Bin(list):
    """The free blocks of one size, the one used last on top."""

    __slots__ = ("size", "host")


class _ClosedBin(_Bin):
    """One that is no longer asked for blocks, and so keeps none."""

    __slots__ = ()

    def append(self, block):
        pass


def address_of(array) -> int:
    """Where a NumPy array's first element is. Asking the array itself takes five times as long as asking its buffer."""
    try:
        return addressof(c_char.from_buffer(array))
    except (TypeError, ValueError):                      # read-only, not contiguous, or without elements
        return array.__array_interface__["data"][0]


def _new_block(nbytes):
    """An aligned block of whole multiples of the alignment: its owner and its address. Large ones are whole pages, for
    `share_memory_` to put others in their place."""
    alignment = ALIGNMENT if nbytes <= PAGED else PAGESIZE
    try:
        array = np.empty(-(-nbytes // alignment) * alignment + alignment, np.uint8)
    except (MemoryError, ValueError):                    # more than there is, or than NumPy counts
        raise _no_memory(nbytes) from None
    address = address_of(array)
    return array, address + (-address) % alignment


def _no_memory(nbytes):
    return RuntimeError(f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {nbytes} bytes. Error code 12 "
                        f"(Cannot allocate memory)")


class Ring(deque):
    """Storages of one size on one device. The first is the next to try; see `take`. `twin` is the ring for inference mode."""

    __slots__ = ("nbytes", "allocate", "capacity", "twin")

    def empty(self):
        """Start over. What is in use is then freed when its tensors die."""
        kept = list(self)
        for storage in kept:
            storage.pooled = False
        self.extend((_BUSY, _BUSY))                      # another thread may take one off, and never finds none
        for _ in kept:
            self.popleft()

    def __del__(self):                                   # what is still in use has one reference less than it says
        self.capacity = 0                                # the garbage collector may call this while a layout still has the ring
        self.empty()


def _calibrate():
    """What getrefcount says of a storage that only its ring refers to, in code shaped like the callers'."""
    ring = deque([Storage(0, 0, None)])
    storage = ring[0]
    return getrefcount(storage)


FREE = _calibrate()


def take(ring: Ring) -> Storage:
    """A storage that nobody uses from `ring`. Callers on hot paths try `ring[0]` themselves first:
    `storage = ring[0]`, and `if getrefcount(storage) > FREE: storage = take(ring)`."""
    if not ring.capacity:
        storage = ring.allocate(ring.nbytes)
        return storage if mode.memory is None else mode.memory.take(storage)
    for _ in range(min(len(ring), 4)):
        storage = ring[0]
        if getrefcount(storage) <= FREE:
            return storage
        storage.searches += 1
        if storage.searches > 32 and len(ring) > 1:           # it lives long: its tensors keep it, and no search meets it again
            ring.popleft().pooled = False
        else:
            ring.rotate(-1)
    fresh = ring.allocate(ring.nbytes)
    fresh.pooled = True
    ring.appendleft(fresh)
    if len(ring) > ring.capacity:
        ring.pop().pooled = False                        # the oldest: its tensors keep it, the ring does not
    _ring_growth[0] += ring.nbytes
    if _ring_growth[0] > ALL_RINGED // 2:
        _ring_growth[0] = 0
        if sum(r.nbytes * len(r) for r in list(_rings.values())) > ALL_RINGED // 2:
            _empty_rings()
    return fresh


def _empty_rings():
    """Have all rings start over."""
    for ring in list(_rings.values()):
        for each in (ring, ring.twin):
            if each is not None and each.capacity:
                each.empty()


def give_back():
    """Have the C library give free memory back to the system, which it else does with little more than its largest blocks."""
    if _library is not None:
        _library.malloc_trim(0)


# ---------------------------------------------------------------- inference mode
# What is made in inference mode counts no writes, and says so when somebody wants the count: a backward that would save it, or a
# write outside. Being of another class, it costs the calls outside of inference mode nothing but a look at `inferring`.
CANNOT_SAVE = ("Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
               "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or "
               "use `torch.no_grad()` instead of `torch.inference_mode()`.")


class _Inferring(list):
    """An element for each `inference_mode`, capture, `vmap` and `TorchFunctionMode` that some thread is in."""

    def __reduce__(self):
        return "inferring"                               # by reference: a pickled function looks at those of the process


inferring = _Inferring()


class _Mode(threading.local):
    inference = False
    memory = None                                        # what this thread takes memory from while its launches are captured


mode = _Mode()


def _no_version(self):
    if mode.inference:
        return 0
    raise RuntimeError(CANNOT_SAVE)


def _unversioned(kind):
    return type(kind.__name__, (kind,), {"__slots__": (), "inference": True, "watched": True,
                                         "__doc__": "One made in inference mode.",
                                         "version": property(_no_version, lambda self, value: None)})


_UNVERSIONED = {kind: _unversioned(kind) for kind in (Storage, _LargeStorage)}


def made_in_mode(storage: Storage, ring: Ring | None = None) -> Storage:
    """A storage for a new tensor, instead of the one at hand, while `inferring`: of another class in threads in inference mode, and
    the program's own in a thread that captures one."""
    if mode.memory is not None:
        return mode.memory.take(storage)
    if not mode.inference or storage.inference:
        return storage
    return take(inference_ring(ring)) if ring is not None and ring.capacity else _unversion(storage)


def inference_ring(ring: Ring) -> Ring:
    """The ring that hands out as much in inference mode."""
    if ring.twin is None:
        allocate = ring.allocate                         # not the ring itself, which would be kept by what it keeps
        ring.twin = _new_ring(ring.nbytes, lambda nbytes: _unversion(allocate(nbytes)), ring.capacity)
    return ring.twin


def _unversion(storage):
    storage.__class__ = _UNVERSIONED.get(type(storage), type(storage))
    return storage


# ---------------------------------------------------------------- host memory
class _HostAllocator:
    """Blocks of host memory. Large ones wait in bins by size, up to `slack` bytes beyond the most that was in use lately.

    There is no lock: a finaliser can run at any point, also inside `allocate`, and list operations are atomic.
    """

    def __init__(self, slack):
        self.slack = slack
        self.bins: dict[int, _Bin] = {}
        self.used = 0                                    # bytes of large blocks in use
        self.peak = self.last_peak = 0                   # their most in this period, and in the one before
        self.fresh = self.freed = 0                      # bytes taken from the system since the last look, and freed in this period

    def allocate(self, nbytes):
        if nbytes <= SMALL:
            owner, address = _new_block(nbytes)
            return Storage(address, nbytes, owner)
        size = -(-nbytes // 4096) * 4096
        free = self.bins.get(size)
        if free is None:
            free = self._new_bin(size)
        try:
            owner, address = free.pop()
        except IndexError:
            owner, address = self._fresh_block(size)
        storage = _new_large(_LargeStorage)
        storage.address, storage.nbytes, storage.owner, storage.device = address, nbytes, owner, cpu
        storage.version, storage.writer, storage.pooled, storage.searches, storage.bin = 0, None, False, 0, free
        self.used = used = self.used + size
        if used > self.peak:
            self.peak = used
        return storage

    def _fresh_block(self, size):
        self.fresh += size
        if self.fresh > self.slack // 4:                 # sizes that did not occur before: those that no longer do make room
            self.fresh = 0
            self._trim()
        try:
            return _new_block(size)
        except RuntimeError:                             # what lies unused in bins may be what is missing
            self.empty()
            return _new_block(size)

    def _new_bin(self, size):
        if len(self.bins) >= 4096:                       # dynamic shapes must not grow the table
            self.empty()
        fresh = _Bin()
        fresh.size, fresh.host = size, self
        return self.bins.setdefault(size, fresh)

    def count_freed(self, nbytes):
        """Note that a block came back. A period is as long as it takes to free what is in use once, and `slack` bytes at least."""
        self.used -= nbytes
        self.freed += nbytes
        if self.freed > max(self.slack, self.peak):
            self.freed = 0
            self.last_peak, self.peak = self.peak, self.used
            self._trim()

    def _trim(self):
        """Give back free blocks that are too many, bin by bin from the oldest. What is still used gets a new bin, the youngest."""
        room = max(self.peak, self.last_peak) + self.slack - self.used
        bins = list(self.bins.values())
        unused = sum(b.size * len(b) for b in bins)
        if unused > room:
            for each in bins:
                unused -= each.size * len(each)
                self._close(each)
                if unused <= room:
                    break
            give_back()

    def _close(self, each):
        if self.bins.get(each.size) is each:
            del self.bins[each.size]
        each.__class__ = _ClosedBin
        each.clear()

    def empty(self):
        """Give every free block back."""
        for each in list(self.bins.values()):
            self._close(each)


class _DebugAllocator:
    """Blocks of host memory under `NUMTORCH_DEBUG_MEMORY`: each is new and of the very size asked for."""

    def allocate(self, nbytes):
        try:
            owner, address = debugmemory.new_block(nbytes)
        except (MemoryError, ValueError):
            raise _no_memory(nbytes) from None
        return Storage(address, nbytes, owner)

    def empty(self):
        """Nothing is kept."""


_new_large = object.__new__
host = _DebugAllocator() if debugmemory.MODE else _HostAllocator(128 << 20)
_allocators: dict = {"cpu": host}
_ring_growth = [0]                                       # bytes that came into rings since they were counted
_library = ctypes.CDLL(None) if sys.platform == "linux" else None
_library = _library if hasattr(_library, "malloc_trim") else None        # which is glibc's
_rings: weakref.WeakValueDictionary = weakref.WeakValueDictionary()      # each as long as a plan or a layout has it


def register_allocator(device_type: str, allocator) -> None:
    """Give a device type its memory: `allocator.allocate(nbytes, device)` returns a Storage."""
    _allocators[device_type] = allocator


_BUSY = Storage(0, 0, None)                              # in rings that have no storage yet, or never any: it is never free


def ring_for(nbytes: int, device=cpu) -> Ring:
    """The ring that hands out storages of `nbytes` on a device."""
    key = (nbytes, device)
    ring = _rings.get(key)
    if ring is None:
        with _making_rings:                              # what leaves its ring leaves the one that is known
            ring = _rings.get(key)
            if ring is None:
                ring = _rings[key] = _new_ring(nbytes, _allocation(device), _capacity(nbytes, device))
    return ring


_making_rings = survive_fork(threading.RLock())


_recycling = [True]                                      # whether rings keep what they hand out


def _capacity(nbytes, device):
    recycled = device is cpu and nbytes <= RINGED and not debugmemory.MODE and _recycling[0]
    return max(4, min(512, (1 << 19) // max(nbytes, ALIGNMENT))) if recycled else 0


def recycle(on: bool) -> None:
    """Whether small storages are recycled through rings. Without that each one is allocated and freed, and can be counted."""
    _empty_rings()
    _recycling[0] = on
    for (nbytes, device), ring in list(_rings.items()):
        for each in (ring, ring.twin):
            if each is not None:
                each.capacity = _capacity(nbytes, device)


def _allocation(device):
    """The function that makes storages on a device."""
    allocator = _allocators.get(device.type)
    if allocator is None:
        raise RuntimeError(f"no memory allocator for device '{device}'")
    return allocator.allocate if device is cpu else lambda nbytes: allocator.allocate(nbytes, device)


def _new_ring(nbytes, allocate, capacity):
    ring = Ring()
    ring.nbytes, ring.allocate, ring.capacity, ring.twin = nbytes, allocate, capacity, None
    ring.append(_BUSY)
    return ring


def new_storage(nbytes: int, device=cpu) -> Storage:
    """Memory that no ring holds, for data that lives long (parameters, buffers)."""
    storage = _allocation(device)(nbytes)
    return made_in_mode(storage) if inferring else storage


# ---------------------------------------------------------------- foreign memory
_foreign: dict = {}                                      # weak references to what is alive, by address, size and device


def foreign_storage(address: int, nbytes: int, owner) -> Storage:
    """Memory that somebody else owns. The same block gives the same Storage while one is alive, so that tensors over
    one NumPy array share their version counter and are saved as one."""
    key = (address, nbytes, cpu)
    known = _foreign.get(key)
    if known is not None:
        storage = known()
        if storage is not None and (not storage.inference or mode.inference):
            return storage
    storage = Storage(address, nbytes, owner)
    if inferring and mode.inference:
        storage = _unversion(storage)
    _foreign[key] = weakref.ref(storage)
    if len(_foreign) >= _most_foreign[0]:
        _forget_the_dead()
    return storage


_most_foreign = [1024]                                   # entries at which the dead ones are looked for


def _forget_the_dead():
    """Drop the entries of storages that are gone. Doing it now and then takes less time than when each one goes."""
    for key, reference in list(_foreign.items()):
        if reference() is None and _foreign.get(key) is reference:
            del _foreign[key]
    _most_foreign[0] = max(1024, 2 * len(_foreign))


# ---------------------------------------------------------------- moving
def move(storage: Storage, address: int, owner, kept: bool) -> None:
    """Have a storage's memory be elsewhere from now on. The caller has copied the elements, sees to the addresses that tensors
    have, and has `kept` the old owner where anything may use the old memory still."""
    if storage.pooled:
        leave_ring(storage)
    _foreign.pop((storage.address, storage.nbytes, storage.device), None)
    block = getattr(storage, "bin", None)
    if block is not None:                                # its block comes back to the list now, or never
        storage.bin = closed = _ClosedBin()
        closed.size, closed.host = block.size, block.host
        if not kept:
            block.append((storage.owner, storage.address))
    storage.address, storage.owner = address, owner
    moves[0] += 1


moves = [0]                                              # how often one was moved: who keeps addresses asks


def leave_ring(storage):
    """Have no ring hand a storage out again."""
    ring = _rings.get((storage.nbytes, storage.device))
    for each in (ring, ring.twin if ring is not None else None):
        if each is not None:
            each.append(_BUSY)                           # another thread may look at the first, and never finds none
            with contextlib.suppress(ValueError):
                each.remove(storage)
    storage.pooled = False


def resizable(storage: Storage) -> bool:
    """Whether a storage's memory is the allocator's, which may give it more: not an alias', and not what is somebody else's."""
    known = _foreign.get((storage.address, storage.nbytes, storage.device))
    return not isinstance(storage.owner, Storage) and (known is None or known() is not storage)


def empty_cache() -> None:
    """Give every unused cached block of memory back to the system.

    Example:
        >>> import numtorch as torch
        >>> torch.empty_cache()
    """
    host.empty()
    _empty_rings()
    give_back()
