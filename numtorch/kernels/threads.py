"""`prepare`: one parallel-for for every threaded kernel, on a pool of workers (`pool.py`), or one part after another.

A threaded kernel is an ordinary serial kernel called once a part, by address, on its share of the work. Every argument of a kernel
is a 64-bit word, so a part is described by what to *add* to each word: a byte offset for an address, another descriptor for a size.
A plan writes these offsets down once (`prepare`); a launch then is one call. No kernel is compiled twice, and none with
`parallel=True`, which takes four times as long to compile.

In a forked child the parts run one after another, until it asks for threads itself (`set_num_threads`): forked while another thread
runs a parallel kernel, it may wait for ever in one of its own.
"""
from __future__ import annotations

import functools
import os
import threading
import weakref

import numpy as np

from . import compiler
from .forks import survive_fork
from .intrinsics import address_of, as_pointer, call_native, local_like, offset
from .planning import planning
from .pool import MAX_PARTS, Pool, launch, run_part
from .sources import compile_source

MAX_ARGUMENTS = 20


def launch_all(record, call):
    """Record: native address, word count, parts, the pool's state, this kernel's address, descriptor; offsets, parts x count."""
    parts = record[2]
    if parts == 1:
        run_part(call, 0)
    else:
        launch(as_pointer(record[3], record), call, parts)


def _launcher_source(count):
    """A kernel's words are `count - 1` addresses and a descriptor; the record stands in the descriptor's place. What follows is the
    same for all counts, and called: copies of it would be compiled with each."""
    words = "".join(f"a{i}, " for i in range(count - 1))
    stores = "\n".join(f"    call[{1 + i}] = a{i}" for i in range(count - 1))
    return (f"def launch({words}record):\n    call = local_like(record, {3 + count})\n    call[0] = address_of(record)\n"
            f"{stores}\n    call[{count}] = record[5]\n    call[{count + 1}], call[{count + 2}] = call[0], address_of(call)\n"
            f"    call_native(record[4], offset(call, {count + 1}), 2)\n")


_pool = Pool()
_lock = survive_fork(threading.Lock())
_launchers: dict[int, compiler.Kernel] = {}


def _launcher(count):
    """The kernel that launches one of `count` words: `launch(*addresses, record)`."""
    launcher = _launchers.get(count)
    if launcher is None:
        scope = dict(local_like=local_like, address_of=address_of, call_native=call_native, offset=offset)
        compile_source(_launcher_source(count), "launch", scope)
        signature = ("int64",) * (count - 1) + ("int64*",)
        launcher = _launchers[count] = compiler.compile_kernel(scope["launch"], signature, nogil=True)
    return launcher


@functools.cache
def _launches_all():
    """`launch_all` as a kernel, which launchers call by its address."""
    return compiler.compile_kernel(launch_all, ("int64*", "int64*"))


def launchers() -> list:
    """The kernels that launch others, part by part."""
    return list(_launchers.values())


