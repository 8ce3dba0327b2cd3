"""Storages in shared memory: how a tensor's memory moves there with every view of it, and how it is found again elsewhere."""
from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from sys import getrefcount

import numpy as np

from ..devices import cpu
from ..storage import ALIGNMENT, Storage, move
from ..tensor import Tensor
from .blocks import Block, allocate, allocate_copy, allocate_over, found_again
from .heap import heap
from .system import PAGE, copy
from .tables import LARGE

TOGETHER = 1 << 14                                       # bytes that tensors have which share a block: keeping one keeps them all
_known: weakref.WeakValueDictionary = weakref.WeakValueDictionary()      # the storages over blocks, by the block and their places


def base_of(storage: Storage) -> Storage:
    """The storage whose memory an alias (`Tensor.data`) has."""
    while isinstance(storage.owner, Storage):
        storage = storage.owner
    return storage


def is_shared(storage: Storage) -> bool:
    """Whether other processes of the family can see the memory."""
    return isinstance(base_of(storage).owner, Block)


def block_of(tensor: Tensor) -> Block | None:
    """The block a tensor lies in, which it moves to if need be. None where there is nothing to share."""
    storage = tensor.memory
    owner = storage.owner
    if type(owner) is Block and owner.heap is heap():
        return owner
    # the tensor, this variable, the argument, and the ring: nobody else knows the address
    alone = getrefcount(storage) <= 3 + storage.pooled and not isinstance(owner, Storage)
    base = base_of(storage)
    del storage, owner
    share([base], tensor if alone else None)
    return base.owner if isinstance(base.owner, Block) else None


def share(storages, only: Tensor | None = None) -> None:
    """Move the memory of storages, which are no aliases, to shared memory. All tensors over them see it there.

    Args:
        only: the one tensor over the one storage, where there is no other.
    """
    home = heap()
    moved = {}
    for storage in storages:
        if storage.device is cpu and storage.nbytes and not (isinstance(storage.owner, Block) and storage.owner.heap is home):
            moved[id(storage)] = storage
    for key, storage in list(moved.items()):
        if only is None and is_paged(storage):
            block = allocate_over(storage.address, storage.nbytes, storage.owner)
            _known[block.number, block.generation, 0] = storage
            move(storage, storage.address, block, True)
            del moved[key]
            continue
        block = allocate_copy(storage.address, storage.nbytes)
        _known[block.number, block.generation, 0] = storage
        kept = only is None or threading.active_count() > 1          # a kernel of another thread may be using the old memory
        if kept:
            block.before = storage.owner
        distance = block.address - storage.address
        if only is not None:
            only.address += distance
            move(storage, block.address, block, kept)
        else:
            moved[id(storage)] = (storage, distance, block)
    if only is None and moved:
        _rebind(list(moved.values()))


def share_together(tensors) -> None:
    """Move the memory of small tensors to one block, which takes two thirds of the time of one each. Those stay as they are whose
    memory is shared already, or another tensor's too.

    Args:
        tensors: what is sent together.
    """
    chosen, nbytes = {}, 0
    for tensor in tensors:
        if tensor.layout.handler is not None:
            continue
        storage, size = tensor.memory, -(-tensor.memory.nbytes // ALIGNMENT) * ALIGNMENT
        # the tensor, this variable, the argument, and the ring
        alone = getrefcount(storage) <= 3 + storage.pooled and not isinstance(storage.owner, (Block, Storage))
        if alone and storage.device is cpu and 0 < size <= TOGETHER - nbytes:
            chosen[id(tensor)] = tensor, nbytes
            nbytes += size
    if len(chosen) < 2:
        return
    block = allocate(nbytes)
    kept = threading.active_count() > 1                  # a kernel of another thread may be using the old memory
    block.before = [tensor.memory.owner for tensor, _ in chosen.values()] if kept else None
    for tensor, start in chosen.values():
        storage, distance = tensor.memory, block.address + start - tensor.memory.address
        copy(storage.address + distance, storage.address, storage.nbytes)
        _known[block.number, block.generation, start] = storage
        tensor.address += distance
        move(storage, storage.address + distance, block, kept)


def is_paged(storage):
    """Whether a storage's memory is large, and whole pages of the allocator's own. The block is then mapped in its place, and
    whatever knows the address sees it: NumPy arrays, what a graph saved, a kernel that runs."""
    return storage.nbytes > LARGE and storage.address % PAGE == 0 and getattr(storage, "bin", None) is not None \
        and type(storage.owner) is np.ndarray


def _rebind(moved):
    """Move storages to blocks, and give everything over them its new address: tensors, and aliases with theirs. NumPy arrays over
    small ones stay where they are, over the old memory, and so do values that a graph saved: they are what was saved."""
    for storage, _, block in moved:
        move(storage, block.address, block, True)
    rebind({id(storage): distance for storage, distance, _ in moved}, [storage for storage, _, _ in moved])


def rebind(distances, pending) -> None:
    """Give everything over storages that were moved its new address.

    Args:
        distances: how far each was moved, by its identity.
        pending: the storages.
    """
    while pending:
        aliases = []
        for each in _referrers(pending):
            if isinstance(each, Tensor):
                distance = distances.get(id(getattr(each, "memory", None)))
                if distance is not None:
                    each.address += distance
            elif isinstance(each, Storage) and id(each) not in distances:
                distances[id(each)] = distances[id(each.owner)]
                each.address += distances[id(each)]
                aliases.append(each)
        pending = aliases


def _referrers(storages):
    """What refers to storages. `gc` looks at nothing that was frozen, so that is thawed and frozen again, and what was not frozen
    before goes back among what it looks at: frozen garbage would never be found. Garbage goes before, when there is little to look
    at."""
    if not gc.get_freeze_count():
        return gc.get_referrers(*storages)
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    watched = gc.get_objects()
    gc.unfreeze()
    try:
        return gc.get_referrers(*storages)
    finally:
        gc.freeze()
        for _ in zip(map(_untrack, watched), map(_track, watched)):
            pass                                         # no other thread sees one untracked: between the two is no Python
        if enabled:
            gc.enable()


_untrack, _track = ctypes.pythonapi.PyObject_GC_UnTrack, ctypes.pythonapi.PyObject_GC_Track
_untrack.argtypes = _track.argtypes = [ctypes.py_object]
_untrack.restype = _track.restype = None


def place_of(storage: Storage) -> tuple[int, ...]:
    """What `storage_of` finds a storage in shared memory by."""
    block = storage.owner
    return block.number, block.generation, block.nbytes, storage.address - block.address, storage.nbytes


def storage_of(number: int, generation: int, nbytes: int, start: int, size: int) -> Storage:
    """The storage over a block, or a part of one, that came from another process: one object as long as it lives.

    Args:
        number, generation, nbytes: the block's.
        start, size: the part's.
    """
    storage = _known.get((number, generation, start))
    if storage is not None and isinstance(storage.owner, Block) and storage.owner.heap is heap() \
            and place_of(storage)[:4] == (number, generation, nbytes, start):
        return storage
    block = found_again(heap(), number, generation, nbytes)
    storage = _known[number, generation, start] = Storage(block.address + start, size, block)
    return storage
