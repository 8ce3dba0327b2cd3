"""`pfor`: one parallel-for for every threaded kernel, on TBB, OpenMP, or serial where neither is there.

A threaded kernel is an ordinary serial kernel called once a part, by address, on its share of the work. Every argument of a
kernel is a 64-bit word, so a part is described by what to *add* to each word: a byte offset for an address, another
descriptor for a size. A plan writes these offsets down once (`prepare`); a launch is then one call that costs 1.7 µs on
TBB. No kernel is compiled twice, and none with `parallel=True` (200 ms against 50).

The threading backend is Numba's own extension module, loaded without Numba. TBB comes first because its workers sleep when
there is nothing to do: two processes of two threads each on two cores ran a 256³ product in 208 µs on TBB and in 8 ms on
OpenMP, whose workers spin. Alone on its cores a process gains from the spinning (128³: 15 µs against 26), so
`NUMTORCH_THREADING=omp` (or `tbb`, `serial`) chooses. In a forked child the parts run one after
another: forking while another thread ran a parallel kernel deadlocked 4 children of 14, serial parts none of 100.
"""
from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import os
import sys
import threading

import numpy as np

from . import compiler
from .forks import survive_fork
from .intrinsics import address_of, as_pointer, call_native, call_parallel_for, local_like

_BASE = 1 << 20                                          # a task's index range travels as addresses from here, 8 bytes apart
MAX_ARGUMENTS = 20


def _run_part(call, part):
    """Run one part: the record's native kernel on the call's words plus this part's offsets."""
    record = as_pointer(call[0], call)
    count = record[1]
    words = local_like(call, 24)
    for i in range(count):
        words[i] = call[1 + i] + record[6 + part * count + i]
    call_native(record[0], words, count)


def _task(arguments, dims, steps, call):
    """What the backend calls on each thread: args[0] is the address that stands for the first index of its share."""
    first = (arguments[0] - _BASE) // 8
    for part in range(first, first + dims[0]):
        _run_part(call, part)


def _launch_all(record, call):
    """Record: native address, word count, parts, the backend's state, threads, descriptor, then parts x count offsets."""
    parts = record[2]
    state = as_pointer(record[3], record)
    if state[0] == 0 or parts == 1:
        for part in range(parts):
            _run_part(call, part)
    else:
        arguments = local_like(record, 1)
        dims = local_like(record, 1)
        steps = local_like(record, 1)
        arguments[0] = _BASE
        dims[0] = parts
        steps[0] = 8
        call_parallel_for(state[0], state[1], address_of(arguments), address_of(dims), address_of(steps), address_of(call),
                          record[4])


def _launcher_source(count):
    """A kernel's words are `count - 1` addresses and a descriptor; the record stands in the descriptor's place."""
    words = "".join(f"a{i}, " for i in range(count - 1))
    stores = "\n".join(f"    call[{1 + i}] = a{i}" for i in range(count - 1))
    return (f"def launch({words}record):\n    call = local_like(record, {1 + count})\n    call[0] = address_of(record)\n"
            f"{stores}\n    call[{count}] = record[5]\n    launch_all(record, call)\n")


class _Backend:
    """The threading backend once it has been started, and its state as kernels see it: [parallel_for, task]."""

    def __init__(self):
        self.name, self.module = "serial", None
        self.state = np.zeros(2, np.int64)
        self.started = 0
        self.launchers: dict[int, object] = {}

    def start(self, threads):
        if self.started or threads < 2 or compiler.DISABLE_JIT:
            return
        self.started = threads
        asked = os.environ.get("NUMTORCH_THREADING") or "tbb omp"
        for name, load in (("tbb", _load_tbb), ("omp", _load_omp)):
            if name not in asked.split():
                continue
            try:
                module = load()
            except (ImportError, OSError):
                continue
            ctypes.CFUNCTYPE(None, ctypes.c_int)(module.launch_threads)(threads)
            if hasattr(module, "set_num_threads"):
                ctypes.CFUNCTYPE(None, ctypes.c_int)(module.set_num_threads)(threads)
            task = compiler.compile_kernel(_task, ("int64*",) * 4)
            self.name, self.module = name, module
            self.state[:] = module.parallel_for, task.address
            return

    def launcher(self, count):
        """The kernel that launches one of `count` words: `launch(*addresses, record)`."""
        found = self.launchers.get(count)
        if found is None:
            scope = dict(local_like=local_like, address_of=address_of, launch_all=_launch_all)
            exec(_launcher_source(count), scope)
            signature = ("int64",) * (count - 1) + ("int64*",)
            found = self.launchers[count] = compiler.compile_kernel(scope["launch"], signature, nogil=True)
        return found


