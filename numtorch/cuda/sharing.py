"""Device memory that several processes of a family see (../multiprocessing/transfer.py): how it is named in a message, found again,
and kept by its owner for as long as anybody has it.

A storage that is sent has a *ticket*, a block of the shared memory of the family. Messages refer to it, receivers hold it,
so the family knows at any time whether anybody still has the storage, also when processes are killed. When the owner's storage
dies before that, its memory waits in `_limbo`, until `collect_cuda` finds that nobody holds the ticket. A receiver waits for what
its streams were told to do with the memory before it lets go of the ticket.
"""
from __future__ import annotations

import functools
import warnings
import weakref
from collections import deque
from multiprocessing.util import Finalize
from typing import NamedTuple

from .. import storage as _storage
from ..devices import device as _device
from ..finalisers import Finaliser
from ..kernels.cuda.capture import active, keep, refuse
from ..kernels.cuda.driver import DriverError
from ..kernels.cuda.runtime import runtime
from ..ops.core.late import provide
from ..shared.blocks import Block, allocate, found_again, still_held
from ..shared.heap import heap

TICKET = 64                                              # bytes of a ticket, the least that a block has: nothing is written there


class Place(NamedTuple):
    """Where a storage is, for another process.

    Attributes:
        ticket: the handle of its ticket.
        member, birth: which process of the family it is of (`Heap.lives`).
        device, index: what names the device everywhere, and its number in that process.
        segment, start, nbytes: what opens the segment of memory, where in it the storage begins, and its bytes.
    """
    ticket: tuple
    member: int
    birth: int
    device: bytes
    index: int
    segment: bytes
    start: int
    nbytes: int


class _Sent:
    """What a storage of this process that others may have owns.

    Attributes:
        owner: what it owned before.
        ticket, place: what says who has it, and where it is.
    """

    __slots__ = ("owner", "ticket", "place", "end")

    def __init__(self, owner, ticket, place, address):
        self.owner, self.ticket, self.place = owner, ticket, place
        self.end = Finaliser(_limbo.append, _Waiting(ticket.number, ticket.generation, owner, address))


class _Waiting(NamedTuple):
    """Memory whose storage died, and which others may have still.

    Attributes:
        number, generation: of its ticket.
        owner, address: what the storage owned, and where it was.
    """
    number: int
    generation: int
    owner: object
    address: int


class _Received:
    """What a storage of another process's memory owns: a hold on its ticket, and the mapping, until streams are done with it."""

    __slots__ = ("streams", "end")

    def __init__(self, ticket, mapping, index):
        self.streams = {runtime().current(index)}
        self.end = Finaliser(_done_with, [ticket, mapping], index, self.streams)

    def use_on(self, stream):
        """Say that another stream is told to use it."""
        self.streams.add(stream)


def _done_with(held, index, streams):
    if active[0] is not None:                            # no stream can be waited for now, and the graph may name the memory
        keep(Finaliser(_done_with, held, index, streams))
        return
    machine = runtime()
    for stream in {*streams, machine.current(index)}:
        try:
            machine.finish(stream)
        except RuntimeError as error:                    # a finaliser has nobody to tell, and the device is lost
            warnings.warn(f"a tensor of another process was let go: {error}", RuntimeWarning, stacklevel=2)
    held.pop()                                           # the mapping is closed before the owner may free what it is of
    held.pop()


_limbo: deque = deque()                                  # of _Waiting
_known: weakref.WeakValueDictionary = weakref.WeakValueDictionary()      # storages that were sent or received, by their tickets


def place_of(storage) -> tuple[Block, Place, bytes]:
    """The ticket of a storage that is no alias, where it is for others, and what they wait for before they use it.

    Raises:
        RuntimeError: it is another process's memory, or another library's, or the driver shares none.
    """
    refuse("sending a tensor to another process")
    machine, index, sent = runtime(), storage.device.index, storage.owner
    if isinstance(sent, _Received):
        raise RuntimeError("Attempted to send CUDA tensor received from another process; this is not currently supported. Consider "
                           "cloning before sending.")
    if not isinstance(sent, _Sent):
        sent = _sent(storage)
    return sent.ticket, sent.place, machine.event_handle(index)


