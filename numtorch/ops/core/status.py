"""What a kernel tells its caller beside its results: a status, a count, whether something was found. Each thread has words of its
own for that, and a table of addresses for kernels that take many tensors."""
from __future__ import annotations

import ctypes
import threading

from ...devices import cpu
from .late import later

MOST_ADDRESSES = 64


class CallWords(threading.local):
    """A thread's words for the call it is making: the status, then the addresses of the second and later index arrays."""

    def __init__(self):
        words = (ctypes.c_int64 * (1 + MOST_ADDRESSES))()
        self.words = words, ctypes.addressof(words)


call_words = CallWords()


def has_values(tensor) -> bool:
    """Whether a tensor's elements can be looked at, which those of the meta device and of several samples cannot: checks of values
    pass there."""
    return tensor.layout.device.type != "meta" and tensor.layout.has_values


class NoValues(NotImplementedError):
    """What is raised where an op must read elements of a tensor of the meta device, which has none."""


def check_values(tensor) -> None:
    """Raise NoValues for an op that must read elements of a tensor that has none."""
    if tensor.layout.device.type == "meta":
        raise NoValues("Cannot read the elements of a meta tensor: it has a shape and a dtype, and no data")


def read_status(tensor) -> int:
    """The word at the start of a tensor, where a kernel of the tensor's device has left its status."""
    if tensor.layout.device is cpu:
        return ctypes.c_int64.from_address(tensor.address).value
    return later[f"read_status_{tensor.layout.device.type}"](tensor)


def expect_status(tensor, complaint) -> None:
    """Raise `complaint(status)` where a kernel leaves something else than 0 at the start of a tensor; of a CUDA device, where the
    host waits for it next."""
    if tensor.layout.device.type == "cuda" and later["expect_cuda"](tensor, complaint):
        return
    status = read_status(tensor)
    if status:
        raise complaint(status)


def clear_status(tensor) -> None:
    """Write 0 where `read_status` reads."""
    if tensor.layout.device is cpu:
        ctypes.c_int64.from_address(tensor.address).value = 0
    else:
        later[f"clear_status_{tensor.layout.device.type}"](tensor)


def table_of(tensors):
    """The address of this thread's table with the tensors' addresses, good until its next call; for at most MOST_ADDRESSES."""
    words, status = call_words.words
    for place_in_table, each in enumerate(tensors, 1):
        words[place_in_table] = each.address
    return status + 8


def run_counting(prepared, x) -> int:
    """Run a kernel that counts, and return the count."""
    check_values(x)
    words, status = call_words.words
    prepared.call(x.address, status, prepared.descriptor)
    count, words[0] = words[0], 0
    return count


def run_marking(prepared, x, out) -> int:
    """Run a kernel that looks at what it is given, and return what it says of an element that is no good, or 0."""
    words, status = call_words.words
    prepared.call(x.address, out.address, status, prepared.descriptor)
    mark, words[0] = words[0], 0
    return mark


def run_finding(prepared, parts, *tensors) -> bool:
    """Run a kernel of which each part leaves whether it has found anything, and return whether any has."""
    words, status = call_words.words
    prepared.call(*[x.address for x in tensors], status, prepared.descriptor)
    result = any(words[:parts]) if parts > 1 else words[0] != 0
    words[0] = 0
    return result


def run_comparing(prepared, parts, x, y) -> bool:
    """`run_finding` of two tensors, without a list of them."""
    words, status = call_words.words
    prepared.call(x.address, y.address, status, prepared.descriptor)
    result = any(words[:parts]) if parts > 1 else words[0] != 0
    words[0] = 0
    return result


def run_measuring(prepared, x):
    """Run a kernel that leaves two integers, and return these."""
    check_values(x)
    words, status = call_words.words
    prepared.call(x.address, status, prepared.descriptor)
    result = words[0], words[1]
    words[0] = 0
    return result
