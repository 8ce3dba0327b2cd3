"""Kernels as Python calls them: C functions, and how their calls are timed and written down.

CPython finds the machine code of a C function through a definition at each call. So a profile exchanges the address there, and all
calls of all kernels go through one function that reads the clock before and after; without a profile nothing is in the way. What
captures a program (`numtorch.compile`) does the same with a function that writes the calls down: it misses none, whoever holds the
kernel.
"""
from __future__ import annotations

import ctypes
import sys
import threading

import numpy as np

EVENT = 5                                                # words of a timed call: kernel, start, end, thread, parts
CAPACITY = 1 << 21                                       # timed calls that a profile keeps, the last; a power of two


class _Definition(ctypes.Structure):
    """CPython's PyMethodDef, and behind it what the timing function must know."""
    _fields_ = [("name", ctypes.c_char_p), ("method", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
                ("entry", ctypes.c_void_p), ("native", ctypes.c_int64), ("launcher", ctypes.c_int64)]


_METH_FASTCALL = 0x0080
_new_function = ctypes.pythonapi.PyCFunction_NewEx
_new_function.argtypes, _new_function.restype = [ctypes.POINTER(_Definition), ctypes.py_object, ctypes.c_void_p], ctypes.py_object
_keep_for_ever = ctypes.pythonapi.Py_IncRef
_keep_for_ever.argtypes, _keep_for_ever.restype = [ctypes.py_object], None

_definitions: dict[int, _Definition] = {}                 # by address
_detour: list = []                                       # the address of the function that calls go through, while there is one
LAUNCHERS = "launch"                                     # the kernels that run another one, part by part (threads.py)


def python_entry(name: str, entry: int, native: int):
    """The C function of a kernel.

    Args:
        name: for people.
        entry: the address of code in CPython's fast-call convention.
        native: the address by which other kernels call it.
    """
    definition = _Definition(name.encode(), entry, _METH_FASTCALL, None, entry, native, name == LAUNCHERS)
    _keep_for_ever(definition)                           # CPython reads it when the function dies, which may be after this module
    _definitions[ctypes.addressof(definition)] = definition
    for detour in _detour[:]:
        definition.method = detour
        if not _detour:                                  # it has ended meanwhile, in another thread
            definition.method = entry
    return _new_function(ctypes.byref(definition), ctypes.addressof(definition), None)


def _set_detour(address: int) -> None:
    """Have all calls of kernels go through a C function of the same convention, whose `self` is a definition's address."""
    _detour[:] = [address]
    for definition in list(_definitions.values()):       # other threads compile meanwhile
        definition.method = address


def _end_detour() -> None:
    _detour.clear()
    for definition in list(_definitions.values()):
        definition.method = definition.entry


# ---------------------------------------------------------------- writing down
_ENTRY = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)


class Calls:
    """The calls of kernels on this thread between `start` and `stop` are told to a function, each before it is made.

    Args:
        tell: `tell(native, words)`, the kernel's native address and its words. It must not raise.
    """

    _listening: dict = {}                                # by thread
    _entries: dict = {}                                  # the entries as functions, by definition
    _stub: list = []                                     # it stays: other threads may be in calls that went through it

    def __init__(self, tell) -> None:
        self.tell = tell

    @classmethod
    def _call(cls, definition, arguments, count):
        known = cls._entries.get(definition)
        if known is None:
            record = _Definition.from_address(definition)
            known = cls._entries[definition] = _ENTRY(record.entry), record.native
        entry, native = known
        tell = cls._listening.get(threading.get_ident())
        if tell is not None:
            tell(native, tuple((ctypes.py_object * count).from_address(arguments)))
        return entry(definition, arguments, count)

    def start(self) -> bool:
        """Tell of every call from now on. False where calls go through another function already, a profile's."""
        if _detour:
            return False
        if not self._stub:
            self._stub.append(_ENTRY(self._call))
        self._listening[threading.get_ident()] = self.tell
        _set_detour(ctypes.cast(self._stub[0], ctypes.c_void_p).value or 0)
        return True

    def stop(self) -> None:
        """Tell no more."""
        _end_detour()
        self._listening.clear()


def is_entry(function) -> bool:
    """Whether a C function is a kernel's."""
    return type(function.__self__) is int and function.__self__ in _definitions


def native_of(function) -> int:
    """The native address of the kernel that a C function is of."""
    return _definitions[function.__self__].native