def _sent(storage):
    collect_cuda()
    machine, home, device = runtime(), heap(), storage.device
    try:
        segment, start = machine.memory_handle(storage.address, device.index)
    except LookupError:
        raise RuntimeError(f"a tensor on {device} lies in memory of another library, which cannot be sent to another process; send "
                           "its clone()") from None
    except (DriverError, OSError) as error:
        raise RuntimeError(f"{error}\nA tensor on {device} cannot be shared with other processes here; send its .cpu()") from None
    ticket = allocate(TICKET)
    place = Place(ticket.handle(), home.member, home.birth(home.member), machine.identity(device.index), device.index, segment,
                  start, storage.nbytes)
    _watch_the_end()
    storage.owner = sent = _Sent(storage.owner, ticket, place, storage.address)
    _known[ticket.number, ticket.generation] = storage
    return sent


def storage_of(place: Place, event: bytes):
    """The storage that a message names: one object as long as it lives, and in the process that sent it the one that was sent.

    Raises:
        RuntimeError: the process that has the memory has ended, or its device is not visible in this one.
    """
    home, key = heap(), place.ticket[:2]
    made = _known.get(key)
    if made is not None:
        if isinstance(made.owner, _Received):
            runtime().wait_handle(event, made.device.index)
        return made
    if not home.critical(home.lives, place.member, place.birth):
        raise RuntimeError(f"a tensor on cuda:{place.index} was sent by a process that has ended, and its memory is gone: a "
                           "process must run until what it sent of a device has been received and is not used any more")
    made = _returned(place) if place.member == home.member else _opened(place, event)
    _known[key] = made
    return made


def _returned(place):
    """The storage over memory of this process that waits for others."""
    waiting = next(each for each in list(_limbo) if each[:2] == place.ticket[:2])
    _limbo.remove(waiting)
    made = _storage.Storage(waiting.address, place.nbytes, waiting.owner, _device("cuda", place.index))
    made.owner = _Sent(waiting.owner, found_again(heap(), *place.ticket), place, waiting.address)
    return made


def _opened(place, event):
    machine = runtime()
    index = next((i for i in range(machine.count) if machine.identity(i) == place.device), None)
    if index is None:
        raise RuntimeError(f"a tensor was sent from a device that is not visible here (it is the sender's cuda:{place.index}; this "
                           f"process sees {machine.count}): CUDA_VISIBLE_DEVICES differs; send its .cpu()")
    ticket = found_again(heap(), *place.ticket)
    try:
        mapping = machine.open_memory(place.segment, index)
        machine.wait_handle(event, index)
    except (DriverError, OSError) as error:
        raise RuntimeError(f"{error}\nThe memory of a tensor that another process sent on cuda:{index} could not be opened; has "
                           "that process ended?") from None
    return _storage.Storage(mapping.address + place.start, place.nbytes, _Received(ticket, mapping, index), _device("cuda", index))


@provide
def collect_cuda() -> bool:
    """Give memory that was sent and that nobody has any more back to the allocator. Whether there was some."""
    waiting = [_limbo.popleft() for _ in range(len(_limbo))]
    if not waiting:
        return False
    held = still_held([each[:2] for each in waiting])
    _limbo.extend(each for each, is_held in zip(waiting, held) if is_held)
    return not all(held)


def ipc_collect() -> None:
    """Give memory that was sent to other processes, and that none of them has any more, back to the allocator. It is done as well
    whenever a tensor is sent, and when a device has no more memory.

    Example:
        >>> import numtorch as torch
        >>> torch.cuda.ipc_collect()
    """
    collect_cuda()


@functools.cache
def _watch_the_end():
    Finalize(None, _warn_at_the_end, exitpriority=10)


def _warn_at_the_end():
    sent = [key for key, storage in list(_known.items()) if isinstance(storage.owner, _Sent)]
    if any(still_held([*sent, *[each[:2] for each in _limbo]], besides=True)):
        warnings.warn("Producer process has been terminated before all shared CUDA tensors released: keep it running until "
                      "receivers are done with them", RuntimeWarning, stacklevel=2)
