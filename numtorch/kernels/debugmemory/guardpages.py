"""`NUMTORCH_DEBUG_MEMORY=guard`: blocks between pages that fault, and a report of the kernel that touches one.

A block ends where a guard begins, or begins where one ends. A coin decides: in turns, a loop would put a tensor on the same side
each time. What is left of its pages on the other side is filled with the pattern, and looked at after each kernel that was given
the block and when the block dies. Freed blocks fault for a while too.

The report is written by a signal handler in Python. That is safe where it matters: kernels hold no lock of Python's or of the C
library's, and a worker faults while the thread that launched it has let go of Python's lock.
"""
from __future__ import annotations

import ctypes
import faulthandler
import gc
import mmap
import os
import platform
import random
import signal
import sys
import threading
import traceback
import weakref
from collections import deque

import numpy as np

from ...finalisers import Finaliser
from .poison import POISON

GUARD = 1 << 18                                          # bytes on each side: what is further out may be another block
FREED = 512                                              # blocks that still fault after they were freed
_POISON_PAGE = np.full(mmap.PAGESIZE // 2 + 1, POISON).tobytes()
_NONE, _FIXED, _NORESERVE = 0, 0x10, 0x4000 if sys.platform == "linux" else 0x40

_library = ctypes.CDLL(None, use_errno=True)
_map, _protect, _unmap = _library.mmap, _library.mprotect, _library.munmap
_map.restype = ctypes.c_void_p
_map.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_protect.argtypes, _unmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int], [ctypes.c_void_p, ctypes.c_size_t]
_PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE


# ---------------------------------------------------------------- blocks
class _Pages:
    """The memory of a block from `address` on, in pages from `start` to `stop`, with a guard before and behind these."""

    __slots__ = ("address", "nbytes", "start", "stop")

    def slack(self):
        """(address, bytes, pattern) of what its pages have before and behind it."""
        before, end = self.address - self.start, self.address + self.nbytes
        yield self.start, before, _POISON_PAGE[:before]
        yield end, self.stop - end, _POISON_PAGE[self.nbytes % 2:][:self.stop - end]

    def damage(self):
        """Where something wrote outside of it, in words; None where nothing did."""
        for address, count, pattern in self.slack():
            actual = ctypes.string_at(address, count)
            if actual != pattern:
                changed = [i for i in range(count) if actual[i] != pattern[i]]
                nearest = address + (changed[0] if address >= self.address else changed[-1])
                return f"{len(changed)} bytes were written outside, {_place(self, nearest)}"
        return None


class _Block:
    """What tensors hold of a block."""

    __slots__ = ("pages", "end", "__weakref__")

    def __init__(self, pages):
        self.pages, self.end = pages, Finaliser(_free, pages)


def _free(pages):
    """Have the pages of a block fault from now on, for a while at least."""
    if sys.is_finalizing():
        return
    damage = pages.damage()
    if damage is not None:
        os.write(2, f"numtorch: {damage}; found when it was freed\n".encode())
        os.abort()
    _map(pages.start, pages.stop - pages.start, _NONE, _PRIVATE | _FIXED, -1, 0)
    _freed.append((pages.address, pages.nbytes, pages.start, pages.stop))
    if len(_freed) > FREED:
        _, _, start, stop = _freed.popleft()
        _unmap(start - GUARD, stop - start + 2 * GUARD)


_blocks: weakref.WeakValueDictionary = weakref.WeakValueDictionary()      # by address
_freed: deque = deque()
_coin = random.Random(0)


