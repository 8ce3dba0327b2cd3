"""One call of a function as steps: launches of kernels, part by part, and what happens between them. Programs and parallel calls,
which are kernels that run others by address, are unfolded into those that they run."""
from __future__ import annotations

from typing import Any, NamedTuple

from ...autograd.modes import no_grad
from ...finalisers import without_collector
from ...kernels import compiler, threads
from ...kernels.program import STACK_BYTES, launches_of, run_block
from ...ops.memory.copies import clone
from ...tensor import Tensor
from ...tree import flatten, map_tensors, tensors_in
from ..capturing.capture import Watch
from ..capturing.items import Check, Launch, Write
from ..capturing.memory import CapturedStorage
from ..capturing.places import alive, version
from .words import CONSTANT, INPUTS, Data, Memory, NotExportable, Word

CALLS = 3                                                # the last is captured: by then every plan is made


class Call(NamedTuple):
    """A kernel with its words."""

    native: int
    words: list


class Stop(NamedTuple):
    """What ends a part where a word is not 0."""

    word: Word


class Run(NamedTuple):
    """Parts that may run side by side, each a list of calls and stops."""

    parts: list


class Store(NamedTuple):
    """A word that is written."""

    target: Word
    value: Word


class Assert(NamedTuple):
    """A word that must be 0: else an index was out of range, or a divisor was 0."""

    word: Word


class Copy(NamedTuple):
    """Bytes of a result."""

    target: Word
    source: Word
    size: int


class RecordedCall:
    """What a function does, for arguments of one kind.

    Attributes:
        inputs, outputs: layouts.
        steps: in order.
        workspace: bytes that a call needs.
        has_numbers: whether there are numbers among the results.
    """

    has_numbers: bool
    inputs: list
    outputs: list
    steps: list
    workspace: int


def record(function: Any, args: tuple, data: Data) -> RecordedCall:
    """Call a function, and write down what it does.

    Args:
        function: of tensors.
        args: tensors.
        data: what the library holds; what the call needs is added.

    Raises:
        RuntimeError: it does what no library can; with the lines.
    """
    def called(*given):
        return map_tensors(lambda t: t if isinstance(t.memory, CapturedStorage) and t.is_contiguous() else clone(t).contiguous(),
                           function(*given))
    with no_grad():
        for _ in range(CALLS - 1):
            called(*args)
        versions = {id(s): version(s) for s in alive()}
        watch = Watch()
        with without_collector():                        # destructors of others' garbage, and who listens, are no part of a call
            result = watch.run(called, args, {})
    if watch.breaks:
        raise RuntimeError(
            "export_native: the function does what no library can:\n" + "\n".join(f"  {each}" for each in watch.breaks)
            + _values(watch)
        )
    watch.memory.close()
    for tensor in args:
        if version(tensor.memory) != versions.get(id(tensor.memory), 0):
            raise RuntimeError("export_native: the function writes to its arguments")
    recorded, results = RecordedCall(), list(tensors_in(result))
    try:
        reader = CaptureReader(watch, args, versions, data)
        steps = reader.read(watch.items)
        steps += [Copy(Word(INPUTS + len(args) + i, 0), reader.memory.locate(tensor.address), tensor.layout.nbytes)
                  for i, tensor in enumerate(results) if tensor.layout.nbytes]
    except NotExportable as error:
        raise RuntimeError(f"export_native: {error}") from None
    recorded.inputs, recorded.outputs = [tensor.layout for tensor in args], [tensor.layout for tensor in results]
    recorded.steps = [*[Copy(*each) for each in reader.memory.copies], *steps]
    recorded.workspace = reader.memory.workspace
    recorded.has_numbers = any(isinstance(each, (bool, int, float)) for each in flatten(result)[0])
    return recorded


def _values(watch):
    """What to know where elements come to Python."""
    if not any("reads or writes elements" in each.what for each in watch.breaks):
        return ""
    return ("\n  Conditions, loops and numbers that depend on the values of elements are decided in Python, which a library has "
            "not; those of jit.script(function) it has.")


