"""The host's kernels on a device: each part of a call in a thread of its own.

A kernel of the host is serial, over raw addresses and a descriptor, and a planner of the host describes each part of a call by what
it adds to these words (kernels/threads.py). A device runs the same: its threads are the parts, of which there may be thousands.
Right for every family whose parts do not wait for one another, and slow where parts are few or neighbours in memory are not
neighbours among threads; families that matter have kernels of their own here.

What a kernel reads or writes in the host's memory (its status, a generator's state, a table of addresses) is copied to the device
before the launch and back after it: `on_device` is told which of its addresses these are, and how many words.
"""
from __future__ import annotations

import ctypes
import functools

import numpy as np
from numpy import int64

from ..intrinsics import Intrinsic, offset
from ..planning import Elsewhere, planning_for
from ..pointers import Pointer
from ..sources import compile_source
from ..threads import Prepared
from .capture import active, refuse, watcher
from .compiler import compile_kernel, cuda, prepare
from .environment import SMALL, THREADS
from .runtime import runtime

STATUS, TABLE = 8, 64 * 8                                # bytes of a status, and of a table of addresses (ops/core/status.py)
STATE = 3 * 8                                            # of a stream's seed and offset, and the status of what draws from it


@functools.partial(Intrinsic, module="numtorch.kernels.cuda.lowering")
def moved(pointer, nbytes):
    """The pointer moved on by a number of bytes."""
    return Pointer(pointer.address + int(nbytes), pointer.dtype)


@functools.cache
def _source(count):
    """The source of the kernel of `count` words that runs `body` once a part. Its record: parts, words of a descriptor, then what
    each part adds to each address, then the descriptors."""
    names = [f"a{i}" for i in range(count - 1)]
    moves = ", ".join(f"moved({name}, added[{i}])" for i, name in enumerate(names))
    source = (f"def parts({', '.join([*names, 'record'])}):\n"
              f"    count = record[0]\n"
              f"    part = int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x\n"
              f"    while part < count:\n"
              f"        added = offset(record, 2 + part * {count - 1})\n"
              f"        body({moves}{', ' if names else ''}offset(record, 2 + count * {count - 1} + part * record[1]))\n"
              f"        part += int64(cuda.gridDim.x) * cuda.blockDim.x\n")
    return source


def _parts_of(kernel, count):
    """A device's kernel of a kernel of the host."""
    function, names, compute, meant = kernel.recipe
    scope = dict(body=function, moved=moved, offset=offset, int64=int64, cuda=cuda, __name__=function.__module__)
    compile_source(_source(count), "parts of a kernel", scope)
    return compile_kernel(scope["parts"], (*kernel.signature[:-1], "int64*"), names, compute, meant)


class _Staged:
    """A call some of whose addresses are of the host's memory: bytes by place."""

    __slots__ = ("call", "device", "host")

    def __init__(self, call, device, host):
        self.call, self.device, self.host = call, device, host

    def __call__(self, *addresses):
        held = _uploaded(addresses, self.host, self.device)
        machine, given = runtime(), list(addresses)
        for place, (_, address) in held.items():
            given[place] = address
        self.call(*given)
        for place in held if active[0] is None else ():  # where it is captured, nobody looks at what it leaves
            machine.copy(addresses[place], given[place], self.host[place], self.device)


class _Reporting(_Staged):
    """A call that leaves in one of its words what is wrong, and nothing else: the machine may say it later.

    Args:
        name: of the kernel.
        place: where the word is among the addresses.
    """

    __slots__ = ("name", "place")

    def __init__(self, call, device, name, place):
        super().__init__(call, device, {place: STATUS})
        self.name, self.place = name, place

    def __call__(self, *addresses):
        watch = watcher()
        word = runtime().report(self.device, self.name) if watch is None else watch.report(self.device, self.name)
        if word:
            self.call(*addresses[:self.place], word, *addresses[self.place + 1:])
            if watch is not None:
                watch.reported(addresses[self.place])
        else:
            super().__call__(*addresses)


def reporting(prepared, name, place, device) -> Prepared:
    """A prepared kernel that may report later what is wrong; arguments as for `_Reporting`."""
    return Prepared(_Reporting(prepared.call, device, name, place), prepared.descriptor, prepared.workspace, prepared)