def guarded_block(nbytes):
    """A block against a guard, filled with the pattern: its owner and its address.

    At the end of its pages no byte is left over for alignment: its address is then a multiple of each power of two that divides its
    size, and so of the size of its elements.
    """
    size = max(1, -(-nbytes // mmap.PAGESIZE)) * mmap.PAGESIZE
    low = _map(None, size + 2 * GUARD, _NONE, _PRIVATE, -1, 0)
    if low == ctypes.c_void_p(-1).value:
        raise MemoryError
    pages = _Pages()
    pages.start, pages.stop, pages.nbytes = low + GUARD, low + GUARD + size, nbytes
    pages.address = pages.start if _coin.getrandbits(1) else pages.stop - nbytes
    if _protect(pages.start, size, mmap.PROT_READ | mmap.PROT_WRITE):
        _unmap(low, size + 2 * GUARD)
        raise MemoryError
    np.frombuffer((ctypes.c_char * size).from_address(pages.start), np.uint16)[:] = POISON
    block = _blocks[pages.address] = _Block(pages)
    return block, pages.address


def _in_use():
    return [block.pages for block in list(_blocks.values())]


# ---------------------------------------------------------------- what runs
_running: dict[int, tuple] = {}                          # (kernel, its words) by thread
_names: dict[int, object] = {}                           # kernels by native address, for what a launcher splits


def watched(kernel, call):
    """`call`, a kernel's entry, noting that the kernel runs and looking for what it wrote outside the blocks it was given."""
    _names[kernel.address] = kernel

    def watched_call(*words):
        thread = threading.get_ident()
        _running[thread] = kernel, words
        try:
            call(*words)
        finally:
            _running.pop(thread, None)
        for word in words:
            block = _blocks.get(word)
            damage = None if block is None else block.pages.damage()
            if damage is not None:
                raise RuntimeError(f"{_launched(kernel, words)}: {damage}")

    return watched_call


def _launched(kernel, words):
    """What a call runs, in words: a launcher's record begins with the address of the kernel it splits, words and parts."""
    if kernel.name != "launch":
        return f"kernel {kernel.name}({', '.join(kernel.signature)})"
    address, count, parts = (ctypes.c_int64 * 3).from_address(words[-1])
    split = _names[address]
    return f"kernel {split.name}({', '.join(split.signature)}) in {parts} parts"


def _place(block, address):
    """Where an address is, as seen from a block."""
    end = block.address + block.nbytes
    where = f"{block.address - address} bytes before the beginning" if address < block.address else \
        f"{address - end} bytes behind the end" if address >= end else f"at byte {address - block.address}"
    return f"{where} of a block of {block.nbytes} bytes at {block.address:#x}{_tensors(block)}"


def _tensors(pages):
    """What is known to lie in a block: whatever has a layout and a storage that keeps the block."""
    block = _blocks.get(pages.address)
    storages = [] if block is None else [s for s in gc.get_referrers(block) if hasattr(type(s), "owner")]
    tensors = [t for s in storages for t in gc.get_referrers(s) if hasattr(type(t), "layout")]
    said = {f"{t.layout.dtype} of shape {tuple(t.layout.shape)} and strides {tuple(t.layout.strides)}": None for t in tensors}
    return f" (tensor: {'; '.join(said)})" if said else ""


# ---------------------------------------------------------------- the report
def report(address, access):
    """What is to be said of an access that faulted."""
    lines = ["numtorch: memory outside of a block was touched (NUMTORCH_DEBUG_MEMORY=guard)"]
    near = [b for b in _in_use() if b.start - GUARD <= address < b.stop + GUARD]
    freed = [f for f in list(_freed) if f[2] <= address < f[3]]
    where = _place(near[0], address) if near else \
        f"in a block of {freed[-1][1]} bytes at {freed[-1][0]:#x} that has been freed" if freed else "near no block"
    lines.append(f"  {access} at {address:#x}, {where}")
    frames = sys._current_frames()
    for thread, (kernel, words) in list(_running.items()):
        lines.append(f"  while running {_launched(kernel, words)} on")
        for i, word in enumerate(words[:-1]):
            inside = [b for b in _in_use() if b.address <= word <= b.address + b.nbytes]
            marked = " <-" if near and near[0] in inside else ""
            lines.append(f"    {i}: {word:#x}{', ' + _place(inside[0], word) if inside else ''}{marked}")
        if thread in frames:                             # faulthandler does not always find them for a fault in a worker
            lines += ["  called from", "".join(traceback.format_stack(frames[thread])).rstrip()]
    if not _running:
        lines.append("  while no kernel was running")
    return "\n".join(lines) + "\n"


class _Action(ctypes.Structure):
    """struct sigaction"""
    _fields_ = [("handler", ctypes.c_void_p), ("mask", ctypes.c_uint32), ("flags", ctypes.c_int)] if sys.platform == "darwin" else \
        [("handler", ctypes.c_void_p), ("mask", ctypes.c_char * 128), ("flags", ctypes.c_int), ("restorer", ctypes.c_void_p)]


_SIGINFO = 0x40 if sys.platform == "darwin" else 4
_ADDRESS = 24 if sys.platform == "darwin" else 16        # of the address in siginfo_t
_ERROR = 40 + 8 * 19                                     # of the page fault's error code in Linux's ucontext_t on x86-64
_before: dict[int, _Action] = {}


def _on_fault(number, info, context):
    """Say what happened, and let the handler before this one have the fault, which comes again."""
    try:
        address = ctypes.c_uint64.from_address(info + _ADDRESS).value
        access = "an access"
        if sys.platform == "linux" and platform.machine() == "x86_64":
            access = "a write" if ctypes.c_int64.from_address(context + _ERROR).value & 2 else "a read"
        os.write(2, report(address, access).encode())
    finally:
        _library.sigaction(number, ctypes.byref(_before[number]), None)


_handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(_on_fault)


def _install():
    if not faulthandler.is_enabled():
        faulthandler.enable()                            # it shows the lines of Python after the report
    action = _Action(handler=ctypes.cast(_handler, ctypes.c_void_p).value, flags=_SIGINFO)
    for number in (signal.SIGSEGV, signal.SIGBUS):
        _before[number] = _Action()
        _library.sigaction(number, ctypes.byref(action), ctypes.byref(_before[number]))


_install()
