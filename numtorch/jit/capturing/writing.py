"""The program of a captured call, written: where each word that a kernel was given comes from, and launches in tables."""
from __future__ import annotations

import ctypes
from sys import getrefcount
from typing import Any

from ...kernels.cuda.runtime import uploaded
from ...kernels.program import CONSTANT, Program, finds_other, stores_words
from ...kernels.threads import prepared_on
from .complaints import described
from .items import Check, Launch, Truth, Write
from .ondevice import DeviceLaunch, DeviceProgram, Said, Upload
from .places import UNUSED, Owners, Slot, Spans, extents
from .results import NotCaptured
from .steps import Draw, Update

SMALL_INTEGER = 1 << 16                                  # no address is as small
ELSEWHERE = "memory is used that is not reached from the function"


class ProgramWriter:
    """Writes what a call launched as programs over a block of addresses.

    Args:
        watch: what the call did; its memory is packed.
        before: what it began with.
        exported: the memory that results are in.
        leaves: those of the tape, each with its gradient before the call and after it.
        blocks: (address, bytes) of the memory that the call took, before it was packed.

    Attributes:
        slots: what moves from replay to replay; `touched` are the places of those that words point into.
        used: the memory that was there before and that words point into, by its identity.
        steps: `Draw`, `Update`, a device's program, or (program, its call, its descriptor, complaints), in order.
        block, block_address: the slots' addresses, which are written before a replay.
        keep: what has to live for the words to be right.
        launches: how many kernels are launched.

    Raises:
        NotCaptured: a word is not known.
    """

    def __init__(self, watch, before, exported, leaves, blocks) -> None:
        self.before, self.reach, self.memory, self.exported, self.leaves = before, before.reach, watch.memory, exported, leaves
        self._resolve(watch, blocks)
        self._write(watch)

    # ------------------------------------------------------------ where words come from
    def _resolve(self, watch, blocks):
        tensors = self.before.tensors
        slots = []
        for i, tensor in enumerate(tensors):
            slots.append(Slot(*extents(tensor), "argument", i))
        for i, storage in enumerate(self.exported):
            slots.append(Slot(storage.address, storage.size, "result", i))
        for i, (_, grad, after) in enumerate(self.leaves):
            if after is not None and after is not grad:
                slots.append(Slot(after.memory.address, after.memory.size, "gradient", i))
            if grad is not None:
                slots.append(Slot(*extents(grad), "gradient before", i))
        slots.sort(key=lambda slot: slot.start)
        for one, other in zip(slots, slots[1:]):
            if one.start + one.size > other.start:
                raise NotCaptured("arguments or gradients share memory")
        self.slots = slots
        self.slot_spans = Spans([(slot.start, slot.size, i) for i, slot in enumerate(slots)])
        self.memory.release({slot.start for slot in slots if slot.kind in ("result", "gradient")})
        self.owners = Owners(self.before.storages, {id(s) for s in self.exported})
        self.reached = {id(t.memory) for _, t in self.reach.tensors.values()}
        held = {} if watch.on_device is None else watch.on_device.held
        self.held_spans = Spans([(address, owner.size, owner) for address, owner in held.items()])
        self.block_spans = Spans([(address, size, None) for address, size in blocks])
        self.moving = {id(t.memory) for t in tensors} | {id(g.memory) for _, g, _ in self.leaves if g is not None}
        self.used: dict = {}                             # storages that words are in
        self.keep: list = [watch.kept, watch.memory.blocks]
        self.fixed = {update.address for update in watch.items if type(update) is Draw} | watch.batches.keys()
        self.keep.append(list(watch.batches.values()))
        self.touched: set = set()

    def _word(self, word):
        """How the program has a word: [argument, offset, 0]."""
        if 0 <= word < SMALL_INTEGER or word in self.fixed:
            return [CONSTANT, word, 0]
        block = self.block_spans.find(word)
        moved = word if block is None else self.memory.moved(block[0], word, self.now)
        if moved is None:
            raise NotCaptured("a kernel is given memory that was let go")
        if moved != word:
            return [CONSTANT, moved, 0]
        span = self.slot_spans.find(word)
        if span is not None:
            self.touched.add(span[2])
            return [span[2], word - span[0], 0]
        if block is not None:
            return [CONSTANT, word, 0]
        owner = uploaded.get(word) if self.held_spans.find(word) is None else self.held_spans.find(word)[2]
        if owner is not None:
            self.keep.append(owner)
            return [CONSTANT, word, 0]
        storage = self.owners.find(word)
        if storage is not None:
            known = id(storage) in self.reached or id(storage) in self.used or id(storage) in self.before.used
            if storage.pooled and not known and getrefcount(storage) > UNUSED:
                raise NotCaptured("scratch memory has gone to another thread" if self.before.all_memory else ELSEWHERE)
            if id(storage) in self.moving:
                raise NotCaptured("memory beside an argument's or a gradient's elements is used")
            self.used[id(storage)] = storage
            return [CONSTANT, word, 0]
        raise NotCaptured("a kernel is given memory that is no tensor's")

    # ------------------------------------------------------------ the program
    def _write(self, watch):
        self.block = (ctypes.c_int64 * max(len(self.slots), 1))()
        self.block_address = ctypes.addressof(self.block)
        self.steps: list = []                            # Draw, Update, or (call, descriptor, progress, complaints)
        self.stores = stores_words()
        self.keep.append(self.stores)
        program, complaints = Program(*range(len(self.slots))), []
        device: Any = None                               # the program of a device that is being written

        def finish():
            nonlocal program, complaints, device
            if device is not None:
                self.steps.append(device)
                device = None
            if program.segments:
                if complaints:
                    program.segments.insert(0, [1, [self._store([CONSTANT, complaints[0].progress_address, 0], 0)]])
                prepared = program.prepare_block()
                self.steps.append((prepared, prepared.call, prepared.descriptor, complaints))
            program, complaints = Program(*range(len(self.slots))), []

        for self.now, item in enumerate(watch.items):
            kind = type(item)
            if kind in (DeviceLaunch, Said, Upload):
                if device is None:
                    finish()
                    device = DeviceProgram(self.block, self.memory.blocks, self.keep)
                if not device.write(item, self._word):
                    raise NotCaptured("kernels run on several devices")
                continue
            if device is not None and kind not in (Draw, Update):    # what these write is read as the program begins
                finish()
            if kind is Launch:
                self._launch(program, item, complaints)
            elif kind is Write:
                target, offset, _ = self._word(item.address)
                for i, value in enumerate(item.words):
                    program.append(self._store([target, offset + 8 * i, 0], value))
            elif kind is Truth:
                self._decide(program, item, complaints)
            elif kind is Check:
                self._check(program, [self._word(item.address)], item.complaint, complaints)
            else:
                if device is None:
                    finish()
                self.steps.append(item)
        finish()
        self.launches = sum(type(item) in (Launch, DeviceLaunch) for item in watch.items)

    def _store(self, target, value):
        return [self.stores.entry.address, target, value if isinstance(value, list) else [CONSTANT, value, 0],
                [CONSTANT, self.stores.descriptor, 0]]

    def _check(self, program, words, complaint, complaints):
        progress = complaints[0].progress if complaints else ctypes.c_int64()
        complaint.progress, complaint.progress_address = progress, ctypes.addressof(progress)
        complaint.resolved = {name: described(value, self._word) for name, value in complaint.arguments.items()}
        complaint.gradients = {leaf: described(value, self._word) for leaf, value in complaint.gradients.items()}
        complaints.append(complaint)
        for word in words:
            program.append(program.check(word))
        program.append(self._store([CONSTANT, complaint.progress_address, 0], len(complaints)))

    def _decide(self, program, truth, complaints):
        status = [CONSTANT, ctypes.addressof(word := ctypes.c_int64()), 0]
        self.keep.append(word)
        program.append(program.launch(finds_other(), self._word(truth.address), program.constant(truth.value), status))
        self._check(program, [status], truth.complaint, complaints)

    def _launch(self, program, launch, complaints):
        descriptor = launch.words[-1]
        prepared = prepared_on(descriptor)
        if not prepared:
            raise NotCaptured("a kernel runs on a description that nobody keeps")
        program.keep += prepared
        words, status, tables = [], None, dict(launch.tables)
        for i, word in enumerate(launch.words[:-1]):
            if i == launch.status:
                status = (ctypes.c_int64 * launch.statuses)()
                self.keep.append(status)
                words.append([CONSTANT, ctypes.addressof(status), 0])
            elif i in tables:
                words.append(self._table(program, tables[i]))
            else:
                words.append(self._word(word))
        statuses = [] if status is None else [[CONSTANT, ctypes.addressof(status) + 8 * i, 0] for i in range(launch.statuses)]
        for word in statuses:
            program.append(self._store(word, 0))
        program.append([launch.native, *words, [CONSTANT, descriptor, 0]])
        if statuses:
            self._check(program, statuses, launch.complaint, complaints)

    def _table(self, program, entries):
        """A table of the program's own; what moves is written into it before its launch."""
        table = (ctypes.c_int64 * len(entries))(*[entry.word for entry in entries])
        self.keep.append(table)
        address = ctypes.addressof(table)
        for i, entry in enumerate(entries):
            if entry.moves:
                word = self._word(entry.word)
                if word[0] == CONSTANT:
                    table[i] = word[1]                   # within the program's own memory things move too
                else:
                    program.append(self._store([CONSTANT, address + 8 * i, 0], word))
        return [CONSTANT, address, 0]
