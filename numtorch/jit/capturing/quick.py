"""A call of a program where nothing has changed since the last one: a function that is written for it.

`Replay.fits` and `Replay.run` look at one thing after the other, which takes several times as long as the launches of a small
network. What they look at is known once a call was like the one before: so here it is one comparison of words (guards.py) for all
that the function reaches, gradients and the optimiser, in the kernel that also walks the launches, and Python that has no loops.

The function that is written says MISS wherever something is not as it was, before it has done anything. Then the call goes the long
way, which knows what to do.
"""
from __future__ import annotations

import ctypes
import functools
from typing import Any

from ...amp.casting import asking
from ...amp.casting import state as _autocast
from ...autograd.modes import modes
from ...devices import default
from ...dtypes import _default as _default_dtype
from ...kernels.compiler import compile_kernel
from ...kernels.intrinsics import as_pointer
from ...kernels.program import run_segments
from ...kernels.threads import _threads
from ...ops.core.generate import ALLOCATION, make
from ...optim.batches import Batch
from ...tensor import Tensor
from ...tree import filled
from . import guards
from .complaints import complain
from .reach import difference_of, has_attributes
from .results import HOLE, unhooked
from .steps import Update

MISS = object()
WRITTEN = 50                                             # times that a function is written for one program
SETTLED = 3                                              # of these that take an optimiser's options to stay
_PLAIN = (int, bool, str, bytes, type(None))
_OPTIONS = (int, float, bool, type(None))


def run_guarded(block, guards, chain):
    """Programs over a block of arguments, where each word is as expected.

    guards: where to write how far it came (0: a word differs, k: in the k-th program something is wrong, one more than programs:
    all is done), how many words there are, and pairs of an address and a word.
    chain: how many programs there are, and for each its descriptor, the address of its progress or 0, and the progress at its end.
    """
    reached = as_pointer(guards[0], guards)
    reached[0] = 0
    for i in range(guards[1]):
        if as_pointer(guards[2 * i + 2], guards)[0] != guards[2 * i + 3]:
            return
    for i in range(chain[0]):
        reached[0] = i + 1
        run_segments(block, as_pointer(chain[3 * i + 1], chain))
        progress = chain[3 * i + 2]
        if progress != 0 and as_pointer(progress, chain)[0] != chain[3 * i + 3]:
            return
    reached[0] = chain[0] + 1


@functools.cache
def _kernel():
    return compile_kernel(run_guarded, ("int64*",) * 3).call


def written(replay, args) -> Any:
    """The function for a program that has just run; `function(args)` gives the result of a call, or MISS.

    Args:
        replay: the program.
        args: the call's arguments.

    Returns:
        The function; None where a call needs what only the long way does.
    """
    if replay.unchanged.words is None or replay.steady is None or replay.better is not None or replay.gives_back \
            or replay.on_device or replay.quickened >= WRITTEN:
        return None
    replay.quickened += 1
    try:
        return _Writer(replay).function(args)
    except (guards.Unknown, StopIteration, KeyError, ValueError):
        return None


