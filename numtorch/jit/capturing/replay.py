"""A captured call that can be run again: what it leaves behind beside its launches (writing.py), and its runs."""
from __future__ import annotations

import gc
import threading
from functools import reduce
from operator import getitem
from sys import getrefcount
from typing import Any

from ...kernels.forks import survive_fork
from ...storage import Storage, inference_ring, ring_for, take
from ...tensor import Tensor, wrap
from ...tree import filled
from . import steady
from .before import Before
from .capture import Watch
from .complaints import complain
from .memory import CapturedStorage, InferenceStorage
from .ondevice import DeviceLaunch, Upload, alignment
from .places import extents, is_in_place, overlap, version
from .reach import has_attributes
from .results import HOLE, Known, NotCaptured, opened, spent, unhooked
from .steps import Update
from .unchanged import LOOKS, Unchanged
from .writing import ELSEWHERE, ProgramWriter


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
        self._look_at_gradients(watch)
        self._look_for_strays(watch)
        watch.memory.close()
        blocks = [block[:2] for block in watch.memory.blocks]
        watch.memory.pack()
        program = ProgramWriter(watch, before, self.exported, self.leaves, blocks)
        self.slots, self.used, self.touched, self.keep = program.slots, program.used, program.touched, program.keep
        self.steps, self.launches = program.steps, program.launches
        self.block, self.block_address = program.block, program.block_address
        self._note_versions(watch)

    # ------------------------------------------------------------ what stays after the call
    def _look_at_results(self, watch, leaves):
        """Results are the program's own memory, arguments, or what the function reaches."""
        self.results: list = []                          # (kind, which, byte offset, layout, node)
        self.exported: list = []                         # storages that results are in
        known, seen = {id(t): i for i, t in enumerate(self.before.tensors)}, dict[int, int]()
        there = known.keys() | self.reach.tensors.keys()
        nodes = spent([t.node for t in leaves if isinstance(t, Tensor) and id(t) not in there], self.before.nodes())
        for tensor in leaves:
            if not isinstance(tensor, Tensor):
                self.results.append(("object" if type(tensor) is Known else "given", tensor[0], 0, None, None))
                continue
            if seen.setdefault(id(tensor), len(self.results)) < len(self.results):
                self.results.append(("again", seen[id(tensor)], 0, None, None))
                continue
            if type(tensor) is not Tensor and id(tensor) not in there:
                raise NotCaptured(f"it returns a {type(tensor).__name__}")
            if id(tensor) in known:
                self.results.append(("argument", known[id(tensor)], 0, None, None))
                continue
            if id(tensor) in self.reach.tensors:
                self.results.append(("object", tensor, 0, None, None))
                continue
            if not isinstance(tensor.memory, CapturedStorage) or id(tensor.memory) not in watch.memory.alive:
                raise NotCaptured("it returns a view of an argument or of a tensor that is there already")
            if tensor.memory not in self.exported:
                self.exported.append(tensor.memory)
            place = next(i for i, s in enumerate(self.exported) if s is tensor.memory)
            tensor.node = nodes.get(tensor.node)         # memory that its own holds would count as still in use
            self.results.append(("own", place, tensor.address - tensor.memory.address, tensor.layout, tensor.node))

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
            if is_in_place(after, grad):
                after = grad
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
                            if complaint.function is None:
                                raise NotCaptured("it decides by a truth value, and writes to memory of which it is not known when")
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
        self.all_leaves, self.leaves = [leaf for leaf, _, _ in self.leaves], []
        for update in self.updates:
            update.sources = [(leaf, *self._source(leaf, grad)) for leaf, grad in update.leaves]
            update.leaves = []                           # which would keep the memory of gradients that get another
        ended = {leaf: None for update in self.updates for leaf, kind, _ in update.sources if kind in ("own", "result")}
        self.dropped += [leaf for leaf in absent if leaf in ended and not any(leaf is new[0] for new in self.new_gradients)]
        self.unchanged = Unchanged(self.reach, self.before.places, self.all_leaves, absent)
        self.before = None
        self.exported = [] if not self.reuse else self.exported

    def _source(self, leaf, grad):
        """Where a step of an optimiser finds a gradient in a replay (`Update`)."""
        for number, new in enumerate(self.new_gradients):
            if leaf is new[0] and is_in_place(grad, new[2]):
                return "new", number
        if is_in_place(grad, self.before.leaves.get(leaf)):
            return "before", next(i for i, each in enumerate(self.all_leaves) if each is leaf)
        for number, storage in enumerate(self.exported):
            if grad.memory is storage:
                return "result", (number, grad.address - storage.address, grad.layout)
        return "own", grad

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
            self.steady, stayed = None, self._place_gradients(before, storages)
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

    def _place_gradients(self, before, storages) -> bool | None:
        """Where the call reads and leaves gradients.

        Args:
            before: those that there are, of `all_leaves`.
            storages: of the results.

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
        same = True
        for update in self.updates:
            for leaf, kind, which in update.sources:
                if kind == "result":
                    number, offset, layout = which
                    leaf.grad = wrap(storages[number], storages[number].address + offset, layout)
                else:
                    leaf.grad = which if kind == "own" else before[which] if kind == "before" else self.new_gradients[which][2]
            same = same and update.is_same()
        if self.updates:
            for leaf, grad in zip(self.all_leaves, before):
                leaf.grad = grad
        return stayed if same else None

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
        out.node = node if node is None or node.extras is None else unhooked(node)
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
