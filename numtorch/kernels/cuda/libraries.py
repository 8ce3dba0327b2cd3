"""NVIDIA's own libraries where they are installed: cuSOLVER, cuBLAS and cuFFT, by the bindings of nvmath-python.

Nothing is imported before a family asks (`require`), and a family that asks in vain has no kernels: its ops then take another way.
A library is used for the length of one call, by a handle that works in the calling thread's current stream and that nobody else has
meanwhile; its scratch memory is this package's. What its routines wait for, or decide on the host, no graph holds: factorisations
are refused while one is captured, and `numtorch.compile` is told.
"""
from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import os
import threading
import warnings
from collections import deque

from ..targets import architectures
from ..threads import Prepared
from .capture import active, refuse, watcher
from .environment import BLOCKING, SIMULATED
from .runtime import runtime

SOLVERS = "cusolverDn", "cublas"                         # what lapack.py needs
TRY = "NUMTORCH_NVIDIA_SOLVERS"                          # where it is 1 these are used: they have not passed their checks on a GPU
INSTALL = "numtorch[nvmath]"                             # what brings them


@functools.cache
def bindings(name):
    """A module of nvmath's bindings, such as `"cufft"`. Raises NotImplementedError where it, or what it binds, is not there; warns
    of what is there and cannot be used."""
    if SIMULATED or architectures.chosen() is not None:
        raise NotImplementedError(f"{name} needs a GPU")
    if name in SOLVERS and os.environ.get(TRY) != "1":
        raise NotImplementedError(f"{name} is used where {TRY} is 1")
    try:
        module = importlib.import_module(f"nvmath.bindings.{name}")
        runtime().at(0)
        if hasattr(module, "create") and name != "cufft":
            module.destroy(module.create())
        else:
            module.get_version()
    except Exception as error:                           # those of the bindings are of no kind that could be named here
        if not (isinstance(error, ImportError) and (error.name or "nvmath").partition(".")[0] == "nvmath"):
            warnings.warn(f"NVIDIA's {name} is not used: {error}", stacklevel=2)
        raise NotImplementedError(f"{name} cannot be used: {error}; install {INSTALL}") from error
    return module


def require(*names) -> None:
    """Raise NotImplementedError unless these libraries can be used. For the head of a family's module."""
    for name in names:
        bindings(name)


@functools.cache
def installed(*names) -> bool:
    """Whether these libraries can be used."""
    try:
        require(*names)
    except NotImplementedError:
        return False
    return True


@functools.cache
def has(name, function) -> bool:
    """Whether the installed version of a library has a function."""
    if not hasattr(bindings(name), function):
        return False
    pointers = importlib.import_module(f"nvmath.bindings._internal.{name}")._inspect_function_pointers()
    return any(address for key, address in pointers.items() if key.lstrip("_") == symbol(name, function))


def symbol(name, function) -> str:
    """What a generic function of the bindings is called in the library: `xsyev_batched_buffer_size` is
    `cusolverDnXsyevBatched_bufferSize`."""
    words = function.removesuffix("_buffer_size").split("_")
    return name + "".join(map(str.capitalize, words)) + "_bufferSize" * function.endswith("_buffer_size")


class Library:
    """A library in use on a device: called with a function's name and what follows the handle.

    Attributes:
        index: the device. params: of cuSOLVER, what its generic routines take beside the handle. held: the memory of this use.
    """

    __slots__ = ("module", "index", "handle", "params", "stream", "held")

    def __init__(self, module, index, stream):
        self.module, self.index, self.stream, self.held = module, index, stream, []
        self.handle = module.create()
        self.params = module.create_params() if hasattr(module, "create_params") else None
        module.set_stream(self.handle, stream.number)

    def __call__(self, function, *arguments):
        return told(self.module, function, self.handle, *arguments)

    def generic(self, function, count, arguments):
        """One of cuSOLVER's generic routines for `count` matrices, one after another. `arguments(i)` gives what stands between the
        handle and the scratch memory, and the info word."""
        on_device, on_host = self(f"{function}_buffer_size", *arguments(0)[0])
        room, beside = self.scratch(on_device), ctypes.create_string_buffer(max(on_host, 1))
        for i in range(count):
            given, info = arguments(i)
            self(function, *given, room, on_device, ctypes.addressof(beside), on_host, info)

    def scratch(self, nbytes):
        """The address of memory that is there as long as the library is in use."""
        owner, place = scratch(nbytes, self.index)
        self.held.append(owner)
        return place

    def addresses(self, start, apart, count):
        """A table in the device's memory of where `count` matrices lie."""
        table = (ctypes.c_int64 * count)(*[start + apart * i for i in range(count)])
        place = self.scratch(8 * count)
        runtime().copy(place, ctypes.addressof(table), 8 * count, self.index, False)     # it is read when this returns
        return place


def told(module, function, *arguments):
    """What a library's function returns. Raises RuntimeError for what it refuses."""
    try:
        return getattr(module, function)(*arguments)
    except Exception as error:
        if isinstance(error, (RuntimeError, TypeError)):
            raise
        raise RuntimeError(f"{module.__name__.rpartition('.')[2]} error: {error}, when calling {function}") from error


def scratch(nbytes, index):
    """(owner, address): memory for the calls that the current stream is told while the owner lives."""
    return runtime().allocate(max(nbytes, 1), index)


_free: dict[tuple, deque] = {}                           # libraries nobody uses, by name and stream: they have scratch memory, too
_lock = threading.Lock()


@contextlib.contextmanager
def using(name, index, what):
    """A `Library` for the calling thread's current stream. `what` says what is computed, where a capture refuses it."""
    refuse(f"{what} by {name}, which decides on the host")
    module, stream = bindings(name), runtime().current(index)
    with _lock:
        free = _free.setdefault((name, stream), deque())
    try:
        library = free.pop()
    except IndexError:
        library = Library(module, index, stream)
    yield library
    library.held.clear()
    free.append(library)
    finished(index)


def captured() -> bool:
    """Whether what this thread is doing is captured, so that it must be launches."""
    return active[0] is not None or watcher() is not None


def finished(index) -> None:
    """Wait for what was just told, where each launch is waited for."""
    if BLOCKING and active[0] is None:
        runtime().finish(runtime().current(index))



def either(names, by_library, serially):
    """A planner by libraries where they can be used, the call has matrices, and nothing is captured; else by the host's kernels.

    Args:
        names: the libraries.
        by_library: a planner, which takes the device last; None for what the libraries have not.
        serially: the other, which takes the device as `device`.
    """
    @functools.wraps(serially)
    def plan(*arguments, device=0):
        made = by_library(*arguments, device) if all(arguments[1:3]) and installed(*names) else None
        if made is None:
            return serially(*arguments, device=device)
        other = functools.cache(lambda: serially(*arguments, device=device))

        def call(*addresses):
            if captured():
                other().call(*addresses[:-1], other().descriptor)
            else:
                made.call(*addresses[:-1], made.descriptor)
        return Prepared(call, 0, 0, made)
    return plan