class _Writer:
    """Source of the function, and the names in it.

    Args:
        replay: the program.
    """

    def __init__(self, replay) -> None:
        self.replay = replay
        self.lines: list[str] = []
        unchanged = replay.unchanged
        self.keep: list[Any] = [unchanged.words, replay.steady, unchanged.places, list(replay.reach.held)]
        self.scope: dict[str, Any] = dict(
            ALLOCATION, Tensor=Tensor, MISS=MISS, modes=modes, autocast=_autocast, replay=replay, own=replay.own,
            block=replay.block, block_address=replay.block_address, acquire=replay.lock.acquire, release=replay.lock.release,
            filled=filled, complain=complain, kernel=_kernel(), keep=self.keep)
        self.pairs = [*zip(*[iter(unchanged.words.table.tolist())] * 2), *zip(*[iter(replay.steady.table.tolist())] * 2)]

    def name(self, kind, value) -> str:
        """A name for a value."""
        name = f"{kind}{len(self.scope)}"
        self.scope[name] = value
        return name

    def add(self, *lines, indent=1) -> None:
        self.lines += ["    " * indent + line for line in lines]

    # ------------------------------------------------------------ what is looked at
    def function(self, args):
        replay = self.replay
        self.pairs += [*guards.of_list(_threads), *guards.of_list(default), *guards.of_list(_default_dtype)]
        self.keep += [_threads[0], default[0], _default_dtype[0]]
        tests = ["inferring", f"modes.recording != {modes.recording}"]                  # `inferring` as well while one captures
        if asking:
            tests.append("autocast.on")
        else:                                            # no thread is in a region of autocast before functions ask
            self.pairs += guards.of_set(asking)
        self.add(f"if {' or '.join(tests)}:", "    return MISS")
        self._arguments(args)
        self.add("acquire()",
                 "if replay.running:",
                 "    release()",
                 "    return MISS",
                 "replay.running = True",
                 "try:")
        if replay.unchanged.rest:
            self.scope.update(rest=replay.unchanged.rest, difference_of=difference_of)
            self.add("if difference_of(rest) is not None:", "    return MISS", indent=2)
        storages = self._places()
        updates = self._steps()
        self._versions(updates)
        self._result(storages)
        self.add("finally:", "    replay.running = False", "    release()")
        source = "\n".join(["def call(args):", *self.lines, ""])
        return make(source, self.scope, "call")

    def _arguments(self, args):
        """Arguments are of the kind, and tensors of memory that is no other one's of the call."""
        names = [f"a{i}" for i in range(len(args))]
        self.add(f"if len(args) != {len(args)}:", "    return MISS")
        if args:
            self.add(f"{', '.join(names)}, = args")
        self.tensors, tests, known = [], [], {}
        for name, value in zip(names, args):
            kind = type(value)
            if id(value) in known:
                tests.append(f"{name} is not {known[id(value)]}")
            elif kind is Tensor:
                known[id(value)] = name
                self.tensors.append(name)
                tests += [f"type({name}) is not Tensor", f"{name}.layout is not {self.name('layout', value.layout)}",
                          f"{name}.node is not None"]
                if value.node is not None:
                    raise guards.Unknown
            elif kind in _PLAIN:
                tests += [f"type({name}) is not {self.name('kind', kind)}", f"{name} != {self.name('value', value)}"]
            elif isinstance(value, (tuple, list, dict, float)):
                raise guards.Unknown
            elif id(value) in self.replay.reach.weak:    # its end is that of the function, too
                tests.append(f"id({name}) != {id(value)}")
            else:
                tests.append(f"{name} is not {self.name('value', value)}")
        if len(self.tensors) != len(self.replay.layouts):
            raise guards.Unknown
        if tests:
            self.add(f"if {' or '.join(tests)}:", "    return MISS")
        tests = []
        for name, which in zip(self.tensors, self.replay.identities):
            tests.append(f"id({name}) in reached" if which is None else f"id({name}) != {which}")
            if self.replay.reach.asks:
                tests.append(f"has_attributes({name}, read)")
        if tests:
            self.scope.update(reached=self.replay.reach.tensors, read=self.replay.reach.read, has_attributes=has_attributes)
            self.add(f"if {' or '.join(tests)}:", "    return MISS")
        memories = [f"{name}_memory" for name in self.tensors]
        if memories:
            self.add(*[f"{name}_memory = {name}.memory" for name in self.tensors])
            tests = [f"id({memory}) in own" for memory in memories]
            if len(memories) == 2:
                tests.append(f"{memories[0]} is {memories[1]}")
            elif len(memories) > 2:
                tests.append(f"len({{{', '.join(f'id({memory})' for memory in memories)}}}) < {len(memories)}")
            self.add(f"if {' or '.join(tests)}:", "    return MISS")

    def _places(self):
        """Where arguments and results are."""
        replay, storages = self.replay, []
        for slot, i, offset in replay.argument_slots:
            self.add(f"block[{slot}] = {self.tensors[i]}.address + {offset}", indent=2)
        for number, (slot, ring) in enumerate(replay.result_slots):
            name = f"r{number}_memory"
            if replay.reuse:
                self.scope[name] = replay.exported[number]
                self.add(f"r{number}_address = {name}.address", indent=2)
            else:
                ring = self.name("ring", ring)
                self.add(f"{name} = {ring}[0]",
                         f"if getrefcount({name}) > FREE:",
                         f"    {ring}.rotate(-1)",
                         f"    {name} = {ring}[0]",
                         f"    if getrefcount({name}) > FREE:",
                         f"        {name} = take({ring})",
                         f"{name}.version = 0",
                         f"{name}.writer = None",
                         f"r{number}_address = {name}.address", indent=2)
            self.add(f"block[{slot}] = r{number}_address", indent=2)
            storages.append(name)
        return storages

    # ------------------------------------------------------------ what is done
    def _steps(self):
        """Programs, with what Python has to do between them. Returns the optimisers' steps that are nothing but their kernels."""
        steady, chains = [], [[]]
        last = max((i for i, step in enumerate(self.replay.steps) if type(step) is tuple and step[3]), default=-1)
        for i, step in enumerate(self.replay.steps):
            if type(step) is tuple:
                if step[0].entry.nogil:                  # words of Python's are not looked at while others run
                    chains += [step, []]
                else:
                    chains[-1].append(step)
            elif i > last and type(step) is Update and self.replay.quickened <= SETTLED and self._is_constant(step):
                steady.append(step)
            else:
                chains += [step, []]
        self._chain(chains[0], self.pairs)
        for step in chains[1:]:
            if type(step) is list:
                if step:
                    self._chain(step, [])
            elif type(step) is tuple:
                self.add(f"{self.name('run', step[1])}(block_address, {step[2]})", indent=2)
                if step[3]:
                    progress = self.name("progress", step[3][0].progress)
                    self.add(f"if {progress}.value != {len(step[3])}:",
                             f"    complain(replay, {self.name('complaints', step[3])})", indent=2)
            else:
                self.add(f"{self.name('step', step)}()", indent=2)
        return steady

    def _chain(self, programs, pairs):
        """One call of the kernel."""
        reached, pairs = ctypes.c_int64(), [*dict.fromkeys(pairs)]
        table = (ctypes.c_int64 * (2 + 2 * len(pairs)))(ctypes.addressof(reached), len(pairs), *[w for pair in pairs for w in pair])
        words = [len(programs)]
        for _, _, descriptor, complaints in programs:
            words += [descriptor, complaints[0].progress_address if complaints else 0, len(complaints)]
        chain = (ctypes.c_int64 * len(words))(*words)
        self.keep += [reached, table, chain, programs]
        name = self.name("reached", reached)
        self.add(f"kernel(block_address, {ctypes.addressof(table)}, {ctypes.addressof(chain)})",
                 f"if {name}.value != {len(programs) + 1}:", indent=2)
        if pairs:
            self.add(f"if not {name}.value:", "    return MISS", indent=3)
        self.add(f"complain(replay, {self.name('programs', [each[3] for each in programs])}[{name}.value - 1])", indent=3)

    def _is_constant(self, update):
        """Whether a step's coefficients are what they were as long as the group's options are. Then these are among the words."""
        optimizer = update.optimizer
        batches = [batch for prepared in optimizer._prepared for batch in prepared.batches]
        if optimizer.counts or not type(optimizer).__module__.startswith("numtorch.") or not all(type(b) is Batch for b in batches):
            return False
        pairs = guards.of_dict(vars(optimizer), frozenset(("_opt_called",)))
        for group in optimizer.param_groups:
            options = {name: value for name, value in group.items() if name != "params"}
            if not all(type(value) in _OPTIONS for value in options.values()):
                return False
            pairs += guards.of_dict(group, frozenset(options))
            self.keep += options.values()
        pairs += [guards.of_slot(batch, "values") for batch in batches]
        self.keep += [batch.values for batch in batches]
        self.pairs += pairs
        return True

    # ------------------------------------------------------------ what stays behind
    def _versions(self, updates):
        replay, counted = self.replay, {}
        for update in updates:
            for prepared in update.optimizer._prepared:
                for parameter in (p for batch in prepared.batches for p in batch.parameters):
                    counted.setdefault(id(parameter.memory), [parameter.memory, 0])[1] += 1
        for storage, more in counted.values():
            name = self.name("storage", storage)
            self.add(f"{name}.version += {more}", f"{name}.writer = 'step'", indent=2)
        for storage, more in replay.writes:
            self.add(f"{self.name('storage', storage)}.version += {more}", indent=2)
        for i, more in replay.argument_writes:
            self.add(f"{self.tensors[i]}_memory.version += {more}", indent=2)

    def _result(self, storages):
        replay, names = self.replay, []
        for number, (kind, which, offset, layout, node) in enumerate(replay.results):
            if kind == "argument":
                names.append(self.tensors[which])
            elif kind == "again":
                names.append(names[which])
            elif kind == "object":
                names.append(self.name("object", which))
            else:
                name, place = f"out{number}", self.name("node", node)
                if node is not None:
                    self.scope["unhooked"], place = unhooked, f"{place} if {place}.extras is None else unhooked({place})"
                self.add(f"{name} = bare()",
                         f"{name}.memory = {storages[which]}",
                         f"{name}.address = r{which}_address{f' + {offset}' if offset else ''}",
                         f"{name}.layout = {self.name('layout', layout)}",
                         f"{name}.node = {place}", indent=2)
                names.append(name)
        structure = replay.structure
        if structure is HOLE:
            self.add(f"return {names[0]}", indent=2)
        elif type(structure) is tuple and all(each is HOLE for each in structure):
            self.add(f"return ({''.join(f'{name}, ' for name in names)})", indent=2)
        else:
            self.scope.update(structure=structure, hole=HOLE)
            self.add(f"return filled(structure, hole, iter(({''.join(f'{name}, ' for name in names)})))", indent=2)
