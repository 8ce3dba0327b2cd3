"""One call of a function, watched: every launch of a kernel with its words, and everything that keeps the call from being replayed.

The call runs as it would without being watched, so what it returns is right whatever is found. Meanwhile

- calls of kernels go through a function that writes them down (kernels/entries.py), whoever holds the kernel;
- memory comes from blocks of the program's own (memory.py);
- Python tells of each call it makes (kernels/events.py): which of the user's functions run, and which C functions. A C function
  that is not known to be harmless (allowed.py) could read or write a tensor's elements, or the world: each is a *break*;
- the few places where this package's own Python reads or writes words beside a launch are known by their code: random streams,
  optimisers, statuses of kernels that look for bad indices.

A thread that captures is alone in that; calls of other threads' kernels pass through.
"""
from __future__ import annotations

import contextlib
import ctypes
import gc
import struct
import sys
import threading
from typing import Any

import numpy as np

from ... import storage
from ...autograd.engine import run_backward
from ...devices import cpu
from ...exchange.construction import from_plain
from ...exchange.scalars import number, recent_numbers
from ...exchange.values import item, numpy, tolist
from ...interposition import own_code
from ...kernels.compiler import compile_kernel
from ...kernels.entries import Calls, is_entry, native_of
from ...kernels.events import events
from ...kernels.forks import survive_fork
from ...kernels.threads import prepare, prepared_on
from ...ops.core import status
from ...ops.core.generator import Generator
from ...ops.core.primitive import Dropped, Primitive
from ...ops.index import index_op
from ...ops.nn.embedding import ONE_HOT
from ...ops.pointwise import divisor
from ...ops.reduce.query import CHECK_PROBABILITIES
from ...ops.reduce.total_norm import SCALE_DOWN, TOTAL_NORM
from ...ops.reduce.total_norm import Plan as TotalPlan
from ...ops.shape import join
from ...optim.batches import Batch, Prepared
from ...optim.optimizer import Optimizer
from ...optim.rule import RuleOptimizer
from ...tensor import Tensor
from .allowed import CLEANING_OF_SETS, MODULES, decides_alone, is_allowed
from .catching import catches
from .items import Break, Check, Complaint, Entry, Launch, Truth, Write
from .memory import Memory
from .ondevice import OnDevice
from .owners import APART, LEGACY, OURS, SILENT, STANDARDS, TOLD, USERS, caller, kind_of_frame, users_line
from .places import is_in_place, version
from .steps import Draw, Update

_CLIPPING = {each.__code__ for each in (TOTAL_NORM.execute, SCALE_DOWN.execute, TotalPlan.table)}
_LOOKING = {each.__code__: each for each in (index_op.look_first, CHECK_PROBABILITIES.execute, ONE_HOT.execute)}
_FINDING = {status.run_finding.__code__, status.run_marking.__code__}      # of these, which raise what a kernel finds
_READING = {own_code(each) for each in (item, numpy, tolist)}
_PREPARING = {each.__code__ for each in (Prepared.__init__, Primitive.planned_for, compile_kernel, prepare)}   # what is kept
MOST_WORDS = 1024                                        # that become a tensor: each is stored by a launch of its own
# this package's functions that do something beside launches, and what notes it
_RAISED = sys.exc_info, getattr(sys, "exception", sys.exc_info)
_OBSERVED = {Generator._claim.__code__: "_on_claim", own_code(RuleOptimizer.step): "_on_step",
             Batch.run.__code__: "_on_batch", Prepared.__init__.__code__: "_on_first_step",
             status.clear_status.__code__: "_on_clear", status.expect_status.__code__: "_on_read",
             own_code(Tensor.data.fget): "_on_data",
             **{getattr(Generator, name).__code__: "_on_seed"
                for name in ("manual_seed", "set_state", "get_state", "initial_seed", "_go_to")},
             **{own_code(each): "_on_place" for each in (
                 Tensor.storage_offset, Tensor.data_ptr, Tensor.const_data_ptr, Tensor.untyped_storage, Tensor.storage,
                 Tensor.is_shared, Tensor.is_pinned, Tensor.is_inference, Tensor._is_view, Tensor._version.fget)},
             **{own_code(getattr(Tensor, name).fget): "_on_tape"
                for name in ("is_leaf", "grad_fn", "output_nr", "grad", "retains_grad")}}