def _uploaded(addresses, host, device, constant=()) -> dict:
    """The words of the host's memory that a call has among its addresses, in the device's: owner and address by place. What a
    capture's launches read is written anew at each replay, or, at the `constant` places, is what it is now."""
    watch, machine, held = watcher(), runtime(), {}
    if watch is None and active[0] is None:
        return _together(addresses, [(place, nbytes) for place, nbytes in host.items() if addresses[place]], device)
    for place, nbytes in host.items():
        if addresses[place] and watch is None:
            fill = active[0].source(addresses[place])
            if fill is None and place not in constant:
                refuse("a kernel that reads the host's memory")
            held[place] = machine.allocate(nbytes, device)
            if fill is None:
                machine.copy(held[place][1], addresses[place], nbytes, device)
            else:
                active[0].uploads.append(functools.partial(fill, held[place][1]))
        elif addresses[place]:
            if watch is not None:
                watch.pause()
            held[place] = machine.allocate(nbytes, device)
            machine.copy(held[place][1], addresses[place], nbytes, device, False)     # it is read when this returns
            if watch is not None:
                watch.upload(held[place][1], addresses, place, nbytes)
                watch.resume()
    return held


def _together(addresses, places, device) -> dict:
    """The same of (place, bytes) pairs, in one copy."""
    starts = [0]
    for _, nbytes in places:
        starts.append(starts[-1] + -(-nbytes // 8) * 8)
    if not places:
        return {}
    machine, words = runtime(), (ctypes.c_int64 * (starts[-1] // 8))()
    owner, address = machine.allocate(starts[-1], device)
    source = ctypes.addressof(words)
    for (place, nbytes), start in zip(places, starts):
        ctypes.memmove(source + start, addresses[place], nbytes)
    machine.copy(address, source, starts[-1], device, False)         # it is read when this returns
    return {place: (owner, address + start) for (place, _), start in zip(places, starts)}


def staged(prepared, host, device) -> Prepared:
    """A prepared kernel some of whose addresses are of the host's memory: bytes by place."""
    return Prepared(_Staged(prepared.call, device, host), prepared.descriptor, prepared.workspace, prepared)


class _Given:
    """A call some of whose addresses are of the host's memory and only read: bytes by place. It waits for nothing."""

    __slots__ = ("call", "device", "host", "constant")

    def __init__(self, call, device, host, changing):
        self.call, self.device, self.host, self.constant = call, device, host, host.keys() - set(changing)

    def __call__(self, *addresses):
        if not any(addresses[place] for place in self.host):
            self.call(*addresses)
            return
        held, words = _uploaded(addresses, self.host, self.device, self.constant), list(addresses)
        for place, (_, address) in held.items():
            words[place] = address
        self.call(*words)


def given(prepared, host, device, changing=()) -> Prepared:
    """A prepared kernel that only reads some addresses of the host's memory: bytes by place. At the `changing` places are numbers
    of one call, which is not the same when its launches are made again."""
    return Prepared(_Given(prepared.call, device, host, changing), prepared.descriptor, prepared.workspace, prepared)


class Serial(Elsewhere):
    """One device, for planners of the host.

    Args:
        device: its index.
        host: the bytes of each address that is of the host's memory, by place.
        threads: how many parts a call may have.
    """

    share = 0.0 if SMALL else 1 / 1024

    def __init__(self, device, host, threads):
        self.device, self.host, self.threads = device, host, threads

    def prepare(self, kernel, descriptors, offsets, workspace):
        count, (parts, length) = len(kernel.signature), descriptors.shape
        apart = -(-workspace // 256) * 256
        added = np.zeros((parts, count - 1), np.int64)
        for part in range(parts):
            given = offsets[part] if offsets is not None else (0,) * (count - 1)
            added[part] = [*given, *(part * apart,) * (count - 1 - len(given))]
        record = [parts, length, *added.ravel(), *descriptors.ravel()]
        made = prepare(_parts_of(kernel, count), record, -(-parts // THREADS), self.device)
        made = Prepared(made.call, made.descriptor, apart * (parts - 1) + workspace, made)
        return staged(made, self.host, self.device) if self.host else made


def on_device(planner, host=None, threads=4 if SMALL else 4096):
    """A planner of the host as one of a device, which takes the device's index as `device`.

    Args:
        host: the bytes of each address that is of the host's memory, by place; or a function of the planner's arguments that says.
        threads: how many parts a call may have.
    """
    @functools.wraps(planner)
    def plan(*arguments, device=0, **options):
        staged = host(*arguments) if callable(host) else host
        with planning_for(Serial(device, staged, threads)):
            return planner(*arguments, **options)
    return plan