def _count_from_environment():
    asked = os.environ.get("NUMTORCH_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or ""
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return _processors()


def _processors():
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_threads = [_count_from_environment()]
_on_change = []                                          # told when the thread count changes: plans hold their split


def get_num_threads() -> int:
    """How many threads a large enough operation is split over: $NUMTORCH_NUM_THREADS, $OMP_NUM_THREADS, or all processors.

    Example:
        >>> import numtorch as torch
        >>> torch.get_num_threads() >= 1
        True
    """
    elsewhere = planning.elsewhere
    return _threads[0] if elsewhere is None else elsewhere.threads


def least_work(grain) -> int:
    """The least work that is worth a thread, where it is `grain` on the host: less for a device of many threads."""
    elsewhere = planning.elsewhere
    return grain if elsewhere is None else max(1, int(grain * elsewhere.share))


def set_num_threads(count: int) -> None:
    """Split large operations over `count` threads from now on. A forked process has threads of its own when it has called this.

    Args:
        count: 1 or more.

    Raises:
        TypeError: `count` is not an integer.
        RuntimeError: `count` is not positive.

    Example:
        >>> import numtorch as torch
        >>> before = torch.get_num_threads()
        >>> torch.set_num_threads(1)
        >>> torch.get_num_threads()
        1
        >>> torch.set_num_threads(before)
    """
    if not isinstance(count, int) or isinstance(count, bool):
        raise TypeError(f"set_num_threads expects an int, but got {type(count).__name__}")
    if count < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    _threads[0] = count
    if count > 1:
        _pool.permit()
    for forget in _on_change:
        forget()


def on_thread_count_change(callback) -> None:
    """Have `callback()` called whenever `set_num_threads` is."""
    _on_change.append(callback)


def workers() -> int:
    """How many threads help the one that launches: 0 until something large enough has been split, and in a forked child that never
    asked for any."""
    return len(_pool.threads)


class Prepared:
    """A kernel with everything but the addresses decided: run it as `prepared.call(*addresses, prepared.descriptor)`.

    Attributes:
        call: the Python entry, of the kernel itself or of a launcher that splits it.
        descriptor: the address of the descriptor (or of the launch record) that says sizes and strides.
        workspace: bytes of scratch memory the kernel wants; its address is then the last one before `descriptor`.
        entry: the kernel that `call` enters, for other kernels to call by address; None where there is no such one.
    """

    __slots__ = ("call", "descriptor", "workspace", "entry", "_keep", "__weakref__")

    def __init__(self, call, descriptor, workspace, keep, entry=None):
        self.call, self.descriptor, self.workspace, self.entry, self._keep = call, descriptor, workspace, entry, keep
        reference = _Reference(self, _forget)
        reference.descriptor = descriptor
        _prepared.setdefault(descriptor, []).append(reference)

    def with_workspace(self, workspace, *keep):
        """The same call, with so many bytes of scratch memory, and which keeps more alive."""
        return Prepared(self.call, self.descriptor, workspace, (self, keep), self.entry)


class _Reference(weakref.ref):
    """A reference to what is prepared that does not keep it."""

    __slots__ = ("descriptor",)


_prepared: dict[int, list[_Reference]] = {}              # by descriptor: each may keep more alive than another


def _forget(reference, known=_prepared):
    references = known.get(reference.descriptor, [])
    if reference in references:
        references.remove(reference)
    if not references:
        known.pop(reference.descriptor, None)


def prepared_on(descriptor: int) -> list[Prepared]:
    """All that is prepared on a descriptor and alive."""
    return [prepared for reference in _prepared.get(descriptor, ()) if (prepared := reference()) is not None]


def all_prepared() -> list[Prepared]:
    """All that is prepared and alive."""
    return [each for descriptor in list(_prepared) for each in prepared_on(descriptor)]


def _nothing(*words):
    """The kernel of a plan without memory."""


NOTHING = Prepared(_nothing, 0, 0, (), compiler.Kernel("nothing", _nothing, 0, ()))
_NOTHING_RELEASING = Prepared(_nothing, 0, 0, (), compiler.Kernel("nothing", _nothing, 0, (), nogil=True))


def _named(kernel, launched):
    """A plan that does nothing, and names the kernel that would launch it."""
    if launched:
        _launcher(len(kernel.signature))
    return _NOTHING_RELEASING if launched or kernel.nogil else NOTHING


def part_space(size) -> int:
    """Bytes from one part's share of a workspace of `size` bytes each to the next part's.

    They lie 8 KB apart: a part that reads its own to the end has the lines behind it fetched as well, by what it asks for (3.6 KB
    ahead in a panel of B) and by the processor, and takes them from the part that writes there: with shares side by side
    small products take a quarter longer on two threads.
    """
    return -(-size // 64) * 64 + 8192 if size else 0


def prepare(kernel, rows, offsets=None, *, workspace=0, release_lock=False) -> Prepared:
    """Fix a kernel's descriptor, and its split into parts.

    Args:
        kernel: a kernel whose last argument is an `int64*` descriptor and whose others are addresses.
        rows: one descriptor a part, each a sequence of as many integers.
        offsets: for each part, what it adds to each address, in bytes; a workspace of its own, the last address, is left out.
            None where nothing is added.
        workspace: bytes of scratch memory that each part has to itself.
        release_lock: let other Python threads run during a single-part call too; worth its price in calls of some 20 µs or more.

    Raises:
        RuntimeError: a number in a descriptor does not fit 64 bits.
    """
    try:
        descriptors = np.array(rows, np.int64)
    except OverflowError:
        raise RuntimeError("integer overflow: a size, a stride or an offset of this call does not fit 64 bits") from None
    if planning.without_memory:
        return NOTHING if planning.named is None else _named(kernel, len(rows) > 1 or release_lock)
    if planning.elsewhere is not None:
        return planning.elsewhere.prepare(kernel, descriptors, offsets, workspace)
    parts, length = descriptors.shape
    base = descriptors.ctypes.data
    if parts == 1 and not release_lock:
        return Prepared(kernel.call, base, workspace, descriptors, kernel)
    apart = part_space(workspace)
    count = len(kernel.signature)
    if count > MAX_ARGUMENTS:
        raise ValueError(f"a kernel takes at most {MAX_ARGUMENTS} words, got {count}")
    if parts > MAX_PARTS:
        raise ValueError(f"a call has at most {MAX_PARTS} parts, got {parts}")
    words = [kernel.address, count, parts, _pool.address, _launches_all().address, base]
    for part in range(parts):
        added = offsets[part] if offsets is not None else (0,) * (count - 1)
        words += [*added, *(part * apart,) * (count - 1 - len(added)), part * length * 8]
    with _lock:
        if parts > 1:
            _pool.start(max(_threads[0], _processors()) - 1)
        entry = _launcher(count)
    record = np.array(words, np.int64)
    return Prepared(entry.call, record.ctypes.data, apart * (parts - 1) + workspace, (descriptors, record, kernel), entry)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.forget)