_CHANGING = {own_code(each) for each in (Tensor.data_ptr, Tensor.const_data_ptr, Tensor._version.fget)}        # of any tensor
# what a recorded call, of which the tape keeps one node, cannot do once more: what it does to gradients
_GRADING = {own_code(each) for each in (Tensor.grad.fget, Tensor.grad.fset, Optimizer.zero_grad)}
TOLD.update(_OBSERVED, _GRADING)
_one_at_a_time = survive_fork(threading.Lock())


# ---------------------------------------------------------------- the watch
def is_profiled() -> bool:
    """Whether a profiler is on that is told of calls by C, as cProfile is: Python can take its place, and not give it back."""
    profile = sys.getprofile()
    return profile is not None and not callable(profile)


class Watch:
    """What one call did.

    Args:
        capturing: whether its launches are wanted, or only whose code runs.
        code: the captured function's own code object.
        suspect: one whose calls are breaks, wherever they are.
        devices: whether launches on other devices than the host are wanted too.
        before: what the call begins with, where it is captured or, as its result has a graph, recorded.
        truths: whether the program may have one case of what Python decides by truth values.

    Attributes:
        on_device: what watches these, or None.
        codes: the user's code objects that ran, with their globals.
        breaks: what a replay would leave out.
        decided: breaks that the truth values would be which the call decided by.
        items: launches, and what Python does between them, in order.
    """

    def __init__(self, capturing: bool = True, code: Any = None, suspect: Any = None, devices: bool = False,
                 before: Any = None, truths: bool = False) -> None:
        self.capturing, self.code, self.suspect, self.truths = capturing, code, suspect, truths
        self.before, self.given = before, set() if before is None else {id(tensor) for tensor in before.tensors}
        self.codes: dict = {}
        self.breaks: list[Break] = []
        self.decided: list[Break] = []
        self.items: list = []
        self.on_device = OnDevice(self.stop, self.items, self._source, lambda: sys.setprofile(None),
                                  lambda: events.start(self._observe), lambda storage: self.memory.hold(storage)) \
            if devices or not capturing else None
        self.memory: Memory = Memory(self.on_device)
        self.memory.items = self.items
        self.dropped = Dropped()
        self.claimed: dict = {}
        self.kept: list = []
        self.updates: list[Update] = []
        self.batches: dict = {}
        self.update, self.apart, self.collecting = None, False, False
        self.uncounted = False                           # whether there may be writes that no version tells of
        self.nothing = None
        words, address = status.call_words.words
        self.status, self.words = address, words

    def run(self, function, args, kwargs):
        """Call a function and watch it. Returns what it returns, and raises what it raises."""
        if is_profiled():
            return self._not_now("a profiler is on", function, args, kwargs)
        if not self.capturing:
            return self._profiled(function, args, kwargs)
        if not _one_at_a_time.acquire(blocking=False):   # waiting could be for ever: the other may wait for this thread
            return self._not_now("another thread captures", function, args, kwargs)
        try:
            calls = Calls(self._record)
            if not calls.start():
                return self._not_now("the calls of kernels are being timed", function, args, kwargs)
            storage.mode.memory = self.memory
            storage.inferring.append(None)
            try:
                return self._profiled(function, args, kwargs)
            finally:
                storage.mode.memory = None
                storage.inferring.pop()
                calls.stop()
        finally:
            _one_at_a_time.release()

    def _not_now(self, why, function, args, kwargs):
        self.breaks.append(Break(why, "?", 0, passing=True))
        return function(*args, **kwargs)

    def _profiled(self, function, args, kwargs):
        before = sys.getprofile()
        with self._apart_from_collections():
            events.start(self._observe)
            try:
                with self.on_device or contextlib.nullcontext():
                    return function(*args, **kwargs)
            finally:
                self.before = None                       # which this object, part of a cycle, need not keep
                if isinstance(getattr(before, "__self__", None), Watch):        # this call is part of another that is watched
                    events.start(before)
                else:
                    sys.setprofile(before)

    @contextlib.contextmanager
    def _apart_from_collections(self):
        """While Python collects garbage nothing is noted: its callbacks and finalisers may be anybody's code."""
        thread = threading.get_ident()

        def begin(phase, info):
            if phase == "start" and threading.get_ident() == thread:
                self.collecting = True

        def end(phase, info):
            if phase == "stop" and threading.get_ident() == thread:
                self.collecting = False

        gc.callbacks.insert(0, begin)                    # the others are called in between
        gc.callbacks.append(end)
        try:
            yield
        finally:
            gc.callbacks.remove(begin)
            gc.callbacks.remove(end)

    def stop(self, what, frame) -> None:
        """Note what keeps the call from being replayed."""
        break_ = self._break(what, frame)
        if break_ not in self.breaks:
            self.breaks.append(break_)

    def _break(self, what, frame):
        outer = frame
        while outer is not None and outer.f_code is not self.code:
            outer = outer.f_back
        file, line = users_line(frame)
        return Break(what, file, line, 0 if outer is None else outer.f_lineno, self._may_pass(frame))

    def _may_pass(self, frame):
        """Whether the next call may be without what keeps this one from being replayed, as all is that is kept between calls."""
        code = frame.f_code
        if code in _PREPARING or caller(frame, _PREPARING, sys.maxsize) is not None:
            return True
        if self.capturing or code in APART or code in _READING or caller(frame, _READING) is not None:
            return False
        nearest, outer = None, frame                     # whose code asks, where it is not the standard library's
        while outer is not None and (kind := kind_of_frame(outer)) != SILENT:
            module = str(outer.f_globals.get("__name__"))
            if outer.f_code.co_name == "<module>" or module.startswith("importlib."):
                return True                              # what is imported, and the text of kernels, runs once
            if module.startswith("numpy.linalg"):
                return False
            if nearest is None and kind != STANDARDS:
                nearest = kind
            outer = outer.f_back
        return nearest != USERS

    # ------------------------------------------------------------ what Python tells
    def _observe(self, frame, event, function):
        """What Python calls where something is called that is not known to be harmless."""
        if self.collecting:
            return
        try:
            kind = kind_of_frame(frame)
            if kind != SILENT and not (self.apart and caller(frame, APART, sys.maxsize) is not None):
                (self._look_at_c_function if event == "c_call" else self._look_at_function)(frame, kind, function)
        except Exception as error:                       # else the user's code would see it
            self.breaks.append(Break(f"it could not be captured ({type(error).__name__}: {error})", *users_line(frame)))

    def _look_at_c_function(self, frame, kind, function):
        if is_entry(function):
            events.know_method(function, kind)
            return
        ours = kind in (OURS, LEGACY)
        if kind == STANDARDS and function in _RAISED:                # by ExitStack, as it ends
            return
        if is_allowed(function, ours):
            if decides_alone(function):
                events.know_method(function, kind)
        elif not (ours and self._is_known(frame, function)):
            self.stop(_said(frame.f_code, function, ours), frame)

    def _look_at_function(self, frame, kind, _):
        code = frame.f_code
        if not self.capturing and self.before is not None and (
                code in _GRADING or (code is run_backward.__code__ and frame.f_locals["accumulating"])):
            self.stop("gradients are looked at or changed, and the result has a graph", frame)
        observer = _OBSERVED.get(code)
        if observer is not None:
            if self.capturing:
                getattr(self, observer)(frame)
        elif code in APART:
            self.stop(frame.f_locals["what"], frame)
            self.apart = True
        elif kind == USERS:
            if self.codes.setdefault(code, frame.f_globals) is not frame.f_globals:         # equal text, executed twice
                self.stop(f"functions of one code, {code.co_name}, have globals of their own", frame)
            if code is self.suspect and code is not self.code:
                self.stop(f"{code.co_name} is called", frame)
        elif kind == STANDARDS:
            module = str(frame.f_globals.get("__name__"))
            if module not in MODULES and not module.startswith("namedtuple_") and (module, code.co_name) != CLEANING_OF_SETS:
                self.stop(f"{module}.{code.co_name} is called", frame)
        elif kind == LEGACY:
            self.stop("modules of legacy are not captured", frame)

    def _is_known(self, frame, function):
        """Whether a C function is called where what it does is known."""
        code = frame.f_code
        name, file = code.co_name, code.co_filename
        if frame.f_globals is vars(divisor):
            self._on_single_divisor(frame)
            return True
        if name in ("clear_status", "read_status") and file.endswith("/status.py"):
            return True
        if code is from_plain.__code__:
            return self._on_numbers(frame, function)
        if code is number.__code__:                      # a number's memory is written once, and by nobody else
            return True
        if function == ctypes.c_bool.from_address and code is own_code(item):
            return self._on_truth(frame, function)
        return code is Generator._advance.__code__ or (code in _CLIPPING and function.__name__ in ("array", "copy"))

    # ------------------------------------------------------------ this package's Python beside launches
    def _on_claim(self, frame):
        names = frame.f_locals
        draw = Draw(names["self"], names["counters"])
        self.items.append(draw)
        self.claimed[ctypes.addressof(names["words"])] = draw, names["words"]

    def _on_numbers(self, frame, function):
        """Python's numbers become a tensor: they are what they are, since all that they come of is compared before a replay."""
        names = frame.f_locals
        if function is struct.pack_into and self.capturing:
            try:
                content = struct.pack(f"{len(names['data'])}{names['letter']}", *names["data"])
            except (OverflowError, struct.error):        # it fails there, too
                return True
            words = struct.unpack(f"{-(-len(content) // 8)}q", content.ljust(-(-len(content) // 8) * 8, b"\0"))
            self.items.append(Write(names["out"].address, words))
            return len(words) <= MOST_WORDS
        return True

    def _on_seed(self, frame):
        self.stop("a random stream is set or looked at", frame)

    def _on_truth(self, frame, function):
        """A truth value comes to Python. Whether the program may have the one case."""
        if not (self.truths and self._is_early()):
            return False
        address = frame.f_locals["self"].address
        self.items.append(Truth(address, ctypes.c_uint8.from_address(address).value, Complaint(None, {}, True)))
        self.decided.append(self._break(_said(frame.f_code, function, True), frame))
        return True

    def _is_early(self):
        """Whether nothing has been written yet that lasts."""
        before = self.before
        return before is not None and not self.updates and not self.uncounted and all(
            version(storage) == before.versions[id(storage)] for storage in before.storages)

    def _complaint(self, frame, function, arguments):
        early = self._is_early()
        while not early and kind_of_frame(frame) != SILENT:           # up to what watches
            if kind_of_frame(frame) == USERS and catches(frame):
                self.stop("an error may be caught after something has been written", frame)
            frame = frame.f_back
        return Complaint(function, arguments, early, {} if self.before is None else {
            leaf: leaf.grad for leaf, grad in self.before.leaves.items() if not is_in_place(leaf.grad, grad)})

    def _on_place(self, frame):
        """Where a tensor is: that of an argument may be another one in the next call."""
        back = frame.f_back
        if kind_of_frame(back) == USERS and (
                frame.f_code in _CHANGING or id(frame.f_locals["self"]) in self.given):
            self.stop(f"where a tensor is, or how often it was written to, is looked at ({frame.f_code.co_name})", frame)

    def _on_data(self, frame):
        self.uncounted = True

    def _on_tape(self, frame):
        back, tensor = frame.f_back, frame.f_locals["self"]
        if kind_of_frame(back) == USERS and id(tensor) in self.given and (
                tensor.node is not None or frame.f_code is own_code(Tensor.grad.fget)):          # which others may have
            self.stop(f"an argument's place in the graph is looked at ({frame.f_code.co_name.lstrip('_')})", frame)

    def _on_step(self, frame):
        self.update = None
        self.stepping = frame.f_locals["self"]

    def _on_first_step(self, frame):
        self.stop("an optimiser prepares its step, as at the first one", frame)

    def _on_batch(self, frame):
        batch = frame.f_locals["self"]
        if self.update is None:
            self.update = Update(self.stepping)
            self.items.append(self.update)
            self.updates.append(self.update)
        if batch.table_address in self.batches and batch.parameters[0].layout.device is not cpu:     # one upload, read twice
            self.stop("an optimiser steps twice on a device", frame)
        if not any(prepared is not None and batch in prepared.batches for prepared in self.update.prepared):
            self.stop("an optimiser steps in a way of its own", frame)
        self.batches[batch.table_address] = batch
        self.batches[batch.array_address] = batch
        self.update.batches.append(batch)

    def _on_clear(self, frame):
        tensor = frame.f_locals["tensor"]
        if tensor.layout.device is cpu:                  # else the device's watcher is told
            self.items.append(Write(tensor.address, (0,)))

    def _on_read(self, frame):
        back = frame.f_back
        primitive = back.f_locals.get("primitive")
        if frame.f_locals["tensor"].layout.device is not cpu:
            return                                       # which its watcher stops
        if primitive is None or primitive.execute is None or primitive.execute.__code__ is not back.f_code:
            self.stop("a kernel's status is read", frame)
            return
        code = back.f_code
        names = code.co_varnames[:code.co_argcount]
        self.items.append(Check(frame.f_locals["tensor"].address,
                                self._complaint(frame, primitive.execute, {name: back.f_locals[name] for name in names})))

    def _on_single_divisor(self, frame):
        """A number stays what it is; what a tensor holds is looked at by a kernel instead."""
        names = frame.f_locals
        addresses = names["addresses"]
        divisor_address = addresses[names["operand"]]
        if self.capturing and not any(divisor_address == each.address for each in list(recent_numbers.values())):
            look = next(each.call for each in prepared_on(addresses[-1]) if hasattr(each.call, "prepare_look")).prepare_look()
            self.items.append(Launch(native_of(look.call), (divisor_address, self.status, look.descriptor), [], 1, 1,
                                     self._complaint(frame, divisor.refuse_zero, {})))

    # ------------------------------------------------------------ launches
    def _record(self, native, words):
        if self.collecting or (self.on_device is not None and self.on_device.launching):
            return
        sys.setprofile(None)                             # nobody wants to know what is called here
        try:
            self._write_down(native, words, sys._getframe(2))
        except Exception as error:                       # this is called from C
            self.breaks.append(Break(f"it could not be captured ({type(error).__name__}: {error})", "?", 0))
        events.start(self._observe)

    def _write_down(self, native, words, frame):
        tables, place, complaint, statuses = [], None, None, 1
        low, high = self.status, self.status + 8 * (1 + status.MOST_ADDRESSES)
        if any(low <= word < high for word in words):
            code = frame.f_code
            if code is index_op.run_indexed.__code__ or code is index_op.run_through.__code__:
                names = frame.f_locals
                function = index_op.run_indexed if code is index_op.run_indexed.__code__ else index_op.run_through
                arguments = {name: names[name] for name in code.co_varnames[:code.co_argcount]}
                place, complaint = words.index(low), self._complaint(frame, function, arguments)
                if low + 8 in words:
                    tables.append((low + 8, [Entry(word, True) for word in self.words[1:len(names["indices"])]]))
            elif code in _FINDING and (looks := caller(frame, _LOOKING)) is not None:
                names, code = looks.f_locals, looks.f_code
                arguments = {name: names[name] for name in code.co_varnames[:code.co_argcount]}
                place, complaint = words.index(low), self._complaint(frame, _LOOKING[code], arguments)
                statuses = frame.f_locals.get("parts", 1)
            elif frame.f_globals is vars(divisor):
                place, complaint = words.index(low), self._complaint(frame, divisor.refuse_zero, {})
            elif code is join._joined.__code__:
                tables.append((low + 8, [Entry(word, True) for word in self.words[1:1 + len(frame.f_locals["tensors"])]]))
            else:
                self.stop("what a kernel finds decides what Python does next", frame)
        tables += self._tables_of(frame)
        for i, word in enumerate(words):
            if word in self.claimed:
                words = (*words[:i], self._drawn(word, frame), *words[i + 1:])
        tables = [(words.index(address), entries) for address, entries in tables if address in words]
        self.items.append(Launch(native, words, tables, place, statuses, complaint))

    def _tables_of(self, frame):
        """(address, entries) of the tables of addresses with which norms of many tensors are called."""
        if frame.f_code not in _CLIPPING:
            return []
        names = frame.f_locals
        table, number = names["table"], names["options" if "options" in names else "bound"]
        return [(table.ctypes.data, [Entry(word, i % 2 == 0) for i, word in enumerate(table.ravel().tolist())]),
                (number.ctypes.data, [Entry(number.view(np.int64).item(), False)])]

    def _drawn(self, word, frame):
        """The address of the program's own counters for those that a random stream has just claimed."""
        draw, kept = self.claimed[word]
        if frame.f_code.co_name in ("draw", "multinomial") or (frame.f_code.co_name == "run_fill" and
                                                              frame.f_locals.get("each") is not None):
            self.stop("what a kernel finds in its operands is looked at", frame)
        self.kept += draw, kept
        return draw.address

    def _source(self, addresses, place, nbytes, frame):
        """Where the words of the host's memory come from that a device's kernel is given: see `OnDevice`."""
        word = addresses[place]
        if not self.capturing:
            return 0, []
        if word in self.claimed:
            return self._drawn(word, frame), None
        if word in self.batches:
            return word, None
        tables = dict(self._tables_of(frame))
        if frame.f_code is join._joined.__code__:
            tables[self.status + 8] = [Entry(each, True) for each in self.words[1:1 + len(frame.f_locals["tensors"])]]
        entries = tables.get(word)
        return None if entries is None else (0, entries[:nbytes // 8])


def _said(code, function, ours):
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__qualname__", function.__name__)
    if ours:
        inner = code.co_name if not code.co_name.startswith("<") else "an op"
        return f"Python reads or writes elements ({inner} calls {name})"
    if owner is not None and hasattr(owner, "__name__"):
        return f"{owner.__name__}.{name} is called" if owner.__name__ != "builtins" else f"{name}() is called"
    return f"{name}() is called"