class CaptureReader:
    """Reads what a capture wrote down.

    Args:
        watch: the capture.
        args: its arguments; what is no tensor among them has no memory.
        versions: of all storages before it.
        data: what the library holds; what is read adds to it.
    """

    def __init__(self, watch: Watch, args: tuple, versions: dict, data: Data) -> None:
        self.memory = Memory(watch.memory.blocks, args, versions, data)
        self.kernels = {kernel.address: kernel for kernel in compiler.known_kernels()}
        self.launchers = {kernel.address for kernel in threads.launchers()}
        self.stacks: dict[int, Word] = {}
        self.steps: list = []

    def read(self, items: list) -> list:
        """Items of the capture as steps.

        Args:
            items: them.

        Raises:
            NotExportable: what no library has.
        """
        self.steps = []
        for item in items:
            if isinstance(item, Launch):
                self._launch(item)
            elif isinstance(item, Write):
                self.steps += [Store(self.memory.locate(item.address + 8 * i), Word(CONSTANT, word))
                               for i, word in enumerate(item.words)]
            elif isinstance(item, Check):
                self.steps.append(Assert(self.memory.locate(item.address)))
            else:
                raise NotExportable(
                    f"{'random draws are' if type(item).__name__ == 'Draw' else 'an optimiser is'} not exported: call eval()"
                )
        return self.steps

    def _launch(self, launch):
        words, tables, statuses = [], dict(launch.tables), []
        for i, word in enumerate(launch.words[:-1]):
            if i == launch.status:
                status = self.memory.words_of(launch.statuses)
                statuses = [status.moved(8 * n) for n in range(launch.statuses)]
                words.append(status)
            elif i in tables:
                table = self.memory.words_of(len(tables[i]))
                for n, entry in enumerate(tables[i]):
                    self.steps.append(
                        Store(table.moved(8 * n), self.memory.locate(entry.word) if entry.moves else Word(CONSTANT, entry.word))
                    )
                words.append(table)
            else:
                words.append(self.memory.locate(word))
        self.steps += [Store(word, Word(CONSTANT, 0)) for word in statuses]
        self.steps += self._unfold(launch.native, words, launch.words[-1], 0)
        self.steps += [Assert(word) for word in statuses]

    # ------------------------------------------------------------ kernels that run others
    def _unfold(self, native, words, descriptor, part) -> list:
        """The steps of a launch."""
        kernel = self.kernels.get(native)
        if kernel is None:
            raise NotExportable("a kernel runs that the compiler did not make")
        if native in self.launchers:
            return [Run(self._parts(words, descriptor))]
        function = kernel.recipe[0]
        if function is run_block or (function.__name__ == "program" and "run_segments" in function.__globals__):
            return self._program(words, descriptor, part)
        return [Run([[Call(native, [*words, self.memory.descriptor(descriptor)])]])]

    def _parts(self, words, record):
        native, count, parts, _pool, _launch, base = self.memory.read(record, 6)
        offsets = self.memory.read(record + 48, parts * count)
        result = []
        for part in range(parts):
            added = offsets[part * count:(part + 1) * count]
            steps = self._unfold(native, [word.moved(by) for word, by in zip(words, added)], base + added[-1], part)
            result.append([call for step in steps for call in ([Stop(step.word)] if isinstance(step, Assert) else
                                                                [each for inner in step.parts for each in inner])])
        return result

    def _program(self, words, descriptor, part):
        steps: list = []
        for entry, given in launches_of(self.memory.array_at(descriptor)):
            made = [added if base is None else (self._stack(part) if base == len(words) else words[base]).moved(added)
                    for base, added in given]
            if entry == 0:
                steps.append(Assert(self._located(made[0])))
            elif isinstance(made[-1], Word):
                raise NotExportable("a program's launch has a descriptor of its caller's")
            else:
                steps += self._unfold(entry, [self._located(word) for word in made[:-1]], made[-1], part)
        return steps

    def _located(self, word):
        return word if isinstance(word, Word) else self.memory.locate(word)

    def _stack(self, part):
        """A program's own scratch memory: of each part that may run beside others, its own."""
        if part not in self.stacks:
            self.stacks[part] = self.memory.words_of(STACK_BYTES // 8)
        return self.stacks[part]


def as_inputs(example: Any, numbers: bool = False) -> tuple:
    """Examples as a tuple of tensors.

    Args:
        example: a tensor, or a tuple of them.
        numbers: whether there may be numbers among them.

    Raises:
        TypeError: something else.
    """
    args = tuple(example) if isinstance(example, (tuple, list)) else (example,)
    for each in args:
        if not isinstance(each, Tensor) and not (numbers and type(each) in (bool, int, float)):
            raise TypeError(f"export_native: expected tensors{' and numbers' if numbers else ''}, got {type(each).__name__}")
    return args
