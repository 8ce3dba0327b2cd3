"""What Python tells of each call, sorted in machine code: a program makes a thousand calls of which a few are worth looking at.

CPython calls a profile's C function at each event. Ours finds the code that calls and the C function that is called in a table, and
comes back to Python only for what is not known to be uninteresting: a function in Python takes twenty times as long to say so.
"""
from __future__ import annotations

import contextlib
import ctypes
import itertools
import sys
import types

import numpy as np

from . import compiler

NAMED_KINDS = 7                                          # kinds of code are numbered from 1 to this; 0 is not known
SILENT_KIND = 1                                          # whose calls are never told
_SILENT_CALL = 8                                         # added to the kind of a code object whose own calls need not be told
_MULTIPLIER = 0x9E3779B97F4A7C15 - (1 << 64)             # Knuth's, of the golden ratio
_CALL, _C_CALL = 0, 4                                    # PyTrace_CALL and PyTrace_C_CALL
_numbers = itertools.count()


def _code(state: int, call_name: int, c_call_name: int) -> str:
    """LLVM IR of the C function of a profile; `state` has where the table is, and how many pairs it has, less 1: a key, or 0, and
    what is known of it."""
    return f"""
declare ptr @PyFrame_GetCode(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare void @PyEval_SetProfile(ptr, ptr)

define internal i64 @known(i64 %key) {{
begin:
  %state = inttoptr i64 {state} to ptr
  %table = load ptr, ptr %state
  %mask_at = getelementptr i64, ptr %state, i64 1
  %mask = load i64, ptr %mask_at
  %product = mul i64 %key, {_MULTIPLIER}
  %first = lshr i64 %product, 32
  br label %try
try:
  %number = phi i64 [ %first, %begin ], [ %next, %other ]
  %place = and i64 %number, %mask
  %words = shl i64 %place, 1
  %key_at = getelementptr i64, ptr %table, i64 %words
  %there = load i64, ptr %key_at
  %same = icmp eq i64 %there, %key
  br i1 %same, label %yes, label %not
not:
  %free = icmp eq i64 %there, 0
  br i1 %free, label %no, label %other
other:
  %next = add i64 %place, 1
  br label %try
yes:
  %value_at = getelementptr i64, ptr %key_at, i64 1
  %value = load i64, ptr %value_at
  ret i64 %value
no:
  ret i64 0
}}

define i32 @observed(ptr %observer, ptr %frame, i32 %what, ptr %argument) {{
begin:
  switch i32 %what, label %done [ i32 {_CALL}, label %look
                                  i32 {_C_CALL}, label %look ]
look:
  %code = call ptr @PyFrame_GetCode(ptr %frame)
  call void @Py_DecRef(ptr %code)
  %code_key = ptrtoint ptr %code to i64
  %of_code = call i64 @known(i64 %code_key)
  %kind = and i64 %of_code, {NAMED_KINDS}
  %silent = icmp eq i64 %kind, {SILENT_KIND}
  br i1 %silent, label %done, label %which
which:
  %is_c = icmp eq i32 %what, {_C_CALL}
  br i1 %is_c, label %c_call, label %call
call:
  %quiet = icmp uge i64 %of_code, {_SILENT_CALL}
  br i1 %quiet, label %done, label %tell
c_call:
  %has_kind = icmp ne i64 %kind, 0
  br i1 %has_kind, label %method, label %tell
method:
  %method_at = getelementptr i8, ptr %argument, i64 16
  %definition = load i64, ptr %method_at
  %method_key = add i64 %definition, %kind
  %of_method = call i64 @known(i64 %method_key)
  %harmless = icmp ne i64 %of_method, 0
  br i1 %harmless, label %done, label %tell
tell:
  %name = select i1 %is_c, ptr inttoptr (i64 {c_call_name} to ptr), ptr inttoptr (i64 {call_name} to ptr)
  %result = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %observer, ptr %frame, ptr %name, ptr %argument, ptr null)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %error, label %told
told:
  call void @Py_DecRef(ptr %result)
  br label %done
done:
  ret i32 0
error:
  call void @PyEval_SetProfile(ptr null, ptr null)
  ret i32 -1
}}
"""


class Events:
    """What is known of code objects and C functions, and the profile that skips these. One for all threads, which read and write it
    while they hold Python's lock."""

    def __init__(self) -> None:
        self.state = np.zeros(2, np.int64)
        self.count = 0
        self._make_room(1 << 12)
        self._set_profile = ctypes.pythonapi.PyEval_SetProfile
        self._set_profile.argtypes, self._set_profile.restype = [ctypes.c_void_p, ctypes.py_object], None
        self._function: list = []
        self._observers: dict = {}                       # the functions of all observers there were, by identity

    def _make_room(self, size):
        before = self.table if self.count else np.zeros((0, 2), np.int64)
        self.table, self.count = np.zeros((size, 2), np.int64), 0
        for key, value in before.tolist():
            if key:
                self._add(key, value)
        self.state[:] = self.table.ctypes.data, size - 1

    def _add(self, key, value):
        table, mask = self.table, len(self.table) - 1
        place = (key * _MULTIPLIER & (1 << 64) - 1) >> 32 & mask
        while table[place, 0] not in (0, key):
            place = place + 1 & mask
        self.count += not table[place, 0]
        table[place] = key, value
        if 2 * self.count > len(table):
            self._make_room(2 * len(table))

    def know_code(self, code: types.CodeType, kind: int, tell: bool) -> None:
        """Note a code object's kind.

        Args:
            code: it; who calls this keeps it, so that no other one gets its address.
            kind: from 1 to NAMED_KINDS; the calls that code of SILENT_KIND makes are never told.
            tell: whether it is told when it is called itself.
        """
        self._add(id(code), kind + _SILENT_CALL * (not tell))

    def know_method(self, function, kind: int) -> None:
        """Tell no more of a C function, whatever object it is a method of, where code of a kind calls it."""
        if _has_definition():
            self._add(_definition_of(function) + kind, 1)

    def start(self, observer) -> None:
        """Have this thread's calls told: `observer(frame, "call" or "c_call", function)`, as `sys.setprofile` has it.
        `sys.setprofile(None)` ends that, and so does an exception of its own."""
        if not self._function:
            self._make()
        function = getattr(observer, "__func__", observer)
        self._observers[id(function)] = function
        self._set_profile(self._function[0], observer)

    @contextlib.contextmanager
    def paused(self):
        """Inside, this thread's calls are not told. A profile of someone else's goes on."""
        observer = sys.getprofile()
        function = getattr(observer, "__func__", observer)
        ours = observer is not None and self._observers.get(id(function)) is function
        if ours:
            sys.setprofile(None)
        try:
            yield
        finally:
            if ours:
                self.start(observer)

    def _make(self):
        machine, names = compiler.machine(), ("call", "c_call")
        module = machine.llvm.parse_assembly(_code(self.state.ctypes.data, *map(id, names)))
        library = machine.llvm.JITLibraryBuilder().add_object_img(machine.target.emit_object(module))
        tracker = library.add_current_process().export_symbol("observed").link(machine.jit, f"observed events {next(_numbers)}")
        self._function = [tracker["observed"], names]    # which the code refers to
        tracker.detach()


def _definition_of(function):
    """Where CPython's PyMethodDef of a C function is."""
    return ctypes.c_int64.from_address(id(function) + 16).value


def _has_definition():
    """Whether C functions are laid out as is expected here."""
    name = ctypes.c_char_p.from_address(_definition_of(len)).value
    return name == b"len"


events = Events()
compiler.while_compiling.append(events.paused)           # a compiler's million calls are none of the program's
