"""The program made of a captured call: where each word comes from, and how it is run again."""
from __future__ import annotations

import ctypes
import gc
import threading
from functools import reduce
from operator import getitem
from sys import getrefcount
from typing import Any

from ...kernels.cuda.runtime import uploaded
from ...kernels.forks import survive_fork
from ...kernels.program import CONSTANT, Program, stores_words
from ...kernels.threads import prepared_on
from ...storage import Storage, inference_ring, ring_for, take
from ...tensor import Tensor, wrap
from ...tree import filled
from . import steady
from .before import Before
from .capture import Check, Clear, Launch, Watch
from .complaints import complain, described
from .memory import CapturedStorage, InferenceStorage
from .ondevice import DeviceLaunch, DeviceProgram, Said, Upload, alignment
from .places import UNUSED, Owners, Slot, Spans, extents, overlap, reached, spent, version
from .reach import has_attributes
from .results import HOLE, Known, NotCaptured, opened
from .steps import Draw, Update
from .unchanged import LOOKS, Unchanged

SMALL_INTEGER = 1 << 16                                  # no address is as small
HAS_GRAPH = "it returns a tensor that has a graph"
ELSEWHERE = "memory is used that is not reached from the function"


class Replay:
    """A captured call as a program.

    Args:
        watch: what it did.
        before: what it began with.
        result: what it returned.
        reuse: whether results stand in the same memory in every call.

    Raises:
        NotCaptured: it cannot be replayed.
    """

    def __init__(self, watch: Watch, before: Before, result, reuse: bool) -> None:
        self.lock, self.running, self.reuse = survive_fork(threading.RLock()), False, reuse
        self.better: Any = None                          # what is being made of it (improving.py)
        self.successor: Replay | None = None             # what is to be used instead
        self.passes: dict[str, int] = {}                 # that made it
        self.stays: str | None = None                    # why there is nothing better
        self.inferred: list[bool] = []                   # which results' memory was made in inference mode
        self.result_slots, self.quickened = list[tuple](), 0         # functions for calls where nothing has changed (quick.py)
        self.before, self.reach, self.memory = before, before.reach, watch.memory
        if watch.memory.elsewhere:
            raise NotCaptured("a tensor of another device is made")
        self.structure, leaves = opened(result, before.given, before.reach.seen)
        self.on_device = any(type(item) in (DeviceLaunch, Upload) for item in watch.items)
        self.graded = [leaf for leaf, grad in before.leaves.items() if grad is not None]
        self.aligned = alignment(before.tensors, self.graded) if self.on_device else None
        self._look_at_results(watch, leaves)
        if before.moved() is not None:
            raise NotCaptured(f"it gives {before.moved()} other memory, another shape or another place in the graph")
        watch.walked.clear()                             # their leaves keep gradients
        self._look_at_gradients(watch)
        self._look_for_strays(watch)
        watch.memory.close()
        blocks = [block[:2] for block in watch.memory.blocks]
        watch.memory.pack()
        self._resolve(watch, blocks)
        self._write(watch)
        self.owners = self.block_spans = self.slot_spans = None
        self._note_versions(watch)

    # ------------------------------------------------------------ what stays after the call
    def _look_at_results(self, watch, leaves):
        """Results are the program's own memory, arguments, or what the function reaches."""
        walked = reached(watch.walked)
        self.results: list = []                          # (kind, which, byte offset, layout, node)
        self.exported: list = []                         # storages that results are in
        known, seen = {id(t): i for i, t in enumerate(self.before.tensors)}, dict[int, int]()
        for tensor in leaves:
            if not isinstance(tensor, Tensor):
                self.results.append(("object" if type(tensor) is Known else "given", tensor[0], 0, None, None))
                continue
            if seen.setdefault(id(tensor), len(self.results)) < len(self.results):
                self.results.append(("again", seen[id(tensor)], 0, None, None))
                continue
            if type(tensor) is not Tensor and id(tensor) not in known and id(tensor) not in self.reach.tensors:
                raise NotCaptured(f"it returns a {type(tensor).__name__}")
            if id(tensor) in known:
                self.results.append(("argument", known[id(tensor)], 0, None, None))
                continue
            if id(tensor) in self.reach.tensors:
                self.results.append(("object", tensor, 0, None, None))
                continue
            if tensor.node is not None and tensor.node not in walked:
                raise NotCaptured(HAS_GRAPH)
            if not isinstance(tensor.memory, CapturedStorage) or id(tensor.memory) not in watch.memory.alive:
                raise NotCaptured("it returns a view of an argument or of a tensor that is there already")
            if tensor.memory not in self.exported:
                self.exported.append(tensor.memory)
            place = next(i for i, s in enumerate(self.exported) if s is tensor.memory)
            self.results.append(("own", place, tensor.address - tensor.memory.address, tensor.layout, spent(tensor)))

    @property
    def gives_back(self) -> bool:
        """Whether it returns a container of its arguments."""
        return any(each[0] == "given" for each in self.results)

    def give_as(self, other: Replay) -> None:
        """Give what another program of the call gives: its structure, its nodes, and results of inference mode where those are."""
        self.results = [(*mine[:4], its[4]) for mine, its in zip(self.results, other.results)]
        self.structure, self.inferred = other.structure, other.inferred
        self.result_slots = [(slot, inference_ring(ring) if inferred else ring)
                             for (slot, ring), inferred in zip(self.result_slots, self.inferred)]
        for storage, inferred in zip(self.exported, self.inferred):
            storage.__class__ = InferenceStorage if inferred else CapturedStorage

    def _look_at_gradients(self, watch):
        self.leaves: list = []                           # (leaf, gradient before, gradient after)
        for leaf, grad in self.before.leaves.items():
            after = leaf.grad
            if grad is not None and after is not None and after.memory is grad.memory and after.address == grad.address \
                    and after.layout is grad.layout:
                after = grad                             # another tensor in its place, as zero_grad(set_to_none=False) makes
            self.leaves.append((leaf, grad, after))
            if after is not None and after is not grad:
                own = isinstance(after.memory, CapturedStorage) and id(after.memory) in watch.memory.alive
                if not own or after.node is not None:
                    raise NotCaptured("a gradient is in memory that was there before, or has a graph")
                if after.memory in self.exported:
                    raise NotCaptured("it returns a gradient that parameters keep too")

    def _look_for_strays(self, watch):
        """Memory of the call that is still in use must be that of results and gradients."""
        for attempt in range(2):
            kept = {id(s) for s in self.exported}
            kept |= {id(after.memory) for _, grad, after in self.leaves if after is not None and after is not grad}
            kept |= {id(grad.memory) for update in watch.updates for _, grad in update.leaves}
            if not watch.memory.alive.keys() - kept:
                return
            if not attempt:
                gc.collect()
        raise NotCaptured("a tensor that it makes is still in use after it")

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
            elif kind is Clear:
                program.add([self._store(self._word(item.address), 0)])
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
        complaints.append(complaint)
        for word in words:
            program.add([program.check(word)])
        program.add([self._store([CONSTANT, complaint.progress_address, 0], len(complaints))])

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
            program.add([self._store(word, 0)])
        program.add([[launch.native, *words, [CONSTANT, descriptor, 0]]])
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
                    program.add([self._store([CONSTANT, address + 8 * i, 0], word)])
        return [CONSTANT, address, 0]

    # ------------------------------------------------------------ versions
    def _note_versions(self, watch):
        """How far the versions of memory that was there before go on in a call."""
        self.writes = []
        counted: dict = {}
        for update in watch.updates:
            for batch in update.batches:
                for parameter in batch.parameters:
                    counted[id(parameter.memory)] = counted.get(id(parameter.memory), 0) + 1
        for storage in self.used.values():
            if id(storage) in self.before.versions:
                more = version(storage) - self.before.versions[id(storage)] - counted.get(id(storage), 0)
                if more:
                    self.writes.append((storage, more))
                    if all(storage is not each for each in self.before.storages):
                        for complaint in (each for step in self.steps if type(step) is tuple for each in step[3]):
                            complaint.early = False      # when it was written to is not known
            elif not self.before.all_memory and not storage.pooled and version(storage):
                raise NotCaptured(ELSEWHERE)             # it may have been written before the call, or in it
        self.argument_writes = []
        for i, tensor in enumerate(self.before.tensors):
            more = version(tensor.memory) - self.before.versions[id(tensor.memory)]
            if more:
                self.argument_writes.append((i, more))
        self.gradient_writes = []
        for i, (_, grad, _) in enumerate(self.leaves):
            if grad is not None and id(grad.memory) in self.before.versions:
                more = version(grad.memory) - self.before.versions[id(grad.memory)]
                if more:
                    self.gradient_writes.append((i, more))
        self._prepare_calls()

    def _prepare_calls(self):
        """What a call goes through, in the order in which it does."""
        of = {(slot.kind, slot.which): i for i, slot in enumerate(self.slots)}
        self.argument_slots = [(of["argument", i], i, extents(t)[0] - t.address) for i, t in enumerate(self.before.tensors)]
        self.inferred = [s.inference for s in self.exported]
        self.result_slots = [(of["result", i], inference_ring(ring) if s.inference else ring) for i, s in enumerate(self.exported)
                             for ring in [ring_for(s.nbytes, s.device)]]
        self.new_gradients = []                          # [leaf, slot, tensor]
        self.old_gradients = []                          # (leaf, slot or None, layout, offset)
        self.dropped, absent = [], []
        for i, (leaf, grad, after) in enumerate(self.leaves):
            if grad is None:
                absent.append(leaf)
            else:
                slot = of["gradient before", i]
                self.old_gradients.append((leaf, slot if slot in self.touched else None, grad.layout,
                                           extents(grad)[0] - grad.address))
            if after is not None and after is not grad:
                self.new_gradients.append([leaf, of["gradient", i], after])
            elif after is None and grad is not None:
                self.dropped.append(leaf)
        self.settled, self.steady = 0, None
        self.written: list = []                          # gradients' memory, and how far its version goes on
        self.own = {id(s) for s in self.used.values()} | {id(s) for s in self.exported}
        self.layouts = [t.layout for t in self.before.tensors]
        self.identities = self.reach.identities(self.before.tensors)
        self.updates = [step for step in self.steps if type(step) is Update]
        for update in self.updates:                      # of gradients that end in the call, the program's own
            update.leaves = [(leaf, grad) for leaf, grad in update.leaves
                             if not any(leaf is new[0] and grad is new[2] for new in self.new_gradients)
                             and not any(leaf is old[0] and (grad is leaf.grad or grad is self.before.leaves[leaf])
                                         for old in self.old_gradients)]
        ended = {leaf: None for update in self.updates for leaf, _ in update.leaves}
        self.dropped += [leaf for leaf in absent if leaf in ended and not any(leaf is new[0] for new in self.new_gradients)]
        self.all_leaves, self.leaves = [leaf for leaf, _, _ in self.leaves], []
        self.unchanged = Unchanged(self.reach, self.before.places, self.all_leaves, absent)
        self.before = None
        self.exported = [] if not self.reuse else self.exported

    # ------------------------------------------------------------ running
    def fits(self, tensors) -> bool:
        """Whether a call on these tensors would launch what was captured."""
        for tensor in tensors:
            if id(tensor.memory) in self.own:
                return False
        if len(tensors) > 1 and len({id(t.memory) for t in tensors}) < len(tensors) and overlap(tensors):
            return False
        if self.reach.identities(tensors) != self.identities:
            return False
        if self.reach.asks and any(has_attributes(tensor, self.reach.read) for tensor in tensors):
            return False
        if not self.unchanged.holds() or (self.aligned is not None and self.aligned != alignment(tensors, self.graded)):
            return False
        for leaf, slot, layout, _ in self.old_gradients:
            grad = leaf.grad
            if grad is None or grad.layout is not layout or (slot is not None and (id(grad.memory) in self.own or any(
                    grad.memory is t.memory for t in tensors))):
                return False
        return True

    def run(self, tensors, given: tuple = ()):
        """The result of a call on tensors that fit; None where an optimiser's step would be another one.

        Args:
            tensors: the arguments that are tensors.
            given: all arguments, as (args, kwargs), where containers of theirs are returned (`gives_back`).

        Raises:
            Again (complaints.py): the call is to be made as it is.
        """
        block, stayed, before = self.block, None, ()
        for slot, i, offset in self.argument_slots:
            block[slot] = tensors[i].address + offset
        storages = []
        for slot, ring in self.result_slots:
            if self.reuse:
                storage = self.exported[len(storages)]
            else:
                storage = take(ring)
                storage.version, storage.writer = 0, None
            storages.append(storage)
            block[slot] = storage.address
        if self.steady is None or not self.steady.are_same():
            before = [leaf.grad for leaf in self.all_leaves]
            self.steady, stayed = None, self._place_gradients(before)
            if stayed is None:
                return None
        for step in self.steps:
            if type(step) is tuple:
                step[1](self.block_address, step[2])
                if step[3] and step[3][0].progress.value != len(step[3]):
                    for leaf, grad in zip(self.all_leaves, before):
                        leaf.grad = grad
                    complain(self, step[3])
            else:
                step()
        before = grad = None                             # references are counted below
        for storage, more in self.writes:
            storage.version += more
        for i, more in self.argument_writes:
            tensors[i].memory.version += more
        if stayed is not None:
            for storage, more in self.written:
                storage.version += more
            for leaf, _, grad in self.new_gradients:
                leaf.grad = grad
            grad = None
            for leaf in self.dropped:
                leaf.grad = None
            if stayed and self.settled < LOOKS and self.unchanged.words is not None:
                self.settled += 1
                self.steady = steady.words_of(self)
        result: list = []
        for each in self.results:
            result.append(result[each[1]] if each[0] == "again" else self._result(each, storages, tensors, given))
        return (filled(self.structure, HOLE, iter(result)),)

    def _place_gradients(self, before) -> bool | None:
        """Where the call reads and leaves gradients.

        Args:
            before: those that there are, of `all_leaves`.

        Returns:
            Whether all are where they were in the last call; None where an optimiser's step would be another one.
        """
        block, stayed = self.block, True
        for leaf, slot, _, offset in self.old_gradients:
            if slot is not None:
                block[slot] = leaf.grad.address + offset
        self.written = [(leaf_grad.memory, more) for (i, more) in self.gradient_writes if (leaf_grad := before[i]) is not None]
        for new in self.new_gradients:
            leaf, slot, grad = new
            kept = getrefcount(grad) > _GRADIENT + 2 * (leaf.grad is grad)
            if kept or getrefcount(grad.memory) > _STORAGE + grad.memory.pooled:
                storage = take(ring_for(grad.memory.nbytes, grad.memory.device))
                new[2] = wrap(storage, storage.address + grad.address - grad.memory.address, grad.layout)
            stayed = stayed and leaf.grad is new[2]
            block[slot] = new[2].memory.address
            grad = None
        if self.updates:
            for leaf, _, grad in self.new_gradients:
                leaf.grad = grad
            for update in self.updates:
                for leaf, grad in update.leaves:
                    leaf.grad = grad
                if not update.is_same():
                    for leaf, grad in zip(self.all_leaves, before):
                        leaf.grad = grad
                    return None
        return stayed

    def _result(self, each, storages, tensors, given):
        kind, which, offset, layout, node = each
        if kind == "given":
            return reduce(getitem, which, given)
        if kind == "argument":
            return tensors[which]
        if kind == "object":
            return which
        storage = storages[which]
        out = wrap(storage, storage.address + offset, layout)
        out.node = node
        return out


class _Holder:
    """As a replay holds a gradient."""

    def __init__(self) -> None:
        self.new_gradients = [[None, 0, wrap(Storage(0, 8, None), 0, None)]]

    def count(self):
        for new in self.new_gradients:
            _, _, grad = new
            return getrefcount(grad), getrefcount(grad.memory)


_GRADIENT, _STORAGE = _Holder().count()