def _numba_extension(name):
    """One of Numba's threading extension modules, without importing Numba (which takes 0.2 s)."""
    spec = importlib.util.find_spec("numba")
    folder = os.path.join(os.path.dirname(spec.origin), "np", "ufunc") if spec and spec.origin else ""
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        path = os.path.join(folder, name + suffix)
        if os.path.exists(path):
            loader = importlib.machinery.ExtensionFileLoader(name, path)
            module = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, path, loader=loader))
            loader.exec_module(module)
            return module
    raise ImportError(f"numba has no {name}")


def _load_tbb():
    """`pip install tbb` puts the library where the loader does not look, so it is loaded by path first."""
    for folder in (os.path.join(sys.prefix, "lib"), os.path.join(sys.base_prefix, "lib"), ""):
        for name in ("libtbb.so.12", "libtbb.12.dylib"):
            try:
                ctypes.CDLL(os.path.join(folder, name), mode=ctypes.RTLD_GLOBAL)
                return _numba_extension("tbbpool")
            except OSError:
                continue
    raise ImportError("the TBB library was not found")


def _load_omp():
    return _numba_extension("omppool")


_backend = _Backend()
_lock = survive_fork(threading.Lock())


def _count_from_environment():
    asked = os.environ.get("NUMTORCH_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or ""
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_threads = [_count_from_environment()]
_on_change = []                                          # told when the thread count changes: plans hold their split


def get_num_threads() -> int:
    """How many threads a large enough operation is split over."""
    return _threads[0]


def set_num_threads(count: int) -> None:
    """Split large operations over `count` threads from now on.

    Raises:
        TypeError: `count` is not an integer.
        RuntimeError: `count` is not positive.
    """
    if not isinstance(count, int) or isinstance(count, bool):
        raise TypeError(f"set_num_threads expects an int, but got {type(count).__name__}")
    if count < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    _threads[0] = count
    for forget in _on_change:
        forget()


def on_thread_count_change(callback) -> None:
    """Have `callback()` called whenever `set_num_threads` is."""
    _on_change.append(callback)


def backend_name() -> str:
    """`"tbb"`, `"omp"` or `"serial"`: what splits work. Starts it if it has not been needed yet."""
    with _lock:
        _backend.start(max(2, _threads[0]))
    return _backend.name


class Prepared:
    """A kernel with everything but the addresses decided: run it as `prepared.call(*addresses, prepared.walk)`.

    Attributes:
        call: the Python entry, of the kernel itself or of a launcher that splits it.
        walk: the address of the descriptor (or of the launch record) that says sizes and strides.
        workspace: bytes of scratch memory the kernel wants; its address is then the last one before `walk`.
        entry: the kernel that `call` enters, for other kernels to call by address; None where there is no such one.
    """

    __slots__ = ("call", "walk", "workspace", "entry", "_keep")

    def __init__(self, call, walk, workspace, keep, entry=None):
        self.call, self.walk, self.workspace, self.entry, self._keep = call, walk, workspace, entry, keep


def prepare(kernel, rows, offsets=None, *, workspace=0, release_lock=False) -> Prepared:
    """Fix a kernel's descriptor, and its split into parts.

    Args:
        kernel: a kernel whose last argument is an `int64*` descriptor and whose others are addresses.
        rows: one descriptor a part, each a sequence of as many integers.
        offsets: for each part, what it adds to each address, in bytes (one entry an address, the workspace's included).
            None for a single part that adds nothing.
        workspace: bytes of scratch memory that the kernel wants in all.
        release_lock: let other Python threads run during a single-part call too; worth its 40 ns above some 20 µs.
    """
    descriptors = np.array(rows, np.int64)
    parts, length = descriptors.shape
    base = descriptors.ctypes.data
    if parts == 1 and not release_lock:
        return Prepared(kernel.call, base, workspace, descriptors, kernel)
    count = len(kernel.signature)
    if count > MAX_ARGUMENTS:
        raise ValueError(f"a kernel takes at most {MAX_ARGUMENTS} words, got {count}")
    words = [kernel.address, count, parts, _backend.state.ctypes.data, _threads[0], base]
    for part in range(parts):
        words += [*(offsets[part] if offsets is not None else (0,) * (count - 1)), part * length * 8]
    with _lock:
        if parts > 1:
            _backend.start(max(parts, os.cpu_count() or 1))
        entry = _backend.launcher(count)
    record = np.array(words, np.int64)
    return Prepared(entry.call, record.ctypes.data, workspace, (descriptors, record, kernel), entry)


def _after_fork():
    """A child has no worker threads: its parts run one after another."""
    _backend.state[0] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