# ---------------------------------------------------------------- timing
def _timing_code(state: int) -> str:
    """LLVM IR of the function that stands in for every entry; `state` has the calls so far, how many
    are kept (0 for none any more), and where."""
    place = {name: _Definition.__dict__[name].offset for name in ("entry", "native", "launcher")}
    if sys.version_info >= (3, 13):
        declaration = "declare i32 @PyTime_PerfCounterRaw(ptr)"
        start, end = (f"  %ignored{n} = call i32 @PyTime_PerfCounterRaw(ptr %clock)\n  %{n} = load i64, ptr %clock\n"
                      for n in ("start", "end"))
    else:
        declaration = "declare i64 @_PyTime_GetPerfCounter()"
        start, end = (f"  %{n} = call i64 @_PyTime_GetPerfCounter()\n" for n in ("start", "end"))
    stores = "".join(f"  %p{i} = getelementptr i64, ptr %event, i64 {i}\n  store i64 {v}, ptr %p{i}\n"
                     for i, v in enumerate(("%kernel", "%start", "%end", "%thread", "%parts")))
    return f"""
{declaration}
declare ptr @PyLong_AsVoidPtr(ptr)
declare i64 @PyThread_get_thread_ident()
define ptr @timed(ptr %self, ptr %args, i64 %count) {{
begin:
  %clock = alloca i64
  %definition = call ptr @PyLong_AsVoidPtr(ptr %self)
  %entry_at = getelementptr i8, ptr %definition, i64 {place["entry"]}
  %entry = load ptr, ptr %entry_at
  %native_at = getelementptr i8, ptr %definition, i64 {place["native"]}
  %native = load i64, ptr %native_at
  %launcher_at = getelementptr i8, ptr %definition, i64 {place["launcher"]}
  %launcher = load i64, ptr %launcher_at
{start}  %result = call ptr %entry(ptr %self, ptr %args, i64 %count)
{end}  %failed = icmp eq ptr %result, null
  br i1 %failed, label %done, label %ran
ran:
  %threaded = icmp ne i64 %launcher, 0
  br i1 %threaded, label %parted, label %note
parted:
  %last = sub i64 %count, 1
  %descriptor_at = getelementptr ptr, ptr %args, i64 %last
  %descriptor_object = load ptr, ptr %descriptor_at
  %descriptor = call ptr @PyLong_AsVoidPtr(ptr %descriptor_object)
  %run = load i64, ptr %descriptor
  %parts_at = getelementptr i64, ptr %descriptor, i64 2
  %many = load i64, ptr %parts_at
  br label %note
note:
  %kernel = phi i64 [ %native, %ran ], [ %run, %parted ]
  %parts = phi i64 [ 1, %ran ], [ %many, %parted ]
  %thread = call i64 @PyThread_get_thread_ident()
  %state = inttoptr i64 {state} to ptr
  %number = atomicrmw add ptr %state, i64 1 monotonic
  %capacity_at = getelementptr i64, ptr %state, i64 1
  %capacity = load i64, ptr %capacity_at
  %on = icmp ne i64 %capacity, 0
  br i1 %on, label %write, label %done
write:
  %events_at = getelementptr i64, ptr %state, i64 2
  %events = load ptr, ptr %events_at
  %mask = sub i64 %capacity, 1
  %row = and i64 %number, %mask
  %words = mul i64 %row, {EVENT}
  %event = getelementptr i64, ptr %events, i64 %words
{stores}  br label %done
done:
  ret ptr %result
}}
"""


class Launches:
    """The calls of kernels between `start` and `stop`, and what they were.

    Args:
        machine: the compiler's (compiler.py).
    """

    _code: list = []                                     # the state that the timing function writes to, and its address

    def __init__(self, machine) -> None:
        self.machine = machine

    def start(self) -> None:
        """Time every call from now on, and forget those before."""
        if not self._code:
            state = np.zeros(3, np.int64)
            module = self.machine.llvm.parse_assembly(_timing_code(state.ctypes.data))
            library = self.machine.llvm.JITLibraryBuilder().add_object_img(self.machine.target.emit_object(module))
            tracker = library.add_current_process().export_symbol("timed").link(self.machine.jit, "timed launches")
            self._code.extend((state, tracker["timed"]))
            tracker.detach()
        self.events = np.empty((CAPACITY, EVENT), np.int64)
        self._code[0][:] = 0, CAPACITY, self.events.ctypes.data
        _set_detour(self._code[1])

    def stop(self) -> tuple[list, int]:
        """Time no more.

        Returns:
            The last CAPACITY calls as lists of EVENT words, and how many there were before them.
        """
        _end_detour()
        count, self._code[0][1] = int(self._code[0][0]), 0
        return self.events[:count].tolist(), max(0, count - CAPACITY)          # which begins where does not matter


def names_of_entries() -> dict[int, str]:
    """The names of all kernels by the addresses that calls are noted with."""
    return {definition.native: definition.name.decode() for definition in list(_definitions.values())}
